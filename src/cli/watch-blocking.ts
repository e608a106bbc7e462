/** Ends a check when a plugin keeps the processor for good: a loop without an end stops every timer, so another thread has to see it. */
import { Worker } from "node:worker_threads";

/** Longer than a plugin that waits is given. */
const BLOCKED_MS = 11_000;

const THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
let timer;
parentPort.on("message", (module) => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const text = "The plugin " + module + " does not return while it is loaded: look for a loop without an end. The check was ended.\\n";
    require("node:fs").writeSync(2, text);
    process.kill(process.pid, "SIGKILL");
  }, workerData);
});
`;

export interface BlockingWatch {
  /** From now on it is this plugin that has the processor. */
  at(module: string): void;
  end(): void;
}

export function watchBlocking(): BlockingWatch {
  let thread: Worker | undefined;
  return {
    at(module) {
      thread ??= new Worker(THREAD, { eval: true, execArgv: [], workerData: BLOCKED_MS });
      thread.unref();
      thread.postMessage(module);
    },
    end: () => void thread?.terminate(),
  };
}
