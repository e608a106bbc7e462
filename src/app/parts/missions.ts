/** Missions, their schedules and assessments, put together from the parts of the product. Their tasks are the orchestrator's. */

import { dirname, join, resolve } from "node:path";
import type { EntityChanged } from "../../domain/alerts/watched.js";
import type { Address } from "../../domain/chat/address.js";
import { wasPurged } from "../../domain/deliveries/purges.js";
import type { Cause } from "../../domain/journal.js";
import type { Models } from "../../domain/model.js";
import { MAX_TASKS_OF_MISSION } from "../../domain/orchestrator/plan.js";
import type { Assess, TaskStatus } from "../../domain/orchestrator/task.js";
import type { Store } from "../../domain/store.js";
import type { Attempts } from "../../hooks/attempts.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { HookgateError } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import type { Destinations } from "../../lib/outgoing/destinations.js";
import type { Processes } from "../../lib/process/process.js";
import type { Clock } from "../../lib/time/clock.js";
import { createAssess } from "../../orchestrator/assessments/assess.js";
import { ASSESSMENT_KINDS, handleNotifications } from "../../orchestrator/assessments/notify-hooks.js";
import { assigneeProblem, roleToAssign } from "../../orchestrator/assignee.js";
import type { OrchestratorConfig } from "../../orchestrator/config.js";
import type { PlanSurroundings } from "../../orchestrator/missions/check-plan.js";
import type { MissionDeps, MissionTasks } from "../../orchestrator/missions/deps.js";
import { createMissions, type Missions } from "../../orchestrator/missions/missions.js";
import { createPlans, type Plans } from "../../orchestrator/missions/plans.js";
import type { Orchestrator } from "../../orchestrator/orchestrator.js";
import { createSchedules, type Schedules } from "../../orchestrator/schedules/schedules.js";
import { TaskVetoed } from "../../orchestrator/tasks/create.js";
import type { Pending } from "../../pending/pending.js";

const PLANS_FOLDER = "missions";

export interface MissionAssembly {
  missions: Missions;
  schedules: Schedules;
  assess: Assess;
  /** Before the orchestrator starts: hooks are notified of assessments that a crash left. */
  resumeAssessments(): Promise<void>;
  /** After the orchestrator: missions are notified of its end. Resolves when hooks have been notified of all of it. */
  stopMissions(): Promise<void>;
  /** Deletes missions and assessments that ended long ago; resolves with how many. */
  sweepMissions(): Promise<number>;
}

interface Deps {
  /** The configuration in force: a reload changes it. */
  config(): Pick<OrchestratorConfig, "runners" | "keep">;
  /** The configuration file. */
  file: string;
  registry: HookRegistry;
  attempts: Attempts;
  pending: Pending;
  store: Pick<Store, "missions" | "tasks" | "outbox" | "audit">;
  orchestrator(): Pick<Orchestrator, "create" | "transition" | "drained">;
  models: Models;
  processes: Processes;
  destinations: Destinations;
  gateway: Pick<MissionDeps["gateway"], "send" | "edit">;
  entityChanged?: EntityChanged;
  mask(text: string): string;
  clock: Clock;
  logger: Logger;
}

export function assembleMissions(deps: Deps): MissionAssembly {
  const { file, registry, attempts, pending, store, models, clock, logger } = deps;
  const around = surroundings(deps.config, () => models.names);
  const missions = createMissions({
    registry,
    attempts,
    pending,
    store: store.missions.rows,
    tasks: tasksOf(deps),
    plans: plansOf(file, around),
    around,
    gateway: {
      ...deps.gateway,
      isThere: async (deliveryId) => (await store.outbox.get(deliveryId)) !== undefined,
      wasPurged: (deliveryId, since) => wasPurged({ store }, deliveryId, since),
    },
    changed: deps.entityChanged ?? (async () => {}),
    clock,
    logger,
  });
  const schedules = createSchedules({
    registry,
    attempts,
    store: store.missions.schedules,
    missions,
    clock,
    logger,
  });
  handleNotifications(pending, registry, attempts);
  const assess = createAssess({
    registry,
    attempts,
    store: store.missions.assessments,
    processes: deps.processes,
    models,
    async request(url, request) {
      // Half a megabyte of HTTP client, only for users whose plans use it.
      const { guardedRequest } = await import("../../lib/outgoing/request.js");
      return guardedRequest(url, { ...request, allow: deps.destinations });
    },
    folder: dirname(resolve(file)),
    pending,
    mask: deps.mask,
    clock,
  });
  return {
    missions,
    schedules,
    assess,
    resumeAssessments: () => pending.resume(ASSESSMENT_KINDS),
    async stopMissions() {
      await Promise.all([schedules.stop(), missions.stop(), pending.drained(ASSESSMENT_KINDS)]);
      await deps.orchestrator().drained();
    },
    async sweepMissions() {
      const before = clock.now() - deps.config().keep;
      return (await store.missions.rows.sweep(before)) + (await store.missions.assessments.sweep(before));
    },
  };
}

