/**
 * Names the plugin that ends the process, because nothing else in the log explains the restart. Best effort: it sees `process.exit` in
 * the plugin's own code and in local files that it imports, and nothing of a kill from outside.
 */
import type { RunningHook } from "../hooks/running.js";
import type { Logger } from "../lib/logger.js";
import { placeInOrBelow } from "../lib/module-place.js";
import type { Plugins } from "../plugins/plugins.js";

interface ExitDeps {
  plugins(): Plugins;
  running(): readonly RunningHook[];
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

function reportExit(code: number, { plugins, running, logger }: ExitDeps): void {
  const here = stackOfNow();
  const hookId = plugins().calling();
  const loaded = plugins().list();
  const plugin = loaded.find((one) =>
    hookId === undefined ? placeInOrBelow(here, one) !== "" : one.hooks.includes(hookId),
  );
  if (plugin === undefined) return;
  const hooks =
    hookId === undefined
      ? running().flatMap((run) => (plugin.hooks.includes(run.hookId) ? [run.hookId] : []))
      : [hookId];
  const whose =
    hooks.length === 0 ? "none of its hooks was running" : `in its hook ${[...new Set(hooks)].join(" or ")}`;
  logger.error(
    { plugin: plugin.id ?? plugin.module, hooks, code, place: placeInOrBelow(here, plugin).replace(/^ \(|\)$/g, "") },
    `the plugin "${plugin.id ?? plugin.module}" ended the gateway with code ${code}, ${whose}: a plugin must not call process.exit`,
  );
}

/** The caller of `process.exit` is below the listener. */
function stackOfNow(): Error {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = MAX_FRAMES;
  const error = new Error();
  Error.stackTraceLimit = limit;
  return error;
}
