/** A request body that does not arrive in time ends its connection: without it, a body of one byte a minute would hold one for hours. */
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../lib/clock.js";
import type { Logger } from "../lib/logger.js";

const ANSWER = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/** `arrived` is called when a body is complete. */
export function limitBodies(
  app: FastifyInstance,
  { clock, logger }: { clock: Clock; logger: Logger },
  withinMs: (request: FastifyRequest) => number,
  arrived: (request: IncomingMessage) => void,
): void {
  app.addHook("onRequest", async (request, reply) => {
    const { raw } = request;
    if (!hasBody(raw)) return;
    const deadline = clock.after(withinMs(request), () => {
      if (!isAwaited(raw)) return;
      const facts = { method: request.method, route: request.routeOptions.url, from: request.ip };
      logger.info(facts, "a body did not arrive in time: its connection was closed");
      if (!reply.raw.headersSent) raw.socket.write(ANSWER);
      raw.socket.destroySoon();
    });
    // A request that was answered before its body came is closed, and its connection still waits for the rest.
    const settle = () => {
      if (isAwaited(raw)) return;
      deadline.cancel();
      arrived(raw);
    };
    raw.once("end", settle);
    raw.once("close", settle);
  });
}

const isAwaited = ({ complete, socket }: FastifyRequest["raw"]) => !complete && !socket.destroyed;

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}
