/**
 * The card of one alert: the person, the time and reason of their wait, their words, its state and its next message. Details are one press
 * away.
 */
import { type Alert, type AlertEvent, isOpen, isPostponed, STATE_WORDS, stateWord } from "../../domain/alerts/alert.js";
import type { ClockStanding } from "../../domain/alerts/alert-signal.js";
import type { Card, OutboundMessage } from "../../domain/chat/message.js";
import { formatDuration } from "../../lib/time/duration.js";
import type { Coming } from "../coming.js";
import { isWorse } from "../own-alerts.js";
import type { InForce } from "../silences.js";
import { type Route, type Routing, routeAt } from "../steps/route.js";
import type { QuietPage } from "../tell/pages/waiting-pages.js";
import { lastUnreached, stepTaken, urgingOf } from "../urging.js";
import { cardButtons, urlOf } from "./buttons.js";
import { inline, type MomentStyle, markOf, moment, withMoments, withoutPersonal } from "./words.js";

export interface CardFacts {
  destination: string;
  /** The episodes that this card has shown. */
  episodes: readonly Alert[];
  history: readonly AlertEvent[];
  /** The current state of the clock behind the alert. */
  standing?: ClockStanding | undefined;
  /** The alert's pages that wait for the end of quiet hours, the earliest first. */
  waits: readonly QuietPage[];
  routes: readonly Route[];
  /** The next automatic messages of all routes. */
  coming: readonly Coming[];
  /** The silence or window that keeps the alert quiet. */
  quiet?: InForce | undefined;
}

export interface Around extends Routing {
  mask(text: string): string;
  nameOf(ref: string): string;
  clock: { now(): number };
}

export type At = (ms: number, style?: MomentStyle) => string;

const WORDS_MAX = 200;

export function alertCard(alert: Alert, facts: CardFacts, around: Around): OutboundMessage {
  const { signal, state } = alert;
  const timezone = around.config.destinations[facts.destination]?.timezone;
  const at: At = (ms, style) => moment(ms, timezone, style);
  const route = routeAt(alert, facts.destination, around);
  const late = lateOf(alert, facts.standing, around.clock.now());
  const tone = toneOf(alert);
  const entity = facts.standing?.entity ?? signal.entity;
  const owner = ownerOf(alert, facts.standing, around);
  const chat = chatLink(entity, facts.destination);
  const lines = [
    quoteOf(facts.standing, around),
    [
      `${capital(stateLine(alert, late, at, facts.history))}.${againOf(alert, facts)}`,
      isOpen(state) && (owner ? `Owner: ${inline(owner)}.` : "No owner."),
    ],
    [isOpen(state) && late === undefined && withMoments(inline(around.mask(signal.reason)), at)],
    [isOpen(state) && extendedOf(facts.standing, at)],
    [isOpen(state) && facts.quiet && quietOf(facts.quiet, at)],
    [notesOf(alert)],
    [isOpen(state) && nextOf(alert, { ...facts, late, chat: facts.destination }, at)],
    [isOpen(state) && unreachedOf(alert, route, facts.waits, at)],
    [signal.runbook && `Runbook: ${inline(signal.runbook)}`],
    [chat],
    [isOpen(state) && answerLine(facts.standing, at)],
    [isOpen(state) && late?.pausedFor === undefined && copyLine(facts.standing, entity)],
  ].map((line) => (Array.isArray(line) ? line.filter(Boolean).join(" ") : line));
  const url = urlOf(entity?.link);
  const card: Card = {
    title: `${markOf(alert)} ${headline(alert, facts.standing, around.clock.now())}`.slice(0, 250),
    text: lines.filter((line) => line !== undefined && line !== "").join("\n\n"),
    tone,
    footer: alert.id,
  };
  if (url !== undefined) card.url = url;
  const message: OutboundMessage = { text: "", card };
  // A link to a person is a mention.
  if (chat !== undefined) message.mentions = { users: [String(entity?.facts.customer)] };
  if (isOpen(state)) message.buttons = cardButtons(alert, route.settings, facts.standing);
  return message;
}

/** `Grace in general (web) waits 2 min for a first response (target 20 s)`. An ended alert keeps its name. */
export function headline(alert: Alert, standing: ClockStanding | undefined, now: number): string {
  const { signal, state, condition } = alert;
  const late = lateOf(alert, standing, now);
  if (late === undefined || !isOpen(state)) return signal.title;
  const title = standing?.entity.title ?? signal.entity?.title ?? signal.title;
  if (late.pausedFor !== undefined) return `${title}: ${late.name}, paused (${late.pausedFor.replaceAll("_", " ")})`;
  if (isWaitingFor(late.name))
    return `${title} waits ${formatDuration(late.elapsedMs)} for ${WAITED[late.name]} (${targetText(late, standing)})`;
  const by = formatDuration(Math.max(1_000, Math.abs(late.leftMs)));
  return late.leftMs < 0 || (condition === "firing" && !hasTime(late))
    ? `${title}: ${by} overdue`
    : `${title}: due in ${by}`;
}

