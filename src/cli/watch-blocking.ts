/**
 * Ends a check when code that it loads keeps the processor for good: a loop without an end stops every timer, so another thread has to
 * see it. A plugin that waits is no case of it, however long: that is the limit of its `setup`.
 */
import { Worker } from "node:worker_threads";
import { REALLY_EXIT } from "../lib/process/refuse-exit.js";
import { EXIT } from "./exit.js";

const BEAT_MS = 1_000;
const MAX_MISSED = 11;

/**
 * Beats are counted, because a process that stood still (Ctrl-Z) misses only one. The debugger's protocol interrupts the loop: it shows
 * where that is, and ends the process with an exit code. It closes standard error before, where Node would write that it waits for
 * the debugger.
 */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
const { writeSync } = require("node:fs");
let who = "";
let missed = 0;
parentPort.on("message", (message) => {
  who = message;
  missed = 0;
});
setInterval(() => {
  missed++;
  if (missed === workerData.most) interrupt();
  if (missed < workerData.most + 2) return;
  report("");
  process.kill(process.pid, "SIGKILL");
}, workerData.beatMs);

function interrupt() {
  try {
    const { Session } = require("node:inspector");
    const session = new Session();
    session.connectToMainThread();
    session.post("Runtime.evaluate", { expression: "new Error().stack" }, (_, answer) => {
      report(answer && answer.result.value);
      const end = "process.getBuiltinModule('node:fs').closeSync(2); process[Symbol.for('" + workerData.reallyExit + "')](" + workerData.code + ")";
      session.post("Runtime.evaluate", { expression: end });
      session.disconnect();
    });
  } catch {
    // A Node without a debugger: the process is killed at the next beats.
  }
}

function report(stack) {
  const [, place] = /(?:\\(|at )((?:file:|\\/|[A-Za-z]:[\\\\/])[^\\n)]*:\\d+:\\d+)/.exec(stack) || [];
  const at = place ? " (" + place.replace("file://", "") + ")" : "";
  writeSync(2, who + " does not return" + at + ": look for a loop without an end. The check was ended.\\n");
}
`;

export interface BlockingWatch {
  /** From now on this plugin is loaded; undefined: all are. */
  at(module: string | undefined): void;
  end(): void;
}

export function watchBlocking(): BlockingWatch {
  let thread: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  let who = "";
  const beat = () => thread?.postMessage(who);
  return {
    at(module) {
      who = module === undefined ? "What a plugin left running" : `While it is loaded, the plugin ${module}`;
      // At a breakpoint the process pauses for as long as its author looks.
      if (process.getBuiltinModule("node:inspector")?.url() !== undefined) return;
      thread ??= new Worker(THREAD, {
        eval: true,
        execArgv: [],
        workerData: { beatMs: BEAT_MS, most: MAX_MISSED, code: EXIT.usage, reallyExit: REALLY_EXIT },
      });
      thread.unref();
      timer ??= setInterval(beat, BEAT_MS).unref();
      beat();
    },
    end() {
      clearInterval(timer);
      void thread?.terminate();
    },
  };
}
