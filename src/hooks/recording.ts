/** The source of the journal's record of a dispatch. Made only when the record is wanted. */
import type { DispatchRecord, JournalPort, Outcome, RunRecord } from "../domain/journal.js";
import { errorPlace } from "../lib/error-place.js";
import { errorMessage } from "../lib/errors.js";
import type { Clock } from "../lib/time/clock.js";
import type { Firing } from "./options.js";
import type { HookPoint, LifecyclePhase } from "./point.js";
import type { Entry } from "./registration/entry.js";
import { withoutRaw } from "./without-raw.js";

/** The facts of a dispatch that its record has. */
export interface Recorded {
  readonly id: string;
  readonly point: HookPoint;
  readonly phase: LifecyclePhase | undefined;
  readonly entries: readonly Entry[];
  readonly firing: Firing | undefined;
  readonly attempt: number;
  readonly dryRun: boolean;
  view(): unknown;
  runIdAt(position: number): string;
}

/** How a run ended. */
export interface RunEnd {
  outcome: Outcome;
  reason?: string;
  error?: unknown;
  diff?: unknown;
  /** See `RunRecord`. */
  unanswered?: boolean;
}

/** How a dispatch ended. */
export interface Ending {
  /** Undefined: it follows from the runs, once the last of them has ended. */
  outcome: Outcome | undefined;
  result?: unknown;
  provenance?: Record<string, string>;
}

export class Recording {
  readonly runs: RunRecord[];
  /** The last reading of the monotonic clock. Where one handler runs after the other, the end of one is the start of the next. */
  readMs: number;
  private readonly clock: Clock;
  private readonly journal: JournalPort | undefined;
  private readonly startedAt: number;
  private readonly startedMs: number;
  /** Runs that go on after the caller was answered: the record waits for them. */
  private detached: number;
  private ending: Ending | undefined;
  private isOrdered: boolean;
  /** The outcomes that handlers state for themselves. */
  private stated: Map<Entry, RunEnd> | undefined;

  constructor(clock: Clock, journal: JournalPort | undefined) {
    this.runs = [];
    this.clock = clock;
    this.journal = journal;
    this.startedAt = clock.now();
    this.startedMs = clock.monotonic();
    this.readMs = this.startedMs;
    this.detached = 0;
    this.ending = undefined;
    this.isOrdered = true;
    this.stated = undefined;
  }

  /** In place of `passed`, when it passes. */
  state(entry: Entry, outcome: Outcome, reason: string | undefined): void {
    this.stated ??= new Map();
    this.stated.set(entry, { outcome, reason });
  }

  /** Reading the clock costs as much as a handler that does nothing: not more often than needed. */
  read(): number {
    this.readMs = this.clock.monotonic();
    return this.readMs;
  }

  /** `startedMs`: undefined when it did not run. */
  note(dispatch: Recorded, entry: Entry, startedMs: number | undefined, given: RunEnd): void {
    const isGood = given.outcome === "passed" || given.outcome === "backgrounded";
    const stated = isGood ? this.stated?.get(entry) : undefined;
    const end = stated === undefined ? given : { ...given, ...stated };
    const position = dispatch.entries.indexOf(entry) + 1;
    const run: RunRecord = {
      id: dispatch.runIdAt(position),
      hookId: entry.id,
      position,
      outcome: end.outcome,
      latencyMs: startedMs === undefined ? 0 : rounded(this.read() - startedMs),
      attempt: dispatch.attempt,
    };
    if (entry.pluginId !== undefined) run.pluginId = entry.pluginId;
    if (end.unanswered === true) run.unanswered = true;
    if (end.reason !== undefined) run.reason = end.reason;
    if (end.error !== undefined) {
      run.error = errorMessage(end.error);
      const place = errorPlace(end.error) ?? entry.place;
      if (place !== undefined) run.place = place;
    }
    if (end.diff !== undefined) run.diff = end.diff;
    const last = this.runs.at(-1);
    if (last !== undefined && last.position > position) this.isOrdered = false;
    this.runs.push(run);
    dispatch.firing?.onRun?.(run);
  }

  /** A run goes on beside the caller; the returned function ends it. */
  detach(dispatch: Recorded): () => void {
    this.detached++;
    return () => {
      this.detached--;
      this.emit(dispatch);
    };
  }

  /** The dispatch has ended for its caller. */
  end(dispatch: Recorded, ending: Ending): void {
    this.ending = ending;
    this.emit(dispatch);
  }

  private emit(dispatch: Recorded): void {
    if (this.ending === undefined || this.detached > 0) return;
    const ending = this.ending;
    this.ending = undefined;
    const { firing } = dispatch;
    const isEmpty = this.runs.length === 0 && firing?.recordEmpty !== true;
    if (isEmpty && firing?.onRecord === undefined) return;
    const record = this.recordOf(dispatch, ending);
    firing?.onRecord?.(record);
    if (!isEmpty) this.journal?.record(record, "usual");
  }

  private recordOf(dispatch: Recorded, { outcome, result, provenance }: Ending): DispatchRecord {
    const { point, phase, firing } = dispatch;
    const record: DispatchRecord = {
      id: dispatch.id,
      point: point.name,
      model: point.model,
      at: this.startedAt,
      latencyMs: rounded(this.readMs - this.startedMs),
      payload: this.payloadOf(dispatch),
      attempt: dispatch.attempt,
      dryRun: dispatch.dryRun,
      outcome: outcome ?? overall(this.runs),
      runs: this.isOrdered ? this.runs : this.runs.sort((a, b) => a.position - b.position),
    };
    if (phase !== undefined) record.phase = phase;
    if (firing?.cause !== undefined) record.cause = firing.cause;
    if (firing?.conversation !== undefined) record.conversation = firing.conversation;
    if (firing?.messageId !== undefined) record.messageId = firing.messageId;
    if (result !== undefined) record.result = result;
    if (provenance !== undefined) record.provenance = provenance;
    return record;
  }

  private payloadOf(dispatch: Recorded): unknown {
    const { journalled } = dispatch.point;
    const payload = dispatch.view();
    if (journalled === undefined) return payload;
    const isForJournal = this.journal?.leavesOutRaw === true && dispatch.firing?.onRecord === undefined;
    return journalled === withoutRaw && isForJournal ? payload : journalled(payload);
  }
}

/** To a thousandth of a millisecond. */
function rounded(ms: number): number {
  return Math.round(Math.max(0, ms) * 1000) / 1000;
}

/** The outcome of a dispatch that decided nothing and may have failed. */
export const failedIf = (failure: unknown): Outcome | undefined => (failure === undefined ? undefined : "failed");

function overall(runs: readonly RunRecord[]): Outcome {
  if (runs.some(({ outcome }) => outcome === "interrupted")) return "interrupted";
  const ran = runs.filter(({ outcome }) => outcome !== "skipped");
  if (ran.length === 0) return runs.length > 0 ? "skipped" : "passed";
  return ran.every(({ outcome }) => outcome === "dry_run") ? "dry_run" : "passed";
}
