/**
 * The real log: pino, JSON lines by default and pretty on a terminal. Secrets are masked on the way out, and control
 * characters are marked. Where it cannot be written, lines are lost, and nothing else. */
import { fstatSync } from "node:fs";
import { type LoggerOptions, pino } from "pino";
import { errorMessage } from "./errors.js";
import type { Logger } from "./logger.js";
import { withoutControls, withoutControlValues } from "./text/control-characters.js";

export interface LogOptions {
  /** trace, debug, info, warn, error, fatal or silent. */
  level: string;
  pretty: boolean;
  mask: (text: string) => string;
}

export interface Log {
  logger: Logger;
  /** Why lines are lost now, and what to do; undefined while the log can be written. */
  problem(): string | undefined;
}

export async function createLog({ level, pretty, mask }: LogOptions): Promise<Log> {
  // The pretty form shows texts as they are, and JSON leaves some control characters as they are.
  const marked = pretty ? withoutControlValues : withoutControls;
  const options = { level, base: undefined, hooks: { streamWrite: (line: string) => marked(mask(line)) } };
  if (!pretty) return jsonLog(options);
  // Loaded only for a terminal: a server under load never needs it.
  const { prettyFactory } = await import("pino-pretty");
  const format = prettyFactory({ colorize: true, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname" });
  // Each line is written when it is logged. pino-pretty's own stream keeps lines for later turns, and a process that exits has none.
  const logger = plain(pino(options, { write: (line) => void process.stdout.write(format(line)) }));
  return { logger, problem: () => undefined };
}

/** The bytes that may wait for a reader that stalls, or for room on a disk. */
const MAX_WAITING_BYTES = 1_000_000;
/** There are 100 ms between tries. */
const TRIES_AT_EXIT = 10;

function jsonLog(options: LoggerOptions): Log {
  const descriptor = process.stdout.fd || 1;
  const stats = fstatSync(descriptor);
  // Only a pipe has a reader that may stall. A file takes each line at once: writing to a full disk in pino's exit handler never ends.
  const isPipe = stats.isFIFO() || stats.isSocket();
  let tries = Number.POSITIVE_INFINITY;
  const destination = pino.destination({
    dest: descriptor,
    sync: !isPipe,
    maxLength: MAX_WAITING_BYTES,
    retryEAGAIN: () => tries-- > 0,
  });
  const flushSync = destination.flushSync.bind(destination);
  let failure: unknown;
  let lost = 0;
  // Only pino's exit handler calls it: a reader that stalls does not keep the process, and a failure would be tried for ever.
  destination.flushSync = () => {
    if (failure !== undefined) return;
    tries = TRIES_AT_EXIT;
    try {
      flushSync();
    } catch {
      // The lines that wait for that reader are lost.
    }
  };
  const tryAgain = () => void destination.write("");
  // pino's own listener stops writing for ever when the reader ends, but a named pipe may get another one.
  destination.removeAllListeners("error");
  destination.on("error", (error) => {
    failure = error;
  });
  destination.on("write", () => {
    failure = undefined;
  });
  destination.on("drop", () => {
    lost++;
    if (failure !== undefined) tryAgain();
  });
  destination.on("drain", () => {
    if (lost === 0) return;
    const lines = lost;
    lost = 0;
    logger.warn({ lines }, "the log could not be written for a while, and these lines are missing in it");
  });
  // Not the destination itself: pino would flush it at a fatal error, which never ends on a full disk.
  const logger = plain(pino(options, { write: (line) => void destination.write(line) }));
  return {
    logger,
    problem() {
      if (failure !== undefined) tryAgain();
      if (failure === undefined && lost === 0) return undefined;
      const [cause, remedy] = causeAndRemedy(failure);
      return `${cause}, so new lines are lost; all else goes on. ${remedy}`;
    },
  };
}

/** Without a failure, lines are lost because the reader of a pipe leaves too many waiting. */
function causeAndRemedy(failure: unknown): [string, string] {
  if (failure === undefined)
    return [
      "the program that reads it has stopped reading or is too slow",
      "Check that program, or start the gateway with its output in a file",
    ];
  const reason = errorMessage(failure);
  if (failure instanceof Error && "code" in failure && failure.code === "EPIPE")
    return [
      `the program that read it has ended (${reason})`,
      "Restart the gateway together with that program, or with its output in a file",
    ];
  return [`it cannot be written (${reason})`, "Make room on its disk, or start the gateway with its output elsewhere"];
}

/** Only the methods of `Logger`: pino's own type has an index signature that looks like a promise. */
function plain(log: Logger): Logger {
  return log;
}
