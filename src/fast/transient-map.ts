/**
 * A map for entries that come and go with every message.
 *
 * A built-in `Map` or `Set` moves to a new table when deletions have filled the old one, and the old table, garbage by then,
 * still refers to all that was in it, and to the new one. Collections of the young generation do not know that a table among
 * the old objects is dead: all that such a map ever held is kept there, with everything it refers to, until a full collection.
 * So the built-in map holds numbers here, of places in a list; and a key that was deleted keeps its place for a while,
 * because the next message is mostly of the same conversation.
 *
 * Benchmark: bench/fast.ts.
 */
const MAX_IDLE = 1_000;

export class TransientMap<K extends string | number, V extends object> {
  #places = new Map<K, number>();
  /** Undefined: its key is idle. */
  #values: (V | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#values[place];
  }

  set(key: K, value: V): void {
    const place = this.#places.get(key);
    if (place !== undefined) {
      if (this.#values[place] === undefined) this.#size++;
      this.#values[place] = value;
      return;
    }
    if (this.#values.length > 2 * this.#size + MAX_IDLE) this.#forgetIdle();
    this.#places.set(key, this.#values.push(value) - 1);
    this.#size++;
  }

  /** Gives the value that was there. */
  delete(key: K): V | undefined {
    const place = this.#places.get(key);
    const value = place === undefined ? undefined : this.#values[place];
    if (place === undefined || value === undefined) return undefined;
    this.#values[place] = undefined;
    this.#size--;
    return value;
  }

  /** The entries of this moment, in no meaningful order. */
  entries(): [K, V][] {
    const entries: [K, V][] = [];
    for (const [key, place] of this.#places) {
      const value = this.#values[place];
      if (value !== undefined) entries.push([key, value]);
    }
    return entries;
  }

  #forgetIdle(): void {
    const entries = this.entries();
    this.#places = new Map(entries.map(([key], place) => [key, place]));
    this.#values = entries.map(([, value]) => value);
  }
}
