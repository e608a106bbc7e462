/**
 * What templates read: plain copies of the event and of what the steps brought, so that no template reaches a function, a getter or a
 * prototype of ours. Every object prints as JSON, and a step as its text.
 */
import type { StepFailure, StepResult } from "../step.js";
import { type JsonSchema, propertiesOf } from "./json-schema.js";

export interface TemplateScope {
  readonly event: unknown;
  /** Undefined: the step has not run. */
  readonly steps: readonly (StepResult | StepFailure | undefined)[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly lastRunAt?: number;
}

/** The names of the timing fields; all are known at load, whatever the trigger. */
export const TIMING_NAMES = [
  "current_time",
  "current_time_epoch",
  "last_run_time",
  "last_run_time_epoch",
  "seconds_since_last_run",
] as const;

/** Fields that every step has, besides its own. */
export const COMMON_STEP_FIELDS = ["ok", "empty", "error", "timedOut"] as const;

const PRINTS_JSON: object = Object.create(null, {
  toString: {
    value(this: unknown) {
      return JSON.stringify(this);
    },
  },
});
const MAX_DEPTH = 32;

/** The variables of a template. `eventSchema` makes fields print nothing that the payload may carry and does not. */
export function templateData(
  scope: TemplateScope,
  fields: readonly (readonly string[])[],
  eventSchema?: JsonSchema,
): object {
  const steps = scope.steps.map((outcome, index) => stepData(outcome, index, fields[index] ?? []));
  const data: Record<string, unknown> = Object.create(null);
  const times = timing(scope);
  data.event = withTiming(eventData(scope.event, eventSchema), times);
  data.steps = steps;
  for (const [index, step] of steps.entries()) data[`step_${index}`] = step;
  return Object.assign(data, times);
}

function timing({ now, lastRunAt }: TemplateScope): Record<(typeof TIMING_NAMES)[number], unknown> {
  return {
    current_time: new Date(now).toISOString(),
    current_time_epoch: now / 1000,
    last_run_time: lastRunAt === undefined ? null : new Date(lastRunAt).toISOString(),
    last_run_time_epoch: lastRunAt === undefined ? null : lastRunAt / 1000,
    seconds_since_last_run: lastRunAt === undefined ? null : (now - lastRunAt) / 1000,
  };
}

/** `{{ event.last_run_time }}`, as the prompts of periodic hooks have it elsewhere; not printed with the event. */
function withTiming(event: unknown, times: Record<string, unknown>): unknown {
  if (typeof event !== "object" || event === null || Array.isArray(event)) return event;
  for (const [name, value] of Object.entries(times))
    if (!Object.hasOwn(event, name)) Object.defineProperty(event, name, { value });
  return event;
}

/** A failed step says so wherever its fields are printed: a prompt that quotes it must not look as if there had been nothing. */
function stepData(outcome: StepResult | StepFailure | undefined, index: number, fields: readonly string[]): unknown {
  if (outcome === undefined) return undefined;
  if ("error" in outcome) {
    const says = `[step ${index} ${outcome.timedOut ? "timed out" : "failed"}: ${outcome.error}]`;
    const values = Object.fromEntries(fields.map((field) => [field, says]));
    return printedAs(says, { ...values, ok: false, empty: false, error: outcome.error, timedOut: outcome.timedOut });
  }
  const common = { ok: outcome.isOk ?? null, empty: outcome.isEmpty, error: null, timedOut: false };
  const absent = Object.fromEntries(fields.map((field) => [field, null]));
  return printedAs(outcome.text, { ...common, ...absent, ...outcome.value });
}

function printedAs(text: string, values: Record<string, unknown>): object {
  const copy = plain(values, 0, new Set()) as object;
  return Object.defineProperty(copy, "toString", { value: () => text });
}

function eventData(event: unknown, schema: JsonSchema | undefined): unknown {
  const copy = plain(event, 0, new Set());
  if (schema !== undefined) fillIn(copy, schema, schema, 0);
  return copy;
}

/** Optional fields that are absent read as null; not enumerable, so that they are not printed with the event. */
function fillIn(value: unknown, schema: JsonSchema, root: JsonSchema, depth: number): void {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return;
  if (Array.isArray(value)) {
    const items = propertiesOf(schema, root).items;
    if (items !== undefined) for (const item of value) fillIn(item, items, root, depth + 1);
    return;
  }
  for (const [field, one] of propertiesOf(schema, root).fields) {
    if (!Object.hasOwn(value, field)) Object.defineProperty(value, field, { value: null });
    else fillIn((value as Record<string, unknown>)[field], one, root, depth + 1);
  }
}

/** As JSON would carry it, without functions, cycles and bytes. */
function plain(value: unknown, depth: number, above: Set<object>): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Error) return value.message;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (above.has(value) || depth > MAX_DEPTH) return null;
  above.add(value);
  try {
    if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1, above) ?? null);
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    const copy: Record<string, unknown> = Object.create(PRINTS_JSON);
    for (const [key, one] of entries) {
      const part = plain(one, depth + 1, above);
      // Defined, not assigned: a key such as `toString` or `__proto__` is data here.
      if (part !== undefined)
        Object.defineProperty(copy, String(key), { value: part, enumerable: true, configurable: true, writable: true });
    }
    return copy;
  } finally {
    above.delete(value);
  }
}
