/**
 * A bag for objects that come and go with every message, where no key is needed: a `Set` would take part of them into the old
 * generation (see transient-map.ts). The objects have no order.
 *
 * Benchmark: bench/fast.ts.
 */
export interface InBag {
  /** Where it is in its bag; kept by that. */
  place: number;
}

export class Bag<T extends InBag> {
  readonly #all: T[] = [];

  add(one: T): void {
    one.place = this.#all.push(one) - 1;
  }

  /** Nothing happens when it is not in there. */
  delete(one: T): void {
    if (this.#all[one.place] !== one) return;
    const last = this.#all.pop() as T;
    if (last === one) return;
    last.place = one.place;
    this.#all[one.place] = last;
  }

  /** All objects that are in the bag now. */
  list(): T[] {
    return [...this.#all];
  }
}
