/** Missions that start by themselves. The next time of each is a row; a time missed while the gateway was down is made good once. */
import type { Address } from "../../domain/chat/address.js";
import type { Plan } from "../../domain/orchestrator/plan.js";
import type { Schedule, ScheduleOutcome } from "../../domain/orchestrator/schedule.js";
import type { Work } from "../../domain/work.js";
import { createWork } from "../../lib/concurrency/work.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { newId } from "../../lib/id.js";
import { cronProblem } from "../../lib/time/cron.js";
import { localTimezone, timezoneProblem } from "../../lib/time/timezone.js";
import { nearest } from "../../lib/validation/nearest.js";
import { invalidPlan, isPlansFolder, type PlanFile, planOf } from "../missions/plans.js";
import type { ScheduleDeps } from "./deps.js";
import { dispatchIdOf, nextTime, withNext } from "./times.js";
import { startMission, trigger } from "./trigger.js";

const MAX_PARALLEL = 4;
/** How often the plans' files are read for schedules of their own. */
const PLANS_EVERY_MS = 60_000;
const PLANS = "@plans";

export interface NewSchedule {
  planId: string;
  expression: string;
  timezone?: string;
  /** The plan's id, or that and a number, when absent. */
  id?: string;
  by: string;
  address?: Address;
  /** The same value twice is one schedule. */
  once?: string;
}

export interface ScheduleDesk {
  list(): Promise<Schedule[]>;
  /**
   * Throws PLAN_NOT_FOUND, PLAN_INVALID, CRON_INVALID, and ID_TAKEN also when a schedule without a name has the plan and times of another.
   */
  add(schedule: NewSchedule): Promise<Schedule>;
  /** Pauses the schedule: its times pass by. `undefined` ends the pause. */
  pause(id: string, by: string | undefined): Promise<Schedule>;
  /** Removes a schedule that was added in chat. */
  remove(id: string): Promise<void>;
  /**
   * Starts a mission now, by a person; the schedule's own times stay. The same `once` twice is one mission; `attempt`: the caller's number
   * of starts, where it is on disk.
   */
  run(id: string, by: string, once?: string, attempt?: number): Promise<ScheduleOutcome>;
}

export interface Schedules extends ScheduleDesk {
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function createSchedules(deps: ScheduleDeps): Schedules {
  return new StoredSchedules(deps);
}

class StoredSchedules implements Schedules {
  readonly #deps: ScheduleDeps;
  readonly #startedAt: number;
  readonly #work: Work;

  constructor(deps: ScheduleDeps) {
    const { clock, logger } = deps;
    this.#deps = deps;
    this.#startedAt = clock.now();
    this.#work = createWork({
      processDue: (key) => (key === PLANS ? this.#processPlans() : this.#processDue(key)),
      maxParallel: MAX_PARALLEL,
      clock,
      logger,
    });
  }

  async list(): Promise<Schedule[]> {
    await this.#takePlans();
    return this.#deps.store.list();
  }

