/**
 * Hooks that time starts. The rows show when each hook fires next; a pass over a row that is due stores its run and moves its next time
 * in one transaction, so that a crash loses neither and another process cannot do it again.
 */
import { isTimed, type TriggerState } from "../../domain/automation.js";
import type { Work } from "../../domain/work.js";
import { createWork } from "../../lib/concurrency/work.js";
import { errorMessage } from "../../lib/errors.js";
import { isMissed } from "../../lib/time/cron.js";
import type { Definition } from "../definition/definition.js";
import { firstTime, onceReason, reasonOf, scheduleOf, type TimedTrigger, timeAfter } from "./schedule.js";
import type { DueStart, NextFire, TriggerDeps, TriggerProblem, Triggers } from "./trigger.js";

const MAX_PARALLEL = 16;

type Deps = Pick<
  TriggerDeps,
  "admitDue" | "draftPaused" | "wasPaused" | "cooldownUntil" | "isOff" | "clock" | "logger"
> & {
  store: TriggerDeps["store"]["triggers"];
};

interface Timed {
  definition: Definition;
  trigger: TimedTrigger;
  schedule: string;
}

export function createTimed(deps: Deps): Omit<Triggers, "ingested" | "waitingEvents" | "release"> {
  return new TimedHooks(deps);
}

class TimedHooks implements Omit<Triggers, "ingested" | "waitingEvents" | "release"> {
  readonly #deps: Deps;
  readonly #startedAt: number;
  #timed = new Map<string, Timed>();
  /** The states as last read or written here. */
  readonly #states = new Map<string, TriggerState>();
  /** Hooks whose only time came during a pause. */
  readonly #skipped = new Set<string>();
  readonly #work: Work;

