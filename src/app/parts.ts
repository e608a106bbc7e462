/**
 * The parts of a gateway, in the order in which they are made. A part that needs one that is made later gets a function, and calls it only
 * when everything is there.
 */
import { dirname } from "node:path";
import { readableEnd } from "../../commands/automations/owner-only.js";
import type { CommandDeps } from "../../commands/deps.js";
import { outrankedLines } from "../../commands/hooks/outranked.js";
import { createCommands, HooksInFlight } from "../../commands/index.js";
import { createModels } from "../agent/models/models.js";
import type { Alerts } from "../alerts/alerts.js";
import type { LinkTo } from "../alerts/sla/conversations/as-entity.js";
import { createSla, type Sla } from "../alerts/sla/sla.js";
import { type Assembly, assembleAutomations } from "../automations/assemble.js";
import { Ingest } from "../automations/ingest/ingest.js";
import { createGateway, type Gateway } from "../gateway/gateway.js";
import { MovedChats } from "../gateway/moved-chats.js";
import { createAttempts } from "../hooks/attempts.js";
import { createGivenUpList } from "../hooks/given-up.js";
import { createMetrics } from "../http/metrics.js";
import { errorMessage } from "../lib/errors.js";
import { roleToHear as roleOfTask } from "../orchestrator/assignee.js";
import { createRoleToHear } from "../orchestrator/hearing.js";
import { OrdinaryStops } from "../pending/ordinary-stops.js";
import { Pending } from "../pending/pending.js";
import { createPlugins, type Plugins } from "../plugins/plugins.js";
import type { GatewayFunctions } from "../plugins/stage.js";
import { hookReader, recheckBroken } from "./configured-hooks.js";
import type { Ground } from "./ground.js";
import { keepFile, uploadsFolder } from "./kept-files.js";
import { offersOf } from "./offers.js";
import { createOverrides, type Overrides } from "./overrides.js";
import { adminsOf } from "./parts/admins.js";
import { assembleAlerts, repliedToAlert, tellingAlerts } from "./parts/alerts.js";
import { createDeliveryLinks } from "./parts/delivery-links.js";
import { isWithAdmin } from "./parts/direct.js";
import { endCause } from "./parts/end-cause.js";
import { answersOf, copiesOf, linksOf } from "./parts/links.js";
import { assembleMissions, type MissionAssembly, plansOf, startMission, surroundings } from "./parts/missions.js";
import { assembleOrchestrator } from "./parts/orchestrator.js";
import { assembleRegistry } from "./parts/registry.js";
import { failLate, moveDeadline, policyOf, standingOf, watchedWork } from "./parts/sla.js";
import { takeOver } from "./parts/take-over.js";
import { createThreadNotes, threadsOf } from "./parts/threads.js";
import { accountName, CONSOLE, needPerson, placeNames } from "./people.js";
import { createProblemList, type ProblemList } from "./problems/problem-list.js";
import { unfitHooks } from "./problems/unfit-hooks.js";
import { needValid } from "./problems/valid-config.js";
import { type Reload, reloader } from "./reload.js";

abstract class OnGround {
  readonly ground: Ground;

  constructor(ground: Ground) {
    this.ground = ground;
  }

  /** The configuration in force: a reload replaces it. `ground.fixedConfig` has the settings that only a restart applies. */
  get config() {
    return this.ground.inForce.valid.config;
  }

  /** A reload reads `.env` again. */
  readonly variable = (name: string) => this.ground.inForce.valid.env.variable(name);
  readonly orchestratorNow = () => this.config.orchestrator;
  /** The name of an account (`platform:id`) or a runner. The people of the web chat change by a restart only. */
  readonly accountName = (ref: string) => accountName({ ...this.config, web: this.ground.fixedConfig.web }, ref);
}

export class Parts extends OnGround {
  needRestart: readonly string[] = [];

