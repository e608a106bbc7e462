/**
 * Stored runs, and their execution: background runs of any hook (this is the registry's `BackgroundPort`), runs that a time started and
 * runs that a person asked for. A row is stored before it starts, taken under a lease, and ended by the holder of the lease.
 */
import { setMaxListeners } from "node:events";
import {
  type AutomationRun,
  type AutomationRunStore,
  type LeftRuns,
  PAUSED_REASON,
  type TakenRun,
} from "../domain/automation.js";
import type { Work } from "../domain/work.js";
import type { RunTurns } from "../gateway/inbound/suspects.js";
import type { BackgroundEnd, BackgroundPort, BackgroundRun, BackgroundRunner } from "../hooks/background.js";
import { untilWritten } from "../lib/concurrency/until-written.js";
import { createWork } from "../lib/concurrency/work.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import type { OrdinaryStops } from "../pending/ordinary-stops.js";
import type { Definition } from "./definition/definition.js";
import { capRefusal, type Refusal } from "./gates/refusal.js";
import { createHeldLeases, type HeldLeases } from "./queue/held-leases.js";
import { lineOf, whyFull } from "./queue/line.js";
import { countAgain, type Recovery, recover, startOf } from "./queue/recover.js";
import { backgroundOf, rowOf } from "./queue/rows.js";
import { closeRow, withStop } from "./queue/settle.js";
import type { Leases } from "./run/deps.js";
import { type RunOutcome, reasonOf } from "./run/outcome.js";
import type { Progress } from "./run/progress.js";

/** The limits are read when they are needed: a reload changes them. */
export interface QueueOptions {
  runs: AutomationRunStore;
  stops: Pick<OrdinaryStops, "stoppedAt" | "started" | "forget">;
  /** Keeps runs apart from work that may crash the process. Needed from the start on. */
  readonly turns: RunTurns;
  /** This process, among those that hold leases. */
  owner: string;
  readonly leaseMs: number;
  /** How many stored runs are under way at once. */
  readonly maxRunning: number;
  clock: Clock;
  logger: Logger;
}

/** The facts about configured hooks that the queue needs; plugins' background hooks need none of them. */
export interface QueueDeps {
  definition(hookId: string): Definition | undefined;
  isPaused(): boolean;
  /** A hook that is not in force and may come back: it is broken, or may be in a file or an entry that cannot be read. Its runs wait. */
  isAwaited(hookId: string): boolean;
  /** How often a run of the hook may start. Undefined where the hook is not there, or has no `retry`. */
  attemptsOf(hookId: string): number | undefined;
  /** The hook is awaited, and may be in a file: the settings of its definition for the end of a run are not known. */
  isUnread(hookId: string): boolean;
  /** For how long runs are kept, at most. */
  readonly keptMs: number;
  /** Why the run must not happen at all, by the loop guard and the gates at this moment. */
  refusal(definition: Definition, row: AutomationRun): Promise<RunOutcome | undefined>;
  /** A run of the hook that a crash cut off runs again when its dispatch fires again. */
  runsAgain(definition: Definition): boolean;
  /** A run was ended without having been run through the pipeline. `payload`: the payload that started it, unmasked. */
  ended(row: AutomationRun, outcome: RunOutcome, payload: unknown): void;
}

/** A taken run, for the handler that runs it. */
export interface Claim {
  row: AutomationRun;
  progress?: Progress | undefined;
}

export interface Admission {
  run: AutomationRun;
  /** To be called when the run is on disk. */
  stored(): void;
}

export interface Queue extends BackgroundPort {
  readonly leases: Leases;
  /** Fires when the gateway stops. */
  readonly stopping: AbortSignal;
  connect(deps: QueueDeps): void;
  start(): Promise<void>;
  /** Takes no more runs; resolves when those under way have ended, or when `graceMs` have passed and they got the signal to stop. */
  stop(graceMs: number): Promise<void>;
  wake(): void;
  /** Checks a run that another part stores together with more: gives it as it is to be stored, ended already when its gates refuse it. */
  admit(row: AutomationRun): Promise<Admission>;
  /** Stores a run that a person asked for and starts it ahead of all waiting runs. Resolves with how it ended. */
  runNow(row: AutomationRun, progress: Progress): Promise<RunOutcome>;
  /** The handler of a stored run takes it over; `run` is waited for, and writes the row's end. */
  claim(recordId: string, run: (claim: Claim) => Promise<RunOutcome>): Promise<RunOutcome> | undefined;
  readonly active: number;
  /** Which hooks hold all its places; undefined while one is free. */
  readonly full: Refusal | undefined;
  /** Which hooks hold all places, where a run that is due waits for one. */
  heldUp(): Promise<Refusal | undefined>;
  /** How many runs wait, by hook. */
  readonly waiting: ReadonlyMap<string, number>;
}

