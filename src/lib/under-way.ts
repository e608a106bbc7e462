/** Counts what is under way, for callers that wait until less of it is. A count, because a set of promises costs each of them a place in it. */
export class UnderWay {
  #count = 0;
  #onEnd: (() => void)[] = [];

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count++;
  }

  readonly end = (): void => {
    this.#count--;
    if (this.#onEnd.length > 0) for (const resolve of this.#onEnd.splice(0)) resolve();
  };

  /** Resolves as soon as one has ended; at once when there is none. */
  oneEnded(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#onEnd.push(resolve));
  }

  /** Resolves when there is none. */
  async allEnded(): Promise<void> {
    while (this.#count > 0) await this.oneEnded();
  }
}
