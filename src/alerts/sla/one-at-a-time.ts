/** Jobs of one key one after the other, in the order in which they were asked for; those of different keys side by side. */
export class OneAtATime {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(key: string, job: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(job);
    const settled = result.then(
      () => {},
      () => {}, // the caller has the rejection
    );
    this.#last.set(key, settled);
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return result;
  }

  async drained(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
