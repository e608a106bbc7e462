/**
 * The checks before a run, in this order: the global cap, the hook's own concurrency, its cooldown (from start to start), its hourly rate,
 * its circuit breaker. Loops are cut before (run/loop.ts), because that reads the history.
 *
 * Running ones are counted in this process. State that must survive a restart is in rows: when a hook started is read from its runs when it
 * is first seen, breakers are read at the start.
 */
import type { AutomationRunStore } from "../domain/automation.js";
import type { KeyValueStore } from "../domain/store.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import { formatDuration } from "../lib/time/duration.js";
import type { Definition } from "./definition/definition.js";
import { Breakers } from "./gates/breaker.js";
import type { Refusal } from "./gates/refusal.js";
import { Slots } from "./gates/slots.js";
import { Starts } from "./gates/starts.js";
import type { RunOutcome } from "./run/outcome.js";

/** Read when it is needed: a reload changes the limits. */
export interface GatesOptions {
  /** The global cap. */
  readonly maxRunning: number;
  readonly breaker: { failures: number; pauseMs: number };
  runs: Pick<AutomationRunStore, "started">;
  keyValue: Pick<KeyValueStore, "list" | "set" | "setNow" | "delete">;
  /** The definition in force. */
  definition(hookId: string): Definition | undefined;
  clock: Clock;
  logger: Logger;
  /** A breaker opened: called once, until it has closed again. */
  onBreak(hookId: string, pauseMs: number): void;
}

export interface Pass {
  kind: "open";
  /** To be called once, when the run has ended. Never rejects. */
  leave(outcome: RunOutcome | undefined): Promise<void>;
}

export interface Entrance {
  definition: Definition;
  /** A person asked for it: an open breaker does not refuse it. */
  isManual: boolean;
  /** A person tests the hook, alone or with its whole point: the breaker, which is about real traffic, does not count the run. */
  isByHand: boolean;
  /** The run continues a stored run that has started before: the cooldown, which counts from start to start, does not refuse it. */
  isRetry: boolean;
  /** The run was stored beforehand: the global cap makes it wait, and never refuses it. */
  isStored: boolean;
  signal: AbortSignal;
  /** The run has to wait for room, under this setting (`concurrency: 1`). */
  onWait?: ((limit: string) => void) | undefined;
}

export class Gates {
  readonly #options: GatesOptions;
  readonly #slots: Slots;
  readonly #starts: Starts;
  readonly breakers: Breakers;

  constructor(options: GatesOptions) {
    this.#options = options;
    this.#slots = new Slots(() => options.maxRunning);
    this.#starts = new Starts(options.runs);
    this.breakers = new Breakers(options);
    options.clock.onStep?.((stepMs) => {
      this.#starts.shift(stepMs);
      this.breakers.shift(stepMs);
    });
  }

