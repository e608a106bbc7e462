/**
 * A deadline as people write it: `2h` from now, or a time. Text that is no date, or is a past time, is refused here, so that no alarm follows
 * later.
 */
import { badUsage } from "../answer.js";
import { readWhen, WHEN_FORMS } from "../show/when.js";

/** Times without an offset are UTC, as tasks show theirs. */
export function whenOf(text: string, now: number): number {
  const when = readWhen(text, now, "UTC");
  if (when.kind === "business")
    throw badUsage(`"${text}" is no time here.`, WHEN_FORMS.replace(/, or business\.$/, "."));
  return when.kind === "at" ? when.at : now + when.ms;
}
