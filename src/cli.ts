#!/usr/bin/env node
/** The command line's entry: everything it does is in `cli/`. */
import { runCli } from "./cli/program.js";
import { endWithReader, processTerminal } from "./cli/terminal.js";
import { version } from "./cli/version.js";

const args = process.argv.slice(2);
if (args[0] !== "start") endWithReader();
runCli(args, processTerminal, version()).then((code) => {
  process.exitCode = code;
});
