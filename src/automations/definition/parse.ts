/**
 * Parses a written definition into one whose form is right: every setting is known and of its type, every step and handler is in the
 * tables.
 */

import { isRecord } from "../../lib/record.js";
import { parseAll, valueAt } from "../../lib/validation/parse-all.js";
import { EMPTY, PLAIN_MANY } from "../../lib/validation/plain-issues.js";
import { type Issue, issuesOf, suggestion, toIssues } from "../../lib/validation/schema-issues.js";
import { keysAt } from "../../lib/validation/schema-keys.js";
import type { Handler } from "../handler.js";
import type { Step } from "../step.js";
import { LATER_STEPS } from "../steps/index.js";
import { COMMON_STEP_KEYS, commonStepForm, type DefinitionForm, definitionForm } from "./schema.js";

/** The steps and handlers that definitions may name. */
export interface Tables {
  readonly steps: Readonly<Record<string, Step>>;
  readonly handlers: Readonly<Record<string, Handler>>;
}

export interface ParsedStep {
  readonly step: Step;
  readonly options: unknown;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly required: boolean;
  readonly skipIf?: string;
}

export interface ParsedHandler {
  readonly handler: Handler;
  readonly options: unknown;
}

/** Undefined in place of each step, and of the handler, that has issues. */
export interface ParsedBody {
  readonly context: readonly (ParsedStep | undefined)[];
  readonly run: ParsedHandler | undefined;
}

/** The parts without issues, which can still be checked against other settings. */
export interface Parsed {
  issues: Issue[];
  /** With defaults for the settings that have issues; undefined when it is no map at all. */
  form?: DefinitionForm;
  /** The settings whose values are not those that were written. */
  unsure: ReadonlySet<string>;
  body: ParsedBody;
}

/** Every issue at once. */
export function parseDefinition(value: unknown, tables: Tables): Parsed {
  const parsed = parseAll(definitionForm, value, NO_EMPTY);
  const raw = isRecord(value) ? value : {};
  const issues: Issue[] = parsed.issues.flatMap(({ issue, path }) =>
    toIssues(issue, path, (at) => keysAt(definitionForm, at)),
  );
  const unsure = new Set(issues.map(({ path }) => String(path[0])));
  const form =
    parsed.data ??
    (isRecord(value)
      ? parseAll(definitionForm, { ...ANY_ID, ...pick(raw, (key) => !unsure.has(key)) }, NO_EMPTY).data
      : undefined);
  const steps = Array.isArray(raw.context) ? raw.context : [];
  const context = steps.map((step, index) => parseStep(step, ["context", index], tables, issues));
  // A value that is no map has no handler either: one message is enough.
  const run = isRecord(value) ? parseHandler(raw.run, tables, issues) : undefined;
  const isEmpty = ({ path }: Issue) => path.length > 0 && valueAt(value, path) === null;
  return {
    issues: issues.map((issue) =>
      isEmpty(issue) ? { ...issue, message: issue.path.join() === "id" ? EMPTY_ID : EMPTY } : issue,
    ),
    form,
    unsure,
    body: { context, run },
  };
}

/** A setting that is left empty by mistake would match more, or decide more, than was meant. */
const NO_EMPTY = { ...PLAIN_MANY, emptySections: false };

/** Without an id there is no hook: to remove the line is no way out. */
const EMPTY_ID = "it is empty: write a name for this hook";

/** For a definition whose id has issues. */
const ANY_ID = { id: "unknown" };

function parseHandler(value: unknown, { handlers }: Tables, issues: Issue[]): ParsedHandler | undefined {
  const one = onlyEntry(value, "handler", ["run"], handlers, issues);
  if (one === undefined) return undefined;
  const { name, entry: handler, value: given } = one;
  const options = handler.options.safeParse(given, PLAIN_MANY);
  if (options.success) return { handler, options: options.data };
  issues.push(...issuesOf(options.error, ["run", name], (at) => keysAt(handler.options, at)));
  return undefined;
}

function parseStep(
  value: unknown,
  path: (string | number)[],
  { steps }: Tables,
  issues: Issue[],
): ParsedStep | undefined {
  const one = onlyEntry(value, "step", path, steps, issues);
  if (one === undefined) return undefined;
  const { name, entry: step, value: given } = one;
  const at = [...path, name];
  const isShort = !isRecord(given);
  const settings = isShort ? {} : pick(given, (key) => COMMON_STEP_KEYS.includes(key));
  const own = isShort ? given : pick(given, (key) => !COMMON_STEP_KEYS.includes(key));
  const common = commonStepForm.safeParse(settings, PLAIN_MANY);
  const options = step.options.safeParse(own, PLAIN_MANY);
  if (!common.success) issues.push(...issuesOf(common.error, at));
  if (!options.success)
    issues.push(
      ...issuesOf(options.error, at, (inner) => [
        ...keysAt(step.options, inner),
        ...(inner.length === 0 ? COMMON_STEP_KEYS : []),
      ]),
    );
  if (!common.success || !options.success) return undefined;
  const { timeout, max_bytes, required, skip_if } = common.data;
  return {
    step,
    options: options.data,
    timeoutMs: timeout,
    maxBytes: max_bytes,
    required: required ?? step.isEffect === true,
    skipIf: skip_if,
  };
}

/** `{ shell: { … } }`: the one key, which the table must know. */
function onlyEntry<T>(
  value: unknown,
  what: "step" | "handler",
  path: readonly (string | number)[],
  table: Readonly<Record<string, T>>,
  issues: Issue[],
): { name: string; entry: T; value: unknown } | undefined {
  const known = Object.keys(table);
  if (!isRecord(value)) {
    issues.push({ path, message: `expected one ${what}: ${known.join(", ")}` });
    return undefined;
  }
  const keys = Object.keys(value);
  const [name] = keys;
  if (name === undefined || keys.length > 1) {
    const step = what === "step" && keys.find((key) => Object.hasOwn(table, key));
    const beside = keys.find((key) => COMMON_STEP_KEYS.includes(key));
    const hint = step && beside ? `: ${beside} belongs inside, as in { ${step}: { …, ${beside}: … } }` : "";
    issues.push({ path, message: `expected exactly one ${what}, got ${keys.join(" and ") || "none"}${hint}` });
    return undefined;
  }
  const entry = Object.hasOwn(table, name) ? table[name] : undefined;
  if (entry !== undefined) return { name, entry, value: value[name] };
  issues.push({
    path: [...path, name],
    message: LATER_STEPS[name] ?? `there is no ${what} "${name}"${suggestion(name, known)}`,
    ofKey: true,
  });
  return undefined;
}

function pick(given: Record<string, unknown>, wanted: (key: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([key]) => wanted(key)));
}
