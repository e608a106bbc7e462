/** The HTTP server: the page, the API, live changes, probes and the webhook, on one port. */
import fastifyCookie from "@fastify/cookie";
import fastifyHelmet from "@fastify/helmet";
import fastifyRateLimit from "@fastify/rate-limit";
import fastifyStatic from "@fastify/static";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import type { AuditStore, KeyValueStore } from "../domain/store.js";
import { createPerMinute, type PerMinute } from "../lib/concurrency/per-minute.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { PROOF_HEADER } from "../lib/signing/signed-call.js";
import type { Clock, Timer } from "../lib/time/clock.js";
import { DAY_MS, HOUR_MS } from "../lib/time/duration.js";
import { answerErrors, takesForms } from "./answer-errors.js";
import { Auth } from "./auth.js";
import { hasBody, limitBodies } from "./body-deadline.js";
import { type CallerDeps, createCauseOf } from "./caller.js";
import type { HttpConfig } from "./config.js";
import { type Connections, watchConnections } from "./connections.js";
import { createFailedTokens } from "./failed-tokens.js";
import { cannotListen } from "./free-port.js";
import { createGuard, type Guard, metricsNeedToken } from "./guard.js";
import { createIdempotencyKeys } from "./idempotency.js";
import { takeJson } from "./json-body.js";
import { createLimits } from "./limits.js";
import { type OtherLoopback, takeOtherLoopback } from "./localhost.js";
import { createPeople, type Person, type PersonWithToken } from "./people.js";
import type { HttpDeps, Route } from "./route.js";
import { routes } from "./routes/index.js";
import { createSessions, type Sessions } from "./session.js";
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
    | "hasLogFailed"
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
  /** The name of the gateway in the web chat. */
  gatewayName: string;
  /** Commands of one person in a minute, as in chat. */
  commandsPerMinute: number;
  /** Changes the texts of errors: whole paths of files are shortened. */
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
/** The bytes of a message beside its text, or of a form's five values, of 10,000 characters each; and of one character (`\u0041`). */
const AROUND_TEXT_BYTES = 310_000;
const CHARACTER_BYTES = 6;
/** The limit of a command: in chat a line has 100,000 characters. A payload for trying a hook is read, checked and masked as one. */
const COMMAND_LIMIT_BYTES = AROUND_TEXT_BYTES + CHARACTER_BYTES * 100_000;
const BODY_WITHIN_MS = 30_000;
/** Where a proxy of ours can be: this machine and private networks. */
const PROXIES = ["loopback", "linklocal", "uniquelocal"];
const HEADERS_WITHIN_MS = 5_000;
/** From this part of `max_connections` on, room is made for others. */
const CROWDED = 0.9;
/** Files that were sent up and are in no message. */
const UNSENT_KEPT_MS = DAY_MS;
const SWEEP_EVERY_MS = 6 * HOUR_MS;
/** Keys are kept as long as the objects that they created, unless retention keeps those for longer. */
const IDEMPOTENCY_KEPT_MS = 90 * DAY_MS;

export function createHttpServer(options: HttpServerOptions): HttpServer {
  return new FastifyServer(options);
}

class FastifyServer implements HttpServer {
  readonly #options: HttpServerOptions;
  readonly #guard: Guard;
  readonly #sessions: Sessions;
  /** The dependencies of routes. */
  readonly #deps: HttpDeps;
  readonly #app: FastifyInstance;
  readonly #connections: Connections;
  readonly #stopping = new AbortController();
  #url = "";
  #otherLoopback: OtherLoopback | undefined;
  #sweep: Timer | undefined;

