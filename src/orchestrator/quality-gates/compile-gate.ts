/** A gate's `when`: CEL over `gate.avgScore`, `gate.allPassed`, `gate.tasks`. */
import { type Condition, compileCondition } from "../../hooks/registration/predicate.js";

/** Throws a `HookgateError` for an expression that cannot be read. */
export function compileGate(source: string): Condition {
  return compileCondition(source, { gate: {} }, "when");
}