  readonly metrics = createMetrics();
  readonly moves = new MovedChats(this.ground.store.cursors("gateway"));
  readonly overrides: Overrides = createOverrides(this.config.overrides, this.ground.switches, {
    store: this.ground.store.hookState,
    declared: (hookId) => this.registry.declaredEnabled(hookId),
    clock: this.ground.clock,
  });
  readonly stops = new OrdinaryStops(this.ground.store.keyValue, this.ground.clock, this.ground.logger);
  readonly #kernel = assembleRegistry({
    stops: this.stops,
    turns: () => this.gateway.runTurns,
    store: this.ground.store,
    moves: this.moves,
    journal: this.metrics.journal(this.ground.store.journal),
    config: () => this.config,
    overrides: this.overrides.byHook,
    onTimeout: (hookId, isOfStranger) => this.automations.pluginBreaker.timedOut(hookId, isOfStranger),
    refusal: (hookId) => this.automations.pluginBreaker.refusal(hookId),
    clock: this.ground.clock,
    logger: this.ground.logger,
  });
  readonly registry = this.#kernel.registry;
  readonly givenUp = createGivenUpList({ keyValue: this.ground.store.keyValue, logger: this.ground.logger });
  readonly models = createModels({
    config: () => this.config.models,
    variable: this.variable,
    clock: this.ground.clock,
  });
  readonly talk: GatewayFunctions & Pick<Gateway, "send" | "edit" | "withdraw" | "currentAddress"> = {
    send: (at, message, sending) => this.gateway.send(at, message, sending),
    edit: (deliveryId, message, sending) => this.gateway.edit(deliveryId, message, sending),
    withdraw: (deliveryId, reason) => this.gateway.withdraw(deliveryId, reason),
    destinationProblem: (at) => this.problems.ofDestination(at),
    currentAddress: (at) => this.gateway.currentAddress(at),
  };
  readonly roleToHear = createRoleToHear({
    tasks: this.ground.store.tasks,
    outbox: this.ground.store.outbox,
    roleOfTask: (task) => roleOfTask(task, this.orchestratorNow()),
  });
  readonly #noteNoThread = createThreadNotes(this.ground.logger);
  readonly pending = new Pending({
    stops: this.stops,
    store: this.ground.store.pending,
    clock: this.ground.clock,
    logger: this.ground.logger,
    turn: (cutOffs, work) => this.gateway.inTurn(cutOffs, work),
  });
  readonly attempts = createAttempts({
    stops: this.stops,
    keyValue: this.ground.store.keyValue,
    registry: this.registry,
    clock: this.ground.clock,
    logger: this.ground.logger,
    maxCrashes: () => this.orchestratorNow().max_crashes,
    turn: (crashes, work) => this.gateway.inTurn(crashes, work),
  });
  readonly #hooks: Assembly = assembleAutomations({
    ...this.#shared(),
    attempts: this.attempts,
    config: () => this.config.automations,
    queue: this.#kernel.queue,
    gateway: this.talk,
    threads: threadsOf(this.ground.platforms.all, this.#noteNoThread),
    destinationProblem: this.talk.destinationProblem,
    status: async () => this.gateway.status(),
    mayOperatorsHear: async (of) => (await this.roleToHear(of)) === "operator",
    admins: () => adminsOf(this.ground.fixedConfig, this.ground.env, CONSOLE.userId, this.ground.claims.owners),
    isWithAdmin: (at) => isWithAdmin(at, this.gateway.identify),
    variable: this.variable,
    isOwnFile: this.ground.isOwnFile,
    resolve: this.ground.options.resolve,
    startMission: (planId, start) => startMission(this.missions, planId, start),
    createTask: async (input, actor, origin) => {
      needPerson(input.assignTo, this.ground.fixedConfig);
      return this.orchestrator.create(input, actor, origin);
    },
    shown: this.ground.shown,
    switchHook: (hookId, enabled, by) => this.switchHook(hookId, enabled, by),
    isPluginBroken: () => this.plugins.list().some(({ state }) => state === "broken"),
  });
  readonly automations = this.#hooks.automations;
  readonly notifier = this.#hooks.notifier;
  readonly ingest = new Ingest({
    events: () => this.config.events,
    isBroken: (name) => this.ground.inForce.valid.brokenEvents.has(name),
    secret: this.variable,
    store: this.ground.store.automation.ingest,
    stored: this.automations.triggers.ingested,
    waiting: (name) => this.automations.waitingEvents(name),
    answered: this.metrics.ingested,
    clock: this.ground.clock,
    logger: this.ground.logger,
  });
  readonly #posted = createDeliveryLinks({
    outbox: this.ground.store.outbox,
    adapters: this.ground.platforms.all,
    noteNoThread: this.#noteNoThread,
    logger: this.ground.logger,
  });
  readonly placeName = placeNames(this.accountName, (platform) => this.#traitsOf(platform));
  readonly #linkOf = linksOf(this.ground.store, this.#posted);
  readonly #linkTo: LinkTo = (at, ...message) => this.#traitsOf(at.platform)?.linkTo?.(at, ...message);
  readonly #around = {
    linkOf: this.#linkOf,
    copyOf: copiesOf(this.ground.store, { placeName: this.placeName, linkTo: this.#linkTo }),
    answerOf: answersOf(this.ground.store),
  };
  readonly alerts: Alerts = assembleAlerts({
    fixedConfig: this.ground.fixedConfig,
    alertsAtStart: this.config.alerts,
    env: this.ground.env,
    consoleId: CONSOLE.userId,
    owners: this.ground.claims.owners,
    store: this.ground.store,
    gateway: () => this.gateway,
    adapters: this.ground.platforms.all,
    linkTo: this.#posted.linkTo,
    placeName: this.placeName,
    standing: (clockId) => standingOf(this.sla.desk, clockId, this.#around),
    end: (alert, by, reason) => endCause(alert, by, reason, this.sla.desk),
    taken: (alert, by, role) => {
      const { tasks, orchestrator, sla } = this;
      return takeOver(alert, { ...by, role }, { ...tasks, sla: sla.desk, store: this.ground.store, orchestrator });
    },
    policy: (id) => policyOf(this.config.sla, id),
    mask: this.ground.mask,
    clock: this.ground.clock,
    logger: this.ground.logger,
  });
  readonly sla: Sla = createSla({
    config: this.config.sla,
    store: this.ground.store,
    registry: this.registry,
    attempts: this.attempts,
    raise: (signal) => this.alerts.raise(signal),
    ...watchedWork(this.ground.store),
    linkTo: this.#linkTo,
    linkToPerson: (platform, userId) => this.#traitsOf(platform)?.linkToPerson?.(userId),
    placeName: this.placeName,
    formerChats: (at) => this.moves.former(at),
    fail: (taskId, policyId) => failLate(this.orchestrator, taskId, policyId, this.ground.logger),
    moveDeadline: (...what) => moveDeadline(...what, { tasks: this.orchestrator, missions: this.missions }),
    extended: (fingerprint, by, reason) => this.alerts.extended(fingerprint, by, reason),
    whoExtended: (fingerprint) => this.alerts.whoExtended(fingerprint),
    clock: this.ground.clock,
    logger: this.ground.logger,
  });
  readonly planned: MissionAssembly = assembleMissions({
    ...this.#shared(),
    config: this.orchestratorNow,
    file: this.ground.file,
    attempts: this.attempts,
    orchestrator: () => this.orchestrator,
    gateway: this.talk,
    entityChanged: this.sla.changed,
  });
  readonly missions = this.planned.missions;
  readonly #work = assembleOrchestrator({
    ...this.#shared(),
    fixedConfig: this.ground.fixedConfig,
    nameOf: this.accountName,
    orchestratorNow: this.orchestratorNow,
    env: this.ground.env,
    variable: this.variable,
    file: this.ground.file,
    attempts: this.attempts,
    stops: this.stops,
    gateway: this.talk,
    posted: this.#posted,
    linkOf: this.#linkOf,
    roleOf: (platform, userId) => this.gateway.identify(platform, userId),
    entityChanged: this.sla.changed,
    assess: this.planned.assess,
    taskChanged: (task) => this.missions.taskChanged(task),
    heldBack: (task) => this.missions.heldBack(task),
  });
  readonly orchestrator = this.#work.orchestrator;
  readonly tasks = this.#work.desk;
  readonly commandDeps: CommandDeps = this.#commandDeps();
  readonly commands = createCommands(this.commandDeps);
  readonly plugins: Plugins = createPlugins({
    entries: this.config.plugins,
    baseDir: dirname(this.ground.file),
    registry: this.registry,
    gateway: this.talk,
    keyValue: this.ground.store.keyValue,
    reservedCommands: new Set(this.commands.map(({ name }) => name)),
    breaker: this.automations.pluginBreaker,
    teardownTimeoutMs: () => this.ground.stopping.leftMs,
    unfit: () => unfitHooks(this.automations, () => this.automations.recheck(), this.plugins),
    onReloaded: () => {
      this.#kernel.queue.wake();
      recheckBroken(this);
      void this.overrides
        .settle()
        .catch((error: unknown) =>
          this.ground.logger.error(
            { error: errorMessage(error) },
            "a switch of a hook that its file ended was not removed",
          ),
        );
    },
    onSaved: (troubled) => {
      const lines = troubled.map(({ module, reason }) => `plugin ${module}: ${reason}`);
      const notice = `⚠ A saved plugin has a problem:\n${this.#masked(lines.join("\n")).slice(0, 1500)}`;
      if (lines.length > 0) void this.notifier.notifyAdmins("plugins", notice);
      if (this.problems.isRejectedForCritical()) this.applySaved();
    },
    clock: this.ground.clock,
    logger: this.ground.logger,
  });
  readonly gateway: Gateway = createGateway({
    store: this.ground.store,
    moves: this.moves,
    registry: this.registry,
    pending: this.pending,
    stops: this.stops,
    adapters: this.ground.platforms.all,
    commands: this.commands,
    pluginCommands: () => this.plugins.commands(),
    config: this.#gatewayConfig(),
    console: CONSOLE,
    clock: this.ground.clock,
    logger: this.ground.logger,
    routes: this.plugins.routes,
    keepFile: (bytes) => keepFile(uploadsFolder(this.ground.env.DATABASE_URL), bytes),
    watch: this.sla.conversations,
    observe: tellingAlerts(this.metrics.observer, this.alerts),
    beforeSending: () => this.alerts.withdrawLatePages(),
    repliedTo: async (...reply) => (await repliedToAlert(...reply)) ?? this.#work.repliedTo(...reply),
    claims: this.ground.claims,
    offers: offersOf(() => this.config, this.missions, this.accountName, this.placeName),
    mayPost: (hookId, conversation) =>
      this.automations.get(hookId)?.mayPostIn(conversation, (at) => this.gateway.currentAddress(at)) ?? true,
    ofUnknownAge: this.ground.followed.ofUnknownAge,
    readableReason: async (operator, delivery, end) =>
      (await readableEnd(this.commandDeps, { operator }, end, delivery)).reason,
    shown: this.ground.shown,
  });
  readonly problems: ProblemList = createProblemList(this.ground, {
    registry: this.registry,
    plugins: () => this.plugins,
    automations: this.automations,
    plans: plansOf(
      this.ground.file,
      surroundings(this.orchestratorNow, () => this.models.names),
    ),
    moves: this.moves,
  });
  readonly readHooks = hookReader({
    registry: this.registry,
    secrets: this.ground.secrets,
    automations: this.automations,
  });
  readonly reload: Reload = reloader({
    started: this.ground.inForce.valid,
    validate: needValid,
    valid: () => this.ground.inForce.valid,
    loaded: this.problems.loaded,
    readHooks: this.readHooks,
    adopt: (next, valid) => {
      this.ground.inForce.valid = valid;
      this.problems.noteLoaded(next);
    },
    problems: this.problems.list,
    rejected: this.problems.rejected,
    outranked: (ids) => outrankedLines(this.commandDeps, ids),
    awaitRestart: (sections) => {
      this.needRestart = sections;
    },
    registry: this.registry,
    plugins: this.plugins,
    overrides: this.overrides,
    automations: this.automations,
    sla: this.sla,
    alerts: this.alerts,
    orchestrator: this.orchestrator,
    notifier: this.notifier,
    mask: (text) => this.#masked(text),
    logger: this.ground.logger,
  });

  /** Applies the configuration as its files are now, where saved changes are wanted. */
  applySaved(): void {
    const { options, file, logger } = this.ground;
    if (options.reread === undefined || !this.config.automations.watch) return;
    this.reload(options.reread, { plugins: "changed" }).catch((error: unknown) =>
      logger.error({ file, error: errorMessage(error) }, "the reload of the changed configuration failed"),
    );
  }

  /** The times that queues, tasks and clocks wait for have changed. */
  wakeWaiting(): void {
    this.#kernel.queue.wake();
    this.orchestrator.reconfigured();
    this.sla.wake();
  }

  /** The switch holds from now on, for a registration to come, too. */
  async switchHook(hookId: string, enabled: boolean, by: string): Promise<void> {
    await this.overrides.switchInChat(hookId, enabled, by);
    this.registry.setEnabled(hookId, enabled);
    // Firings that its trigger missed while the hook was off come now.
    if (enabled) this.automations.triggers.wake(hookId);
  }

  /** The dependencies that hooks, missions and tasks share. */
  #shared() {
    const { store, processes, destinations, mask, clock, logger } = this.ground;
    const { registry, pending, models } = this;
    return { store, registry, pending, processes, models, destinations, mask, clock, logger };
  }

  #traitsOf(platform: string) {
    return this.ground.platforms.all.find((one) => one.platform === platform)?.traits;
  }

  /** For people who are not at the machine. */
  #masked(text: string): string {
    return this.ground.shown(this.ground.mask(text));
  }

  #gatewayConfig() {
    const { gateway, operators, web, discord, telegram } = this.ground.fixedConfig;
    return { gateway, operators, access: { web: web.access, discord: discord.access, telegram: telegram.access } };
  }

  #commandDeps(): CommandDeps {
    const { store, clock, claims, options, startedAt, env } = this.ground;
    const { alerts, registry, tasks, roleToHear, missions, placeName, automations, sla, attempts, overrides } = this;
    return {
      ...{
        alerts,
        registry,
        tasks,
        roleToHear,
        missions,
        store,
        placeName,
        automations,
        claims,
        attempts,
        clock,
      },
      eventLoad: () => this.ingest.load(),
      schedules: this.planned.schedules,
      status: () => this.gateway.status(),
      release: async (deliveryId, confirmed) =>
        (!confirmed && (await alerts.sendAnew(deliveryId))) || this.gateway.release(deliveryId, confirmed),
      discard: (ids) => this.gateway.discard(ids),
      withdraw: (deliveryId, reason) => this.gateway.withdraw(deliveryId, reason),
      cancelRest: (deliveryId, reason) => this.gateway.cancelRest(deliveryId, reason),
      revive: (inboxId) => this.gateway.revive(inboxId),
      liftPauses: (key) => this.gateway.liftPauses(key),
      addressesOf: (at) => this.gateway.addressesOf(at),
      plugins: () => this.plugins.list(),
      problems: () => this.problems.shown((text) => this.#masked(text)),
      whyUnreached: (hookId) => this.problems.whyUnreached(hookId),
      needRestart: () => this.needRestart,
      pluginCommands: () => this.plugins.commands(),
      sla: sla.desk,
      switches: {
        set: (hookId, enabled, by) => this.switchHook(hookId, enabled, by),
        configured: overrides.configured,
        inForce: overrides.inForce,
      },
      refuseClaim: (claim) => this.gateway.refuseClaim(claim),
      inFlight: new HooksInFlight(),
      about: { version: options.version, startedAt, database: env.DATABASE_URL },
    };
  }
}
