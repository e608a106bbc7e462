/** The journal: the points that fired, the hooks that ran, and their outcomes. It is written beside the message flow, never in its way. */
import type { NamedBy } from "../lib/text/redact.js";

/** `interrupted`: a stop of the gateway cut it off while it ran; its answer was dropped. */
export const OUTCOMES = [
  "passed",
  "modified",
  "overruled",
  "claimed",
  "cancelled",
  "blocked",
  "skipped",
  "failed",
  "timed_out",
  "interrupted",
  "backgrounded",
  "deferred",
  "dry_run",
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** `file`: a file changed while (or just after) the run of this id was under way; its writer is not known. */
export const CAUSE_KINDS = [
  "message",
  "reply",
  "command",
  "alert",
  "hook",
  "agent",
  "edit",
  "forward",
  "api",
  "adapter",
  "task",
  "file",
] as const;

/** A chain of hooks that start each other is cut when it is longer. */
export const MAX_HOOK_DEPTH = 8;

/** The origin of a dispatch or a delivery. */
export interface Cause {
  kind: (typeof CAUSE_KINDS)[number];
  id: string;
  /** How many hooks deep in a chain of causes; loops are cut by it (`MAX_HOOK_DEPTH`). 0 for events from outside, and for files. */
  depth: number;
  /** For `file`: how many runs deep the cause is if that run wrote the file, and whether no other run was under way all the time. */
  presumed?: { depth: number; isSole: boolean };
}

/** An execution of a hook. */
export interface RunRecord {
  id: string;
  hookId: string;
  pluginId?: string;
  position: number;
  outcome: Outcome;
  /**
   * Why it was skipped or interrupted, the reason of a block or cancellation, and for `overruled` the hook that set a field first, with the
   * field.
   */
  reason?: string;
  latencyMs: number;
  attempt: number;
  error?: string;
  /** Its condition has no answer for the payload, so its handler was not called: `reason` or `error` has the cause. */
  unanswered?: true;
  /** Where the error was thrown: file, line and column, relative to the working folder. For admins. */
  place?: string;
  /** The values that this handler returned or changed, as it set them (JSON). */
  diff?: unknown;
}

/** The start of a dispatch's id, up to the first colon: the inbox message or the delivery that led to the dispatch. */
export function rootOf(dispatchId: string): string {
  const end = dispatchId.indexOf(":");
  return end < 0 ? dispatchId : dispatchId.slice(0, end);
}

/** Dispatches that `/fire-hook` and `/replay` made carry this prefix. */
export const BY_HAND = "f";
export const isHandId = (dispatchId: string): boolean => dispatchId.startsWith(`${BY_HAND}_`);

/** The id of a delivery that answers the message `m5`. `mark` distinguishes the deliveries that one message may lead to. */
export const answerId = (root: string, mark: string): string => `d_${root}${mark}`;

/** Marks the answer of a hook or a route to the message that it handles. */
export const REPLY_MARK = "r";

/** Marks the answer to a command, and a note of the gateway. */
export const ANSWER_MARK = "a";

/** Marks the copy of a message. */
export const COPY_MARK = "f";

export const copyId = (row: { id: number }): string => answerId(`m${row.id}`, COPY_MARK);

/** The id of a dispatch about a message of the inbox or a delivery. Unique: a dispatch that is done again has the next number. */
export function numberedDispatch(root: string, point: string, round: number): string {
  return `${root}:${point}${roundMark(round)}`;
}

/** The end of the id of a dispatch that is done again. */
export const roundMark = (round = 1): string => (round === 1 ? "" : `:${round}`);

/** The author of the field names in a point's payloads: those of events from outside and of the points of plugins are not ours. */
export function namedBy(point: string): NamedBy {
  return /^(event|plugin):/.test(point) ? "others" : "us";
}

/** A firing of a hook point. */
export interface DispatchRecord {
  id: string;
  point: string;
  model: "void" | "modifying" | "claiming" | "lifecycle" | "turn";
  phase?: string;
  /** Milliseconds since the epoch. */
  at: number;
  latencyMs: number;
  payload: unknown;
  cause?: Cause;
  attempt: number;
  dryRun: boolean;
  outcome: Outcome;
  /** The merged, claimed or mutated result, when there is one. */
  result?: unknown;
  /** Modifying points: key → hook id that set it. */
  provenance?: Record<string, string>;
  /** Conversation (formatted address) and message id, where the payload has them; for "why did it not run on this message". */
  conversation?: string;
  messageId?: string;
  runs: RunRecord[];
}

/** `usual`: every run of a record is called by the dispatch's id, a slash and its position. */
export type RunNames = "usual";

/** The port to which the kernel hands its records. Must return at once and never throw. */
export interface JournalPort {
  /**
   * The journal leaves out the `raw` of messages by itself: it gets the payload that handlers saw, and any other journal gets a copy
   * without `raw`.
   */
  readonly leavesOutRaw?: true;
  /** `names`: known facts about the ids of its runs, for a caller that would have to compare them otherwise. */
  record(dispatch: DispatchRecord, names?: RunNames): void;
}

export interface DispatchFilter {
  hookId?: string;
  point?: string;
  conversation?: string;
  messageId?: string;
  /** Dispatches that an inbox message (`m5`) or a delivery (`d_m5r`) led to: their id is that id, or starts with it and a colon. */
  of?: string;
  outcome?: Outcome;
  /** Only dispatches in which a run failed or timed out. */
  failed?: boolean;
  before?: string;
  limit: number;
}

/** Numbers of one hook, over the last 24 h unless a field's comment differs. */
export interface HookStats {
  hookId: string;
  /** Ever. */
  lastFiredAt?: number;
  lastOutcome?: Outcome;
  fires: number;
  failures: number;
  p95Ms?: number;
  totalFires: number;
}

/** Reading side, on the main thread. All payloads are as stored: the caller that shows them redacts them. */
export interface Journal extends JournalPort {
  /** Resolves when everything recorded so far can be read. */
  flush(): Promise<void>;
  get(dispatchId: string): Promise<DispatchRecord | undefined>;
  /** The dispatch that holds this run. */
  getByRun(runId: string): Promise<DispatchRecord | undefined>;
  /** Newest first. */
  list(filter: DispatchFilter): Promise<DispatchRecord[]>;
  stats(): Promise<Map<string, HookStats>>;
}
