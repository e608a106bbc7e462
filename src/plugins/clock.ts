/** The clock of a plugin: refuses a timer that could never run, and an error of a timer names the plugin. */

import { errorMessage, HookgateError } from "../lib/errors.js";
import type { Clock } from "../lib/time/clock.js";
import { shown } from "../lib/validation/plain-issues.js";
import type { ApiDeps } from "./stage.js";

export function pluginClock({ id, clock, logger }: Pick<ApiDeps, "id" | "clock" | "logger">): Clock {
  const failed = (error: unknown) =>
    logger.error(
      { plugin: id, error: errorMessage(error), stack: error instanceof Error ? error.stack : undefined },
      `a timer of plugin "${id}" failed: ${errorMessage(error)}`,
    );
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    onStep: (listener) => clock.onStep?.(listener) ?? (() => {}),
    after(delayMs, fn) {
      if (typeof delayMs !== "number" || Number.isNaN(delayMs))
        throw refused(
          `expected a number of milliseconds first, got ${typeof delayMs === "number" ? delayMs : shown(delayMs)}`,
        );
      if (typeof fn !== "function") throw refused(`expected a function second, got ${shown(fn)}`);
      return clock.after(delayMs, () => {
        // In an async function, so that a rejection is reported, too.
        (async () => fn())().catch(failed);
      });
    },
  };
}

function refused(problem: string): HookgateError {
  return new HookgateError({ code: "PLUGIN_TIMER", message: `api.clock.after: ${problem}` });
}
