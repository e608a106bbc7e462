/**
 * The state changes of an alert. `pipeline` is the whole sequence for every trigger: a signal of its source, a person, or the time. Each
 * step is a function of that name in `steps/`, except `act` (`act.ts`) and `takeRoutes` (`urging.ts`); `posted` and `unposted` are in
 * `steps/fallback.ts`. All results are committed in one transaction with the alert, and sent from there
 * (`tell.ts`), so a crash loses nothing and sends nothing twice.
 */
import type { Actor, Alert, NoticeWords } from "../domain/alerts/alert.js";
import type { AlertSignal } from "../domain/alerts/alert-signal.js";
import { HookgateError } from "../lib/errors.js";
import { act, type PersonAction } from "./act.js";
import type { Alerting } from "./alerting.js";
import type { Plan } from "./plan.js";
import { age } from "./steps/age.js";
import { breach } from "./steps/breach.js";
import { escalate } from "./steps/escalate.js";
import { fallback, type Posted, posted, type Undelivered, unposted } from "./steps/fallback.js";
import { findPlan, fingerprint } from "./steps/fingerprint.js";
import { group } from "./steps/group.js";
import { inhibit } from "./steps/inhibit.js";
import { move } from "./steps/move.js";
import { quietHours } from "./steps/quiet-hours.js";
import { type Readdressed, readdress } from "./steps/readdress.js";
import { type Recalled, recall } from "./steps/recall.js";
import { remind } from "./steps/remind.js";
import { ackForOf, route } from "./steps/route.js";
import { severity } from "./steps/severity.js";
import { silence } from "./steps/silence.js";
import { takeRoutes } from "./urging.js";

/** Why an alert is processed. */
export type Occasion =
  | { kind: "signal"; signal: AlertSignal }
  | { kind: "action"; id: string; action: PersonAction; by: Actor }
  /** The alert's card, or another message about it, did not reach a destination. */
  | ({ kind: "undelivered"; id: string } & Undelivered)
  /** The alert ended before this page was posted, or its chat left the route (`why`). */
  | { kind: "unposted"; id: string; destination: string; notice: NoticeWords; why?: string }
  /** This page was posted late: it was held back, or its chat had not taken it by the history. */
  | ({ kind: "posted"; id: string } & Posted)
  /** This page waits for a webhook that the settings have no longer. */
  | ({ kind: "readdressed"; id: string } & Readdressed)
  /** This page waited, and other people are on call when it is to be posted. */
  | ({ kind: "recalled"; id: string } & Recalled)
  /** The alert is about to join a card of many that is posted in this chat. */
  | { kind: "joined"; id: string; destination: string }
  | { kind: "time"; id: string };

export interface Outcome {
  alert: Alert;
  /** The occasion has changed something. */
  changed: boolean;
}

/** Undefined when the occasion concerns nothing: an old signal, an alert that is not known. */
export async function pipeline(occasion: Occasion, alerting: Alerting): Promise<Outcome | undefined> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const plan = await planFor(occasion, alerting);
    if (plan === undefined) return undefined;

    age(plan, alerting);
    severity(plan, alerting);
    silence(plan, alerting);
    inhibit(plan, alerting);
    const routes = route(plan, alerting);
    takeRoutes(plan, routes);
    const isMoving = move(plan, routes, alerting);
    for (const place of group(plan, routes, isMoving)) quietHours(plan, place, alerting);
    remind(plan, routes, alerting);
    const before = plan.destinations.length;
    if (occasion.kind === "recalled") await recall(plan, routes, occasion, alerting);
    await escalate(plan, routes, alerting);
    // Reminders that wait for quiet hours do not wait in a chat that a step added.
    if (plan.destinations.length > before) remind(plan, routes, alerting);
    breach(plan, alerting);

    if (await commit(plan, alerting)) return { alert: plan.alert, changed: plan.events.length > 0 };
  }
  throw new HookgateError({
    code: "ALERT_BUSY",
    message: "The alert changes all the time; try again.",
    retryable: true,
  });
}

/** When two callers change an alert at once, one of them starts again from the other's result. */
const MAX_ATTEMPTS = 50;

/** The current alert, with the occasion applied. */
async function planFor(occasion: Occasion, alerting: Alerting): Promise<Plan | undefined> {
  if (occasion.kind === "signal") return fingerprint(occasion.signal, alerting);
  const plan = await findPlan(occasion.id, alerting);
  if (plan === undefined) return undefined;
  if (occasion.kind === "action") act(plan, occasion.action, occasion.by, ackForOf(plan.alert, alerting));
  if (occasion.kind === "undelivered") fallback(plan, occasion, alerting);
  if (occasion.kind === "joined") plan.joinedAt = occasion.destination;
  if (occasion.kind === "unposted") unposted(plan, occasion, alerting);
  if (occasion.kind === "readdressed") readdress(plan, occasion, alerting);
  if (occasion.kind === "posted") posted(plan, occasion, alerting);
  return plan;
}

/** False when the alert was changed by another caller meanwhile. */
async function commit(plan: Plan, { store, inhibitors, wakePlace, wakeAt, wakeConcerned }: Alerting): Promise<boolean> {
  const change = plan.change();
  if (change === undefined) return true;
  if (!(await store.commit(change))) return false;
  const { alert } = change;
  const concerned = [...plan.knownPlaces, ...change.places, ...change.notices].map(({ destination }) => destination);
  for (const destination of new Set(concerned)) wakePlace(destination);
  if (alert.nextAt !== undefined) wakeAt(alert.nextAt);
  if (inhibitors.note(alert)) wakeConcerned();
  return true;
}
