/** Deliveries that were given up before an operator sent them again: what hooks were notified of, and what is not on record. */
import { rootOf } from "../../src/domain/journal.js";
import type { Delivery } from "../../src/domain/store.js";
import { ago, clockTime, code, plain } from "../text.js";
import { operatorName } from "../who.js";
import type { Decision } from "./audit.js";
import type { Journey } from "./find.js";

/** How a delivery ended before an operator sent it again, as hooks were notified of it. */
export function earlierEnds({ dispatches, decisions }: Journey, now: number): { at: number; text: string }[] {
  return dispatches
    .filter(
      ({ id, at, point }) =>
        point === "delivery_failed" && decisions.some((one) => one.id === rootOf(id) && at < one.at),
    )
    .map(({ id, at, payload }) => {
      const error = typeof payload === "object" && payload !== null && "error" in payload ? payload.error : undefined;
      return {
        at,
        text: `${clockTime(at, now)} ${code(rootOf(id))} was given up${typeof error === "string" ? `: ${plain(error)}` : ""}`,
      };
    });
}

/** Only a delivery that was given up can be tried again, and the release of its row cleared the reason. Empty where hooks were notified of it. */
export function unrecordedEndText(decision: Decision, { dispatches, decisions }: Journey): string {
  const { id, at, kind } = decision;
  if (kind !== "retried" || !id.startsWith("d_")) return "";
  const since = decisions.findLast((one) => one.id === id && one.at < at)?.at ?? 0;
  const isRecorded = dispatches.some(
    (one) => one.point === "delivery_failed" && rootOf(one.id) === id && one.at >= since && one.at < at,
  );
  return isRecorded ? "" : ", after it was given up (why is not on record)";
}

/** Why `delivery_failed` is not on record for a delivery that an operator sent again; undefined for one that was never given up. */
export function wasGivenUpText(
  { id, round }: Delivery,
  state: string,
  { decisions }: Journey,
  now: number,
): string | undefined {
  const last = decisions.findLast((one) => one.id === id);
  const retry = decisions.findLast((one) => one.id === id && one.kind === "retried");
  const notHeard = `no hook was enabled at ${code("delivery_failed")} then`;
  if (retry)
    return `it was given up, and ${operatorName(retry.by)} had it tried again ${ago(retry.at, now)}: ${state}. Why it was given up is not on record, because ${notHeard}.`;
  // What is confirmed was held. A release is of what was held or was given up, and the audit may not reach back to a retry.
  if (round === 1 || last?.kind === "confirmed") return undefined;
  const by = last ? `${operatorName(last.by)} sent it again ${ago(last.at, now)}` : "an operator sent it again";
  return `it was held or given up, and ${by}: ${state}. Which of both is not on record; if it was given up, ${notHeard}.`;
}
