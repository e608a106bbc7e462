/**
 * Firings by hand, written down before they start. The inbox gives a command again that a crash cut off, and the command must not repeat a
 * firing that has no row of its own. (Runs of configured hooks have one.)
 */
import type { DispatchRecord } from "../../src/domain/journal.js";
import { HookgateError } from "../../src/lib/errors.js";
import { DAY_MS, formatDuration } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";
import { flushJournal } from "./flush-journal.js";

const SCOPE = "commands.fired";
/** The inbox gives a command again at the next start, and not later. */
const KEPT_MS = 7 * DAY_MS;

/**
 * Resolves with undefined when the firing may start, and with its record when it had ended. Throws FIRING_CUT_OFF when neither is known.
 */
export async function beginOnce(deps: CommandDeps, dispatchId: string): Promise<DispatchRecord | undefined> {
  const { keyValue, journal } = deps.store;
  const now = deps.clock.now();
  const begunAt = await keyValue.get(SCOPE, dispatchId);
  if (begunAt === undefined) {
    await forgetOld(deps, now);
    await keyValue.set(SCOPE, dispatchId, now);
    return undefined;
  }
  await flushJournal(deps);
  const ended = await journal.get(dispatchId);
  if (ended !== undefined) return ended;
  throw new HookgateError({
    code: "FIRING_CUT_OFF",
    message: `The gateway ended while this was being fired${typeof begunAt === "number" ? `, ${formatDuration(now - begunAt)} ago` : ""}: dispatch ${dispatchId}. How far it came is not known, so it was not fired again.`,
    hint: "Fire it again when it may happen twice.",
  });
}

/** The start of the firing, ms since the epoch; undefined for a dispatch that was not fired by hand in a chat, or long ago. */
export async function begunAt({ store }: CommandDeps, dispatchId: string): Promise<number | undefined> {
  const at = await store.keyValue.get(SCOPE, dispatchId);
  return typeof at === "number" ? at : undefined;
}

async function forgetOld({ store: { keyValue } }: CommandDeps, now: number): Promise<void> {
  for (const { key, value } of await keyValue.list(SCOPE, ""))
    if (typeof value !== "number" || now - value > KEPT_MS) await keyValue.delete(SCOPE, key);
}
