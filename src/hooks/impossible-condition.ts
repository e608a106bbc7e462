/**
 * Comparisons of a CEL condition (`match.when`, `skip_if`) whose result never changes: with a value, or with a type, that the field never
 * has, or without any field. The condition is accepted by CEL, and the hook never runs or never skips.
 */
import { type ASTNode, parse } from "@marcbachmann/cel-js";
import { type JsonSchema, propertiesOf } from "../lib/json-schema.js";
import { suggestion } from "../lib/schema-issues.js";
import { patternProblem } from "./impossible-pattern.js";
import { rangeProblems } from "./impossible-range.js";

/** The schema of each variable of the condition. */
export type Variables = Readonly<Record<string, JsonSchema>>;

interface Field {
  /** As it is written: `payload.message.text`, `steps[0].exitCode`. */
  readonly name: string;
  /** Undefined when the field cannot be there. */
  readonly schema: JsonSchema | undefined;
  readonly problem?: string;
}

const COMPARISONS: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">=", "in"]);

/** One sentence for each; a condition that cannot be parsed has none, because compiling it reports that. */
export function conditionProblems(source: string, variables: Variables): string[] {
  let ast: ASTNode;
  try {
    ast = parse(source).ast;
  } catch {
    return [];
  }
  const problems: string[] = [];
  let namesVariable = false;
  const known = withoutBound(ast, variables);
  visit(ast, (node) => {
    if (node.op === "id" && Object.hasOwn(variables, String(node.args))) namesVariable = true;
    if (COMPARISONS.has(node.op)) problems.push(...comparisonProblems(node, known));
    if (COMPARISONS.has(node.op) || node.op === "&&")
      problems.push(...rangeProblems(node, source, (one) => knownField(one, known)));
    const pattern = patternIn(node);
    const problem = pattern === undefined ? undefined : patternProblem(pattern);
    if (problem !== undefined) problems.push(problem);
  });
  if (!namesVariable)
    problems.push(
      `"${source}" names no field, so its result is always the same: compare a field of ${list(variables)}`,
    );
  return [...new Set(problems)];
}

/** The pattern that is written out in `text.matches("…")`. */
function patternIn(node: ASTNode): string | undefined {
  if (node.op !== "rcall" || node.args[0] !== "matches") return undefined;
  const [pattern] = node.args[2];
  return pattern?.op === "value" && typeof pattern.args === "string" ? pattern.args : undefined;
}

function knownField(node: ASTNode, variables: Variables): { name: string; schema: JsonSchema } | undefined {
  const field = fieldOf(node, variables);
  return field?.schema === undefined || field.problem !== undefined
    ? undefined
    : { name: field.name, schema: field.schema };
}

/** `steps.all(step, …)` gives the name `step` another meaning: nothing is known of its fields. */
function withoutBound(ast: ASTNode, variables: Variables): Variables {
  const bound = new Set<string>();
  visit(ast, (node) => {
    if (node.op !== "rcall") return;
    const [first] = node.args[2];
    if (first?.op === "id") bound.add(String(first.args));
  });
  return Object.fromEntries(Object.entries(variables).map(([name, schema]) => [name, bound.has(name) ? {} : schema]));
}

const list = (variables: Variables) => Object.keys(variables).join(" or ");

function comparisonProblems(node: ASTNode, variables: Variables): string[] {
  const [left, right] = node.args as [ASTNode, ASTNode];
  const sides = [
    [left, right],
    [right, left],
  ] as const;
  return sides.flatMap(([one, other]) => {
    const field = fieldOf(one, variables);
    if (field === undefined) return [];
    if (field.problem !== undefined) return [field.problem];
    const values = literalsOf(other, node.op === "in" && one === left);
    // `x in list`: the list holds values of its own types.
    if (node.op === "in" && one === right) return [];
    return values.flatMap((value) => valueProblem(field, value) ?? []);
  });
}

type Literal = string | number | bigint | boolean;

function valueProblem({ name, schema = {} }: Field, value: Literal): string | undefined {
  const known = valuesOf(schema);
  if (typeof value === "string" && known !== undefined && !known.includes(value))
    return `${name} is never "${value}": it is one of ${known.join(", ")}`;
  const types = typesOf(schema);
  const type = typeof value === "bigint" ? "number" : (typeof value as "string" | "number" | "boolean");
  if (types === undefined || types.has(type)) return undefined;
  const shown = typeof value === "string" ? `"${value}"` : String(value);
  const expected = [...types].map((one) => WORDS[one] ?? one).join(" or ");
  return `${name} is ${expected}, so a comparison with ${shown} (${WORDS[type]}) never holds${better(types, value)}`;
}

const WORDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "a group of fields",
};

/** The same value in the type of the field. */
function better(types: ReadonlySet<string>, value: Literal): string {
  if (types.has("string")) return `: write "${value}"`;
  if (types.has("number") && value !== "" && !Number.isNaN(Number(value))) return `: write ${Number(value)}`;
  if (types.has("boolean") && (value === "true" || value === "false")) return `: write ${value}`;
  return types.has("array") && types.size === 1 ? ": compare its size, as in size(…) == 0" : "";
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
function typesOf(schema: JsonSchema & { enum?: unknown; const?: unknown }): Set<string> | undefined {
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

/** Undefined when the node is no plain reference to a field of a variable. */
function fieldOf(node: ASTNode, variables: Variables): Field | undefined {
  if (node.op === "id") {
    const root = variables[String(node.args)];
    return root === undefined ? undefined : { name: String(node.args), schema: root };
  }
  if (node.op !== "." && node.op !== "[]") return undefined;
  const [holder, key] = node.args as [ASTNode, unknown];
  const before = fieldOf(holder, variables);
  const step = node.op === "." ? String(key) : keyOf(key as ASTNode);
  if (before === undefined || step === undefined) return undefined;
  if (before.problem !== undefined || before.schema === undefined) return before;
  const name = typeof step === "number" ? `${before.name}[${step}]` : `${before.name}.${step}`;
  if (typeof step === "number") return itemOf(before, before.schema, step, name);
  const { fields, isOpen } = propertiesOf(before.schema, rootOf(node, variables));
  const schema = fields.get(step) ?? (isOpen ? {} : undefined);
  if (schema !== undefined) return { name, schema };
  return { name, schema, problem: `${before.name} has no field "${step}"${suggestion(step, [...fields.keys()])}` };
}

function itemOf({ name: holder }: Field, schema: JsonSchema, index: number, name: string): Field {
  const { prefixItems } = schema;
  if (prefixItems === undefined) return { name, schema: {} };
  const item = prefixItems[index];
  if (item !== undefined) return { name, schema: item };
  const last = prefixItems.length - 1;
  return { name, schema: item, problem: `there is no ${name}: this step is ${holder}[${last}]` };
}

function rootOf(node: ASTNode, variables: Variables): JsonSchema {
  let at = node;
  while (at.op === "." || at.op === "[]") at = at.args[0];
  return (at.op === "id" && variables[String(at.args)]) || {};
}

function keyOf(node: ASTNode): string | number | undefined {
  if (node.op !== "value") return undefined;
  if (typeof node.args === "bigint") return Number(node.args);
  return typeof node.args === "string" ? node.args : undefined;
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

function visit(node: unknown, see: (node: ASTNode) => void): void {
  if (Array.isArray(node)) for (const one of node) visit(one, see);
  else if (typeof node === "object" && node !== null && "op" in node && "args" in node) {
    see(node as ASTNode);
    visit(node.args, see);
  }
}
