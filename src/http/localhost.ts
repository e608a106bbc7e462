/**
 * Browsers try both loopback addresses for `localhost`, the one of IPv6 first. Any user of this machine may listen on the address that
 * the gateway leaves free, so the gateway takes both: connections to the other one are handled by the same HTTP server.
 */
import { createServer, type Server, type Socket } from "node:net";
import { HookgateError } from "../lib/errors.js";

const OTHER: Readonly<Record<string, string>> = { "127.0.0.1": "::1", "0.0.0.0": "::1", "::1": "127.0.0.1" };

/** This machine does not have the address. */
const ABSENT: ReadonlySet<unknown> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL"]);

export interface OtherLoopback {
  close(): Promise<void>;
}

/**
 * `http`: listens on `host` and `port` already. Undefined where no other address has to be taken, or this machine has none.
 * Rejects with PORT_TAKEN when another program has the port there.
 */
export async function takeOtherLoopback(http: Server, host: string, port: number): Promise<OtherLoopback | undefined> {
  const address = OTHER[host];
  if (address === undefined) return undefined;
  const other = createServer({ noDelay: true, pauseOnConnect: false }, (socket: Socket) => {
    http.emit("connection", socket);
  });
  other.maxConnections = http.maxConnections;
  try {
    await new Promise<void>((resolve, reject) => {
      other.once("error", reject);
      other.listen({ host: address, port, ipv6Only: address === "::1" }, resolve);
    });
  } catch (error) {
    if (error instanceof Error && "code" in error && ABSENT.has(error.code)) return undefined;
    throw new HookgateError({
      code: "PORT_TAKEN",
      message: `port ${port} on ${address} is taken: browsers that open http://localhost:${port} would reach another program, which could steal the login`,
      hint: "Stop that program, or choose another HOOKGATE_PORT.",
      cause: error,
    });
  }
  // An error of a connection later is that connection's own.
  other.on("error", () => {});
  return { close: () => new Promise((resolve) => other.close(() => resolve())) };
}
