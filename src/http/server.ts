/** The HTTP server: the page, the API, live changes, probes and the webhook, on one port. */
import fastifyCookie from "@fastify/cookie";
import fastifyHelmet from "@fastify/helmet";
import fastifyRateLimit from "@fastify/rate-limit";
import fastifyStatic from "@fastify/static";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { AuditStore, KeyValueStore } from "../domain/store.js";
import type { Timer } from "../lib/clock.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { jsonExcess } from "../lib/json-depth.js";
import { createPerMinute } from "../lib/per-minute.js";
import { mapTexts } from "../lib/relative-paths.js";
import { PROOF_HEADER } from "../lib/signed-call.js";
import { API_ROOT } from "./api/endpoint.js";
import { PROBLEM_TYPE, problemOf } from "./api/problem.js";
import { createAuth } from "./auth.js";
import { hasBody, limitBodies } from "./body-deadline.js";
import { type CallerDeps, createCauseOf } from "./caller.js";
import type { HttpConfig } from "./config.js";
import { watchConnections } from "./connections.js";
import { type ErrorAnswer, errorAnswer } from "./errors.js";
import { createFailedTokens } from "./failed-tokens.js";
import { cannotListen } from "./free-port.js";
import { createGuard, metricsNeedToken } from "./guard.js";
import { createIdempotencyKeys } from "./idempotency.js";
import { createLimits } from "./limits.js";
import { type OtherLoopback, takeOtherLoopback } from "./localhost.js";
import { createPeople, type PersonWithToken } from "./people.js";
import type { HttpDeps, Route } from "./route.js";
import { routes } from "./routes/index.js";
import { INGEST_ROOT } from "./routes/ingest.js";
import { createSessions } from "./session.js";
import { createStreams } from "./streams.js";
import { createUploads, UPLOAD_WITHIN_MS } from "./uploads.js";
import { addWebhook, type Webhook } from "./webhook.js";

export interface HttpServerOptions
  extends Pick<
    HttpDeps,
    | "config"
    | "gateway"
    | "checkStore"
    | "storeWarnings"
    | "hasStarted"
    | "problems"
    | "isWebBroken"
    | "offeredTo"
    | "metrics"
    | "waitingRuns"
    | "clock"
    | "logger"
  > {
  host: string;
  /** 0 = any that is free. */
  port: number;
  /** The people who may log in; the console's owner among them. */
  people: readonly PersonWithToken[];
  /** What the gateway is called in the web chat. */
  gatewayName: string;
  /** Commands of one person in a minute, as in chat. */
  commandsPerMinute: number;
  /** What becomes of the texts of errors: whole paths of files are shortened. */
  shown: (text: string) => string;
  /** Signs sessions; a secret of this installation. */
  sessionKey: string;
  keyValue: KeyValueStore;
  audit: AuditStore;
  /** Undefined while the web chat is off. */
  web: { port: NonNullable<HttpDeps["web"]>; pageFolder: string } | undefined;
  uploadsFolder: string;
  webhook?: Webhook;
  ingest?: HttpDeps["ingest"];
  caller: CallerDeps;
}

export interface HttpServer {
  /** Resolves when it listens. Rejects with PORT_TAKEN or LISTEN_FAILED. */
  start(): Promise<void>;
  /** Ends live pages, lets requests under way finish, closes. */
  stop(): Promise<void>;
  /** Where it listens, after `start()`. */
  readonly url: string;
}

