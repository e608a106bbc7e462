/** The composition root: a configuration becomes a running gateway. Its parts are app/parts.ts, what they are built on app/ground.ts. */
import { offeredTo } from "../commands/help.js";
import { outrankedLines } from "../commands/hooks/outranked.js";
import type { App, AppOptions } from "./app/contract.js";
import { logExits } from "./app/exit-cause.js";
import { firstSteps } from "./app/first-steps.js";
import { type Base, openBase, openGround } from "./app/ground.js";
import { assembleHttp } from "./app/http.js";
import { Parts } from "./app/parts.js";
import { LOG } from "./app/problems/problem-list.js";
import { watchConfig } from "./app/reload.js";
import { startInOrder } from "./app/start.js";
import { firstTime, keepSwept, sweepAll, warnOfProblems } from "./app/upkeep.js";
import { asideNotes } from "./automations/definition/sources.js";
import { declareEvents } from "./automations/triggers/ingested.js";
import type { LoadedConfig } from "./config/load.js";
import { configWarnings } from "./config/warnings.js";
import type { HttpServer } from "./http/server.js";
import { errorMessage } from "./lib/errors.js";

export type { App } from "./app/contract.js";

/** Starts everything; rejects with what the operator must fix (CONFIG_INVALID, STORE_…, PORT_TAKEN, PLUGIN_CRITICAL). */
export async function startApp(loaded: LoadedConfig, options: AppOptions): Promise<App> {
  const base = await openBase(loaded, options);
  try {
    return await start(base);
  } catch (error) {
    await base.stopping.stop();
    throw error;
  }
}

async function start(base: Base): Promise<App> {
  const { fixedConfig, env, logger, clock, store, stopping } = base;
  let hasStarted = false;
  let http: HttpServer | undefined;
  const chatUrl = () => fixedConfig.http.public_url ?? http?.url ?? "";
  const ground = await openGround(base, chatUrl);
  const parts = new Parts(ground);
  const { registry, gateway, plugins, automations, sla, orchestrator, alerts, stops } = parts;
  await stops.load();
  const hearStop = () => {
    for (const part of [ground.processes, registry, orchestrator]) part.stopping();
  };
  void base.options.stopSignal?.then(hearStop);
  stopping.push(async () => registry.close());
  // The work that is under way by now was cut off.
  stopping.push(() => stops.write());
  stopping.push(async () => parts.pending.stop());
  const stopExitLog = logExits({ plugins, registry, automations, givenUp: parts.givenUp, clock, logger });
  stopping.push(async () => stopExitLog());
  followSteps(parts);
  http = await assembleHttp({
    ...ground,
    gateway,
    ingest: parts.ingest,
    waitingRuns: () => automations.waitingRuns(),
    hasStarted: () => hasStarted,
    hasLogFailed: () => ground.log.problem() !== undefined,
    problems: async () => (await parts.problems.list()).filter(({ file }) => file !== LOG).length,
    offeredTo: (operator, all) => offeredTo(operator, all, parts.tasks),
    metrics: parts.metrics,
  });
  stopping.push(() => plugins.stop());
  await loadHooks(parts);
  await startInOrder({
    ...{ ...ground, ...parts.planned, http, gateway, automations, alerts, sla, orchestrator },
    shutdownTimeoutMs: fixedConfig.gateway.shutdown_timeout,
    detachedEnded: () => registry.detachedEnded(),
    cutOff: () => registry.cutOff(),
  });
  await watchFiles(parts);
  hasStarted = true;
  const swept = { automations, orchestrator, missions: parts.planned.sweepMissions, sla, alerts };
  stopping.push(keepSwept({ sweep: sweepAll(store, swept), verify: store.verify }, base));
  // orchestrator:shutdown comes before anything closes. (The one of startInOrder is for a start that fails on the way.)
  stopping.push(() => orchestrator.stop());
  // Before that: what the supervisor kills when its patience ends was stopped in order all the same.
  stopping.push(() => stops.write());
  stopping.push(async () => hearStop());

  return {
    url: http.url,
    chatUrl: chatUrl(),
    newToken: env.HOOKGATE_TOKEN ? undefined : await firstTime(store, ground.consoleToken),
    loginLink:
      ground.platforms.web && `${chatUrl().replace(/\/+$/, "")}/#token=${encodeURIComponent(ground.consoleToken)}`,
    firstSteps: (signal) => firstSteps({ gateway, claims: ground.claims, clock, logger }, signal),
    ...{ gateway, logger, automations, sla, orchestrator, alerts },
    get plugins() {
      return plugins.list();
    },
    reload: (next) => parts.reload(() => next, { plugins: "all" }),
    stop: () => stopping.stop(),
  };
}

/** Work that waits for a length of time keeps that length when the clock is set. */
function followSteps(parts: Parts): void {
  const { clock, logger, followed, store } = parts.ground;
  clock.onStep((stepMs) => {
    parts.commandDeps.about.startedAt += stepMs;
    Promise.all([parts.gateway.clockStepped(stepMs), store.shiftWaits(stepMs)])
      .then(() => parts.wakeWaiting())
      .then(followed.note)
      .then(() => logger.info({ stepMs }, "Pauses and retries keep their length after the clock was set."))
      .catch((error: unknown) =>
        logger.error({ error: errorMessage(error) }, "the queues could not be rescheduled after the clock was set"),
      );
  });
}

/** Loads the hooks of plugins and of files, and logs what is wrong with them. */
async function loadHooks({ ground, registry, plugins, automations, ...parts }: Parts): Promise<void> {
  const { loaded, env, inForce, mask, logger } = ground;
  const { config, brokenEvents } = inForce.valid;
  for (const warning of configWarnings(config, env, loaded.file)) logger.warn({}, warning);
  for (const aside of asideNotes(loaded.file)) logger.info({}, aside);
  // Before the plugins, which may listen to them.
  declareEvents(registry, config.events, brokenEvents.keys());
  await plugins.load();
  await automations.load(parts.readHooks(loaded, inForce.valid));
  await parts.overrides.settle();
  warnOfProblems(registry, logger);
  for (const text of outrankedLines(parts.commandDeps)) logger.warn({}, text);
  for (const { of, text, isWarning } of await parts.problems.shown(mask))
    if (of !== "hook") logger[isWarning ? "warn" : "error"]({ of }, text);
}

/** Changes of the configuration's files are applied as they are saved. */
async function watchFiles(parts: Parts): Promise<void> {
  const { options, read, file, clock, logger, stopping } = parts.ground;
  if (options.reread === undefined) return;
  stopping.push(await watchConfig(file, { read, changed: () => parts.applySaved(), clock, logger }));
}
