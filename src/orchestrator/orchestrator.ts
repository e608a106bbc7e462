/**
 * Tasks, from being asked for to being done. Everything is rows: `dispatch` looks at what is due, `step` brings one on, `transition`
 * is the only way to another state, `tell` has everybody told. A stop lets runs end; a start ends what a crash cut off, and says so.
 */

import {
  type Actor,
  isEnded,
  TASK_STATUSES,
  type Task,
  type TaskOrigin,
  type TaskSpecInput,
  type TaskStatus,
} from "../domain/task.js";
import type { TaskEvent, TaskStore } from "../domain/task-store.js";
import type { Timer } from "../lib/clock.js";
import { errorMessage } from "../lib/errors.js";
import { within } from "../lib/within.js";
import { createArrivals } from "./arrivals.js";
import { type Asked, createAsked } from "./asked.js";
import { roleToHear } from "./assignee.js";
import { createCounts } from "./counts.js";
import type { OrchestratorDeps } from "./deps.js";
import { createDispatch } from "./dispatch.js";
import { createRooms } from "./rooms.js";
import type { Progress } from "./runners/runner.js";
import { createRunning } from "./running.js";
import { createShow } from "./show.js";
import { createTask } from "./tasks/create.js";
import { createFinish, type Finish } from "./tasks/finish.js";
import { afterChange, handleChanges, TASK_KINDS } from "./tasks/notify-change.js";
import { createRunEnds } from "./tasks/run-ends.js";
import { step } from "./tasks/step.js";
import { createTransitions, type Transitions } from "./tasks/transition.js";

export interface OrchestratorStatus {
  counts: Readonly<Record<TaskStatus, number>>;
  running: number;
  /** A hook at orchestrator:tick keeps everything from starting. */
  held?: { by: string; reason: string };
}

export interface Orchestrator extends Transitions, Pick<Finish, "handIn" | "fail">, Asked {
  /** Throws TASK_INVALID, TASK_ASSIGNEE, TASK_VETOED. A task of the origin's id is given back as it is. */
  create(input: TaskSpecInput, actor: Actor, origin?: TaskOrigin): Promise<Task>;
  readonly store: Pick<TaskStore, "get" | "list" | "events" | "counts">;
  progressOf(taskId: string): Progress | undefined;
  status(): OrchestratorStatus;
  /** Other settings apply from now on: there may be room, or an assignee again for what waits. */
  reconfigured(): void;
  start(): Promise<void>;
  /** Fires orchestrator:shutdown, lets runs end, ends those that do not, and has everybody told of it. */
  stop(): Promise<void>;
  /** Everybody was told of what was written so far, by others after the stop, too. */
  drained(): Promise<void>;
  /** Deletes what is over for long; resolves with how many. */
  sweep(): Promise<number>;
}

/** How many are searched for those without an assignee; more than that wait for people. */
/** At a stop whose time is used up. */
const LAST_WORDS_MS = 1_000;
const MAX_BLOCKED = 10_000;
const PAGE = 500;

