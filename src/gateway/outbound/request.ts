/** One platform request, bounded in time: no answer within `send_timeout` counts as ambiguous. One shared timer, none per request. */
import type { Adapter, SendOperation, SendResult } from "../../domain/adapter.js";
import type { Clock, Timer } from "../../lib/clock.js";
import { errorMessage } from "../../lib/errors.js";

/** Its request is left to itself, and ends by the adapter's own time limit: nobody waits for its answer any more. */
interface UnderWay {
  dueAt: number;
  giveUp(why: string): void;
}

export class Requests {
  readonly #clock: Clock;
  readonly #limitMs: number;
  /** In order of `dueAt`, because all have the same limit. */
  readonly #underWay = new Set<UnderWay>();
  /** One for all requests: a signal of its own for each costs more than the rest of this file. */
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  send(adapter: Adapter, operation: SendOperation): Promise<SendResult> {
    return new Promise((resolve) => {
      const one: UnderWay = {
        dueAt: this.#clock.now() + this.#limitMs,
        giveUp: (why) => {
          this.#underWay.delete(one);
          resolve({ kind: "ambiguous", error: why });
        },
      };
      this.#underWay.add(one);
      if (!this.#timer) this.#arm(this.#limitMs);
      const settle = (result: SendResult) => {
        this.#underWay.delete(one);
        resolve(result);
      };
      this.#call(adapter, operation, this.#stopping.signal).then(settle, (error) =>
        settle({ kind: "ambiguous", error: errorMessage(error) }),
      );
    });
  }

  /** A stop that cannot wait any longer. */
  giveUpAll(why: string): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const one of this.#underWay) one.giveUp(why);
    this.#stopping.abort();
  }

  /** An adapter that throws at once is the same as one that rejects. */
  async #call(adapter: Adapter, operation: SendOperation, signal: AbortSignal): Promise<SendResult> {
    return adapter.send(operation, signal);
  }

  #arm(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => {
      this.#timer = undefined;
      const now = this.#clock.now();
      for (const one of this.#underWay) {
        if (one.dueAt > now) return this.#arm(one.dueAt - now);
        one.giveUp(`no answer within ${this.#limitMs} ms`);
      }
    });
  }
}
