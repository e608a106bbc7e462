/** Registers something with a platform beside the traffic: tried again until it succeeds, quickly at first, then every hour. */
import { backoffMs } from "./backoff.js";
import { type Clock, wait } from "./clock.js";

/** After so many other failures it is reported, and tried as seldom as after a refusal. */
const QUICK_ATTEMPTS = 6;
const QUICK_PAUSE = { firstMs: 2_000, maxMs: 60_000 };
/** A registration that a platform refused stays refused for a while, and each try may count against a daily limit. */
const REFUSED_PAUSE_MS = 3_600_000;

export interface Registering<Trouble> {
  register(): Promise<void>;
  /** `isRefused`: the next minute does not change it. `askedMs`: the platform named a limit and how long it lasts. */
  read(error: unknown): { isRefused: boolean; askedMs?: number | undefined };
  troubleOf(error: unknown): Trouble;
  /** Gets why it is not registered, and undefined once it is. */
  report(trouble: Trouble | undefined): void;
  /** Gets each failure, with the reported trouble. */
  failed(error: unknown, attempt: number, trouble: Trouble | undefined): void;
  clock: Clock;
  signal: AbortSignal;
}

/** Until it is registered or the signal aborts. */
export async function untilRegistered<Trouble>(registering: Registering<Trouble>): Promise<void> {
  const { register, read, troubleOf, report, failed, clock, signal } = registering;
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      await register();
      if (attempt > 1) report(undefined);
      return;
    } catch (error) {
      if (signal.aborted) return;
      const { isRefused, askedMs = 0 } = read(error);
      const isSeldom = isRefused || attempt >= QUICK_ATTEMPTS;
      const trouble = isSeldom ? troubleOf(error) : undefined;
      if (trouble !== undefined) report(trouble);
      failed(error, attempt, trouble);
      const pauseMs = Math.max(backoffMs(QUICK_PAUSE, attempt), askedMs, isSeldom ? REFUSED_PAUSE_MS : 0);
      await wait(clock, pauseMs, signal).catch(() => {}); // the loop's condition sees the abort
    }
  }
}
