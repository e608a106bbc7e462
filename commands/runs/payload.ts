/**
 * The payload to fire with: typed as JSON, the point's example, or the last real one; either of these with JSON on top. Checked against the
 * point's schema.
 */
import { DUE_POINT } from "../../src/domain/automation.js";
import { type DispatchRecord, isHandId } from "../../src/domain/journal.js";
import type { AnyPoint } from "../../src/hooks/signatures.js";
import { errorMessage, HookgateError } from "../../src/lib/errors.js";
import { isRecord } from "../../src/lib/record.js";
import { changedNumber, jsonExcess } from "../../src/lib/validation/json-depth.js";
import { nearest } from "../../src/lib/validation/nearest.js";
import { keysAt } from "../../src/lib/validation/schema-keys.js";
import { valueProblems } from "../../src/lib/validation/value-problem.js";
import { badUsage, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { flushJournal } from "../show/flush-journal.js";
import { clip, code } from "../show/text.js";
import { newestDispatches } from "./newest-dispatches.js";

export interface FirePayload {
  payload: unknown;
  /** `last` holds a person's words: it is shown masked. */
  source: "typed" | "example" | "last";
  /** The dispatch that had the payload of `last`, as it was before JSON was put on top. */
  last?: DispatchRecord;
  /** The payload has JSON on top of `last`. */
  isChanged?: boolean;
}

const SUCH =
  'Use `example`, `last`, or an object such as `{"text": "hello"}`; in `payload=\'…\'` nothing of it is taken for another option.';

/** `name`: the hook or point that is fired, for the line that a refusal suggests. */
export async function readPayload(
  deps: CommandDeps,
  point: AnyPoint,
  given: string,
  name: string,
): Promise<FirePayload> {
  const [, source, rest] = /^(example|last)(?:\s+([\s\S]*))?$/.exec(given.trim() || "example") ?? [];
  const typed = source === undefined ? readObject(given, SUCH) : rest?.trim() ? readObject(rest, SUCH) : {};
  if (source === undefined) return { payload: checked(point, typed, typed, name), source: "typed" };
  if (source === "example")
    return { payload: checked(point, merge(point.example, typed), typed, name), source: "example" };
  const last = await lastReal(deps, point);
  return {
    payload: checked(point, merge(last.payload, typed), typed, name),
    source: "last",
    last,
    isChanged: Object.keys(typed).length > 0,
  };
}

/** The newest that was no test of an operator's. */
async function lastReal(deps: CommandDeps, point: AnyPoint): Promise<DispatchRecord> {
  await flushJournal(deps);
  for await (const dispatch of newestDispatches(deps.store.journal, { point: point.name }))
    if (!dispatch.dryRun && !isByHand(dispatch)) return dispatch;
  throw new HookgateError({
    code: "NOT_FOUND",
    message: `${point.name} has not fired yet, so there is no last payload.`,
    hint: "Use `example`, or type the payload as JSON.",
  });
}

/**
 * An operator fired it, with `/fire-hook` and the like. A configured hook is fired under the id of its run; a time fires it in the same
 * way, but at a point of its own.
 */
export const isByHand = ({ id, point }: Pick<DispatchRecord, "id" | "point">) =>
  isHandId(id) || (id.startsWith("r_") && point !== DUE_POINT);

/** The JSON object, or an error with the text that was read: the text may be cut at another place than the person thinks. */
export function readObject(text: string, such: string): Record<string, unknown> {
  const excess = jsonExcess(text);
  if (excess !== undefined) throw badUsage(`The payload ${excess}.`, such);
  let value: unknown;
  try {
    value = JSON.parse(text.trim());
  } catch (error) {
    const [, option] = /^([a-z][a-z-]*)=/.exec(text.trim()) ?? [];
    if (option !== undefined)
      throw badUsage(`This command has no option ${code(option)}, and a payload must be a JSON object.`, such);
    throw badUsage(
      `The payload is not JSON: ${clip(errorMessage(error), 120)}. Read was ${code(clip(text.trim(), 200))}.`,
      /[“”„]/.test(text) ? "Your keyboard made curly quotes; JSON needs straight ones." : such,
    );
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badUsage(
      `The payload must be a JSON object, got ${Array.isArray(value) ? "a list" : value === null ? "null" : `a ${typeof value}`}.`,
    );
  const changed = changedNumber(text, value);
  if (changed !== undefined) throw badUsage(`The payload ${changed}.`, such);
  return value as Record<string, unknown>;
}

/** Objects merge key by key; anything else replaces; null removes. */
function merge(base: unknown, change: Record<string, unknown>): unknown {
  if (!isRecord(base)) return change;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete merged[key];
    else merged[key] = isRecord(value) ? merge(merged[key], value) : value;
  }
  return merged;
}

/** The payload as the schema reads it. Otherwise every problem has a line, a field that the schema does not know among them. */
function checked(point: AnyPoint, payload: unknown, typed: Record<string, unknown>, name: string): unknown {
  const problems = problemsOf(point, payload);
  if (problems.length === 0) return point.payload.parse(payload);
  const lines = problems.slice(0, MAX_PROBLEMS).map((problem) => `- ${problem}`);
  if (problems.length > MAX_PROBLEMS) lines.push(`- and ${problems.length - MAX_PROBLEMS} more`);
  throw badUsage(
    [`This is no payload of ${code(point.name)}:`, ...lines].join("\n"),
    problemsOf(point, point.example).length === 0
      ? `To start from the point's example: ${code(`/fire-hook ${word(name)} ${fittingExample(point, typed)}`)}`
      : `Give each field here \`examples:\` in the event's schema, or type its value: ${code(`/fire-hook ${word(name)} example {"field": "value"}`)}`,
  );
}

const MAX_PROBLEMS = 12;
/** A longer line is not typed from a chat. */
const MAX_EXAMPLE = 200;

function problemsOf({ payload: schema }: AnyPoint, payload: unknown): string[] {
  return [...unknownFields(schema, payload, []), ...valueProblems(schema, payload)];
}

/** The example with those typed fields on top that the point accepts. */
function fittingExample(point: AnyPoint, typed: Record<string, unknown>): string {
  const fitting = fittingPart(typed, (part) => problemsOf(point, merge(point.example, part)).length === 0);
  const text = `example ${JSON.stringify(fitting)}`;
  return Object.keys(fitting).length === 0 || text.length > MAX_EXAMPLE ? "example" : text;
}

function fittingPart(
  typed: Record<string, unknown>,
  fits: (part: Record<string, unknown>) => boolean,
): Record<string, unknown> {
  const fitting: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(typed)) {
    if (fits({ [key]: value })) fitting[key] = value;
    else if (isRecord(value)) {
      const part = fittingPart(value, (inner) => fits({ [key]: inner }));
      if (Object.keys(part).length > 0) fitting[key] = part;
    }
  }
  return fitting;
}

function unknownFields(schema: AnyPoint["payload"], given: unknown, path: readonly (string | number)[]): string[] {
  if (Array.isArray(given)) return given.flatMap((entry, index) => unknownFields(schema, entry, [...path, index]));
  if (!isRecord(given)) return [];
  const known = keysAt(schema, path);
  return Object.entries(given).flatMap(([key, value]) => {
    if (known.length === 0 || known.includes(key)) return unknownFields(schema, value, [...path, key]);
    if (value === undefined) return [];
    const near = nearest(key, known);
    return [`${[...path, key].join(".")}: no such field${near ? ` (did you mean "${near}"?)` : ""}`];
  });
}
