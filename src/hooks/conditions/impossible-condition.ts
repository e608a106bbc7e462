/**
 * Comparisons of a CEL condition (`match.when`, `skip_if`) whose result never changes: with a value, or with a type, that the field never
 * has, or without any field. The condition is accepted by CEL, and the hook never runs or never skips.
 */
import { type ASTNode, Environment } from "@marcbachmann/cel-js";
import { once } from "../../lib/concurrency/on-first-use.js";
import { type JsonSchema, onlyField, propertiesOf } from "../../lib/validation/json-schema.js";
import {
  fieldOf,
  itemCondition,
  type KnownField,
  knownField,
  type Scope,
  scopeOf,
  visitScoped,
} from "./condition-field.js";
import { caseProblems } from "./impossible-case.js";
import { patternProblem, startsOf } from "./impossible-pattern.js";
import { rangeProblems } from "./impossible-range.js";
import { calendarField, type TypedField, timeProblems, type Values } from "./impossible-time.js";

/** The schema of each variable of the condition. */
export type Variables = Readonly<Record<string, JsonSchema>>;

/** Whole numbers beyond are not read exactly from JSON. */
const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER);

const COMPARISONS: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">=", "in"]);

/**
 * Gives one sentence for each problem. A condition that cannot be parsed has none, because compiling it reports that. `example`: a value of
 * each variable.
 */
export function conditionProblems(source: string, variables: Variables, example?: Values): string[] {
  const ast = parseCondition(source);
  if (ast === undefined) return [];
  const problems = unopened(ast, variables);
  if (problems.length > 0) return problems;
  let namesVariable = false;
  visitScoped(ast, scopeOf(variables), (node, scope) => {
    const known = (one: ASTNode) => knownField(one, scope);
    if (node.op === "id" && Object.hasOwn(variables, String(node.args))) namesVariable = true;
    const wrong = fieldOf(node, scope)?.problem;
    if (wrong !== undefined) problems.push(wrong);
    const literal = node.op === "value" && typeof node.args === "bigint" ? node.args : 0n;
    if (literal > MAX_EXACT || literal < -MAX_EXACT)
      problems.push(`${literal} is beyond 2^53, and no payload has such a number: compare with text, "${literal}"`);
    if (COMPARISONS.has(node.op)) problems.push(...comparisonProblems(node, scope));
    if (COMPARISONS.has(node.op) || node.op === "&&")
      problems.push(...rangeProblems(node, source, (one) => known(one) ?? calendarField(one, source)));
    problems.push(...caseProblems(node, source, (one) => textsOf(one, scope)));
    problems.push(...timeProblems(node, source, (one) => typedField(known(one)), example));
    if (node === ast) problems.push(...truthProblems(node, known));
    problems.push(...textCallProblems(node, known));
    const ofItems = itemCondition(node, scope);
    if (ofItems !== undefined)
      problems.push(...truthProblems(ofItems.condition, (one) => knownField(one, ofItems.scope)));
    const pattern = patternIn(node);
    const problem = pattern === undefined ? undefined : patternProblem(pattern);
    if (problem !== undefined) problems.push(problem);
  });
  if (!namesVariable) problems.push(namesNothing(ast, source, variables));
  return [...new Set(problems)];
}

/** Variables of one field that are used as a whole: the payload of an event whose body is no object. */
function unopened(ast: ASTNode, variables: Variables): string[] {
  const opened = new Set<unknown>();
  const found = new Map<string, string>();
  visitScoped(ast, scopeOf(variables), (node, scope) => {
    const field = fieldOf(node, scope);
    if (field === undefined) return;
    const [holder] = node.op === "id" ? [] : (node.args as ASTNode[]);
    if (holder?.op === "id" && field.name.startsWith(`${holder.args}.`)) opened.add(holder);
    if (node.op !== "id" || opened.has(node) || field.schema === undefined || field.schema !== variables[field.name])
      return;
    const only = onlyField(field.schema, field.root);
    if (only !== undefined) found.set(field.name, only);
  });
  return [...found].map(([name, only]) => `${name} has one field: write ${name}.${only} in place of ${name}`);
}

