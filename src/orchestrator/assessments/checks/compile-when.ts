/** The condition of an expectation, compiled when the expectation is read and when it is checked. */
import { type Condition, compileCondition } from "../../../hooks/registration/predicate.js";

/** `when` of an expectation, over `result` and `task`. Throws a `HookgateError` for an expression that cannot be read. */
export function compileExpectation(source: string): Condition {
  return compileCondition(source, { result: {}, task: {} }, "when", { mayBeSlow: true });
}
