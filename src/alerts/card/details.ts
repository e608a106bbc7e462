/** All details of one alert, and all actions on it: the answer to "More…". */

import type { Alert } from "../../domain/alerts/alert.js";
import { type AlertEvent, isOpen } from "../../domain/alerts/alert.js";
import type { Card, OutboundMessage } from "../../domain/chat/message.js";
import { formatDuration } from "../../lib/time/duration.js";
import type { Alerting } from "../alerting.js";
import { type Routing, routeAt, routesFor } from "../steps/route.js";
import type { WaitingPage } from "../tell/pages/waiting-pages.js";
import { shownAs } from "../tell/shown-as.js";
import { nextStepOf } from "../urging.js";
import {
  type Around,
  type At,
  answerLine,
  type CardFacts,
  copyLine,
  headline,
  isPerson,
  lateOf,
  nextOf,
  ownerOf,
  quietOf,
  quoteOf,
  stateLine,
  toneOf,
} from "./alert-card.js";
import { detailButtons, urlOf } from "./buttons.js";
import { inline, markOf, moment, withMoments } from "./words.js";

const EVENTS_SHOWN = 6;
/** A field of a Discord embed holds 1,024 characters. */
const HISTORY_LENGTH = 1_000;
/** The limit is high: a sentence that is cut may have the opposite meaning. */
const REASON_LENGTH = 400;
const NOTES_SHOWN = 3;
const EVENT_WORDS: Readonly<Record<string, string>> = {
  warn: "due soon",
  fire: "overdue",
  ack: "acknowledged",
  assign: "assigned",
  snooze: "snoozed",
  wake: "woken",
  note: "noted",
  escalate: "escalated",
  not_escalated: "not escalated",
  extend: "given more time",
  remind: "reminder",
  resolve: "resolved",
  reopen: "overdue after all",
  resume: "continued",
  silence: "silenced",
  inhibit: "explained by another alert",
  lapse: "acknowledgement ended",
  expire: "expired",
  move: "moved",
  unposted: "not posted",
  posted: "posted late",
};
/** For an alert that is about no deadline. */
const WITHOUT_DEADLINE: Readonly<Record<string, string>> = {
  ...EVENT_WORDS,
  warn: "warned",
  fire: "fired",
  reopen: "fired again",
};

interface DetailFacts extends CardFacts {
  waiting: readonly WaitingPage[];
  /** Each chat that should show the alert did not take it. */
  isNowhere: boolean;
  /** The alert has ended, and this one fired again for the same cause. */
  again: Alert | undefined;
}

