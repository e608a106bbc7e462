/** A requested change of a task: another state, and the changes that come with it. */

import type { Actor, Task, TaskStatus } from "../../domain/orchestrator/task.js";
import type { TaskTiming } from "../../domain/orchestrator/task-store.js";
import type { Changes } from "../deps.js";

/** A point that is asked and notified besides task:transition, where a change is more than that. */
export type StepPoint = "task:retry" | "task:spawn";

export interface TransitionRequest {
  to: TaskStatus;
  actor: Actor;
  /** Whether the change is still wanted; else the result is `stale`. */
  still?: (task: Task) => boolean;
  change?: (task: Task) => Changes;
  timing?: (next: Task) => TaskTiming;
  point?: StepPoint;
  /**
   * hold: the task is blocked, because there is no caller to notify · refuse: it stays, and the caller gets the reason · leave: the
   * caller decides.
   */
  onVeto: "hold" | "refuse" | "leave";
}

export interface Veto {
  point: string;
  by: string;
  reason: string;
  /** No hook refused the change: the gateway ended so often while hooks at this point ran. */
  crashes?: number;
}
