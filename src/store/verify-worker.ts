/** A thread for one check of a large database: it would block the event loop for seconds. Started by verify.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { inspectDatabase } from "./database-file/inspect.js";
import { storeError } from "./errors.js";
import type { Verdict, VerifyFacts } from "./verify.js";

// From verify.ts in the same process, so not checked.
const { file }: VerifyFacts = workerData;
const reply = (verdict: Verdict) => parentPort?.postMessage(verdict);
try {
  inspectDatabase(file);
  reply({ isSound: true });
} catch (thrown) {
  const { code, message, hint } = storeError(thrown, file);
  reply({ isSound: false, code, message, hint });
}
