/**
 * Ends an HTTP server without cutting answers off and without waiting for idle connections. Browsers open connections ahead of need, and
 * node counts one that has not sent anything yet as busy: closing alone would wait for it until it times out.
 */
import type { Server, ServerResponse } from "node:http";
import type { Clock } from "../lib/clock.js";

/** For answers that do not come to an end. */
const LONGEST_WAIT_MS = 5000;

export interface Connections {
  /** `close` stops listening; resolves when it has, with answers under way finished. */
  end(close: () => Promise<void>): Promise<void>;
}

export function watchConnections(server: Server, clock: Clock): Connections {
  const underWay = new Set<ServerResponse>();
  let isEnding = false;
  const endIdle = () => {
    if (isEnding && underWay.size === 0) server.closeAllConnections();
  };
  server.on("request", (_request, response: ServerResponse) => {
    underWay.add(response);
    response.on("close", () => {
      underWay.delete(response);
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
