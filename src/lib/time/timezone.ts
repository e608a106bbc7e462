/** Time zones by their IANA name. */
import { z } from "zod";
import { nearest } from "../validation/nearest.js";

export const timezone = z
  .string()
  .refine(isTimezone, { error: ({ input }) => timezoneProblem(String(input)) ?? "there is no such time zone" });

/** In words, with the nearest name; undefined when there is nothing wrong. */
export function timezoneProblem(name: string): string | undefined {
  if (isTimezone(name)) return undefined;
  const near = nearest(name, Intl.supportedValuesOf("timeZone"));
  return `there is no time zone "${name}"${near === undefined ? "" : ` (did you mean "${near}"?)`}`;
}

export function localTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** One format per zone: making a format takes twenty times as long as using it. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat("en", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZoneName: "longOffset",
  });
  formats.set(timeZone, made);
  return made;
}

/** `2026-11-21T09:00:00+01:00`, as a clock on the wall of that zone shows it. */
export function timeIn(timezone: string, at: number): string {
  const parts = formatOf(timezone).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? "";
  const offset = part("timeZoneName").replace("GMT", "") || "+00:00";
  return `${part("year")}-${part("month")}-${part("day")}T${part("hour")}:${part("minute")}:${part("second")}${offset}`;
}

/** The day there, as `2026-11-21`. */
export const dayIn = (timezone: string, at: number): string => timeIn(timezone, at).slice(0, 10);
