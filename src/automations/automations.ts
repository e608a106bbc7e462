/** Configured hooks as a whole: loaded, registered, started, fired by hand, reloaded, stopped. The pipeline itself is run.ts. */

import { type AutomationRun, type AutomationStore, PAUSED_REASON } from "../domain/automation.js";
import { parseSkipReason } from "../domain/skip-reason.js";
import type { KeyValueStore } from "../domain/store.js";
import type { HookRegistry } from "../hooks/registry.js";
import { HookRun } from "../hooks/run.js";
import { joinSignals } from "../lib/concurrency/signals.js";
import { within } from "../lib/concurrency/within.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import { formatDuration } from "../lib/time/duration.js";
import { nearest } from "../lib/validation/nearest.js";
import type { Pending } from "../pending/pending.js";
import type { AutomationsConfig } from "./config.js";
import type { Definition } from "./definition/definition.js";
import { type BrokenHook, type LoadedHooks, sourceText } from "./definition/load.js";
import type { AutomationDesk, HandFiring } from "./desk.js";
import { draftDue, dueOf } from "./draft.js";
import { fireByHand } from "./fire-by-hand.js";
import type { OpenBreaker } from "./gates/breaker.js";
import { Gates } from "./gates.js";
import type { Decision } from "./handler.js";
import { type Installed, install, type Live } from "./install.js";
import { createLoopReport, type LoopReport } from "./loop-report.js";
import type { Notifier } from "./notify.js";
import { createPause, type Pause } from "./pause.js";
import { fullFor } from "./queue/line.js";
import { closeRow } from "./queue/settle.js";
import type { Queue, QueueDeps } from "./queue.js";
import type { Firing, Runner } from "./register.js";
import { ownCause } from "./run/context-of.js";
import type { RunDeps } from "./run/deps.js";
import { cutLoop } from "./run/loop.js";
import { mayRunTwice, runsAgain } from "./run/open-run.js";
import { type RunOutcome, reasonOf } from "./run/outcome.js";
import { lastStartedAt, runAutomation } from "./run.js";
import type { Reach } from "./run-context.js";
import { eventName } from "./triggers/event-point.js";
import { onceReason } from "./triggers/schedule.js";
import type { DueStart, NextFire, TriggerDeps, TriggerProblem, Triggers } from "./triggers/trigger.js";

export interface AutomationsOptions {
  /** The current settings: a reload changes them. */
  config(): AutomationsConfig;
  registry: HookRegistry;
  store: AutomationStore;
  keyValue: KeyValueStore;
  pending: Pending;
  /** The queue is also the registry's background port. */
  queue: Queue;
  notifier: Notifier;
  triggers(deps: TriggerDeps): Triggers;
  reachOf(definition: Definition): Reach;
  /** Masks the secrets of the configuration. */
  mask(text: string): string;
  /** A plugin of the configuration is not in force, and its id is not known. */
  isPluginBroken(): boolean;
  /** Switches a hook off for good, as an operator would. */
  switchOff(hookId: string, by: string): Promise<void>;
  clock: Clock;
  logger: Logger;
}

export interface Reloaded {
  hooks: number;
  added: string[];
  changed: string[];
  removed: string[];
  broken: BrokenHook[];
}

