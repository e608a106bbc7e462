/**
 * Templates: `{{ event.a.b }}`, `{{ steps[0].stdout }}`, `{{ step_0 }}`, `{{ current_time }}` in the options of steps and handlers.
 * Compiled and checked once, when a definition is loaded; rendered for each run. They never reach a shell's command line.
 */
import type { Liquid, Template as LiquidTemplate } from "liquidjs";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { settleCode } from "./template/code.js";
import { commandLineProblem } from "./template/command-line.js";
import { isNoJson, noValueIn, type TemplateScope, templateData } from "./template/data.js";
import {
  addressEngine,
  fencingEngine,
  formEngine,
  linklessEngine,
  MAX_OUTPUT_CHARACTERS,
  plainEngine,
  quotingEngine,
} from "./template/engine.js";
import { letDefaultStandIn, showLostValue } from "./template/filters.js";
import { isTemplate } from "./template/is-template.js";
import { encodeInLinks, printedIn, showInCode } from "./template/links.js";
import { nameProblems, type TemplateNames } from "./template/names.js";
import { valuesIn } from "./template/paths.js";

export type { TemplateScope } from "./template/data.js";
export type { TemplateNames } from "./template/names.js";

export interface TemplateProblem {
  /** Where in the options: `headers.Authorization`, `command[2]`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The rules of a step or handler for its options. */
export interface TemplateRules {
  /** Top-level options that are never templates. */
  readonly verbatim?: readonly string[];
  /** Options that a model reads: values of templates in them are marked as data (`asData`). */
  readonly forModel?: readonly string[];
  /** Markdown that people read (`card.text`): no value makes a link there whose words hide where the link leads. */
  readonly forChat?: readonly string[];
  /** Options that are argument lists: no template turns a plain argument into an option (`-x`). */
  readonly argumentLists?: readonly string[];
  /**
   * Paths of files and addresses (`card.url`): no template takes a step upwards (`..`), and in an address that starts with its server
   * every value is encoded.
   */
  readonly places?: readonly string[];
  /** Texts that are sent as a form (`a={{ … }}&b=…`): every value is encoded. */
  forms?(options: unknown): readonly string[];
  /** Options with buttons: values of templates in the `line` of one become a quoted value of the command. */
  readonly buttons?: readonly string[];
}

/**
 * The code of the error that a template reads a value that a step does not have: JSON where it brought none, or a field of a failed step.
 */
export const NO_VALUE = "STEP_NO_VALUE";

/** Options with their templates compiled. */
export interface Rendering<T> {
  readonly problems: readonly TemplateProblem[];
  /** By the name of a path with templates: the folder that the path starts with (`files` of `files/{{ … }}`). */
  readonly folders: Readonly<Record<string, string>>;
  /** The options with every string rendered. Throws a `HookgateError` TEMPLATE_FAILED or NO_VALUE that names the string and the reason. */
  render(scope: TemplateScope): T;
}

interface Compiled {
  readonly path: readonly (string | number)[];
  readonly source: string;
  readonly engine: Liquid;
  readonly parsed: LiquidTemplate[];
  /** The command line of a button. */
  readonly isLine: boolean;
}

/** Compiles options: every string in them, at any depth, but the verbatim ones. Never throws. */
export function compileOptions<T>(options: T, names: TemplateNames, rules: TemplateRules = {}): Rendering<T> {
  const problems: TemplateProblem[] = [];
  const templates: Compiled[] = [];
  const forms = rules.forms?.(options) ?? [];
  for (const path of keysOf(options, []))
    if (isTemplate(String(path.at(-1))) && !rules.verbatim?.includes(String(path[0])))
      problems.push({ path, message: KEY_IS_TEMPLATE });
  for (const { path, text } of stringsOf(options, [])) {
    const option = String(path[0]);
    if (!isTemplate(text) || rules.verbatim?.includes(option)) continue;
    const isLine = rules.buttons?.includes(option) === true && path.at(-1) === "line";
    const engine = isLine ? quotingEngine() : forms.includes(option) ? formEngine() : engineFor(path, text, rules);
    try {
      const parsed = engine.parse(text);
      const unquotable = isLine ? commandLineProblem(parsed) : undefined;
      if (unquotable !== undefined) problems.push({ path, message: unquotable });
      for (const message of nameProblems(engine, parsed, text, names)) problems.push({ path, message });
      if (rules.forChat?.includes(settingOf(path))) {
        showInCode(parsed, text);
        encodeInLinks(parsed, text);
      }
      valuesIn(parsed).forEach(letDefaultStandIn);
      printedIn(parsed).forEach(showLostValue);
      templates.push({ path, source: text, engine, parsed, isLine });
    } catch (error) {
      problems.push({ path, message: firstLine(error) });
    }
  }
  return {
    problems,
    folders: foldersOf(templates, rules),
    render(scope) {
      const [wrong] = problems;
      if (wrong !== undefined) throw failed(wrong.path, wrong.message);
      if (templates.length === 0) return options;
      const data = templateData(
        scope,
        names.steps.map(({ fields = {} }) => Object.keys(fields)),
      );
      return templates.reduce((whole, one) => {
        const text = renderOne(one, data);
        if (rules.argumentLists?.includes(String(one.path[0]))) refuseNewOption(one, text);
        if (rules.places?.includes(settingOf(one.path))) refuseWayUp(one, text);
        const rendered = replaceAt(whole, one.path, text);
        return (one.isLine ? replaceAt(rendered, [...one.path.slice(0, -1), "isFilledIn"], true) : rendered) as T;
      }, options);
    },
  };
}

const KEY_IS_TEMPLATE =
  "a template in the name of a setting is not rendered: write the name as it is, and templates in its value";

function engineFor(path: readonly (string | number)[], source: string, rules: TemplateRules): Liquid {
  const { forModel, forChat, places } = rules;
  if (forModel?.includes(String(path[0]))) return fencingEngine();
  if (places?.includes(settingOf(path)) && isAddress(source)) return addressEngine();
  return forChat?.includes(settingOf(path)) ? linklessEngine() : plainEngine();
}

/** `buttons.url` of every button. */
const settingOf = (path: readonly (string | number)[]) => path.filter((part) => typeof part === "string").join(".");

function renderOne({ engine, parsed, path }: Compiled, data: object): string {
  try {
    const printed = String(engine.renderSync(parsed, data));
    const text = engine === linklessEngine() ? settleCode(printed) : printed;
    if (text.length > MAX_OUTPUT_CHARACTERS) throw new Error(`it prints more than ${MAX_OUTPUT_CHARACTERS} characters`);
    return text;
  } catch (error) {
    throw failed(path, firstLine(error), error);
  }
}

function failed(path: readonly (string | number)[], message: string, cause?: unknown): HookgateError {
  const place = formatPath(path);
  return new HookgateError({
    code: isNoJson(cause) || noValueIn(cause) !== undefined ? NO_VALUE : "TEMPLATE_FAILED",
    message: `${place === "" ? "template" : place}: ${message}`,
    cause,
  });
}

function refuseNewOption({ path, source }: Compiled, text: string): void {
  if (text.startsWith("-") && !source.startsWith("-"))
    throw failed(path, `it starts with "-" and would be an option: ${text.slice(0, 60)}`);
}

function foldersOf(templates: readonly Compiled[], { places }: TemplateRules): Record<string, string> {
  const folders: Record<string, string> = {};
  for (const { path, source } of templates) {
    const [option, ...inner] = path.map(String) as [string];
    const [folder] = /^[^{]*\//.exec(source) ?? [];
    if (inner.length === 0 && folder !== undefined && places?.includes(option) && !isAddress(source))
      folders[option] = folder;
  }
  return folders;
}

const isAddress = (source: string) => /^https?:\/\/[^/{]/i.test(source);

/** A value must not decide which folder a file is read from, or which part of a server is asked. */
function refuseWayUp({ path, source }: Compiled, text: string): void {
  // In an address that starts with its server, values have no `?` and no `#` of their own.
  const placeIn = (of: string) => (isAddress(source) ? (of.split(/[?#]/)[0] as string) : of);
  const stepsUp = (of: string) =>
    placeIn(of)
      .split(/[/\\]/)
      .filter((part) => part === "..").length;
  if (stepsUp(text) > stepsUp(source.replace(TAGS, "")))
    throw failed(path, `a value leads out of the folder, with "..": ${text.slice(0, 60)}`);
}

const TAGS = /\{\{.*?\}\}|\{%.*?%\}/gs;

const firstLine = (error: unknown) => errorMessage(error).split("\n")[0] as string;

function* stringsOf(
  value: unknown,
  path: readonly (string | number)[],
): Generator<{ path: readonly (string | number)[]; text: string }> {
  if (typeof value === "string") yield { path, text: value };
  else if (Array.isArray(value)) for (const [index, one] of value.entries()) yield* stringsOf(one, [...path, index]);
  else if (isPlainObject(value)) for (const [key, one] of Object.entries(value)) yield* stringsOf(one, [...path, key]);
}

/** The path of every key. */
function* keysOf(value: unknown, path: readonly (string | number)[]): Generator<readonly (string | number)[]> {
  if (Array.isArray(value)) for (const [index, one] of value.entries()) yield* keysOf(one, [...path, index]);
  else if (isPlainObject(value))
    for (const [key, one] of Object.entries(value)) {
      yield [...path, key];
      yield* keysOf(one, [...path, key]);
    }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function replaceAt(value: unknown, [key, ...rest]: readonly (string | number)[], put: string | boolean): unknown {
  if (key === undefined) return put;
  if (Array.isArray(value)) return value.map((one, index) => (index === key ? replaceAt(one, rest, put) : one));
  return { ...(value as object), [key]: replaceAt((value as Record<string, unknown>)[key], rest, put) };
}

/** `headers.Authorization`, `command[2]`. */
export function formatPath(path: readonly (string | number)[]): string {
  return path.map((part, index) => (typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`)).join("");
}
