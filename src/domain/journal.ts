/** The journal: what fired, who ran, what came of it. Written beside the message flow, never in its way. */
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

/** What led to a dispatch or a delivery. */
export interface Cause {
  kind: (typeof CAUSE_KINDS)[number];
  id: string;
  /** How many hooks deep in a chain of causes; loops are cut by it (`MAX_HOOK_DEPTH`). 0 for what came from outside, and for files. */
  depth: number;
  /** For `file`: how many runs deep it is if that run wrote the file, and whether no other run was under way all the time. */
  presumed?: { depth: number; isSole: boolean };
}

/** One execution of one hook. */
export interface RunRecord {
  id: string;
  hookId: string;
  pluginId?: string;
  position: number;
  outcome: Outcome;
  /** Why it was skipped or interrupted, what it was blocked or cancelled with, and for `overruled` which hook set which field first. */
  reason?: string;
  latencyMs: number;
  attempt: number;
  error?: string;
  /** Its condition has no answer for the payload, so its handler was not called: `reason` or `error` says why. */
  unanswered?: true;
  /** Where the error was thrown: file, line and column, relative to the working folder. For admins. */
  place?: string;
  /** What it returned or changed, as set by this handler (JSON). */
  diff?: unknown;
}

/** What the id of a dispatch begins with, up to the first colon: the inbox message or the delivery that led to it. */
export function rootOf(dispatchId: string): string {
  const end = dispatchId.indexOf(":");
  return end < 0 ? dispatchId : dispatchId.slice(0, end);
}

/** Dispatches that `/fire-hook` and `/replay` made carry this prefix. */
export const BY_HAND = "f";
export const isHandId = (dispatchId: string): boolean => dispatchId.startsWith(`${BY_HAND}_`);

/** The id of a delivery that answers the message `m5`. `mark` tells the several that one message may lead to apart. */
export const answerId = (root: string, mark: string): string => `d_${root}${mark}`;

/** Marks what a hook or a route answers to the message that it handles. */
export const REPLY_MARK = "r";

/** Marks the answer to a command, and a note of the gateway. */
export const ANSWER_MARK = "a";

/** Marks the copy of a message. */
export const COPY_MARK = "f";

export const copyId = (row: { id: number }): string => answerId(`m${row.id}`, COPY_MARK);

/** The id of a dispatch about a message of the inbox or a delivery. Unique: what is done again goes through the hooks under the next number. */
export function numberedDispatch(root: string, point: string, round: number): string {
  return `${root}:${point}${roundMark(round)}`;
}

/** What the id of a dispatch ends in that is done again. */
export const roundMark = (round = 1): string => (round === 1 ? "" : `:${round}`);

/** The author of the field names in a point's payloads: those of events from outside and of the points of plugins are not ours. */
export function namedBy(point: string): NamedBy {
  return /^(event|plugin):/.test(point) ? "others" : "us";
}

/** One firing of a hook point. */
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

/** Where the kernel hands its records. Must return at once and never throw. */
export interface JournalPort {
  /** It leaves out the `raw` of messages by itself: it is handed what handlers saw, where any other gets a copy without. */
  readonly leavesOutRaw?: true;
  /** `names`: what is known of its runs' ids, for a caller that would have to compare them otherwise. */
  record(dispatch: DispatchRecord, names?: RunNames): void;
}

export interface DispatchFilter {
  hookId?: string;
  point?: string;
  conversation?: string;
  messageId?: string;
  /** What an inbox message (`m5`) or a delivery (`d_m5r`) led to: dispatches whose id is that, or begins with it and a colon. */
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