  constructor(options: HttpServerOptions) {
    const { config, host, gateway, keyValue, audit, metrics, clock, logger } = options;
    const perMinute = createPerMinute(clock);
    const guard = createGuard(host, trustedHosts(config));
    const people = createPeople({
      listed: options.people,
      gatewayName: options.gatewayName,
      names: keyValue,
      sessionKey: options.sessionKey,
    });
    const sessions = createSessions({ store: keyValue, keyOf: people.keyOf, clock, lifeMs: config.session_life });
    const failedTokens = createFailedTokens({ perMinute, audit, metrics, clock, logger });
    this.#options = options;
    this.#guard = guard;
    this.#sessions = sessions;
    this.#deps = {
      config,
      gateway,
      checkStore: options.checkStore,
      storeWarnings: options.storeWarnings,
      hasLogFailed: options.hasLogFailed,
      hasStarted: options.hasStarted,
      problems: options.problems,
      web: options.web?.port,
      isWebBroken: options.isWebBroken,
      offeredTo: options.offeredTo,
      auth: new Auth({ people, guard, sessions, failedTokens, perMinute, clock, sessionLifeMs: config.session_life }),
      people,
      uploads: createUploads(options.uploadsFolder, {
        maxBytes: config.max_upload_mb * 1_000_000,
        quotaBytes: config.uploads_quota_mb * 1_000_000,
      }),
      limits: createLimits({ config, commandsPerMinute: options.commandsPerMinute, gateway, perMinute, logger }),
      streams: createStreams(),
      idempotencyKeys: createIdempotencyKeys(keyValue, clock),
      ingest: options.ingest,
      waitingRuns: options.waitingRuns,
      causeOf: createCauseOf(options.caller),
      metrics,
      metricsNeedToken: metricsNeedToken(config, host),
      clock,
      logger,
      stopping: this.#stopping.signal,
    };
    this.#app = openApp(config);
    this.#connections = boundConnections(this.#app, config, { perMinute, clock, logger });
  }

  get url(): string {
    return this.#url;
  }

  async start(): Promise<void> {
    const { host, port, logger } = this.#options;
    const app = this.#app;
    await this.#build();
    try {
      await app.listen({ host, port });
    } catch (error) {
      throw cannotListen(error, host, port);
    }
    this.#url = urlOf(app, host);
    try {
      this.#otherLoopback = await takeOtherLoopback(app.server, host, Number(new URL(this.#url).port || 80));
    } catch (error) {
      await app.close();
      throw error;
    }
    this.#sweepOld();
    logger.info({ url: this.#url }, "the web server listens");
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#sweep?.cancel();
    await this.#connections.end(async () => {
      await Promise.all([this.#otherLoopback?.close(), this.#app.close()]);
    });
  }

  async #build(): Promise<void> {
    const { shown, webhook, web } = this.#options;
    const app = this.#app;
    const deps = this.#deps;
    const byAddress = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
    const routeOf = ({ method, routeOptions }: FastifyRequest) => byAddress.get(`${method} ${routeOptions.url}`);
    answerErrors(app, deps, shown, routeOf);
    this.#addHooks(routeOf);
    const senders = new WeakMap<FastifyRequest, Person>();
    takeJson(app, senders, deps.limits);
    await app.register(fastifyHelmet, HELMET);
    await app.register(fastifyCookie);
    this.#admitBodies(routeOf, senders);
    await app.register(fastifyRateLimit, { global: false, errorResponseBuilder: tooOften });
    for (const route of routes) if (!route.takesBytes) addRoute(app, route, deps);
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
      for (const route of routes) if (route.takesBytes) addRoute(scope, route, deps);
    });
    if (webhook) addWebhook(app, webhook);
    if (web)
      await app.register(fastifyStatic, {
        root: web.pageFolder,
        cacheControl: false,
        etag: true,
        setHeaders: revalidated,
      });
  }

  /** Adds the hooks that each request passes, in this order. */
  #addHooks(routeOf: RouteOf): void {
    const app = this.#app;
    const { auth, limits, clock, logger } = this.#deps;
    const unguarded = new Set(
      routes.filter(({ access }) => access === "probe" || access === "signed").map(({ path }) => path),
    );
    if (this.#options.webhook) unguarded.add(this.#options.webhook.path);
    // No one reads the answer: its connection ended, or had too many requests under way.
    app.addHook("onRequest", (request, reply, done) => {
      if (request.raw.socket.destroyed) reply.hijack();
      else done();
    });
    app.addHook("onRequest", async (request) => {
      if (!unguarded.has(request.routeOptions.url ?? "")) this.#guard.checkHost(request);
    });
    app.addHook("onSend", async (request, reply, payload) => {
      const proof =
        typeof payload === "string" ? auth.proof(request, { status: reply.statusCode, body: payload }) : undefined;
      if (proof !== undefined) reply.header(PROOF_HEADER, proof);
    });
    app.addHook("onRequest", async (request) => {
      if (hasBody(request.raw) && takesForms(routeOf(request))) limits.checkMalformed(request);
    });
    const bodyWithinMs = (request: FastifyRequest) => routeOf(request)?.bodyWithinMs ?? BODY_WITHIN_MS;
    limitBodies(app, { clock, logger }, bodyWithinMs, (request) => this.#connections.keep(request));
  }

  /** A body without a login, or of a person above a limit, is not read, however long it is. */
  #admitBodies(routeOf: RouteOf, senders: WeakMap<FastifyRequest, Person>): void {
    const { auth, limits } = this.#deps;
    this.#app.addHook("onRequest", async (request) => {
      const { raw } = request;
      const route = routeOf(request);
      if (!hasBody(raw) || route?.access !== "person") return;
      const person = await auth.needHead(request);
      const isShared = !raw.complete && limits.sending(person, this.#connections.awaited(person.id));
      if (route.counts !== undefined) limits.count(route.counts, person);
      this.#connections.keep(raw, isShared ? person.id : undefined);
      senders.set(request, person);
    });
  }

  #sweepOld(): void {
    const { config, uploads, idempotencyKeys, clock, logger } = this.#deps;
    const now = clock.now();
    const tell = (what: string) => (error: unknown) =>
      logger.warn({ error: errorMessage(error) }, `old ${what} were not removed`);
    uploads.sweep({ before: now - config.uploads_keep, unsentBefore: now - UNSENT_KEPT_MS }).catch(tell("uploads"));
    this.#sessions.sweep().catch(tell("sessions"));
    idempotencyKeys.sweep(now - IDEMPOTENCY_KEPT_MS, this.#stopping.signal).catch(tell("Idempotency-Keys"));
    this.#sweep = clock.after(SWEEP_EVERY_MS, () => this.#sweepOld());
  }
}

