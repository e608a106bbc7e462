/** The dependencies of missions. The orchestrator owns tasks: missions create, release and cancel them through the functions passed in. */

import type { EntityChanged } from "../../domain/alerts/watched.js";
import type { Address } from "../../domain/chat/address.js";
import type { OutboundMessage } from "../../domain/chat/message.js";
import type { Cause } from "../../domain/journal.js";
import type { MissionStore } from "../../domain/orchestrator/mission.js";
import type { Actor, Task, TaskOrigin, TaskSpecInput, TaskStatus } from "../../domain/orchestrator/task.js";
import type { Attempts } from "../../hooks/attempts.js";
import type { HookRegistry } from "../../hooks/registry.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";
import type { Pending } from "../../pending/pending.js";
import type { PlanSurroundings } from "./check-plan.js";
import type { Plans } from "./plans.js";

export type TaskCreated =
  | { kind: "created" }
  | { kind: "refused"; by: string; reason: string; crashes?: number | undefined };

export interface MissionTasks {
  /** Creates a task; when it exists already, nothing changes. */
  create(spec: TaskSpecInput, origin: TaskOrigin, actor: Actor): Promise<TaskCreated>;
  /** `vetoed`: nothing changed. A task that is in another state by now stays there. */
  transition(
    id: string,
    to: TaskStatus,
    actor: Actor,
  ): Promise<{ kind: "done" } | { kind: "vetoed"; by: string; reason: string }>;
  /** The tasks of a mission, in the order of their creation. */
  ofMission(missionId: string): Promise<Task[]>;
}

export interface MissionDeps {
  registry: Pick<HookRegistry, "runBefore" | "dispatch">;
  attempts: Attempts;
  pending: Pick<Pending, "handle" | "added" | "resume" | "drained">;
  store: MissionStore;
  tasks: MissionTasks;
  plans: Plans;
  around: PlanSurroundings;
  gateway: {
    send(at: Address, message: OutboundMessage, sending: { cause: Cause; deliveryId: string }): Promise<unknown>;
    edit(deliveryId: string, message: OutboundMessage, sending: { cause: Cause }): Promise<unknown>;
    /** Whether this delivery is known: it was sent, or will be. */
    isThere(deliveryId: string): Promise<boolean>;
    /** Whether an operator deleted this delivery since then: it is not sent again. */
    wasPurged(deliveryId: string, since: number): Promise<boolean>;
  };
  changed: EntityChanged;
  clock: Clock;
  logger: Logger;
}
