/** When each hook started: for its cooldown and its hourly rate. Learnt from its runs when it is first asked for. */
import type { AutomationRunStore } from "../../domain/automation.js";
import { HOUR_MS } from "../../lib/time/duration.js";
import type { Definition } from "../definition/definition.js";

const NEVER = Number.NEGATIVE_INFINITY;

interface Known {
  last: number;
  /** The starts of the last hour, oldest first. */
  recent: number[];
}

export class Starts {
  readonly #runs: Pick<AutomationRunStore, "started">;
  readonly #known = new Map<string, Known>();
  readonly #learning = new Map<string, Promise<void>>();

  constructor(runs: Pick<AutomationRunStore, "started">) {
    this.#runs = runs;
  }

  async learn(hookId: string, now: number): Promise<void> {
    if (this.#known.has(hookId)) return;
    let learning = this.#learning.get(hookId);
    if (learning === undefined) {
      learning = this.#read(hookId, now).finally(() => this.#learning.delete(hookId));
      this.#learning.set(hookId, learning);
    }
    await learning;
  }

  async #read(hookId: string, now: number): Promise<void> {
    const { at, lastStartedAt } = await this.#runs.started(hookId, now - HOUR_MS);
    const since = this.#known.get(hookId);
    // A start that is later than now was stored under a clock that was ahead.
    this.#known.set(hookId, {
      last: Math.max(Math.min(lastStartedAt ?? NEVER, now), since?.last ?? NEVER),
      recent: [...at.map((time) => Math.min(time, now)), ...(since?.recent ?? [])],
    });
  }

  /** The clock was set: a cooldown and an hour keep their length. */
  shift(stepMs: number): void {
    for (const known of this.#known.values()) {
      known.last += stepMs;
      known.recent = known.recent.map((time) => time + stepMs);
    }
  }

  last(hookId: string): number {
    return this.#known.get(hookId)?.last ?? NEVER;
  }

  inLastHour(hookId: string, now: number): number {
    const recent = this.#known.get(hookId)?.recent;
    if (recent === undefined) return 0;
    while (recent.length > 0 && (recent[0] as number) <= now - HOUR_MS) recent.shift();
    return recent.length;
  }

  /** When the start that keeps a full hour full is an hour old. */
  freeAgainAt(hookId: string, maxPerHour: number): number {
    return (this.#known.get(hookId)?.recent.at(-maxPerHour) ?? NEVER) + HOUR_MS;
  }

  /** Kept only for hooks with a gate that needs the starts. */
  note({ id, cooldownMs, maxPerHour }: Definition, now: number): void {
    if (cooldownMs === 0 && maxPerHour === undefined) return;
    const known = this.#known.get(id) ?? { last: NEVER, recent: [] };
    known.last = now;
    if (maxPerHour !== undefined) known.recent.push(now);
    this.#known.set(id, known);
  }
}
