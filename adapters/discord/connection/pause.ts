/** Lets Discord's further frames wait in the network, when there are more than memory should hold. */
import type { WebSocketShard } from "@discordjs/ws";

/** How long nothing is heard, at least. */
const PAUSE_MS = 20;

interface Pausable {
  readonly isPaused: boolean;
  readonly readyState: number;
  readonly OPEN: number;
  pause(): void;
  resume(): void;
}

/** Reads nothing until it is no longer too much, or the connection is being closed. */
export function pause(shard: WebSocketShard, isTooMuch: () => boolean): void {
  const connection: unknown = Reflect.get(shard, "connection");
  if (!isPausable(connection) || connection.isPaused) return;
  connection.pause();
  const again = setInterval(() => {
    if (connection.readyState === connection.OPEN && isTooMuch()) return;
    clearInterval(again);
    connection.resume();
  }, PAUSE_MS);
  again.unref();
}

function isPausable(connection: unknown): connection is Pausable {
  return (
    typeof connection === "object" &&
    connection !== null &&
    "pause" in connection &&
    typeof connection.pause === "function" &&
    "resume" in connection &&
    typeof connection.resume === "function"
  );
}
