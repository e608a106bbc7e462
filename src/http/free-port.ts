/** Why the server cannot listen, found out when it starts, or before anything is made for it. */
import { once } from "node:events";
import { createServer } from "node:net";
import { errorMessage, HookgateError } from "../lib/errors.js";

/** Throws PORT_TAKEN or LISTEN_FAILED. The port is free again afterwards. */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const probe = createServer().listen(port, host);
  try {
    await once(probe, "listening");
  } catch (error) {
    throw cannotListen(error, host, port);
  }
  await new Promise((done) => probe.close(done));
}

export function cannotListen(error: unknown, host: string, port: number): HookgateError {
  const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  return new HookgateError({
    code: isTaken ? "PORT_TAKEN" : "LISTEN_FAILED",
    message: isTaken ? `port ${port} on ${host} is taken` : `cannot listen on ${host}:${port}: ${errorMessage(error)}`,
    hint: isTaken
      ? "Is Hookgate running already? HOOKGATE_PORT chooses another port."
      : "Set HOOKGATE_HOST and HOOKGATE_PORT to listen elsewhere.",
    cause: error,
  });
}