export function alertDetails(
  alert: Alert,
  facts: DetailFacts,
  around: Around & Pick<Alerting, "placeName">,
): OutboundMessage {
  const { signal, state, severity } = alert;
  const timezone = around.config.destinations[facts.destination]?.timezone;
  const at: At = (ms, style) => moment(ms, timezone, style);
  const late = lateOf(alert, facts.standing, around.clock.now());
  const route = routeAt(alert, facts.destination, around);
  const entity = facts.standing?.entity ?? signal.entity;
  const fields: NonNullable<Card["fields"]> = [];
  const add = (name: string, value: string | undefined | false, inline = true) => {
    if (value) fields.push({ name, value, inline });
  };
  add("State", stateLine(alert, late, at, facts.history), false);
  add("Fired again", facts.again && `As ${facts.again.id}: \`/alerts show ${facts.again.id}\``, false);
  add("Posted", facts.isNowhere && "In no chat: its history has why", false);
  add("Severity", severity);
  add("Policy", signal.source.policyId && inline(signal.source.policyId));
  add("Clock", late && inline(late.name));
  if (late) {
    add(
      "Used",
      `${formatDuration(late.elapsedMs)} of ${formatDuration(late.targetMs)} (${Math.round(late.percentUsed * 100)} %)`,
    );
    add("Extended", facts.standing?.extension && inline(facts.standing.extension));
    add("Due", late.pausedFor === undefined || late.leftMs < 0 ? at(late.dueAt) : "not while it is paused");
  }
  const owner = ownerOf(alert, facts.standing, around);
  add("Owner", owner ? inline(owner) : isOpen(state) && "none");
  const toAnswer = [answerLine(facts.standing, at), copyLine(facts.standing, entity)].filter(Boolean).join("\n\n");
  add("Answer", isOpen(state) && toAnswer, false);
  add("Source", signal.source.kind !== "sla" && inline(signal.source.kind));
  add("Quiet", isOpen(state) && facts.quiet && quietOf(facts.quiet, at), false);
  add(
    "Notes",
    alert.notes
      .slice(-NOTES_SHOWN)
      .map(({ by, text, at: when }) => `${at(when)} ${inline(by)}: ${inline(text, 200)}`)
      .join("\n\n"),
    false,
  );
  add("Next", isOpen(state) && nextOf(alert, { ...facts, late }, at)?.replace(/^Next: /, ""), false);
  add(
    "Not posted yet",
    [
      ...facts.waits.map(({ destination, number, until }) => {
        const chat = inline(shownAs(destination, around.placeName));
        return `The page of step ${number} in ${chat} waits until ${at(until)}: quiet hours.`;
      }),
      ...facts.waiting.map(({ destination, until, isCalledOff }) => {
        const when = until === undefined ? "" : ` until ${at(until, "T")}: sending there is paused`;
        const waits = isCalledOff ? "is posted only if the alert needs an operator again" : `waits${when}`;
        return `The page in ${inline(shownAs(destination, around.placeName))} ${waits}.`;
      }),
    ].join("\n"),
    false,
  );
  add("Runbook", signal.runbook && inline(signal.runbook), false);
  add("History", historyOf(alert, facts.history, at, around.clock.now()), false);
  const card: Card = {
    title: `${markOf(alert)} ${headline(alert, facts.standing, around.clock.now())}`.slice(0, 250),
    text: [quoteOf(facts.standing, around), withMoments(inline(around.mask(signal.reason)), at)]
      .filter(Boolean)
      .join("\n\n"),
    tone: toneOf(alert),
    fields,
    footer: alert.id,
  };
  const url = urlOf(entity?.link);
  if (url !== undefined) card.url = url;
  const now = { canEscalate: canEscalate(alert, around), isMuted: facts.quiet?.mutes !== undefined };
  const rows = detailButtons(alert, route.settings, { ...now, given: facts.standing?.given });
  return rows.length === 0 ? { text: "", card } : { text: "", card, buttons: rows };
}

/** A press takes the next step of every route. */
function canEscalate(alert: Alert, routing: Routing): boolean {
  return routesFor(alert, routing).some((route) => nextStepOf(alert, route) !== undefined);
}

/** Within this time the time of day is enough to name a moment. */
const SAME_DAY_MS = 20 * 3_600_000;

/** With seconds: many events happen within one minute. */
function historyOf({ signal }: Alert, history: readonly AlertEvent[], at: At, now: number): string {
  const words = signal.clock === undefined ? WITHOUT_DEADLINE : EVENT_WORDS;
  const exactly = (ms: number) => (now - ms < SAME_DAY_MS ? at(ms, "T") : `${at(ms, "d")} ${at(ms, "T")}`);
  const line = ({ at: when, event, actor, reason }: AlertEvent) => {
    const by = isPerson(actor) ? ` by ${inline(actor.name, 60)}` : "";
    const why = reason?.replace(/^Escalated: /, "");
    const isSaid = why === undefined || event === "assign";
    return `${exactly(when)} ${words[event] ?? event.replaceAll("_", " ")}${by}${isSaid ? "" : `: ${withMoments(inline(why, REASON_LENGTH), at)}`}`;
  };
  let lines: string[] = [];
  for (const event of history.slice(-EVENTS_SHOWN).reverse()) {
    const more = [line(event), ...lines];
    if (lines.length > 0 && more.join("\n\n").length > HISTORY_LENGTH) break;
    lines = more;
  }
  const left = history.length - lines.length;
  return [...(left > 0 ? [`${left} earlier`] : []), ...lines].join("\n\n");
}