export function createOrchestrator(deps: OrchestratorDeps): Orchestrator {
  const { config, store, registry, chat, clock, logger, owner } = deps;
  const stopping = new AbortController();
  const counts = createCounts(Object.fromEntries(TASK_STATUSES.map((one) => [one, 0])) as Record<TaskStatus, number>);
  let phase: "new" | "running" | "stopping" = "new";
  let held: OrchestratorStatus["held"];
  let ticking: Timer | undefined;

  const running = createRunning({
    store,
    config,
    progressed: (taskId) => show.progressed(taskId),
    mask: deps.mask,
    clock,
    logger,
  });
  const show = createShow({
    store,
    chat,
    progressOf: running.progressOf,
    roleToHear: (task) => roleToHear(task, config()),
    readerRole: (at) => deps.readerRole?.(at) ?? "operator",
    nameOf: (ref) => deps.nameOf?.(ref) ?? ref,
    clock,
    logger,
  });
  const { pending } = deps;
  handleChanges({
    pending,
    registry,
    attempts: deps.attempts,
    entityChanged: deps.entityChanged,
    taskChanged: deps.taskChanged,
    get: store.get,
    wake,
    show: show.show,
    logger,
  });
  const transitions = createTransitions({ store, registry, attempts: deps.attempts, committed, clock });
  const arrivals = createArrivals({
    store,
    amend: transitions.amend,
    chat,
    nameOf: (ref) => deps.nameOf?.(ref) ?? ref,
    logger,
  });
  const finish = createFinish(transitions, config, clock);
  const runEnds = createRunEnds({ keyValue: deps.keyValue, get: store.get, finish });
  const rooms = createRooms(config, () => dispatch.wake());
  const stepParts = { ...deps, transitions, finish, runEnds, rooms, running, stopping: stopping.signal };
  const dispatch = createDispatch({
    store,
    step: (task) => step(task, stepParts),
    roomFor: rooms.left,
    mayStart: () => phase === "running" && held === undefined,
    clock,
    logger,
  });

  function committed(event: TaskEvent, task: Task, before: Task | undefined): void {
    counts.moved(before?.status, task.status);
    running.committed(task);
    arrivals.watch(task);
    pending.added(afterChange(event, task));
    if (phase === "running") dispatch.wake();
  }

  /** What waits for a task is due when that is over, or goes on again. */
  async function wake({ id, status }: Task): Promise<void> {
    if (!isEnded(status) && status !== "pending") return;
    for (const waiting of await store.dependents(id)) await store.setDue(waiting, clock.now());
    if (phase === "running") dispatch.wake();
  }

  /** Its `before` may keep everything from starting until the next one. */
  function tick(): void {
    const summary = counts.summary();
    try {
      const answer = registry.runBeforeSync("orchestrator:tick", summary);
      held = answer.cancelled
        ? { by: answer.cancelledBy ?? "a hook", reason: answer.cancelReason ?? "no reason given" }
        : undefined;
    } catch (error) {
      held = { by: "hookgate", reason: errorMessage(error) };
    }
    void registry.runAfter("orchestrator:tick", summary);
    show.passTime();
    arrivals.check();
    dispatch.wake();
    ticking = clock.after(config().tick, tick);
  }

  /** Runs whose gateway is gone: those that had ended, then those that were cut off. */
  async function recover(): Promise<void> {
    await runEnds.recover();
    for (const task of await store.stale(owner))
      await finish.interrupted(task, {
        actor: { by: "orchestrator" },
        crashes: 1,
        why: "the gateway ended while it ran",
      });
  }

  async function watchOpen(): Promise<void> {
    for (let last = ""; ; ) {
      const page = await store.open(last, PAGE);
      for (const task of page) {
        show.watch(task);
        arrivals.watch(task);
      }
      last = page.at(-1)?.id ?? last;
      if (page.length < PAGE) return;
    }
  }

  /** Tasks whose assignee was missing. */
  async function wakeUnassigned(): Promise<void> {
    const blocked = await store.list({ status: ["blocked"], limit: MAX_BLOCKED });
    for (const { id, hold } of blocked) if (hold?.kind === "assignee") await store.setDue(id, clock.now());
    if (phase === "running") dispatch.wake();
  }

  return {
    ...transitions,
    ...finish,
    ...createAsked({ ...deps, transitions, finish }),
    store,
    create: (input, actor, origin = {}) =>
      createTask(input, actor, origin, { config, store, registry, attempts: deps.attempts, committed, clock }),
    progressOf: running.progressOf,
    status: () => ({ counts: counts.all, running: running.size, held }),
    reconfigured() {
      if (phase !== "running") return;
      dispatch.wake();
      wakeUnassigned().catch((error: unknown) =>
        logger.error({ error: errorMessage(error) }, "tasks without anybody to do them could not be tried again"),
      );
    },
    async start() {
      counts.load(await store.counts());
      running.start();
      // What an earlier process left before what is new.
      await pending.resume(TASK_KINDS);
      // Before anything starts.
      await recover();
      await wakeUnassigned();
      await watchOpen();
      phase = "running";
      tick();
    },
    async stop() {
      if (phase !== "running") return;
      const stopBy = clock.monotonic() + config().shutdown_timeout;
      // One time limit for all; what was ended has a moment to be reported.
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
      phase = "stopping";
      ticking?.cancel();
      stopping.abort(new Error("the gateway stopped"));
      await Promise.all([within(clock, leftMs(), dispatch.stop()), running.stop(leftMs())]);
      // A hook that does not end does not hold up the stop: the next start does what is left.
      await within(clock, leftMs(), pending.drained(TASK_KINDS));
      show.stop();
      await within(clock, leftMs(), registry.runAfter("orchestrator:shutdown", {}));
    },
    drained: () => pending.drained(TASK_KINDS),
    sweep: () => store.sweep(clock.now() - config().keep),
  };
}