export interface Automations extends AutomationDesk {
  /** Registers the hooks. Broken hooks are listed; a critical broken hook rejects with HOOK_CRITICAL. */
  load(hooks: LoadedHooks): Promise<void>;
  /** From now on stored runs are run and triggers fire. */
  start(): Promise<void>;
  /**
   * Puts the hooks in place of those at work, in one go. Broken hooks are listed and stop no other. Throws HOOK_CRITICAL, as a start
   * does, when a critical hook is broken: the caller then takes the registry back to the mark that it set before.
   */
  swap(hooks: LoadedHooks): Installed;
  /** The latest hooks as they were read, checked against the current points; undefined before hooks are loaded. */
  recheck(): LoadedHooks | undefined;
  /** Completes a swap that stays: syncs the triggers and fires `config.reloaded`. */
  settle(swapped: Installed, file: string | undefined): Promise<Reloaded>;
  /** Events were stored; a hook was switched on. */
  readonly triggers: Pick<Triggers, "ingested" | "wake">;
  /** How many events of this name were not fired yet, or have a run that waits: of the hook with most of them. */
  waitingEvents(name: string): number;
  /** For hooks of plugins, which run without gates. */
  readonly pluginBreaker: {
    isWatched(hookId: string): boolean;
    enter(hookId: string): string | undefined;
    close(hookId: string): void;
    /** A timeout on the input of a stranger opens no breaker. */
    timedOut(hookId: string, isOfStranger: boolean): void;
    /** Why the hook is not called now, for people. Unlike `enter` it starts no trial. */
    refusal(hookId: string): string | undefined;
  };
  /** A hook's module ended the process, which counts as a failure of it. Throws when that cannot be written. */
  endedProcess(hookId: string): void;
  sweep(now: number): Promise<number>;
  stop(graceMs: number): Promise<void>;
}

/** Ids of events that were handled are kept this long, so that a replay is known. */
const EVENTS_KEPT_MS = 172_800_000;

const MAX_SKIPPED_READ = 20;

export function createAutomations(options: AutomationsOptions): Automations {
  return new ConfiguredHooks(options);
}

class ConfiguredHooks implements Automations {
  readonly #options: AutomationsOptions;
  #live: ReadonlyMap<string, Live> = new Map();
  #broken: BrokenHook[] = [];
  #latest: LoadedHooks | undefined;
  #isStarted = false;
  readonly #pause: Pause;
  readonly #gates: Gates;
  readonly #loops: LoopReport;
  readonly #deps: RunDeps;
  readonly #triggers: Triggers;
  readonly runs: AutomationDesk["runs"];
  readonly pluginBreaker: Automations["pluginBreaker"];

