/** The composition root: a configuration becomes a running gateway. Everything that depends on something gets it here, and nowhere else. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createPlatforms } from "../adapters/index.js";
import { readableEnd } from "../commands/automations/owner-only.js";
import type { CommandDeps } from "../commands/deps.js";
import { offeredTo } from "../commands/help.js";
import { outrankedLines } from "../commands/hooks/outranked.js";
import { createCommands, HooksInFlight } from "../commands/index.js";
import { createModels } from "./agent/models/models.js";
import type { LinkTo } from "./alerts/sla/conversations/as-entity.js";
import { createSla } from "./alerts/sla/sla.js";
import { assembleAlerts, repliedToAlert, tellingAlerts } from "./app/alerts.js";
import { followClock } from "./app/clock-between.js";
import type { App, AppOptions } from "./app/contract.js";
import { createDeliveryLinks } from "./app/delivery-links.js";
import { isWithAdmin } from "./app/direct.js";
import { endCause } from "./app/end-cause.js";
import { logExits } from "./app/exit-cause.js";
import { firstSteps } from "./app/first-steps.js";
import { adminsOf, sweepAll, threadsOf } from "./app/hooks.js";
import { assembleHttp } from "./app/http.js";
import { copiesOf, linksOf } from "./app/links.js";
import { assembleMissions, plansOf, startMission, surroundings } from "./app/missions.js";
import { offersOf } from "./app/offers.js";
import { assembleOrchestrator } from "./app/orchestrator.js";
import { createOverrides } from "./app/overrides.js";
import { CONSOLE, keepFile, needPerson, placeNames, shownPaths, uploadsFolder } from "./app/people.js";
import { platformOptions } from "./app/platforms.js";
import { createProblemList } from "./app/problem-list.js";
import { hookReader } from "./app/read-hooks.js";
import { assembleRegistry } from "./app/registry.js";
import { asRead, type Reload, reloader, watchConfig } from "./app/reload.js";
import { failLate, moveDeadline, policyOf, standingOf, watchedWork } from "./app/sla.js";
import { startInOrder } from "./app/start.js";
import { takeOver } from "./app/take-over.js";
import { createThreadNotes } from "./app/thread-notes.js";
import { closeAll, firstTime, keepSwept, warnOfProblems } from "./app/upkeep.js";
import { needValid, secretsOf } from "./app/valid.js";
import { assembleAutomations } from "./automations/assemble.js";
import { asideNotes } from "./automations/definition/sources.js";
import { declareEvents } from "./automations/triggers/ingested.js";
import { dotEnvFile } from "./config/env.js";
import { type LoadedConfig, placeOfConfig } from "./config/load.js";
import { configWarnings } from "./config/warnings.js";
import { createGateway, type Gateway } from "./gateway/gateway.js";
import { MovedChats } from "./gateway/moved-chats.js";
import { OwnerClaims } from "./gateway/owner-claims.js";
import { createAttempts } from "./hooks/attempts.js";
import { createGivenUpList } from "./hooks/given-up.js";
import { requireFreePort } from "./http/free-port.js";
import { createMetrics } from "./http/metrics.js";
import { systemClock } from "./lib/clock.js";
import { noticingSteps } from "./lib/clock-steps.js";
import { errorMessage } from "./lib/errors.js";
import { parseDestinations } from "./lib/outgoing/destinations.js";
import { createLogger } from "./lib/pino-logger.js";
import { createProcesses } from "./lib/process.js";
import { nameFromSecret, secretMask } from "./lib/secret.js";
import { roleToHear as roleOfTask } from "./orchestrator/assignee.js";
import { createRoleToHear } from "./orchestrator/hearing.js";
import { Pending } from "./pending/pending.js";
import { createPlugins } from "./plugins/plugins.js";
import type { GatewayFunctions } from "./plugins/stage.js";
import { databaseFiles, ownFileTest } from "./store/files.js";
import { openStore } from "./store/open.js";

export type { App } from "./app/contract.js";

/** Starts everything; rejects with what the operator must fix (CONFIG_INVALID, STORE_…, PORT_TAKEN, PLUGIN_CRITICAL). */
export async function startApp(loaded: LoadedConfig, options: AppOptions): Promise<App> {
  // As it is now: a reload changes it.
  let current = needValid(loaded);
  const read = await asRead(loaded);
  const file = placeOfConfig(loaded);
  const { config, env } = current;
  const secrets: (string | undefined)[] = secretsOf(config, env);
  const mask = secretMask(secrets);
  const shown = shownPaths(loaded, env);
  const logger =
    options.logger ?? (await createLogger({ level: env.LOG_LEVEL, pretty: options.pretty ?? false, mask }));
  options.onLogger?.(logger);
  const clock = noticingSteps(options.clock ?? systemClock, logger);
  const startedAt = clock.now();

  // A start that must fail makes no database and no token in a folder that has none, such as behind a link that leads elsewhere.
  if (!existsSync(databaseFiles(env.DATABASE_URL).database))
    await requireFreePort(env.HOOKGATE_HOST, env.HOOKGATE_PORT);
  const store = await openStore({
    url: env.DATABASE_URL,
    durability: config.store.durability,
    retention: { ...config.store.retention, dedup_for: config.store.dedup_for },
    clock,
    logger,
    secrets,
    newDatabase: options.newDatabase,
  });
  const closers: (() => Promise<void>)[] = [() => store.close(), async () => clock.stop()];
  /** The stages of a stop share its time. */
  let stopBy: number | undefined;
  const stopLeftMs = () => {
    const limitMs = config.gateway.shutdown_timeout;
    return stopBy === undefined ? limitMs : Math.max(1_000, Math.min(limitMs, stopBy - clock.monotonic()));
  };
  const stop = () => {
    stopBy ??= clock.monotonic() + config.orchestrator.shutdown_timeout + config.gateway.shutdown_timeout;
    return closeAll(closers, logger);
  };

  try {
    const consoleToken = env.HOOKGATE_TOKEN ?? store.consoleToken();
    secrets.push(consoleToken);
    const claims = await OwnerClaims.load(store.keyValue, clock);
    const metrics = createMetrics();
    const automationsNow = () => current.config.automations;
    const orchestratorNow = () => current.config.orchestrator;
    const overrides = await createOverrides(config.overrides, {
      store: store.hookState,
      declared: (hookId) => registry.declaredEnabled(hookId),
      clock,
    });
    const moves = new MovedChats(store.cursors("gateway"));
    const { queue, registry } = assembleRegistry({
      store,
      moves,
      journal: metrics.journal(store.journal),
      config: () => current.config,
      overrides: overrides.byHook,
      onTimeout: (hookId, isOfStranger) => automations.pluginBreaker.timedOut(hookId, isOfStranger),
      refusal: (hookId) => automations.pluginBreaker.refusal(hookId),
      clock,
      logger,
    });
    closers.push(async () => registry.close());
    const givenUp = createGivenUpList({ keyValue: store.keyValue, logger });
    const stopExitLog = logExits({ plugins: () => plugins, registry, givenUp, clock, logger });
    closers.push(async () => stopExitLog());
    const followed = await followClock(store, clock, logger);
    closers.push(followed.stop);
    for (const warning of configWarnings(config, env, loaded.file)) logger.warn({}, warning);
    for (const aside of asideNotes(loaded.file)) logger.info({}, aside);
    const switchHook = async (hookId: string, enabled: boolean, by: string) => {
      await overrides.switchInChat(hookId, enabled, by);
      registry.setEnabled(hookId, enabled);
      // What its trigger missed while it was off comes now.
      if (enabled) automations.triggers.wake(hookId);
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
      owner: nameFromSecret(await store.ownSecret("installation")),
    });
    // A reload reads `.env` again.
    const variable = (name: string) => current.env.variable(name);
    const models = createModels({ config: () => current.config.models, variable, clock });
    const destinations = parseDestinations(config.outgoing.allow);
    // Its receivers call it only after everything is put together.
    const talk: GatewayFunctions & Pick<Gateway, "send" | "edit" | "withdraw"> = {
      send: (at, message, sending) => gateway.send(at, message, sending),
      edit: (deliveryId, message, sending) => gateway.edit(deliveryId, message, sending),
      withdraw: (deliveryId, reason) => gateway.withdraw(deliveryId, reason),
      destinationProblem: (at) => problems.ofDestination(at),
      currentAddress: (at) => gateway.currentAddress(at),
    };
    const roleToHear = createRoleToHear({
      tasks: store.tasks,
      outbox: store.outbox,
      roleOfTask: (task) => roleOfTask(task, orchestratorNow()),
    });
    const noteNoThread = createThreadNotes(logger);
    const pending = new Pending({
      store: store.pending,
      clock,
      logger,
      turn: (cutOffs, work) => gateway.inTurn(cutOffs, work),
    });
    closers.push(async () => pending.stop());
    const { automations, notifier } = assembleAutomations({
      pending,
      config: automationsNow,
      registry,
      store,
      queue,
      gateway: talk,
      threads: threadsOf(platforms.all, noteNoThread),
      destinationProblem: talk.destinationProblem,
      status: async () => gateway.status(),
      mayOperatorsHear: async (of) => (await roleToHear(of)) === "operator",
      admins: () => adminsOf(config, env, CONSOLE.userId, claims.owners),
      isWithAdmin: (at) => isWithAdmin(at, gateway.identify),
      variable,
      destinations,
      isOwnFile: ownFileTest(databaseFiles(env.DATABASE_URL), dotEnvFile()),
      resolve: options.resolve,
      processes,
      models,
      startMission: (planId, start) => startMission(missions, planId, start),
      async createTask(input, actor, origin) {
        needPerson(input.assignTo, config);
        return orchestrator.create(input, actor, origin);
      },
      mask,
      shown,
      switchHook,
      clock,
      logger,
    });
    const posted = createDeliveryLinks({ outbox: store.outbox, adapters: platforms.all, noteNoThread, logger });
    const traitsOf = (platform: string) => platforms.all.find((one) => one.platform === platform)?.traits;
    const placeName = placeNames(config, traitsOf);
    const linkOf = linksOf(store, posted);
    const linkTo: LinkTo = (at, ...message) => traitsOf(at.platform)?.linkTo?.(at, ...message);
    const copyOf = copiesOf(store, { placeName, linkTo });
    const alerts = assembleAlerts({
      config,
      env,
      consoleId: CONSOLE.userId,
      owners: claims.owners,
      store,
      gateway: () => gateway,
      adapters: platforms.all,
      linkTo: posted.linkTo,
      placeName,
      standing: (clockId) => standingOf(sla.desk, clockId, linkOf, copyOf),
      end: (alert, by, reason) => endCause(alert, by, reason, sla.desk),
      taken: (alert, by, role) => takeOver(alert, { ...by, role }, { ...tasks, sla: sla.desk, store, orchestrator }),
      policy: (id) => policyOf(current.config.sla, id),
      mask,
      clock,
      logger,
    });
    const attempts = createAttempts({
      keyValue: store.keyValue,
      registry,
      clock,
      logger,
      maxCrashes: () => orchestratorNow().max_crashes,
      turn: (crashes, work) => gateway.inTurn(crashes, work),
    });
    const sla = createSla({
      config: config.sla,
      store,
      registry,
      attempts,
      raise: alerts.raise,
      ...watchedWork(store),
      linkTo,
      linkToPerson: (platform, userId) => traitsOf(platform)?.linkToPerson?.(userId),
      placeName,
      formerChats: (at) => moves.former(at),
      fail: (taskId, policyId) => failLate(orchestrator, taskId, policyId, logger),
      moveDeadline: (...what) => moveDeadline(...what, { tasks: orchestrator, missions }),
      extended: alerts.extended,
      whoExtended: alerts.whoExtended,
      clock,
      logger,
    });
    const planned = assembleMissions({
      config: orchestratorNow,
      file,
      store,
      registry,
      attempts,
      pending,
      orchestrator: () => orchestrator,
      gateway: talk,
      processes,
      models,
      destinations,
      mask,
      entityChanged: sla.changed,
      clock,
      logger,
    });
    const { missions, schedules } = planned;
    const {
      orchestrator,
      desk: tasks,
      repliedTo: repliedToTask,
    } = assembleOrchestrator({
      config,
      orchestratorNow,
      env,
      variable,
      file,
      store,
      registry,
      attempts,
      pending,
      gateway: talk,
      posted,
      linkOf,
      processes,
      models,
      destinations,
      mask,
      roleOf: (platform, userId) => gateway.identify(platform, userId),
      entityChanged: sla.changed,
      assess: planned.assess,
      taskChanged: missions.taskChanged,
      heldBack: missions.heldBack,
      clock,
      logger,
    });
    const deps: CommandDeps = {
      alerts,
      registry,
      tasks,
      roleToHear,
      missions,
      schedules,
      store,
      status: () => gateway.status(),
      release: async (deliveryId, confirmed) =>
        (!confirmed && (await alerts.sendAnew(deliveryId))) || gateway.release(deliveryId, confirmed),
      discard: (deliveryIds) => gateway.discard(deliveryIds),
      withdraw: (deliveryId, reason) => gateway.withdraw(deliveryId, reason),
      cancelRest: (deliveryId, reason) => gateway.cancelRest(deliveryId, reason),
      revive: (inboxId) => gateway.revive(inboxId),
      liftPauses: (key) => gateway.liftPauses(key),
      addressesOf: (at) => gateway.addressesOf(at),
      placeName,
      plugins: () => plugins.list(),
      problems: () => problems.shown((text) => shown(mask(text))),
      needRestart: () => needRestart,
      pluginCommands: () => plugins.commands(),
      automations,
      sla: sla.desk,
      switches: { set: switchHook, configured: overrides.configured, inForce: overrides.inForce },
      claims,
      refuseClaim: (claim) => gateway.refuseClaim(claim),
      attempts,
      inFlight: new HooksInFlight(),
      about: { version: options.version, startedAt, database: env.DATABASE_URL },
      clock,
    };
    const commands = createCommands(deps);
    const plugins = createPlugins({
      entries: config.plugins,
      baseDir: dirname(file),
      registry,
      gateway: talk,
      keyValue: store.keyValue,
      reservedCommands: new Set(commands.map(({ name }) => name)),
      breaker: automations.pluginBreaker,
      teardownTimeoutMs: stopLeftMs,
      onReloaded: () =>
        void overrides
          .settle()
          .catch((error: unknown) =>
            logger.error({ error: errorMessage(error) }, "a switch of a hook that its file ended was not removed"),
          ),
      clock,
      logger,
    });
    const gateway: Gateway = createGateway({
      store,
      moves,
      registry,
      pending,
      adapters: platforms.all,
      commands,
      pluginCommands: () => plugins.commands(),
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
      beforeSending: () => alerts.withdrawLatePages(),
      repliedTo: async (...reply) => (await repliedToAlert(...reply)) ?? repliedToTask(...reply),
      claims,
      offers: offersOf(() => current.config, missions, placeName),
      mayPost: (hookId, conversation) =>
        automations.get(hookId)?.mayPostIn(conversation, (at) => gateway.currentAddress(at)) ?? true,
      ofUnknownAge: followed.ofUnknownAge,
      readableReason: async (operator, delivery, end) => (await readableEnd(deps, { operator }, end, delivery)).reason,
      shown,
    });
    const problems = createProblemList(loaded, {
      valid: () => current,
      registry,
      plugins: () => plugins,
      automations,
      plans: plansOf(
        file,
        surroundings(orchestratorNow, () => models.names),
      ),
      web: store.web,
      moves,
    });
    clock.onStep((stepMs) => {
      gateway
        .clockStepped(stepMs)
        .then(followed.note)
        .then(() => logger.info({ stepMs }, "Pauses and retries keep their length after the clock was set."))
        .catch((error: unknown) =>
          logger.error({ error: errorMessage(error) }, "the queues could not be rescheduled after the clock was set"),
        );
    });
    let hasStarted = false;
    let needRestart: readonly string[] = [];
    const readHooks = hookReader({ registry, secrets, automations });
    const reload: Reload = reloader({
      started: current,
      validate: needValid,
      current: () => current,
      inForce: problems.inForce,
      readHooks,
      adopt: (next, valid) => {
        current = valid;
        problems.loaded(next);
      },
      problems: problems.list,
      rejected: problems.rejected,
      outranked: (ids) => outrankedLines(deps, ids),
      awaitRestart: (sections) => {
        needRestart = sections;
      },
      registry,
      plugins,
      overrides,
      automations,
      sla,
      alerts,
      orchestrator,
      notifier,
      mask: (text) => shown(mask(text)),
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
      problems: async () => (await problems.list()).length,
      offeredTo: (operator, all) => offeredTo(operator, all, tasks),
      metrics,
      shown,
      clock,
      logger,
    });

    closers.push(() => plugins.stop());
    // Before the plugins, which may listen to them.
    declareEvents(registry, config.events, current.brokenEvents.keys());
    await plugins.load();
    await automations.load(readHooks(loaded, current));
    await overrides.settle();
    warnOfProblems(registry, logger);
    for (const text of outrankedLines(deps)) logger.warn({}, text);
    for (const { of, text, isWarning } of await problems.shown(mask))
      if (of !== "hook") logger[isWarning ? "warn" : "error"]({ of }, text);
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
        stopLeftMs,
        clock,
      },
      closers,
    );
    const { reread } = options;
    if (reread !== undefined) {
      const isWanted = () => automationsNow().watch;
      closers.push(await watchConfig(file, { read, reread, reload, isWanted, clock, logger }));
    }
    hasStarted = true;
    const swept = { automations, orchestrator, missions: planned.sweepMissions, sla, alerts };
    closers.push(keepSwept({ sweep: sweepAll(store, swept), verify: store.verify }, clock, logger));
    // orchestrator:shutdown comes before anything closes. (The one above is for a start that fails on the way.)
    closers.push(() => orchestrator.stop());
    // Before that: what the supervisor kills when its patience ends was stopped in order all the same.
    closers.push(() => attempts.stopping());

    const chatUrl = config.http.public_url ?? http.url;
    return {
      url: http.url,
      chatUrl,
      newToken: env.HOOKGATE_TOKEN ? undefined : await firstTime(store, consoleToken),
      loginLink: platforms.web && `${chatUrl.replace(/\/+$/, "")}/#token=${encodeURIComponent(consoleToken)}`,
      firstSteps: (signal) => firstSteps({ gateway, claims, clock, logger }, signal),
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