const KEY = "runs";

type NotCalled = Parameters<NonNullable<BackgroundPort["refuse"]>>[1];

interface Active extends Claim {
  work?: Promise<RunOutcome>;
}

export function createQueue(options: QueueOptions): Queue {
  return new StoredRuns(options);
}

class StoredRuns implements Queue {
  readonly #options: QueueOptions;
  readonly #stop = new AbortController();
  readonly #active = new Map<string, Active>();
  /** How many runs of a hook are under way. */
  readonly #perHook = new Map<string, number>();
  readonly #listeners = new Map<
    string,
    { progress?: Progress | undefined; ended: ((outcome: RunOutcome) => void)[] }
  >();
  readonly #leases: HeldLeases;
  #waiting = new Map<string, number>();
  /** Hooks of which an earlier process left runs. */
  #unfinished: readonly string[] = [];
  /** Runs by hook that did not happen, and that no line of the log has yet. */
  readonly #dropped = new Map<string, number>();
  #runner: BackgroundRunner | undefined;
  #deps: QueueDeps = {
    definition: () => undefined,
    isPaused: () => false,
    isAwaited: () => false,
    attemptsOf: () => undefined,
    isUnread: () => false,
    keptMs: 0,
    refusal: async () => undefined,
    runsAgain: () => false,
    ended: () => {},
  };
  readonly #again = () => this.wake();
  #isStarted = false;
  #takesMore = true;
  readonly #work: Work;

  constructor(options: QueueOptions) {
    const { clock, logger } = options;
    this.#options = options;
    // Every run listens to it until it ends.
    setMaxListeners(0, this.#stop.signal);
    this.#leases = createHeldLeases(options);
    this.#work = createWork({ processDue: () => this.#takeAll(), maxParallel: 1, clock, logger });
  }

  get leases(): Leases {
    return this.#leases;
  }

  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  get active(): number {
    return this.#active.size;
  }

  get full(): Refusal | undefined {
    if (this.#hasRoom) return undefined;
    const taken = new Map<string, number>();
    for (const { row } of this.#active.values()) taken.set(row.hookId, (taken.get(row.hookId) ?? 0) + 1);
    return capRefusal(taken, this.#options.maxRunning);
  }

  async heldUp(): Promise<Refusal | undefined> {
    const { runs, clock } = this.#options;
    if (this.#hasRoom || this.#deps.isPaused()) return undefined;
    const dueAt = await runs.nextDue(this.#leftRuns());
    return dueAt !== undefined && dueAt <= clock.now() ? this.full : undefined;
  }

  get #hasRoom(): boolean {
    return this.#active.size < this.#options.maxRunning;
  }

  get waiting(): ReadonlyMap<string, number> {
    return this.#waiting;
  }

  connect(deps: QueueDeps): void {
    this.#deps = deps;
  }

  serve(runner: BackgroundRunner): void {
    this.#runner = runner;
  }

  async start(): Promise<void> {
    const { runs, owner, clock } = this.#options;
    // One process at a time has this database open: earlier holders of leases are gone.
    await runs.expireOthers(owner, clock.now());
    this.#waiting = await runs.waiting();
    this.#unfinished = await runs.unfinished();
    this.#isStarted = true;
    this.#leases.start();
    this.wake();
  }

  takeNoMore(): void {
    this.#takesMore = false;
  }

  async stop(graceMs: number): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    this.takeNoMore();
    const idle = async () => {
      await this.#work.stop();
      while (this.#active.size > 0) await Promise.all([...this.#active.keys()].map((id) => this.#whenEnded(id)));
    };
    const ended = idle();
    let timer = clock.after(graceMs, () => this.#stop.abort(new Error("the gateway stopped")));
    await Promise.race([ended, new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()))]);
    timer.cancel();
    // A run that ignores the signal to stop keeps its lease, and the next start ends it.
    if (this.#active.size > 0)
      await Promise.race([
        ended,
        new Promise<void>((resolve) => {
          timer = clock.after(STOP_MS, resolve);
        }),
      ]);
    timer.cancel();
    this.#stop.abort(new Error("the gateway stopped"));
    this.#leases.stop();
  }

  wake(): void {
    if (this.#isStarted && this.#takesMore) this.#work.wake(KEY);
  }

  record(run: BackgroundRun): Promise<string | undefined> {
    return this.#add(rowOf(run, this.#deps.definition(run.hookId), this.#options.clock.now()));
  }

  refuse(run: BackgroundRun, { by, reason, isStored, isFailure }: NotCalled): void {
    const { runs, clock, logger } = this.#options;
    const definition = this.#deps.definition(run.hookId);
    if (definition === undefined && !isStored) return; // a run of a plugin's hook, which has no history here
    const refusal: RunOutcome =
      isFailure === true ? { status: "failed", error: reason, isRetryable: false } : { status: "skipped", by, reason };
    const closed = closeRow(rowOf(run, definition, clock.now()), refusal, clock.now());
    runs.insert(closed).then(
      (isNew) => isNew && this.#deps.ended(closed, refusal, run.payload),
      (error: unknown) => logger.error({ run: run.id, error: errorMessage(error) }, "a refusal could not be recorded"),
    );
  }

  paused(hookId: string): string | undefined {
    return this.#deps.isPaused() && this.#deps.definition(hookId) !== undefined ? PAUSED_REASON : undefined;
  }

  async runNow(row: AutomationRun, progress: Progress): Promise<RunOutcome> {
    const { runs, owner, clock, leaseMs } = this.#options;
    const ended = this.#whenEnded(row.id);
    this.#listeners.set(row.id, { progress, ended: this.#listeners.get(row.id)?.ended ?? [] });
    await runs.insert(row);
    this.#count(row.hookId, 1);
    const taken =
      this.#isStarted && this.#takesMore ? await runs.takeOne(row.id, owner, clock.now(), leaseMs) : undefined;
    // A poll just now may have taken it first: it runs all the same.
    if (taken !== undefined) this.#startRun(taken);
    return ended;
  }

  claim(recordId: string, run: (claim: Claim) => Promise<RunOutcome>): Promise<RunOutcome> | undefined {
    const claim = this.#active.get(recordId);
    if (claim === undefined) return undefined;
    claim.work = run(claim);
    return claim.work;
  }

  async admit(row: AutomationRun): Promise<Admission & { refusal: RunOutcome | undefined }> {
    const refusal = await this.#refusalOf(row);
    if (refusal !== undefined) {
      const closed = closeRow(row, refusal, this.#options.clock.now());
      return { run: closed, refusal, stored: () => this.#deps.ended(closed, refusal, row.pendingPayload) };
    }
    return {
      run: row,
      refusal,
      stored: () => {
        this.#count(row.hookId, 1);
        this.wake();
      },
    };
  }

  /** Takes due runs while there is room. A number: look again at that time. */
  async #takeAll(): Promise<number | undefined> {
    const { runs, owner, clock } = this.#options;
    while (this.#takesMore && this.#hasRoom && !this.#deps.isPaused()) {
      const leave = this.#options.turns.enterRun(this.#again);
      let isLeft = false;
      try {
        const left = { ...this.#leftRuns(), isExpiredOnly: leave === undefined };
        const taken = await runs.take(owner, clock.now(), this.#options.leaseMs, left);
        if (taken === undefined) return await runs.nextDue(left);
        // A run of this process whose lease ended is taken again: that renews the lease, and the run goes on. The clock was set forward,
        // or the process was suspended.
        if (this.#leases.isHeld(taken.run.id)) continue;
        isLeft = !taken.isTakenOver;
        this.#startRun(taken, leave);
      } finally {
        if (!isLeft) leave?.();
      }
    }
    return undefined; // the next run that ends wakes it again
  }

  #leftRuns(): LeftRuns {
    const known = [...new Set([...this.#unfinished, ...this.#waiting.keys()])];
    const absent = known.filter((hookId) => this.#deps.isAwaited(hookId));
    const unread = absent.filter((hookId) => this.#deps.isUnread(hookId));
    return { busy: this.#busyHooks(), absent, unread, keptSince: this.#options.clock.now() - this.#deps.keptMs };
  }

  /** Nothing else in the log shows that the work is lost. One line, when the last run of the hook has ended. */
  #reportDropped(hook: string): void {
    const lost = this.#dropped.get(hook);
    if (lost === undefined || this.#perHook.has(hook) || this.#waiting.has(hook)) return;
    this.#dropped.delete(hook);
    this.#options.logger.warn(
      { hook, runs: lost },
      `${lost} recorded ${lost === 1 ? "run" : "runs"} of the hook "${hook}" did not happen: it is switched off or not there any more. \`/runs skipped\` lists them`,
    );
  }

  /** Hooks whose runs wait for each other instead of being refused. */
  #busyHooks(): string[] {
    return [...this.#perHook].flatMap(([hookId, count]) => {
      const definition = this.#deps.definition(hookId);
      return definition !== undefined && definition.whenBusy !== "skip" && count >= definition.concurrency
        ? [hookId]
        : [];
    });
  }

  /** `leave`: to be called at its end, when it is no suspect. */
  #startRun({ run: row, isTakenOver }: TakenRun, leave = () => {}): void {
    const { id, hookId } = row;
    const { turns, stops, logger } = this.#options;
    this.#perHook.set(hookId, (this.#perHook.get(hookId) ?? 0) + 1);
    this.#leases.hold(id);
    if (!isTakenOver) {
      this.#count(hookId, -1);
      void this.#run(row).finally(leave);
      return;
    }
    const { runsAgain, isAwaited, attemptsOf } = this.#deps;
    const recovery = recover(row, this.#deps.definition(hookId), { stops, runsAgain, isAwaited, attemptsOf, logger });
    if ("over" in recovery) void this.#run(row, recovery);
    else
      void turns.runInTurn(recovery.rule, async () => {
        if (this.#takesMore && !this.#deps.isPaused()) return this.#run(row, recovery);
        // The row is left: it is taken again when its lease has ended.
        this.#free(row);
      });
  }

  /** Never rejects. */
  #run(row: AutomationRun, recovery?: Recovery): Promise<void> {
    const { id, hookId } = row;
    this.#active.set(id, { row, progress: this.#listeners.get(id)?.progress });
    return this.#execute(row, recovery)
      .catch((error: unknown): RunOutcome => {
        this.#options.logger.error(
          { hook: hookId, run: id, error: errorMessage(error) },
          "a stored run could not be brought to its end",
        );
        return { status: "interrupted", reason: errorMessage(error) };
      })
      .then((outcome) => this.#runEnded(row, outcome));
  }

  #free({ id, hookId }: AutomationRun): void {
    this.#leases.drop(id);
    const left = (this.#perHook.get(hookId) ?? 1) - 1;
    if (left === 0) this.#perHook.delete(hookId);
    else this.#perHook.set(hookId, left);
  }

  #runEnded(row: AutomationRun, outcome: RunOutcome): void {
    const { id, hookId } = row;
    this.#free(row);
    this.#options.stops.forget(startOf(id));
    this.#active.delete(id);
    if (outcome.status === "queued") this.#count(hookId, 1);
    if (outcome.status === "skipped" && outcome.by === "gone")
      this.#dropped.set(hookId, (this.#dropped.get(hookId) ?? 0) + 1);
    this.#reportDropped(hookId);
    for (const ended of this.#listeners.get(id)?.ended ?? []) ended(outcome);
    this.#listeners.delete(id);
    this.wake();
  }

  async #execute(row: AutomationRun, recovery?: Recovery): Promise<RunOutcome> {
    const { runs, stops, owner, clock } = this.#options;
    const startedAt = clock.now();
    const over =
      recovery === undefined
        ? await this.#standIn(row, this.#deps.definition(row.hookId))
        : "over" in recovery
          ? recovery.over
          : await countAgain(row, runs, owner);
    if (over !== undefined) return this.#close(row, over);
    if (row.pendingPayload === undefined)
      return this.#close(row, { status: "interrupted", reason: "what it was to run with cannot be read in the store" });
    if (this.#runner === undefined)
      return this.#close(row, { status: "interrupted", reason: "hooks do not run in this process" });
    stops.started(startOf(row.id), row.attempt);
    const end = await this.#runner(backgroundOf(row), row.attempt);
    const claimed = this.#active.get(row.id)?.work;
    // A configured hook's run writes its own end; at its deadline the kernel goes on, and we wait for what it still does.
    if (claimed !== undefined) return claimed;
    const ended = end.kind === "interrupted" ? withStop(row, end.reason, startedAt, clock.now()) : row;
    return this.#close(ended, outcomeOf(end, row, clock.now()));
  }

  /** Under `coalesce` the newest waiting run replaces those before it. */
  async #standIn(row: AutomationRun, definition: Definition | undefined): Promise<RunOutcome | undefined> {
    if (definition?.whenBusy !== "coalesce" || row.attempt > 1) return undefined;
    const { runs, clock } = this.#options;
    const newer = await runs.newestWaiting(row.hookId);
    if (newer === undefined || newer.createdAt < row.createdAt || newer.dueAt > clock.now()) return undefined;
    return { status: "skipped", by: "coalesce", reason: `run ${newer.id} replaces it` };
  }

  async #close(row: AutomationRun, outcome: RunOutcome): Promise<RunOutcome> {
    const { runs, owner, clock, logger } = this.#options;
    const closed = closeRow(row, outcome, clock.now());
    const write = () => runs.update(closed, owner);
    if (await untilWritten({ hook: row.hookId, run: row.id }, write, { stopping: this.stopping, clock, logger }))
      this.#deps.ended(row, outcome, row.pendingPayload);
    return outcome;
  }

  #count(hookId: string, change: number): void {
    const now = (this.#waiting.get(hookId) ?? 0) + change;
    if (now <= 0) this.#waiting.delete(hookId);
    else this.#waiting.set(hookId, now);
  }

  /** A run that its gates refuse at this moment is recorded, and never waits: no run waits for the end of a cooldown. */
  async #refusalOf(row: AutomationRun): Promise<RunOutcome | undefined> {
    const definition = this.#deps.definition(row.hookId);
    if (definition === undefined || row.trigger === "manual") return undefined;
    const reason = await whyFull(row, definition, this.#waiting.get(row.hookId) ?? 0, this.#options.runs);
    return reason === undefined ? this.#deps.refusal(definition, row) : { status: "skipped", by: "queue", reason };
  }

  /** Resolves with the reason why the run must not happen, when there is one. */
  async #add(row: AutomationRun): Promise<string | undefined> {
    const { run, refusal, stored } = await this.admit(row);
    if (refusal === undefined) {
      this.#count(row.hookId, 1);
      if (!(await this.#insert(row))) this.#count(row.hookId, -1);
      this.wake();
      return undefined;
    }
    if (!(await this.#options.runs.insert(run))) return undefined; // the run was recorded before, and its row keeps its state
    stored();
    return reasonOf(refusal);
  }

  async #insert(row: AutomationRun): Promise<boolean> {
    try {
      return await this.#options.runs.insert(row, lineOf(row, this.#deps.definition(row.hookId)));
    } catch (error) {
      this.#count(row.hookId, -1);
      throw error;
    }
  }

  #whenEnded(id: string): Promise<RunOutcome> {
    return new Promise((resolve) => {
      const known = this.#listeners.get(id) ?? { ended: [] };
      known.ended.push(resolve);
      this.#listeners.set(id, known);
    });
  }
}

/** How long runs may take to end after the signal to stop. */
const STOP_MS = 3_000;

/** A plugin's background hook. */
function outcomeOf(end: BackgroundEnd, { isRepeatable }: AutomationRun, now: number): RunOutcome {
  switch (end.kind) {
    case "done":
      return { status: "succeeded", decision: { kind: "pass" } };
    case "gone":
      return { status: "skipped", by: "gone", reason: "its hook is switched off or not there any more" };
    case "failed":
      if (end.retryInMs !== undefined) return { status: "queued", dueAt: now + end.retryInMs, reason: end.error };
      return { status: "failed", error: end.error, isRetryable: false };
    case "interrupted":
      if (isRepeatable) return { status: "queued", dueAt: now, reason: end.reason };
      return { status: "interrupted", reason: `${end.reason}, and it may not run twice` };
  }
}
