/** A request body that does not arrive in time, or too slowly, ends its connection: without it, a body of one byte a minute would hold one for hours. */
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Logger } from "../lib/logger.js";
import type { Clock, Timer } from "../lib/time/clock.js";

const ANSWER = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/** A body that may take longer than this must bring at least so much in each of these times: 1 KB a second. */
const RATE_WITHIN_MS = 30_000;
const RATE_BYTES = 30_000;

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
    // A request that was destroyed has no socket any more.
    const { socket } = raw;
    const isAwaited = () => !raw.complete && !socket.destroyed;
    let countedBytes = socket.bytesRead;
    const within = (leftMs: number): Timer => clock.after(Math.min(leftMs, RATE_WITHIN_MS), () => check(leftMs));
    function check(leftMs: number): void {
      if (!isAwaited()) {
        settle();
        return;
      }
      const { bytesRead } = socket;
      if (leftMs > RATE_WITHIN_MS && bytesRead - countedBytes >= RATE_BYTES) {
        countedBytes = bytesRead;
        deadline = within(leftMs - RATE_WITHIN_MS);
        return;
      }
      const facts = { method: request.method, route: request.routeOptions.url, from: request.ip };
      logger.info(facts, "a body did not arrive in time: its connection was closed");
      if (!reply.raw.headersSent) socket.write(ANSWER);
      socket.destroySoon();
    }
    let deadline = within(withinMs(request));
    // A request that was answered before its body came is closed, and its connection still waits for the rest.
    const settle = () => {
      if (isAwaited()) return void socket.once("close", settle);
      socket.off("close", settle);
      deadline.cancel();
      arrived(raw);
    };
    raw.once("end", settle);
    raw.once("close", settle);
  });
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}
