/**
 * The data of configured hooks on disk: their runs, the last and next times of their triggers, events that came in by HTTP, and the states
 * of watched files. Writes resolve after their commit; they reject as the rest of the store does.
 */
import type { Cause } from "./journal.js";
import type { NewPending } from "./pending.js";

/** The point for hooks that a time or a person starts. Plugins cannot subscribe there. */
export const DUE_POINT = "hook.due";

/** The reason in the run of a configured hook that was skipped during `/hooks pause`. */
export const PAUSED_REASON = "all configured hooks were paused";

/**
 * backgrounded: the first wait of a run that a dispatch recorded (point, event, file), whose caller went on · queued: any other wait, of a run
 * by time or by hand, and before each retry. Both wait in `src/automations/queue.ts` for the same places; two names show which a dispatch
 * recorded and did not start yet · running: under a lease · the rest are ends.
 * `interrupted`: cut off by a crash or a stop and not repeatable. Nothing stays running: an expired lease is taken or ended.
 */
export const AUTOMATION_RUN_STATUSES = [
  "queued",
  "running",
  "backgrounded",
  "succeeded",
  "failed",
  "timed_out",
  "skipped",
  "blocked",
  "interrupted",
] as const;
export type AutomationRunStatus = (typeof AUTOMATION_RUN_STATUSES)[number];

/** A run with one of these statuses was started and has ended: it was not refused, and does not wait. */
export const STARTED_STATUSES = [
  "succeeded",
  "failed",
  "timed_out",
  "blocked",
  "interrupted",
] as const satisfies readonly AutomationRunStatus[];

/** The status will still change. */
export function isUnfinished(status: AutomationRunStatus): boolean {
  return status === "queued" || status === "running" || status === "backgrounded";
}

export type TriggerKind = "on" | TimedKind | "event" | "files" | "manual";

/** Triggers that time starts. */
export const TIMED_TRIGGERS = ["every", "cron", "at"] as const;
export type TimedKind = (typeof TIMED_TRIGGERS)[number];

export const isTimed = <T extends { kind: TriggerKind }>(trigger: T): trigger is Extract<T, { kind: TimedKind }> =>
  (TIMED_TRIGGERS as readonly TriggerKind[]).includes(trigger.kind);

export interface StepRecord {
  /** `shell`, `http`, … */
  step: string;
  outcome: "passed" | "skipping" | "failed" | "timed_out";
  latencyMs: number;
  /** Redacted and cut to its cap. */
  result?: unknown;
  error?: string;
  /** Why its `skip_if` had no answer: it did not skip the run. */
  unanswered?: string;
}

export interface ToolCallRecord {
  tool: string;
  args: unknown;
  result?: unknown;
  error?: string;
  latencyMs: number;
}

/** The tool with which a model decides. */
const DECIDE = "decide";

/** The tool calls of an attempt, without the tool of the decision: the decision is the outcome of the run. */
export function toolCallsOf({ toolCalls = [] }: { readonly toolCalls?: readonly ToolCallRecord[] | undefined }) {
  const calls = toolCalls.filter(({ tool }) => tool !== DECIDE);
  return { calls, failed: calls.filter(({ error }) => error !== undefined) };
}

/** `1 of its 2 tool calls failed: send_message`; undefined when none failed. */
export function failedCallsText(of: Parameters<typeof toolCallsOf>[0]): string | undefined {
  const { calls, failed } = toolCallsOf(of);
  if (failed.length === 0) return undefined;
  const which = calls.length === 1 ? "its tool call" : `${failed.length} of its ${calls.length} tool calls`;
  return `${which} failed: ${[...new Set(failed.map(({ tool }) => tool))].join(", ")}`;
}

/** A model answered the run in words only, and did not act. Undefined for other runs. */
export function wordsOnlyText({ status, toolCalls }: Pick<AttemptRecord, "status" | "toolCalls">): string | undefined {
  return status === "succeeded" && toolCalls?.length === 0
    ? "The model called no tool, so the run changed and sent nothing."
    : undefined;
}

/** The usage as the model's provider reports it. */
export interface ModelUsage {
  model: string;
  inputTokens?: number;
  outputTokens?: number;
  costUsd?: number;
}

/** The text in the notice for admins about an attempt with `noHere`; `/run` shows it, too. */
export const NO_HERE = "The event names no chat for `here` of `notify`, so admins are notified.";