  constructor(options: AutomationsOptions) {
    const { store, queue, keyValue, notifier, mask, clock, logger } = options;
    this.#options = options;
    this.#pause = createPause(keyValue, clock);
    this.#gates = this.#openGates();
    this.#loops = createLoopReport({ keyValue, notifier, mask, clock, logger });
    this.#deps = this.#runDeps();
    this.#triggers = options.triggers(this.#triggerDeps());
    this.runs = historyOf(store.runs);
    this.pluginBreaker = pluginBreakerOf(this.#gates, clock);
    queue.connect(this.#queueDeps());
  }

  get triggers(): Triggers {
    return this.#triggers;
  }

  async load(hooks: LoadedHooks): Promise<void> {
    this.#put(this.#install(hooks), hooks);
    needCritical(this.#broken);
  }

  async start(): Promise<void> {
    await this.#pause.learn();
    await this.#gates.learn((hookId) => this.#live.has(hookId) || this.#broken.some(({ id }) => id === hookId));
    this.#isStarted = true;
    await this.#options.queue.start();
    await this.#sync();
  }

  swap(hooks: LoadedHooks): Installed {
    const installed = this.#install(hooks);
    needCritical(installed.broken);
    this.#put(installed, hooks);
    return installed;
  }

  recheck(): LoadedHooks | undefined {
    return this.#latest?.recheck?.();
  }

  async settle({ added, changed, removed }: Installed, file: string | undefined): Promise<Reloaded> {
    const { queue, registry, logger } = this.#options;
    this.#gates.admit();
    // A removed hook is not stopped any more: a hook that comes back under its name starts with a closed breaker.
    for (const id of removed) void this.#gates.breakers.close(id);
    queue.wake();
    if (this.#isStarted) await this.#sync();
    const reloaded = { hooks: this.#live.size, added, changed, removed };
    logger.info({ file, ...reloaded }, "hooks reloaded");
    await registry
      .fireVoid("config.reloaded", { file, ...reloaded })
      .catch((error: unknown) => logger.warn({ error: errorMessage(error) }, "config.reloaded failed"));
    return { ...reloaded, broken: this.#broken };
  }

  get(hookId: string): Definition | undefined {
    return this.#live.get(hookId)?.definition;
  }

  list(): readonly Definition[] {
    return [...this.#live.values()].map(({ definition }) => definition);
  }

  broken(): readonly BrokenHook[] {
    return this.#broken;
  }

  problems(): readonly TriggerProblem[] {
    return this.#triggers.problems();
  }

  waitingRuns(): ReadonlyMap<string, number> {
    return this.#options.queue.waiting;
  }

  runsAgain({ hookId, ...run }: AutomationRun): boolean {
    const { registry } = this.#options;
    const definition = registry.get(hookId)?.enabled === true ? this.get(hookId) : undefined;
    return definition !== undefined && runsAgain(run, registry.point(definition.point), definition);
  }

  isAwaited(hookId: string): boolean {
    const { registry, isPluginBroken } = this.#options;
    return registry.get(hookId) === undefined && (isPluginBroken() || this.#mayBeBroken(hookId));
  }

  waitingEvents(name: string): number {
    const { queue, registry } = this.#options;
    const runs = [...queue.waiting].map(([id, count]) => (registry.get(id)?.hook === eventName(name) ? count : 0));
    return this.#triggers.waitingEvents(name) + Math.max(0, ...runs);
  }

  async fire(firing: HandFiring): Promise<AutomationRun> {
    const { registry, queue, clock } = this.#options;
    const parts = { registry, queue, gates: this.#gates, deps: this.#deps, clock };
    return shown(await fireByHand(this.#need(firing.hookId), firing, parts));
  }

  async gate(hookId: string): ReturnType<AutomationDesk["gate"]> {
    const { full, waiting } = this.#options.queue;
    const definition = this.get(hookId);
    if (definition === undefined) return full && { ...full, waits: true };
    const isFired = definition.trigger.kind === "manual";
    const reason = isFired ? undefined : fullFor(definition, waiting.get(hookId) ?? 0);
    return reason === undefined ? this.#gates.refusalNow(definition, full) : { gate: "queue", reason, waits: false };
  }

  noPlace(): string | undefined {
    return this.#options.queue.full?.reason;
  }

  async heldUp(): Promise<string | undefined> {
    return (await this.#options.queue.heldUp())?.reason;
  }

  next(): readonly NextFire[] {
    return this.#triggers.next();
  }

  breakers(): readonly OpenBreaker[] {
    // Breakers of removed plugins are not shown, and a disabled hook has no next run.
    return this.#gates.breakers.open().filter(({ hookId }) => this.#options.registry.get(hookId)?.enabled === true);
  }

  closeBreaker(hookId: string): Promise<boolean> {
    return this.#gates.breakers.close(hookId);
  }

  endedProcess(hookId: string): void {
    const definition = this.get(hookId);
    if (definition !== undefined) this.#gates.breakers.endedProcess(definition, this.#options.clock.now());
  }

  releaseFiles(hookId: string): Promise<boolean> {
    return this.#triggers.release(hookId);
  }

  paused(): { by: string; at: number } | undefined {
    return this.#pause.paused;
  }

  pause(by: string): Promise<void> {
    return this.#pause.set(by);
  }

  async resume(): Promise<void> {
    await this.#pause.clear();
    this.#options.queue.wake();
  }

  async sweep(now: number): Promise<number> {
    const { store, config, queue } = this.#options;
    const removed = await store.runs.sweep(now, (hookId) => {
      const own = this.get(hookId)?.keep;
      const { max_age, max_runs } = config().keep;
      return { maxAgeMs: own?.maxAgeMs ?? max_age, maxRuns: own?.maxRuns ?? max_runs };
    });
    // Ends the runs that waited too long for their hook.
    queue.wake();
    return removed + (await store.ingest.sweep(now - EVENTS_KEPT_MS));
  }

  async stop(graceMs: number): Promise<void> {
    const { queue, clock } = this.#options;
    // A hook that a change or an event waits for may take longer: the next start calls it again.
    await Promise.all([within(clock, graceMs, this.#triggers.stop()), queue.stop(graceMs)]);
  }

  #install(hooks: LoadedHooks): Installed {
    return install(this.#options.registry, this.#live, hooks, (firing) => this.#run(firing));
  }

  #put(installed: Installed, hooks: LoadedHooks): void {
    this.#latest = hooks;
    this.#live = installed.live;
    this.#broken = installed.broken;
    for (const one of this.#broken)
      for (const problem of one.problems)
        this.#options.logger.error({ hook: one.id, path: problem.path }, `hook broken: ${problemText(problem)}`);
  }

  #sync(): Promise<void> {
    return this.#triggers.sync(
      this.list(),
      this.#broken.map(({ id }) => id),
    );
  }

  #need(id: string): Definition {
    const found = this.get(id);
    if (found !== undefined) return found;
    const lost = this.#broken.find((one) => one.id === id);
    if (lost !== undefined)
      throw new HookgateError({
        code: "HOOK_BROKEN",
        message: `The hook "${id}" is broken: ${lost.problems.map(problemText).join("; ")}`,
      });
    const near = nearest(id, this.#live.keys());
    throw new HookgateError({
      code: "HOOK_NOT_FOUND",
      message: `There is no configured hook "${id}"`,
      hint: near === undefined ? undefined : `Did you mean "${near}"?`,
    });
  }

  /** A run that a caller waits for ends with that caller; a stored one also when the gateway stops. */
  #run({ definition, point, payload, context, check }: Firing): ReturnType<Runner> {
    const { queue } = this.#options;
    const { signal, dispatchId, attempt, dryRun, recordId, cause } = context;
    const waits = (limit: string | undefined) => HookRun.waits(context, limit);
    const cutOff = () => this.#options.registry.cutOff(context.runId);
    const start = { definition, point, payload, dispatchId, attempt, dryRun, signal, cutOff, waits, check };
    if (recordId === undefined) {
      const { kind } = definition.trigger;
      const called = { ...start, id: context.runId, trigger: kind, reason: `${point.name} fired`, cause };
      return runAutomation(called, this.#deps);
    }
    const claimed = queue.claim(recordId, ({ row, progress }) => {
      const joined = joinSignals(signal, queue.stopping, progress?.signal);
      const { id, trigger, reason } = row;
      const stored = { ...start, signal: joined.signal, id, trigger, reason, cause: row.cause, stored: row, progress };
      return runAutomation(stored, this.#deps).finally(joined.release);
    });
    return (
      claimed ??
      Promise.reject(new HookgateError({ code: "HOOK_RUN_LOST", message: "its run is no longer in the queue" }))
    );
  }

  #completed({ id: hookId }: Definition, row: AutomationRun, outcome: RunOutcome): void {
    if (outcome.status === "queued") return;
    const { registry, logger } = this.#options;
    const reason = row.statusReason ?? reasonOf(outcome);
    const last = row.attempts.at(-1);
    const payload = {
      hookId,
      runId: row.id,
      outcome: outcome.status,
      reason,
      durationMs: last && (last.endedAt === undefined ? undefined : Math.max(0, last.endedAt - last.startedAt)),
    };
    registry
      .fireVoid("hook_run_completed", payload, undefined, { cause: ownCause(row.cause, row.id) })
      .catch((error: unknown) => logger.warn({ run: row.id, error: errorMessage(error) }, "hook_run_completed failed"));
  }

  #openGates(): Gates {
    const { config, store, keyValue, notifier, clock, logger } = this.#options;
    return new Gates({
      get maxRunning() {
        return config().max_running;
      },
      get breaker() {
        const { failures, pause: pauseMs } = config().breaker;
        return { failures, pauseMs };
      },
      runs: store.runs,
      keyValue,
      definition: (id) => this.get(id),
      clock,
      logger,
      // The error may quote texts for owners. The command shows it to those who may read it.
      onBreak: (id, pauseMs) =>
        void notifier.notifyAdmins(
          `breaker:${id}`,
          [
            `⛔ The hook **${id}** failed ${config().breaker.failures} times in a row and is not run for ${formatDuration(pauseMs)}.`,
            ...stepsAfterBreak(id, this.get(id)?.ownerOnly ?? false),
          ].join("\n"),
        ),
    });
  }

  #runDeps(): RunDeps {
    const { store, queue, reachOf, mask, notifier, switchOff, clock, logger } = this.#options;
    return {
      runs: store.runs,
      gates: this.#gates,
      leases: queue.leases,
      stopping: queue.stopping,
      clock,
      logger,
      reachOf,
      mask,
      isPaused: () => this.#pause.paused !== undefined,
      notify: notifier.outcome,
      async disable({ id }, reason) {
        await switchOff(id, "hookgate").catch((error: unknown) => {
          logger.error({ hook: id, error: errorMessage(error) }, "a hook could not be switched off");
        });
        await notifier.notifyAdmins(`disabled:${id}`, `⛔ The hook **${id}** was switched off: ${mask(reason)}`);
      },
      loopCut: this.#loops.cut,
      completed: (definition, row, outcome) => this.#completed(definition, row, outcome),
    };
  }

  #triggerDeps(): TriggerDeps {
    const { store, registry, keyValue, pending, queue, clock, logger } = this.#options;
    return {
      store,
      registry,
      keyValue,
      pending,
      admitDue: async (definition, start) =>
        queue.admit(draftDue(definition, start, await lastStartedAt(definition.id, store.runs), clock.now())),
      draftPaused: (definition, start) => this.#draftPaused(definition, start),
      async wasPaused({ id: hookId }, at) {
        const runs = await store.runs.list({ hookId, status: "skipped", limit: MAX_SKIPPED_READ });
        return runs.some(
          (one) => parseSkipReason(one.statusReason).by === "paused" && dueOf(one) === new Date(at).toISOString(),
        );
      },
      cooldownUntil: (definition) => this.#gates.cooldownUntil(definition),
      held: (definition, reason) => void this.#loops.held(definition, reason),
      isOff: (hookId) => this.#pause.paused !== undefined || registry.get(hookId)?.enabled !== true,
      clock,
      logger,
    };
  }

  /** The record of a time that passes in a pause; a repeating hook has one for all its times. */
  async #draftPaused(definition: Definition, start: DueStart): ReturnType<TriggerDeps["draftPaused"]> {
    const { store, registry, notifier, clock } = this.#options;
    const since = this.#pause.paused?.at;
    if (since === undefined || registry.get(definition.id)?.enabled !== true) return undefined;
    const isOnce = start.kind === "at";
    const [last] = await store.runs.list({ hookId: definition.id, status: "skipped", limit: 1 });
    if (!isOnce && last !== undefined && last.createdAt >= since && parseSkipReason(last.statusReason).by === "paused")
      return undefined;
    const reason = isOnce
      ? onceReason(start.dueAt)
      : `${PAUSED_REASON}; later times during this pause are skipped without a record`;
    const refusal: RunOutcome = { status: "skipped", by: "paused", reason };
    const row = draftDue(definition, start, await lastStartedAt(definition.id, store.runs), clock.now());
    const run = closeRow(row, refusal, clock.now());
    return { run, stored: () => void notifier.outcome(definition, run, refusal, row.pendingPayload) };
  }

  #queueDeps(): QueueDeps {
    const { config, registry, notifier } = this.#options;
    return {
      definition: (hookId) => this.get(hookId),
      isPaused: () => this.#pause.paused !== undefined,
      isAwaited: (hookId) => this.isAwaited(hookId),
      attemptsOf: (hookId) => this.get(hookId)?.retry?.attempts ?? registry.get(hookId)?.retry?.attempts,
      isUnread: (hookId) => this.#mayBeBroken(hookId),
      get keptMs() {
        return config().keep.max_age;
      },
      refusal: (definition, row) => this.#refusalOf(definition, row),
      runsAgain: (definition) => mayRunTwice(registry.point(definition.point), definition),
      ended: (row, outcome, payload) => {
        const definition = this.get(row.hookId);
        if (definition === undefined) return;
        if (outcome.status === "skipped" && outcome.by === "loop") void this.#loops.cut(definition, outcome.reason);
        if (outcome.status === "interrupted" || outcome.status === "failed") this.#completed(definition, row, outcome);
        void notifier.outcome(definition, row, outcome, payload);
      },
    };
  }

  /** The hook is broken, or may be in a file or an entry that cannot be read. */
  #mayBeBroken(hookId: string): boolean {
    return this.#broken.some(
      ({ id, isWholeFile, mayHideOthers }) => id === hookId || (isWholeFile ?? mayHideOthers) === true,
    );
  }

  async #refusalOf(definition: Definition, { cause }: AutomationRun): Promise<RunOutcome | undefined> {
    const { store, logger } = this.#options;
    const loop = await cutLoop(definition.id, cause, { runs: store.runs, logger });
    const refused = loop ?? (await this.#gates.lookAhead(definition));
    return refused && { status: "skipped", by: refused.gate, reason: refused.reason };
  }
}

function pluginBreakerOf({ breakers }: Gates, clock: Clock): Automations["pluginBreaker"] {
  return {
    isWatched: (id) => breakers.isWatched(id),
    enter(id) {
      const refusal = breakers.check({ id }, false, clock.now());
      if (refusal === undefined) breakers.started(id);
      return refusal?.reason;
    },
    close: (id) => void breakers.close(id),
    timedOut: (id, isOfStranger) =>
      void (isOfStranger
        ? breakers.note({ id }, undefined, clock.now())
        : breakers.failed({ id }, "It gave no answer before its deadline.", clock.now())),
    refusal: (id) => breakers.explain({ id }, clock.now()),
  };
}

/** Admins read the text, too: of a hook that runs a program, it names the steps that only an owner may take, and those of an admin. */
function stepsAfterBreak(id: string, ownerOnly: boolean): string[] {
  const [error, enable] = [`\`/runs ${id}\` shows the error`, `\`/hooks enable ${id}\` runs it again at once`];
  return ownerOnly
    ? [
        `For owners: ${error}, ${enable}.`,
        `For admins: \`/hooks disable ${id}\` switches it off; only an owner can enable it again.`,
      ]
    : [`${error}.`, `${enable}.`];
}

/** Throws HOOK_CRITICAL when one of them is critical. */
function needCritical(broken: readonly BrokenHook[]): void {
  const critical = broken.filter((one) => one.critical);
  if (critical.length === 0) return;
  throw new HookgateError({
    code: "HOOK_CRITICAL",
    message: critical
      .flatMap(({ id, problems }) =>
        problems.map((problem) => `The critical hook ${id} is broken: ${problemText(problem)}`),
      )
      .join("\n"),
    hint: "Repair it, or set `critical: false` for it.",
  });
}

function problemText({
  path,
  message,
  ...place
}: {
  path: string;
  message: string;
  file: string;
  line?: number;
}): string {
  return `${sourceText(place)}${path === "" ? "" : ` ${path}`}: ${message}`;
}

/** Leaves out data that is kept only for the run itself: its payload until it has run, its decision for a dispatch that is run again. */
function shown({ pendingPayload: _payload, decision, ...run }: AutomationRun): AutomationRun {
  return { ...run, decided: (decision as Decision | undefined)?.kind };
}

function historyOf({
  get,
  ledTo,
  list,
  brief,
  started,
  newestWaiting,
}: AutomationStore["runs"]): AutomationDesk["runs"] {
  return {
    async get(id) {
      const run = await get(id);
      return run && shown(run);
    },
    async newestWaiting(hookId) {
      const run = await newestWaiting(hookId);
      return run && shown(run);
    },
    ledTo: async (root, limit) => (await ledTo(root, limit)).map(shown),
    list: async (filter) => (await list(filter)).map(shown),
    brief,
    started,
  };
}
