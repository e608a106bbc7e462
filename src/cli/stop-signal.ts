/** Signals that stop the gateway. Small, so that it listens before the product is loaded. */
import { endProcess } from "../lib/process/refuse-exit.js";
import type { Terminal } from "./terminal.js";

/** The exit codes that a shell gives a process ended by a signal: 128 + the signal's number. */
const KILLED = { SIGINT: 130, SIGTERM: 143 } as const;

/** Resolves at the first signal; the second ends the process at once: data on disk is safe. */
export function untilStopped(terminal: Terminal): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.on(signal, () => {
        if (isStopping) endProcess(KILLED[signal]);
        isStopping = true;
        terminal.error("Shutting down, waiting for running work. Press Ctrl-C again to force quit.");
        resolve();
      });
  });
}