const JSON_LIMIT_BYTES = 4 * 1024 * 1024;
/** The limit of a request that needs no login. */
const ANYONE_LIMIT_BYTES = 4 * 1024;
const BODY_WITHIN_MS = 30_000;
/** Where a proxy of ours can be: this machine and private networks. */
const PROXIES = ["loopback", "linklocal", "uniquelocal"];
const HEADERS_WITHIN_MS = 5_000;
/** From this part of `max_connections` on, room is made for others. */
const CROWDED = 0.9;
/** Files that were sent up and are in no message. */
const UNSENT_KEPT_MS = 24 * 3_600_000;
const SWEEP_EVERY_MS = 6 * 3_600_000;
/** As long as what they created is kept, unless retention keeps that for longer. */
const IDEMPOTENCY_KEPT_MS = 90 * 24 * 3_600_000;

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { config, host, port, clock, logger } = options;
  const stopping = new AbortController();
  const guard = createGuard(host, trustedHosts(config));
  const people = createPeople({
    listed: options.people,
    gatewayName: options.gatewayName,
    names: options.keyValue,
    sessionKey: options.sessionKey,
  });
  const perMinute = createPerMinute(clock);
  const sessions = createSessions({
    store: options.keyValue,
    keyOf: people.keyOf,
    clock,
    lifeMs: config.session_life,
  });
  const failedTokens = createFailedTokens({ perMinute, audit: options.audit, metrics: options.metrics, clock, logger });
  const uploads = createUploads(options.uploadsFolder, {
    maxBytes: config.max_upload_mb * 1_000_000,
    quotaBytes: config.uploads_quota_mb * 1_000_000,
  });
  const idempotencyKeys = createIdempotencyKeys(options.keyValue, clock);
  const deps: HttpDeps = {
    config,
    gateway: options.gateway,
    checkStore: options.checkStore,
    storeWarnings: options.storeWarnings,
    hasStarted: options.hasStarted,
    problems: options.problems,
    web: options.web?.port,
    isWebBroken: options.isWebBroken,
    offeredTo: options.offeredTo,
    auth: createAuth({ people, guard, sessions, failedTokens, perMinute, clock, sessionLifeMs: config.session_life }),
    people,
    uploads,
    limits: createLimits({
      config,
      commandsPerMinute: options.commandsPerMinute,
      gateway: options.gateway,
      perMinute,
      logger,
    }),
    streams: createStreams(),
    idempotencyKeys,
    ingest: options.ingest,
    waitingRuns: options.waitingRuns,
    causeOf: createCauseOf(options.caller),
    metrics: options.metrics,
    metricsNeedToken: metricsNeedToken(config, host),
    clock,
    logger,
    stopping: stopping.signal,
  };
  const app = Fastify({
    bodyLimit: JSON_LIMIT_BYTES,
    // A client that connects from elsewhere is no proxy of ours, regardless of its headers.
    trustProxy: config.behind_proxy && PROXIES,
    // The longest that any request may take to arrive; most have less (see limitBodies).
    requestTimeout: UPLOAD_WITHIN_MS,
    // A connection that sends nothing holds a place of `max_connections`: it ends after seconds, not after a minute.
    http: { headersTimeout: HEADERS_WITHIN_MS, connectionsCheckingInterval: 1_000 },
    forceCloseConnections: "idle",
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
  });
  app.server.maxConnections = config.max_connections;
  app.server.on("drop", (dropped) => {
    if (perMinute.add("connections") > 1) return;
    logger.warn(
      { address: dropped?.remoteAddress, max: config.max_connections },
      "a connection was refused: http.max_connections are open; reported once a minute",
    );
  });
  const connections = watchConnections(app.server, {
    clock,
    crowdedAt: config.max_connections * CROWDED,
    onMadeRoom({ remoteAddress }) {
      if (perMinute.add("crowded") > 1) return;
      logger.warn(
        { address: remoteAddress, max: config.max_connections },
        "the connection that waited longest was ended: nine tenths of http.max_connections are open; reported once a minute",
      );
    },
  });
  let sweep: Timer | undefined;
  let url = "";
  let otherLoopback: OtherLoopback | undefined;

  async function build(): Promise<void> {
    const byAddress = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
    const routeOf = ({ method, routeOptions }: FastifyRequest) => byAddress.get(`${method} ${routeOptions.url}`);
    answerErrors(app, deps, options.shown, routeOf);
    const unguarded = new Set(
      routes.filter(({ access }) => access === "probe" || access === "signed").map(({ path }) => path),
    );
    if (options.webhook) unguarded.add(options.webhook.path);
    // No one reads the answer: its connection ended, or had too many requests under way.
    app.addHook("onRequest", (request, reply, done) => {
      if (request.raw.socket.destroyed) reply.hijack();
      else done();
    });
    app.addHook("onRequest", async (request) => {
      if (!unguarded.has(request.routeOptions.url ?? "")) guard.checkHost(request);
    });
    app.addHook("onSend", async (request, reply, payload) => {
      const proof =
        typeof payload === "string" ? deps.auth.proof(request, { status: reply.statusCode, body: payload }) : undefined;
      if (proof !== undefined) reply.header(PROOF_HEADER, proof);
    });
    app.addHook("onRequest", async (request) => {
      if (hasBody(request.raw) && takesForms(routeOf(request))) deps.limits.checkMalformed(request);
    });
    const bodyWithinMs = (request: FastifyRequest) => routeOf(request)?.bodyWithinMs ?? BODY_WITHIN_MS;
    limitBodies(app, { clock, logger }, bodyWithinMs, connections.keep);
    takeJson(app);
    await app.register(fastifyHelmet, HELMET);
    await app.register(fastifyCookie);
    // A body without a login is not read, whatever its length.
    app.addHook("onRequest", async (request) => {
      if (!hasBody(request.raw) || routeOf(request)?.access !== "person") return;
      const { raw } = request;
      const person = await deps.auth.needHead(request);
      const isShared = !raw.complete && deps.limits.sending(person, connections.awaited(person.id));
      connections.keep(raw, isShared ? person.id : undefined);
    });
    await app.register(fastifyRateLimit, { global: false, errorResponseBuilder: tooOften });
    for (const route of routes) if (!route.takesBytes) addRoute(app, route, deps);
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
      for (const route of routes) if (route.takesBytes) addRoute(scope, route, deps);
    });
    if (options.webhook) addWebhook(app, options.webhook);
    if (options.web)
      await app.register(fastifyStatic, {
        root: options.web.pageFolder,
        cacheControl: false,
        etag: true,
        setHeaders: revalidated,
      });
  }

  function sweepOld(): void {
    const now = clock.now();
    const tell = (what: string) => (error: unknown) =>
      logger.warn({ error: errorMessage(error) }, `old ${what} were not removed`);
    uploads.sweep({ before: now - config.uploads_keep, unsentBefore: now - UNSENT_KEPT_MS }).catch(tell("uploads"));
    sessions.sweep().catch(tell("sessions"));
    idempotencyKeys.sweep(now - IDEMPOTENCY_KEPT_MS, stopping.signal).catch(tell("Idempotency-Keys"));
    sweep = clock.after(SWEEP_EVERY_MS, sweepOld);
  }

  return {
    get url() {
      return url;
    },
    async start() {
      await build();
      try {
        await app.listen({ host, port });
      } catch (error) {
        throw cannotListen(error, host, port);
      }
      url = urlOf(app, host);
      try {
        otherLoopback = await takeOtherLoopback(app.server, host, Number(new URL(url).port || 80));
      } catch (error) {
        await app.close();
        throw error;
      }
      sweepOld();
      logger.info({ url }, "the web server listens");
    },
    async stop() {
      stopping.abort();
      sweep?.cancel();
      await connections.end(async () => {
        await Promise.all([otherLoopback?.close(), app.close()]);
      });
    },
  };
}

