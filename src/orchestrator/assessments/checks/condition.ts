/** `when:` a CEL expression over `result` (what the attempt brought) and `task`. */
import type { ExpectationOf } from "../../../domain/expectation.js";
import { type Condition, compileCondition } from "../../../hooks/predicate.js";
import { type CheckContext, type Found, notSo, so } from "./check.js";

/** Throws a `HookgateError` for what cannot be read. */
export function compileExpectation(source: string): Condition {
  return compileCondition(source, { result: {}, task: {} }, "when");
}

export async function checkCondition(expected: ExpectationOf<"when">, { task }: CheckContext): Promise<Found> {
  const holds = compileExpectation(expected.when)({ result: task.result ?? {}, task });
  return holds === true ? so(`it holds: ${expected.when}`) : notSo(holds);
}
