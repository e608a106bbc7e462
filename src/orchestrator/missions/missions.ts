/** Missions at work: started, continued after every change of their parts, held, released and ended. All state is in the rows. */
import { createHash } from "node:crypto";
import { EventEmitter, once as nextEvent } from "node:events";
import type { Address } from "../../domain/chat/address.js";
import { highestRole, type Role } from "../../domain/chat/identity.js";
import {
  isGateOpen,
  isMissionOver,
  type Mission,
  type MissionFilter,
  type MissionReport,
} from "../../domain/orchestrator/mission.js";
import { planTasks } from "../../domain/orchestrator/plan.js";
import type { StartedMission } from "../../domain/orchestrator/schedule.js";
import { isEnded, type Task } from "../../domain/orchestrator/task.js";
import type { Work } from "../../domain/work.js";
import { createWork } from "../../lib/concurrency/work.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { advance } from "./advance.js";
import { missionCard } from "./card.js";
import type { MissionDeps } from "./deps.js";
import { type MissionChange, needRow, tellWatchers, update } from "./keep.js";
import { newMission, type Start } from "./new-mission.js";
import { CARD, handleNotifications, MISSION_KINDS } from "./notify-hooks.js";
import type { PlanFile } from "./plans.js";
import { reportOf } from "./report.js";

const MAX_PARALLEL = 8;
/** A card that could not be shown is tried again after this. */
const RETRY_DELAY_MS = 5_000;
/** Changes that may only concern the card are collected for so long. */
const GATHER_MS = 1_000;

export interface MissionStart {
  planId: string;
  /** `web:1 (Ann)`. */
  by: string;
  /** The conversation that shows the mission's progress. */
  address?: Address;
  cause?: Mission["cause"];
  /** The same value twice is one mission: for a run that is done again after a crash. */
  once?: string;
}

/** The operations on missions for commands, schedules and hooks. */
export interface MissionDesk {
  /** Reads the plan, stores the mission and sets it going. Throws PLAN_NOT_FOUND and PLAN_INVALID. */
  run(start: MissionStart): Promise<Mission>;
  plans(): PlanFile[];
  /** The least role that may run the plan: the highest role among its assignees. Throws PLAN_NOT_FOUND and PLAN_INVALID. */
  roleToRun(planId: string): Role;
  get(id: string): Promise<{ mission: Mission; tasks: Task[] }>;
  /** Where the mission comes to rest next: its first tasks are let go, or a hook refused them. Undefined when it is gone. */
  untilRest(id: string, signal: AbortSignal): Promise<Mission | undefined>;
  list(filter: MissionFilter): Promise<Mission[]>;
  /** The report at the mission's end, or its current one. */
  report(id: string): Promise<MissionReport>;
  cancel(id: string, who: { by: string; reason?: string }): Promise<Mission>;
  /** Moves the mission's deadline; `undefined`: no deadline. Throws MISSION_OVER. */
  setDeadline(id: string, deadline: number | undefined, by: string): Promise<Mission>;
  /** Asks again for a change that a hook refused. */
  retry(id: string, by: string): Promise<Mission>;
  /** A person opens a gate that is shut. */
  release(id: string, gate: string, who: { by: string; reason: string }): Promise<Mission>;
}

export interface Missions extends MissionDesk {
  /** The row of a mission that is to start, for a caller that stores it together with something else. */
  draft(start: Omit<Start, "plan" | "at">): Mission;
  /** A mission was stored with a schedule. */
  started(mission: StartedMission): void;
  /** Why a task of a mission may not be started: its group never opened. Undefined for all others. */
  heldBack(task: Task): Promise<string | undefined>;
  /** Called for every task, also those of no mission. */
  taskChanged(task: Task): Promise<void>;
  /** Resumes the missions on disk. */
  start(): Promise<void>;
  /** Resolves when steps under way have ended; the rest is on disk. */
  stop(): Promise<void>;
}

/** The delivery id of the mission's card. */
export const missionCardId = (id: string) => `d_mission_${id}`;

export function createMissions(deps: MissionDeps): Missions {
  return new RunningMissions(deps);
}

class RunningMissions implements Missions {
  readonly #deps: MissionDeps;
  readonly #work: Work;
  /** The last words on each card; a restart shows them again. */
  readonly #shown = new Map<string, string>();
  readonly #resting = new EventEmitter<Record<string, [Mission | undefined]>>().setMaxListeners(0);