/** One attempt of a run; a run that is retried has several. */
export interface AttemptRecord {
  attempt: number;
  startedAt: number;
  /** Absent while the attempt runs, and for an attempt that the end of the process cut off: the time of that is not known. */
  endedAt?: number;
  status: AutomationRunStatus;
  error?: string;
  steps: StepRecord[];
  /** The rendered prompt, message, body or command, redacted. */
  rendered?: string;
  toolCalls?: ToolCallRecord[];
  usage?: ModelUsage;
  /** The output of the handler, redacted and cut. */
  output?: unknown;
  /** Names of the programs that its own programs left running when they ended; the gateway then ended them. */
  leftRunning?: string[];
  /** `notify` names `here`, and the event no chat: admins are notified instead. */
  noHere?: true;
}

export type DecisionKind = "pass" | "block" | "modify" | "claim";

export interface AutomationRun {
  id: string;
  hookId: string;
  trigger: TriggerKind;
  /** `cron 0 9 * * * at 2026-11-21T09:00+01:00`, `fired by Ann`, … */
  reason: string;
  /** The hook point or event name; for `files` the path. */
  event?: string;
  cause?: Cause;
  /** The dispatch that the run belongs to, when a hook point triggered it, with the kernel's facts about the dispatch. */
  dispatchId?: string;
  phase?: "before" | "after";
  conversation?: string;
  messageId?: string;
  status: AutomationRunStatus;
  /**
   * Why it was skipped, blocked, interrupted or refused: `cooldown, 42 min left`; the gate's or condition's name comes first. Of a run that
   * succeeded: which of its tool calls failed.
   */
  statusReason?: string;
  /** The payload that started the run, redacted. */
  payload: unknown;
  /** Kept for a run that must still happen (queued, backgrounded); dropped at its end. */
  pendingPayload?: unknown;
  /** The decision of the run, as the point takes it; a dispatch that runs again after a crash gets it instead of a second run. */
  decision?: unknown;
  /** The kind of the decision; in the history only, which has no decisions. */
  decided?: DecisionKind;
  /** The run may happen twice: an expired lease is taken over. Otherwise such a run is ended as interrupted. */
  isRepeatable: boolean;
  /** Attempts that were started. */
  attempt: number;
  attempts: AttemptRecord[];
  createdAt: number;
  startedAt?: number;
  endedAt?: number;
  /** When it is tried (again). */
  dueAt: number;
  leaseOwner?: string;
  leaseUntil?: number;
}

/** The fields by which a list of runs is chosen, without those that can be long. */
export type BriefRun = Pick<AutomationRun, "id" | "hookId" | "status" | "createdAt">;

export interface AutomationRunFilter {
  hookId?: string;
  status?: AutomationRunStatus | readonly AutomationRunStatus[];
  before?: string;
  limit: number;
}

/** The time when a run was under way, and its cause: the loop guard needs only these. */
export interface RunSpan {
  id: string;
  hookId: string;
  dispatchId?: string;
  cause?: Cause;
  createdAt: number;
  /** Absent while it waits. */
  startedAt?: number;
  /** The end of its last attempt; absent while that is under way. */
  endedAt?: number;
}

/** Runs that are not taken for now. */
export interface LeftRuns {
  /** Hooks that have no room for another run: a run that waits goes on waiting. */
  busy: readonly string[];
  /** Hooks that are not in force and may come back: their runs are left, but for those that were created before `keptSince`. */
  absent: readonly string[];
  /** Hooks of `absent` whose runs are not ended without their definition: runs that an earlier process left running are left, too. */
  unread: readonly string[];
  keptSince: number;
  /** Only runs whose lease expired are taken. */
  isExpiredOnly?: boolean;
}

