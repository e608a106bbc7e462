/**
 * Templates: `{{ event.a.b }}`, `{{ steps[0].stdout }}`, `{{ step_0 }}`, `{{ current_time }}` in the options of steps and handlers.
 * Compiled and checked once, when a definition is loaded; rendered for each run. They never reach a shell's command line.
 */
import type { Liquid, Template as LiquidTemplate } from "liquidjs";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { type TemplateScope, templateData } from "./template/data.js";
import { createEngine, MAX_OUTPUT_CHARACTERS } from "./template/engine.js";
import { nameProblems, type TemplateNames } from "./template/names.js";

export type { TemplateScope } from "./template/data.js";
export { type JsonSchema, jsonSchemaOf } from "./template/json-schema.js";
export type { TemplateNames } from "./template/names.js";

export interface TemplateProblem {
  /** Where in the options: `headers.Authorization`, `command[2]`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Options with their templates compiled. */
export interface Rendering<T> {
  readonly problems: readonly TemplateProblem[];
  /** The options with every string rendered. Throws a `HookgateError` TEMPLATE_FAILED that says which one and why. */
  render(scope: TemplateScope): T;
}

export const isTemplate = (text: string) => text.includes("{{") || text.includes("{%");

/**
 * Compiles options: every string in them, at any depth, except under the top-level keys named in `verbatim`. What is printed
 * under those named in `forModel` is enclosed in `DATA_BEGIN` and `DATA_END`. Never throws.
 */
export function compileOptions<T>(
  options: T,
  names: TemplateNames,
  verbatim: readonly string[] = [],
  forModel: readonly string[] = [],
): Rendering<T> {
  const problems: TemplateProblem[] = [];
  const templates: { path: readonly (string | number)[]; engine: Liquid; parsed: LiquidTemplate[] }[] = [];
  const engines: { plain?: Liquid; marking?: Liquid } = {};
  const engineOf = (key: string): Liquid => {
    const kind = forModel.includes(key) ? "marking" : "plain";
    engines[kind] ??= createEngine({ forModel: kind === "marking" });
    return engines[kind];
  };
  for (const { path, text } of stringsOf(options, []))
    if (isTemplate(text) && !verbatim.includes(String(path[0]))) {
      const engine = engineOf(String(path[0]));
      try {
        const parsed = engine.parse(text);
        for (const message of nameProblems(engine, parsed, names)) problems.push({ path, message });
        templates.push({ path, engine, parsed });
      } catch (error) {
        problems.push({ path, message: firstLine(error) });
      }
    }
  return {
    problems,
    render(scope) {
      const [wrong] = problems;
      if (wrong !== undefined) throw failed(wrong.path, wrong.message);
      if (templates.length === 0) return options;
      const data = templateData(
        scope,
        names.steps.map((step) => step.fields),
        names.event,
      );
      const texts = templates.map(({ path, engine, parsed }) => ({
        path,
        text: renderOne(engine, parsed, data, path),
      }));
      return texts.reduce((whole, { path, text }) => replaceAt(whole, path, text) as T, options);
    },
  };
}

function renderOne(engine: Liquid, parsed: LiquidTemplate[], data: object, path: readonly (string | number)[]): string {
  try {
    const text = String(engine.renderSync(parsed, data));
    if (text.length > MAX_OUTPUT_CHARACTERS) throw new Error(`it prints more than ${MAX_OUTPUT_CHARACTERS} characters`);
    return text;
  } catch (error) {
    throw failed(path, firstLine(error), error);
  }
}

function failed(path: readonly (string | number)[], message: string, cause?: unknown): HookgateError {
  const place = formatPath(path);
  return new HookgateError({
    code: "TEMPLATE_FAILED",
    message: `${place === "" ? "template" : place}: ${message}`,
    cause,
  });
}

const firstLine = (error: unknown) => errorMessage(error).split("\n")[0] as string;

function* stringsOf(
  value: unknown,
  path: readonly (string | number)[],
): Generator<{ path: readonly (string | number)[]; text: string }> {
  if (typeof value === "string") yield { path, text: value };
  else if (Array.isArray(value)) for (const [index, one] of value.entries()) yield* stringsOf(one, [...path, index]);
  else if (isPlainObject(value)) for (const [key, one] of Object.entries(value)) yield* stringsOf(one, [...path, key]);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function replaceAt(value: unknown, [key, ...rest]: readonly (string | number)[], text: string): unknown {
  if (key === undefined) return text;
  if (Array.isArray(value)) return value.map((one, index) => (index === key ? replaceAt(one, rest, text) : one));
  return { ...(value as object), [key]: replaceAt((value as Record<string, unknown>)[key], rest, text) };
}

/** `headers.Authorization`, `command[2]`. */
export function formatPath(path: readonly (string | number)[]): string {
  return path.map((part, index) => (typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`)).join("");
}
