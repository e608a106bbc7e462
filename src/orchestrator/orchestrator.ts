/**
 * Tasks, from being asked for to being done. Everything is rows: `dispatch` looks at what is due, `step` brings one on, `transition` is the
 * only way to another state, `tasks/notify-change.ts` notifies all. A stop lets runs end; a start ends and reports cut-off runs.
 */

import {
  type Actor,
  isEnded,
  TASK_STATUSES,
  type Task,
  type TaskOrigin,
  type TaskSpecInput,
  type TaskStatus,
} from "../domain/orchestrator/task.js";
import type { TaskEvent, TaskStore } from "../domain/orchestrator/task-store.js";
import { within } from "../lib/concurrency/within.js";
import { errorMessage } from "../lib/errors.js";
import type { Timer } from "../lib/time/clock.js";
import { type Arrivals, createArrivals } from "./arrivals.js";
import { type Asked, createAsked } from "./asked.js";
import { roleToHear } from "./assignee.js";
import { type Counts, createCounts } from "./counts.js";
import type { OrchestratorDeps } from "./deps.js";
import { createDispatch, type Dispatch } from "./dispatch.js";
import { createRooms, type Rooms } from "./rooms.js";
import type { Progress } from "./runners/runner.js";
import { createRunning, type Running } from "./running.js";
import { createShow, type Show } from "./show.js";
import { createTask } from "./tasks/create.js";
import { createFinish, type Finish } from "./tasks/finish.js";
import { afterChange, handleChanges, TASK_KINDS } from "./tasks/notify-change.js";
import { createRunEnds, type RunEnds } from "./tasks/run-ends.js";
import { step } from "./tasks/step.js";
import { createTransitions, type Transitioned, type Transitions } from "./tasks/transition.js";

export interface OrchestratorStatus {
  counts: Readonly<Record<TaskStatus, number>>;
  running: number;
  /** A hook at orchestrator:tick keeps everything from starting. */
  held?: { by: string; reason: string };
}

type Requests = Transitions & Finish & Asked;

export interface Orchestrator extends Transitions, Pick<Finish, "handIn" | "fail">, Asked {
  /** Throws TASK_INVALID, TASK_ASSIGNEE, TASK_VETOED. An existing task with the origin's id is returned as it is. */
  create(input: TaskSpecInput, actor: Actor, origin?: TaskOrigin): Promise<Task>;
  readonly store: Pick<TaskStore, "get" | "list" | "events" | "counts">;
  progressOf(taskId: string): Progress | undefined;
  status(): OrchestratorStatus;
  /** Other settings apply from now on: there may be room, or an assignee again, for tasks that wait. */
  reconfigured(): void;
  start(): Promise<void>;
  /** The gateway is stopping: nothing is started any more, and work that is being judged is judged again after the next start. */
  stopping(): void;
  /** Fires orchestrator:shutdown, lets runs end, ends those that do not, and notifies all observers. */
  stop(): Promise<void>;
  /** Resolves when all observers were notified of all changes so far, also of those that others wrote after the stop. */
  drained(): Promise<void>;
  /** Deletes tasks that have ended for long; resolves with how many. */
  sweep(): Promise<number>;
}

/** The time to report ends at a stop whose time is used up. */
const LAST_WORDS_MS = 1_000;
/** How many blocked tasks are searched for tasks without an assignee; more than that wait for people. */
const MAX_BLOCKED = 10_000;
const PAGE = 500;

export function createOrchestrator(deps: OrchestratorDeps): Orchestrator {
  const orchestrator = new TaskOrchestrator(deps);
  return Object.assign(orchestrator, orchestrator.requests);
}

