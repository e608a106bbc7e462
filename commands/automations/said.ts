/** What a run of a configured hook said, and where. */
import { z } from "zod";
import type { AutomationRun } from "../../src/domain/automation.js";
import { plain } from "../text.js";

const MAX_REASON = 300;

/** The output of a chat handler. An edit of an earlier message names that one, and is left out. */
const output = z.object({
  said: z.array(
    z.object({
      to: z.string().optional(),
      delivery: z.string().optional(),
      edited: z.boolean().optional(),
      noThread: z.string().optional(),
    }),
  ),
});

/** The result of the tool with which a model says something. */
const toolResult = z.object({ to: z.string(), delivery: z.string() });

export function saidBy({ attempts }: AutomationRun): z.output<typeof output>["said"] {
  return attempts.flatMap(({ output: given, toolCalls = [] }) => [
    ...(output.safeParse(given).data?.said ?? []),
    ...toolCalls.flatMap(({ tool, result }) =>
      tool === "send_message" ? (toolResult.safeParse(result).data ?? []) : [],
    ),
  ]);
}

/** Why a message of a run is not in a thread of its own. */
export function whyInChat(run: AutomationRun, deliveryId: string): string | undefined {
  const why = saidBy(run).find(({ delivery }) => delivery === deliveryId)?.noThread;
  return why === undefined ? undefined : `in the chat itself: ${shownReason(why)}`;
}

/** Why no thread was opened. */
export const shownReason = (reason: string) => plain(reason, MAX_REASON);
