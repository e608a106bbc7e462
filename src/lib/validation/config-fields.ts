/** Field types that several config schemas share. */
import { z } from "zod";
import { parseDuration } from "../time/duration.js";

/** A duration such as `10s` or `1h30m`; parsed to milliseconds. `fallback` is written the same way. */
export function duration(fallback: string) {
  return durationText().default(fallback).transform(toMs);
}

/** The same without a default. */
/** A deadline with a default: with 0, nothing could end in time. */
export function deadline(fallback: string) {
  return duration(fallback).refine((ms) => ms > 0, "expected a duration above 0, such as 30s");
}

/** A deadline: none is 0. */
export function someDeadline() {
  return someDuration().refine((ms) => ms > 0, "expected a duration above 0, such as 30s");
}

export function someDuration() {
  return durationText().transform(toMs);
}

const EXPECTED = "expected a duration such as 10s, 5m or 1h30m";

function durationText() {
  return z.string({
    error: ({ input }) =>
      typeof input === "number" ? `${EXPECTED}, got ${input}: write "${input}s" for seconds` : undefined,
  });
}

function toMs(text: string, context: z.core.$RefinementCtx<string>): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  const meant = meantDuration(text);
  const advice = meant === undefined ? "" : `: write "${meant}"`;
  context.addIssue({ code: "custom", message: `${EXPECTED}, got "${text}"${advice}`, input: text });
  return z.NEVER;
}

/** `30m`, for `30 minutes`. */
function meantDuration(text: string): string | undefined {
  const short = text
    .trim()
    .toLowerCase()
    .replace(
      /(\d)\s*(milliseconds?|msecs?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?)\b[,\s]*(and\s+)?/g,
      (_, digit, unit) => `${digit}${unit.startsWith("mil") || unit.startsWith("ms") ? "ms" : unit[0]}`,
    );
  if (/^\d+$/.test(short)) return `${short}s`;
  return parseDuration(short) === undefined ? undefined : short;
}
