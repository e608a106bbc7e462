/**
 * The real log: pino, JSON lines by default and pretty on a terminal. Secrets are masked on the way out, and control
 * characters are marked. */
import { pino } from "pino";
import { withoutControls, withoutControlValues } from "./control-characters.js";
import type { Logger } from "./logger.js";

export interface LogOptions {
  /** trace, debug, info, warn, error, fatal or silent. */
  level: string;
  pretty: boolean;
  mask: (text: string) => string;
}

export async function createLogger({ level, pretty, mask }: LogOptions): Promise<Logger> {
  // The pretty form shows texts as they are, and JSON leaves some control characters as they are.
  const marked = pretty ? withoutControlValues : withoutControls;
  const options = { level, base: undefined, hooks: { streamWrite: (line: string) => marked(mask(line)) } };
  if (!pretty) return plain(pino(options));
  // Loaded only for a terminal: a server under load never needs it.
  const { prettyFactory } = await import("pino-pretty");
  const format = prettyFactory({ colorize: true, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname" });
  // Each line is written when it is logged. pino-pretty's own stream keeps lines for later turns, and a process that exits has none.
  return plain(pino(options, { write: (line) => void process.stdout.write(format(line)) }));
}

/** Only what `Logger` promises: pino's own type has an index signature that looks like a promise. */
function plain(log: Logger): Logger {
  return log;
}
