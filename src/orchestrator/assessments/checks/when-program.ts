/** A program for one `when`: facts as JSON on standard input, the answer as JSON on standard output. Started by condition.ts. */
import { readFileSync, writeSync } from "node:fs";
import { errorMessage } from "../../../lib/errors.js";
import { compileExpectation } from "./compile-when.js";
import type { WhenAnswer, WhenFacts } from "./condition.js";

// From condition.ts, so not checked.
const { source, result, task }: WhenFacts = JSON.parse(readFileSync(0, "utf8"));
writeSync(1, JSON.stringify(answer()));

function answer(): WhenAnswer {
  try {
    return { holds: compileExpectation(source)({ result, task }) };
  } catch (error) {
    return { error: errorMessage(error) };
  }
}
