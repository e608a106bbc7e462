/** The real log: pino, JSON lines when nobody watches and pretty on a terminal. Secrets are masked on the way out. */
import { pino } from "pino";
import type { Logger } from "./logger.js";

export interface LogOptions {
  /** trace, debug, info, warn, error, fatal or silent. */
  level: string;
  pretty: boolean;
  mask: (text: string) => string;
}

export async function createLogger({ level, pretty, mask }: LogOptions): Promise<Logger> {
  const options = { level, base: undefined, hooks: { streamWrite: mask } };
  if (!pretty) return plain(pino(options));
  // Loaded only for a terminal: a server under load never needs it.
  const { default: prettyStream } = await import("pino-pretty");
  return plain(pino(options, prettyStream({ colorize: true, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname" })));
}

/** Only what `Logger` promises: pino's own type has an index signature that looks like a promise. */
function plain(log: Logger): Logger {
  return log;
}
