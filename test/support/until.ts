/** No single pause counts for more: a machine that stood still, or whose clock was set, is no reason to give up. */
const LONGEST_PAUSE_MS = 1_000;

/**
 * Waits for a condition in a real process or socket; the bound is generous, because the machine is shared. `what` may be asked when
 * the wait is given up, to tell how things stand.
 */
export async function until<T>(
  probe: () => T | undefined | false | null | Promise<T | undefined | false | null>,
  what: string | (() => string) = "the condition",
  withinMs = 90_000,
): Promise<T> {
  // Who looks without a pause takes the processor from what is looked at: seldomer the longer it takes.
  for (let pauseMs = 4, waitedMs = 0; ; pauseMs = Math.min(pauseMs * 1.3, 40)) {
    const since = performance.now();
    const value = await probe();
    if (value !== undefined && value !== false && value !== null) return value;
    if (waitedMs > withinMs)
      throw new Error(`${typeof what === "string" ? what : what()} did not come true within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    waitedMs += Math.min(performance.now() - since, LONGEST_PAUSE_MS);
  }
}
