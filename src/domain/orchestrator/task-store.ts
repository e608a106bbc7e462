/**
 * Tasks on disk. A change is written over the version that it was made from, together with its entry in the history and the work that
 * follows it.
 */
import type { NewPending } from "../pending.js";
import type { Actor, Task, TaskStatus } from "./task.js";

export interface TaskEvent {
  /** `<task id>:<version>`, of the task. */
  id: string;
  taskId: string;
  at: number;
  /**
   * transition: `from` → `to` · refused: a hook did not let it · changed: a field (`note` names it) · note: a person's or a runner's
   * words.
   */
  kind: "created" | "transition" | "refused" | "changed" | "note";
  from?: TaskStatus;
  to?: TaskStatus;
  by: string;
  reason?: string;
  note?: string;
  /** How often the task had been started. */
  attempt: number;
  cause?: Actor["cause"];
  /** Further points that are reported with it: `task:retry`. */
  points?: readonly string[];
}

export interface TaskFilter {
  status?: readonly TaskStatus[];
  missionId?: string;
  group?: string;
  assignTo?: string;
  /** Part of the title or id, or of the assignee. */
  text?: string;
  /** Older than this id's task; pages on. */
  before?: string;
  /** Newest first. */
  limit: number;
}

export interface TaskTiming {
  /** When the orchestrator has to look at the task next; absent: not by time. */
  dueAt?: number;
  /** The task keeps the due time that it has. */
  keepsDue?: true;
  /** The lease of the run that it has under `task.run.owner`; absent: unchanged. */
  leaseUntil?: number;
}

export interface TaskStore {
  /** One transaction, as `commit`. False when the id exists: nothing is written. */
  insert(task: Task, event: TaskEvent, timing: TaskTiming, pending?: readonly NewPending[]): Promise<boolean>;
  /**
   * One transaction: the task as given, its event, its timing and the work that follows. False when the stored version is not
   * `task.version - 1`: nothing is written.
   */
  commit(task: Task, event: TaskEvent, timing: TaskTiming, pending?: readonly NewPending[]): Promise<boolean>;
  /** Sets when to look at the task, and nothing else. */
  setDue(id: string, dueAt: number | undefined): Promise<void>;
  get(id: string): Promise<Task | undefined>;
  /** Whether there is a task with this id: at once, for checks in the middle of a dispatch. */
  isKnown(id: string): boolean;
  list(filter: TaskFilter): Promise<Task[]>;
  /** All tasks that are not over, by pages. */
  open(afterId: string, limit: number): Promise<Task[]>;
  counts(): Promise<Record<TaskStatus, number>>;
  /**
   * Due tasks, without these ids: first tasks to look at for another reason, then tasks to start, highest priority first, of each assignee
   * no more than there is room for.
   */
  due(now: number, without: readonly string[], roomFor: (assignTo: string) => number, limit: number): Promise<Task[]>;
  /** The time of the first task that is due after this. */
  nextDue(now: number): Promise<number | undefined>;
  /** The tasks that wait for this one. */
  dependents(id: string): Promise<string[]>;
  /** Extends the lease of a run; false when this run does not have it any more. */
  renew(id: string, runId: string, until: number): Promise<boolean>;
  /** Running tasks under the lease of another owner. */
  stale(owner: string): Promise<Task[]>;
  /** Oldest first. */
  events(taskId: string, limit: number): Promise<TaskEvent[]>;
  /** Deletes tasks that ended before this time and are not of a mission that goes on; resolves with how many are gone. */
  sweep(before: number): Promise<number>;
}
