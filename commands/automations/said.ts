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
export function saidBy({ attempts }: AutomationRun) {
  return attempts.flatMap((attempt) => output.safeParse(attempt.output).data?.said ?? []);
}

/** Why a message of a run is not in a thread of its own. */
export function whyInChat(run: AutomationRun, deliveryId: string): string | undefined {
  const why = saidBy(run).find(({ delivery }) => delivery === deliveryId)?.noThread;
  return why === undefined ? undefined : `in the chat itself: ${shownReason(why)}`;
}

/** Why no thread was opened. */
export const shownReason = (reason: string) => plain(reason, MAX_REASON);
