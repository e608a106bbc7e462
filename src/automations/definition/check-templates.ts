/**
 * Checks the templates of a definition: they are compiled once, and every name in them is compared with the payload and the steps before.
 */
import { deniedUnseen, seenPayload } from "../../hooks/conditions/impossible-match.js";
import type { Matcher } from "../../hooks/registration/matcher.js";
import type { AnyPoint } from "../../hooks/signatures.js";
import { errorMessage } from "../../lib/errors.js";
import type { Issue } from "../../lib/validation/schema-issues.js";
import { compileSkipIf, type SkipCondition } from "../short-circuit.js";
import type { Step } from "../step.js";
import type { StepNames } from "../template/names.js";
import { compileOptions, type TemplateRules } from "../template.js";
import type { ContextStep, HandlerCall } from "./definition.js";
import type { ParsedBody, ParsedHandler, ParsedStep } from "./parse.js";

/** Undefined when a step or the handler is not there; the templates of the others are looked at all the same. */
export function compileTemplates(
  { context, run }: ParsedBody,
  point: AnyPoint,
  access: Matcher["access"],
  issues: Issue[],
): { context: ContextStep[]; run: HandlerCall } | undefined {
  const event = seenPayload(point, access);
  const steps = context.map((one) => (one === undefined ? UNKNOWN_STEP : namesOf(one)));
  const compile = (options: unknown, before: number, at: readonly (string | number)[], rules: TemplateRules) => {
    const rendering = compileOptions(options, { event, steps: steps.slice(0, before) }, rules);
    issues.push(
      ...rendering.problems.map(({ path, message }) => ({ path: [...at, ...path], message: deniedUnseen(message) })),
    );
    return rendering;
  };
  const compiled = context.map((one, index) => one && compileStep(one, index));
  const call = run && compileCall(run);
  const whole = compiled.filter((one) => one !== undefined);
  return call === undefined || whole.length < compiled.length ? undefined : { context: whole, run: call };

  function compileStep({ options, skipIf, ...one }: ParsedStep, index: number): ContextStep {
    const at = ["context", index, one.step.name];
    const skip = skipIf === undefined ? undefined : skipCondition(skipIf, one.step, options, index);
    return {
      ...one,
      rendering: compile(options, index, at, one.step),
      skip,
    };
  }

  function compileCall({ handler, options }: ParsedHandler): HandlerCall {
    return { handler, rendering: compile(options, steps.length, ["run", handler.name], handler) };
  }

  function skipCondition(source: string, step: Step, options: unknown, index: number): SkipCondition | undefined {
    try {
      return compileSkipIf(source, step, { event, steps: steps.slice(0, index) }, namesOf({ step, options }));
    } catch (error) {
      issues.push({ path: ["context", index, step.name, "skip_if"], message: deniedUnseen(errorMessage(error)) });
      return undefined;
    }
  }
}

function namesOf({ step, options }: Pick<ParsedStep, "step" | "options">): StepNames {
  return { ...step, items: step.itemsOf?.(options) ?? {} };
}

/** Replaces a step that has issues: problems of its fields are not reported. */
const UNKNOWN_STEP = { name: "unknown" };
