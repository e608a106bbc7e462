/**
 * Many waits on one long-lived signal, with one listener. A signal looks through all its listeners at each new one, so a
 * thousand sends in flight would cost more to watch than to send.
 */
export class Aborts {
  readonly #waits = new WeakMap<AbortSignal, Set<() => void>>();

  /** Calls `fn` once when the signal aborts. Gives the function that calls it off. */
  on(signal: AbortSignal, fn: () => void): () => void {
    const waits = this.#waits.get(signal) ?? this.#watch(signal);
    waits.add(fn);
    return () => void waits.delete(fn);
  }

  #watch(signal: AbortSignal): Set<() => void> {
    const waits = new Set<() => void>();
    this.#waits.set(signal, waits);
    const fire = () => {
      for (const wait of waits) wait();
      waits.clear();
    };
    signal.addEventListener("abort", fire, { once: true });
    return waits;
  }
}
