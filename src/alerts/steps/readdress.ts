/** A page waits for a webhook that the settings have no longer. */
import type { Notice } from "../../domain/alerts/alert.js";
import { noticeWords } from "../../domain/alerts/notice-words.js";
import type { Alerting } from "../alerting.js";
import { type Plan, RULE } from "../plan.js";
import { shownAs } from "../tell/shown-as.js";
import { fallback, nameOfNotice, takenStepOf } from "./fallback.js";

export interface Readdressed {
  notice: Notice;
  /** The new address of the page's step; undefined when the step has none. */
  to: string | undefined;
}

export function readdress(plan: Plan, { notice, to }: Readdressed, alerting: Alerting): void {
  const { alertId, destination, kind, key, mentions, dueAt } = notice;
  if (to === undefined) {
    const { step } = takenStepOf(plan, key) ?? {};
    // The step was for this webhook only.
    if (step !== undefined && mentions.length === 0) step.isUnreached = true;
    fallback(plan, { destination, notice, fate: "unsent", reason: REMOVED }, alerting);
    return;
  }
  const [old, next] = [shownAs(destination), shownAs(to)];
  plan.record("move", RULE, `"${nameOfNotice(notice)}" from webhook ${old} to webhook ${next}: the settings changed`);
  const sentences = notice.sentences.map((one) => one.replace(old, next));
  plan.notices.push({ ...noticeWords(notice), sentences, alertId, destination: to, kind, key, mentions, dueAt });
}

const REMOVED = "the settings have no such webhook any more";
