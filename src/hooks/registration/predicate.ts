/**
 * `when` of a matcher: a CEL expression over the payload, checked against the payload's schema when it is compiled. Patterns in it are
 * RE2.
 */
import { type ASTNode, Environment } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import { z } from "zod";
import { once } from "../../lib/concurrency/on-first-use.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { visitScoped } from "../conditions/condition-field.js";
import { whyNoAnswer } from "../conditions/no-answer.js";
import { countSteps, isTooMuchWork, spend, withinBudget } from "../conditions/work.js";

/**
 * True, or why not. `error`: why it has no answer for this payload, such as a field that the payload does not carry. It quotes neither
 * the condition (a notice of the failure would match a guard that looks for words) nor a value of the payload.
 */
export type Predicate = (payload: unknown) =>
  | true
  | {
      readonly reason: string;
      readonly error?: string;
      readonly isTooMuchWork?: boolean;
      /** The condition gives a value, not true or false. */
      readonly isValue?: true;
    };

/**
 * Like `Predicate`, over several variables, by name. Throws a `HookgateError` CONDITION_NO_ANSWER when the result is neither true nor
 * false.
 */
export type Condition = (variables: Readonly<Record<string, unknown>>) => true | string;

/** A field declaration of the CEL checker: a type name, or the fields of an object. */
type Declared = string | { [field: string]: Declared };

/**
 * Throws a `HookgateError` (HOOK_MATCHER_INVALID) for bad syntax, for a field that the payload type does not have, and when it gives
 * neither yes nor no.
 */
export function compilePredicate(source: string, schema: z.ZodType): Predicate {
  const holds = compileOver(source, { payload: jsonSchema(schema) }, "match.when");
  return (payload) => holds({ payload });
}

/** Like `compilePredicate`, with a JSON schema for each variable; `place` is the start of the message of the error. */
export function compileOver(
  source: string,
  variables: Readonly<Record<string, JsonSchema>>,
  place: string,
): (values: Readonly<Record<string, unknown>>) => ReturnType<Predicate> {
  const evaluate = compileExpression(source, variables, place);
  return (values) => {
    try {
      const answer = evaluate(values);
      if (isYesOrNo(answer)) return answer === true || { reason: `${source} is false` };
      const { message: reason } = noAnswer(source, place, answer);
      return { reason, error: "it gives a value, not true or false", isValue: true };
    } catch (thrown) {
      const error = whyNoAnswer(thrown);
      return { reason: `${error}: ${source}`, error, isTooMuchWork: isTooMuchWork(thrown) };
    }
  };
}

/**
 * Like `compileOver`, without the difference between false and no answer. `mayBeSlow`: it is evaluated in a program with a time limit, so
 * its work is not limited.
 */
export function compileCondition(
  source: string,
  variables: Readonly<Record<string, JsonSchema>>,
  place: string,
  { mayBeSlow = false } = {},
): Condition {
  const evaluate = compileExpression(source, variables, place, mayBeSlow);
  return (values) => {
    let answer: unknown;
    try {
      answer = evaluate(values);
    } catch (error) {
      // A field that this payload does not carry, or has another type: it does not match.
      return `${whyNoAnswer(error)}: ${source}`;
    }
    if (!isYesOrNo(answer)) throw noAnswer(source, place, answer);
    return answer === true || `${source} is false`;
  };
}

/** A field that is not there may be null. */
function isYesOrNo(answer: unknown): boolean {
  return typeof answer === "boolean" || answer === null || answer === undefined;
}

function compileExpression(
  source: string,
  variables: Readonly<Record<string, JsonSchema>>,
  place: string,
  mayBeSlow = false,
): (values: Readonly<Record<string, unknown>>) => unknown {
  try {
    check(source, variables);
    const evaluate = evaluation().parse(source);
    visitScoped(evaluate.ast, {}, useLinearMatches);
    if (mayBeSlow) return evaluate;
    countSteps(evaluate.ast);
    return (values) => withinBudget(() => evaluate(values));
  } catch (error) {
    throw new HookgateError({
      code: "HOOK_MATCHER_INVALID",
      message: `${place}: ${firstLine(error)}: ${source}${spellingHint(source)}`,
      cause: error,
    });
  }
}

