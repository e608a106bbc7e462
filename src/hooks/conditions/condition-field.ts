/**
 * Resolves the names in a CEL condition: fields of its variables, items of lists, and the names that `exists(item, …)` and the like
 * give to them.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { type JsonSchema, propertiesOf } from "../../lib/validation/json-schema.js";
import { suggestion } from "../../lib/validation/schema-issues.js";

export interface Field {
  /** As the condition has it: `payload.message.text`, `steps[0].exitCode`. */
  readonly name: string;
  /** Undefined when the field cannot be there. */
  readonly schema: JsonSchema | undefined;
  /** Where the references of the schema lead. */
  readonly root: JsonSchema;
  /** The field that a payload may lack: this one, or the nearest to the variable of those that hold it. */
  readonly optional?: string | undefined;
  readonly problem?: string;
}

export interface KnownField {
  readonly name: string;
  readonly schema: JsonSchema;
}

/** The meaning of each name at a place of the condition. */
export type Scope = Readonly<Record<string, Field>>;

export function scopeOf(variables: Readonly<Record<string, JsonSchema>>): Scope {
  return Object.fromEntries(Object.entries(variables).map(([name, schema]) => [name, { name, schema, root: schema }]));
}

/** Calls that give a name to each item of a list. */
export const OVER_ITEMS: ReadonlySet<string> = new Set(["all", "exists", "exists_one", "existsOne", "filter", "map"]);

/** Every node, with the meaning of the names there. */
export function visitScoped(node: unknown, scope: Scope, see: (node: ASTNode, scope: Scope) => void): void {
  if (Array.isArray(node)) for (const one of node) visitScoped(one, scope, see);
  else if (isNode(node)) {
    see(node, scope);
    for (const [part, at] of partsOf(node, scope)) visitScoped(part, at, see);
  }
}

/** The parts of the node (nodes, lists of nodes, values), each with the meaning of the names there. */
export function partsOf(node: ASTNode, scope: Scope): [part: unknown, scope: Scope][] {
  if (node.op !== "rcall") return [[node.args, scope]];
  const [, holder, parameters] = node.args;
  return [
    [holder, scope],
    [parameters, withItem(node, scope)],
  ];
}

/** The condition that must be true or false of each item in `exists(item, …)` and the like, with the meaning of the names there. */
export function itemCondition(node: ASTNode, scope: Scope): { condition: ASTNode; scope: Scope } | undefined {
  if (node.op !== "rcall") return undefined;
  const [call, , [, condition, result]] = node.args;
  // `map(item, result)` has none, and `map(item, condition, result)` has one.
  if (condition === undefined || !OVER_ITEMS.has(String(call)) || (call === "map" && result === undefined))
    return undefined;
  return { condition, scope: withItem(node, scope) };
}

function withItem(node: ASTNode, scope: Scope): Scope {
  if (node.op !== "rcall") return scope;
  const [call, holder, [first, ...others]] = node.args;
  // A call with one argument names nothing: `text.contains(word)`.
  if (first?.op !== "id" || others.length === 0) return scope;
  const name = String(first.args);
  const isOverItems = OVER_ITEMS.has(String(call));
  const list = isOverItems ? fieldOf(holder, scope) : undefined;
  const words = isOverItems ? wordsIn(holder) : undefined;
  const items = list?.schema ? propertiesOf(list.schema, list.root).items : words;
  return { ...scope, [name]: { name, schema: items ?? {}, root: list?.root ?? {} } };
}

/** The schema of the items of `["one", "two"]`; undefined when the node is no list of texts that are written out. */
function wordsIn(node: ASTNode): JsonSchema | undefined {
  if (node.op !== "list" || node.args.length === 0) return undefined;
  const words = node.args.map((one) => one.op === "value" && one.args);
  return words.every((word) => typeof word === "string") ? { type: "string", enum: words } : undefined;
}

/** Undefined when the node is no plain reference to a field of a variable, or to a field that cannot be there. */
export function knownField(node: ASTNode, scope: Scope): KnownField | undefined {
  const field = fieldOf(node, scope);
  if (field?.schema === undefined || field.problem !== undefined) return undefined;
  return { name: field.name, schema: field.schema };
}

/** Undefined when the node is no plain reference to a field of a variable. */
export function fieldOf(node: ASTNode, scope: Scope): Field | undefined {
  if (node.op === "id") return Object.hasOwn(scope, String(node.args)) ? scope[String(node.args)] : undefined;
  // `filter` keeps the items of its list as they are.
  if (node.op === "rcall" && node.args[0] === "filter") return fieldOf(node.args[1], scope);
  if (node.op !== "." && node.op !== "[]" && node.op !== ".?" && node.op !== "[?]") return undefined;
  const [holder, key] = node.args as [ASTNode, unknown];
  const before = fieldOf(holder, scope);
  if (before === undefined) return undefined;
  if (before.problem !== undefined || before.schema === undefined) return before;
  const step = typeof key === "string" ? key : keyOf(key as ASTNode);
  if (step === undefined)
    return isList(before.schema) ? itemOf(before, before.schema, undefined, `${before.name}[…]`) : undefined;
  if (typeof step === "number") return itemOf(before, before.schema, step, `${before.name}[${step}]`);
  const name = `${before.name}.${step}`;
  const { fields, required, isOpen } = propertiesOf(before.schema, before.root);
  const schema = fields.get(step) ?? (isOpen ? {} : undefined);
  // Nothing is known of a field that is not declared.
  const isOptional = fields.has(step) && !required.has(step) && (node.op === "." || node.op === "[]");
  const optional = before.optional ?? (isOptional ? name : undefined);
  if (schema !== undefined) return { name, schema, root: before.root, optional };
  const problem = `${before.name} has no field "${step}"${suggestion(step, [...fields.keys()])}`;
  return { name, schema, root: before.root, problem };
}

const isList = ({ type, prefixItems }: JsonSchema) => type === "array" && prefixItems === undefined;

function itemOf(holder: Field, schema: JsonSchema, index: number | undefined, name: string): Field {
  const { root, optional } = holder;
  const { prefixItems } = schema;
  if (prefixItems === undefined || index === undefined)
    return { name, schema: propertiesOf(schema, root).items ?? {}, root, optional };
  const item = prefixItems[index];
  if (item !== undefined) return { name, schema: item, root, optional };
  const last = prefixItems.length - 1;
  return { name, schema: item, root, problem: `there is no ${name}: this step is ${holder.name}[${last}]` };
}

function keyOf(node: ASTNode): string | number | undefined {
  if (node.op !== "value") return undefined;
  if (typeof node.args === "bigint") return Number(node.args);
  return typeof node.args === "string" ? node.args : undefined;
}

export function isNode(value: unknown): value is ASTNode {
  return typeof value === "object" && value !== null && "op" in value && "args" in value;
}
