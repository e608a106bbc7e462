/**
 * Stored runs, and their execution: background runs of any hook (this is the registry's `BackgroundPort`), runs that a time started and
 * runs that a person asked for. A row is stored before it starts, taken under a lease, and ended by the holder of the lease.
 */
import {
  type AutomationRun,
  type AutomationRunStore,
  type LeftRuns,
  PAUSED_REASON,
  type TakenRun,
} from "../domain/automation.js";
import type { BackgroundEnd, BackgroundPort, BackgroundRun, BackgroundRunner } from "../hooks/background.js";
import type { Clock } from "../lib/clock.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { createWork } from "../lib/work.js";
import type { Definition } from "./definition/definition.js";
import { createHeldLeases } from "./queue/held-leases.js";
import { recoverTaken } from "./queue/recover.js";
import { backgroundOf, rowOf } from "./queue/rows.js";
import { closeRow } from "./queue/settle.js";
import type { Leases } from "./run/deps.js";
import { type RunOutcome, reasonOf } from "./run/outcome.js";
import type { Progress } from "./run/progress.js";

/** The limits are read when they are needed: a reload changes them. */
export interface QueueOptions {
  runs: AutomationRunStore;
  /** This process, among those that hold leases. */
  owner: string;
  readonly leaseMs: number;
  /** How many stored runs are under way at once. */
  readonly maxRunning: number;
  clock: Clock;
  logger: Logger;
}

/** What the queue needs to know of configured hooks; plugins' background hooks need none of it. */
export interface QueueDeps {
  definition(hookId: string): Definition | undefined;
  isPaused(): boolean;
  /** A hook that is not in force and may come back: it is broken, or may be in what cannot be read. Its runs wait. */
  isAwaited(hookId: string): boolean;
  /** For how long, at most. */
  readonly keptMs: number;
  /** Why it is not to be run at all, as the loop guard and its gates say at this moment. */
  refusal(definition: Definition, row: AutomationRun): Promise<RunOutcome | undefined>;
  /** A run was ended without having been run through the pipeline. */
  ended(row: AutomationRun, outcome: RunOutcome): void;
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
  /** Takes no more; resolves when what is under way has ended or `graceMs` are over and it was told to. */
  stop(graceMs: number): Promise<void>;
  wake(): void;
  /** Checks a run that another part stores together with more: gives it as it is to be stored, ended already when its gates refuse it. */
  admit(row: AutomationRun): Promise<Admission>;
  /** Stores a run that a person asked for and starts it ahead of all waiting runs. Resolves with how it ended. */
  runNow(row: AutomationRun, progress: Progress): Promise<RunOutcome>;
  /** The handler of a stored run takes it over; `work` is waited for, and writes the row's end. */
  claim(recordId: string, run: (claim: Claim) => Promise<RunOutcome>): Promise<RunOutcome> | undefined;
  readonly active: number;
  /** How many runs wait, by hook. */
  readonly waiting: ReadonlyMap<string, number>;
}

const KEY = "runs";

interface Active extends Claim {
  work?: Promise<RunOutcome>;
}