/** `target 20 s, extended by 30 s`: a title of Discord shows no moments. */
function targetText({ targetMs }: Late, standing: ClockStanding | undefined): string {
  const addedMs = standing?.addedMs ?? 0;
  const extended = addedMs === 0 ? "" : `, extended by ${formatDuration(addedMs)}`;
  return `target ${formatDuration(targetMs - addedMs)}${extended}`;
}

/** `Extended to 03:58: 20 s + 30 s given by Olga.` */
function extendedOf(standing: ClockStanding | undefined, at: At): string | undefined {
  const { extension, dueAt } = standing ?? {};
  return extension && dueAt !== undefined ? `Extended to ${at(dueAt)}: ${inline(extension)}.` : undefined;
}

const WAITED: Readonly<Record<string, string>> = {
  "first response": "a first response",
  "next response": "a response",
  resolution: "a resolution",
};
const isWaitingFor = (name: string | undefined) => name !== undefined && WAITED[name] !== undefined;

export interface Late {
  name: string;
  dueAt: number;
  targetMs: number;
  elapsedMs: number;
  leftMs: number;
  percentUsed: number;
  pausedFor?: string | undefined;
}

/** An episode that ended because more time was given is no other incident: the same wait goes on. */
function againOf(alert: Alert, { episodes }: Pick<CardFacts, "episodes">): string {
  const given = episodes.filter((one) => one.id !== alert.id && isPostponed(one));
  const incidents = episodes.length - given.length;
  const wasOverdue = given.some(({ condition }) => condition === "firing");
  const isOverdueAgain = wasOverdue && isOpen(alert.state) && alert.condition === "firing";
  const count = given.length === 1 ? "once" : `${given.length} times`;
  const extended = isOverdueAgain
    ? ` It was overdue before, was given more time ${count}, and is overdue again.`
    : ` It was given more time ${count}.`;
  return `${given.length > 0 ? extended : ""}${incidents > 1 ? ` It has happened ${incidents} times.` : ""}`;
}

/** The alert's clock at this moment: exact where the clock can be asked, else by wall time. */
export function lateOf(
  { state, endedAt, signal }: Alert,
  standing: ClockStanding | undefined,
  now: number,
): Late | undefined {
  const { clock } = signal;
  if (clock === undefined) return undefined;
  if (standing !== undefined && isOpen(state))
    return { ...clock, ...standing, dueAt: standing.dueAt ?? clock.dueAt, pausedFor: standing.pausedFor };
  // An ended clock uses no more time; its source counted working time up to then.
  const isCounted = !isOpen(state) && signal.state === "resolved" && clock.elapsedMs > 0;
  const leftMs = isCounted ? clock.targetMs - clock.elapsedMs : clock.dueAt - (isOpen(state) ? now : (endedAt ?? now));
  const elapsedMs = isCounted ? clock.elapsedMs : Math.max(clock.elapsedMs, clock.targetMs - leftMs);
  return { ...clock, leftMs, elapsedMs, percentUsed: clock.targetMs > 0 ? elapsedMs / clock.targetMs : 1 };
}

export function toneOf(alert: Alert): NonNullable<Card["tone"]> {
  const { state } = alert;
  if (state === "resolved") return isPostponed(alert) || isWorse(alert) ? "neutral" : "good";
  if (state === "firing") return "bad";
  return state === "warned" ? "warning" : "neutral";
}

/** The last words of the customer, without private data. The words in the alert's signal may have been corrected, deleted or withheld. */
export function wordsOf(standing: ClockStanding | undefined, { mask }: Pick<Around, "mask">): string | undefined {
  const words = standing?.entity.lastWords;
  return words === undefined ? undefined : withoutPersonal(mask(words));
}

export function quoteOf(standing: ClockStanding | undefined, around: Pick<Around, "mask">): string | undefined {
  const words = wordsOf(standing, around);
  return words === undefined || words === "" ? undefined : `> ${inline(words, WORDS_MAX)}`;
}

export function ownerOf({ assignee, signal }: Alert, standing: ClockStanding | undefined, around: Around) {
  const owner = standing?.entity.owner ?? signal.entity?.owner;
  return assignee?.name ?? (owner === undefined ? undefined : around.nameOf(owner));
}

