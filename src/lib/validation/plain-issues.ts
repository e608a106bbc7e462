/** Words for a value that a schema refuses: the expected value and the actual one. The validator's own wording is never shown. */
import type { z } from "zod";
import { nearest } from "./nearest.js";

/** Passed to `safeParse`: words of a schema's own go before these. */
function plainMessage(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return ofType(String(issue.expected), issue.input);
    case "invalid_value":
      return ofValues(issue.values ?? [], issue.input);
    case "too_small":
      return ofSize(issue, issue.inclusive === false ? "more than" : "at least", Number(issue.minimum));
    case "too_big":
      return ofSize(issue, issue.inclusive === false ? "less than" : "at most", Number(issue.maximum));
    case "invalid_format":
      return issue.format === "url"
        ? `expected a web address such as https://example.org, got ${shown(issue.input)}`
        : `${shown(issue.input)} has the wrong form`;
    case "unrecognized_keys":
      return `unknown setting ${(issue.keys ?? []).map((key: string) => `"${key}"`).join(", ")}`;
    case "invalid_key":
      return `${nameIn(issue)} cannot be a name here: use letters, digits, dots, dashes and underscores`;
    case "invalid_union":
      return unionIssue(issue);
    default:
      return `${shown(issue.input)} cannot be used here`;
  }
}

/** For a union whose forms a key distinguishes, zod gives the values that the key may have. */
function unionIssue({ options, input, discriminator }: z.core.$ZodRawIssue): string {
  if (!Array.isArray(options) || typeof discriminator !== "string") return "this setting has the wrong form";
  const given =
    typeof input === "object" && input !== null ? (input as Record<string, unknown>)[discriminator] : undefined;
  return ofValues(options, given);
}

/** For `safeParse` of values that are parsed once: zod writes a program for each schema, which pays for many values only. */
export const PLAIN = { jitless: true, error: plainMessage };
/** For schemas that parse thousands of values. */
export const PLAIN_MANY = { jitless: false, error: plainMessage };

/** For a value that YAML reads as null: a key with nothing behind it, or with all below it commented out. */
export const EMPTY = "it is empty: write a value, or remove the line";

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "settings (key: value)",
  record: "settings by name (name: value)",
  nonoptional: "a value",
};

/** `a list`, for a type of the validator. */
export function typeName(expected: string): string {
  return TYPES[expected] ?? expected;
}

function ofType(type: string, input: unknown): string {
  const expected = `expected ${typeName(type)}`;
  if (isBareTemplate(input))
    return `${expected}, got {{ … }} without quotes, which YAML does not read as text: write "{{ … }}"`;
  if (input === undefined) return type === "nonoptional" ? "it is missing" : `it is missing: ${expected}`;
  if (type === "int" && typeof input === "number") return `${expected}, got ${input}`;
  return `${expected}, got ${shown(input)}${advice(type, input)}`;
}

/** \`{{ event.id }}\` without quotes: a map whose key is a map. */
function isBareTemplate(input: unknown): boolean {
  return typeof input === "object" && input !== null && Object.hasOwn(input, "[object Object]");
}

/** \`port:80\`, which YAML reads as a text. No web address, and no platform:bot:chat. */
const NO_SPACE = /^([A-Za-z_][\w-]*):([^\s:/][^\s:]*)(?:\s|$)/;

/** Advice on the mistakes that people make most often. */
function advice(type: string, input: unknown): string {
  if (type === "string" && typeof input === "number")
    return Number.isSafeInteger(input) || !Number.isInteger(input)
      ? `: write "${input}", with quotes`
      : ": a number this long loses digits, write it in quotes";
  if (type === "string" && typeof input === "boolean") return `: write "${input}", with quotes`;
  if ((type === "object" || type === "record") && typeof input === "string") {
    const [, key, value] = NO_SPACE.exec(input) ?? [];
    if (key !== undefined) return `: write ${key}: ${value}, with a space after each colon`;
  }
  if (type === "array" && (typeof input === "string" || typeof input === "number")) return `: write [${shown(input)}]`;
  if ((type === "number" || type === "int") && typeof input === "string" && /^-?\d+(\.\d+)?$/.test(input.trim()))
    return `: write ${input.trim()}, without quotes`;
  if (type === "boolean" && typeof input === "string") {
    if (/^(yes|on|y|true)$/i.test(input)) return ": write true, without quotes";
    if (/^(no|off|n|false)$/i.test(input)) return ": write false, without quotes";
  }
  return "";
}

