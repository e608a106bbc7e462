/**
 * Hooks that wanted a message and were not run, by a gate, by `skip_if`, by a pause or because they were disabled meanwhile, and hooks
 * whose condition had no answer. Hooks that a matcher left out are not named.
 */
import { parseSkipReason } from "../../src/domain/skip-reason.js";
import { clockTime, code, count, plain } from "../show/text.js";
import { hasTried, isAttempt, replacedText } from "./background.js";
import type { Journey } from "./find.js";

/** Hooks named one by one. */
const MAX_NAMED = 4;
const GATES: ReadonlySet<string> = new Set([
  "cap",
  "coalesce",
  "concurrency",
  "cooldown",
  "rate",
  "queue",
  "breaker",
  "loop",
  "skip_if",
  "gone",
]);

interface SkippedRun {
  at: number;
  hookId: string;
  reason: string;
  unanswered: boolean | undefined;
}

function skippedRuns({ dispatches, stored }: Journey): SkippedRun[] {
  return dispatches
    .filter((one) => !isAttempt(one))
    .flatMap(({ at, runs }) =>
      runs.flatMap(({ id, hookId, outcome, reason, unanswered }) => {
        const own = outcome === "backgrounded" ? stored.get(id) : undefined;
        const why = own?.status === "skipped" && !own.attempts.some(hasTried) ? own.statusReason : reason;
        return (outcome === "skipped" || own?.status === "skipped") && why
          ? [{ at, hookId, reason: why, unanswered }]
          : [];
      }),
    );
}

/** One line for each hook, with its last reason. */
export function refusedLines(journey: Journey, now: number): { at: number; text: string }[] {
  const last = new Map(skippedRuns(journey).map((one) => [one.hookId, one]));
  return [...last.values()]
    .filter(({ reason, unanswered }) => unanswered || GATES.has(parseSkipReason(reason).by))
    .map(({ at, hookId, reason }) => {
      const { by, reason: words } = parseSkipReason(reason);
      const why = replacedText(hookId, reason) ?? plain(by === "gone" ? words : reason);
      return { at, text: `${clockTime(at, now)} ${code(hookId)} was skipped: ${why}` };
    });
}

/** Asked after the pause: its hooks were skipped for that then. */
export function wasPausedText(journey: Journey): string | undefined {
  const skipped = skippedRuns(journey).filter(({ reason }) => parseSkipReason(reason).by === "paused");
  const ids = [...new Set(skipped.map(({ hookId }) => hookId))];
  if (ids.length === 0) return undefined;
  const names = ids.length > MAX_NAMED ? count(ids.length, "hook") : ids.map(code).join(", ");
  return `⚠ All configured hooks were **paused** then: ${names} ${ids.length === 1 ? "was" : "were"} skipped for that.`;
}