function namesNothing(ast: ASTNode, source: string, variables: Variables): string {
  const { payload } = variables;
  if (payload !== undefined) {
    if (usesName(ast, "event"))
      return `"${source}": templates name the payload \`event\`, and conditions name it \`payload\`: write payload in place of event`;
    const field = [...propertiesOf(payload, payload).fields.keys()].find((name) => usesName(ast, name));
    if (field !== undefined)
      return `"${source}" names a field without its payload: write payload.${field} in place of ${field}`;
  }
  const named = ["payload", "event"].find((name) => usesName(ast, name));
  if (named !== undefined)
    return `"${source}" names ${named}, and here it is ${list(variables)}: write ${"event" in variables ? "event" : Object.keys(variables)[0]} in place of ${named}`;
  return `"${source}" names no field, so its result is always the same: compare a field of ${list(variables)}`;
}

function usesName(ast: ASTNode, name: string): boolean {
  let isUsed = false;
  visitScoped(ast, {}, (node) => {
    if (node.op === "id" && node.args === name) isUsed = true;
  });
  return isUsed;
}

export interface ComparedText {
  /** The path of the field: `payload.message.text`. */
  name: string;
  text: string;
  /** Other texts that fit in place of the text: the alternatives of a pattern. */
  or: readonly string[];
  /** The field is only to start with it, or is compared in other letters. */
  isStart: boolean;
}

/** Each text that the condition compares with a field, with the name of the field. */
export function comparedTexts(source: string, variables: Variables): ComparedText[] {
  const ast = parseCondition(source);
  const found: ComparedText[] = [];
  visitScoped(ast, scopeOf(variables), (node, scope) => {
    found.push(...comparedAt(node, scope));
  });
  return found;
}

/** Whether it is false for every payload because each text that it needs is one that the field never has. */
export function needsOnly(source: string, variables: Variables, isNever: (text: ComparedText) => boolean): boolean {
  const scope = scopeOf(variables);
  const fails = (node: ASTNode): boolean => {
    if (node.op === "&&") return node.args.some(fails);
    if (node.op === "||") return node.args.every(fails);
    const texts = node.op === "!=" ? [] : comparedAt(node, scope);
    return texts.length > 0 && texts.every(isNever);
  };
  const ast = parseCondition(source);
  return ast !== undefined && fails(ast);
}

/** The values that the condition needs of single fields in each case, by the paths of the fields: `payload.message.isEdit` is true. */
export function requiredValues(source: string, variables: Variables): { name: string; values: Literal[] }[] {
  const scope = scopeOf(variables);
  const required = (node: ASTNode): { name: string; values: Literal[] }[] => {
    if (node.op === "&&") return node.args.flatMap(required);
    const isNegated = node.op === "!_";
    const field = knownField(isNegated ? node.args : node, scope);
    if (field !== undefined) return [{ name: field.name, values: [!isNegated] }];
    if (node.op !== "==" && node.op !== "in") return [];
    const [left, right] = node.args as [ASTNode, ASTNode];
    const [one, other] = node.op === "==" && left.op === "value" ? [right, left] : [left, right];
    const compared = knownField(one, scope);
    const values = literalsOf(other, node.op === "in");
    return compared === undefined || values.length === 0 ? [] : [{ name: compared.name, values }];
  };
  const ast = parseCondition(source);
  return ast === undefined ? [] : required(ast);
}

function comparedAt(node: ASTNode, scope: Scope): ComparedText[] {
  if (node.op === "rcall") {
    const [call, holder, [argument]] = node.args;
    const field = knownField(asWritten(holder), scope);
    const [value] = argument === undefined ? [] : literalsOf(argument, false);
    if (field === undefined || typeof value !== "string") return [];
    const [text, ...or] = call === "matches" ? startsOf(value) : call === "startsWith" ? [value] : [];
    return text === undefined ? [] : [{ name: field.name, text, or, isStart: true }];
  }
  if (node.op !== "==" && node.op !== "!=" && node.op !== "in") return [];
  const [left, right] = node.args as [ASTNode, ASTNode];
  const sides =
    node.op === "in"
      ? ([[left, right]] as const)
      : ([
          [left, right],
          [right, left],
        ] as const);
  return sides.flatMap(([one, other]) => {
    const field = knownField(asWritten(one), scope);
    if (field === undefined) return [];
    return literalsOf(other, node.op === "in")
      .filter((text) => typeof text === "string")
      .map((text) => ({ name: field.name, text, or: [], isStart: asWritten(one) !== one }));
  });
}

/** The text whose letters or blanks a call changes. */
function asWritten(node: ASTNode): ASTNode {
  const isChanged = node.op === "rcall" && ["lowerAscii", "upperAscii", "trim"].includes(node.args[0]);
  return isChanged ? asWritten(node.args[1] as ASTNode) : node;
}

