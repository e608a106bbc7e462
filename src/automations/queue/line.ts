/**
 * Decides behind which runs of its hook a stored run waits: those of its sender or else of its conversation. The lines of a hook take
 * turns.
 */
import { z } from "zod";
import type { AutomationRun, AutomationRunStore } from "../../domain/automation.js";
import { namedBy } from "../../domain/journal.js";
import { senderKey } from "../../gateway/inbound/not-taken.js";
import { shareOf } from "../../gateway/pressure.js";
import type { Definition } from "../definition/definition.js";

const person = z.object({ platform: z.string(), userId: z.string() });

/** The person in the payloads of the points about messages, changes of messages and commands. */
const causer = z.union([
  z.object({ operator: person }).transform(({ operator }) => operator),
  z
    .object({ address: z.object({ platform: z.string() }), userId: z.string() })
    .transform(({ address: { platform }, userId }) => ({ platform, userId })),
  z.object({ message: person }).transform(({ message }) => message),
]);

/** Undefined where the payload has no person, or comes from outside and could contain any. */
function senderOf({ event, pendingPayload }: AutomationRun): string | undefined {
  if (event === undefined || namedBy(event) === "others") return undefined;
  const sender = causer.safeParse(pendingPayload).data;
  return sender && senderKey(sender.platform, sender.userId);
}

/** Undefined for a run that a person fired, and under `coalesce`, where the newest waiting run is to be the last. */
export function lineOf(row: AutomationRun, definition: Definition | undefined): string | undefined {
  if (row.trigger === "manual" || (definition !== undefined && definition.whenBusy !== "queue")) return undefined;
  return senderOf(row) ?? row.conversation;
}

/** Why the queue of the hook, where `waiting` runs wait, takes no more runs of any sender. */
export const fullFor = ({ whenBusy, maxQueued }: Definition, waiting: number): string | undefined =>
  whenBusy === "queue" && waiting >= maxQueued ? `${maxQueued} wait already` : undefined;

/** Why that queue takes no more such runs. A sender has a share of it, as of the inbox. */
export async function whyFull(
  row: AutomationRun,
  definition: Definition,
  waiting: number,
  runs: Pick<AutomationRunStore, "waitingInLine">,
): Promise<string | undefined> {
  const { whenBusy, maxQueued } = definition;
  if (whenBusy !== "queue") return undefined;
  const full = fullFor(definition, waiting);
  if (full !== undefined) return full;
  const sender = senderOf(row);
  const share = shareOf(maxQueued);
  if (sender === undefined || (await runs.waitingInLine(row.hookId, sender)) < share) return undefined;
  return `${share} of its sender wait already, and one sender can have ${share} waiting (a share of max_queued)`;
}
