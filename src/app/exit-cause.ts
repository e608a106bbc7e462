/**
 * Names the plugin that ends the process, because nothing else in the log explains the restart, and puts its hook on record. Best effort: it sees `process.exit` in
 * the plugin's own code and in local files that it imports, and nothing of a kill from outside.
 */
import type { GivenUpList } from "../hooks/given-up.js";
import type { HookRegistry } from "../hooks/registry.js";
import type { Clock } from "../lib/clock.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { placeInOrBelow } from "../lib/module-place.js";
import type { Plugins } from "../plugins/plugins.js";

interface ExitDeps {
  plugins(): Plugins;
  registry: Pick<HookRegistry, "get" | "running">;
  givenUp: Pick<GivenUpList, "noteNow">;
  clock: Pick<Clock, "now">;
  logger: Logger;
}

/** A stack is cut after 10 frames unless said. */
const MAX_FRAMES = 50;

/** Gives what ends the watch. */
export function logExits(deps: ExitDeps): () => void {
  const report = (code: number) => reportExit(code, deps);
  // Before the logger's own listener, which writes what is not written yet.
  process.prependListener("exit", report);
  return () => void process.off("exit", report);
}

function reportExit(code: number, deps: ExitDeps): void {
  const { plugins, registry, logger } = deps;
  const here = stackOfNow();
  const called = plugins().calling();
  const loaded = plugins().list();
  const plugin = loaded.find((one) =>
    called === undefined ? placeInOrBelow(here, one) !== "" : one.hooks.includes(called.hookId),
  );
  if (plugin === undefined) return;
  const ran =
    called === undefined ? registry.running().filter(({ hookId }) => plugin.hooks.includes(hookId)) : [called];
  const hooks = [...new Set(ran.map(({ hookId }) => hookId))];
  const whose = hooks.length === 0 ? "none of its hooks was running" : `in its hook ${hooks.join(" or ")}`;
  logger.error(
    { plugin: plugin.id ?? plugin.module, hooks, code, place: placeInOrBelow(here, plugin).replace(/^ \(|\)$/g, "") },
    `the plugin "${plugin.id ?? plugin.module}" ended the gateway with code ${code}, ${whose}: a plugin must not call process.exit`,
  );
  // Which of several it was is not known.
  if (ran[0] !== undefined && hooks.length === 1) record(ran[0], code, deps);
}

function record(
  { hookId, dispatchId = "" }: { hookId: string; dispatchId: string | undefined },
  exitCode: number,
  { registry, givenUp, clock, logger }: ExitDeps,
): void {
  const hook = registry.get(hookId);
  if (hook === undefined) return;
  const { hook: point, phase } = hook;
  try {
    givenUp.noteNow({
      point,
      phase,
      dispatchId,
      crashes: 1,
      at: clock.now(),
      isSilent: true,
      endedBy: { hookId, exitCode },
    });
  } catch (error) {
    logger.warn({ hook: hookId, error: errorMessage(error) }, "the hook that ended the gateway could not be recorded");
  }
}

/** The caller of `process.exit` is below the listener. */
function stackOfNow(): Error {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = MAX_FRAMES;
  const error = new Error();
  Error.stackTraceLimit = limit;
  return error;
}
