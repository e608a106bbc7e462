/**
 * Hooks that time starts. The rows say when each fires next; a pass over one that is due stores its run and moves its next time in
 * one transaction, so that a crash loses neither and another process cannot do it again.
 */
import type { TriggerState } from "../../domain/automation.js";
import { isMissed } from "../../lib/cron.js";
import { errorMessage } from "../../lib/errors.js";
import { createWork } from "../../lib/work.js";
import type { Definition } from "../definition/definition.js";
import { firstTime, onceReason, reasonOf, scheduleOf, type TimedTrigger, timeAfter } from "./schedule.js";
import type { DueStart, NextFire, TriggerDeps, TriggerProblem, Triggers } from "./trigger.js";

const MAX_PARALLEL = 16;

type Deps = Pick<
  TriggerDeps,
  "draft" | "draftPaused" | "wasPaused" | "cooldownUntil" | "isOff" | "clock" | "logger"
> & {
  store: TriggerDeps["store"]["triggers"];
};

interface Timed {
  definition: Definition;
  trigger: TimedTrigger;
  schedule: string;
}

export function createTimed(deps: Deps): Omit<Triggers, "ingested" | "waitingEvents" | "release"> {
  const { store, clock } = deps;
  const startedAt = clock.now();
  let timed = new Map<string, Timed>();
  /** As last read or written here. */
  const states = new Map<string, TriggerState>();
  /** Hooks whose only time came during a pause. */
  const skipped = new Set<string>();
  const work = createWork({ processDue, maxParallel: MAX_PARALLEL, clock, logger: deps.logger });

  async function sync(definitions: readonly Definition[], broken: readonly string[] = []): Promise<void> {
    const wanted = new Map(
      definitions.flatMap((definition) => timedOf(definition) ?? []).map((one) => [one.definition.id, one]),
    );
    const kept = new Set(broken);
    const known = new Map((await store.list()).map((state) => [state.hookId, state]));
    timed = wanted;
    await Promise.all([...known.keys()].filter((id) => !wanted.has(id) && !kept.has(id)).map((id) => store.forget(id)));
    states.clear();
    skipped.clear();
    await Promise.all([...wanted.values()].map((one) => plan(one, known.get(one.definition.id))));
  }

  /** Resumes the row, or makes it again when it has another schedule. */
  async function plan({ definition, trigger, schedule }: Timed, known: TriggerState | undefined): Promise<void> {
    const { id } = definition;
    const now = clock.now();
    const holds = known?.schedule === schedule && !isOutOfReach(trigger, known, now);
    const state = holds ? known : stateOf(id, schedule, firstTime(trigger, now), known?.lastAt);
    if (state !== known) await store.set(state);
    if (trigger.kind === "at" && state.nextAt === undefined && (await deps.wasPaused(definition, trigger.at)))
      skipped.add(id);
    remember(state);
  }

  function remember(state: TriggerState): void {
    states.set(state.hookId, state);
    if (state.nextAt !== undefined) work.wake(state.hookId, state.nextAt);
  }

  /** The next time to look at the hook. */
  async function processDue(id: string): Promise<number | undefined> {
    const one = timed.get(id);
    const state = one && (await store.get(id));
    if (state?.nextAt === undefined || state.schedule !== one?.schedule) return undefined;
    states.set(id, state);
    const now = clock.now();
    if (state.nextAt > now) return state.nextAt;
    const dueAt = state.nextAt;
    const next = timeAfter(one.trigger, dueAt, now);
    if (deps.isOff(id)) return passOff(one, dueAt, stateOf(id, one.schedule, next, state.lastAt));
    if (!one.trigger.catchUp && isMissed(dueAt, now, startedAt)) return passBy(one, state, next);
    // An interval waits for the cooldown; a time of day does not come at another time.
    const cooledAt = one.trigger.kind === "every" ? await deps.cooldownUntil(one.definition) : undefined;
    if (cooledAt !== undefined) return passBy(one, state, cooledAt);
    return fire(one, dueAt, stateOf(id, one.schedule, next, now));
  }

  /** The clock was set: an interval keeps its rhythm, a time of day that comes again is not skipped. */
  async function stepped(stepMs: number): Promise<void> {
    const now = clock.now();
    for (const [id, { trigger }] of timed) {
      const state = states.get(id);
      if (state?.nextAt === undefined || trigger.kind === "at") continue;
      const nextAt =
        trigger.kind === "every"
          ? state.nextAt + stepMs
          : Math.min(state.nextAt, firstTime(trigger, now) ?? state.nextAt);
      if (nextAt === state.nextAt) continue;
      await store.set({ ...state, nextAt });
      remember({ ...state, nextAt });
    }
  }

  clock.onStep?.((stepMs) => {
    stepped(stepMs).catch((error: unknown) =>
      deps.logger.error({ error: errorMessage(error) }, "intervals could not be rescheduled after the clock was set"),
    );
  });

  async function passBy({ definition: { id }, schedule }: Timed, state: TriggerState, next: number | undefined) {
    const passed = stateOf(id, schedule, next, state.lastAt);
    await store.set(passed);
    states.set(id, passed);
    return next;
  }

  /**
   * The first time of a pause is on record, so that people see why the hook did not run; a row for each would push out its real runs.
   * A one-shot that is switched off waits until it is on.
   */
  async function passOff(one: Timed, dueAt: number, after: TriggerState) {
    const row = await deps.draftPaused(one.definition, startOf(one, dueAt));
    const isOnce = one.trigger.kind === "at";
    if (row === undefined) return isOnce ? undefined : passBy(one, after, after.nextAt);
    if (isOnce) skipped.add(one.definition.id);
    return record(one, dueAt, after, row);
  }

  async function fire(one: Timed, dueAt: number, after: TriggerState) {
    return record(one, dueAt, after, await deps.draft(one.definition, startOf(one, dueAt)));
  }

  const startOf = ({ trigger }: Timed, dueAt: number): DueStart => ({
    kind: trigger.kind,
    reason: reasonOf(trigger, dueAt, clock.now(), startedAt),
    dueAt,
  });

  async function record(
    { definition: { id } }: Timed,
    dueAt: number,
    after: TriggerState,
    { run, stored }: Awaited<ReturnType<Deps["draft"]>>,
  ) {
    const isOurs = await store.fire(id, dueAt, after, run);
    if (isOurs) stored();
    const state = isOurs ? after : await store.get(id);
    if (state) states.set(id, state);
    return state?.nextAt;
  }

  function problemOf({ definition: { id }, trigger }: Timed): TriggerProblem | undefined {
    const state = states.get(id);
    if (trigger.kind !== "at" || state === undefined || state.nextAt !== undefined) return undefined;
    if (skipped.has(id)) {
      const toDo = `Give it another time, or fire it by hand: /fire-hook ${id} live=true`;
      return { hookId: id, message: `${onceReason(trigger.at)}. ${toDo}` };
    }
    return state.lastAt === undefined ? pastProblem(id, trigger.at) : undefined;
  }

  return {
    sync,
    wake: (hookId) => work.wake(hookId),
    next: () => [...states.values()].flatMap((state) => nextOf(state) ?? []).sort((a, b) => a.at - b.at),
    problems: () => [...timed.values()].flatMap((one) => problemOf(one) ?? []),
    stop: () => work.stop(),
  };
}

function timedOf(definition: Definition): Timed | undefined {
  const { trigger } = definition;
  if (trigger.kind !== "every" && trigger.kind !== "cron" && trigger.kind !== "at") return undefined;
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

/** The problem of a hook whose only time is past, by the rules of a start. `known`: its stored state; a time that is planned is made good. */
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
