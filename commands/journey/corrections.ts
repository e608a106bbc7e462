/** The fate of the edits and deletions of a message in the places to which it was passed on. */
import { addressOf } from "../../src/domain/chat/event.js";
import { purgeOf } from "../../src/domain/deliveries/purges.js";
import { copyId } from "../../src/domain/journal.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import type { CommandDeps } from "../deps.js";
import { code } from "../show/text.js";

/** Edits of a message of the gateway, and edits and deletions of a copy, that a path shows. */
const LAST_EDITS = 3;
/** Edits and deletions by the author of a message whose deliveries are looked for. */
const LAST_CHANGES = 20;

/** Its last edits and deletions. */
export const lastChangesOf = (changes: readonly InboxRow[]): InboxRow[] =>
  changes.filter(({ event: { kind } }) => kind === "edited" || kind === "deleted").slice(-LAST_CHANGES);

/** A note of the gateway, such as that a copy was withheld. The deletion of a copy is a courtesy, too, and a change of the copy. */
export const isNote = ({ isCourtesy, operation }: Delivery): boolean => isCourtesy === true && operation !== "delete";

/**
 * The edits and deletions at the copies of a message and the notes about them, oldest first. `answers`: the deliveries of an edit, whose
 * later changes are meant.
 */
export async function correctionsOf(
  deps: CommandDeps,
  changes: readonly InboxRow[],
  answers: readonly Delivery[],
): Promise<Delivery[]> {
  const found = await Promise.all([
    ...lastChangesOf(changes).map(({ id }) => deps.store.outbox.answersTo(`m${id}`)),
    ...answers.map((one) => laterChanges(deps, one)),
  ]);
  const all = found.flat().filter(({ status }) => status !== "superseded");
  const changed = lastEdits(all.filter((one) => !isNote(one)));
  return all.filter((one) => isNote(one) || changed.includes(one));
}

/** The last changes; a cancelled one stays, because it is the reason why its author was notified. */
function lastEdits(changes: readonly Delivery[]): Delivery[] {
  const last = changes.slice(-LAST_EDITS);
  return changes.filter((one) => one.status === "cancelled" || last.includes(one));
}

/** The changes of the same copy after this one. */
export async function laterChanges({ store }: CommandDeps, { seq, targetId, mirrors }: Delivery): Promise<Delivery[]> {
  if (targetId === undefined || mirrors === undefined) return [];
  const all = await store.outbox.list({ targetId, limit: LAST_CHANGES });
  return lastEdits(all.filter((one) => one.seq > seq).reverse());
}

/** The last edits and deletions of the message that this delivery posted, oldest first. */
export async function editsOf({ store }: CommandDeps, targetId: string): Promise<Delivery[]> {
  return lastEdits((await store.outbox.list({ targetId, limit: LAST_CHANGES })).reverse());
}

/**
 * The fate of an edit or deletion of a message that was not posted yet: nothing of its own is sent. Undefined when it changed no waiting
 * message, and none that an operator deleted.
 */
export async function changedBeforeText(deps: CommandDeps, row: InboxRow): Promise<string | undefined> {
  const { event, outcome, receivedAt } = row;
  if (event.kind !== "edited" && event.kind !== "deleted") return undefined;
  const messageId = event.kind === "edited" ? event.message.messageId : event.messageId;
  const original = await deps.store.inbox.find(addressOf(event), messageId);
  if (original === undefined) return undefined;
  const { id, status, round, settledAt = 0 } = original;
  const wasDead = status === "dead" || original.outcome === "deleted" || (round > 1 && settledAt > receivedAt);
  const shown = `${code(`/hooks why m${id}`)} shows what became of it.`;
  if (outcome === "forwarded" || wasDead)
    return `${event.kind === "edited" ? "It corrected" : "It cancelled"} ${code(`m${id}`)} before that was posted: ${shown}`;
  const purge = await purgeOf(deps, copyId(original), original.receivedAt);
  return purge && `It is not passed on, because an operator deleted ${code(`m${id}`)} from the outbox: ${shown}`;
}
