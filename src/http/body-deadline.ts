/**
 * A request body that does not arrive in time ends its connection: without it, a body of one byte a minute would hold one for hours. When
 * few places are left, connections that hold one for nothing end at once, or strangers could keep everyone out.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../lib/clock.js";
import type { Logger } from "../lib/logger.js";

const ANSWER = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

export interface Bodies {
  /** The sender is logged in: others get no room at the expense of this body. */
  trust(request: FastifyRequest): void;
  /** Ends the oldest connection of a stranger whose body has not arrived, and those between two requests. */
  makeRoom(): void;
}

export function limitBodies(
  app: FastifyInstance,
  { clock, logger }: { clock: Clock; logger: Logger },
  withinMs: (request: FastifyRequest) => number,
): Bodies {
  /** Whose sender has not shown a login, oldest first. */
  const halfSent = new Set<FastifyRequest["raw"]>();
  app.addHook("onRequest", async (request, reply) => {
    const { raw } = request;
    if (!hasBody(request)) return;
    const deadline = clock.after(withinMs(request), () => {
      halfSent.delete(raw);
      if (!isAwaited(raw)) return;
      const facts = { method: request.method, route: request.routeOptions.url, from: request.ip };
      logger.info(facts, "a body did not arrive in time: its connection was closed");
      if (!reply.raw.headersSent) raw.socket.write(ANSWER);
      raw.socket.destroySoon();
    });
    halfSent.add(raw);
    // A request that was answered before its body came is closed, and its connection still waits for the rest.
    const settle = () => {
      if (!isAwaited(raw)) {
        deadline.cancel();
        halfSent.delete(raw);
      }
    };
    raw.once("end", settle);
    raw.once("close", settle);
  });
  return {
    trust: ({ raw }) => void halfSent.delete(raw),
    makeRoom() {
      app.server.closeIdleConnections();
      for (const raw of halfSent) {
        halfSent.delete(raw);
        if (isAwaited(raw)) return void raw.socket.destroy();
      }
    },
  };
}

const isAwaited = ({ complete, socket }: FastifyRequest["raw"]) => !complete && !socket.destroyed;

export function hasBody({ raw }: FastifyRequest): boolean {
  return raw.headers["content-length"] !== undefined || raw.headers["transfer-encoding"] !== undefined;
}
