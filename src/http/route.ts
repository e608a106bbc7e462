/** A route as a declaration: its access, its parameters (zod), its action. The server and docs/http-api.md derive from it. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { WebPort } from "../../adapters/web/port.js";
import type { Ingest } from "../automations/ingest/ingest.js";
import type { CommandSpec } from "../domain/chat/command.js";
import type { Operator } from "../domain/chat/identity.js";
import type { Cause } from "../domain/journal.js";
import type { Gateway } from "../gateway/gateway.js";
import { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import { valueProblem } from "../lib/validation/value-problem.js";
import type { Auth } from "./auth.js";
import { hasBody } from "./body-deadline.js";
import type { HttpConfig } from "./config.js";
import type { IdempotencyKeys } from "./idempotency.js";
import type { Counted, Limits } from "./limits.js";
import type { Metrics } from "./metrics.js";
import type { People, Person } from "./people.js";
import type { Streams } from "./streams.js";
import type { Uploads } from "./uploads.js";

/** The dependencies of routes. */
export interface HttpDeps {
  config: HttpConfig;
  gateway: Pick<Gateway, "invoke" | "status" | "identify" | "listens" | "takesCopies" | "answersTo">;
  /** Rejects with the error that writes would meet. */
  checkStore(): Promise<void>;
  /** How many losses of the store do not stop the gateway. */
  storeWarnings(): number;
  /** All is up: triggers watch, timers run. */
  hasStarted(): boolean;
  /** The log cannot be written, or nothing reads it. */
  hasLogFailed(): boolean;
  /** How many problems the configuration in force has, a rejected newer one included. */
  problems(): Promise<number>;
  /** Which of these commands a person is offered in the web chat. */
  offeredTo(operator: Operator, commands: readonly CommandSpec[]): Promise<readonly CommandSpec[]>;
  /** Absent when the web chat is off. */
  web: WebPort | undefined;
  /** The web chat is off because its settings cannot be used; else it is switched off. */
  isWebBroken: boolean;
  auth: Auth;
  people: People;
  uploads: Uploads;
  limits: Limits;
  streams: Streams;
  idempotencyKeys: IdempotencyKeys;
  /** Absent when no events are declared. */
  ingest: Ingest | undefined;
  /** How many stored runs wait, by hook. */
  waitingRuns(): ReadonlyMap<string, number>;
  /** The run of a hook whose program asks, when it is one. */
  causeOf(request: FastifyRequest): Promise<Cause | undefined>;
  metrics: Metrics;
  metricsNeedToken: boolean;
  clock: Clock;
  logger: Logger;
  /** Aborts when the server stops. */
  stopping: AbortSignal;
}

export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  /** `person`: a token or a session. `probe`: anyone, under any host name. `signed`: as `probe`, and the request proves itself. */
  access: "anyone" | "person" | "probe" | "signed";
  /** For docs/http-api.md, where the configuration decides it. */
  shownAccess?: string;
  summary: string;
  /** Requests a minute from one address. */
  perMinute?: number;
  /** The limit per person and minute that its requests count towards. */
  counts?: Counted;
  /** Its answer can be long: one person may have few of them under way. */
  isLong?: boolean;
  /** How long its body may take to arrive; 30 s when absent. */
  bodyWithinMs?: number;
  /** The body is bytes, given as a stream. */
  takesBytes?: boolean;
  run(deps: HttpDeps, request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

export interface Input<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  request: FastifyRequest;
  reply: FastifyReply;
}

interface Declaration<P, Q, B> extends Omit<Route, "run" | "access"> {
  params?: z.ZodType<P>;
  query?: z.ZodType<Q>;
  body?: z.ZodType<B>;
}

/** A route for logged-in people. */
export function personRoute<P = unknown, Q = unknown, B = unknown>(
  declaration: Declaration<P, Q, B> & {
    handle(deps: HttpDeps, input: Input<P, Q, B> & { person: Person }): Promise<unknown>;
  },
): Route {
  const { handle, params, query, body, ...rest } = declaration;
  return {
    ...rest,
    access: "person",
    async run(deps, request, reply) {
      const person = await deps.auth.need(request);
      // A request with a body was counted before the body was read.
      if (rest.counts !== undefined && !hasBody(request.raw)) deps.limits.count(rest.counts, person);
      if (rest.isLong) await deps.limits.answering(person, reply.raw);
      const input = read({ params, query, body }, request);
      return handle(deps, { ...input, person, request, reply });
    },
  };
}

/** A route for anyone. */
export function openRoute<P = unknown, Q = unknown, B = unknown>(
  declaration: Declaration<P, Q, B> & {
    access: "anyone" | "probe" | "signed";
    handle(deps: HttpDeps, input: Input<P, Q, B>): Promise<unknown>;
  },
): Route {
  const { handle, params, query, body, ...rest } = declaration;
  return {
    ...rest,
    run: async (deps, request, reply) => handle(deps, { ...read({ params, query, body }, request), request, reply }),
  };
}

/** The web chat, for routes that are its. */
export function needWeb({ web, isWebBroken }: HttpDeps): WebPort {
  if (web) return web;
  if (isWebBroken)
    throw new HookgateError({
      code: "WEB_OFFLINE",
      message: "the web chat is off, because its settings have a mistake",
      hint: "`npx hookgate check` shows the mistake. Fix it and restart the gateway.",
    });
  throw new HookgateError({
    code: "ROUTE_NOT_FOUND",
    message: "the web chat is switched off",
    hint: "web.enabled in hookgate.yaml switches it on.",
  });
}

function read<P, Q, B>(
  schemas: { params?: z.ZodType<P>; query?: z.ZodType<Q>; body?: z.ZodType<B> },
  request: FastifyRequest,
): { params: P; query: Q; body: B } {
  return {
    params: parse(schemas.params, request.params, "the address"),
    query: parse(schemas.query, request.query, "the query"),
    body: parse(schemas.body, request.body, "the body"),
  };
}

function parse<T>(schema: z.ZodType<T> | undefined, value: unknown, where: string): T {
  const parsed = (schema ?? (z.unknown() as z.ZodType<T>)).safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = valueProblem(schema ?? z.unknown(), value);
  throw new HookgateError({ code: "BODY_INVALID", message: `${where} is not as expected: ${problems}` });
}
