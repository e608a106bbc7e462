/** Times and durations in a CEL condition that compare with nothing: CEL finds that out at each event only, and the hook never runs or never skips. */
import { type ASTNode, Environment } from "@marcbachmann/cel-js";
import { once } from "../../lib/on-first-use.js";

export interface TypedField {
  /** As it is written: `payload.message.receivedAt`. */
  readonly name: string;
  /** The one type that it has. */
  readonly type: string;
  /** `a number`. */
  readonly typeName: string;
}

/** Undefined when the node is no field, or one of several types. */
type FieldOf = (node: ASTNode) => TypedField | undefined;

const EXAMPLES: Readonly<Record<string, string>> = { timestamp: "2026-01-31T09:00:00Z", duration: "1h30m" };
const OPERATORS: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);
const MIRRORED: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

/** One sentence for each. */
export function timeProblems(node: ASTNode, source: string, fieldOf: FieldOf): string[] {
  const made = madeTime(node, source);
  if (made !== undefined) return argumentProblems(made, fieldOf);
  if (!OPERATORS.has(node.op)) return [];
  const [left, right] = node.args as [ASTNode, ASTNode];
  return [
    ...besideTime(fieldOf(left), node.op, madeTime(right, source)),
    ...besideTime(fieldOf(right), MIRRORED[node.op] ?? node.op, madeTime(left, source)),
  ];
}

interface MadeTime {
  readonly call: string;
  readonly argument: ASTNode;
  readonly text: string;
}

/** `timestamp(…)` or `duration(…)`. */
function madeTime(node: ASTNode, source: string): MadeTime | undefined {
  if (node.op !== "call") return undefined;
  const [call, [argument]] = node.args as [string, ASTNode[]];
  if (EXAMPLES[call] === undefined || argument === undefined) return undefined;
  return { call, argument, text: source.slice(node.range.start, node.range.end) };
}

/** `timestamp("yesterday")`, `timestamp(payload.message.receivedAt)`. */
function argumentProblems({ call, argument, text }: MadeTime, fieldOf: FieldOf): string[] {
  const example = `"${EXAMPLES[call]}"`;
  if (argument.op === "value" && millisecondsOf(text) === undefined)
    return [`${text} is no ${call === "timestamp" ? "time" : "duration"}: write ${call}(${example})`];
  const field = fieldOf(argument);
  if (field === undefined || field.type === "string") return [];
  const better =
    field.type === "number" && call === "timestamp" ? `: for milliseconds, write ${timeOfNumber(field.name)}` : "";
  return [`${field.name} is ${field.typeName}, and ${call}() takes text such as ${example}${better}`];
}

/** `payload.message.receivedAt > timestamp("2026-01-31T09:00:00Z")`. */
function besideTime(field: TypedField | undefined, op: string, made: MadeTime | undefined): string[] {
  if (field === undefined || made === undefined) return [];
  const { name, type } = field;
  const never = `${name} is ${field.typeName}, so a comparison with ${made.text} never holds`;
  if (type === "string") return [`${never}: write ${made.call}(${name}) ${op} ${made.text}`];
  if (type !== "number") return [never];
  const ms = made.argument.op === "value" ? millisecondsOf(made.text) : undefined;
  if (ms !== undefined) return [`${never}: for milliseconds, write ${name} ${op} ${ms}`];
  return made.call === "timestamp"
    ? [`${never}: for milliseconds, write ${timeOfNumber(name)} ${op} ${made.text}`]
    : [never];
}

const timeOfNumber = (name: string) => `timestamp(int(${name}) / 1000)`;

const environment = once(() => new Environment());

/** The time or the duration that a call without fields gives; undefined when CEL cannot read its argument. */
function millisecondsOf(call: string): number | undefined {
  try {
    const value: unknown = environment().evaluate(call);
    return value instanceof Date ? value.getTime() : Number((value as { getMilliseconds(): bigint }).getMilliseconds());
  } catch {
    return undefined;
  }
}
