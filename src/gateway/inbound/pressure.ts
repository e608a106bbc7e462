/** Back-pressure: counts what is unfinished, and lets nobody in above the limit until something is finished. */

export class Pressure {
  readonly #max: number;
  #unfinished = 0;
  #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** Resolves as soon as there is room for one more; at once after `close()`. First come, first served. */
  room(): Promise<void> | undefined {
    if (this.#unfinished < this.#max || this.#isClosed) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  add(count = 1): void {
    this.#unfinished += count;
  }

  finished(): void {
    this.#unfinished--;
    if (this.#unfinished < this.#max) this.#waiting.shift()?.();
  }

  /** Whoever waits goes on, and finds that the gateway is stopping. */
  close(): void {
    this.#isClosed = true;
    for (const go of this.#waiting.splice(0)) go();
  }
}
