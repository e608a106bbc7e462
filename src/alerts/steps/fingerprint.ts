/** Which alert a signal is about: the same fingerprint is the same alert, and a higher episode starts it again. */
import type { Actor, Alert } from "../../domain/alerts/alert.js";
import { isOpen } from "../../domain/alerts/alert.js";
import type { AlertSignal } from "../../domain/alerts/alert-signal.js";
import { newId } from "../../lib/id.js";
import type { Alerting } from "../alerting.js";
import { Plan } from "../plan.js";
import { restart } from "../urging.js";
import { reopenWithinOf } from "./route.js";

/** Undefined for a signal without news: an older episode, the end of an alert that was never raised, a repetition. */
export async function fingerprint(signal: AlertSignal, alerting: Alerting): Promise<Plan | undefined> {
  const { store, clock } = alerting;
  const known = await store.latest(signal.fingerprint);
  if (known !== undefined && signal.episode < known.episode) return undefined;
  if (known?.episode === signal.episode) return again(known, signal, alerting);
  if (known && isOpen(known.state)) await endReplaced(known, alerting);
  else if (known && isBackSoon(known, signal, alerting)) return resume(known, signal, alerting);
  if (signal.state === "resolved") return undefined;
  const now = clock.now();
  const plan = new Plan(begun(signal, now), { now, knownPlaces: [], isNew: true });
  plan.record(signal.state === "firing" ? "fire" : "warn", sourceOf(signal), signal.reason);
  return plan;
}

/** The alert of a pass, or of a person's request. */
export async function findPlan(id: string, { store, clock }: Alerting): Promise<Plan | undefined> {
  const alert = await store.get(id);
  return alert && new Plan(alert, { now: clock.now(), knownPlaces: await store.placesOf(id), isNew: false });
}

async function again(known: Alert, signal: AlertSignal, { store, clock }: Alerting): Promise<Plan | undefined> {
  if (!isOpen(known.state)) return brokeAfterAll(known, signal, store, clock.now());
  if (JSON.stringify(signal) === JSON.stringify(known.signal)) return undefined;
  const now = clock.now();
  const plan = new Plan(known, { now, knownPlaces: await store.placesOf(known.id), isNew: false });
  const { alert } = plan;
  alert.confirmedAt = now;
  if (signal.state === "resolved") {
    alert.signal = { ...signal, severity: known.signal.severity };
    plan.move("resolve", sourceOf(signal), signal.reason);
    alert.endedAt = now;
    return plan;
  }
  // Within one episode, an alert that broke does not go back to a warning.
  if (signal.state === "warned" && alert.condition === "firing") return undefined;
  if (known.signal.clock?.pausedFor !== undefined && signal.clock?.pausedFor === undefined) {
    alert.escalateFrom = now;
    restart(alert);
  }
  const hasWorsened = signal.state === "firing" && alert.condition === "warned";
  alert.signal = signal;
  alert.severity = signal.severity;
  plan.redraw();
  if (hasWorsened) {
    alert.condition = "firing";
    alert.firedAt = now;
    if (alert.state === "acked") delete alert.ack;
    // A person or rule keeps the alert quiet: it stays quiet, and its history shows that it is worse now.
    if (!plan.move("fire", sourceOf(signal), signal.reason)) plan.record("fire", sourceOf(signal), signal.reason);
  }
  return plan;
}

/** An alert that a person resolved while it was only a warning is sent again when it breaks. One that its source ended stays ended. */
async function brokeAfterAll(
  known: Alert,
  signal: AlertSignal,
  store: Alerting["store"],
  now: number,
): Promise<Plan | undefined> {
  if (known.signal.state !== "warned" || signal.state !== "firing") return undefined;
  const plan = new Plan(known, { now, knownPlaces: await store.placesOf(known.id), isNew: false });
  const { alert } = plan;
  alert.signal = signal;
  alert.severity = signal.severity;
  alert.condition = "firing";
  alert.firedAt = now;
  alert.confirmedAt = now;
  delete alert.endedAt;
  delete alert.ack;
  delete alert.snooze;
  plan.move("reopen", sourceOf(signal), signal.reason);
  return plan;
}

/** A policy that was removed and put back, as by a bad save: the same wait goes on. */
function isBackSoon(known: Alert, signal: AlertSignal, alerting: Alerting): boolean {
  const isUnwatched = known.signal.state === "resolved" && known.signal.clock?.isUnwatched === true;
  if (!isUnwatched || known.endedAt === undefined || signal.state === "resolved") return false;
  return alerting.clock.now() < known.endedAt + reopenWithinOf({ ...known, signal }, alerting);
}

/** The alert goes on as it was: with its age, its owner, and the progress of its reminders and escalation. */
async function resume(known: Alert, signal: AlertSignal, { store, clock }: Alerting): Promise<Plan> {
  const now = clock.now();
  const plan = new Plan(known, { now, knownPlaces: await store.placesOf(known.id), isNew: false });
  const { alert } = plan;
  const hasWorsened = signal.state === "firing" && alert.condition === "warned";
  alert.signal = signal;
  alert.episode = signal.episode;
  alert.severity = signal.severity;
  alert.confirmedAt = now;
  delete alert.endedAt;
  if (hasWorsened) {
    alert.condition = "firing";
    alert.firedAt = now;
    delete alert.ack;
  }
  plan.move("resume", sourceOf(signal), "its policy is back");
  return plan;
}

/** Repeats until it has ended: a person may be changing it just now. */
async function endReplaced(known: Alert, alerting: Alerting): Promise<void> {
  const { store, clock, inhibitors, wakePlace } = alerting;
  const now = clock.now();
  const plan = new Plan(known, { now, knownPlaces: await store.placesOf(known.id), isNew: false });
  plan.move("resolve", sourceOf(known.signal), "it started again");
  plan.alert.endedAt = now;
  const change = plan.change();
  if (change === undefined) return;
  if (!(await store.commit(change))) {
    const current = await store.get(known.id);
    return current && isOpen(current.state) ? endReplaced(current, alerting) : undefined;
  }
  inhibitors.note(plan.alert);
  for (const destination of plan.destinations) wakePlace(destination);
}

function begun(signal: AlertSignal, now: number): Alert {
  return {
    id: newId("al", now),
    fingerprint: signal.fingerprint,
    episode: signal.episode,
    state: signal.state === "firing" ? "firing" : "warned",
    condition: signal.state === "firing" ? "firing" : "warned",
    severity: signal.severity,
    signal,
    raisedAt: now,
    since: now,
    firedAt: signal.state === "firing" ? now : undefined,
    notes: [],
    reminders: 0,
    steps: 0,
    confirmedAt: now,
    version: 0,
  };
}

export function sourceOf({ source }: AlertSignal): Actor {
  return { id: source.id, name: source.kind, source: source.kind };
}
