/** Field types that several config schemas share. */
import { z } from "zod";
import { parseDuration } from "../time/duration.js";

/** A duration such as `10s` or `1h30m`; parsed to milliseconds. `fallback` is written the same way. */
export function duration(fallback: string) {
  return durationText().default(fallback).transform(toMs);
}

/** A duration without a default. */
export function someDuration() {
  return durationText().transform(toMs);
}

/** How long something may take: above 0, because with 0 nothing could end in time. For every setting that is a timeout. */
export function deadline(fallback: string) {
  return duration(fallback).refine(isAboveZero, ABOVE_ZERO);
}

/** A deadline without a default. */
export function someDeadline() {
  return someDuration().refine(isAboveZero, ABOVE_ZERO);
}

/** A duration that is kept as it was written. */
export const writtenDuration = () => durationText().superRefine((text, context) => void toMs(text, context));

/** A deadline that is kept as it was written. */
export const writtenDeadline = () =>
  writtenDuration().refine((text) => isAboveZero(parseDuration(text) ?? 1), ABOVE_ZERO);

const ABOVE_ZERO = "expected a duration above 0, such as 30s";
const isAboveZero = (ms: number) => ms > 0;

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