function noAnswer(source: string, place: string, answer: unknown): HookgateError {
  const found =
    typeof answer === "string" ? "text" : Array.isArray(answer) ? "a list" : `a ${KINDS[typeof answer] ?? "value"}`;
  const message = `${place} ${source} gives ${found}, not true or false: compare it with a value`;
  return new HookgateError({ code: "CONDITION_NO_ANSWER", message });
}

const KINDS: Readonly<Record<string, string>> = { number: "number", bigint: "number", object: "group of fields" };

/** Spellings of other languages, with those of CEL. */
const SPELLINGS: readonly [RegExp, string][] = [
  [/\b(contains|startsWith|endsWith|matches)\s+["']/, 'Write text.$1("…"), with a dot and parentheses'],
  [
    /\bin\s+\(*\s*["']/,
    'Write field in ["…", "…"] for one of several values, or "…".contains(field) for a part of a text',
  ],
  [/\.(toLowerCase|toLower|lower|lowercase)\(/, "Write text.lowerAscii()"],
  [/\.(toUpperCase|toUpper|upper|uppercase)\(/, "Write text.upperAscii()"],
  [/\.(includes|has|search|like)\(/, 'Write text.contains("…")'],
  [/\.(test|match|regex)\(/, 'Write text.matches("…")'],
  [/\.length\b/, "Write text.size()"],
  [/[!=]==/, "Compare with == or !="],
  [/[^=!<>]=[^=]/, "Compare with =="],
  [/\s(and|or)\s|\bnot\s/i, "Write && for and, || for or, ! for not"],
];

/** ` (Compare with ==)`; nothing when nothing looks like another language. */
function spellingHint(source: string): string {
  const words = source.replace(/"[^"]*"|'[^']*'/g, '""');
  for (const [pattern, hint] of SPELLINGS) {
    const found = pattern.exec(words);
    if (found !== null) return ` (${hint.replace("$1", found[1] ?? "")})`;
  }
  return "";
}

const firstLine = (error: unknown) => errorMessage(error).split("\n")[0] ?? "";

function check(source: string, variables: Readonly<Record<string, JsonSchema>>): void {
  const result = typedFor(variables).check(source);
  if (!result.valid) throw result.error ?? new Error("it cannot be read");
  // Arithmetic with a value of unknown type has an unknown type too, and never gives yes or no.
  const computes = result.type === "dyn" && evaluation().parse(source).ast.op in ARITHMETIC;
  if (computes) throw new Error("it computes a value, not yes or no");
  if (result.type !== "bool" && result.type !== "dyn") throw new Error(`it gives a ${result.type}, not yes or no`);
}

/** An environment takes longer to make than to use, and thousands of hooks ask about the payloads of a few points. */
const payloadEnvironments = new WeakMap<JsonSchema, Environment>();

function typedFor(variables: Readonly<Record<string, JsonSchema>>): Environment {
  const { payload, ...others } = variables;
  const isPayloadOnly = payload !== undefined && Object.keys(others).length === 0;
  const known = isPayloadOnly ? payloadEnvironments.get(payload) : undefined;
  if (known !== undefined) return known;
  const typed = environment(false);
  for (const [name, schema] of Object.entries(variables)) {
    const declared = declare(schema);
    if (typeof declared === "string") typed.registerVariable(name, declared);
    else typed.registerVariable({ name, schema: declared });
  }
  if (isPayloadOnly) payloadEnvironments.set(payload, typed);
  return typed;
}

/** The one in which expressions are evaluated: it holds nothing but functions. */
export const evaluation = once(environment);

function environment(unlistedVariablesAreDyn = true): Environment {
  const options = { enableOptionalTypes: true, homogeneousAggregateLiterals: false, unlistedVariablesAreDyn };
  return withMixedNumbers(new Environment(options))
    .registerType(PATTERN, RE2JS)
    .registerFunction(`string.${LINEAR_MATCHES}(${PATTERN}): bool`, find)
    .registerFunction(`string.${LINEAR_MATCHES}(string): bool`, (text: string, pattern: string) => {
      spend(pattern.length * (pattern.includes("{") ? REPEATING_PATTERN_STEPS : PATTERN_STEPS));
      return find(text, RE2JS.compile(pattern));
    });
}

function find(text: string, pattern: RE2JS): boolean {
  spend((text.length * pattern.programSize()) / MATCHES_A_STEP);
  return pattern.matcher(text).find();
}

/**
 * Numbers of a payload are doubles, and CEL has no `payload.attempts + 1` and no `payload.attempts % 2` for them: each would fail at
 * every event.
 */
const ARITHMETIC: Readonly<Record<string, (one: number, other: number) => number>> = {
  "+": (one, other) => one + other,
  "-": (one, other) => one - other,
  "*": (one, other) => one * other,
  "/": (one, other) => one / other,
  "%": (one, other) => one % other,
};

function withMixedNumbers(made: Environment): Environment {
  for (const [op, compute] of Object.entries(ARITHMETIC))
    for (const [one, other] of op === "%" ? [...MIXED, ["double", "double"]] : MIXED)
      made.registerOperator(`${one} ${op} ${other}: double`, (left: unknown, right: unknown) =>
        compute(Number(left), Number(right)),
      );
  return made;
}

const MIXED = [
  ["double", "int"],
  ["int", "double"],
] as const;

const LINEAR_MATCHES = "matchesLinear";
const PATTERN = "Pattern";
/** Characters, each with each instruction of the pattern. */
const MATCHES_A_STEP = 12;
/** For each character of a pattern that is not written out: it is compiled each time, and `a{1000}` is a thousand instructions. */
const PATTERN_STEPS = 100;
const REPEATING_PATTERN_STEPS = 10_000;

/**
 * CEL's `matches` is RE2; the library's is JavaScript's, which a message can hang. Its name is replaced by that of ours. A pattern that is
 * written out is compiled now, so that a bad one is refused.
 */
function useLinearMatches(node: ASTNode): void {
  if (node.op !== "rcall" || node.args[0] !== "matches") return;
  node.args[0] = LINEAR_MATCHES;
  const [pattern] = node.args[2];
  if (pattern?.op !== "value" || typeof pattern.args !== "string") return;
  if (pattern.args.includes("\b"))
    throw new Error('\\b in "…" is a backspace and no border of a word: write matches(r"…"), or \\\\b');
  Object.assign(pattern, { args: RE2JS.compile(pattern.args) });
}

function jsonSchema(schema: z.ZodType): JsonSchema {
  let json = schemas.get(schema);
  if (json === undefined) {
    json = z.toJSONSchema(schema, { unrepresentable: "any", io: "output" }) as JsonSchema;
    schemas.set(schema, json);
  }
  return json;
}

function declare(json: JsonSchema): Declared {
  let declared = declarations.get(json);
  if (declared === undefined) {
    declared = declareJson(json, 0);
    declarations.set(json, declared);
  }
  return declared;
}

/** Thousands of hooks may ask about the same few points. */
const schemas = new WeakMap<z.ZodType, JsonSchema>();
const declarations = new WeakMap<JsonSchema, Declared>();

/** The part of a JSON schema that is read. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: unknown;
  readonly patternProperties?: unknown;
}

const MAX_DEPTH = 6;

/** Numbers are `dyn`: payload numbers are doubles, and `payload.attempts == 3` must compare as it is written. */
function declareJson(json: JsonSchema, depth: number): Declared {
  if (depth > MAX_DEPTH) return "dyn";
  switch (json.type) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "array":
      return "list";
    case "object": {
      if (json.properties === undefined || Object.keys(json.properties).length === 0) return "map";
      if (json.additionalProperties !== false || json.patternProperties !== undefined) return "map";
      const fields: Record<string, Declared> = {};
      for (const [field, one] of Object.entries(json.properties)) fields[field] = declareJson(one, depth + 1);
      return fields;
    }
    default:
      return "dyn";
  }
}
