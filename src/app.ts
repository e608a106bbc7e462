/** The composition root: a configuration becomes a running gateway. Everything that depends on something gets it here, and nowhere else. */
import { dirname } from "node:path";
import { createPlatforms } from "../adapters/index.js";
import { createCommands, HooksInFlight } from "../commands/index.js";
import { createModels } from "./agent/models/models.js";
import type { Alerts } from "./alerts/alerts.js";
import { createSla, type Sla } from "./alerts/sla/sla.js";
import { assembleAlerts, tellingAlerts } from "./app/alerts.js";
import { adminsOf, sweepAll, threadsOf } from "./app/hooks.js";
import { assembleHttp } from "./app/http.js";
import { linksOf } from "./app/links.js";
import { assembleMissions, startMission } from "./app/missions.js";
import { offersOf } from "./app/offers.js";
import { assembleOrchestrator } from "./app/orchestrator.js";
import { createOverrides } from "./app/overrides.js";
import { CONSOLE, keepFile, uploadsFolder } from "./app/people.js";
import { platformOptions } from "./app/platforms.js";
import { createPosted } from "./app/posted.js";
import { hookReader } from "./app/read-hooks.js";
import { type Reload, reloader, type TakenOver, watchConfig } from "./app/reload.js";
import { failLate, moveDeadline, policyOf, standingOf, watchedWork } from "./app/sla.js";
import { startInOrder } from "./app/start.js";
import { takeOver } from "./app/take-over.js";
import { closeAll, firstTime, keepSwept, warnOfProblems } from "./app/upkeep.js";
import { needAsGood, needValid, secretsOf } from "./app/valid.js";
import { assembleAutomations } from "./automations/assemble.js";
import type { Automations } from "./automations/automations.js";
import { createQueue } from "./automations/queue.js";
import { hashOf } from "./automations/run/history.js";
import { declareEvents } from "./automations/triggers/ingested.js";
import { formatProblem, type LoadedConfig } from "./config/load.js";
import { createGateway, type Gateway } from "./gateway/gateway.js";
import { HookRegistry } from "./hooks/registry.js";
import { createMetrics } from "./http/metrics.js";
import { type Clock, systemClock } from "./lib/clock.js";
import { newId } from "./lib/id.js";
import type { Logger } from "./lib/logger.js";
import type { Resolve } from "./lib/outgoing/connect.js";
import { parseDestinations } from "./lib/outgoing/destinations.js";
import { createLogger } from "./lib/pino-logger.js";
import { createProcesses } from "./lib/process.js";
import { secretMask } from "./lib/secret.js";
import type { Orchestrator } from "./orchestrator/orchestrator.js";
import { createPlugins, type PluginInfo } from "./plugins/plugins.js";
import { openStore } from "./store/open.js";

export interface AppOptions {
  version: string;
  /** Log for a person at a terminal instead of JSON lines. */
  pretty?: boolean;
  clock?: Clock;
  /** Reads the configuration again; with it, changes of its files are taken over as they are saved. */
  reread?: () => LoadedConfig;
  /** Instead of pino, for embedders. */
  logger?: Logger;
  /** All addresses of a name that a hook's request goes to, instead of the system's resolver. What it says is judged all the same. */
  resolve?: Resolve;
}

export interface App {
  readonly url: string;
  /** The login token, when this installation made it just now and nobody has been told. */
  readonly newToken: string | undefined;
  readonly gateway: Gateway;
  readonly logger: Logger;
  readonly plugins: readonly PluginInfo[];
  readonly automations: Automations;
  readonly sla: Sla;
  readonly orchestrator: Orchestrator;
  readonly alerts: Alerts;
  /**
   * Takes over what a new configuration says of plugins (loaded anew), events, hooks, overrides, models, automations,
   * SLA policies, alerts and the orchestrator (what runs goes on as it was started), whole or
   * not at all: rejects with CONFIG_INVALID when it cannot be used, with HOOKS_REJECTED when a hook would break, and then nothing
   * has changed. What needs a restart is named.
   */
  reload(loaded: LoadedConfig): Promise<TakenOver>;
  /** Lets what is under way end; what is left is on disk. */
  stop(): Promise<void>;
}

