/** Numbers and values that a condition asks for and that its field cannot have: below its least, or two at once. */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { JsonSchema } from "../../lib/validation/json-schema.js";

/** `payload.n > 5`: a field on the left, a value on the right. */
interface Bound {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly op: string;
  readonly value: number | string | boolean;
  readonly source: string;
}

/** Gives the field that a node is, when the values of the field are known. */
type FieldOf = (node: ASTNode) => { name: string; schema: JsonSchema } | undefined;

const MIRRORED: Readonly<Record<string, string>> = { "==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

/** Gives one sentence for each comparison of `node` and its parts that never holds. */
export function rangeProblems(node: ASTNode, source: string, fieldOf: FieldOf): string[] {
  const bounds = conjunctsOf(node).flatMap((one) => boundOf(one, source, fieldOf) ?? []);
  const alone = bounds.flatMap((bound) => outside(bound) ?? []);
  if (alone.length > 0 || node.op !== "&&") return alone;
  const fields = new Map<string, Bound[]>();
  for (const bound of bounds) fields.set(bound.name, [...(fields.get(bound.name) ?? []), bound]);
  return [...fields.values()].flatMap((own) => contradiction(own) ?? []);
}

function conjunctsOf(node: ASTNode): ASTNode[] {
  if (node.op !== "&&") return [node];
  return (node.args as ASTNode[]).flatMap(conjunctsOf);
}

function boundOf(node: ASTNode, source: string, fieldOf: FieldOf): Bound | undefined {
  const mirrored = MIRRORED[node.op];
  if (mirrored === undefined) return undefined;
  const [left, right] = node.args as [ASTNode, ASTNode];
  const text = source.slice(node.range.start, node.range.end);
  for (const [field, other, op] of [
    [fieldOf(left), right, node.op],
    [fieldOf(right), left, mirrored],
  ] as const) {
    const value = literalOf(other);
    if (field !== undefined && value !== undefined) return { ...field, op, value, source: text };
  }
  return undefined;
}

function literalOf(node: ASTNode): number | string | boolean | undefined {
  if (node.op !== "value") return undefined;
  const value: unknown = node.args;
  if (typeof value === "bigint") return Number(value);
  return typeof value === "number" || typeof value === "string" || typeof value === "boolean" ? value : undefined;
}

/** The limits as a schema gives them. */
export interface Limits {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
}

function outside({ name, schema, op, value, source }: Bound): string | undefined {
  if (typeof value !== "number") return undefined;
  const limits = schema as Limits;
  const least = limits.minimum ?? limits.exclusiveMinimum;
  const most = limits.maximum ?? limits.exclusiveMaximum;
  const isBelow = least !== undefined && wantsBelow(op, value, least, limits.minimum === undefined);
  if (isBelow)
    return `${source} never holds: ${name} is ${limits.minimum === undefined ? "above" : "at least"} ${least}`;
  const isAbove = most !== undefined && wantsBelow(MIRRORED[op] ?? op, -value, -most, limits.maximum === undefined);
  if (isAbove) return `${source} never holds: ${name} is ${limits.maximum === undefined ? "below" : "at most"} ${most}`;
  return undefined;
}

/** Whether `x op value` asks for an x below `least`; `isOpen`: x is never `least` itself. */
function wantsBelow(op: string, value: number, least: number, isOpen: boolean): boolean {
  if (op === "<") return value <= least;
  if (op === "<=" || op === "==") return isOpen ? value <= least : value < least;
  return false;
}

/** Comparisons of one field that must all hold. */
function contradiction(bounds: readonly Bound[]): string | undefined {
  for (const [index, one] of bounds.entries())
    for (const other of bounds.slice(index + 1))
      if (!canBoth(one, other)) return `${one.source} and ${other.source} never hold together`;
  return undefined;
}

function canBoth(one: Bound, other: Bound): boolean {
  if (one.op === "==" && other.op === "==") return one.value === other.value;
  if (typeof one.value !== "number" || typeof other.value !== "number") return true;
  return meets(one, other.value, other.op) && meets(other, one.value, one.op);
}

/** Whether something fits a bound and lies where `op` of `value` wants it, too. */
function meets({ op, value: bound }: Bound, value: number, wanted: string): boolean {
  const limit = bound as number;
  const mayEqual = op.includes("=") && wanted.includes("=");
  if (op.startsWith("<") && (wanted.startsWith(">") || wanted === "=="))
    return value < limit || (mayEqual && value === limit);
  if (op.startsWith(">") && (wanted.startsWith("<") || wanted === "=="))
    return value > limit || (mayEqual && value === limit);
  return true;
}
