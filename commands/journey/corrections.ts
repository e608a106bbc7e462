/** What became of the edits and deletions of a message, where it was passed on to. */
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import type { CommandDeps } from "../deps.js";

/** Edits of a message of the gateway, and edits and deletions of a copy, that a path shows. */
const LAST_EDITS = 3;
/** Edits and deletions by the author of a message whose deliveries are looked for. */
const LAST_CHANGES = 20;

/** Its last edits and deletions. */
export const lastChangesOf = (changes: readonly InboxRow[]): InboxRow[] =>
  changes.filter(({ event: { kind } }) => kind === "edited" || kind === "deleted").slice(-LAST_CHANGES);

/** What became of the edits and deletions of a message at its copies, oldest first. `answers`: of an edit, whose later ones are meant. */
export async function correctionsOf(
  deps: CommandDeps,
  changes: readonly InboxRow[],
  answers: readonly Delivery[],
): Promise<Delivery[]> {
  const found = await Promise.all([
    ...lastChangesOf(changes).map(({ id }) => deps.store.outbox.answersTo(`m${id}`)),
    ...answers.map((one) => laterChanges(deps, one)),
  ]);
  return found
    .flat()
    .filter(({ status }) => status !== "superseded")
    .slice(-LAST_EDITS);
}

/** The changes of the same copy after this one. */
export async function laterChanges({ store }: CommandDeps, { seq, targetId, mirrors }: Delivery): Promise<Delivery[]> {
  if (targetId === undefined || mirrors === undefined) return [];
  const all = await store.outbox.list({ targetId, limit: LAST_EDITS });
  return all.filter((one) => one.seq > seq).reverse();
}

/** The last edits and deletions of what this delivery posted, oldest first. */
export async function editsOf({ store }: CommandDeps, targetId: string): Promise<Delivery[]> {
  return (await store.outbox.list({ targetId, limit: LAST_EDITS })).reverse();
}