/** Scripts, styles and pictures come from here only; no frames; no plain-HTTP upgrade, because loopback has no certificate. */
const HELMET = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", "data:", "blob:"],
      mediaSrc: ["'self'", "blob:"],
      connectSrc: ["'self'"],
      fontSrc: ["'self'"],
      manifestSrc: ["'self'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
      baseUri: ["'none'"],
    },
  },
  strictTransportSecurity: false,
  xFrameOptions: { action: "deny" as const },
  referrerPolicy: { policy: "no-referrer" as const },
};

/** Routes parse with zod: fastify's compilers of JSON schemas, a tenth of the start, are never loaded. */
function noSchemas(): never {
  throw new Error("routes have no JSON schemas: they parse with zod");
}

/** Many clients name the type of a body that they do not send. */
function takeJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") return done(null, undefined);
    const excess = jsonExcess(String(body));
    if (excess !== undefined) done(new HookgateError({ code: "BODY_INVALID", message: `the body ${excess}` }));
    else parse(request, String(body), done);
  });
}

/** Events and calls of platforms prove themselves. */
const takesForms = (route: Route | undefined) => route?.access === "anyone" || route?.access === "person";

/** Nothing that a logged-in person asked for: the body could not be read, or is not what a request without a login sends. */
function isMalformed(status: number, { body }: FastifyRequest, route: Route | undefined): boolean {
  if (status !== 400 && status !== 413 && status !== 415) return false;
  return route?.access === "anyone" || (takesForms(route) && body === undefined);
}

function addRoute(app: FastifyInstance, route: Route, deps: HttpDeps): void {
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit: route.access === "anyone" ? ANYONE_LIMIT_BYTES : undefined,
    config: route.perMinute === undefined ? undefined : { rateLimit: { max: route.perMinute, timeWindow: "1 minute" } },
    handler: (request, reply) => route.run(deps, request, reply),
  });
}

