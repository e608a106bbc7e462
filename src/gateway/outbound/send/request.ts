/**
 * One platform request, bounded in time: no answer within `send_timeout` (`upload_timeout` when it carries a file, counted from the end
 * of the fetch of its files) counts as ambiguous. One shared timer a limit, none per request.
 */
import type { Adapter, FileFetch, SendOperation, SendResult } from "../../../domain/chat/adapter.js";
import { Bag, type InBag } from "../../../fast/bag.js";
import { errorMessage } from "../../../lib/errors.js";
import type { Clock, Timer } from "../../../lib/time/clock.js";
import type { GatewayConfig } from "../../config.js";

/** A timer this late was kept from firing. */
const LATE_MS = 1_000;
/** An answer that has arrived is read within this time. */
const READ_WITHIN_MS = 5_000;

export class Requests {
  readonly #short: TimeLimit;
  readonly #long: TimeLimit;
  /** One abort controller for all requests: a signal for each request costs more than the rest of this file. */
  readonly #stopping = new AbortController();

  constructor(clock: Clock, config: Pick<GatewayConfig, "send_timeout" | "upload_timeout">) {
    this.#short = new TimeLimit(clock, config.send_timeout);
    this.#long = new TimeLimit(clock, config.upload_timeout);
  }

  /** An adapter that throws at once is the same as one that rejects. */
  send(adapter: Adapter, operation: SendOperation): Promise<SendResult> {
    const withFile = operation.kind !== "delete" && operation.part.hasFile ? operation : undefined;
    const limit = withFile ? this.#long : this.#short;
    return new Promise((resolve) => {
      const one = limit.add(resolve, withFile ? new AbortController() : undefined);
      const settle = (result: SendResult) => {
        limit.delete(one);
        resolve(result);
      };
      const fail = (error: unknown) => settle(unanswered(one, errorMessage(error)));
      try {
        const asked = withFile ? { ...withFile, fetch: limit.fetchOf(one) } : operation;
        adapter.send(asked, one.aborting?.signal ?? this.#stopping.signal).then(settle, fail);
      } catch (thrown) {
        fail(thrown);
      }
    });
  }

  /** How long the requests under way may still take; 0 when there are none. */
  get longestLeftMs(): number {
    return Math.max(this.#short.longestLeftMs, this.#long.longestLeftMs);
  }

  /** A stop that cannot wait any longer. */
  giveUpAll(why: string): void {
    this.#short.giveUpAll(why);
    this.#long.giveUpAll(why);
    this.#stopping.abort();
  }
}

/**
 * Past its time its request is abandoned, and ends by the adapter's own time limit: its answer is no longer awaited. One with files is
 * aborted, because it may not have been written yet.
 */
interface UnderWay extends InBag {
  /** On the monotonic clock. */
  dueAt: number;
  resolve(result: SendResult): void;
  /** For a request with files. */
  aborting: AbortController | undefined;
  /** The files of the request are being fetched, so nothing was sent. */
  isFetching: boolean;
}

/** In doubt, unless nothing was written yet. */
function unanswered({ isFetching }: UnderWay, why: string): SendResult {
  return isFetching
    ? { kind: "retry", error: `a file could not be fetched: ${why}`, scope: "file" }
    : { kind: "ambiguous", error: why };
}

/** Requests that may take equally long. */
class TimeLimit {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #underWay = new Bag<UnderWay>();
  #timer: Timer | undefined;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  /** `aborting`: it has files. Their fetch has a time of its own, and a second one before it is given up from here. */
  add(resolve: (result: SendResult) => void, aborting?: AbortController): UnderWay {
    const isFetching = aborting !== undefined;
    const dueAt = this.#clock.monotonic() + (isFetching ? 2 * this.#ms : this.#ms);
    const one: UnderWay = { dueAt, resolve, aborting, isFetching, place: 0 };
    this.#underWay.add(one);
    if (!this.#timer) this.#arm(this.#ms);
    return one;
  }

  fetchOf(one: UnderWay): FileFetch {
    const onEnd = () => {
      one.isFetching = false;
      one.dueAt = this.#clock.monotonic() + this.#ms;
    };
    return { withinMs: this.#ms, onEnd };
  }

  get longestLeftMs(): number {
    const now = this.#clock.monotonic();
    return Math.max(0, ...this.#underWay.list().map(({ dueAt }) => dueAt - now));
  }

  delete(one: UnderWay): void {
    this.#underWay.delete(one);
  }

  giveUpAll(why: string): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const one of this.#underWay.list()) this.#giveUp(one, why);
  }

  #giveUp(one: UnderWay, why: string): void {
    this.#underWay.delete(one);
    one.resolve(unanswered(one, why));
    one.aborting?.abort();
  }

  #arm(delayMs: number): void {
    const plannedAt = this.#clock.monotonic() + delayMs;
    this.#timer = this.#clock.after(delayMs, () => {
      this.#timer = undefined;
      const now = this.#clock.monotonic();
      // This process was stopped or busy: answers may be here, unread. Timers come before input.
      const isLate = now - plannedAt > LATE_MS;
      let nextMs = Number.POSITIVE_INFINITY;
      for (const one of this.#underWay.list()) {
        if (isLate) one.dueAt = Math.max(one.dueAt, now + READ_WITHIN_MS);
        if (one.dueAt <= now) this.#giveUp(one, `no answer within ${this.#ms} ms`);
        else nextMs = Math.min(nextMs, one.dueAt - now);
      }
      if (nextMs < Number.POSITIVE_INFINITY) this.#arm(nextMs);
    });
  }
}
