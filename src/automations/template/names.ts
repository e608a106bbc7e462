/** The names that a template uses, against those that there are: a wrong one is refused at load, with the nearest suggested. */
import type { Liquid, Template, Variable } from "liquidjs";
import { type JsonSchema, propertiesOf } from "../../lib/json-schema.js";
import { nearest } from "../../lib/nearest.js";
import type { FieldType } from "../step.js";
import { COMMON_STEP_FIELDS, TIMING_NAMES } from "./data.js";
import { liquid } from "./engine.js";

/** `fields` is absent when nothing is known of the step. */
export interface StepNames {
  readonly name: string;
  readonly fields?: Readonly<Record<string, FieldType>>;
}

/** What a template may name. */
export interface TemplateNames {
  /** Absent: any field of the event. */
  readonly event?: JsonSchema;
  /** The steps before the one that uses the template; all of them for a handler. */
  readonly steps: readonly StepNames[];
}

/** What is wrong with the names; empty when all is well. */
export function nameProblems(engine: Liquid, template: Template[], names: TemplateNames): string[] {
  const used = Object.values(engine.analyzeSync(template, { partials: false }).globals).flat();
  return [...new Set(used.map((variable) => variableProblem(variable, names)).filter((one) => one !== undefined))];
}

const isVariable = (segment: unknown): segment is Variable => segment instanceof liquid().Variable;

function variableProblem({ segments }: Variable, names: TemplateNames): string | undefined {
  const [root, ...path] = segments;
  if (typeof root !== "string") return undefined;
  if (root === "event") return names.event && eventProblem(path, names.event);
  if (root === "steps") return stepsProblem(path, names);
  const numbered = /^step_(\d+)$/.exec(root);
  if (numbered) return stepProblem(Number(numbered[1]), path, root, names);
  if (isTiming(root)) return undefined;
  return `there is no "${root}"${suggest(root, ["event", "steps", ...names.steps.map((_, index) => `step_${index}`), ...TIMING_NAMES])}`;
}

const isTiming = (name: unknown) => (TIMING_NAMES as readonly unknown[]).includes(name);

function eventProblem(path: readonly unknown[], schema: JsonSchema): string | undefined {
  if (isTiming(path[0])) return undefined;
  let at = schema;
  let place = "event";
  for (const segment of path) {
    if (isVariable(segment)) return undefined;
    const known = propertiesOf(at, schema);
    const isIndex = typeof segment === "number" || segment === "first" || segment === "last";
    if (isIndex && known.items !== undefined) at = known.items;
    else if (known.fields.has(String(segment))) at = known.fields.get(String(segment)) as JsonSchema;
    else if (known.isOpen || segment === "size") return undefined;
    else if (known.isScalar) return `${place} has no fields, so no "${segment}" either`;
    else return `${place} has no "${segment}"${suggest(String(segment), known.fields.keys())}`;
    place += typeof segment === "number" ? `[${segment}]` : `.${segment}`;
  }
  return undefined;
}

function stepsProblem([index, ...path]: readonly unknown[], names: TemplateNames): string | undefined {
  if (index === undefined || isVariable(index) || index === "size") return undefined;
  const last = names.steps.length - 1;
  if (index === "first") return stepProblem(0, path, "steps.first", names);
  if (index === "last") return stepProblem(last, path, "steps.last", names);
  if (typeof index !== "number" && !/^\d+$/.test(String(index))) return `steps is a list: write steps[0].${index}`;
  const number = Number(index);
  return stepProblem(number < 0 ? last + 1 + number : number, path, `steps[${index}]`, names);
}

function stepProblem(index: number, path: readonly unknown[], place: string, names: TemplateNames): string | undefined {
  const step = names.steps[index];
  if (step === undefined)
    return names.steps.length === 0
      ? `${place}: no step comes before this`
      : `${place}: the steps before this are steps[0]${names.steps.length > 1 ? ` to steps[${names.steps.length - 1}]` : ""}`;
  const [field] = path;
  if (typeof field !== "string" || step.fields === undefined) return undefined;
  const known = [...Object.keys(step.fields), ...COMMON_STEP_FIELDS];
  return known.includes(field) ? undefined : `${place} (${step.name}) has no "${field}"${suggest(field, known)}`;
}

function suggest(name: string, candidates: Iterable<string>): string {
  const known = [...candidates];
  const near = nearest(name, known);
  if (near !== undefined) return `; did you mean "${near}"?`;
  return known.length === 0 ? "" : `; there is ${known.slice(0, 12).join(", ")}`;
}
