/** The arguments and rows of named queries. */
import { HookgateError } from "../../lib/errors.js";

export type Row = Record<string, unknown>;

export interface Query {
  limit: number;
  /** Milliseconds since the epoch. */
  since: number;
  /** A further argument as text. */
  text(name: string): string | undefined;
}

/** Replaces the text of a task's runner whose role is above operator: hooks show rows to anybody. */
export const MASKED = "[text]";

/** A status that there is not would find nothing, and a hook would take that for good news. */
export function oneOf<T extends string>(known: readonly T[], given: string | undefined, name: string): T | undefined {
  if (given === undefined) return undefined;
  const found = known.find((one) => one === given);
  if (found === undefined) throw wrong(`${name}: expected ${known.join(", ")}, got "${given}"`);
  return found;
}

export function wrong(message: string): HookgateError {
  return new HookgateError({ code: "QUERY_ARGUMENTS", message });
}

export const timeOf = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());
