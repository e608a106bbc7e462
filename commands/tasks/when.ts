/** A deadline as people write it: `2h` from now, or a time. What is no date, or over, is refused here and not alarmed about later. */
import { parseDuration } from "../../src/lib/duration.js";
import { parseInstant } from "../../src/lib/instant.js";
import { badUsage } from "../answer.js";

export function whenOf(text: string, now: number): number {
  const ms = parseDuration(text);
  const at = ms === undefined ? parseInstant(text.trim(), "UTC") : now + ms;
  if (at === undefined)
    throw badUsage(
      `"${text}" is no time.`,
      "Write 2h, 1d12h, or 2026-12-24T18:00 (UTC, or with an offset such as +01:00).",
    );
  if (at <= now) throw badUsage(`${new Date(at).toISOString()} is over already.`);
  return at;
}
