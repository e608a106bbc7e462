/** The card of one alert: what is late, why it is told, who has it, what happens next. */
import { parseAddress } from "../../domain/address.js";
import { type Alert, type AlertEvent, isOpen } from "../../domain/alert.js";
import type { ClockStanding } from "../../domain/alert-signal.js";
import type { Card, OutboundMessage } from "../../domain/message.js";
import { formatDuration } from "../../lib/duration.js";
import type { InForce } from "../silences.js";
import { type Route, type Routing, routeAt, routesFor } from "../steps/route.js";
import { urgingOf } from "../urging.js";
import { buttonsOf } from "./buttons.js";
import { inline, markOf, moment, STATE_WORDS, withoutPersonal } from "./words.js";

export interface CardFacts {
  destination: string;
  /** How many episodes this card has told. */
  times: number;
  history: readonly AlertEvent[];
  /** The clock behind it, as it stands now. */
  standing?: ClockStanding;
  /** The silence or window that keeps it quiet. */
  quiet?: InForce;
}

interface Around extends Routing {
  mask(text: string): string;
  nameOf(ref: string): string;
  clock: { now(): number };
}

const EVENTS_SHOWN = 3;
const EVENT_WORDS: Readonly<Record<string, string>> = {
  warn: "warned",
  fire: "broken",
  ack: "acknowledged",
  assign: "taken",
  snooze: "snoozed",
  wake: "woken",
  note: "noted",
  escalate: "escalated",
  extend: "given more time",
  remind: "reminded",
  resolve: "resolved",
  reopen: "broken after all",
  silence: "silenced",
  inhibit: "explained",
  lapse: "asked again",
  expire: "expired",
  move: "moved",
};
/** What else there is to say of these stands in a field of its own. */
const SAID_ABOVE = new Set(["note", "snooze"]);
/** `platform:id`: a part of ours needs no name here. */
const PEOPLE = /^\w+:/;

export function alertCard(alert: Alert, facts: CardFacts, around: Around): OutboundMessage {
  const { config, mask, clock } = around;
  const { signal, state, severity } = alert;
  const timezone = config.destinations[facts.destination]?.timezone;
  const now = clock.now();
  const at = (ms: number) => moment(ms, timezone);
  const { runbook } = signal;
  const entity = facts.standing?.entity ?? signal.entity;
  const late = signal.clock && { ...signal.clock, ...standingOf(signal.clock, facts.standing, now) };
  const tone = toneOf(alert);
  const route = routeAt(alert, facts.destination, around);
  const fields: NonNullable<Card["fields"]> = [];
  const add = (name: string, value: string | undefined | false, inlineField = true) => {
    if (value) fields.push({ name, value, inline: inlineField });
  };
  add("State", stateLine(alert, at));
  add("Severity", severity);
  if (entity) add("What", whatOf(entity, facts.destination), false);
  if (late) {
    add(
      "Clock",
      [inline(late.name), signal.source.policyId && inline(signal.source.policyId)].filter(Boolean).join(" · "),
    );
    add("Target", formatDuration(late.targetMs));
    add("Elapsed", `${formatDuration(late.elapsedMs)} (${Math.round(late.percentUsed * 100)} %)`);
    add("Due", late.pausedFor === undefined || late.leftMs < 0 ? at(late.dueAt) : "not while it is paused");
    // People do not reckon in less than seconds.
    const left = formatDuration(Math.max(1_000, Math.abs(late.leftMs)));
    if (isOpen(state)) add(late.leftMs < 0 ? "Overdue by" : "Remaining", left);
    add("Paused", late.pausedFor && inline(late.pausedFor.replaceAll("_", " ")));
  }
  const owner = alert.assignee?.name ?? (entity?.owner && around.nameOf(entity.owner));
  add("Owner", owner ? inline(owner) : isOpen(state) && "nobody yet");
  add("Last words", entity?.lastWords && `> ${inline(withoutPersonal(mask(entity.lastWords)), 200)}`, false);
  add(facts.quiet?.mutes === undefined ? "Silenced" : "Policy muted", isOpen(state) && quietOf(facts.quiet, at), false);
  add("Note", notesOf(alert), false);
  add("Next", isOpen(state) && nextOf(alert, { late, quietUntil: facts.quiet?.until, route }, at), false);
  add("Runbook", runbook && inline(runbook), false);
  add("Lately", facts.history.length > 1 && latelyOf(facts.history, at), false);
  const again = facts.times > 1 ? ` (${facts.times} times now)` : "";
  return {
    text: "",
    card: {
      // A tone has its mark where there are no colours.
      title: `${tone === "neutral" ? `${markOf(alert)} ` : ""}${signal.title}`.slice(0, 250),
      text: inline(mask(signal.reason)) + again,
      ...(urlOf(entity?.link) ? { url: urlOf(entity?.link) as string } : {}),
      tone,
      fields,
      footer: alert.id,
    },
    ...(isOpen(state)
      ? {
          buttons: buttonsOf(alert, route.settings, {
            canEscalate: canEscalate(alert, around),
            isMuted: facts.quiet?.mutes !== undefined,
            ...(facts.standing === undefined ? {} : { given: facts.standing.given }),
          }),
        }
      : {}),
  };
}

