/** The log of a registry that was given none: failures must not vanish, everything below a warning may. */
import type { Logger } from "../lib/logger.js";

const drop = () => {};

export const consoleLogger: Logger = {
  debug: drop,
  info: drop,
  warn: (facts, message) => console.warn(message ?? "", facts),
  error: (facts, message) => console.error(message ?? "", facts),
  child: () => consoleLogger,
};
