/** Runs pieces of work one after the other: each starts when the one before it ended, well or badly. */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => {
      // The caller of that work has the rejection.
    });
    return result;
  };
}

/** Like `inTurn`, for each key: the work of one key takes turns; work of other keys does not wait for it. An idle key is forgotten. */
export class InTurnByKey<K> {
  readonly #last = new Map<K, Promise<unknown>>();

  run<T>(key: K, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const ended = result.then(
      () => {},
      () => {}, // the caller of that work has the rejection
    );
    this.#last.set(key, ended);
    void ended.then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    return result;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
