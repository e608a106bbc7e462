/** The payload to fire with: typed as JSON, the point's example, or the last real one; either of these with JSON on top. Checked against the point's schema. */
import type { AnyPoint } from "../src/hooks/signatures.js";
import { errorMessage, HookgateError } from "../src/lib/errors.js";
import { isTooDeep, MAX_JSON_DEPTH } from "../src/lib/json-depth.js";
import { nearest } from "../src/lib/nearest.js";
import { badUsage } from "./answer.js";
import { catchUp } from "./catch-up.js";
import type { CommandDeps } from "./deps.js";
import { clip, code } from "./text.js";

export interface FirePayload {
  payload: unknown;
  /** `last` holds what a person wrote: it is shown masked. */
  source: "typed" | "example" | "last";
}

const LOOK_BACK = 50;
const SUCH =
  'Use `example`, `last`, or an object such as `{"text": "hello"}`; in `payload=\'…\'` nothing of it is taken for another option.';

export async function readPayload(deps: CommandDeps, point: AnyPoint, given: string): Promise<FirePayload> {
  const [, source, rest] = /^(example|last)(?:\s+([\s\S]*))?$/.exec(given.trim() || "example") ?? [];
  if (source === undefined) return { payload: checked(point, readObject(given, SUCH)), source: "typed" };
  const base = source === "example" ? point.example : await lastPayload(deps, point);
  const changed = rest?.trim() ? merge(base, readObject(rest, SUCH)) : base;
  return { payload: checked(point, changed), source: source === "last" ? "last" : "example" };
}

/** The newest that was no test of an operator's. */
async function lastPayload(deps: CommandDeps, point: AnyPoint): Promise<unknown> {
  await catchUp(deps);
  const recent = await deps.store.journal.list({ point: point.name, limit: LOOK_BACK });
  const real = recent.find((dispatch) => !dispatch.dryRun && !isByHand(dispatch.id));
  if (real) return real.payload;
  throw new HookgateError({
    code: "NOT_FOUND",
    message: `${point.name} has not fired yet, so there is no last payload.`,
    hint: "Use `example`, or type the payload as JSON.",
  });
}

/** Dispatches that `/fire-hook` and `/replay` made carry this prefix. */
export const BY_HAND = "f";
const isByHand = (dispatchId: string) => dispatchId.startsWith(`${BY_HAND}_`);

/** An object, or why it is none, with what was read: what a person typed may have been cut somewhere else than they think. */
export function readObject(text: string, such: string): Record<string, unknown> {
  if (isTooDeep(text)) throw badUsage(`The payload is nested deeper than ${MAX_JSON_DEPTH} levels.`, such);
  let value: unknown;
  try {
    value = JSON.parse(text.trim());
  } catch (error) {
    throw badUsage(
      `The payload is not JSON: ${clip(errorMessage(error), 120)}. Read was ${code(clip(text.trim(), 200))}.`,
      /[“”„]/.test(text) ? "Your keyboard made curly quotes; JSON needs straight ones." : such,
    );
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badUsage(
      `The payload must be a JSON object, got ${Array.isArray(value) ? "a list" : value === null ? "null" : `a ${typeof value}`}.`,
    );
  return value as Record<string, unknown>;
}

/** Objects merge key by key; anything else replaces; null removes. */
function merge(base: unknown, change: Record<string, unknown>): unknown {
  if (!isObject(base)) return change;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete merged[key];
    else merged[key] = isObject(value) ? merge(merged[key], value) : value;
  }
  return merged;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The payload as the schema reads it; every problem at once, a field that the schema does not know among them. */
function checked(point: AnyPoint, payload: unknown): unknown {
  const parsed = point.payload.safeParse(payload);
  const problems = parsed.success
    ? unknownFields(payload, parsed.data, "")
    : parsed.error.issues.map((issue) => `${issue.path.map(String).join(".") || "payload"}: ${issue.message}`);
  if (parsed.success && problems.length === 0) return parsed.data;
  throw badUsage(
    `This is no payload of ${point.name}: ${problems.slice(0, 8).join("; ")}${problems.length > 8 ? `; and ${problems.length - 8} more` : ""}.`,
    "`example {…}` takes the point's example with your fields on top.",
  );
}

function unknownFields(given: unknown, parsed: unknown, path: string): string[] {
  if (Array.isArray(given) && Array.isArray(parsed))
    return given.flatMap((entry, index) => unknownFields(entry, parsed[index], `${path}${index}.`));
  if (!isObject(given) || !isObject(parsed)) return [];
  return Object.entries(given).flatMap(([key, value]) => {
    if (Object.hasOwn(parsed, key)) return unknownFields(value, parsed[key], `${path}${key}.`);
    if (value === undefined) return [];
    const near = nearest(key, Object.keys(parsed));
    return [`${path}${key}: no such field${near ? ` (did you mean "${near}"?)` : ""}`];
  });
}
