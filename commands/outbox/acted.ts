/**
 * Records in the audit which messages a command acted on: the line of the command names a status or a chat, and not the messages found
 * there. The entry also keeps how each message had ended, because its row forgets that, or is deleted.
 */
import type { FormerEnd } from "../../src/domain/deliveries/purges.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import type { CommandDeps } from "../deps.js";

/** Messages of one entry: a purge of a flood is several entries. */
const MAX_IDS = 500;

export type Acted = "purge" | "release" | "confirm" | "retry";

/** The ends as the audit keeps them: many messages of a flood ended alike. */
export function formerEnds(ends: readonly FormerEnd[]): { was: { status: string; reason?: string; ids: string[] }[] } {
  const groups = new Map<string, { status: string; reason?: string; ids: string[] }>();
  for (const { id, status, reason } of ends) {
    const key = `${status} ${reason ?? ""}`;
    const group = groups.get(key);
    if (group) group.ids.push(id);
    else groups.set(key, reason === undefined ? { status, ids: [id] } : { status, reason, ids: [id] });
  }
  return { was: [...groups.values()] };
}

export async function recordActed(
  { store, clock }: CommandDeps,
  { operator }: CommandContext,
  action: Acted,
  /** The target as the person named it: a status, an id, `all`. */
  target: string,
  ids: readonly string[],
  ends: readonly FormerEnd[] = [],
): Promise<void> {
  for (let from = 0; from < ids.length; from += MAX_IDS) {
    const some = ids.slice(from, from + MAX_IDS);
    const named = new Set(some);
    const ended = ends.filter(({ id }) => named.has(id));
    await store.audit.record({
      at: clock.now(),
      operator,
      action,
      target,
      details: ended.length === 0 ? { ids: some } : { ids: some, ...formerEnds(ended) },
      outcome: "done",
    });
  }
}