function answerErrors(
  app: FastifyInstance,
  { web, isWebBroken, logger, limits }: HttpDeps,
  shown: (text: string) => string,
  routeOf: (request: FastifyRequest) => Route | undefined,
): void {
  app.setErrorHandler((thrown, request, reply) => {
    const first = errorAnswer(thrown);
    const tooMany =
      hasBody(request.raw) && isMalformed(first.status, request, routeOf(request))
        ? limits.malformed(request)
        : undefined;
    const error = tooMany ?? thrown;
    const { status, body } = mapTexts(tooMany ? errorAnswer(tooMany) : first, shown);
    // The sender, or the deadline of bodies, ended it: no failure of ours.
    const isCutOff = request.raw.destroyed && !request.raw.complete;
    if (status >= 500 && !isCutOff)
      logger.error(
        {
          method: request.method,
          route: request.routeOptions.url,
          error: errorMessage(error),
          cause: error instanceof HookgateError && error.cause ? errorMessage(error.cause) : undefined,
        },
        "a request failed",
      );
    if (status === 429 && error instanceof HookgateError && error.retryAfterMs !== undefined)
      reply.header("retry-after", String(Math.ceil(error.retryAfterMs / 1000)));
    // A live stream has no way to answer any more: it ends, and the page comes back.
    if (reply.raw.headersSent) return reply.raw.destroy();
    return answerError(request, reply, { status, body });
  });
  app.setNotFoundHandler((request, reply) => {
    const { pathname } = new URL(request.url, "http://localhost");
    // A browser that was sent to a mistyped address; programs ask for JSON, or for anything.
    const isVisit = request.method === "GET" && request.headers.accept?.includes("text/html") === true;
    if (isVisit && !pathname.startsWith("/api/")) {
      reply.type("text/html; charset=utf-8");
      if (web === undefined) return reply.code(isWebBroken ? 503 : 404).send(webIsOff(isWebBroken));
      return reply.code(404).send(NOTHING_HERE);
    }
    const missing = `there is nothing at ${request.method} ${pathname}`;
    return answerError(request, reply, errorAnswer(new HookgateError({ code: "ROUTE_NOT_FOUND", message: missing })));
  });
}

const NOTHING_HERE = `<!doctype html>
<html lang="en">
  <head>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Nothing here – Hookgate</title>
    <link rel="stylesheet" href="/style.css">
  </head>
  <body>
    <main class="login-page">
      <div class="login card-box"><h1>Nothing here</h1><p>There is no page at this address. <a href="/">Open the chat</a></p></div>
    </main>
  </body>
</html>
`;

/** For anyone who has the address: no setting and no path. The page's own style is not served while it is off. */
function webIsOff(isBroken: boolean): string {
  const why = isBroken ? "its settings have a mistake" : "it is switched off in the gateway's configuration";
  const fix = isBroken
    ? "run <code>npx hookgate check</code>, which shows the mistake, fix it"
    : "set <code>web.enabled: true</code> in hookgate.yaml";
  return `<!doctype html>
<html lang="en">
  <head>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>The web chat is off – Hookgate</title>
  </head>
  <body>
    <h1>The web chat is off</h1>
    <p>The gateway runs, and its web chat is off, because ${why}.</p>
    <p>If you run this gateway: ${fix}, then restart the gateway and reload this page.</p>
    <p>If another person runs it, ask that person to do this.</p>
  </body>
</html>
`;
}

function answerError(request: FastifyRequest, reply: FastifyReply, answer: ErrorAnswer): FastifyReply {
  reply.code(answer.status);
  const isEvent = request.url.startsWith(`${INGEST_ROOT}/`);
  if (answer.status === 401 && !isEvent) reply.header("www-authenticate", "Bearer");
  // The rest of a body that is not read would hold the connection.
  if (answer.status === 413 || (answer.status === 429 && !request.raw.complete)) reply.header("connection", "close");
  if (!isEvent && !request.url.startsWith(`${API_ROOT}/`)) return reply.send(answer.body);
  return reply.header("content-type", PROBLEM_TYPE).send(JSON.stringify(problemOf(answer)));
}

function tooOften(_request: unknown, { after }: { after: string }): Error {
  return new HookgateError({
    code: "RATE_LIMITED",
    message: `too many requests; try again in ${after}`,
    retryable: true,
  });
}

/** Where people are told to open the page, it answers. */
function trustedHosts({ trusted_hosts: hosts, public_url: url }: HttpConfig): string[] {
  return url === undefined ? hosts : [...hosts, new URL(url).host];
}

function urlOf(app: FastifyInstance, host: string): string {
  const bound = app.server.address();
  const port = bound !== null && typeof bound === "object" ? bound.port : 0;
  const name = host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** After an update the page and its scripts fit each other: a browser asks each time, and is told that nothing changed. */
function revalidated(reply: { header(name: string, value: string): unknown }): void {
  reply.header("cache-control", "no-cache");
}