  async add({ planId, expression, timezone = localTimezone(), id, by, address, once }: NewSchedule): Promise<Schedule> {
    const { store, missions, clock } = this.#deps;
    const before = await store.list();
    const known = once === undefined ? undefined : before.find((one) => one.once === once);
    if (known !== undefined) return known;
    const times = { cron: expression.trim(), timezone };
    needGood(times);
    needPlan(missions.plans(), planId);
    const taken = new Set(before.map((one) => one.id));
    if (id !== undefined && taken.has(id)) throw idTaken(id);
    const same = before.find(
      (one) => one.planId === planId && one.expression === times.cron && one.timezone === timezone,
    );
    if (id === undefined && same !== undefined) throw sameTimes(same);
    return this.#plan({
      id: id ?? freeId(planId, taken),
      planId,
      expression: times.cron,
      timezone,
      catchUp: true,
      source: "chat",
      createdBy: by,
      createdAt: clock.now(),
      address,
      once,
    });
  }

  async pause(id: string, by: string | undefined): Promise<Schedule> {
    const { paused: _, ...schedule } = await this.#need(id);
    return this.#plan(by === undefined ? schedule : { ...schedule, paused: { by, at: this.#deps.clock.now() } });
  }

  async remove(id: string): Promise<void> {
    const { source, planId } = await this.#need(id);
    if (source === "plan")
      throw new HookgateError({
        code: "IN_PLAN",
        message: `"${id}" is part of the plan "${planId}"; remove it there.`,
        hint: `/schedule pause ${id} lets its times pass by.`,
      });
    await this.#deps.store.forget(id);
  }

  async run(
    id: string,
    by: string,
    once = newId("o", this.#deps.clock.now()),
    attempt?: number,
  ): Promise<ScheduleOutcome> {
    const { store, missions, attempts, clock } = this.#deps;
    const schedule = await this.#need(id);
    const { outcome, started } = await startMission(schedule, clock.now(), this.#deps, { by, once, attempt });
    const [isStarted] = await Promise.all([store.note(id, outcome, started), attempts.forget(dispatchIdOf(id, once))]);
    if (isStarted && started !== undefined) missions.started(started);
    return outcome;
  }

  async start(): Promise<void> {
    await this.#takePlans();
    await this.#followClock();
    const { clock, logger } = this.#deps;
    this.#work.wake(PLANS, clock.now() + PLANS_EVERY_MS);
    clock.onStep?.((stepMs) => {
      if (stepMs < 0)
        this.#followClock().catch((error: unknown) =>
          logger.error({ error: errorMessage(error) }, "schedules could not be planned again after the clock was set"),
        );
    });
  }

  /** A time of day that comes again, because the clock was set back, is not skipped. */
  async #followClock(): Promise<void> {
    const { store, clock } = this.#deps;
    for (const schedule of await store.list()) {
      const { id, nextAt } = schedule;
      if (nextAt === undefined) continue;
      if ((nextTime(schedule, clock.now()) ?? nextAt) < nextAt) await this.#plan(schedule);
      else this.#work.wake(id, nextAt);
    }
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  async #processDue(id: string): Promise<number | undefined> {
    const { store, clock } = this.#deps;
    const schedule = await store.get(id);
    if (schedule?.nextAt === undefined) return undefined;
    if (schedule.nextAt > clock.now()) return schedule.nextAt;
    await trigger(schedule, schedule.nextAt, this.#startedAt, this.#deps);
    return (await store.get(id))?.nextAt;
  }

  async #processPlans(): Promise<number> {
    await this.#takePlans();
    return this.#deps.clock.now() + PLANS_EVERY_MS;
  }

  /**
   * Takes schedules from plans, with their changes and removals. A plan that is broken, or in a folder that cannot be read, keeps its
   * schedule.
   */
  async #takePlans(): Promise<void> {
    const { store, missions, clock, logger } = this.#deps;
    const known = new Map((await store.list()).map((schedule) => [schedule.id, schedule]));
    const kept = new Set<string>();
    const files = missions.plans();
    for (const file of files) {
      if (!("plan" in file)) kept.add(file.id);
      else if (file.plan.schedule !== undefined) {
        kept.add(file.id);
        const wanted = ofPlan(file.id, file.plan.schedule, clock.now());
        const has = known.get(file.id);
        if (has?.source === "chat")
          logger.warn({ schedule: file.id }, "a schedule of a plan has the name of one from chat");
        else if (!has || !isSame(has, wanted))
          await this.#plan({ ...wanted, paused: has?.paused ? has.paused : wanted.paused });
      }
    }
    if (files.some(isPlansFolder)) return;
    for (const { id, source } of known.values()) if (source === "plan" && !kept.has(id)) await store.forget(id);
  }

  /** Stores the schedule with its next time. */
  async #plan(schedule: Schedule): Promise<Schedule> {
    const { store, clock } = this.#deps;
    const planned = withNext(schedule, nextTime(schedule, clock.now()));
    await store.set(planned);
    if (planned.nextAt !== undefined) this.#work.wake(planned.id, planned.nextAt);
    return planned;
  }

  async #need(id: string): Promise<Schedule> {
    const { store } = this.#deps;
    const schedule = await store.get(id);
    if (schedule !== undefined) return schedule;
    const near = nearest(
      id,
      (await store.list()).map((one) => one.id),
    );
    throw new HookgateError({
      code: "NOT_FOUND",
      message: `There is no schedule "${id.slice(0, 80)}"${near === undefined ? "." : `. Did you mean "${near}"?`}`,
      hint: "/schedule list shows them.",
      meant: near,
    });
  }
}

function ofPlan(id: string, schedule: NonNullable<Plan["schedule"]>, now: number): Schedule {
  const { cron, timezone, catchUp } = typeof schedule === "string" ? { cron: schedule } : schedule;
  return {
    id,
    planId: id,
    expression: cron.trim(),
    timezone: timezone ?? localTimezone(),
    catchUp: catchUp ?? true,
    source: "plan",
    createdBy: "its plan",
    createdAt: now,
  };
}

const isSame = (one: Schedule, other: Schedule) =>
  one.expression === other.expression && one.timezone === other.timezone && one.catchUp === other.catchUp;

function needGood(times: { cron: string; timezone: string }): void {
  const zone = timezoneProblem(times.timezone);
  if (zone !== undefined)
    throw new HookgateError({
      code: "TIMEZONE_INVALID",
      message: asSentence(zone),
      hint: "Zones have names such as Europe/Berlin; the machine's is taken when there is none.",
    });
  const problem = cronProblem(times);
  if (problem === undefined) return;
  throw new HookgateError({
    code: "CRON_INVALID",
    message: asSentence(problem),
    hint: 'Minute, hour, day, month and weekday: "0 9 * * MON-FRI" is at nine on working days.',
  });
}

const asSentence = (problem: string) => `${problem[0]?.toUpperCase()}${problem.slice(1)}.`;

function needPlan(files: readonly PlanFile[], id: string): void {
  const found = planOf(files, id);
  if (found !== undefined && "problems" in found)
    throw invalidPlan(found, "No schedule was added. Fix the file and add the schedule again.");
  if (found !== undefined) return;
  const near = nearest(
    id,
    files.map((file) => file.id),
  );
  throw new HookgateError({
    code: "PLAN_NOT_FOUND",
    message: `There is no plan "${id}"${near === undefined ? "." : `. Did you mean "${near}"?`}`,
    hint: "/mission plans shows them.",
    meant: near,
  });
}

function idTaken(id: string): HookgateError {
  return new HookgateError({
    code: "ID_TAKEN",
    message: `There is a schedule "${id}" already.`,
    hint: "Give it another name.",
  });
}

/** A second schedule with the same times would start each mission twice; mostly a command was sent again. */
function sameTimes({ id, planId, expression }: Schedule): HookgateError {
  return new HookgateError({
    code: "ID_TAKEN",
    message: `The schedule "${id}" starts the plan "${planId}" at these times already.`,
    hint: `To start it twice at each time, name the second schedule: /schedule add ${planId} "${expression}" name=second`,
  });
}

function freeId(planId: string, taken: ReadonlySet<string>): string {
  if (!taken.has(planId)) return planId;
  let number = 2;
  while (taken.has(`${planId}-${number}`)) number++;
  return `${planId}-${number}`;
}