  constructor(deps: MissionDeps) {
    const { store, pending, tasks, clock, logger } = deps;
    this.#deps = deps;
    this.#work = createWork({ processDue: (id) => this.#processDue(id), maxParallel: MAX_PARALLEL, clock, logger });
    handleNotifications(pending, deps.registry, deps.attempts);
    pending.handle(CARD, async ({ key: id }) => {
      const row = await store.get(id);
      if (row && !(await this.#show(row.mission, await tasks.ofMission(id))))
        throw new Error(`the end of mission ${id} is not shown on its card`);
    });
  }

  draft(start: Omit<Start, "plan" | "at">): Mission {
    const { plans, clock } = this.#deps;
    return newMission({ ...start, plan: plans.need(start.planId), at: clock.now() });
  }

  async run({ once, ...start }: MissionStart): Promise<Mission> {
    const { store } = this.#deps;
    const id = once === undefined ? undefined : idOnce(once);
    const known = id === undefined ? undefined : await store.get(id);
    if (known !== undefined) return known.mission;
    const mission = this.draft({ ...start, id });
    await store.insert({ mission });
    await tellWatchers(mission, this.#deps);
    this.#work.wake(mission.id);
    return mission;
  }

  plans(): PlanFile[] {
    return this.#deps.plans.list();
  }

  roleToRun(planId: string): Role {
    const { plans, around } = this.#deps;
    const plan = plans.need(planId);
    const assignees = planTasks(plan).map(({ task }) => task.assignTo ?? plan.defaults?.assignTo ?? "");
    return highestRole(["operator", ...assignees.map(around.roleFor)]);
  }

  async get(id: string): Promise<{ mission: Mission; tasks: Task[] }> {
    const { mission } = await needRow(id, this.#deps);
    return { mission, tasks: await this.#deps.tasks.ofMission(id) };
  }

  async untilRest(id: string, signal: AbortSignal): Promise<Mission | undefined> {
    const rest = nextEvent(this.#resting, id, { signal });
    this.#work.wake(id);
    const [mission] = await rest;
    return mission;
  }

  list(filter: MissionFilter): Promise<Mission[]> {
    return this.#deps.store.list(filter);
  }

  async report(id: string): Promise<MissionReport> {
    const { tasks, clock } = this.#deps;
    const { mission, report } = await needRow(id, this.#deps);
    return report ?? reportOf(mission, await tasks.ofMission(id), { now: clock.now() });
  }

  cancel(id: string, { by, reason }: { by: string; reason?: string }): Promise<Mission> {
    return this.#change(id, ({ cancel }) => ({
      cancel: cancel ?? { by, reason, at: this.#deps.clock.now() },
    }));
  }

  async setDeadline(id: string, deadline: number | undefined, by: string): Promise<Mission> {
    const mission = await this.#change(id, () => ({ deadline }));
    await tellWatchers(mission, this.#deps);
    this.#deps.logger.info({ mission: id, by, deadline: deadline ?? null }, "a mission's deadline was moved");
    return mission;
  }

  retry(id: string, by: string): Promise<Mission> {
    return this.#change(id, ({ hold, startedAt }) => {
      if (hold === undefined) throw new HookgateError(NOT_BLOCKED);
      this.#deps.logger.info({ mission: id, by, point: hold.point }, "what a hook refused is asked for again");
      return { hold: undefined, reason: undefined, status: startedAt === undefined ? "pending" : "running" };
    });
  }

  release(id: string, name: string, { by, reason }: { by: string; reason: string }): Promise<Mission> {
    return this.#change(id, ({ gates }) => {
      needShut(gates, name);
      const released = { by, reason, at: this.#deps.clock.now() };
      return { gates: gates.map((one) => (one.name === name ? { ...one, released } : one)) };
    });
  }

  started({ mission, pending: items }: StartedMission): void {
    this.#deps.pending.added(items);
    this.#work.wake(mission.id);
  }

  async heldBack({ id, missionId }: Task): Promise<string | undefined> {
    const mission = missionId === undefined ? undefined : (await this.#deps.store.get(missionId))?.mission;
    const name = mission && groupOf(mission, id);
    const group = mission?.groups.find((one) => one.name === name);
    return group === undefined || group.openedAt !== undefined ? undefined : `the group "${name}" is not open`;
  }

  async taskChanged({ missionId, status }: Task): Promise<void> {
    if (missionId === undefined) return;
    const mayGoOn = isEnded(status) || status === "blocked";
    this.#work.wake(missionId, mayGoOn ? undefined : this.#deps.clock.now() + GATHER_MS);
  }

  async start(): Promise<void> {
    const { store, pending } = this.#deps;
    await pending.resume(MISSION_KINDS);
    for (const id of await store.open()) {
      const row = await store.get(id);
      if (row) await tellWatchers(row.mission, this.#deps);
      this.#work.wake(id);
    }
  }

  async stop(): Promise<void> {
    await this.#work.stop();
    await this.#deps.pending.drained(MISSION_KINDS);
  }

  async #processDue(id: string): Promise<number | undefined> {
    const rest = await advance(id, this.#deps);
    // The last edit of its card is a pending notification of its own, which a crash does not lose.
    const hasCard = rest !== undefined && !isMissionOver(rest.row.mission.status);
    const isShown = !hasCard || (await this.#show(rest.row.mission, rest.tasks));
    // A hook that started the mission has posted its card by then.
    this.#resting.emit(id, rest?.row.mission);
    if (!isShown) return this.#deps.clock.now() + RETRY_DELAY_MS;
    // A mission has no due times: each change of it or its tasks wakes it.
    return undefined;
  }

  /** False when the card has to be tried again. */
  async #show(mission: Mission, tasks: readonly Task[]): Promise<boolean> {
    const { gateway, clock, logger } = this.#deps;
    const { id, address } = mission;
    if (address === undefined) return true;
    const message = missionCard(mission, tasks, clock.now());
    const words = JSON.stringify(message);
    if (this.#shown.get(id) === words) return true;
    const deliveryId = missionCardId(id);
    const cause = mission.cause ?? { kind: "command" as const, id, depth: 0 };
    try {
      const isThere = this.#shown.has(id) || (await gateway.isThere(deliveryId));
      const isEdited = isThere && (await gateway.edit(deliveryId, message, { cause }).then(() => true, whenUnknown));
      // A card that an operator purged is not sent again.
      if (!isEdited && !(await gateway.wasPurged(deliveryId, mission.createdAt)))
        await gateway.send(address, message, { cause, deliveryId });
      this.#shown.set(id, words);
      if (isMissionOver(mission.status)) this.#shown.delete(id);
      return true;
    } catch (error) {
      // The mission goes on without being seen; the next change tries again.
      logger.warn({ mission: id, error: errorMessage(error) }, "a mission's card could not be shown");
      return false;
    }
  }

  async #change(id: string, make: (mission: Mission) => MissionChange): Promise<Mission> {
    const { mission } = await update(id, this.#deps, (current) => {
      if (isMissionOver(current.status)) throw over(current);
      return make(current);
    });
    this.#work.wake(id);
    return mission;
  }
}

/** The mission's card was purged, or swept away since. */
function whenUnknown(error: unknown): false {
  if (error instanceof HookgateError && error.code === "DELIVERY_UNKNOWN") return false;
  throw error;
}

function idOnce(once: string): string {
  return `m_${createHash("sha256").update(once).digest("hex").slice(0, 19)}`;
}

/** The plan decides the group: hooks may have changed the group in the task. */
function groupOf({ plan, taskIds }: Mission, taskId: string): string | undefined {
  return planTasks(plan).find(({ task }) => taskIds[task.id] === taskId)?.group.name;
}

const NOT_BLOCKED = {
  code: "NOT_BLOCKED",
  message: "No hook has refused this mission anything; there is nothing to ask for again.",
  hint: "/mission show shows what it waits for. A task that failed is tried again with /task retry.",
};

function over({ id, status }: Mission): HookgateError {
  return new HookgateError({
    code: "MISSION_OVER",
    message: `${id} is ${status}.`,
    hint: "/mission run starts the plan again.",
  });
}

function needShut(gates: Mission["gates"], name: string): void {
  const gate = gates.find((one) => one.name === name);
  if (gate?.verdict !== undefined && !isGateOpen(gate)) return;
  const what = gate === undefined ? "There is no such gate" : gate.verdict ? "It is open" : "It is not reached yet";
  throw new HookgateError({
    code: "NOT_SHUT",
    message: `${what}: ${name}.`,
    hint: "/gate list shows the gates that are shut.",
  });
}
