/** Whether a request comes from a hook of ours: from a program that it started, or from its own request to this machine. */
import type { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import type { Cause } from "../domain/journal.js";
import type { Processes } from "../lib/process/process.js";
import type { HttpDeps } from "./route.js";

export interface CallerDeps {
  processes: Pick<Processes, "variableOfCaller">;
  /** The cause of actions that this run takes; undefined when there is no such run. */
  causeOfRun(runId: string): Promise<Cause | undefined>;
}

/** Every program of a hook has it in its environment. */
const RUN_VARIABLE = "HOOKGATE_RUN_ID";

export function createCauseOf({ processes, causeOfRun }: CallerDeps): HttpDeps["causeOf"] {
  /** A connection belongs to one program as long as it lives. */
  const programs = new WeakMap<Socket, Promise<string | undefined>>();

  function programOf(socket: Socket): Promise<string | undefined> {
    const { localPort, remotePort } = socket;
    if (localPort === undefined || remotePort === undefined) return Promise.resolve(undefined);
    const known = programs.get(socket) ?? processes.variableOfCaller({ localPort, remotePort }, RUN_VARIABLE);
    programs.set(socket, known);
    return known;
  }

  return async (request: FastifyRequest) => {
    const { socket } = request.raw;
    if (!isLocal(socket)) return undefined;
    // Requests of `http` handlers name their run.
    const named = request.headers["webhook-id"];
    const byName = typeof named === "string" ? await causeOfRun(named) : undefined;
    if (byName !== undefined) return byName;
    const runId = await programOf(socket);
    return runId === undefined ? undefined : causeOfRun(runId);
  };
}

/** The connection comes from this machine itself. */
function isLocal({ remoteAddress, localAddress }: Socket): boolean {
  const plain = remoteAddress?.replace(/^::ffff:/, "");
  return remoteAddress === localAddress || plain === "::1" || plain?.startsWith("127.") === true;
}
