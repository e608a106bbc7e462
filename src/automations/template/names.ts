/** The names that a template uses, against those that there are: a wrong one is refused at load, with the nearest suggested. */
import type { Liquid, Template } from "liquidjs";
import { PROGRAM_OUTPUT } from "../../hooks/conditions/impossible-condition.js";
import { errorMessage } from "../../lib/errors.js";
import { isBlank } from "../../lib/markdown/clean.js";
import { type JsonSchema, onlyField, propertiesOf } from "../../lib/validation/json-schema.js";
import { nearest } from "../../lib/validation/nearest.js";
import type { FieldType } from "../step.js";
import { comparisonProblem, conditionProblem, type NamedField } from "./comparisons.js";
import { COMMON_STEP_FIELDS, TIMING_NAMES } from "./data.js";
import { plainEngine } from "./engine.js";
import { filterProblem } from "./filters.js";
import { ITEM, isNested, type Path, readsOf, valuesIn } from "./paths.js";

/** `fields` is absent when nothing is known of the step. */
export interface StepNames {
  readonly name: string;
  readonly fields?: Readonly<Record<string, FieldType>>;
  /** The schemas of the items of its lists; for a list that is not there, nothing is known. */
  readonly items?: Readonly<Record<string, JsonSchema>>;
  /** See `Step`. */
  readonly okWord?: string | undefined;
  readonly neverEmpty?: true | undefined;
  readonly nullable?: readonly string[] | undefined;
}

/** The schema of a field of a step. */
export function fieldSchema({ items }: StepNames, field: string, type: FieldType): JsonSchema {
  if (type === "any") return {};
  if (type === "output") return { type: "string", pattern: PROGRAM_OUTPUT };
  return type === "array" ? { type, items: items?.[field] ?? {} } : { type };
}

/** The names that a template may use. */
export interface TemplateNames {
  /** Absent: any field of the event. */
  readonly event?: JsonSchema;
  /** The steps before the one that uses the template; all of them for a handler. */
  readonly steps: readonly StepNames[];
}

/** The problems of the names and the filters; empty when all is well. */
export function nameProblems(engine: Liquid, template: Template[], source: string, names: TemplateNames): string[] {
  const { paths, comparisons, conditions } = readsOf(engine, template);
  const filters = valuesIn(template).flatMap((value) => value.filters);
  const fieldAt = (path: Path) => {
    const found = lookUp(path, names);
    return found !== undefined && "schema" in found ? found : undefined;
  };
  const problems = [
    ...paths.map((path) => problemIn(lookUp(path, names))),
    ...filters.map(filterProblem),
    ...comparisons.map(({ path, operator, value }) => comparisonProblem(fieldAt(path), operator, value)),
    ...conditions.map((path) => conditionProblem(fieldAt(path))),
  ].filter((one) => one !== undefined);
  if (paths.length === 0 && problems.length === 0) problems.push(...constantProblem(source));
  return [...new Set(problems)];
}

/** Undefined: nothing is known of it. */
type Found = NamedField | { readonly problem: string } | undefined;

const problemIn = (found: Found) => (found !== undefined && "problem" in found ? found.problem : undefined);

function lookUp([root, ...path]: Path, names: TemplateNames): Found {
  if (typeof root !== "string") return undefined;
  if (root === "event") return names.event && inEvent(path, names.event);
  if (root === "steps") return inSteps(path, names);
  const numbered = /^step_(\d+)$/.exec(root);
  if (numbered) return inStep(Number(numbered[1]), path, root, names);
  if (isTiming(root)) return inValue(path, timingSchema(root), { name: root, isSure: false });
  return {
    problem: `there is no "${root}"${suggest(root, ["event", "steps", ...names.steps.map((_, index) => `step_${index}`), ...TIMING_NAMES])}`,
  };
}

const isTiming = (name: unknown): name is string => (TIMING_NAMES as readonly unknown[]).includes(name);

const timingSchema = (name: string): JsonSchema => ({ type: name.endsWith("_time") ? "string" : "number" });

function inEvent(path: Path, schema: JsonSchema): Found {
  const [first, ...rest] = path;
  if (isTiming(first) && !propertiesOf(schema, schema).fields.has(first))
    return inValue(rest, timingSchema(first), { name: `event.${first}`, isSure: false });
  const only = onlyField(schema, schema);
  const isNamed = first === undefined || (typeof first === "string" && first !== "size");
  if (only !== undefined && !isNamed) return { problem: `event has one field: write event.${only} in place of event` };
  return inValue(path, schema, { name: "event", isSure: true });
}