/** What its source said of the clock, brought up to now: exactly where the clock can be asked, else by the wall. */
function standingOf(
  { dueAt, pausedFor }: NonNullable<Alert["signal"]["clock"]>,
  standing: ClockStanding | undefined,
  now: number,
) {
  if (standing === undefined) return { leftMs: dueAt - now, ...(pausedFor === undefined ? {} : { pausedFor }) };
  return { ...standing, dueAt: standing.dueAt ?? dueAt, pausedFor: standing.pausedFor };
}

function toneOf({ state }: Alert): NonNullable<Card["tone"]> {
  if (state === "resolved") return "good";
  if (state === "firing") return "bad";
  return state === "warned" ? "warning" : "neutral";
}

function stateLine(
  { state, since, ack, snooze, quietBy, endedAt, condition }: Alert,
  at: (ms: number) => string,
): string {
  const word = STATE_WORDS[state];
  switch (state) {
    case "acked":
      return `${word} by ${inline(ack?.by ?? "somebody")} ${at(ack?.at ?? since)}`;
    case "snoozed":
      return `${word} until ${at(snooze?.until ?? since)} by ${inline(snooze?.by ?? "somebody")}`;
    case "silenced":
    case "inhibited":
      return `${word} (${inline(quietBy ?? "")}), else ${STATE_WORDS[condition]}`;
    case "resolved":
    case "expired":
      return `${word} ${at(endedAt ?? since)}`;
    default:
      return `${word} since ${at(since)}`;
  }
}

/** `until 21 Nov 2026, 21:05 by Ann: moving the queue`. */
function quietOf(quiet: InForce | undefined, at: (ms: number) => string): string | undefined {
  return (
    quiet && `until ${at(quiet.until)}${quiet.by ? ` by ${inline(quiet.by, 60)}` : ""}: ${inline(quiet.comment, 160)}`
  );
}

/** A link with a platform's own scheme leads somewhere on that platform only. */
function whatOf({ title, link, facts }: NonNullable<Alert["signal"]["entity"]>, destination: string): string {
  const shown = inline(title);
  const isTheirs = /^[a-z]+:\/\/\S+$/.test(link ?? "") && destination.startsWith(`${String(facts?.platform)}:`);
  const url = urlOf(link) ?? (isTheirs ? link : undefined);
  if (url) return `[${shown}](${url})`;
  return link === undefined || parseAddress(link) === undefined ? shown : `${shown} (\`${link}\`)`;
}

function urlOf(link: string | undefined): string | undefined {
  return link !== undefined && /^https?:\/\/\S+$/.test(link) ? link : undefined;
}

function notesOf({ notes }: Alert): string | undefined {
  const last = notes.at(-1);
  return last && `${inline(last.by)}: ${inline(last.text, 300)}${notes.length > 1 ? ` (${notes.length} notes)` : ""}`;
}

/** A press tells the next of every route. */
function canEscalate(alert: Alert, routing: Routing): boolean {
  return routesFor(alert, routing).some((route) => route.settings.escalate[urgingOf(alert, route).steps] !== undefined);
}

/** What comes if nobody does anything. */
function nextOf(
  alert: Alert,
  {
    late,
    quietUntil,
    route,
  }: { late: { dueAt: number; pausedFor?: string } | undefined; quietUntil: number | undefined; route: Route },
  at: (ms: number) => string,
): string | undefined {
  const { state, ack, snooze } = alert;
  if (state === "acked") return ack?.until === undefined ? undefined : `asked again ${at(ack.until)}`;
  if (state === "snoozed") return snooze && `told again ${at(snooze.until)}`;
  if (state === "warned")
    return late && (late.pausedFor === undefined ? `breaks ${at(late.dueAt)}` : "nothing while it is paused");
  if (state === "silenced") return quietUntil === undefined ? undefined : `told again ${at(quietUntil)}`;
  if (state === "inhibited") return `told when ${inline(alert.quietBy ?? "the other one")} is over`;
  if (state !== "firing") return undefined;
  const { escalate, remind } = route.settings;
  const { steps, reminders, remindFrom, since = 0 } = urgingOf(alert, route);
  const step = escalate[steps];
  const from = Math.max(alert.escalateFrom ?? alert.firedAt ?? alert.raisedAt, since);
  const number = `step ${steps + 1} of ${escalate.length}`;
  const parts = [
    remindFrom !== undefined && reminders < remind.times && `reminder ${at(remindFrom + remind.every)}`,
    step?.after !== undefined && `${number} ${at(from + step.after)}`,
    step?.after === undefined && step?.reminders !== undefined && `${number} after ${step.reminders} reminders`,
    steps > 0 && step === undefined && "nobody else will be told",
  ].filter((part) => part !== false && part !== undefined);
  return parts.length === 0 ? undefined : parts.join(", ");
}

function latelyOf(history: readonly AlertEvent[], at: (ms: number) => string): string {
  return history
    .slice(-EVENTS_SHOWN)
    .map(({ at: when, event, actor, reason }) =>
      [
        `${at(when)} ${EVENT_WORDS[event] ?? event.replaceAll("_", " ")}`,
        PEOPLE.test(actor.id) ? ` by ${inline(actor.name, 60)}` : "",
        reason && !SAID_ABOVE.has(event) ? `: ${inline(reason.replace(/^Escalated: /, ""), 120)}` : "",
      ].join(""),
    )
    .join("\n\n");
}
