/** Field types that several config schemas share. */
import { z } from "zod";
import { parseDuration } from "./duration.js";

/** A duration such as `10s` or `1h30m`; parsed to milliseconds. `fallback` is written the same way. */
export function duration(fallback: string) {
  return z.string().default(fallback).transform(toMs);
}

/** The same without a default. */
export function someDuration() {
  return z.string().transform(toMs);
}

function toMs(text: string, context: z.core.$RefinementCtx<string>): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  context.addIssue({ code: "custom", message: `expected a duration such as 10s, 5m or 1h30m, got "${text}"` });
  return z.NEVER;
}
