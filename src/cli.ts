#!/usr/bin/env node
/** The command line's entry: everything it does is in `cli/`. */
import { runCli } from "./cli/program.js";
import { endWithReader, processTerminal } from "./cli/terminal.js";
import { version } from "./cli/version.js";
import { endProcess } from "./lib/process/refuse-exit.js";

const args = process.argv.slice(2);
if (args[0] !== "start") endWithReader();
/** For a reader that takes what was printed slowly. */
const LINGER_MS = 1_000;

runCli(args, processTerminal, version()).then((code) => {
  process.exitCode = code;
  const end = () => endProcess(code);
  // The log lines of a gateway are written at once.
  if (args[0] === "start") end();
  // A plugin may have left timers or connections behind: nothing waits for them, and none of them changes the exit code.
  process.stdout.write("", () => process.stderr.write("", end));
  setTimeout(end, LINGER_MS).unref();
});
