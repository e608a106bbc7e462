/**
 * Notices a clock that was set back between two runs: the time that the last run saw is on disk, and the new run starts before it. A
 * clock that was set forward looks like a longer stop.
 */
import type { Store } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";

/** After a crash the step is known up to this much. */
const NOTE_EVERY_MS = 10_000;
const SEEN = "clock-seen";
const MAX_SENDING = 10_000;

type Stored = Pick<Store, "cursors" | "pauses" | "inbox" | "outbox" | "shiftWaits">;

export interface FollowedClock {
  /** Deliveries that the last run was sending: it is not known how long ago, after a clock was set back. */
  ofUnknownAge: ReadonlySet<string>;
  /** To be called when the queues have followed a step of this run, so that the next start does not move them again. */
  note(): Promise<void>;
  stop(): Promise<void>;
}

/** To be called before the queues start. Moves the times that they wait for, and notes the time from then on. */
export async function followClock(store: Stored, clock: Clock, logger: Logger): Promise<FollowedClock> {
  const seen = store.cursors("app");
  const stepMs = clock.now() - Number(seen.get(SEEN) ?? 0);
  const sending = stepMs < 0 ? await store.outbox.list({ status: "sending", limit: MAX_SENDING }) : [];
  if (stepMs < 0) {
    logger.warn(
      { stepMs },
      `The system clock moved backward by at least ${-stepMs} ms since the last stop: pauses and retries keep their length.`,
    );
    const pauses = await store.pauses.list();
    await Promise.all([
      store.outbox.shift(stepMs),
      store.inbox.shift(stepMs),
      store.shiftWaits(stepMs),
      ...pauses.map((pause) => store.pauses.set({ ...pause, until: pause.until + stepMs })),
    ]);
  }
  const note = (): Promise<void> =>
    seen
      .set(SEEN, String(clock.now()))
      .catch((error: unknown) => logger.warn({ error: errorMessage(error) }, "the time could not be noted"));
  const noteAgain = () => {
    timer = clock.after(NOTE_EVERY_MS, noteAgain);
    void note();
  };
  let timer = clock.after(NOTE_EVERY_MS, noteAgain);
  await note();
  return {
    ofUnknownAge: new Set(sending.map(({ id }) => id)),
    note,
    async stop() {
      timer.cancel();
      await note();
    },
  };
}