type RouteOf = (request: FastifyRequest) => Route | undefined;

function openApp(config: HttpConfig): FastifyInstance {
  return Fastify({
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
}

/** No more than `max_connections`; when most are open, new ones make room for themselves. */
function boundConnections(
  { server }: FastifyInstance,
  { max_connections: max }: HttpConfig,
  { perMinute, clock, logger }: { perMinute: PerMinute; clock: Clock; logger: Logger },
): Connections {
  server.maxConnections = max;
  server.on("drop", (dropped) => {
    if (perMinute.add("connections") > 1) return;
    logger.warn(
      { address: dropped?.remoteAddress, max },
      "a connection was refused: http.max_connections are open; reported once a minute",
    );
  });
  return watchConnections(server, {
    clock,
    crowdedAt: max * CROWDED,
    onMadeRoom({ remoteAddress }) {
      if (perMinute.add("crowded") > 1) return;
      logger.warn(
        { address: remoteAddress, max },
        "the connection that waited longest was ended: nine tenths of http.max_connections are open; reported once a minute",
      );
    },
  });
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

function addRoute(app: FastifyInstance, route: Route, deps: HttpDeps): void {
  const { counts, access } = route;
  const maxText = counts === "messages" && access !== "anyone" ? deps.web?.maxText : undefined;
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit: access === "anyone" ? ANYONE_LIMIT_BYTES : bodyLimitOf(counts, maxText),
    errorHandler: maxText === undefined ? undefined : (error) => throwReadable(error, maxText),
    config: route.perMinute === undefined ? undefined : { rateLimit: { max: route.perMinute, timeWindow: "1 minute" } },
    handler: (request, reply) => route.run(deps, request, reply),
  });
}

/** No more than the longest message needs, where it is one, or a command. */
function bodyLimitOf(counts: Route["counts"], maxText: number | undefined): number | undefined {
  if (counts === "commands") return COMMAND_LIMIT_BYTES;
  return maxText && Math.min(AROUND_TEXT_BYTES + CHARACTER_BYTES * maxText, JSON_LIMIT_BYTES);
}

/** For the handler of all errors. */
function throwReadable(error: unknown, maxText: number): never {
  if (!(error instanceof Error && "statusCode" in error && error.statusCode === 413)) throw error;
  throw new HookgateError({
    code: "TOO_LARGE",
    message: `this request is longer than any message: a message holds ${maxText} characters`,
    hint: "Send it in parts, or as a file.",
  });
}

function tooOften(_request: unknown, { after }: { after: string }): Error {
  return new HookgateError({
    code: "RATE_LIMITED",
    message: `too many requests; try again in ${after}`,
    retryable: true,
  });
}

/** The page answers at its public address, too: people are given that address. */
function trustedHosts({ trusted_hosts: hosts, public_url: url }: HttpConfig): string[] {
  return url === undefined ? hosts : [...hosts, new URL(url).host];
}

function urlOf(app: FastifyInstance, host: string): string {
  const bound = app.server.address();
  const port = bound !== null && typeof bound === "object" ? bound.port : 0;
  const name = host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** After an update the page and its scripts fit each other: a browser asks each time, and learns that nothing changed. */
function revalidated(reply: { header(name: string, value: string): unknown }): void {
  reply.header("cache-control", "no-cache");
}
