/**
 * Names the code that ends the process, because nothing else in the log explains the restart, and puts it on record: the plugin, and its
 * hook or command, or the configured hook of a module. Best effort: it sees `process.exit` in their own code and in local files that it
 * imports, and nothing of a kill from outside.
 */
import type { Automations } from "../automations/automations.js";
import { type SurroundingHandler, surroundingHandler } from "../hooks/dry-run.js";
import type { Ender, GivenUpList } from "../hooks/given-up.js";
import type { HookRegistry } from "../hooks/registry.js";
import { errorMessage } from "../lib/errors.js";
import { placeInOrBelow } from "../lib/files/module-place.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import type { PluginInfo } from "../plugins/infos.js";
import type { Plugins } from "../plugins/plugins.js";

interface ExitDeps {
  plugins: Pick<Plugins, "list">;
  registry: Pick<HookRegistry, "get">;
  givenUp: Pick<GivenUpList, "noteNow">;
  automations: Pick<Automations, "endedProcess">;
  clock: Pick<Clock, "now">;
  logger: Logger;
}

/** By default, a stack is cut after 10 frames. */
const MAX_FRAMES = 50;

/** Returns a function that ends the watch. */
export function logExits(deps: ExitDeps): () => void {
  const report = (code: number) => reportExit(code, deps);
  // Before the logger's own listener, which writes the lines that are not written yet.
  process.prependListener("exit", report);
  return () => void process.off("exit", report);
}

function reportExit(exitCode: number, deps: ExitDeps): void {
  const here = stackOfNow();
  const around = surroundingHandler();
  const isIn = (one: Pick<PluginInfo, "file">) => placeInOrBelow(here, one) !== "";
  const isCulprit = (one: Pick<PluginInfo, "file">) => around?.isCalled || isIn(one);
  const place = (one: Pick<PluginInfo, "file">) => placeInOrBelow(here, one).replace(/^ \(|\)$/g, "");
  const module = around?.module === undefined ? undefined : { file: around.module };
  if (around?.hookId !== undefined && module !== undefined && isCulprit(module)) {
    deps.logger.error(
      { hook: around.hookId, code: exitCode, place: place(module) },
      `the hook "${around.hookId}" ended the gateway with code ${exitCode}, in its module: a hook must not call process.exit`,
    );
    record({ hookId: around.hookId, exitCode }, around, deps);
    return;
  }
  const loaded = deps.plugins.list();
  const own = loaded.find(({ id }) => id !== undefined && id === around?.plugin);
  const isOwn = own !== undefined && isCulprit(own);
  const plugin = isOwn ? own : loaded.find(isIn);
  if (plugin === undefined) return;
  const handler = isOwn && around?.context !== undefined ? around : undefined;
  const { id = plugin.module } = plugin;
  const { hookId: hook, command } = handler ?? {};
  deps.logger.error(
    { plugin: id, hook, command, code: exitCode, place: place(plugin) },
    `the plugin "${id}" ended the gateway with code ${exitCode}, in ${whatRan(handler)}: a plugin must not call process.exit`,
  );
  const isRoute = handler !== undefined && command === undefined;
  record(hook === undefined ? { plugin: id, command, isRoute, exitCode } : { hookId: hook, exitCode }, handler, deps);
}

function whatRan(handler: SurroundingHandler | undefined): string {
  if (handler === undefined) return "a timer or other work that none of its handlers waits for";
  if (handler.hookId !== undefined) return `its hook ${handler.hookId}`;
  return handler.command === undefined ? "its default route" : `its command /${handler.command}`;
}

function record(
  endedBy: Ender,
  handler: SurroundingHandler | undefined,
  { registry, givenUp, automations, clock, logger }: ExitDeps,
): void {
  const { hookId } = endedBy;
  // A new version of the plugin may lack the hook.
  const { hook: point = "", phase } = (hookId !== undefined && registry.get(hookId)) || {};
  const dispatchId = handler?.context?.dispatchId ?? "";
  try {
    givenUp.noteNow({ point, phase, dispatchId, crashes: 1, at: clock.now(), isSilent: true, endedBy });
    if (hookId !== undefined) automations.endedProcess(hookId);
  } catch (error) {
    logger.warn({ ...endedBy, error: errorMessage(error) }, "what ended the gateway could not be recorded");
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
