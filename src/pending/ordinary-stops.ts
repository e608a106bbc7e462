/**
 * Which starts of work an ordinary stop of the gateway cut off, of those that are counted on disk because the work may crash the process:
 * a stop is no crash, so such a start counts for nothing. Written when a stop begins, and as its last words.
 */
import type { KeyValueStore } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";

interface CutOff {
  /** How often it had been started. */
  starts: number;
  /** How many of these starts a stop cut off. */
  stops: number;
  /** It was a suspect when it was started last. */
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
  readonly #logger: Logger;
  readonly #known = new Map<string, CutOff>();
  readonly #underWay = new Map<string, Omit<CutOff, "stops">>();
  #wasLast = false;

  constructor(keyValue: Pick<KeyValueStore, "get" | "set">, logger: Logger) {
    this.#keyValue = keyValue;
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

  /** Whether work that was under way when the last process ended may have crashed it. */
  isSuspect(key: string, starts: number): boolean {
    const known = this.#known.get(key);
    return known?.starts !== starts || known.isSuspect === true;
  }

  started(key: string, starts: number, isSuspect?: boolean): void {
    this.#underWay.set(key, { starts, isSuspect });
  }

  /** It may be started again. */
  ended(key: string): void {
    this.#underWay.delete(key);
  }

  /** It is done. */
  forget(key: string): void {
    this.#underWay.delete(key);
    this.#known.delete(key);
  }

  /** A stop cut off its first start, which was counted as that of other work. */
  notedBefore(key: string): void {
    this.#known.set(key, { starts: 1, stops: 1 });
  }

  /** Never rejects. */
  async write(): Promise<void> {
    const cutOff = [...this.#underWay].map(([key, one]) => [key, { ...one, stops: this.of(key) + 1 }] as const);
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