  constructor(deps: Deps) {
    const { clock, logger } = deps;
    this.#deps = deps;
    this.#startedAt = clock.now();
    this.#work = createWork({ processDue: (id) => this.#processDue(id), maxParallel: MAX_PARALLEL, clock, logger });
    clock.onStep?.((stepMs) => {
      this.#stepped(stepMs).catch((error: unknown) =>
        logger.error({ error: errorMessage(error) }, "intervals could not be rescheduled after the clock was set"),
      );
    });
  }

  wake(hookId: string): void {
    this.#work.wake(hookId);
  }

  next(): NextFire[] {
    return [...this.#states.values()].flatMap((state) => nextOf(state) ?? []).sort((a, b) => a.at - b.at);
  }

  problems(): TriggerProblem[] {
    return [...this.#timed.values()].flatMap((one) => this.#problemOf(one) ?? []);
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  async sync(definitions: readonly Definition[], broken: readonly string[] = []): Promise<void> {
    const wanted = new Map(
      definitions.flatMap((definition) => timedOf(definition) ?? []).map((one) => [one.definition.id, one]),
    );
    const kept = new Set(broken);
    const known = new Map((await this.#deps.store.list()).map((state) => [state.hookId, state]));
    this.#timed = wanted;
    await Promise.all(
      [...known.keys()].filter((id) => !wanted.has(id) && !kept.has(id)).map((id) => this.#deps.store.forget(id)),
    );
    this.#states.clear();
    this.#skipped.clear();
    await Promise.all([...wanted.values()].map((one) => this.#plan(one, known.get(one.definition.id))));
  }

  /** Resumes the row, or makes it again when it has another schedule. */
  async #plan({ definition, trigger, schedule }: Timed, known: TriggerState | undefined): Promise<void> {
    const { id } = definition;
    const now = this.#deps.clock.now();
    const holds = known?.schedule === schedule && !isOutOfReach(trigger, known, now);
    const state = holds ? known : stateOf(id, schedule, firstTime(trigger, now), known?.lastAt);
    if (state !== known) await this.#deps.store.set(state);
    if (trigger.kind === "at" && state.nextAt === undefined && (await this.#deps.wasPaused(definition, trigger.at)))
      this.#skipped.add(id);
    this.#remember(state);
  }

  #remember(state: TriggerState): void {
    this.#states.set(state.hookId, state);
    if (state.nextAt !== undefined) this.#work.wake(state.hookId, state.nextAt);
  }

  /** The next time to look at the hook. */
  async #processDue(id: string): Promise<number | undefined> {
    const one = this.#timed.get(id);
    const state = one && (await this.#deps.store.get(id));
    if (state?.nextAt === undefined || state.schedule !== one?.schedule) return undefined;
    this.#states.set(id, state);
    const now = this.#deps.clock.now();
    if (state.nextAt > now) return state.nextAt;
    const dueAt = state.nextAt;
    const next = timeAfter(one.trigger, dueAt, now);
    if (this.#deps.isOff(id)) return this.#passOff(one, dueAt, stateOf(id, one.schedule, next, state.lastAt));
    if (!one.trigger.catchUp && isMissed(dueAt, now, this.#startedAt)) return this.#passBy(one, state, next);
    // An interval waits for the cooldown; a time of day does not come at another time.
    const cooledAt = one.trigger.kind === "every" ? await this.#deps.cooldownUntil(one.definition) : undefined;
    if (cooledAt !== undefined) return this.#passBy(one, state, cooledAt);
    return this.#fire(one, dueAt, stateOf(id, one.schedule, next, now));
  }

  /** The clock was set: an interval keeps its rhythm, a time of day that comes again is not skipped. */
  async #stepped(stepMs: number): Promise<void> {
    const now = this.#deps.clock.now();
    for (const [id, { trigger }] of this.#timed) {
      const state = this.#states.get(id);
      if (state?.nextAt === undefined || trigger.kind === "at") continue;
      const nextAt =
        trigger.kind === "every"
          ? state.nextAt + stepMs
          : Math.min(state.nextAt, firstTime(trigger, now) ?? state.nextAt);
      if (nextAt === state.nextAt) continue;
      await this.#deps.store.set({ ...state, nextAt });
      this.#remember({ ...state, nextAt });
    }
  }

  async #passBy({ definition: { id }, schedule }: Timed, state: TriggerState, next: number | undefined) {
    const passed = stateOf(id, schedule, next, state.lastAt);
    await this.#deps.store.set(passed);
    this.#states.set(id, passed);
    return next;
  }

  /**
   * The first time of a pause is on record, so that people see why the hook did not run; a row for each would push out its real runs.
   * A one-shot that is switched off waits until it is on.
   */
  async #passOff(one: Timed, dueAt: number, after: TriggerState) {
    const row = await this.#deps.draftPaused(one.definition, this.#startOf(one, dueAt));
    const isOnce = one.trigger.kind === "at";
    if (row === undefined) return isOnce ? undefined : this.#passBy(one, after, after.nextAt);
    if (isOnce) this.#skipped.add(one.definition.id);
    return this.#record(one, dueAt, after, row);
  }

  async #fire(one: Timed, dueAt: number, after: TriggerState) {
    return this.#record(one, dueAt, after, await this.#deps.admitDue(one.definition, this.#startOf(one, dueAt)));
  }

  #startOf({ trigger }: Timed, dueAt: number): DueStart {
    return { kind: trigger.kind, reason: reasonOf(trigger, dueAt, this.#deps.clock.now(), this.#startedAt), dueAt };
  }

  async #record(
    { definition: { id } }: Timed,
    dueAt: number,
    after: TriggerState,
    { run, stored }: Awaited<ReturnType<Deps["admitDue"]>>,
  ) {
    const isOurs = await this.#deps.store.fire(id, dueAt, after, run);
    if (isOurs) stored();
    const state = isOurs ? after : await this.#deps.store.get(id);
    if (state) this.#states.set(id, state);
    return state?.nextAt;
  }

  #problemOf({ definition: { id }, trigger }: Timed): TriggerProblem | undefined {
    const state = this.#states.get(id);
    if (trigger.kind !== "at" || state === undefined || state.nextAt !== undefined) return undefined;
    if (this.#skipped.has(id)) {
      const toDo = `Give it another time, or fire it by hand: /fire-hook ${id} live=true`;
      return { hookId: id, message: `${onceReason(trigger.at)}. ${toDo}` };
    }
    return state.lastAt === undefined ? pastProblem(id, trigger.at) : undefined;
  }
}

function timedOf(definition: Definition): Timed | undefined {
  const { trigger } = definition;
  if (!isTimed(trigger)) return undefined;
  return { definition, trigger, schedule: scheduleOf(trigger) };
}

/** The clock was set back while the gateway was stopped: nothing waits until it is where it was. */
function isOutOfReach(trigger: TimedTrigger, { nextAt }: TriggerState, now: number): boolean {
  return trigger.kind !== "at" && nextAt !== undefined && nextAt > (firstTime(trigger, now) ?? nextAt);
}

function stateOf(
  hookId: string,
  schedule: string,
  nextAt: number | undefined,
  lastAt: number | undefined,
): TriggerState {
  return {
    hookId,
    schedule,
    nextAt,
    lastAt,
  };
}

function nextOf({ hookId, schedule, nextAt, lastAt }: TriggerState): NextFire | undefined {
  if (nextAt === undefined) return undefined;
  return { hookId, schedule, at: nextAt, lastAt };
}

/**
 * The problem of a hook whose only time is past, by the rules of a start. `known`: its stored state; a time that is planned is made good.
 */
export function longPast(
  { id, trigger }: Definition,
  now: number,
  known: TriggerState | undefined,
): TriggerProblem | undefined {
  if (trigger.kind !== "at" || firstTime(trigger, now) !== undefined) return undefined;
  if (known?.lastAt !== undefined || (known?.schedule === scheduleOf(trigger) && known.nextAt !== undefined))
    return undefined;
  return pastProblem(id, trigger.at);
}

function pastProblem(hookId: string, at: number): TriggerProblem {
  return { hookId, message: `its time, ${new Date(at).toISOString()}, was past: it never fires` };
}
