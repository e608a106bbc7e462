/**
 * Reads a command written as text: `/name value name=value "quoted value" {"json": 1}`. Also checks values that came in a platform's own
 * form.
 */
import {
  type CommandSpec,
  closingQuote,
  findOption,
  type OptionSpec,
  type OptionValue,
  plainName,
} from "../../domain/chat/command.js";
import { shortCopy } from "../../lib/text/short-copy.js";
import { nearest } from "../../lib/validation/nearest.js";
import type { Command } from "../commands.js";

export type ParsedOptions =
  | { kind: "options"; options: Record<string, OptionValue> }
  /** `missing`: only this required option is; the others are in `options`. */
  | { kind: "problem"; message: string; missing?: string; options?: Record<string, OptionValue> };

export class CommandTable<C extends CommandSpec = Command> {
  readonly #own: readonly C[];
  readonly #byName: ReadonlyMap<string, C>;
  readonly #more: () => readonly C[];

  /** `more`: those of plugins, which come and go. */
  constructor(commands: readonly C[], more: () => readonly C[] = () => []) {
    this.#own = commands;
    this.#more = more;
    this.#byName = new Map(commands.map((command) => [plainName(command.name), command]));
  }

  get all(): readonly C[] {
    return [...this.#own, ...this.#more()];
  }

  find(name: string): C | undefined {
    const wanted = plainName(name);
    return this.#byName.get(wanted) ?? this.#more().find((command) => plainName(command.name) === wanted);
  }

  /** The command that a text calls, and the text behind its name. Any other text, `/unknown` included, is no command. */
  read(text: string): { command: C; rest: string } | undefined {
    if (text.charCodeAt(0) !== 47 /* slash */) return undefined;
    const match = /^\/([a-z0-9_-]{1,32})(?:\s+([\s\S]*))?$/i.exec(text);
    const command = match?.[1] === undefined ? undefined : this.find(match[1]);
    return command && { command, rest: (match?.[2] ?? "").trim() };
  }
}

type Values = Readonly<Record<string, OptionValue>>;

/** Options by position, by `name=value`, and switches by their bare name; over them the values of a form. */
export function parseOptions(spec: CommandSpec, text: string, values: Values = {}): ParsedOptions {
  const given = new Map<OptionSpec, OptionValue>();
  let at = 0;
  for (;;) {
    at = skipSpace(text, at);
    if (at >= text.length) break;
    const named = readNamed(spec, text, at);
    if (named?.kind === "problem") return named;
    if (named && given.has(named.option)) return givenTwice(named.option, given, named.value);
    if (named && !isCutShort(named, text)) {
      given.set(named.option, named.value);
      at = named.end;
      continue;
    }
    const from = named?.from ?? at;
    const value = readValue(text, from);
    const isLast = value.end >= text.length || optionsOnly(spec, text, value.end) !== undefined;
    const option = named?.option ?? nextByPlace(spec, given, isLast ? value.text : undefined);
    if (!option) return problem(`"${shortCopy(value.text)}" is more than this command takes`);
    if (option.rest) {
      const { rest, switches } = cutTrailing(spec, text.slice(from));
      given.set(option, unquoteWhole(rest));
      for (const [other, value] of switches) {
        if (given.has(other)) return givenTwice(other, given, value);
        given.set(other, value);
      }
      break;
    }
    const typed = coerce(option, value.text);
    if (typeof typed === "object") return afterWords(typed, given);
    given.set(option, value.text);
    at = value.end;
  }
  return takeValues(spec, values, given) ?? finish(spec, given);
}

/** Which option a value without a name is for. `last`: the value, when it is the last one without a name. */
function nextByPlace(
  spec: CommandSpec,
  given: ReadonlyMap<OptionSpec, OptionValue>,
  last: string | undefined,
): OptionSpec | undefined {
  const action = spec.options.find(({ name }) => name === "action");
  const chosen = plainName(String((action && given.get(action)) ?? ""));
  const yields = (option: OptionSpec) =>
    option.yields === true && last !== undefined && typeof coerce(option, last) === "object";
  return spec.options.find(
    (option) => !given.has(option) && (option.only?.includes(chosen) ?? true) && !yields(option),
  );
}

/** Applies the same checks to options that come by name: slash commands, HTTP. */
export function checkOptions(spec: CommandSpec, values: Values): ParsedOptions {
  const given = new Map<OptionSpec, OptionValue>();
  for (const [name, value] of Object.entries(values)) {
    const option = findOption(spec, name);
    if (option && given.has(option)) return givenTwice(option, given, value);
    if (option) given.set(option, value);
  }
  return takeValues(spec, values, given) ?? finish(spec, given);
}

function takeValues(spec: CommandSpec, values: Values, given: Map<OptionSpec, OptionValue>) {
  for (const [name, value] of Object.entries(values)) {
    const option = findOption(spec, name);
    if (!option) return unknownOption(spec, name);
    given.set(option, value);
  }
  return undefined;
}

function finish(spec: CommandSpec, given: ReadonlyMap<OptionSpec, OptionValue>): ParsedOptions {
  const options: Record<string, OptionValue> = {};
  let missing: string | undefined;
  for (const option of spec.options) {
    const value = given.get(option);
    if (value === undefined || value === "") {
      if (option.required) missing ??= option.name;
      continue;
    }
    const typed = coerce(option, value);
    if (typeof typed === "object") return typed;
    options[option.name] = typed;
  }
  if (missing === undefined) return { kind: "options", options };
  return { ...problem(`\`${missing}\` is missing`), missing, options };
}

function coerce(option: OptionSpec, value: OptionValue): OptionValue | { kind: "problem"; message: string } {
  const wrong = (expected: string) => problem(`\`${option.name}\` is ${expected}, not "${shortCopy(String(value))}"`);
  switch (option.type) {
    case "boolean": {
      if (typeof value === "boolean") return value;
      if (/^(true|yes|on|1)$/i.test(String(value))) return true;
      return /^(false|no|off|0)$/i.test(String(value)) ? false : wrong("yes or no");
    }
    case "integer": {
      const number = typeof value === "number" ? value : /^[+-]?\d+$/.test(String(value)) ? Number(value) : Number.NaN;
      return Number.isSafeInteger(number) ? number : wrong("a whole number");
    }
    case "string": {
      const text = String(value);
      if (!option.choices) return text;
      const choice = option.choices.find((one) => plainName(one) === plainName(text));
      if (choice !== undefined) return choice;
      const near = nearest(text, option.choices);
      return wrong(`one of ${option.choices.join(", ")}${near ? ` (did you mean "${near}"?)` : ""}`);
    }
  }
}

const problem = (message: string) => ({ kind: "problem" as const, message });

/** No value wins silently: text of another person behind an option must not replace it. */
function givenTwice({ name }: OptionSpec, given: ReadonlyMap<OptionSpec, OptionValue>, second: OptionValue) {
  const first = [...given].find(([option]) => option.name === name)?.[1];
  return problem(
    `\`${name}\` is given twice, as "${shortCopy(String(first))}" and as "${shortCopy(String(second))}": what is part of a text needs quotes around the whole text`,
  );
}

/** Words that belong to an option before it come to be at the place of this one. */
function afterWords({ message }: { message: string }, given: ReadonlyMap<OptionSpec, OptionValue>) {
  const [option, value] = [...given].at(-1) ?? [];
  if (option?.type !== "string" || option.choices) return problem(message);
  return problem(
    `${message}; before it, \`${option.name}\` was read as "${shortCopy(String(value))}": what has spaces needs quotes, ${option.name}='…'`,
  );
}

function unknownOption(spec: CommandSpec, name: string) {
  const near = nearest(
    name,
    spec.options.map((option) => option.name),
  );
  return problem(`there is no option "${shortCopy(name)}"${near ? ` (did you mean "${near}"?)` : ""}`);
}

/** `from`: where its value starts. */
type Named = { kind: "named"; option: OptionSpec; value: OptionValue; from: number; end: number };

/** `name=value`, `--name=value`, `--switch`, or the bare name of a switch. Undefined when a positional value is here. */
function readNamed(
  spec: CommandSpec,
  text: string,
  at: number,
): Named | { kind: "problem"; message: string } | undefined {
  const pattern = /(--|—)?([a-z0-9_-]+)(=|(?=\s|$))/iy;
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [whole, dashes, name = "", equals] = match;
  const option = findOption(spec, name);
  if (!option) return dashes ? unknownOption(spec, name) : undefined;
  if (equals === "=") {
    const from = at + whole.length;
    const value = readValue(text, from);
    return { kind: "named", option, value: value.text, from, end: value.end };
  }
  if (option.type !== "boolean") return dashes ? problem(`\`--${name}\` needs a value: ${name}=…`) : undefined;
  if (option.spelled && !dashes) return undefined;
  return { kind: "named", option, value: true, from: at, end: at + whole.length };
}

/**
 * The value looks like JSON and is none, or the text behind it can belong to nothing else: it is taken whole, and is refused as what it is.
 */
function isCutShort({ option, value, from, end }: Named, text: string): boolean {
  const first = text[from] ?? "";
  if (option.rest !== true || closingQuote(first) !== undefined) return false;
  const next = skipSpace(text, end);
  const isBehind = next < text.length && (next === end || BRACKETS.has(text[next] as string));
  return isBehind || (BRACKETS.has(first) && !isJson(String(value)));
}

const BRACKETS: ReadonlySet<string> = new Set(["{", "["]);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Options behind free text: `some words --dry-run name=value other="two words"`. None is looked for in quotes and in JSON. */
function cutTrailing(spec: CommandSpec, text: string): { rest: string; switches: [OptionSpec, OptionValue][] } {
  const rest = text.trimEnd();
  const whole = readValue(rest, 0);
  const from = (whole.isQuoted || whole.isJson) && /^(\s|$)/.test(rest.slice(whole.end)) ? whole.end : 0;
  const begins = [...withoutQuoted(rest).matchAll(/\s(?:--|—)?([a-z0-9_-]+)(?==|\s|$)/gi)].filter(
    ({ index, 1: name = "" }) => index >= from && findOption(spec, name),
  );
  for (const { index } of begins.slice(-MAX_TRAILING)) {
    const switches = optionsOnly(spec, rest, index);
    if (switches) return { rest: rest.slice(0, index).trimEnd(), switches };
  }
  return { rest, switches: [] };
}

/** The text with its quoted parts hidden, at the same length. */
function withoutQuoted(text: string): string {
  let shown = "";
  const unclosed = new Set<string>();
  for (const { index } of text.matchAll(/(?<=^|[\s=])["'“‘]/g)) {
    const opening = text[index] as string;
    if (index < shown.length || unclosed.has(opening)) continue;
    const value = readValue(text, index);
    if (value.isQuoted) shown += text.slice(shown.length, index) + ".".repeat(value.end - index);
    else unclosed.add(opening);
  }
  return shown + text.slice(shown.length);
}

/** Further options than this behind free text are part of it: text of any length is read in a moment. */
const MAX_TRAILING = 40;

/** Undefined unless everything from here on is options by name. */
function optionsOnly(spec: CommandSpec, text: string, from: number): [OptionSpec, OptionValue][] | undefined {
  const switches: [OptionSpec, OptionValue][] = [];
  for (let at = skipSpace(text, from); at < text.length; ) {
    const named = readNamed(spec, text, at);
    if (named?.kind !== "named" || named.option.rest) return undefined;
    switches.push([named.option, named.value]);
    const end = named.end;
    at = skipSpace(text, end);
    if (at === end && at < text.length) return undefined;
  }
  return switches.length === 0 ? undefined : switches;
}

function unquoteWhole(text: string): string {
  const value = readValue(text, 0);
  return value.isQuoted && value.end >= text.length ? value.text : text;
}

/** Reads one value from `at`: quoted, JSON, or up to the next space. */
function readValue(text: string, at: number): { text: string; end: number; isJson: boolean; isQuoted: boolean } {
  const first = text[at] ?? "";
  const closing = closingQuote(first);
  if (closing !== undefined) {
    const quoted = readQuoted(text, at + 1, closing);
    if (quoted) return { ...quoted, isJson: false, isQuoted: true };
  }
  if (BRACKETS.has(first)) {
    const end = jsonEnd(text, at);
    if (end !== undefined) return { text: text.slice(at, end), end, isJson: true, isQuoted: false };
  }
  let end = at;
  while (end < text.length && !/\s/.test(text[end] as string)) end++;
  return { text: text.slice(at, end), end, isJson: false, isQuoted: false };
}

/** Undefined when the quote is not closed: then it is an apostrophe. */
function readQuoted(text: string, from: number, closing: string): { text: string; end: number } | undefined {
  let value = "";
  for (let i = from; i < text.length; i++) {
    const char = text[i] as string;
    if (char === "\\" && i + 1 < text.length && (text[i + 1] === closing || text[i + 1] === "\\")) value += text[++i];
    else if (char === closing) return { text: value, end: i + 1 };
    else value += char;
  }
  return undefined;
}

/** Where the JSON value that starts at `from` ends; undefined when its brackets do not close. */
function jsonEnd(text: string, from: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let i = from; i < text.length; i++) {
    const char = text[i];
    if (inString) {
      if (char === "\\") i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if ((char === "}" || char === "]") && --depth === 0) return i + 1;
  }
  return undefined;
}

function skipSpace(text: string, at: number): number {
  let i = at;
  while (i < text.length && /\s/.test(text[i] as string)) i++;
  return i;
}