function ofValues(values: readonly unknown[], input: unknown): string {
  const known = values.map((value) => (typeof value === "object" ? shown(value) : String(value)));
  if (input === undefined) return `it is missing: expected ${oneOf(known)}`;
  const words = values.filter((value) => typeof value === "string");
  const near = typeof input === "string" && values.length > 1 ? nearest(input, words) : undefined;
  if (near !== undefined) return `"${input}" is not known here (did you mean "${near}"?)`;
  return `expected ${oneOf(known)}, got ${shown(input)}`;
}

const oneOf = (known: readonly string[]) => (known.length === 1 ? `${known[0]}` : `one of ${known.join(", ")}`);

const COUNTED: Readonly<Record<string, string>> = {
  string: "characters",
  array: "entries",
  set: "entries",
  map: "entries",
};

function ofSize(issue: z.core.$ZodRawIssue, limit: string, bound: number): string {
  const { input } = issue;
  const what = COUNTED[String(issue.origin)];
  if (what === undefined && bound === Number.MAX_SAFE_INTEGER)
    return `${shown(input)} has too many digits for a number: if it is an id, write it in quotes`;
  if (what === undefined) return `expected ${limit} ${bound}, got ${shown(input)}`;
  const size = typeof input === "string" || Array.isArray(input) ? input.length : undefined;
  if (size === 0) return Array.isArray(input) ? "the list is empty: expected at least one entry" : "the text is empty";
  const unit = bound === 1 ? what.replace(/ies$/, "y").replace(/s$/, "") : what;
  return `expected ${limit} ${bound} ${unit}${size === undefined ? "" : `, got ${size}`}`;
}

function nameIn(issue: z.core.$ZodRawIssue): string {
  return shown(issue.path?.at(-1) ?? issue.input);
}

/** A value as its file has it, short. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "bigint") return `${value}n`;
  // JSON has no form for these: it would show null, a text, and {}.
  if (typeof value === "number") return String(value);
  if (value instanceof Date || value instanceof Map || value instanceof Set) return `a ${value.constructor.name}`;
  const text = jsonOf(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** Also of values that JSON has no form for: a BigInt is `5n`, and a value that contains itself is named by its fields. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));
  } catch {
    return `{ ${Object.keys(value as object).join(", ")} }`;
  }
}

/** The issues of the alternative of a union that was meant; none when the first step of each fails. */
export function flatIssues(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  return issues.flatMap((issue): z.core.$ZodIssue[] => {
    if (issue.code !== "invalid_union" || !issue.errors?.length) return [issue];
    const kind = unknownKind(issue.errors);
    if (kind !== undefined) return [{ ...kind, path: [...issue.path, ...kind.path] }];
    const [meant] = issue.errors.filter((errors) => !errors.some(isOfWhole)).sort((a, b) => a.length - b.length);
    if (meant !== undefined)
      return flatIssues(meant.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })));
    const messages = issue.errors.flatMap((errors) =>
      flatIssues(errors)
        .slice(0, 1)
        .map(({ message }) => message),
    );
    return [{ ...issue, message: alternatives([...new Set(messages)]) || issue.message }];
  });
}

/** `it is missing: expected text or a list`: the words with which all of them start and end are there once. */
function alternatives(messages: readonly string[]): string {
  const parts = messages.map((message) => /^(.*?expected )([^:]*?)(, got .*)?$/.exec(message));
  const [, before, , after] = parts[0] ?? [];
  if (!parts.every((part) => part !== null && part[1] === before && part[3] === after)) return messages.join(", or: ");
  return `${before ?? ""}${parts.map((part) => part?.[2]).join(" or ")}${after ?? ""}`;
}

/** Every alternative expects another word in the same field, such as `kind`: one issue with all the words. */
function unknownKind(alternatives: readonly (readonly z.core.$ZodIssue[])[]): z.core.$ZodIssue | undefined {
  const words = alternatives.flatMap((issues) => {
    const found = issues.find(({ code, path }) => code === "invalid_value" && path.length === 1);
    return found?.code === "invalid_value" ? found : [];
  });
  const [first] = words;
  if (first === undefined || words.length < alternatives.length) return undefined;
  if (words.some(({ path }) => path[0] !== first.path[0])) return undefined;
  const values = words.flatMap((one) => one.values);
  const message = first.message.replace(
    /expected (one of )?[^:]*?(?=, got |$)/,
    `expected ${oneOf(values.map(String))}`,
  );
  return { ...first, values, message };
}

/** The alternative takes no value of this kind at all. */
function isOfWhole(issue: z.core.$ZodIssue): boolean {
  return issue.path.length === 0 && issue.code !== "unrecognized_keys";
}