/** Undefined when it cannot be parsed. A negative number in it is a value like any other. */
export function parseCondition(source: string): ASTNode | undefined {
  try {
    const { ast } = parser().parse(source);
    visitScoped(ast, {}, (node) => {
      const value: unknown = node.op === "-_" && node.args.op === "value" ? node.args.args : undefined;
      if (typeof value === "number" || typeof value === "bigint") Object.assign(node, { op: "value", args: -value });
    });
    return ast;
  } catch {
    return undefined;
  }
}

/** With optional fields (`payload.?reason`), as conditions are evaluated. */
const parser = once(() => new Environment({ enableOptionalTypes: true, unlistedVariablesAreDyn: true }));

/** A field alone, or a part of `&&`, `||` and `!`, that is neither true nor false: the condition never holds. */
function truthProblems(node: ASTNode, known: (node: ASTNode) => KnownField | undefined): string[] {
  if (node.op === "value" && typeof node.args !== "boolean" && node.args !== null)
    return [`${written(node.args)} is not true or false: compare it with a field`];
  if (node.op === "&&" || node.op === "||") return node.args.flatMap((one) => truthProblems(one, known));
  if (node.op === "!_") return truthProblems(node.args, known);
  const field = known(node);
  const types = field && typesOf(field.schema);
  if (field === undefined || types === undefined || types.size === 0 || types.has("boolean")) return [];
  return [
    `${field.name} is ${inWords(types)}, not true or false: compare it, as in ${field.name} ${comparedBy(types)}`,
  ];
}

/** Calls that CEL has for text only, the first with text. */
const TEXT_SEARCHES: ReadonlySet<string> = new Set(["contains", "startsWith", "endsWith", "matches"]);
const TEXT_CALLS: ReadonlySet<string> = new Set([...TEXT_SEARCHES, "lowerAscii", "upperAscii", "trim", "split"]);

/** `payload.list.contains("x")`, `payload.text.startsWith(3)`: there is no answer for any payload. */
function textCallProblems(node: ASTNode, known: (node: ASTNode) => KnownField | undefined): string[] {
  if (node.op !== "rcall" || !TEXT_CALLS.has(node.args[0])) return [];
  const [call, holder, [argument]] = node.args;
  const field = known(holder);
  const types = field && typesOf(field.schema);
  const [value] = argument === undefined ? [] : literalsOf(argument, false);
  if (field !== undefined && types !== undefined && types.size > 0 && !types.has("string")) {
    const isIn = types.has("array") && call === "contains" && value !== undefined;
    return [
      `${field.name} is ${inWords(types)}, and ${call}() is for text${isIn ? `: write ${written(value)} in ${field.name}` : ""}`,
    ];
  }
  const isText = value === undefined || typeof value === "string" || !TEXT_SEARCHES.has(call);
  return isText ? [] : [`${call}() takes text: write ${call}("${value}")`];
}

const written = (value: unknown) => (typeof value === "string" ? `"${value}"` : String(value));

const comparedBy = (types: ReadonlySet<string>) =>
  types.has("string") ? '!= ""' : types.has("number") ? "> 0" : "!= null";

/** The pattern that is written out in `text.matches("…")`. */
function patternIn(node: ASTNode): string | undefined {
  if (node.op !== "rcall" || node.args[0] !== "matches") return undefined;
  const [pattern] = node.args[2];
  return pattern?.op === "value" && typeof pattern.args === "string" ? pattern.args : undefined;
}

const list = (variables: Variables) => Object.keys(variables).join(" or ");

function comparisonProblems(node: ASTNode, scope: Scope): string[] {
  const [left, right] = node.args as [ASTNode, ASTNode];
  const sides = [
    [left, right],
    [right, left],
  ] as const;
  return sides.flatMap(([one, other]) => {
    const field = knownField(one, scope);
    if (field === undefined) return [];
    const values = literalsOf(other, node.op === "in" && one === left);
    // `x in list`: the list holds values of its own types.
    if (node.op === "in" && one === right) return [];
    return values.flatMap((value) => valueProblem(field, value) ?? []);
  });
}

/** Texts that are written out, also those of a list that gives its items a name. */
function textsOf(node: ASTNode, scope: Scope): string[] {
  const item = node.op === "id" ? knownField(node, scope) : undefined;
  if (item !== undefined) return valuesOf(item.schema) ?? [];
  return literalsOf(node, true).filter((one) => typeof one === "string");
}

export type Literal = string | number | bigint | boolean;

/** The `pattern` of a field with an id of a platform: no such id has a colon. */
export const ID_WITHOUT_PLATFORM = "^[^:]*$";

