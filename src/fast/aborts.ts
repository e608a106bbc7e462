/**
 * Many waits on one long-lived signal, with one listener. A signal looks through all its listeners at each new one, so a
 * thousand sends in flight would cost more to watch than to send.
 *
 * Benchmark: bench/fast.ts.
 */
import { Bag, type InBag } from "./bag.js";

interface Wait extends InBag {
  fn: () => void;
}

export class Aborts {
  readonly #waits = new WeakMap<AbortSignal, Bag<Wait>>();

  /** Calls `fn` once when the signal aborts. Gives the function that calls it off. */
  on(signal: AbortSignal, fn: () => void): () => void {
    const waits = this.#waits.get(signal) ?? this.#watch(signal);
    const wait = { fn, place: 0 };
    waits.add(wait);
    return () => waits.delete(wait);
  }

  #watch(signal: AbortSignal): Bag<Wait> {
    const waits = new Bag<Wait>();
    this.#waits.set(signal, waits);
    const fire = () => {
      for (const wait of waits.list()) {
        waits.delete(wait);
        wait.fn();
      }
    };
    signal.addEventListener("abort", fire, { once: true });
    return waits;
  }
}
