/** Tasks on disk. A change is written over the version that it was made from, together with its entry in the history and the work that follows it. */
import type { NewPending } from "../pending.js";
import type { Actor, Task, TaskStatus } from "./task.js";

export interface TaskEvent {
  /** `<task id>:<version>`, of the task. */
  id: string;
  taskId: string;
  at: number;
  /** transition: `from` → `to` · refused: a hook did not let it · changed: a field (`note` names it) · note: a person's or a runner's words. */
  kind: "created" | "transition" | "refused" | "changed" | "note";
  from?: TaskStatus;
  to?: TaskStatus;
  by: string;
  reason?: string;
  note?: string;
  /** How often the task had been started. */
  attempt: number;
  cause?: Actor["cause"];
  /** Further points that are told with it: `task:retry`. */
  points?: readonly string[];
}

export interface TaskFilter {
  status?: readonly TaskStatus[];
  missionId?: string;
  group?: string;
  assignTo?: string;
  /** Part of the title or id, or who is to do it. */
  text?: string;
  /** Older than this id's task; pages on. */
  before?: string;
  /** Newest first. */
  limit: number;
}

export interface TaskTiming {
  /** When the orchestrator is to look at it next; absent: not by time. */
  dueAt?: number;
  /** It is due when it would have been anyway. */
  keepsDue?: true;
  /** The lease of the run that it has under `task.run.owner`; absent: unchanged. */
  leaseUntil?: number;
}

export interface TaskStore {
  /** One transaction, as `commit`. False when the id is there: nothing is written. */
  insert(task: Task, event: TaskEvent, timing: TaskTiming, pending?: readonly NewPending[]): Promise<boolean>;
  /**
   * One transaction: the task as given, its event, its timing and the work that follows. False when the stored version is not
   * `task.version - 1`: nothing is written.
   */
  commit(task: Task, event: TaskEvent, timing: TaskTiming, pending?: readonly NewPending[]): Promise<boolean>;
  /** When to look at it, and nothing else. */
  setDue(id: string, dueAt: number | undefined): Promise<void>;
  get(id: string): Promise<Task | undefined>;
  /** Whether there is one of this id: at once, for checks in the middle of a dispatch. */
  isKnown(id: string): boolean;
  list(filter: TaskFilter): Promise<Task[]>;
  /** All that are not over, by pages. */
  open(afterId: string, limit: number): Promise<Task[]>;
  counts(): Promise<Record<TaskStatus, number>>;
  /**
   * Due, without these ids: first what is looked at for another reason, then what is to be started, highest priority first, of each
   * assignee no more than there is room for.
   */
  due(now: number, without: readonly string[], roomFor: (assignTo: string) => number, limit: number): Promise<Task[]>;
  /** The first that is due after this. */
  nextDue(now: number): Promise<number | undefined>;
  /** Those that wait for this one. */
  dependents(id: string): Promise<string[]>;
  /** Extends the lease of a run; false when it is not this one's any more. */
  renew(id: string, runId: string, until: number): Promise<boolean>;
  /** Running tasks under the lease of another owner. */
  stale(owner: string): Promise<Task[]>;
  /** Oldest first. */
  events(taskId: string, limit: number): Promise<TaskEvent[]>;
  /** Ended before this time, and not of a mission that goes on; resolves with how many are gone. */
  sweep(before: number): Promise<number>;
}
