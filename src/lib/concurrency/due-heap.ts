/** Keys by when they fall due, then by when that was last set: a binary heap in which a key is once and can be moved. */

interface Entry<K = unknown> {
  readonly key: K;
  dueAt: number;
  order: number;
  /** Its place in the heap. */
  at: number;
}

export class DueHeap<K = string> {
  #heap: Entry<K>[] = [];
  #byKey = new Map<K, Entry<K>>();
  #order = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** In the order in which they were set. */
  all(): Readonly<Entry<K>>[] {
    return [...this.#heap].sort((a, b) => a.order - b.order);
  }

  get first(): Readonly<Entry<K>> | undefined {
    return this.#heap[0];
  }

  /** Puts the key in, or moves it. */
  set(key: K, dueAt: number): void {
    let entry = this.#byKey.get(key);
    if (!entry) {
      entry = { key, dueAt, order: 0, at: this.#heap.length };
      this.#byKey.set(key, entry);
      this.#heap.push(entry);
    }
    entry.dueAt = dueAt;
    entry.order = this.#order++;
    this.#settle(entry);
  }

  delete(key: K): void {
    const entry = this.#byKey.get(key);
    if (!entry) return;
    this.#byKey.delete(key);
    const last = this.#heap.pop();
    if (!last || last === entry) return;
    this.#place(last, entry.at);
    this.#settle(last);
  }

  clear(): void {
    this.#heap = [];
    this.#byKey.clear();
  }

  /** Moves an entry up or down to where it belongs. */
  #settle(entry: Entry<K>): void {
    const heap = this.#heap;
    for (let parent = heap[(entry.at - 1) >> 1]; entry.at > 0 && parent; parent = heap[(entry.at - 1) >> 1]) {
      if (!isBefore(entry, parent)) break;
      this.#swap(entry, parent);
    }
    for (;;) {
      const left = heap[2 * entry.at + 1];
      const right = heap[2 * entry.at + 2];
      const child = right && left && isBefore(right, left) ? right : left;
      if (!child || !isBefore(child, entry)) break;
      this.#swap(entry, child);
    }
  }

  #swap(a: Entry<K>, b: Entry<K>): void {
    const at = a.at;
    this.#place(a, b.at);
    this.#place(b, at);
  }

  #place(entry: Entry<K>, at: number): void {
    this.#heap[at] = entry;
    entry.at = at;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order);
}
