/** A program for one `when`: facts as JSON on standard input, the answer as JSON on standard output. Started by condition.ts. */
import { readFileSync, writeSync } from "node:fs";
import { runInThisContext } from "node:vm";
import { errorMessage } from "../../../lib/errors.js";
import { compileExpectation } from "./compile-when.js";
import type { WhenAnswer, WhenFacts, WhenReport } from "./condition.js";

// From condition.ts, so not checked.
const { source, result, task, limitMs }: WhenFacts = JSON.parse(readFileSync(0, "utf8"));
const startedMs = performance.now();
writeSync(1, JSON.stringify({ answer: answer(), tookMs: performance.now() - startedMs } satisfies WhenReport));

function answer(): WhenAnswer {
  try {
    return { holds: limited(() => compileExpectation(source)({ result, task })) };
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return { isTooLong: true };
    return { error: errorMessage(error) };
  }
}

/** Only code that a script calls can be ended. The limit begins here: a busy machine may take seconds to start this program. */
function limited<T>(work: () => T): T {
  Object.assign(globalThis, { work });
  return runInThisContext("work()", { timeout: limitMs });
}
