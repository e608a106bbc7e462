/** A page waits for a webhook that the settings have no longer. */
import type { Notice } from "../../domain/alert.js";
import type { Alerting } from "../alerting.js";
import { type Plan, RULE } from "../plan.js";
import { shownAs } from "../tell/shown-as.js";
import { fallback, lastStepOf, stepOfText } from "./fallback.js";

export interface Readdressed {
  notice: Notice;
  /** The new address of its step; undefined when it has none. */
  to: string | undefined;
}

export function readdress(plan: Plan, { notice, to }: Readdressed, alerting: Alerting): void {
  const { alertId, destination, kind, key, text, mentions, dueAt } = notice;
  if (to === undefined) {
    const { urging } = lastStepOf(plan, key) ?? {};
    // The step was for this webhook only.
    if (urging !== undefined && mentions.length === 0) urging.unreached = urging.steps;
    fallback(plan, { destination, notice, fate: "unsent", reason: REMOVED }, alerting);
    return;
  }
  const [old, next] = [shownAs(destination), shownAs(to)];
  plan.record("move", RULE, `"${stepOfText(text)}" from webhook ${old} to webhook ${next}: the settings changed`);
  plan.notices.push({ alertId, destination: to, kind, key, text: text.replace(old, next), mentions, dueAt });
}

const REMOVED = "the settings have no such webhook any more";