export interface AutomationRunStore {
  /**
   * Inserts a run once per id: false (and nothing is written) when the id is known. `line`: the run waits behind the earlier runs of this
   * hook and line, and the lines take turns, one run each. Without a line it waits behind all runs that were due before.
   */
  insert(run: AutomationRun, line?: string): Promise<boolean>;
  /** Writes all but id, hookId and createdAt. With `leaseOwner`, only while that owner still holds the lease: else false. */
  update(run: AutomationRun, leaseOwner?: string): Promise<boolean>;
  /**
   * Takes the due run whose turn it is (without lines: the one with the oldest dueAt), which is running from then on (its attempt counted),
   * or one that is running under a lease that expired (`isTakenOver`, its attempt as it was). Undefined when there is none. Atomic over
   * processes.
   */
  take(owner: string, now: number, leaseMs: number, except?: LeftRuns): Promise<TakenRun | undefined>;
  /** Takes this run, when it waits and is due: a person who fires it does not wait for others. */
  takeOne(id: string, owner: string, now: number, leaseMs: number): Promise<TakenRun | undefined>;
  renew(id: string, owner: string, until: number): Promise<boolean>;
  /** Ends the leases of everybody else at once: for a process that knows that it is the only one. */
  expireOthers(owner: string, now: number): Promise<number>;
  get(id: string): Promise<AutomationRun | undefined>;
  /** Runs that an inbox message (`m5`) or a delivery (`d_m5r`) led to: their id starts with that id and a colon. */
  ledTo(root: string, limit: number): Promise<AutomationRun[]>;
  /** Newest first. */
  list(filter: AutomationRunFilter): Promise<AutomationRun[]>;
  /** Lists as `list`, with only these fields of each run: payloads are not read. */
  brief(filter: AutomationRunFilter): Promise<BriefRun[]>;
  /**
   * When runs of a hook were started at or after `since`, oldest first, for the hourly rate; and the start of the last one ever, for the
   * cooldown.
   */
  started(hookId: string, since: number): Promise<{ at: number[]; lastStartedAt?: number }>;
  span(id: string): Promise<RunSpan | undefined>;
  /**
   * Runs that were under way at some moment between the two: those that still are, those that wait for another attempt, and those that have
   * ended; at most `limit` of each.
   */
  spans(from: number, to: number, limit: number): Promise<RunSpan[]>;
  /** How many wait, by hook. */
  waiting(): Promise<Map<string, number>>;
  waitingInLine(hookId: string, line: string): Promise<number>;
  /** The newest run of a hook that waits. */
  newestWaiting(hookId: string): Promise<AutomationRun | undefined>;
  /** The earliest dueAt or leaseUntil of runs that have not ended. `except` as for `take`. */
  nextDue(except?: LeftRuns): Promise<number | undefined>;
  /** Hooks with a run that is not ended. */
  unfinished(): Promise<string[]>;
  /** Deletes ended runs that are older or more than their hook keeps; resolves with how many. */
  sweep(now: number, keep: (hookId: string) => { maxAgeMs: number; maxRuns: number }): Promise<number>;
}

export interface TakenRun {
  run: AutomationRun;
  isTakenOver: boolean;
}

/** When a timed trigger fired last and fires next. */
export interface TriggerState {
  hookId: string;
  /** Changes when the definition's schedule changes: then `nextAt` is computed again. */
  schedule: string;
  lastAt?: number;
  nextAt?: number;
}

export interface TriggerStore {
  list(): Promise<TriggerState[]>;
  get(hookId: string): Promise<TriggerState | undefined>;
  set(state: TriggerState): Promise<void>;
  /** Moves `nextAt` from `expected` to `next` and stores the run, in one transaction: false when another process was first. */
  fire(hookId: string, expected: number, state: TriggerState, run: AutomationRun): Promise<boolean>;
  forget(hookId: string): Promise<void>;
}

/** An event that came in by signed HTTP. */
export interface IngestedEvent {
  id: string;
  name: string;
  payload: unknown;
  receivedAt: number;
  /** The cause of the run whose program sent it. */
  cause?: Cause;
}

export interface IngestStore {
  /**
   * Stores it once per id, with the work that follows. `repeated`: it came before; `reused`: another payload came under this id. With
   * `isFull` nothing is stored: one that did not come before is `full`.
   */
  accept(
    event: IngestedEvent,
    pending: readonly NewPending[],
    isFull?: boolean,
  ): Promise<"new" | "repeated" | "reused" | "full">;
  get(id: string): Promise<IngestedEvent | undefined>;
  /** Forgets events that came before `before` and that hooks were notified of; resolves with how many. */
  sweep(before: number): Promise<number>;
}

/** The state of a watched file when it was last seen. */
export interface FileSnapshot {
  path: string;
  sizeBytes: number;
  mtimeMs: number;
  /** Programs cannot set it, so it distinguishes two files of the same name, size and date. Fractions matter. */
  ctimeMs: number;
}

export interface SnapshotStore {
  /** The ids of all watches with stored snapshots. */
  watches(): Promise<string[]>;
  /** Undefined when the watch was never updated; empty when it was, and there was no file. */
  get(watchId: string): Promise<FileSnapshot[] | undefined>;
  /** Replaces the snapshots that differ; `removed` are paths. In one transaction. */
  update(watchId: string, changed: readonly FileSnapshot[], removed: readonly string[]): Promise<void>;
  forget(watchId: string): Promise<void>;
}

export interface AutomationStore {
  runs: AutomationRunStore;
  triggers: TriggerStore;
  ingest: IngestStore;
  snapshots: SnapshotStore;
}