/** The names that plans may use, by the configuration. */
export function surroundings(
  config: () => Pick<OrchestratorConfig, "runners">,
  models: () => readonly string[],
): PlanSurroundings {
  return {
    assigneeProblem: (assignTo) => assigneeProblem(assignTo, config()),
    // A runner that is gone is for owners only.
    roleFor: (assignTo) => roleToAssign(assignTo, config()) ?? "owner",
    get models() {
      return models();
    },
  };
}

/** `file`: the configuration, which may not be there; plans are in a folder beside it. */
export function plansOf(file: string, around: PlanSurroundings): Plans {
  return createPlans(join(dirname(resolve(file)), PLANS_FOLDER), around);
}

/** A hook starts a mission. Throws MISSION_BLOCKED when another hook refuses its start: then no task of it may go. */
export async function startMission(
  missions: Pick<Missions, "run" | "untilRest">,
  planId: string,
  {
    cause: { id, depth },
    signal,
    ...start
  }: { by: string; once: string; cause: Cause; address?: Address; signal: AbortSignal },
): Promise<string> {
  const stored = await missions.run({ planId, ...start, cause: { kind: "hook", id, depth } });
  const mission = await missions.untilRest(stored.id, signal);
  const refused = mission?.hold;
  // When a run is done again after a crash, the mission may be at its end: a refusal of that end is not about its start.
  if (mission === undefined || refused === undefined || refused.point === "mission:complete") return stored.id;
  throw new HookgateError({
    code: "MISSION_BLOCKED",
    message: `the mission "${mission.title}" is blocked: ${refused.by} refused ${refused.point} (${refused.reason}). /mission retry ${mission.id} asks again, /mission cancel ${mission.id} ends it`,
  });
}

/** The mission shows problems with a task that a plan asks for, and hooks' vetoes of it. */
function tasksOf({ store, orchestrator, clock }: Deps): MissionTasks {
  return {
    async create(spec, origin, actor) {
      try {
        await orchestrator().create(spec, actor, origin);
        return { kind: "created" };
      } catch (error) {
        if (error instanceof TaskVetoed)
          return { kind: "refused", by: error.by, reason: error.reason, crashes: error.crashes };
        if (error instanceof HookgateError && REFUSALS.has(error.code))
          return { kind: "refused", by: "hookgate", reason: error.message };
        throw error;
      }
    },
    async transition(id, to: TaskStatus, actor) {
      try {
        const timing = () => (to === "pending" ? { dueAt: clock.now() } : {});
        // This ends its run, if one is under way.
        const change = () => (to === "cancelled" ? { run: undefined } : {});
        const moved = await orchestrator().transition(id, { to, actor, change, timing, onVeto: "refuse" });
        return moved.kind === "vetoed" ? { kind: "vetoed", by: moved.by, reason: moved.reason } : { kind: "done" };
      } catch (error) {
        // A person changed its state meanwhile, and that change stays.
        if (error instanceof HookgateError && error.code === "TASK_TRANSITION") return { kind: "done" };
        throw error;
      }
    },
    ofMission: async (missionId) => (await store.tasks.list({ missionId, limit: MAX_TASKS_OF_MISSION })).reverse(),
  };
}

const REFUSALS: ReadonlySet<string> = new Set(["TASK_INVALID", "TASK_ASSIGNEE"]);
