/** Waiting for something no longer than so long. */
import type { Clock, Timer } from "../time/clock.js";

/** True when the work ended in time. It goes on in any case; an error of it in time is thrown. The process stays alive meanwhile. */
export async function within(clock: Clock, limitMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: Timer | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = clock.after(limitMs, () => resolve(false));
    timer.ref?.();
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    timer?.cancel();
  }
}
