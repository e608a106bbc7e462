/**
 * Bounds how many requests one connection has under way; and ends an HTTP server without cutting answers off and without waiting for idle connections. Browsers open connections ahead of need, and
 * node counts one that has not sent anything yet as busy: closing alone would wait for it until it times out.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.js";

/** Browsers have one request under way on a connection; programs that send the next before the answer have few. */
const MAX_ON_ONE_CONNECTION = 16;

/** For answers that do not come to an end. */
const LONGEST_WAIT_MS = 5000;

export interface Connections {
  /** `close` stops listening; resolves when it has, with answers under way finished. */
  end(close: () => Promise<void>): Promise<void>;
}

export function watchConnections(server: Server, clock: Clock): Connections {
  const underWay = new Map<Socket, Set<ServerResponse>>();
  let isEnding = false;
  const endIdle = () => {
    if (isEnding && [...underWay.values()].every(({ size }) => size === 0)) server.closeAllConnections();
  };
  // Before the request is handled: one that came with many others must cost nothing more.
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const onThis = underWay.get(socket) ?? new Set();
    if (!underWay.has(socket)) {
      underWay.set(socket, onThis);
      // An answer that waited for its turn on this connection is not closed with it.
      socket.once("close", () => {
        underWay.delete(socket);
        endIdle();
      });
    }
    onThis.add(response);
    if (onThis.size > MAX_ON_ONE_CONNECTION) socket.destroy();
    response.once("close", () => {
      onThis.delete(response);
      endIdle();
    });
  });
  return {
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
