/** The templates of a definition: compiled once, every name in them held against the payload and the steps before. */
import type { AnyPoint } from "../../hooks/signatures.js";
import { errorMessage } from "../../lib/errors.js";
import type { Issue } from "../../lib/schema-issues.js";
import { compileSkipIf, type SkipCondition } from "../short-circuit.js";
import type { Step } from "../step.js";
import { compileOptions, type JsonSchema, jsonSchemaOf, type TemplateRules } from "../template.js";
import type { ContextStep, HandlerCall } from "./definition.js";
import type { ParsedHandler, ParsedStep } from "./parse.js";

export function compileTemplates(
  context: readonly ParsedStep[],
  run: ParsedHandler,
  point: AnyPoint,
  issues: Issue[],
): { context: ContextStep[]; run: HandlerCall } {
  const event = eventSchema(point);
  const steps = context.map(({ step: { name, fields } }) => ({ name, fields }));
  const compile = (options: unknown, before: number, at: readonly (string | number)[], rules: TemplateRules) => {
    const rendering = compileOptions(options, { event, steps: steps.slice(0, before) }, rules);
    issues.push(...rendering.problems.map(({ path, message }) => ({ path: [...at, ...path], message })));
    return rendering;
  };
  return {
    context: context.map(({ options, skipIf, ...one }, index) => {
      const at = ["context", index, one.step.name];
      const skip = skipIf === undefined ? undefined : skipCondition(skipIf, one.step, index);
      return {
        ...one,
        rendering: compile(options, index, at, one.step),
        ...(skip === undefined ? {} : { skip }),
      };
    }),
    run: {
      handler: run.handler,
      rendering: compile(run.options, steps.length, ["run", run.handler.name], run.handler),
    },
  };

  function skipCondition(source: string, step: Step, index: number): SkipCondition | undefined {
    try {
      return compileSkipIf(source, step, { event, steps: steps.slice(0, index) });
    } catch (error) {
      issues.push({ path: ["context", index, step.name, "skip_if"], message: errorMessage(error) });
      return undefined;
    }
  }
}

/** Thousands of hooks may stand at the same few points. */
const schemas = new WeakMap<AnyPoint, JsonSchema>();

function eventSchema(point: AnyPoint): JsonSchema {
  let schema = schemas.get(point);
  if (schema === undefined) {
    schema = jsonSchemaOf(point.payload);
    schemas.set(point, schema);
  }
  return schema;
}
