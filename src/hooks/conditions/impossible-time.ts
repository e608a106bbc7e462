/**
 * Times and durations in a CEL condition that compare with nothing: CEL finds that out at each event only, and the hook never runs or
 * never skips.
 */
import { type ASTNode, Environment } from "@marcbachmann/cel-js";
import { once } from "../../lib/concurrency/on-first-use.js";
import { errorMessage } from "../../lib/errors.js";
import { timezoneProblem } from "../../lib/time/timezone.js";
import type { JsonSchema } from "../../lib/validation/json-schema.js";
import { evaluation } from "../registration/predicate.js";
import { isNode, type KnownField } from "./condition-field.js";
import type { Limits } from "./impossible-range.js";

export interface TypedField {
  /** As the condition has it: `payload.message.receivedAt`. */
  readonly name: string;
  /** The one type that it has. */
  readonly type: string;
  /** `a number`. */
  readonly typeName: string;
}

/** For each variable of the condition. */
export type Values = Readonly<Record<string, unknown>>;

/** Undefined when the node is no field, or one of several types. */
type FieldOf = (node: ASTNode) => TypedField | undefined;

const EXAMPLES: Readonly<Record<string, string>> = { timestamp: "2026-01-31T09:00:00Z", duration: "1h30m" };
const OPERATORS: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);
const MIRRORED: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

/** Gives one sentence for each problem. `example`: a value of each variable; undefined when there is none. */
export function timeProblems(node: ASTNode, source: string, fieldOf: FieldOf, example: Values | undefined): string[] {
  const made = madeTime(node, source);
  if (made !== undefined) {
    const problems = argumentProblems(made, fieldOf);
    return problems.length > 0 ? problems : unitProblems(made, fieldOf, example);
  }
  const zone = calendarField(node, source)?.zone;
  const zoneProblem = typeof zone === "string" ? timezoneProblem(zone) : undefined;
  if (zoneProblem !== undefined) return [`${zoneProblem}: write a name such as "Europe/Berlin"`];
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

const NO_SECONDS = /valid integer unix timestamp|timestamp\(double\)/;

/** `timestamp(int(payload.message.receivedAt))`, and the same `/ 1000` without `int`: CEL takes whole seconds only. */
function unitProblems({ text, argument }: MadeTime, fieldOf: FieldOf, example: Values | undefined): string[] {
  const field = numberIn(argument, fieldOf);
  if (field === undefined || example === undefined) return [];
  try {
    evaluation().evaluate(text, { ...example });
  } catch (error) {
    if (NO_SECONDS.test(errorMessage(error)))
      return [
        `${text} is no time: timestamp() takes whole seconds: for milliseconds, write ${timeOfNumber(field.name)}`,
      ];
  }
  return [];
}

function numberIn(part: unknown, fieldOf: FieldOf): TypedField | undefined {
  const field = isNode(part) ? fieldOf(part) : undefined;
  if (field?.type === "number") return field;
  const parts = Array.isArray(part) ? part : isNode(part) && part.op !== "value" ? [part.args] : [];
  for (const one of parts) {
    const found = numberIn(one, fieldOf);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The least and the largest number that a part of a time can be. */
const CALENDAR: Readonly<Record<string, readonly [least: number, most: number]>> = {
  getFullYear: [1, 9999],
  getMonth: [0, 11],
  getDate: [1, 31],
  getDayOfMonth: [0, 30],
  getDayOfWeek: [0, 6],
  getDayOfYear: [0, 365],
  getHours: [0, 23],
  getMinutes: [0, 59],
  getSeconds: [0, 59],
  getMilliseconds: [0, 999],
};

/**
 * A call such as `timestamp(…).getHours()` or `….getHours("Europe/Berlin")`, as a field with limits. A call on a duration takes no zone
 * and has no limits.
 */
export function calendarField(node: ASTNode, source: string): (KnownField & { zone: unknown }) | undefined {
  if (node.op !== "rcall") return undefined;
  const [call, holder, [zone]] = node.args;
  const limits = Object.hasOwn(CALENDAR, call) ? CALENDAR[call] : undefined;
  const isOfTime = zone !== undefined || (holder.op === "call" && holder.args[0] === "timestamp");
  if (limits === undefined || !isOfTime) return undefined;
  const [minimum, maximum] = limits;
  const schema: JsonSchema & Limits = { minimum, maximum };
  return { name: source.slice(node.range.start, node.range.end), schema, zone: zone?.op === "value" && zone.args };
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