export function stateLine(alert: Alert, late: Late | undefined, at: At, history: readonly AlertEvent[]): string {
  const { state, since, ack, called, snooze, quietBy, endedAt, condition, signal } = alert;
  const word = stateWord(alert);
  if (isPostponed(alert)) {
    // The card does not change any more, so it shows the facts of that time.
    const waited = signal.entity?.type === "conversation" ? ", the customer still waited" : "";
    const was = condition === "firing" ? " when it was overdue" : "";
    return `${word} ${at(endedAt ?? since)}${was}${waited}: due ${at(signal.clock?.dueAt ?? since)}`;
  }
  switch (state) {
    case "acked":
      return `${word} by ${inline(ack?.by ?? "an operator")} ${at(ack?.at ?? since)}${called ? `, escalated by ${inline(called.by)} ${at(called.at)}` : ""}`;
    case "snoozed":
      return `${word} until ${at(snooze?.until ?? since, isSoon(snooze) ? "t" : "f")} by ${inline(snooze?.by ?? "an operator")}`;
    case "silenced":
    case "inhibited":
      return `${word} (${inline(quietBy ?? "")}), else ${snooze === undefined ? STATE_WORDS[condition] : `snoozed until ${at(snooze.until, isSoon(snooze) ? "t" : "f")}`}`;
    case "resolved":
    case "expired":
      return `${word} ${at(endedAt ?? since)}${endingOf(alert, history, at)}`;
    case "warned":
      // A paused clock has no due time.
      return late === undefined || late.pausedFor !== undefined
        ? `${word} since ${at(since)}`
        : `${word}: due ${at(late.dueAt)}`;
    default:
      if (late && hasTime(late)) return `due ${at(late.dueAt)}, because it was extended`;
      return `${word} since ${at(late && late.dueAt <= since ? late.dueAt : since)}`;
  }
}

/** More time was given, and the alert that it ends has not ended yet. */
const hasTime = ({ leftMs, pausedFor }: Late) => leftMs >= 1_000 && pausedFor === undefined;

/** The time of day is enough to name the end of the snooze. */
const isSoon = (snooze: Alert["snooze"]) => snooze !== undefined && snooze.until - snooze.at < 6 * 3_600_000;

/** ` by Ann: the customer called`, or the reason of the alert's source. */
function endingOf({ state }: Alert, history: readonly AlertEvent[], at: At): string {
  const last = history.findLast(({ event }) => event === (state === "expired" ? "expire" : "resolve"));
  if (last === undefined) return "";
  const by = isPerson(last.actor) ? ` by ${inline(last.actor.name, 60)}` : "";
  return last.reason ? `${by}: ${withMoments(inline(last.reason), at)}` : by;
}

/** `platform:id`: a part of ours needs no name here, and the outbox is known by a chat. */
export const isPerson = ({ id, source }: AlertEvent["actor"]) => source !== "gateway" && /^\w+:/.test(id);

/** `Policy muted until 21 Nov 2026, 21:05 by Ann: moving the queue`. */
export function quietOf({ mutes, until, by, comment }: InForce, at: At): string {
  const what = mutes === undefined ? "Silenced" : "Policy muted";
  return `${what} until ${at(until)}${by ? ` by ${inline(by, 60)}` : ""}: ${inline(comment, 160)}.`;
}

/** How to answer the customer, when the answer does not go through their chat. */
export function copyLine(standing: ClockStanding | undefined, entity: Alert["signal"]["entity"]): string | undefined {
  const isDm = entity?.facts.is_dm === true;
  const { copy } = standing ?? {};
  if (copy === undefined) return isDm ? (standing?.entity.status === "waiting" ? NO_COPY : DIRECT_MESSAGE) : undefined;
  const url = urlOf(copy.link);
  const place = `its copy in ${inline(copy.place, 100)}`;
  const shown = url === undefined ? place : `[${place}](${url})`;
  return isDm
    ? `Direct message: reply to ${shown}, or write to the person yourself (then More…, End conversation).`
    : `To answer, reply to ${shown}.`;
}

/** An answer that was written and did not end the wait: without it, the next person would write a second one. */
export function answerLine(standing: ClockStanding | undefined, at: At): string | undefined {
  const { answer } = standing ?? {};
  if (answer === undefined) return undefined;
  const whose = answer.by === undefined ? "A hook's answer" : `${inline(answer.by, 60)}'s answer`;
  const next = {
    in_doubt: `may have arrived: look in the chat, then \`/outbox release ${answer.deliveryId}\``,
    held: `is held: \`/outbox release ${answer.deliveryId}\` sends it`,
    given_up: `did not arrive: \`/outbox show ${answer.deliveryId}\` shows why, \`/outbox retry ${answer.deliveryId}\` sends it again`,
    waiting: "waits to be sent",
  }[answer.state];
  return `${whose} of ${at(answer.at, "T")} ${next}.`;
}

