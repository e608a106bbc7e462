/**
 * Bounds how many requests one connection has under way; makes room for others while many connections are open; and ends an HTTP server without cutting answers off and without waiting for idle
 * connections. Browsers open connections ahead of need, and node counts one that has not sent anything yet as busy: closing alone would wait for it until it times out.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../lib/time/clock.js";
import { hasBody } from "./body-deadline.js";

/** Browsers have one request under way on a connection; programs that send the next before the answer have few. */
const MAX_ON_ONE_CONNECTION = 16;

/** For answers that do not come to an end. */
const LONGEST_WAIT_MS = 5000;

export interface Connections {
  /**
   * The body of its request has arrived, or its sender is logged in: it does not end to make room before it is answered. With `personId` its
   * body is awaited, and it may end while that person has more of these than anyone else.
   */
  keep(request: IncomingMessage, personId?: string): void;
  /** How many bodies of a person are awaited. */
  awaited(personId: string): number;
  /** `close` stops listening; resolves when it has, with answers under way finished. */
  end(close: () => Promise<void>): Promise<void>;
}

/**
 * From `crowdedAt` open connections on, each new one ends another: the one that has waited longest, of those who hold most. `onMadeRoom`
 * is called each time.
 */
export function watchConnections(
  server: Server,
  { clock, crowdedAt, onMadeRoom }: { clock: Clock; crowdedAt: number; onMadeRoom: (ended: Socket) => void },
): Connections {
  const underWay = new Map<Socket, Set<ServerResponse>>();
  /** For the head of a request, or for the body of a stranger's; the one that has waited longest first. */
  const waiting = new Set<Socket>();
  /** For the bodies of each logged-in person, in the same order. */
  const bodies = new Map<string, Set<Socket>>();
  const forget = (socket: Socket) => {
    waiting.delete(socket);
    for (const ofPerson of bodies.values()) ofPerson.delete(socket);
  };
  /** All strangers count as one person. The only body of a person does not end. */
  const endLongest = () => {
    let most = waiting;
    for (const ofPerson of bodies.values()) if (ofPerson.size > Math.max(most.size, 1)) most = ofPerson;
    const [longest] = most;
    if (!longest) return;
    forget(longest);
    onMadeRoom(longest);
    longest.destroy();
  };
  let isEnding = false;
  const endIdle = () => {
    if (isEnding && [...underWay.values()].every(({ size }) => size === 0)) server.closeAllConnections();
  };
  server.on("connection", (socket: Socket) => {
    if (underWay.size >= crowdedAt) endLongest();
    underWay.set(socket, new Set());
    waiting.add(socket);
    // An answer that waited for its turn on this connection is not closed with it.
    socket.once("close", () => {
      underWay.delete(socket);
      forget(socket);
      endIdle();
    });
  });
  // Before the request is handled: one that came with many others must cost nothing more.
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const onThis = underWay.get(socket);
    if (!onThis) return;
    onThis.add(response);
    forget(socket);
    if (hasBody(request)) waiting.add(socket);
    if (onThis.size > MAX_ON_ONE_CONNECTION) socket.destroy();
    response.once("close", () => {
      onThis.delete(response);
      if (onThis.size === 0 && !socket.destroyed) {
        forget(socket);
        waiting.add(socket);
      }
      endIdle();
    });
  });
  return {
    keep(request, personId) {
      const { socket } = request;
      // Another one may have come on this connection, whose body is awaited.
      const latest = [...(underWay.get(socket) ?? [])].at(-1);
      if (latest?.req !== request) return;
      forget(socket);
      if (personId !== undefined) bodies.set(personId, (bodies.get(personId) ?? new Set()).add(socket));
    },
    awaited: (personId) => bodies.get(personId)?.size ?? 0,
    async end(close) {
      isEnding = true;
      const giveUp = clock.after(LONGEST_WAIT_MS, () => server.closeAllConnections());
      const closed = close();
      endIdle();
      // Called again for a connection that came in while the listening socket was being closed.
      const again = clock.after(100, endIdle);
      await closed;
      again.cancel();
      giveUp.cancel();
    },
  };
}
