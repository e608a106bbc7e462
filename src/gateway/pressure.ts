/**
 * Back-pressure: counts unfinished events, and accepts no more above the limit until some are finished. A platform's backlog is accepted
 * only as fast as it is handled from memory: then it need not be read from the disk again, and answers keep up with questions.
 */
const ENOUGH_AT_HAND = 1_000;

interface Waiting {
  keepsBacklog: boolean;
  go: () => void;
}

export class Pressure {
  readonly #max: number;
  /** Inbound events. */
  #unfinished = 0;
  /** Deliveries that are sent from memory; those that wait for a retry or a pause do not count. */
  #unsent = 0;
  #waiting: Waiting[] = [];
  #isClosed = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** Resolves as soon as there is room for one more; at once after `close()`. First come, first served among those that wait for the same. */
  room(keepsBacklog: boolean): Promise<void> | undefined {
    if (this.#hasRoom(keepsBacklog) || this.#isClosed) return undefined;
    return new Promise((go) => this.#waiting.push({ keepsBacklog, go }));
  }

  add(count = 1): void {
    this.#unfinished += count;
  }

  finished(): void {
    this.#unfinished--;
    this.#letIn();
  }

  /** Deliveries came to those that are sent from memory, or left them. */
  unsent(change: number): void {
    this.#unsent += change;
    if (change < 0) this.#letIn();
  }

  /** Callers that wait continue, and find that the gateway is stopping. */
  close(): void {
    this.#isClosed = true;
    for (const { go } of this.#waiting.splice(0)) go();
  }

  #hasRoom(keepsBacklog: boolean): boolean {
    if (this.#unfinished >= this.#max) return false;
    return !keepsBacklog || this.#unfinished + this.#unsent < ENOUGH_AT_HAND;
  }

  #letIn(): void {
    if (this.#waiting.length === 0) return;
    const next = this.#waiting.findIndex(({ keepsBacklog }) => this.#hasRoom(keepsBacklog));
    if (next >= 0) this.#waiting.splice(next, 1)[0]?.go();
  }
}