export function createQueue(options: QueueOptions): Queue {
  const { runs, owner, clock, logger } = options;
  const stop = new AbortController();
  const active = new Map<string, Active>();
  const perHook = new Map<string, number>();
  const listeners = new Map<string, { progress?: Progress | undefined; ended: ((outcome: RunOutcome) => void)[] }>();
  const leases = createHeldLeases(options);
  let waiting = new Map<string, number>();
  /** Hooks of which an earlier process left runs. */
  let unfinished: readonly string[] = [];
  const dropped = new Map<string, number>();
  let runner: BackgroundRunner | undefined;
  let deps: QueueDeps = {
    definition: () => undefined,
    isPaused: () => false,
    isAwaited: () => false,
    keptMs: 0,
    refusal: async () => undefined,
    ended: () => {},
  };
  let isStarted = false;
  const work = createWork({ processDue: takeAll, maxParallel: 1, clock, logger });

  const wake = () => {
    if (isStarted) work.wake(KEY);
  };

  /** Takes what is due while there is room. A number = look again then. */
  async function takeAll(): Promise<number | undefined> {
    while (!stop.signal.aborted && active.size < options.maxRunning && !deps.isPaused()) {
      const left = leftRuns();
      const taken = await runs.take(owner, clock.now(), options.leaseMs, left);
      if (taken === undefined) return runs.nextDue(left);
      // A lease of this process that ended is renewed by that, and its run goes on: the clock was set forward, or the process was suspended.
      if (!leases.isHeld(taken.run.id)) startRun(taken);
    }
    return undefined; // the next run that ends wakes it again
  }

  function leftRuns(): LeftRuns {
    const absent = [...new Set([...unfinished, ...waiting.keys()])].filter((hookId) => deps.isAwaited(hookId));
    return { busy: busyHooks(), absent, keptSince: clock.now() - deps.keptMs };
  }

  /** Nothing else in the log says that the work is lost. One line, when the last run of the hook has ended. */
  function reportDropped(hook: string): void {
    const lost = dropped.get(hook);
    if (lost === undefined || perHook.has(hook) || waiting.has(hook)) return;
    dropped.delete(hook);
    logger.warn(
      { hook, runs: lost },
      `${lost} recorded ${lost === 1 ? "run" : "runs"} of the hook "${hook}" did not happen: it is switched off or not there any more. \`/runs skipped\` lists them`,
    );
  }

  /** Hooks whose runs wait for each other instead of being refused. */
  function busyHooks(): string[] {
    return [...perHook].flatMap(([hookId, count]) => {
      const definition = deps.definition(hookId);
      return definition !== undefined && definition.whenBusy !== "skip" && count >= definition.concurrency
        ? [hookId]
        : [];
    });
  }

  function startRun(taken: TakenRun): void {
    const { row, hookId } = { row: taken.run, hookId: taken.run.hookId };
    active.set(row.id, { row, progress: listeners.get(row.id)?.progress });
    perHook.set(hookId, (perHook.get(hookId) ?? 0) + 1);
    if (!taken.isTakenOver) count(hookId, -1);
    leases.hold(row.id);
    void execute(taken)
      .catch((error: unknown): RunOutcome => {
        logger.error(
          { hook: hookId, run: row.id, error: errorMessage(error) },
          "a stored run could not be brought to its end",
        );
        return { status: "interrupted", reason: errorMessage(error) };
      })
      .then((outcome) => {
        leases.drop(row.id);
        active.delete(row.id);
        const left = (perHook.get(hookId) ?? 1) - 1;
        if (left === 0) perHook.delete(hookId);
        else perHook.set(hookId, left);
        if (outcome.status === "queued") count(hookId, 1);
        if (outcome.status === "skipped" && outcome.by === "gone") dropped.set(hookId, (dropped.get(hookId) ?? 0) + 1);
        reportDropped(hookId);
        for (const ended of listeners.get(row.id)?.ended ?? []) ended(outcome);
        listeners.delete(row.id);
        wake();
      });
  }

  async function execute(taken: TakenRun): Promise<RunOutcome> {
    const row = taken.run;
    const definition = deps.definition(row.hookId);
    const lost = await recoverTaken(taken, definition, { runs, owner });
    const over = lost ?? (await standIn(row, definition));
    if (over !== undefined) return close(row, over);
    if (row.pendingPayload === undefined)
      return close(row, { status: "interrupted", reason: "what it was to run with cannot be read in the store" });
    if (runner === undefined) return close(row, { status: "interrupted", reason: "hooks do not run in this process" });
    const end = await runner(backgroundOf(row), row.attempt);
    const claimed = active.get(row.id)?.work;
    // A configured hook's run writes its own end; at its deadline the kernel goes on, and we wait for what it still does.
    if (claimed !== undefined) return claimed;
    return close(row, outcomeOf(end, clock.now()));
  }

  /** Under `coalesce` the newest that waits stands for those before it. */
  async function standIn(row: AutomationRun, definition: Definition | undefined): Promise<RunOutcome | undefined> {
    if (definition?.whenBusy !== "coalesce" || row.attempt > 1) return undefined;
    const newer = await runs.newestWaiting(row.hookId);
    if (newer === undefined || newer.createdAt < row.createdAt || newer.dueAt > clock.now()) return undefined;
    return { status: "skipped", by: "coalesce", reason: `run ${newer.id} replaces it` };
  }

  async function close(row: AutomationRun, outcome: RunOutcome): Promise<RunOutcome> {
    if (await runs.update(closeRow(row, outcome, clock.now()), owner)) deps.ended(row, outcome);
    return outcome;
  }

  function count(hookId: string, change: number): void {
    const now = (waiting.get(hookId) ?? 0) + change;
    if (now <= 0) waiting.delete(hookId);
    else waiting.set(hookId, now);
  }

  /** What its gates refuse at this moment is recorded, and never waits: a cooldown is not to be sat out. */
  async function refusalOf(row: AutomationRun): Promise<RunOutcome | undefined> {
    const definition = deps.definition(row.hookId);
    if (definition === undefined || row.trigger === "manual") return undefined;
    if (definition.whenBusy === "queue" && (waiting.get(row.hookId) ?? 0) >= definition.maxQueued)
      return { status: "skipped", by: "queue", reason: `${definition.maxQueued} wait already` };
    return deps.refusal(definition, row);
  }

  async function admit(row: AutomationRun): Promise<Admission & { refusal: RunOutcome | undefined }> {
    const refusal = await refusalOf(row);
    if (refusal !== undefined) {
      const closed = closeRow(row, refusal, clock.now());
      return { run: closed, refusal, stored: () => deps.ended(closed, refusal) };
    }
    return {
      run: row,
      refusal,
      stored() {
        count(row.hookId, 1);
        wake();
      },
    };
  }

  /** Resolves with why it is not to be run, when that is so. */
  async function add(row: AutomationRun): Promise<string | undefined> {
    const { run, refusal, stored } = await admit(row);
    if (refusal === undefined) {
      count(row.hookId, 1);
      if (!(await insert(row))) count(row.hookId, -1);
      wake();
      return undefined;
    }
    if (!(await runs.insert(run))) return undefined; // it was recorded before, and is what it became
    stored();
    return reasonOf(refusal);
  }

  async function insert(row: AutomationRun): Promise<boolean> {
    try {
      return await runs.insert(row);
    } catch (error) {
      count(row.hookId, -1);
      throw error;
    }
  }

  return {
    leases,
    stopping: stop.signal,
    wake,
    admit,
    connect: (given) => {
      deps = given;
    },
    serve: (given) => {
      runner = given;
    },
    record: (run: BackgroundRun) => add(rowOf(run, deps.definition(run.hookId), clock.now())),
    refuse(run, { by, reason, isStored, isFailure }) {
      const definition = deps.definition(run.hookId);
      if (definition === undefined && !isStored) return; // a run of a plugin's hook, which has no history here
      const refusal: RunOutcome =
        isFailure === true
          ? { status: "failed", error: reason, isRetryable: false }
          : { status: "skipped", by, reason };
      const closed = closeRow(rowOf(run, definition, clock.now()), refusal, clock.now());
      runs.insert(closed).then(
        (isNew) => isNew && deps.ended(closed, refusal),
        (error: unknown) =>
          logger.error({ run: run.id, error: errorMessage(error) }, "a refusal could not be recorded"),
      );
    },
    paused: (hookId) => (deps.isPaused() && deps.definition(hookId) !== undefined ? PAUSED_REASON : undefined),
    async runNow(row, progress) {
      const ended = whenEnded(row.id);
      listeners.set(row.id, { progress, ended: listeners.get(row.id)?.ended ?? [] });
      await runs.insert(row);
      count(row.hookId, 1);
      const taken = isStarted ? await runs.takeOne(row.id, owner, clock.now(), options.leaseMs) : undefined;
      // A poll just now may have taken it first: it runs all the same.
      if (taken !== undefined) startRun(taken);
      return ended;
    },
    async start() {
      // One process at a time has this database open: earlier holders of leases are gone.
      await runs.expireOthers(owner, clock.now());
      waiting = await runs.waiting();
      unfinished = await runs.unfinished();
      isStarted = true;
      leases.start();
      wake();
    },
    async stop(graceMs) {
      isStarted = false;
      const idle = async () => {
        await work.stop();
        while (active.size > 0) await Promise.all([...active.keys()].map(whenEnded));
      };
      const ended = idle();
      let timer = clock.after(graceMs, () => stop.abort(new Error("the gateway stopped")));
      await Promise.race([
        ended,
        new Promise<void>((resolve) => stop.signal.addEventListener("abort", () => resolve())),
      ]);
      timer.cancel();
      // What does not hear that it is to stop keeps its lease, and the next start ends it.
      if (active.size > 0)
        await Promise.race([
          ended,
          new Promise<void>((resolve) => {
            timer = clock.after(STOP_MS, resolve);
          }),
        ]);
      timer.cancel();
      stop.abort(new Error("the gateway stopped"));
      leases.stop();
    },
    claim(recordId, run) {
      const claim = active.get(recordId);
      if (claim === undefined) return undefined;
      claim.work = run(claim);
      return claim.work;
    },
    get active() {
      return active.size;
    },
    get waiting() {
      return waiting;
    },
  };

  function whenEnded(id: string): Promise<RunOutcome> {
    return new Promise((resolve) => {
      const known = listeners.get(id) ?? { ended: [] };
      known.ended.push(resolve);
      listeners.set(id, known);
    });
  }
}

/** For what is under way to end after it was told to. */
const STOP_MS = 3_000;

/** A plugin's background hook. */
function outcomeOf(end: BackgroundEnd, now: number): RunOutcome {
  switch (end.kind) {
    case "done":
      return { status: "succeeded", decision: { kind: "pass" } };
    case "gone":
      return { status: "skipped", by: "gone", reason: "its hook is switched off or not there any more" };
    case "failed":
      if (end.retryInMs !== undefined) return { status: "queued", dueAt: now + end.retryInMs, reason: end.error };
      return { status: "failed", error: end.error, isRetryable: false };
  }
}
