/** The log as code uses it. `pino` satisfies this type; the composition root makes the real one. */

export interface Logger {
  debug(facts: object, message?: string): void;
  info(facts: object, message?: string): void;
  warn(facts: object, message?: string): void;
  error(facts: object, message?: string): void;
  child(bindings: Record<string, unknown>): Logger;
}

const drop = () => {};
/** Drops everything; for embedders and tests that assert on results, not on logs. */
export const silentLogger: Logger = { debug: drop, info: drop, warn: drop, error: drop, child: () => silentLogger };
