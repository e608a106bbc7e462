/**
 * Bounds how many requests one connection has under way; makes room for others while many connections are open; and ends an HTTP server without cutting answers off and without waiting for idle
 * connections. Browsers open connections ahead of need, and node counts one that has not sent anything yet as busy: closing alone would wait for it until it times out.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.js";
import { hasBody } from "./body-deadline.js";

/** Browsers have one request under way on a connection; programs that send the next before the answer have few. */
const MAX_ON_ONE_CONNECTION = 16;

/** For answers that do not come to an end. */
const LONGEST_WAIT_MS = 5000;

export interface Connections {
  /** The body of its request has arrived, or its sender is logged in: it does not end to make room before it is answered. */
  keep(request: IncomingMessage): void;
  /** `close` stops listening; resolves when it has, with answers under way finished. */
  end(close: () => Promise<void>): Promise<void>;
}

/** From `crowdedAt` open ones on, each new one ends the one that has waited longest; `onMadeRoom` is called each time. */
export function watchConnections(
  server: Server,
  { clock, crowdedAt, onMadeRoom }: { clock: Clock; crowdedAt: number; onMadeRoom: (ended: Socket) => void },
): Connections {
  const underWay = new Map<Socket, Set<ServerResponse>>();
  /** For the head of a request, or for the body of a stranger's; the one that has waited longest first. */
  const waiting = new Set<Socket>();
  let isEnding = false;
  const endIdle = () => {
    if (isEnding && [...underWay.values()].every(({ size }) => size === 0)) server.closeAllConnections();
  };
  server.on("connection", (socket: Socket) => {
    const [longest] = waiting;
    if (longest && underWay.size >= crowdedAt) {
      waiting.delete(longest);
      onMadeRoom(longest);
      longest.destroy();
    }
    underWay.set(socket, new Set());
    waiting.add(socket);
    // An answer that waited for its turn on this connection is not closed with it.
    socket.once("close", () => {
      underWay.delete(socket);
      waiting.delete(socket);
      endIdle();
    });
  });
  // Before the request is handled: one that came with many others must cost nothing more.
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const onThis = underWay.get(socket);
    if (!onThis) return;
    onThis.add(response);
    waiting.delete(socket);
    if (hasBody(request)) waiting.add(socket);
    if (onThis.size > MAX_ON_ONE_CONNECTION) socket.destroy();
    response.once("close", () => {
      onThis.delete(response);
      if (onThis.size === 0 && !socket.destroyed) waiting.add(socket);
      endIdle();
    });
  });
  return {
    keep(request) {
      // Another one may have come on this connection, whose body is awaited.
      const latest = [...(underWay.get(request.socket) ?? [])].at(-1);
      if (latest?.req === request) waiting.delete(request.socket);
    },
    async end(close) {
      isEnding = true;
      const giveUp = clock.after(LONGEST_WAIT_MS, () => server.closeAllConnections());
      const closed = close();
      endIdle();
      // Once more for a connection that came in while the listening socket was being closed.
      const again = clock.after(100, endIdle);
      await closed;
      again.cancel();
      giveUp.cancel();
    },
  };
}