/** Starts everything; rejects with what the operator must mend (CONFIG_INVALID, STORE_…, PORT_TAKEN, PLUGIN_CRITICAL). */
export async function startApp(loaded: LoadedConfig, options: AppOptions): Promise<App> {
  // As it is now: a reload changes it.
  let current = needValid(loaded);
  const { config, env } = current;
  const clock = options.clock ?? systemClock;
  const startedAt = clock.now();
  const secrets: (string | undefined)[] = secretsOf(config, env);
  const mask = secretMask(secrets);
  const logger =
    options.logger ?? (await createLogger({ level: env.LOG_LEVEL, pretty: options.pretty ?? false, mask }));

  const store = await openStore({
    url: env.DATABASE_URL,
    durability: config.store.durability,
    retention: { ...config.store.retention, dedup_for: config.store.dedup_for },
    clock,
    logger,
    secrets,
  });
  const closers: (() => Promise<void>)[] = [() => store.close()];
  const stop = () => closeAll(closers, logger);

  try {
    const consoleToken = env.HOOKGATE_TOKEN ?? (await store.ownSecret("console-token"));
    secrets.push(consoleToken);
    const metrics = createMetrics();
    const automationsNow = () => current.config.automations;
    const orchestratorNow = () => current.config.orchestrator;
    const overrides = await createOverrides(config.overrides, store);
    const queue = createQueue({
      runs: store.automation.runs,
      owner: newId("g", startedAt),
      get leaseMs() {
        return automationsNow().lease;
      },
      get maxRunning() {
        return automationsNow().max_running;
      },
      clock,
      logger,
    });
    const journal = metrics.journal(store.journal);
    const registry = new HookRegistry({ journal, logger, clock, overrides: overrides.byHook, background: queue });
    for (const problem of loaded.problems) logger.error({ path: problem.path }, formatProblem(problem));
    const keepSwitch = (hookId: string, enabled: boolean) => {
      overrides.keep(hookId, enabled);
      // What its trigger missed while it was off comes now.
      if (enabled) automations.triggers.look(hookId);
    };
    const platforms = await createPlatforms(
      platformOptions(loaded, {
        config,
        env,
        store,
        consoleId: CONSOLE.userId,
        pageUrl: () => config.http.public_url ?? http.url,
      }),
    );
    const processes = createProcesses({
      clock,
      env: env.forPrograms(),
      owner: hashOf(await store.ownSecret("installation"))
        .replace(/\W/g, "")
        .slice(0, 16),
    });
    const models = createModels({ config: () => current.config.models, variable: env.variable, clock });
    const destinations = parseDestinations(config.outgoing.allow);
    // Who is given it speaks after everything is put together.
    const talk: Pick<Gateway, "send" | "edit"> = {
      send: (at, message, sending) => gateway.send(at, message, sending),
      edit: (deliveryId, message, sending) => gateway.edit(deliveryId, message, sending),
    };
    const { automations, notifier } = assembleAutomations({
      config: automationsNow,
      registry,
      store,
      queue,
      gateway: talk,
      threads: threadsOf(platforms.all),
      status: async () => gateway.status(),
      admins: () => adminsOf(config, env, CONSOLE.userId),
      variable: env.variable,
      destinations,
      ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
      processes,
      models,
      startMission: (planId, start) => startMission(missions, planId, start),
      createTask: (input, actor, origin) => orchestrator.create(input, actor, origin),
      mask,
      keepSwitch,
      clock,
      logger,
    });
    const posted = createPosted({ outbox: store.outbox, adapters: platforms.all, logger });
    const traitsOf = (platform: string) => platforms.all.find((one) => one.platform === platform)?.traits;
    const linkOf = linksOf(store, posted);
    const alerts = assembleAlerts({
      config,
      env,
      consoleId: CONSOLE.userId,
      store,
      gateway: () => gateway,
      standing: (clockId) => standingOf(sla.desk, clockId, linkOf),
      taken: (alert, by) => takeOver(alert, by, { sla: sla.desk, store, orchestrator }),
      policy: (id) => policyOf(current.config.sla, id),
      mask,
      clock,
      logger,
    });
    const sla = createSla({
      config: config.sla,
      store,
      registry,
      raise: alerts.raise,
      ...watchedWork(store),
      linkTo: (at, ...message) => traitsOf(at.platform)?.linkTo?.(at, ...message),
      linkToPerson: (platform, userId) => traitsOf(platform)?.linkToPerson?.(userId),
      fail: (taskId, policyId) => failLate(orchestrator, taskId, policyId, logger),
      moveDeadline: (...what) => moveDeadline(...what, { tasks: orchestrator, missions }),
      extended: alerts.extended,
      whoExtended: alerts.whoExtended,
      clock,
      logger,
    });
    const planned = assembleMissions({
      config: orchestratorNow,
      file: loaded.file,
      store,
      registry,
      orchestrator: () => orchestrator,
      gateway: talk,
      processes,
      models,
      destinations,
      entityChanged: sla.changed,
      clock,
      logger,
    });
    const { missions, schedules } = planned;
    const {
      orchestrator,
      desk: tasks,
      repliedTo,
    } = assembleOrchestrator({
      config,
      orchestratorNow,
      env,
      file: loaded.file,
      store,
      registry,
      gateway: talk,
      posted,
      linkOf,
      processes,
      models,
      destinations,
      mask,
      entityChanged: sla.changed,
      assess: planned.assess,
      taskChanged: missions.taskChanged,
      heldBack: missions.heldBack,
      clock,
      logger,
    });
    const commands = createCommands({
      alerts,
      registry,
      tasks,
      missions,
      schedules,
      store,
      status: () => gateway.status(),
      release: (deliveryId, confirmed) => gateway.release(deliveryId, confirmed),
      revive: (inboxId) => gateway.revive(inboxId),
      plugins: () => plugins.list(),
      automations,
      sla: sla.desk,
      switches: { keep: keepSwitch, configured: overrides.configured },
      inFlight: new HooksInFlight(),
      about: { version: options.version, startedAt, database: env.DATABASE_URL },
      clock,
    });
    const plugins = createPlugins({
      entries: config.plugins,
      baseDir: loaded.file ? dirname(loaded.file) : process.cwd(),
      registry,
      gateway: talk,
      keyValue: store.keyValue,
      clock,
      logger,
    });
    const gateway: Gateway = createGateway({
      store,
      registry,
      adapters: platforms.all,
      commands,
      config: {
        gateway: config.gateway,
        operators: config.operators,
        access: { web: config.web.access, discord: config.discord.access, telegram: config.telegram.access },
      },
      console: CONSOLE,
      clock,
      logger,
      routes: plugins.routes,
      keepFile: (bytes) => keepFile(uploadsFolder(env.DATABASE_URL), bytes),
      watch: sla.conversations,
      observe: tellingAlerts(metrics.observer, alerts),
      repliedTo,
      offers: offersOf(() => current.config, missions),
    });
    let hasStarted = false;
    const readHooks = hookReader({ registry, variable: env.variable, secrets });
    const reload: Reload = reloader({
      started: current,
      validate: (next) => needAsGood(next, loaded),
      readHooks,
      adopt: (valid) => {
        current = valid;
      },
      registry,
      plugins,
      overrides,
      automations,
      sla,
      alerts,
      orchestrator,
      notifier,
      mask,
      logger,
    });
    const http = await assembleHttp({
      loaded,
      valid: () => current,
      consoleToken,
      gateway,
      store,
      platforms,
      automations,
      processes,
      hasStarted: () => hasStarted,
      metrics,
      clock,
      logger,
    });

    closers.push(() => plugins.stop());
    // Before the plugins, which may listen to them.
    declareEvents(registry, config.events);
    await plugins.load();
    await automations.load(readHooks(loaded, current));
    warnOfProblems(registry, logger);
    await startInOrder(
      {
        processes,
        http,
        gateway,
        automations,
        alerts,
        sla,
        orchestrator,
        ...planned,
        shutdownTimeoutMs: config.gateway.shutdown_timeout,
      },
      closers,
    );
    const { reread } = options;
    if (reread !== undefined && loaded.file !== undefined) {
      const isWanted = () => automationsNow().watch;
      closers.push(await watchConfig(loaded.file, { reread, reload, isWanted, clock, logger }));
    }
    hasStarted = true;
    const swept = { automations, orchestrator, missions: planned.sweepMissions, sla, alerts };
    closers.push(keepSwept({ sweep: sweepAll(store, swept) }, clock, logger));
    // orchestrator:shutdown comes before anything closes. (The one above is for a start that fails on the way.)
    closers.push(() => orchestrator.stop());

    return {
      url: http.url,
      newToken: env.HOOKGATE_TOKEN ? undefined : await firstTime(store, consoleToken),
      gateway,
      logger,
      automations,
      sla,
      orchestrator,
      alerts,
      get plugins() {
        return plugins.list();
      },
      reload: (next) => reload(() => next, { plugins: "all" }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
