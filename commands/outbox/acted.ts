/** What a command did to which messages, in the audit: its own line names a status or a chat, and not what it found there. */
import type { CommandContext } from "../../src/gateway/commands.js";
import type { CommandDeps } from "../deps.js";

/** Messages of one entry: a purge of a flood is several entries. */
const MAX_IDS = 500;

export type Acted = "purge" | "release" | "confirm" | "retry";

export async function recordActed(
  { store, clock }: CommandDeps,
  { operator }: CommandContext,
  action: Acted,
  /** As it was named: a status, an id, `all`. */
  target: string,
  ids: readonly string[],
): Promise<void> {
  for (let from = 0; from < ids.length; from += MAX_IDS)
    await store.audit.record({
      at: clock.now(),
      operator,
      action,
      target,
      details: { ids: ids.slice(from, from + MAX_IDS) },
      outcome: "done",
    });
}
