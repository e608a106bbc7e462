/**
 * Long polling. A poll's offset confirms everything below it, so the next poll goes out only when every update of the batch
 * before it is on disk; updates that could not be stored are asked for again.
 */
import type { AdapterState } from "../../src/domain/chat/adapter.js";
import { errorMessage } from "../../src/lib/errors.js";
import type { Logger } from "../../src/lib/logger.js";
import { backoffMs } from "../../src/lib/time/backoff.js";
import { type Clock, wait } from "../../src/lib/time/clock.js";
import { type Caller, unexpected } from "./caller.js";
import { CHECK_NETWORK, describeFailure, isLoggedOut, isTokenRefused, readFailure } from "./errors.js";
import type { Intake } from "./intake.js";
import { ALLOWED_UPDATES } from "./payloads.js";

const BATCH_MAX = 100;
const BACKOFF = { firstMs: 500, maxMs: 30_000 };
/** The last word to Telegram on a stop; without it the last batch comes again and is known. */
const FAREWELL_MS = 2_000;

export interface PollContext {
  caller: Caller;
  intake: Intake;
  clock: Clock;
  logger: Logger;
  pollTimeoutMs: number;
  /** Reports that another receiver ended the run before this one. Whether it is still there shows a poll that is held to its end. */
  contested: (() => void) | undefined;
  state(phase: AdapterState["phase"], reason?: string, hint?: string): void;
}

/** Resolves after `signal` aborted and all that was fetched is stored; rejects when polling is refused. */
export async function poll(context: PollContext, signal: AbortSignal): Promise<void> {
  const { caller, clock, logger } = context;
  const timeout = Math.round(context.pollTimeoutMs / 1000);
  let offset = 0;
  let failures = 0;
  let { contested } = context;
  const startedMs = clock.monotonic();
  while (!signal.aborted) {
    try {
      const updates: unknown = await caller.call(
        "getUpdates",
        {
          offset,
          limit: BATCH_MAX,
          // After a failure it asks for an answer at once: until there is one, nothing is sent.
          timeout: failures > 0 ? 0 : timeout,
          allowed_updates: ALLOWED_UPDATES,
        },
        signal,
      );
      if (!Array.isArray(updates)) throw unexpected("getUpdates", updates);
      const stored = await store(updates, offset, context.intake);
      offset = stored.offset;
      if (stored.error !== undefined) throw new StoreFailure(stored.error);
      const wasHeld = updates.length === 0 && failures === 0;
      // Where updates come all the time, no poll is held.
      if (wasHeld || clock.monotonic() - startedMs >= context.pollTimeoutMs) {
        if (contested) context.state("online");
        contested = undefined;
      }
      if (failures > 0 && contested) contested();
      else if (failures > 0) context.state("online");
      failures = 0;
    } catch (thrown) {
      if (signal.aborted) break;
      const reason = readPollFailure(thrown);
      failures++;
      const pauseMs = backoffMs(BACKOFF, failures);
      logger.warn({ reason, pauseMs }, "polling Telegram failed; it goes on after a pause");
      context.state("reconnecting", reason, thrown instanceof StoreFailure ? undefined : CHECK_NETWORK);
      await wait(clock, pauseMs, signal).catch(() => {}); // the loop sees the abort
    }
  }
  await context.intake.drain();
  await confirm(caller, offset, clock);
}

/** Our side could not take the fetched updates. */
class StoreFailure extends Error {}

/**
 * Hands a batch over at once, in order. The new offset is before the first update that was not stored. It may be lower than the
 * one before: after a week without updates Telegram counts from a number of its choice (https://core.telegram.org/bots/api#update).
 */
async function store(
  updates: readonly unknown[],
  offset: number,
  intake: Intake,
): Promise<{ offset: number; error?: string }> {
  const results = await Promise.allSettled(updates.map((update) => intake.take(update)));
  let next: number | undefined;
  for (const [i, result] of results.entries()) {
    if (result.status === "rejected") return { offset: next ?? offset, error: errorMessage(result.reason) };
    const id = idOf(updates[i]);
    if (id !== undefined) next = Math.max(next ?? 0, id + 1);
  }
  // Updates without an id cannot be confirmed: asking again at once would spin.
  if (updates.length > 0 && next === undefined) return { offset, error: "Telegram sent updates without an id" };
  return { offset: next ?? offset };
}

/** Confirming needs nothing else of it, however malformed the rest is. */
function idOf(update: unknown): number | undefined {
  const id: unknown = typeof update === "object" && update !== null ? Reflect.get(update, "update_id") : undefined;
  return typeof id === "number" && Number.isSafeInteger(id) && id >= 0 ? id : undefined;
}

/** Why the poll failed. Throws the failures that end the run: a refused token, a bot that is logged out, another receiver, a limit. */
function readPollFailure(thrown: unknown): string {
  if (thrown instanceof StoreFailure) return `what came could not be stored: ${thrown.message}`;
  const failure = readFailure(thrown);
  if (
    isTokenRefused(failure) ||
    isLoggedOut(failure) ||
    (failure.kind === "refused" && (failure.status === 409 || failure.status === 429))
  )
    throw thrown;
  return `Telegram cannot be polled: ${describeFailure(failure)}`;
}

/** Confirms to Telegram how far we came. Not needed for correctness: an update that is not confirmed comes again and is known. */
async function confirm({ call }: Caller, offset: number, clock: Clock): Promise<void> {
  if (offset === 0) return;
  const limit = new AbortController();
  const timer = clock.after(FAREWELL_MS, () => limit.abort());
  await call("getUpdates", { offset, limit: 1, timeout: 0 }, limit.signal).catch(() => {}); // see above
  timer.cancel();
}
