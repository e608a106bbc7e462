/**
 * Deliveries and messages that were given up or held before an operator decided on them: the ends that hooks were notified of, the reasons
 * that the audit kept, and the ends that are not on record. The release of a row clears its reason.
 */
import { saysInDoubt } from "../../src/domain/deliveries/given-up.js";
import { rootOf } from "../../src/domain/journal.js";
import type { Delivery } from "../../src/domain/store.js";
import { ago, clockTime, code, plain } from "../show/text.js";
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

const DECISIONS: Readonly<Record<Decision["kind"], (id: string) => string>> = {
  released: (id) => `released ${id}`,
  retried: (id) => `had ${id} tried again`,
  confirmed: (id) => `confirmed that it arrived (${id})`,
};

/** The decision of an operator, and how the message had ended before that. */
export function decisionText(decision: Decision, journey: Journey): string {
  const by = operatorName(decision.by);
  return `${by} ${DECISIONS[decision.kind](code(decision.id))}${formerEndText(decision, journey, by)}`;
}

function formerEndText(decision: Decision, journey: Journey, by: string): string {
  const { id, kind, was } = decision;
  // This end has a line of its own.
  if (wasHeardOf(decision, journey)) return "";
  if (was === undefined)
    return kind === "retried" && id.startsWith("d_") ? ", after it was given up (why is not on record)" : "";
  const why = was.reason === undefined ? "" : `: ${plain(was.reason)}`;
  if (was.status === "dead") return `, after ${id.startsWith("d_") ? "it" : "handling it"} was **given up**${why}`;
  const isReported = kind === "released" && saysInDoubt(was.reason);
  return `; until then it was **held**${why}${isReported ? `. ${by} reported that it had not arrived` : ""}`;
}

/** Hooks were notified of the end before the decision. */
function wasHeardOf({ id, at }: Decision, { dispatches, decisions }: Journey): boolean {
  const since = decisions.findLast((one) => one.id === id && one.at < at)?.at ?? 0;
  return dispatches.some(
    (one) => one.point === "delivery_failed" && rootOf(one.id) === id && one.at >= since && one.at < at,
  );
}

/** Why `delivery_failed` is not on record for a delivery that an operator sent again; undefined for a delivery that was never given up. */
export function wasGivenUpText(
  { id, round }: Delivery,
  state: string,
  { decisions }: Journey,
  now: number,
): string | undefined {
  const last = decisions.findLast((one) => one.id === id);
  const retry = decisions.findLast((one) => one.id === id && one.kind === "retried");
  const notHeard = `no hook was enabled at ${code("delivery_failed")} then`;
  if (last?.was !== undefined && last.kind !== "confirmed") {
    const why = last.was.reason === undefined ? "" : ` (${plain(last.was.reason)})`;
    const ended = last.was.status === "dead" ? "given up" : "held";
    const remark =
      last.was.status === "dead"
        ? `No hook was enabled at ${code("delivery_failed")} then`
        : "That it was held is no failure";
    return `it was ${ended}${why}, and ${operatorName(last.by)} had it sent again ${ago(last.at, now)}: ${state}. ${remark}.`;
  }
  if (retry)
    return `it was given up, and ${operatorName(retry.by)} had it tried again ${ago(retry.at, now)}: ${state}. Why it was given up is not on record, because ${notHeard}.`;
  // A confirmed delivery was held. A released one was held or given up, and the audit may not reach back to a retry.
  if (round === 1 || last?.kind === "confirmed") return undefined;
  const by = last ? `${operatorName(last.by)} sent it again ${ago(last.at, now)}` : "an operator sent it again";
  return `it was held or given up, and ${by}: ${state}. Which of both is not on record; if it was given up, ${notHeard}.`;
}