  /** Rejects with the signal's reason when it aborts while waiting for room. */
  async enter(entrance: Entrance): Promise<Pass | Refusal> {
    const { definition } = entrance;
    if (definition.cooldownMs > 0 || definition.maxPerHour !== undefined)
      await this.#starts.learn(definition.id, this.#now);
    const slot = await this.#takeSlot(entrance);
    if (slot.kind === "refused") return slot;
    const refusal = this.#checkStarts(entrance) ?? this.#checkBreaker(entrance);
    if (refusal !== undefined) {
      slot.free();
      return refusal;
    }
    if (!entrance.isByHand) this.breakers.started(definition.id);
    this.#starts.note(definition, this.#now);
    return {
      kind: "open",
      leave: async (outcome) => {
        const noted = entrance.isByHand ? undefined : this.breakers.note(definition, outcome, this.#now);
        slot.free();
        await noted;
      },
    };
  }

  running(hookId: string): number {
    return this.#slots.running(hookId);
  }

  /** Loads, at the start, the state that must survive a restart. */
  learn(isThere: (hookId: string) => boolean): Promise<void> {
    return this.breakers.learn(isThere);
  }

  /** The limits or the hooks have changed. */
  admit(): void {
    this.#slots.admit();
    this.breakers.closeChanged();
  }

  /**
   * The refusal that a run would get now, or that would make it wait for its turn; undefined when there is none. Takes nothing. For
   * "why". `noPlace`: no place is free for stored runs.
   */
  async refusalNow(
    definition: Definition,
    noPlace: Refusal | undefined,
  ): Promise<(Refusal & { waits: boolean }) | undefined> {
    await this.#starts.learn(definition.id, this.#now);
    const entrance = { definition, isManual: definition.trigger.kind === "manual", isRetry: false };
    const isStored = definition.execution === "background" && !entrance.isManual;
    const { whenBusy } = definition;
    const busy = this.#slots.busy(definition);
    // A run that is to be stored meets its own hook first, and waits for a place afterwards.
    const own = isStored && whenBusy === "skip" ? busy : undefined;
    const cap = isStored ? noPlace : undefined;
    const full = entrance.isManual ? busy : (own ?? cap ?? this.#slots.refusal(definition));
    // A person who fires a busy hook is refused under every `when_busy`.
    const waits =
      full !== undefined && !entrance.isManual && (whenBusy !== "skip" || (full.gate === "cap" && isStored));
    const later = this.#checkStarts(entrance) ?? this.#checkBreaker(entrance);
    const first = waits ? (later ?? full) : (full ?? later);
    if (first === undefined) return undefined;
    const reason = first.gate === "rate" ? `${first.reason}, ${this.#nextInHour(definition)}` : first.reason;
    return { ...first, reason, waits: first === full && waits };
  }

  /**
   * The refusal of a run that is to be stored, in the order of all gates; the global cap makes the run wait, as does a hook that queues.
   */
  async lookAhead(definition: Definition): Promise<Refusal | undefined> {
    if (definition.cooldownMs > 0 || definition.maxPerHour !== undefined)
      await this.#starts.learn(definition.id, this.#now);
    const busy = definition.whenBusy === "skip" ? this.#slots.busy(definition) : undefined;
    if (busy !== undefined) return busy;
    const entrance = { definition, isManual: false, isRetry: false };
    return this.#checkStarts(entrance) ?? this.#checkBreaker(entrance);
  }

  /** When its cooldown ends, ms since the epoch; undefined when it has none or it has ended. */
  async cooldownUntil({ id, cooldownMs }: Definition): Promise<number | undefined> {
    if (cooldownMs === 0) return undefined;
    await this.#starts.learn(id, this.#now);
    const until = this.#starts.last(id) + cooldownMs;
    return until > this.#now ? until : undefined;
  }

  get #now(): number {
    return this.#options.clock.now();
  }

  /** Not in records: there the reason is the same for each refused run. */
  #nextInHour({ id, maxPerHour = 1 }: Definition): string {
    const left = this.#starts.freeAgainAt(id, maxPerHour) - this.#now;
    return `the next in ${formatDuration(left)}`;
  }

  #takeSlot({ definition, isStored, signal, onWait }: Entrance) {
    const waits = definition.whenBusy === "skip" ? (isStored ? "for the cap" : "not") : "for both";
    return this.#slots.take(definition, waits, signal, (refusal) =>
      onWait?.(
        refusal?.gate === "cap"
          ? `automations.max_running: ${this.#options.maxRunning}`
          : `concurrency: ${definition.concurrency}`,
      ),
    );
  }

  #checkBreaker({ definition, isManual }: Pick<Entrance, "definition" | "isManual">): Refusal | undefined {
    return this.breakers.check(definition, isManual, this.#now);
  }

  #checkStarts({ definition, isRetry }: Pick<Entrance, "definition" | "isRetry">): Refusal | undefined {
    const now = this.#now;
    const { id, cooldownMs, maxPerHour } = definition;
    const left = cooldownMs - (now - this.#starts.last(id));
    if (!isRetry && left > 0)
      return {
        kind: "refused",
        gate: "cooldown",
        reason: `${formatDuration(left)} left of ${formatDuration(cooldownMs)}`,
      };
    if (maxPerHour !== undefined && this.#starts.inLastHour(id, now) >= maxPerHour)
      return {
        kind: "refused",
        gate: "rate",
        reason: `at most ${maxPerHour} ${maxPerHour === 1 ? "run" : "runs"} in an hour`,
      };
    return undefined;
  }
}