/** Finds where a path into a value of this schema leads; `of`: the known facts about the value. */
function inValue(path: Path, schema: JsonSchema, of: Omit<NamedField, "schema" | "root">): Found {
  let at = schema;
  let { name: place, isSure } = of;
  for (const segment of path) {
    const known = propertiesOf(at, schema);
    if (isNested(segment) || segment === ITEM) {
      if (known.items === undefined) return undefined;
      at = known.items;
      place += "[…]";
      continue;
    }
    isSure &&= segment === "size" || known.required.has(String(segment));
    const isIndex = typeof segment === "number" || segment === "first" || segment === "last";
    if (isIndex && known.items !== undefined) at = known.items;
    else if (known.fields.has(String(segment))) at = known.fields.get(String(segment)) as JsonSchema;
    else if (known.isOpen) return undefined;
    else if (segment === "size" && !(known.isScalar && isSizeless(at))) at = { type: "number" };
    else if (known.isScalar) return { problem: `${place} has no fields, so no "${segment}" either` };
    else if (known.items !== undefined) return { problem: `${place} is a list: write ${place}[0].${segment}` };
    else return { problem: `${place} has no "${segment}"${suggest(String(segment), known.fields.keys())}` };
    place += typeof segment === "number" ? `[${segment}]` : `.${segment}`;
  }
  return { ...of, name: place, schema: at, root: schema, isSure };
}

const isSizeless = ({ type }: JsonSchema) => type === "number" || type === "integer" || type === "boolean";

function inSteps([index, ...path]: Path, names: TemplateNames): Found {
  if (index === undefined) return undefined;
  if (isNested(index) || index === ITEM) {
    // Any of the steps: the path is right if one of them has it.
    const problems = names.steps.map((_, number) => problemIn(inStep(number, path, "steps[…]", names)));
    const [problem] = problems;
    return problem === undefined || problems.includes(undefined) ? undefined : { problem };
  }
  if (index === "size") return inValue(path, { type: "number" }, { name: "steps.size", isSure: true });
  const last = names.steps.length - 1;
  if (index === "first") return inStep(0, path, "steps.first", names);
  if (index === "last") return inStep(last, path, "steps.last", names);
  if (typeof index !== "number" && !/^\d+$/.test(String(index)))
    return { problem: `steps is a list: write steps[0].${index}` };
  const number = Number(index);
  return inStep(number < 0 ? last + 1 + number : number, path, `steps[${index}]`, names);
}

function inStep(index: number, path: Path, place: string, names: TemplateNames): Found {
  const step = names.steps[index];
  if (step === undefined)
    return {
      problem:
        names.steps.length === 0
          ? `${place}: no step comes before this`
          : `${place}: the steps before this are steps[0]${names.steps.length > 1 ? ` to steps[${names.steps.length - 1}]` : ""}`,
    };
  const [field, ...rest] = path;
  if (field === undefined) return inValue([], { type: "object" }, { name: place, isSure: true, isOfStep: true });
  if (typeof field !== "string" || step.fields === undefined) return undefined;
  const types: Readonly<Record<string, FieldType>> = { ...COMMON_STEP_FIELDS, ...step.fields };
  const type = Object.hasOwn(types, field) ? types[field] : undefined;
  if (type === undefined)
    return { problem: `${place} (${step.name}) has no "${field}"${suggest(field, Object.keys(types))}` };
  const isSure = Object.hasOwn(step.fields, field) && !step.nullable?.includes(field);
  return inValue(rest, fieldSchema(step, field, type), { name: `${place}.${field}`, isSure, isOfStep: true });
}

function suggest(name: string, candidates: Iterable<string>): string {
  const known = [...candidates];
  const near = nearest(name, known);
  if (near !== undefined) return `; did you mean "${near}"?`;
  return known.length === 0 ? "" : `; there is ${known.slice(0, 12).join(", ")}`;
}

/** A template that reads nothing of the run prints the same each time, so its output is known at load. At most one sentence. */
function constantProblem(source: string): string[] {
  try {
    if (!isBlank(String(plainEngine().parseAndRenderSync(source)))) return [];
    return ["it always prints nothing: write a text, or a name such as {{ event.… }}, or remove this setting"];
  } catch (error) {
    return [`it fails at every run: ${errorMessage(error).split("\n")[0]}`];
  }
}
