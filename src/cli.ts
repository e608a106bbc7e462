#!/usr/bin/env node
/** The command line's entry: everything it does is in `cli/`. */
import { runCli } from "./cli/program.js";
import { processTerminal } from "./cli/terminal.js";
import { version } from "./cli/version.js";

runCli(process.argv.slice(2), processTerminal, version()).then((code) => {
  process.exitCode = code;
});
