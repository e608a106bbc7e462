/** The HTTP server of the product: logins, routes, and events that programs send in. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Platforms } from "../../adapters/index.js";
import { ownCause } from "../automations/run/context-of.js";
import type { Environment } from "../config/env.js";
import type { LoadedConfig } from "../config/load.js";
import type { Store } from "../domain/store.js";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../http/server.js";
import type { Webhook } from "../http/webhook.js";
import type { Processes } from "../lib/process/process.js";
import { uploadsFolder } from "./kept-files.js";
import { peopleOf } from "./people.js";
import type { FixedConfig } from "./taken-over.js";

interface Deps
  extends Pick<
    HttpServerOptions,
    | "gateway"
    | "hasLogFailed"
    | "hasStarted"
    | "problems"
    | "offeredTo"
    | "metrics"
    | "ingest"
    | "waitingRuns"
    | "shown"
    | "clock"
    | "logger"
  > {
  loaded: LoadedConfig;
  fixedConfig: FixedConfig;
  env: Environment;
  consoleToken: string;
  store: Store;
  platforms: Platforms;
  processes: Processes;
}

export async function assembleHttp(deps: Deps): Promise<HttpServer> {
  const { loaded, fixedConfig: config, env, store, platforms, processes, clock } = deps;
  return createHttpServer({
    host: env.HOOKGATE_HOST,
    port: env.HOOKGATE_PORT,
    config: config.http,
    gateway: deps.gateway,
    checkStore: () => store.check(),
    storeWarnings: () => store.health().remarks.length,
    hasLogFailed: deps.hasLogFailed,
    hasStarted: deps.hasStarted,
    problems: deps.problems,
    offeredTo: deps.offeredTo,
    metrics: deps.metrics,
    shown: deps.shown,
    people: peopleOf(loaded, { config, env }, deps.consoleToken),
    gatewayName: config.web.name,
    commandsPerMinute: config.gateway.commands_per_minute,
    sessionKey: await store.ownSecret("session-key"),
    keyValue: store.keyValue,
    audit: store.audit,
    ...webOf(platforms),
    uploadsFolder: uploadsFolder(env.DATABASE_URL),
    ...webhookOf(config, platforms),
    ingest: deps.ingest,
    waitingRuns: deps.waitingRuns,
    caller: {
      processes,
      async causeOfRun(id) {
        const run = await store.automation.runs.span(id);
        return run && ownCause(run.cause, run.id);
      },
    },
    clock,
    logger: deps.logger,
  });
}

function webOf({ all, web }: Platforms) {
  const isWebBroken = web === undefined && all.some(({ platform }) => platform === "web");
  return { isWebBroken, web: web && { port: web.port, pageFolder: pageFolder() } };
}

/** In dist, all bundled code is in dist/src; the page is in dist/adapters. */
function pageFolder(): string {
  const [bundled, source] = ["../adapters/web/page", "../../adapters/web/page"].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  ) as [string, string];
  return existsSync(bundled) ? bundled : source;
}

function webhookOf(config: FixedConfig, { telegram }: Platforms) {
  if (!telegram || config.telegram.mode !== "webhook") return {};
  const handle: Webhook["handle"] = (headers, body) => telegram.webhook(headers, body);
  return { webhook: { path: config.telegram.webhook.path, handle } };
}
