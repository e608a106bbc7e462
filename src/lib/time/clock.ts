/** The only place that reads the time, but for ids and the command line. Everything that waits or stamps takes a `Clock`, so that tests can pass one in. */

export interface Timer {
  cancel(): void;
  /** From now on it keeps the process alive until it fires. */
  ref?(): void;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Monotonic milliseconds with a fraction, for durations only. */
  monotonic(): number;
  /** Milliseconds of processor time that this process has used: none passes while it is suspended. Absent: not known. */
  processor?: (() => number) | undefined;
  /** Calls `fn` once after `delayMs`; keeps the process alive only when its `ref` is called. */
  after(delayMs: number, fn: () => void): Timer;
  /** Calls `listener` when the wall clock was set, with how far it moved (negative for backward); gives what ends that. Absent: the clock is not watched. */
  onStep?(listener: (stepMs: number) => void): () => void;
}

/** setTimeout fires at once for delays above this, so longer ones are chained. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  processor() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
  after(delayMs, fn) {
    let handle: NodeJS.Timeout;
    const arm = (remainingMs: number) => {
      handle = setTimeout(
        () => (remainingMs > MAX_TIMEOUT_MS ? arm(remainingMs - MAX_TIMEOUT_MS) : fn()),
        Math.min(Math.max(0, remainingMs), MAX_TIMEOUT_MS),
      );
      handle.unref();
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(handle), ref: () => void handle.ref() };
  },
};

/** Resolves after `delayMs`, or rejects with the signal's reason as soon as it aborts. Keeps the process alive. */
export function wait(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    timer.ref?.();
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
