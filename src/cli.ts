#!/usr/bin/env node
/** The command line's entry: everything it does is in `cli/`. */
import { runCli } from "./cli/program.js";
import { endWithReader, processTerminal } from "./cli/terminal.js";
import { version } from "./cli/version.js";
import { endProcess } from "./lib/refuse-exit.js";

const args = process.argv.slice(2);
if (args[0] !== "start") endWithReader();
/** What was printed may still be on its way to a pipe. */
const LINGER_MS = 1_000;

runCli(args, processTerminal, version()).then((code) => {
  process.exitCode = code;
  // A plugin may have left timers or connections behind: nothing waits for them. What a gateway logs is written at once.
  if (args[0] === "start") endProcess();
  setTimeout(() => endProcess(), LINGER_MS).unref();
});
