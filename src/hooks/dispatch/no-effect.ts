/** Finds decisions of handlers where nothing takes them, so that the log can name them as without effect. */
import { isRecord } from "../../lib/record.js";
import { shown } from "../../lib/validation/plain-issues.js";
import { resultError } from "../results.js";
import type { LifecycleContext } from "../signatures.js";

/** The fields with which results stop, answer or change something. */
const DECISIONS = ["handled", "cancel", "error", "reply"] as const;

/** The decision in a handler's result, as the result has it (`cancel`); undefined when there is none. */
export function decisionIn(value: unknown): string | undefined {
  if (!isRecord(value)) return undefined;
  const key = DECISIONS.find((one) => Object.hasOwn(value, one) && Boolean(value[one]));
  return key === undefined ? undefined : `{ ${key}: … }`;
}

/**
 * A `before` handler changes `ctx.data` and calls `ctx.cancel`. Throws for fields that it returns instead, which would have no effect;
 * what it returns of the data itself (`Object.assign(ctx.data, …)`) is fine.
 */
export function checkNothingReturned(value: unknown, context: LifecycleContext): void {
  if (!isPlain(value) || value === (context as unknown) || isWithin(value, context.data, 0)) return;
  throw resultError(
    `what a before handler returns has no effect, and it returned ${shown(value)}: change ctx.data, or call ctx.cancel(reason)`,
  );
}

/** A response or another object of a class comes from the last call of an arrow function, and is not meant as a result. */
function isPlain(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value));
}

const MAX_DEPTH = 6;

function isWithin(value: object, data: unknown, depth: number): boolean {
  if (value === data) return true;
  if (typeof data !== "object" || data === null || depth === MAX_DEPTH) return false;
  return Object.values(data).some((part) => isWithin(value, part, depth + 1));
}

/** The reason of a cancel as text; `problem` when it was given as something else. */
export function reasonOf(given: unknown): { reason: string | undefined; problem?: string } {
  if (given === undefined || given === null) return { reason: undefined };
  if (typeof given === "string" && given.trim() !== "") return { reason: given };
  if (typeof given === "string")
    return { reason: undefined, problem: "ctx.cancel got an empty reason. It is cancelled without one; pass a text." };
  const problem = `ctx.cancel expects the reason as text, and got ${kindOf(given)}. It is cancelled; pass a text.`;
  if (given instanceof Error) return { reason: given.message, problem };
  return { reason: shown(given), problem };
}

function kindOf(given: unknown): string {
  if (given instanceof Error) return "an error";
  if (Array.isArray(given)) return "a list";
  return typeof given === "object" ? "an object" : `a ${typeof given}`;
}
