/**
 * Which starts of work an ordinary stop of the gateway cut off, of those that are counted on disk because the work may crash the process:
 * a stop is no crash, so such a start counts for nothing. Written when a stop starts, with each start during it, and at its end: a
 * process that a second signal or the supervisor ends early was stopped all the same.
 */
import type { KeyValueStore } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";

interface CutOff {
  /** How often it had been started. */
  starts: number;
  /** How many of these starts a stop cut off. */
  stops: number;
  /** When the last of them was cut off. */
  at: number;
  /** The work was a suspect when it was started last. */
  isSuspect?: boolean | undefined;
}

interface Written {
  /** Nothing was started since. */
  isLast: boolean;
  work: Record<string, CutOff>;
}

const SCOPE = "gateway";
const KEY = "ordinary-stop";

export class OrdinaryStops {
  readonly #keyValue: Pick<KeyValueStore, "get" | "set">;
  readonly #clock: Pick<Clock, "now">;
  readonly #logger: Logger;
  readonly #known = new Map<string, CutOff>();
  readonly #underWay = new Map<string, Pick<CutOff, "starts" | "isSuspect">>();
  #wasLast = false;
  #isStopping = false;

  constructor(keyValue: Pick<KeyValueStore, "get" | "set">, clock: Pick<Clock, "now">, logger: Logger) {
    this.#keyValue = keyValue;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Before anything is started. */
  async load(): Promise<void> {
    const { isLast = false, work = {} } = ((await this.#keyValue.get(SCOPE, KEY)) ?? {}) as Partial<Written>;
    this.#wasLast = isLast;
    for (const [key, cutOff] of Object.entries(work)) this.#known.set(key, cutOff);
    if (isLast) await this.#keyValue.set(SCOPE, KEY, { isLast: false, work } satisfies Written);
  }

  /** The last process ended by an ordinary stop. */
  get wasLast(): boolean {
    return this.#wasLast;
  }

  /** How many starts of this work a stop cut off. */
  of(key: string): number {
    return this.#known.get(key)?.stops ?? 0;
  }

  /** When a stop cut off this start of work that was under way when a process ended; undefined: it may have crashed that process. */
  stoppedAt(key: string, starts: number): number | undefined {
    const known = this.#known.get(key);
    return known?.starts === starts && known.isSuspect !== true ? known.at : undefined;
  }

  started(key: string, starts: number, isSuspect?: boolean): void {
    this.#underWay.set(key, { starts, isSuspect });
    if (this.#isStopping) void this.write();
  }

  /** The work may be started again. */
  ended(key: string): void {
    this.#underWay.delete(key);
  }

  /** The work is done. */
  forget(key: string): void {
    this.#underWay.delete(key);
    this.#known.delete(key);
  }

  /** A stop cut off its first start, which was counted as that of other work. */
  notedBefore(key: string): void {
    this.#known.set(key, { starts: 1, stops: 1, at: this.#clock.now() });
  }

  /** From the first time on the gateway is stopping. Never rejects. */
  async write(): Promise<void> {
    this.#isStopping = true;
    const at = this.#clock.now();
    const cutOff = [...this.#underWay].map(([key, one]) => [key, { ...one, stops: this.of(key) + 1, at }] as const);
    const work = Object.fromEntries([...this.#known, ...cutOff]);
    await this.#keyValue
      .set(SCOPE, KEY, { isLast: true, work } satisfies Written)
      .catch((error: unknown) =>
        this.#logger.warn(
          { error: errorMessage(error) },
          "what the stop cut off could not be stored: it counts as a crash",
        ),
      );
  }
}
