/**
 * The data that templates read: plain copies of the event and of the results of steps, so that no template reaches a function, a getter
 * or a prototype of ours. Every object prints as JSON, and a step as its text.
 */
import { noJsonProblem } from "../json-output.js";
import type { NoValueOf, StepFailure, StepResult } from "../step.js";
import { liquid } from "./engine.js";

/** A field that has no value is read: the step failed, or did not find it out. */
export class NoValue extends Error {
  constructor(
    message: string,
    /** The text that an output prints in its place. */
    readonly shown: string,
  ) {
    super(message);
  }
}
/** The JSON of a step that has none is read. */
class NoJson extends Error {}

export const noValueIn = (error: unknown) => causeIn(error, NoValue);
export const isNoJson = (error: unknown) => causeIn(error, NoJson) !== undefined;

/** The library wraps thrown errors, maybe more than once. */
function causeIn<T extends Error>(error: unknown, kind: new (...given: never[]) => T): T | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  if (error instanceof kind) return error;
  return "originalError" in error ? causeIn(error.originalError, kind) : undefined;
}

export interface TemplateScope {
  readonly event: unknown;
  /** Undefined: the step has not run. */
  readonly steps: readonly (StepResult | StepFailure | undefined)[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly lastRunAt?: number;
}

/** The names of the timing fields; all are known at load, with any trigger. */
export const TIMING_NAMES = [
  "current_time",
  "current_time_epoch",
  "last_run_time",
  "last_run_time_epoch",
  "seconds_since_last_run",
] as const;

/** Fields that every step has, besides its own. */
export const COMMON_STEP_FIELDS = { ok: "boolean", empty: "boolean", error: "string", timedOut: "boolean" } as const;

const PRINTS_JSON: object = Object.create(null, {
  toString: {
    value(this: unknown) {
      return JSON.stringify(this);
    },
  },
});
const MAX_DEPTH = 32;

/** The variables of a template. `fields`: those that each step may have. */
export function templateData(scope: TemplateScope, fields: readonly (readonly string[])[]): object {
  const steps = scope.steps.map((outcome, index) => stepData(outcome, index, fields[index] ?? []));
  const data: Record<string, unknown> = Object.create(null);
  const times = timing(scope);
  data.event = withTiming(plain(scope.event, 0, new Set(), ABSENT_IS_NULL), times);
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

/** `{{ event.last_run_time }}` means the same as `{{ last_run_time }}`, as in a published hook system; not printed with the event. */
function withTiming(event: unknown, times: Record<string, unknown>): unknown {
  if (typeof event !== "object" || event === null || Array.isArray(event)) return event;
  for (const [name, value] of Object.entries(times))
    if (!(name in event)) Object.defineProperty(event, name, { value });
  return event;
}

/**
 * A failed step shows its failure wherever its fields are printed: a prompt that quotes it must not look as if there had been nothing.
 * Anything else that reads them, such as a condition, fails: "failed > 0" is not false because the tests were never run.
 */
function stepData(outcome: StepResult | StepFailure | undefined, index: number, fields: readonly string[]): unknown {
  if (outcome === undefined) return undefined;
  if ("error" in outcome) {
    const says = `[step ${index} ${outcome.timedOut ? "timed out" : "failed"}: ${outcome.error}]`;
    const own = { ok: false, empty: false, error: outcome.error, timedOut: outcome.timedOut };
    const data = printedAs(says, own);
    const lost = fields.filter((field) => field !== "json" && !(field in own));
    withoutValues(data, index, { fields: lost, why: `the step failed: ${outcome.error}` }, says);
    return fields.includes("json") ? withoutJson(data, index, `the step failed: ${outcome.error}`) : data;
  }
  const common = { ok: outcome.isOk ?? true, empty: outcome.isEmpty, error: null, timedOut: false };
  const absent = Object.fromEntries(fields.map((field) => [field, null]));
  const data = printedAs(outcome.text, { ...common, ...absent, ...outcome.value });
  const { noValue } = outcome;
  if (noValue !== undefined) withoutValues(data, index, noValue, `[step ${index}: ${noValue.why}]`);
  if (outcome.noJson !== undefined) return withoutJson(data, index, outcome.noJson);
  return outcome.value.json === null ? withNullJson(data, index) : data;
}

function withoutValues(data: object, index: number, { fields, why }: NoValueOf, shown: string): void {
  for (const field of fields) {
    const get = () => {
      throw new NoValue(`steps[${index}].${field} has no value: ${why}`, shown);
    };
    Object.defineProperty(data, field, { get, enumerable: false });
  }
}

function withoutJson(data: object, index: number, why: string): object {
  const get = () => {
    throw new NoJson(noJsonProblem(index, why));
  };
  return Object.defineProperty(data, "json", { get, enumerable: false });
}

/** The server answered null, which templates may ask for and print; a read of a field of it has no answer. */
function withNullJson(data: object, index: number): object {
  const value = Object.assign(Object.create(liquid().Drop.prototype), {
    valueOf: () => null,
    toJSON: () => null,
    liquidMethodMissing() {
      throw new NoJson(noJsonProblem(index, "the output is null, which has no fields"));
    },
  });
  return Object.defineProperty(data, "json", { value });
}

function printedAs(text: string, values: Record<string, unknown>): object {
  const copy = plain(values, 0, new Set()) as object;
  return Object.defineProperty(copy, "toString", { value: () => text });
}

/**
 * A field that is absent reads as null at any depth, so that it prints nothing; it is not printed with the event. Whether the payload can
 * carry a field is checked at load.
 */
const ABSENT_IS_NULL: ProxyHandler<object> = {
  get: (target, key) => (isAbsent(target, key) ? null : Reflect.get(target, key)),
  getOwnPropertyDescriptor: (target, key) =>
    isAbsent(target, key)
      ? { value: null, configurable: true, enumerable: false, writable: false }
      : Reflect.getOwnPropertyDescriptor(target, key),
};

/** The template language computes `size`, and the first and last item of a list, itself. */
function isAbsent(target: object, key: string | symbol): boolean {
  if (typeof key === "symbol" || key in target || key === "size") return false;
  return !(Array.isArray(target) && (key === "first" || key === "last"));
}

/** Copies a value as JSON would carry it, without functions, cycles and bytes. */
function plain(value: unknown, depth: number, above: Set<object>, reads?: ProxyHandler<object>): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Error) return value.message;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (above.has(value) || depth > MAX_DEPTH) return null;
  above.add(value);
  try {
    const readable = <T extends object>(copy: T): T => (reads === undefined ? copy : (new Proxy(copy, reads) as T));
    if (Array.isArray(value)) return readable(value.map((one) => plain(one, depth + 1, above, reads) ?? null));
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    const copy: Record<string, unknown> = Object.create(PRINTS_JSON);
    for (const [key, one] of entries) {
      const part = plain(one, depth + 1, above, reads);
      // Defined, not assigned: a key such as `toString` or `__proto__` is data here.
      if (part !== undefined)
        Object.defineProperty(copy, String(key), { value: part, enumerable: true, configurable: true, writable: true });
    }
    return readable(copy);
  } finally {
    above.delete(value);
  }
}
