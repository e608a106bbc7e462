/**
 * `hookgate start`: the gateway, until a signal ends it. SIGINT and SIGTERM stop it well, a second one at once; SIGHUP applies the
 * configuration, or stops it well when its terminal was closed.
 */
import { closeSync, openSync } from "node:fs";
import { restartText } from "../app/reload.js";
import type { App } from "../app.js";
import { startApp } from "../app.js";
import { loadConfig } from "../config/load.js";
import type { AdapterState } from "../domain/chat/adapter.js";
import { errorMessage, lookable } from "../lib/errors.js";
import { placeInOrBelow } from "../lib/files/module-place.js";
import type { Logger } from "../lib/logger.js";
import { databaseFiles } from "../store/database-file/files.js";
import { EXIT, type ExitCode } from "./exit.js";
import { boldOn, printError, type Terminal } from "./terminal.js";
import { version } from "./version.js";

/** `stopSignal` is listened for before this file is loaded, so that a stop during the start is not lost. */
export async function start(
  { newDatabase, ...options }: { path?: string; newDatabase: boolean },
  stopSignal: Promise<void>,
  terminal: Terminal,
): Promise<ExitCode> {
  goOnUnread();
  const reread = () => loadConfig(options);
  let plugins = (): App["plugins"] => [];
  const onLogger = (logger: Logger) => goOnAfterStrays(logger, () => plugins());
  const loaded = reread();
  const app = await startApp(loaded, {
    ...{ version: version(), pretty: terminal.isTty, reread, newDatabase, onLogger, stopSignal },
  });
  plugins = () => app.plugins;
  const stopping = new AbortController();
  const terminalClosed = reloadOnHangup(app, options, terminal, stopping.signal);
  const tokenFile = loaded.env && databaseFiles(loaded.env.DATABASE_URL).token;
  const greeting = greet(app, tokenFile, terminal, stopping.signal)
    .catch((error: unknown) => {
      if (!stopping.signal.aborted)
        app.logger.error({ error: errorMessage(error) }, "the addresses and codes of this start could not be shown");
    })
    .then(keepCompiledCode);
  await Promise.race([stopSignal, terminalClosed]);
  stopping.abort();
  // Node ends by itself when nothing but a promise is waited for, such as that of a hook whose program was ended: the stop would be cut short.
  const kept = setInterval(() => {}, KEEP_MS);
  try {
    const stopped = app.stop();
    await greeting;
    await stopped;
  } finally {
    clearInterval(kept);
  }
  return EXIT.done;
}

const KEEP_MS = 60_000;

/**
 * An uncaught error, thrown in a plugin's timer or deep in a client library, must not take the other conversations down, nor end a start:
 * it is logged, with the plugin when the gateway has started, and the gateway goes on. The work that it interrupted is on disk.
 */
function goOnAfterStrays(logger: Logger, plugins: () => App["plugins"]): void {
  const report = (given: unknown) => {
    const thrown = lookable(given);
    const stack = thrown instanceof Error ? thrown.stack : undefined;
    const owner = plugins().find((one) => placeInOrBelow(thrown, one) !== "");
    const plugin = owner?.id ?? owner?.module;
    const where = plugin === undefined ? "" : ` in the plugin "${plugin}"`;
    logger.error({ plugin, error: errorMessage(thrown), stack }, `an uncaught error${where}`);
  };
  process.on("uncaughtException", report);
  process.on("unhandledRejection", report);
}

/** Keeps the code that this start has compiled for the next one. */
async function keepCompiledCode(): Promise<void> {
  // The one that runs this very code, where the product is bundled; from source it keeps nothing.
  const { keepCode } = await import("../loader.js");
  keepCode();
}

/** A closed terminal or a reader that ended is no failure of the gateway: only its output there is lost. */
function goOnUnread(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
}

/** Beside the log when a person reads it; on standard error when a program reads the log's JSON lines. */
async function greet(
  app: App,
  tokenFile: string | undefined,
  terminal: Terminal,
  stopping: AbortSignal,
): Promise<void> {
  const { chatUrl, newToken, loginLink } = app;
  const { ownerCode, away } = await app.firstSteps(stopping);
  const say = terminal.isTty ? terminal.out : terminal.error;
  const bold = boldOn(terminal.isTty);
  // Without the web chat, that address leads programs to the API, and people nowhere.
  const address = loginLink === undefined ? `api          ${chatUrl}` : `chat         ${bold(chatUrl)}`;
  const lines = ["", `  ${bold("Hookgate")} ${version()}`, `  ${address}`];
  if (newToken !== undefined && terminal.isTty)
    lines.push(
      `  login token  ${bold(newToken)}`,
      "               `npx hookgate token` shows it again. HOOKGATE_TOKEN sets one of your own.",
    );
  // An output that is no terminal is a file or a journal, which others may read, and which is kept.
  else if (newToken !== undefined)
    lines.push(
      `  login token  in ${tokenFile}`,
      "               `npx hookgate token` shows it. HOOKGATE_TOKEN sets one of your own.",
    );
  if (terminal.isTty && loginLink !== undefined) lines.push(`  log in       ${bold(loginLink)}`);
  if (ownerCode !== undefined && !terminal.isTty)
    lines.push("  owner code   `npx hookgate claim` prints one: send /claim CODE to the bot to become its owner.");
  else if (ownerCode !== undefined)
    lines.push(
      `  owner code   ${bold(ownerCode)}`,
      `               Send /claim ${ownerCode} to the bot to become its owner. It works once; \`npx hookgate claim\` prints another.`,
    );
  for (const { platform, phase, reason, hint } of away) {
    lines.push(`  ${platform.padEnd(12)} ${bold(phase)}: ${reason ?? NO_REASON[phase]}`);
    if (hint !== undefined) lines.push(`               ${hint}`);
  }
  if (terminal.isTty) lines.push("  stop         Ctrl-C");
  say([...lines, ""].join("\n"));
}

const NO_REASON: Record<AdapterState["phase"], string> = {
  connecting: "it has not answered yet; /status shows its state",
  reconnecting: "it is tried again; /status shows its state",
  offline: "it cannot connect",
  off: "it has not started yet",
  online: "connected",
};

/** Resolves when the hang-up was the end of the terminal in which the gateway was started. */
function reloadOnHangup(
  app: App,
  options: { path?: string },
  terminal: Terminal,
  stopping: AbortSignal,
): Promise<void> {
  const reload = async () => {
    if (stopping.aborted) return;
    try {
      const { plugins, hooks, needRestart, report } = await app.reload(loadConfig(options));
      const loaded = plugins.filter(({ state, reason }) => state === "loaded" && reason === undefined);
      terminal.error(`Reloaded: ${counted(loaded.length, "plugin")}, ${counted(hooks.hooks, "configured hook")}.`);
      if (report !== "") terminal.error(report);
      if (needRestart.length > 0) terminal.error(restartText(needRestart));
    } catch (error) {
      printError(terminal, error);
    }
  };
  // Reloads run one after the other, and so do their reports.
  let last = Promise.resolve();
  // Never taken off again: without a listener, a hang-up during the stop would kill the process.
  return new Promise((resolve) => {
    process.on("SIGHUP", () => {
      if (terminal.isTty && isTerminalClosed()) resolve();
      else last = last.then(reload);
    });
  });
}

/** A process that has lost its terminal cannot open it any more. */
function isTerminalClosed(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return false;
  } catch {
    return true;
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
