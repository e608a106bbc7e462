/**
 * Names the plugin that ends the process, because nothing else in the log explains the restart. Best effort: it sees `process.exit` in
 * the plugin's own code, and nothing of a kill from outside.
 */
import { pathToFileURL } from "node:url";
import type { RunningHook } from "../hooks/running.js";
import type { Logger } from "../lib/logger.js";
import type { Plugins } from "../plugins/plugins.js";

interface ExitParts {
  plugins(): Plugins;
  running(): readonly RunningHook[];
  logger: Logger;
}

/** A stack is cut after 10 frames unless said. */
const MAX_FRAMES = 50;

/** Gives what ends the watch. */
export function logExits(parts: ExitParts): () => void {
  const report = (code: number) => reportExit(code, parts);
  // Before the logger's own listener, which writes what is not written yet.
  process.prependListener("exit", report);
  return () => void process.off("exit", report);
}

function reportExit(code: number, { plugins, running, logger }: ExitParts): void {
  const frames = framesOfNow();
  const hookId = plugins().calling();
  const loaded = plugins().list();
  const frameIn = (file: string | undefined) =>
    file === undefined ? undefined : frames.find((frame) => frame.includes(pathToFileURL(file).href));
  const plugin = loaded.find(({ hooks, file }) =>
    hookId === undefined ? frameIn(file) !== undefined : hooks.includes(hookId),
  );
  if (plugin === undefined) return;
  const hooks =
    hookId === undefined
      ? running().flatMap((run) => (plugin.hooks.includes(run.hookId) ? [run.hookId] : []))
      : [hookId];
  const whose =
    hooks.length === 0 ? "none of its hooks was running" : `in its hook ${[...new Set(hooks)].join(" or ")}`;
  logger.error(
    { plugin: plugin.id ?? plugin.module, hooks, code, place: frameIn(plugin.file) },
    `the plugin "${plugin.id ?? plugin.module}" ended the gateway with code ${code}, ${whose}: a plugin must not call process.exit`,
  );
}

/** Who called `process.exit` is below the listener. */
function framesOfNow(): string[] {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = MAX_FRAMES;
  const { stack = "" } = new Error();
  Error.stackTraceLimit = limit;
  return stack.split("\n").map((line) => line.trim().replace(/^at /, ""));
}
