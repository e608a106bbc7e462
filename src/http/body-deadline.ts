/** A request body that does not arrive in time ends its connection: without it, a body of one byte a minute would hold one for hours. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../lib/clock.js";
import type { Logger } from "../lib/logger.js";

const ANSWER = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

export function limitBodies(
  app: FastifyInstance,
  { clock, logger }: { clock: Clock; logger: Logger },
  withinMs: (request: FastifyRequest) => number,
): void {
  app.addHook("onRequest", async (request, reply) => {
    const { raw } = request;
    if (!hasBody(request)) return;
    const deadline = clock.after(withinMs(request), () => {
      if (raw.complete || raw.socket.destroyed) return;
      const facts = { method: request.method, route: request.routeOptions.url, from: request.ip };
      logger.info(facts, "a body did not arrive in time: its connection was closed");
      if (!reply.raw.headersSent) raw.socket.write(ANSWER);
      raw.socket.destroySoon();
    });
    raw.once("end", () => deadline.cancel());
    raw.once("close", () => deadline.cancel());
  });
}

export function hasBody({ raw }: FastifyRequest): boolean {
  return raw.headers["content-length"] !== undefined || raw.headers["transfer-encoding"] !== undefined;
}
