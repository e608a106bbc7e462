/** The answer to a request that fails or has no route: a problem, or a page for people who opened a wrong address. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { mapTexts } from "../lib/files/relative-paths.js";
import { API_ROOT } from "./api/endpoint.js";
import { PROBLEM_TYPE, problemOf } from "./api/problem.js";
import { hasBody } from "./body-deadline.js";
import { type ErrorAnswer, errorAnswer } from "./errors.js";
import type { HttpDeps, Route } from "./route.js";
import { INGEST_ROOT } from "./routes/ingest.js";

export function answerErrors(
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
  const isUnread = !request.raw.complete && (answer.status === 429 || answer.status >= 500);
  if (answer.status === 413 || isUnread) reply.header("connection", "close");
  if (!isEvent && !request.url.startsWith(`${API_ROOT}/`)) return reply.send(answer.body);
  return reply.header("content-type", PROBLEM_TYPE).send(JSON.stringify(problemOf(answer)));
}

/** Events and calls of platforms prove themselves. */
export const takesForms = (route: Route | undefined) => route?.access === "anyone" || route?.access === "person";

/** The request is not from a logged-in person: the body could not be read, or does not fit a request without a login. */
function isMalformed(status: number, { body }: FastifyRequest, route: Route | undefined): boolean {
  if (status !== 400 && status !== 413 && status !== 415) return false;
  return route?.access === "anyone" || (takesForms(route) && body === undefined);
}