const DIRECT_MESSAGE =
  "Direct message: reply to its forwarded copy, or write to the person yourself (then More…, End conversation).";

/** The channel refused the copy, or a hook claimed the message. */
const NO_COPY = "Direct message without a copy: write to the person yourself (then More…, End conversation).";

/** A link with a platform's own scheme leads somewhere on that platform only. */
export function chatLink(entity: Alert["signal"]["entity"], destination: string): string | undefined {
  const { link, facts } = entity ?? {};
  const isTheirs = /^[a-z]+:\/\/\S+$/.test(link ?? "") && destination.startsWith(`${String(facts?.platform)}:`);
  return isTheirs && urlOf(link) === undefined ? `[Open chat](${link})` : undefined;
}

function notesOf({ notes }: Alert): string | undefined {
  const last = notes.at(-1);
  const more = notes.length > 1 ? ` (${notes.length} notes)` : "";
  return last && `Note by ${inline(last.by)}: ${inline(last.text, 300)}${more}`;
}

/** The next messages if no operator acts. `chat`: only of the routes that lead to this chat. */
export function nextOf(
  alert: Alert,
  {
    late,
    quiet,
    routes,
    coming,
    chat,
  }: Pick<CardFacts, "quiet" | "routes" | "coming"> & { late: Late | undefined; chat?: string },
  at: At,
): string | undefined {
  const { state, ack } = alert;
  if (state === "acked") return ack?.until === undefined ? undefined : `Acknowledgement ends ${at(ack.until)}.`;
  // The first line shows the end of the snooze.
  if (state === "snoozed") return undefined;
  if (late?.pausedFor !== undefined)
    return `Reminders and escalations wait: the clock is paused (${inline(late.pausedFor.replaceAll("_", " "))}).`;
  if (state === "silenced") return quiet && `Mute ends ${at(quiet.until)}.`;
  if (state === "inhibited") return `Shown again when ${inline(alert.quietBy ?? "the other alert")} ends.`;
  if (state !== "firing") return undefined;
  const shown = coming.filter(({ places }) => chat === undefined || places.includes(chat));
  const parts = new Set(shown.map((one) => comingText(one, { routes, coming }, at)));
  return parts.size === 0 ? undefined : `Next: ${[...parts].join(", ")}.`;
}

/** Each route is named where there are several. */
function comingText(one: Coming, { routes, coming }: Pick<CardFacts, "routes" | "coming">, at: At): string {
  const { name, settings } = one.route;
  const ofRoute = routes.length > 1 ? ` of ${inline(name)}` : "";
  switch (one.kind) {
    case "reminder":
      return `reminder${ofRoute} at ${at(one.at)}`;
    case "counted":
    case "step": {
      const step = `escalation step ${one.number} of ${settings.escalate.length}${ofRoute}`;
      if (one.kind === "counted") return `${step} after ${one.reminders} reminder${one.reminders === 1 ? "" : "s"}`;
      return `${step} at ${at(one.at)}${one.isLate ? ", when quiet hours end" : ""}`;
    }
    case "end": {
      const isLast = coming.every(({ kind }) => kind === "reminder" || kind === "end");
      return `no further escalation${isLast ? "" : ofRoute}`;
    }
  }
}

/** A step that was sent may be unread, and a step that was taken may be unsent. */
function unreachedOf(alert: Alert, route: Route, waits: readonly QuietPage[], at: At): string | undefined {
  const urging = urgingOf(alert, route);
  const { escalate } = route.settings;
  const nameOf = (place: number) => {
    const { then, now } = stepTaken(urging, place, escalate);
    // The number of a step that was removed is that of another step now.
    return `step ${now ? escalate.indexOf(now) + 1 : `${then?.number ?? place}, which was removed since,`}`;
  };
  const earliest = new Map<number, number>();
  for (const { route: name, place, until, isPosted } of waits)
    if (name === route.name && !isPosted && !earliest.has(place)) earliest.set(place, until);
  const waiting = [...earliest].map(([place, until]) => `${nameOf(place)} waits until ${at(until)}`);
  const unreached = lastUnreached(urging);
  const lines = [
    waiting.length > 0 && `⚠ Escalation ${waiting.join(", ")}: quiet hours.`,
    unreached !== undefined &&
      !earliest.has(unreached) &&
      `⚠ Escalation ${nameOf(unreached)} notified none of its people.`,
  ].filter((line) => line !== false);
  return lines.length === 0 ? undefined : lines.join(" ");
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
