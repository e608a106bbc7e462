/**
 * Why a condition had no answer, for everyone: viewers read it with `/hooks why`, and it is in the log. The errors of CEL and of patterns
 * may quote a value of the payload, so only kinds that never do are passed on, and any other error has words of ours.
 */
import { type ASTNode, TypeError as CelTypeError, EvaluationError } from "@marcbachmann/cel-js";
import { RE2JSException } from "re2js";
import { errorMessage } from "../../lib/errors.js";
import { isTooMuchWork } from "./work.js";

/** Their messages name types and names that the condition itself has. */
const QUOTE_NO_VALUE: ReadonlySet<string> = new Set([
  "division_by_zero",
  "double_conversion_error",
  "index_out_of_range",
  "int_conversion_error",
  "invalid_comparison_type",
  "invalid_comprehension_range",
  "invalid_condition_type",
  "invalid_list_element_type",
  "invalid_logical_operand",
  "invalid_optional_argument",
  "invalid_timestamp",
  "modulo_by_zero",
  "no_matching_overload",
  "no_such_overload",
  "optional_expected",
  "optional_value_missing",
  "uint_conversion_error",
  "unknown_variable",
  "variable_type_mismatch",
]);

const OURS: Readonly<Record<string, string>> = {
  bool_conversion_error: "bool() type error: cannot convert to bool",
  index_out_of_bounds: "No such key: index out of bounds",
  invalid_duration: 'duration() requires a text such as "1h30m"',
  numeric_overflow: "integer overflow",
};

/** `thrown`: by an evaluation. */
export function whyNoAnswer(thrown: unknown): string {
  if (isTooMuchWork(thrown)) return firstLine(thrown);
  if (thrown instanceof RE2JSException) return "matches() requires a regular expression (RE2)";
  if (!(thrown instanceof EvaluationError || thrown instanceof CelTypeError)) return UNKNOWN;
  const { code, node } = thrown;
  if (code === "no_such_key") {
    const key = writtenKey(node as ASTNode | undefined);
    return key === undefined ? "No such key" : `No such key: ${key}`;
  }
  return QUOTE_NO_VALUE.has(code) ? firstLine(thrown) : (OURS[code] ?? UNKNOWN);
}

/** The key that an access names in the condition; undefined when a value of the payload is the key. */
function writtenKey(node: ASTNode | undefined): string | undefined {
  if (node?.op === ".") return node.args[1];
  if (node?.op !== "[]") return undefined;
  const [, key] = node.args;
  return key.op === "value" ? String(key.args) : undefined;
}

const firstLine = (error: unknown) => errorMessage(error).split("\n")[0] ?? "";

const UNKNOWN = "it cannot be evaluated with these values";