class TaskOrchestrator implements Omit<Orchestrator, keyof Requests> {
  readonly #deps: OrchestratorDeps;
  readonly store: TaskStore;
  /** Requests have no state of their own: `createOrchestrator` makes them members of this class. */
  readonly requests: Requests;
  readonly #counts: Counts = createCounts(
    Object.fromEntries(TASK_STATUSES.map((one) => [one, 0])) as Record<TaskStatus, number>,
  );
  readonly #running: Running;
  readonly #show: Show;
  readonly #arrivals: Arrivals;
  readonly #runEnds: RunEnds;
  readonly #rooms: Rooms;
  readonly #dispatch: Dispatch;
  readonly #stopping = new AbortController();
  #phase: "new" | "running" | "stopping" = "new";
  #held: OrchestratorStatus["held"];
  #ticking: Timer | undefined;

  readonly #committed = (event: TaskEvent, task: Task, before: Task | undefined): void => {
    this.#counts.moved(before?.status, task.status);
    this.#running.committed(task);
    this.#arrivals.watch(task);
    this.#deps.pending.added(afterChange(event, task));
    this.#wakeDispatch();
  };

  constructor(deps: OrchestratorDeps) {
    const { config, store, registry, attempts, keyValue, pending, chat, clock, logger } = deps;
    const nameOf = (ref: string) => deps.nameOf?.(ref) ?? ref;
    const nameOfPerson = async (ref: string) => deps.nameOf?.(ref) ?? (await deps.commandName?.(ref)) ?? ref;
    this.#deps = deps;
    this.store = store;
    this.#running = createRunning({
      store,
      config,
      progressed: (taskId) => this.#show.progressed(taskId),
      mask: deps.mask,
      clock,
      logger,
    });
    this.#show = createShow({
      store,
      chat,
      progressOf: (taskId) => this.progressOf(taskId),
      roleToHear: (task) => roleToHear(task, config()),
      readerRole: (at) => deps.readerRole?.(at) ?? "operator",
      nameOf,
      nameOfPerson,
      clock,
      logger,
    });
    const get = (id: string) => store.get(id);
    handleChanges({
      pending,
      registry,
      attempts,
      entityChanged: deps.entityChanged,
      taskChanged: deps.taskChanged,
      get,
      wake: (task) => this.#wakeDependents(task),
      show: (task) => this.#show.show(task),
      logger,
    });
    const transitions = createTransitions({ store, registry, attempts, committed: this.#committed, clock });
    const finish = createFinish({ transitions, config, clock });
    this.requests = { ...transitions, ...finish, ...createAsked({ ...deps, transitions, finish }) };
    this.#arrivals = createArrivals({ store, amend: transitions.amend, chat, nameOfPerson, logger });
    this.#runEnds = createRunEnds({ keyValue, finish });
    this.#rooms = createRooms(config, () => this.#wakeDispatch());
    const stepDeps = {
      ...deps,
      transitions,
      finish,
      runEnds: this.#runEnds,
      rooms: this.#rooms,
      running: this.#running,
      stopping: this.#stopping.signal,
    };
    this.#dispatch = createDispatch({
      store,
      step: (task) => step(task, stepDeps),
      roomFor: this.#rooms.left,
      mayStart: () => this.#phase === "running" && this.#held === undefined && !this.#stopping.signal.aborted,
      clock,
      logger,
    });
  }

  create(input: TaskSpecInput, actor: Actor, origin: TaskOrigin = {}): Promise<Task> {
    return createTask(input, actor, origin, { ...this.#deps, committed: this.#committed });
  }

  progressOf(taskId: string): Progress | undefined {
    return this.#running.progressOf(taskId);
  }

  status(): OrchestratorStatus {
    return { counts: this.#counts.all, running: this.#running.size, held: this.#held };
  }

  reconfigured(): void {
    if (this.#phase !== "running") return;
    this.#dispatch.wake();
    this.#wakeUnassigned().catch((error: unknown) =>
      this.#deps.logger.error(
        { error: errorMessage(error) },
        "tasks without anybody to do them could not be tried again",
      ),
    );
  }

  async start(): Promise<void> {
    this.#counts.load(await this.store.counts());
    this.#running.start();
    // Work that an earlier process left comes before new work.
    await this.#deps.pending.resume(TASK_KINDS);
    // Before anything starts.
    await this.#recover();
    await this.#wakeUnassigned();
    await this.#watchOpen();
    this.#phase = "running";
    this.#tick();
  }

  stopping(): void {
    this.#stopping.abort(new Error("the gateway stopped"));
  }

  async stop(): Promise<void> {
    if (this.#phase !== "running") return;
    const { config, registry, pending, clock, logger } = this.#deps;
    const stopBy = clock.monotonic() + config().shutdown_timeout;
    // One time limit for all; the end of a run that is ended has a moment to be reported.
    const leftMs = () => Math.max(LAST_WORDS_MS, stopBy - clock.monotonic());
    const before = registry
      .runBefore("orchestrator:shutdown", {})
      .catch((error: unknown) =>
        logger.warn(
          { error: errorMessage(error) },
          "a hook at orchestrator:shutdown failed; the gateway stops all the same",
        ),
      );
    if (!(await within(clock, leftMs(), before)))
      logger.warn(
        {},
        "The hooks at orchestrator:shutdown take longer than orchestrator.shutdown_timeout: the stop goes on.",
      );
    this.#phase = "stopping";
    this.#ticking?.cancel();
    this.stopping();
    await Promise.all([within(clock, leftMs(), this.#dispatch.stop()), this.#running.stop(leftMs())]);
    // A hook that does not end does not hold up the stop: the next start does the rest.
    await within(clock, leftMs(), pending.drained(TASK_KINDS));
    this.#show.stop();
    await within(clock, leftMs(), registry.runAfter("orchestrator:shutdown", {}));
  }

  drained(): Promise<void> {
    return this.#deps.pending.drained(TASK_KINDS);
  }

  sweep(): Promise<number> {
    const { clock, config } = this.#deps;
    return this.store.sweep(clock.now() - config().keep);
  }

  #wakeDispatch(): void {
    if (this.#phase === "running") this.#dispatch.wake();
  }

  /** Tasks that wait for this task are due when it has ended, or goes on again. */
  async #wakeDependents({ id, status }: Task): Promise<void> {
    if (!isEnded(status) && status !== "pending") return;
    for (const waiting of await this.store.dependents(id)) await this.store.setDue(waiting, this.#deps.clock.now());
    this.#wakeDispatch();
  }

  /** Hooks before the tick may keep everything from starting until the next tick. */
  #tick(): void {
    const { registry, clock, config } = this.#deps;
    const summary = this.#counts.summary();
    try {
      const answer = registry.runBeforeSync("orchestrator:tick", summary);
      this.#held = answer.cancelled
        ? { by: answer.cancelledBy ?? "a hook", reason: answer.cancelReason ?? "no reason given" }
        : undefined;
    } catch (error) {
      this.#held = { by: "hookgate", reason: errorMessage(error) };
    }
    void registry.runAfter("orchestrator:tick", summary);
    this.#show.passTime();
    this.#arrivals.check();
    this.#dispatch.wake();
    this.#ticking = clock.after(config().tick, () => this.#tick());
  }

  /**
   * Runs whose gateway is gone: those that had ended, and those that were cut off. No other task waits for the hooks that are asked about
   * them.
   */
  async #recover(): Promise<void> {
    const tasks = await this.store.stale(this.#deps.owner);
    const ends = await this.#runEnds.left(tasks);
    for (const task of tasks) {
      const end = ends.get(task.id);
      const runId = task.run?.id ?? "";
      this.#running.startRun({
        task,
        runId,
        runner: async () => end?.ending ?? { how: "interrupted", result: { ok: false, output: "" } },
        timeoutMs: this.#deps.config().max_duration,
        ended: async (ending) => {
          if (end !== undefined) await this.#runEnds.conclude(task, runId, ending, end.durationMs);
          else await this.#cutOff(task);
        },
        // The run starts again before tasks that wait for room.
        over: this.#rooms.take(task.assignTo) ?? (() => {}),
      });
    }
  }

  #cutOff(task: Task): Promise<Transitioned> {
    return this.requests.interrupted(task, {
      actor: { by: "orchestrator" },
      crashes: this.#deps.stops?.wasLast ? 0 : 1,
      why: "the gateway ended while it ran",
    });
  }

  async #watchOpen(): Promise<void> {
    for (let last = ""; ; ) {
      const page = await this.store.open(last, PAGE);
      for (const task of page) {
        this.#show.watch(task);
        this.#arrivals.watch(task);
      }
      last = page.at(-1)?.id ?? last;
      if (page.length < PAGE) return;
    }
  }

  /** Tasks whose assignee was missing. */
  async #wakeUnassigned(): Promise<void> {
    const blocked = await this.store.list({ status: ["blocked"], limit: MAX_BLOCKED });
    const now = this.#deps.clock.now();
    for (const { id, hold } of blocked) if (hold?.kind === "assignee") await this.store.setDue(id, now);
    this.#wakeDispatch();
  }
}
