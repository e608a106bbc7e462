/** `hookgate start`: the gateway, until a signal ends it. SIGINT and SIGTERM stop it well, a second one at once; SIGHUP takes over the configuration. */
import type { App } from "../app.js";
import { startApp } from "../app.js";
import { loadConfig } from "../config/load.js";
import { errorMessage } from "../lib/errors.js";
import { EXIT, type ExitCode } from "./exit.js";
import { printError, type Terminal } from "./terminal.js";
import { version } from "./version.js";

/** As a shell counts a process that a signal ended: 128 + the signal's number. */
const KILLED = { SIGINT: 130, SIGTERM: 143 } as const;

export async function start(options: { path?: string }, terminal: Terminal): Promise<ExitCode> {
  // Listened for from the first moment on, so that a stop during the start is not lost.
  const stopSignal = untilStopped(terminal);
  const reread = () => loadConfig(options);
  const app = await startApp(reread(), { version: version(), pretty: terminal.isTty, reread });
  goOnAfterStrays(app);
  greet(app, terminal);
  const stopping = new AbortController();
  reloadOnHangup(app, options, terminal, stopping.signal);
  await stopSignal;
  stopping.abort();
  await app.stop();
  return EXIT.done;
}

/**
 * An error that nobody caught, thrown in a plugin's timer or deep in a client library, must not take the other
 * conversations down: it is logged, and the gateway goes on. What it interrupted is on disk.
 */
function goOnAfterStrays({ logger }: App): void {
  const report = (thrown: unknown) => {
    const stack = thrown instanceof Error ? thrown.stack : undefined;
    logger.error({ error: errorMessage(thrown), stack }, "an error that nobody caught");
  };
  process.on("uncaughtException", report);
  process.on("unhandledRejection", report);
}

/** Resolves at the first signal; the second ends the process where it stands: what is on disk is safe. */
function untilStopped(terminal: Terminal): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.on(signal, () => {
        if (isStopping) process.exit(KILLED[signal]);
        isStopping = true;
        terminal.error("Stopping: what is under way ends first. Once more to stop at once.");
        resolve();
      });
  });
}

/** Beside the log when a person reads it; on standard error when a program reads the log's JSON lines. */
function greet({ url, newToken }: App, terminal: Terminal): void {
  const say = terminal.isTty ? terminal.out : terminal.error;
  const bold = (text: string) => (terminal.isTty ? `\u001b[1m${text}\u001b[22m` : text);
  const lines = ["", `  ${bold("Hookgate")} ${version()}`, `  chat         ${bold(url)}`];
  if (newToken !== undefined)
    lines.push(
      `  login token  ${bold(newToken)}`,
      "               Shown this once: keep it, or set HOOKGATE_TOKEN to one of your own.",
    );
  if (terminal.isTty) lines.push("  stop         Ctrl-C");
  say([...lines, ""].join("\n"));
}

function reloadOnHangup(app: App, options: { path?: string }, terminal: Terminal, stopping: AbortSignal): void {
  const reload = async () => {
    if (stopping.aborted) return;
    try {
      const { plugins, hooks, needRestart } = await app.reload(loadConfig(options));
      terminal.error(`Reloaded: ${counted(plugins.length, "plugin")}, ${counted(hooks.hooks, "configured hook")}.`);
      if (needRestart.length > 0)
        terminal.error(`Changed, but taken over only by a restart: ${needRestart.join(", ")}.`);
    } catch (error) {
      // Nothing was changed: the gateway goes on as it was.
      printError(terminal, error);
    }
  };
  // One after the other: two reloads at once would load a plugin twice.
  let last = Promise.resolve();
  // Never taken off again: without a listener, a hang-up during the stop would kill the process.
  process.on("SIGHUP", () => {
    last = last.then(reload);
  });
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
