/** Waits for a condition in a real process or socket; the bound is generous, because the machine is shared. */
export async function until<T>(
  probe: () => T | undefined | false | null | Promise<T | undefined | false | null>,
  what = "the condition",
  withinMs = 50_000,
): Promise<T> {
  const end = Date.now() + withinMs;
  // Who looks without a pause takes the processor from what is looked at: seldomer the longer it takes.
  for (let pauseMs = 4; ; pauseMs = Math.min(pauseMs * 1.3, 40)) {
    const value = await probe();
    if (value !== undefined && value !== false && value !== null) return value;
    if (Date.now() > end) throw new Error(`${what} did not come true within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