/** The `pattern` of the emoji of a reaction: the character itself, or the name and the id of an emoji of a Discord server. */
export const EMOJI = "^[^:]+(:\\d+)?$";

/** The `pattern` of a text that usually ends with a line break. */
export const PROGRAM_OUTPUT = "^[^]*\\n?$";

/** Why the field never is the value. `sizeOf`, `trimmed`: how the size of a list and the text of a program are compared. */
export function valueProblem(
  { name, schema }: KnownField,
  value: Literal,
  sizeOf = "size(…) == 0",
  trimmed = `${name}.trim() ==`,
): string | undefined {
  const known = valuesOf(schema);
  if (typeof value === "string" && known !== undefined && !known.includes(value))
    return `${name} is never "${value}": it is one of ${known.join(", ")}`;
  if (typeof value === "string" && schema.pattern === ID_WITHOUT_PLATFORM && value.includes(":"))
    return `${name} is never "${value}", because it has no platform: write "${value.split(":").at(-1)}"`;
  if (typeof value === "string" && schema.pattern === EMOJI && value.startsWith(":"))
    return `${name} is never "${value}": it is the emoji itself, such as "👍", or the name and the id of a server's own, such as "shipit:80351110224678912"`;
  const types = typesOf(schema);
  const type = typeof value === "bigint" ? "number" : (typeof value as "string" | "number" | "boolean");
  if (types === undefined || types.has(type)) return undefined;
  const shown = typeof value === "string" ? `"${value}"` : String(value);
  const advice = schema.pattern === PROGRAM_OUTPUT ? `: write ${trimmed} "${value}"` : better(types, value, sizeOf);
  return `${name} is ${inWords(types)}, so a comparison with ${shown} (${WORDS[type]}) never holds${advice}`;
}

const WORDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "a group of fields",
};

function typedField(field: KnownField | undefined): TypedField | undefined {
  const types = field && typesOf(field.schema);
  const [type, ...others] = types ?? [];
  if (field === undefined || type === undefined || others.length > 0) return undefined;
  return { name: field.name, type, typeName: WORDS[type] ?? type };
}

export const inWords = (types: ReadonlySet<string>) => [...types].map((one) => WORDS[one] ?? one).join(" or ");

/** Suggests the same value in the type of the field. */
function better(types: ReadonlySet<string>, value: Literal, sizeOf: string): string {
  if (types.has("string")) return `: write "${value}"`;
  if (types.has("number") && value !== "" && !Number.isNaN(Number(value))) return `: write ${Number(value)}`;
  if (types.has("boolean") && (value === "true" || value === "false")) return `: write ${value}`;
  return types.has("array") && types.size === 1 ? `: compare its size, as in ${sizeOf}` : "";
}

/** The texts that a field can have; undefined when they are not limited. */
export function valuesOf(schema: JsonSchema & { enum?: unknown; const?: unknown }): string[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum.map(String);
  if (schema.const !== undefined) return [String(schema.const)];
  const forms = schema.anyOf ?? schema.oneOf;
  const values = forms?.filter(({ type }) => type !== "null").map(valuesOf);
  if (values === undefined || values.length === 0 || values.includes(undefined)) return undefined;
  return values.flatMap((one) => one ?? []);
}

/** The JSON types that a field can have; undefined when they are not known. A field may always be absent, so `null` is not looked at. */
export function typesOf(schema: JsonSchema & { enum?: unknown; const?: unknown }): Set<string> | undefined {
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) {
    const all = forms.map(typesOf);
    return all.includes(undefined) ? undefined : new Set(all.flatMap((one) => [...(one ?? [])]));
  }
  const types = typeof schema.type === "string" ? [schema.type] : schema.type;
  if (types !== undefined)
    return new Set(types.filter((one) => one !== "null").map((one) => (one === "integer" ? "number" : one)));
  const values = Array.isArray(schema.enum) ? schema.enum : schema.const === undefined ? [] : [schema.const];
  return values.length === 0 ? undefined : new Set(values.map((one) => typeof one));
}

/** Null is no problem anywhere: a field that is absent is null in some places. */
function literalsOf(node: ASTNode, isList: boolean): Literal[] {
  if (node.op === "list") return isList ? node.args.flatMap((one) => literalsOf(one, false)) : [];
  if (node.op !== "value") return [];
  const value: unknown = node.args;
  return typeof value === "string" ||
    typeof value === "number" ||
    typeof value === "bigint" ||
    typeof value === "boolean"
    ? [value]
    : [];
}
