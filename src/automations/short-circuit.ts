/**
 * `skip_if` and `skip_when`: whether the handler need not run. Something that failed is neither empty nor ok, and a green step does not
 * hide a red one beside it: as long as a step failed, or is not ok and no condition asks for that, the handler runs.
 */
import { conditionProblems } from "../hooks/conditions/impossible-condition.js";
import { compileOver } from "../hooks/registration/predicate.js";
import { HookgateError } from "../lib/errors.js";
import type { JsonSchema } from "../lib/validation/json-schema.js";
import { noJsonProblem } from "./json-output.js";
import type { FieldType, Step, StepFailure, StepResult } from "./step.js";
import { fieldSchema, type StepNames, type TemplateNames } from "./template/names.js";

export type StepOutcome = StepResult | StepFailure;

export const isFailure = (outcome: StepOutcome): outcome is StepFailure => "error" in outcome;

/** `skip_if` of one step, compiled. */
export interface SkipCondition {
  /** The condition as written. */
  readonly source: string;
  /** The log has a warning that it had no answer. */
  isReported?: true;
  /** `unanswered`: why it has no answer. Throws when the result of the expression is neither true nor false. */
  holds(
    outcome: StepResult,
    event: unknown,
    outcomes: readonly StepOutcome[],
  ): boolean | { readonly unanswered: string };
}

/** Throws a HookgateError SKIP_IF_INVALID; `own`: the names in the result of this step; `names`: those of the steps before it. */
export function compileSkipIf(source: string, step: Step, names: TemplateNames, own: StepNames = step): SkipCondition {
  switch (source) {
    case "empty":
      if (step.neverEmpty) throw invalid(`the result of ${step.name} is never empty, so no run is skipped: remove it`);
      return { source, holds: (outcome) => outcome.isEmpty && outcome.isOk !== false };
    case "exit_zero":
    case "status_ok":
      if (step.okWord !== source) throw invalid(`${step.name} has no ${source}${words(step)}`);
      return { source, holds: (outcome) => outcome.isOk === true };
    default:
      return compileExpression(source, step, names, own);
  }
}

function compileExpression(source: string, step: Step, names: TemplateNames, own: StepNames): SkipCondition {
  // `exit_zeroo` is a slip, not an expression.
  if (/^[a-z_]+$/.test(source)) throw invalid(`there is no "${source}"${words(step)}`);
  const steps = [...names.steps, own].map(fieldsSchema);
  // CEL itself knows no types of a step: it would refuse a comparison with null, which each field may be.
  const known = { step: untyped(own), steps: { type: "array" }, event: names.event ?? {} };
  const variables = {
    step: fieldsSchema(own),
    steps: { type: "array", prefixItems: steps },
    event: names.event ?? {},
  };
  const problems = conditionProblems(source, variables);
  if (problems.length > 0) throw invalid(problems.join("; "));
  try {
    const condition = compileOver(source, known, "skip_if");
    return {
      source,
      holds(outcome, event, outcomes) {
        const found = condition({ step: visible(outcome), steps: outcomes.map(visible), event });
        if (found === true || found.error === undefined) return found === true;
        if (found.isValue) throw new HookgateError({ code: "CONDITION_NO_ANSWER", message: found.reason });
        const noJson = found.error.includes("json") ? jsonLackedBy(outcome, outcomes) : undefined;
        if (noJson !== undefined)
          throw new HookgateError({ code: "CONDITION_NO_ANSWER", message: `${source}: ${noJson}` });
        return { unanswered: found.error };
      },
    };
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error));
  }
}

/** Nothing is known of a step that has issues itself. */
function fieldsSchema(step: StepNames): JsonSchema {
  if (step.fields === undefined) return {};
  const types: Record<string, FieldType> = { text: "string", ...step.fields };
  // A condition on a value that a step never has would never hold. `error` and `timedOut` are not there either: as long as a step failed,
  // none skips the run.
  if (step.okWord !== undefined) types.ok = "boolean";
  if (!step.neverEmpty) types.empty = "boolean";
  const all = Object.entries(types).map(([name, type]) => [name, fieldSchema(step, name, type)]);
  return { type: "object", properties: Object.fromEntries(all), additionalProperties: false };
}

function untyped(own: StepNames): JsonSchema {
  const fields = Object.keys(fieldsSchema(own).properties ?? {});
  return {
    type: "object",
    properties: Object.fromEntries(fields.map((field) => [field, {}])),
    additionalProperties: false,
  };
}

/** The fields of a step that an expression sees. */
function visible(outcome: StepOutcome): Record<string, unknown> {
  if (isFailure(outcome)) return { error: outcome.error, timedOut: outcome.timedOut, ok: false, empty: false };
  const seen = { ok: outcome.isOk ?? null, empty: outcome.isEmpty, text: outcome.text, ...outcome.value };
  // `has(step.json)` asks for it, and anything else that reads it has no answer.
  if (outcome.noJson !== undefined) delete (seen as { json?: unknown }).json;
  return seen;
}

/** Which step brought no JSON, the own one first. */
function jsonLackedBy(own: StepResult, outcomes: readonly StepOutcome[]): string | undefined {
  const lacks = (one: StepOutcome) => !isFailure(one) && one.noJson !== undefined;
  const index = lacks(own) ? outcomes.indexOf(own) : outcomes.findIndex(lacks);
  const found = outcomes[index];
  return found === undefined || isFailure(found) ? undefined : noJsonProblem(index, found.noJson ?? "");
}

function words({ okWord, fields }: Step): string {
  return `: expected ${okWord === undefined ? "" : `${okWord}, `}empty, or an expression over step.${Object.keys(fields)[0]} and the like`;
}

function invalid(message: string): HookgateError {
  return new HookgateError({ code: "SKIP_IF_INVALID", message });
}

export interface Judged {
  readonly name: string;
  readonly outcome: StepOutcome;
  readonly skip?: SkipCondition;
  /** Whether its own condition holds; undefined when it has none. */
  readonly holds?: boolean;
}

/** Why the handler need not run, for the history; undefined when it must. */
export function shortCircuit(steps: readonly Judged[], skipWhen: "any" | "all"): string | undefined {
  if (steps.some(isRed)) return undefined;
  const asked = steps.filter((step) => step.holds !== undefined);
  const held = asked.filter((step) => step.holds);
  if (held.length === 0 || (skipWhen === "all" && held.length < asked.length)) return undefined;
  return held.map((step) => `steps[${steps.indexOf(step)}] ${step.name}: ${step.skip?.source}`).join("; ");
}

/** Failed, or not ok although its own condition did not ask for just that. */
function isRed({ outcome, holds }: Judged): boolean {
  return isFailure(outcome) || (outcome.isOk === false && holds !== true);
}
