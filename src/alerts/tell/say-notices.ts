/** Sends reminders and escalations: new messages, because edits ping no one. Notices of one card are one message. */

import { type Alert, type AlertCard, type Hold, isOpen, type Notice } from "../../domain/alerts/alert.js";
import { parseAddress } from "../../domain/chat/address.js";
import type { OutboundMessage } from "../../domain/chat/message.js";
import { isUnderWay, type Pause } from "../../domain/store.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { groupBy } from "../../lib/group-by.js";
import { newId } from "../../lib/id.js";
import { tokensInWords } from "../../lib/markdown/tokens.js";
import { zoneOf } from "../business-hours.js";
import { answerLine, chatLink, copyLine, headline, lateOf, quoteOf, wordsOf } from "../card/alert-card.js";
import { alertLine, heldBy } from "../card/alert-line.js";
import { cardButtons } from "../card/buttons.js";
import { standingOf } from "../card/standing.js";
import { inline, type MomentStyle, markOf, moment, NAMED, titleOf, withMoments } from "../card/words.js";
import { defaultDestination } from "../config.js";
import { isInPage, isOfWoken, wokenText } from "../steps/breach.js";
import { isInstead, isPageKey, lostKey, stepIn, stepNumber } from "../steps/escalate.js";
import { lostPrivately } from "../steps/fallback.js";
import { asOneReminder, newestReminders, remindedAt } from "../steps/remind.js";
import { routeAt } from "../steps/route.js";
import { isCalledOff } from "../urging.js";
import { lose } from "./check-notices.js";
import { holdOf, recordPosted } from "./held-back.js";
import { isElsewhere } from "./is-elsewhere.js";
import {
  awayText,
  checkPauseAt,
  dueText,
  isPausedTooLong,
  LATE_PAGE_MS,
  lateText,
  pausedText,
  pausedUntilText,
  waitMs,
} from "./late.js";
import { callPresent } from "./pages/call-present.js";
import { mentionsFor } from "./pages/mentions.js";
import { isPage, mostUrgentFirst } from "./pages/most-urgent-first.js";
import { noteUnreached } from "./pages/note-unreached.js";
import { pageButtons } from "./pages/page-buttons.js";
import { withoutPaged } from "./pages/paged-elsewhere.js";
import { isStepOf, noticesFor } from "./pages/removed-webhooks.js";
import { isAboutDelivery, nowhere, saidAgain } from "./pages/undelivered.js";
import { waitsBeside } from "./pages/waiting-pages.js";
import { isWebhook, shownAs } from "./shown-as.js";
import type { Telling } from "./telling.js";

const PAGE = 500;
/** More messages than these at once are one. */
const APART = 3;
/** In a paused chat, a page shows its lateness from this on. */
const LATE_IN_PAUSE_MS = 10_000;
const RETRY_WEBHOOK_MS = 30_000;
const GIVE_UP_WEBHOOK_MS = 3_600_000;

interface Saying {
  /** The notice as it is posted now. */
  notice: Notice;
  stored: Notice;
  alert: Alert;
  card: AlertCard | undefined;
  /** For a page that an operator held back. */
  hold: Hold | undefined;
  /** In a page: which steps of its alert wait elsewhere for quiet hours. */
  waits: readonly string[];
}

export async function sayNotices(destination: string, telling: Telling): Promise<number | undefined> {
  const { store, clock } = telling;
  for (;;) {
    const waiting = await noticesFor(destination, PAGE, telling);
    if (waiting.length === 0) return undefined;
    const now = clock.now();
    let { again, holds } = await sayDecided(destination, waiting, telling);
    const fresh: Notice[] = [];
    for (const one of waiting) {
      if (one.deliveryId !== undefined || one.dueAt > now) continue;
      if (await isHeld(one, telling)) holds = true;
      else fresh.push(one);
    }
    if (await callPresent(fresh, telling)) continue;
    const sayings = await sayingsOf(fresh, destination, telling);
    const timely = sayings.filter((one) => isTimely(one) && !isInPage(one.notice, fresh));
    await drop(
      fresh.filter(({ id }) => !timely.some(({ notice }) => notice.id === id)),
      telling,
    );
    const held = await heldByPause(destination, timely, telling);
    for (const group of mostUrgentFirst(messages(timely.filter((one) => !held.includes(one))))) {
      const isUrgent = isPage(group);
      const { per_minute } = telling.config.destinations[destination] ?? defaultDestination;
      if (!telling.budget.take(destination, per_minute, now) && !isUrgent)
        return telling.budget.nextAt(destination, now);
      const deliveryId = newId("d", now);
      await store.assignNotices(
        group.map(({ notice }) => notice.id),
        deliveryId,
      );
      const assigned = group.map((one) => ({ ...one, notice: { ...one.notice, deliveryId } }));
      again = earliest(again, await say(destination, assigned, telling));
    }
    if (again !== undefined || waiting.length < PAGE || fresh.length === held.length) {
      // An alert that needs an operator again wakes the chats that show it, and no webhook.
      if (holds && isWebhook(destination)) again = earliest(again, now + RETRY_WEBHOOK_MS);
      const pause = held.length > 0 ? telling.pauseOf(destination) : undefined;
      const later = waiting.flatMap(({ dueAt }) => (dueAt > now ? dueAt : []));
      const next = later.reduce<number | undefined>(earliest, again);
      return pause ? Math.min(next ?? pause.until, checkPauseAt(pause, now)) : next;
    }
  }
}

interface Said {
  /** When to try again. A notice that a webhook does not take keeps back no other. */
  again: number | undefined;
  /** A notice waits while an operator has its alert. */
  holds: boolean;
}

/** Notices that were decided before a crash are sent in the same words, under the same id. */
async function sayDecided(destination: string, waiting: readonly Notice[], telling: Telling): Promise<Said> {
  const said: Said = { again: undefined, holds: false };
  const decided = waiting.filter((one) => one.deliveryId !== undefined);
  for (const group of groupBy(decided, (one) => one.deliveryId ?? "")) {
    const sayings = await sayingsOf(group, destination, telling);
    if (await isEndedUnsaid(sayings, destination, telling)) await drop(group, telling);
    else if (await isHeldUnsaid(sayings, destination, telling)) said.holds = true;
    else said.again = earliest(said.again, await say(destination, sayings, telling));
  }
  return said;
}

const earliest = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);

/** Drops notices that are too old to send. For a page, the history shows that it was not posted. */
async function drop(notices: readonly Notice[], { store, run }: Telling): Promise<void> {
  if (notices.length === 0) return;
  for (const notice of notices) {
    const { kind, alertId: id, destination } = notice;
    if (kind === "escalation") await run({ kind: "unposted", id, destination, notice });
  }
  await store.assignNotices(
    notices.map(({ id }) => id),
    undefined,
  );
}

/**
 * Notices that are not enqueued while their chat is paused. Of reminders, only the newest is sent at the end. A page waits here while the
 * pause lasts longer than it may wait in the outbox: the people whom it calls are called elsewhere at once, and not again in this chat.
 */
async function heldByPause(destination: string, timely: readonly Saying[], telling: Telling): Promise<Saying[]> {
  const { clock, config } = telling;
  const pause = telling.pauseOf(destination);
  if (pause === undefined) return [];
  const isLong = isPausedTooLong(pause, clock.now(), config);
  const held = timely.filter(({ notice }) => isLong || notice.kind === "reminder");
  const unsaid: Notice[] = [];
  for (const one of held)
    if (isPausedTooLong(pause, dueAtOf(one), config) && !(await isElsewhere([one.stored], telling)))
      unsaid.push(one.stored);
  const loss = { fate: "paused" as const, reason: pausedText(pause, config) };
  if (unsaid.length > 0) await lose(destination, unsaid, loss, telling);
  return held;
}

/** An operator has the notice's alert. Reminders are not held: they start again when the alert needs an operator again. */
async function isHeld({ alertId, kind }: Notice, telling: Telling): Promise<boolean> {
  const alert = kind === "escalation" ? await telling.store.get(alertId) : undefined;
  return alert !== undefined && isCalledOff(alert);
}

async function sayingsOf(notices: readonly Notice[], destination: string, telling: Telling): Promise<Saying[]> {
  const { store } = telling;
  const sayings: Saying[] = [];
  const cards = new Map<string, AlertCard | undefined>();
  for (const notice of notices) {
    const alert = await store.get(notice.alertId);
    if (!alert) continue;
    const place = (await store.placesOf(alert.id)).find((one) => one.destination === destination);
    const id = place?.cardId;
    if (id !== undefined && !cards.has(id)) cards.set(id, await store.card(id));
    const card = id === undefined ? undefined : cards.get(id);
    const hold = await holdOf(notice, alert, telling);
    const waits = await waitsBeside(notice, alert, telling);
    sayings.push({ notice: await withoutPaged(notice, alert, telling), stored: notice, alert, card, hold, waits });
  }
  return sayings;
}

/** The message's alerts ended before a webhook took it, or before it was enqueued. */
async function isEndedUnsaid(sayings: readonly Saying[], destination: string, telling: Telling): Promise<boolean> {
  if (sayings.some(isTimely)) return false;
  return isUnsaid(sayings, destination, telling);
}

async function isUnsaid([first]: readonly Saying[], destination: string, { deliveryOf }: Telling): Promise<boolean> {
  return isWebhook(destination) || (await deliveryOf(first?.notice.deliveryId ?? "")) === undefined;
}

async function isHeldUnsaid(sayings: readonly Saying[], destination: string, telling: Telling): Promise<boolean> {
  for (const { notice } of sayings) if (!(await isHeld(notice, telling))) return false;
  return isUnsaid(sayings, destination, telling);
}

/** False when its alert ended meanwhile; of a reminder also when an operator has the alert. */
function isTimely({ notice, alert }: Saying): boolean {
  if (notice.kind !== "reminder") return isOpen(alert.state);
  if (isOfWoken(notice, alert)) return true;
  return alert.state === "firing" && alert.signal.clock?.pausedFor === undefined;
}

/** One for each card and kind; when there are many, one for each kind and its people. Notices of several routes about one alert are one. */
function messages(sayings: readonly Saying[]): Saying[][] {
  const ofOne = groupBy(sayings, ({ notice, alert }) => `${notice.kind}|${alert.id}`);
  const keyed = ofOne.map((some) => {
    const { notice, card } = some[0] as Saying;
    return { some, card: card?.id ?? "", called: `${notice.kind}|${mentionsOf(some).join()}` };
  });
  const byCard = groupBy(keyed, ({ called, card }) => `${called}|${card}`);
  const groups = byCard.length <= APART ? byCard : groupBy(keyed, ({ called }) => called);
  return groups.map((group) => group.flatMap(({ some }) => some));
}

/** A notice that was held while an operator had the alert is due when the operator has it no more. */
const dueAtOf = ({ notice, alert }: Saying) => Math.max(notice.dueAt, alert.since);

/** The lateness of the notice that was due last; older notices are in the same message. */
const lateOfNotices = (sayings: readonly Saying[], now: number) => now - Math.max(...sayings.map(dueAtOf));

/** Why this message comes only now. A page that is enqueued again may wait for its chat with the times that it shows now. */
function latenessOf(sayings: readonly Saying[], telling: Telling): string {
  const late = lateText(lateOfNotices(sayings, telling.clock.now()), "it could not be posted before");
  return [late, dueOf(sayings, telling)].map((sentence) => (sentence === undefined ? "" : ` ${sentence}.`)).join("");
}

const pagesOf = (sayings: readonly Saying[]) => sayings.filter(({ notice }) => notice.kind === "escalation");

/** The pause that its pages wait for: they are posted at its end with the words that they have now. */
function pauseBefore(sayings: readonly Saying[], { pauseOf }: Telling): Pause | undefined {
  const pages = pagesOf(sayings);
  const pause = pages[0] && pauseOf(pages[0].notice.destination);
  return pause && pause.until - Math.min(...pages.map(dueAtOf)) >= LATE_IN_PAUSE_MS ? pause : undefined;
}

/** When its pages were due, where they are late or wait for the end of a pause. */
function dueOf(sayings: readonly Saying[], telling: Telling): string | undefined {
  const now = telling.clock.now();
  const pages = pagesOf(sayings);
  if (pages.length === 0) return undefined;
  const dueAts = pages.map(({ notice }) => notice.dueAt);
  const zone = zoneOf(telling.config.business_hours);
  const lateMs = now - Math.min(...dueAts);
  const hold = holdOfAll(pages);
  const pause = pauseBefore(sayings, telling);
  if (pause) return pausedUntilText(dueAts, pause, zone, hold);
  const isAgain = pages.some(({ notice }) => notice.sentAt !== undefined);
  if (lateMs > 0 && (isAgain || lateMs >= LATE_PAGE_MS)) return dueText(dueAts, now, zone, hold);
  const isAway = pages.some(({ notice }) => telling.inhibitors.isAway(notice.destination));
  return isAway ? awayText(dueAts, now, zone) : undefined;
}

/** The hold that all these pages share. */
function holdOfAll(pages: readonly Saying[]): Hold | undefined {
  const [first, ...others] = pages.map(({ hold }) => hold);
  const isSame = others.every((one) => one?.state === first?.state && one?.until === first?.until);
  return isSame && alertsOf(pages).length === 1 ? first : undefined;
}

const mentionsOf = (sayings: readonly Saying[]) => [...new Set(sayings.flatMap(({ notice }) => notice.mentions))];
const alertsOf = (sayings: readonly Saying[]) => [
  ...new Map(sayings.map(({ alert }) => [alert.id, alert] as const)).values(),
];
/** All sentences about one alert. */
function saidOf(sayings: readonly Saying[], one: Alert, now: number): string {
  const all = sayings.flatMap(({ notice, alert }) => (alert.id === one.id ? [notice] : []));
  const notices = inOrder(withoutAttempts(all));
  const texts = newestReminders(notices).map((notice) => remindedAt(wokenText(notice, one), one, now));
  const waits = sayings.flatMap((saying) => (saying.alert.id === one.id ? saying.waits : []));
  return asOneReminder([...new Set([...texts, ...waits])].join(". "));
}

/** By step: a copy of one may be written after the next. The fate of a private message comes after the result of its step. */
const inOrder = (notices: readonly Notice[]) =>
  [...notices].sort(
    (a, b) => stepNumber(a.key) - stepNumber(b.key) || Number(!isPageKey(a.key)) - Number(!isPageKey(b.key)),
  );

/** A step that was taken again has its result in its newest page: earlier ones in the same message only report a lost private one. */
function withoutAttempts(notices: readonly Notice[]): Notice[] {
  return notices.flatMap((notice) => {
    const { id, key } = notice;
    const lost = lostPrivately(notice);
    const isOld =
      isPageKey(key) &&
      notices.some((one) => one.id > id && isWholeAgain(one) && stepIn(one.key) === stepIn(key)) &&
      (notice.copy === undefined || lost !== undefined);
    if (!isOld) return [notice];
    return lost === undefined ? [] : [{ ...notice, key: lostKey(key, ""), sentences: [lost], copy: undefined }];
  });
}

/** The notice repeats the whole page, and not only the news. */
const isWholeAgain = ({ key, step }: Notice) => isInstead(key) && isPageKey(key) && step !== undefined;

/** One text for all when it is the same for all, else one for each. */
function textOf(sayings: readonly Saying[], now: number): { common?: string; of(alert: Alert): string } {
  const all = new Set(alertsOf(sayings).map((alert) => saidOf(sayings, alert, now)));
  const [first = ""] = all;
  return all.size === 1 ? { common: first, of: () => first } : { of: (alert) => saidOf(sayings, alert, now) };
}

/** `settled`: nothing is to be learnt of its delivery. */
type End = { kind: "sent" } | { kind: "settled" } | { kind: "again"; at: number };

/** When to try again; undefined when the message is on its way. */
async function say(destination: string, sayings: readonly Saying[], telling: Telling): Promise<number | undefined> {
  const { store, clock } = telling;
  for (const { notice, alert } of sayings) await noteUnreached(notice, alert, telling);
  const [first] = sayings;
  const deliveryId = first?.notice.deliveryId;
  if (first === undefined || deliveryId === undefined) return undefined;
  const how = isWebhook(destination) ? callWebhook : sendToChat;
  const end = await how(destination, { deliveryId, first, sayings }, telling);
  if (end.kind === "again") return end.at;
  const ids = sayings.map(({ notice }) => notice.id);
  await store.noticesSent(ids, clock.now());
  if (end.kind === "settled") await store.settleNotices(ids);
  return undefined;
}

interface Decided {
  deliveryId: string;
  first: Saying;
  sayings: readonly Saying[];
}

async function callWebhook(
  destination: string,
  { deliveryId, first, sayings }: Decided,
  telling: Telling,
): Promise<End> {
  const { clock } = telling;
  const notices = sayings.map(({ stored }) => stored);
  try {
    await telling.post(destination, deliveryId, await bodyOf(sayings, telling));
    await saidAgain(destination, telling);
    await recordPosted(notices, { createdAt: clock.now() }, telling);
  } catch (error) {
    const reason = errorMessage(error);
    telling.logger.warn(
      { webhook: shownAs(destination), alerts: sayings.map(({ alert }) => alert.id), error: reason },
      "a webhook did not take an escalation",
    );
    // The settings changed while the webhook was called.
    if (!isStepOf(first.stored, telling.config)) return { kind: "again", at: clock.now() };
    const dueAt = dueAtOf(first);
    const isGivenUp = clock.now() >= dueAt + GIVE_UP_WEBHOOK_MS;
    const isRefused = error instanceof HookgateError && !error.retryable;
    const isLate = isRefused || isGivenUp || clock.now() >= dueAt + telling.config.fallback_after;
    if (isLate && !(await isElsewhere(notices, telling)))
      await lose(destination, notices, { fate: isRefused ? "refused" : "unsent", reason }, telling);
    if (!isGivenUp) return { kind: "again", at: clock.now() + RETRY_WEBHOOK_MS };
  }
  return { kind: "settled" };
}

async function sendToChat(
  destination: string,
  { deliveryId, first, sayings }: Decided,
  telling: Telling,
): Promise<End> {
  const at = parseAddress(destination);
  if (at === undefined) return { kind: "sent" };
  const cause = { kind: "alert" as const, id: first.alert.id, depth: 0 };
  const isCourtesy = sayings.every(({ alert }) => isAboutDelivery(alert));
  try {
    const ttlMs = waitMs(lateOfNotices(sayings, telling.clock.now()), telling.config);
    const urgency = (await passesOthers(first, telling)) ? ("urgent" as const) : undefined;
    await telling.send(at, await messageOf(sayings, telling), { cause, deliveryId, isCourtesy, ttlMs, urgency });
    return { kind: "sent" };
  } catch (error) {
    const reason = nowhere(error);
    if (reason === undefined) throw error;
    const notices = sayings.map(({ stored }) => stored);
    await lose(destination, notices, { fate: "unsent", reason }, telling);
    return { kind: "settled" };
  }
}

/** Whether a page goes before others, but not before its own card, nor an earlier page that waits behind that card. */
async function passesOthers({ notice, alert, card }: Saying, { store, deliveryOf }: Telling): Promise<boolean> {
  const posted = await store.postedWith(alert.id, notice.destination);
  const earlier = posted.filter(({ id, kind }) => id < notice.id && kind === "escalation");
  const ids = new Set([card?.deliveryId, ...earlier.map(({ deliveryId }) => deliveryId)]);
  for (const id of ids) {
    const before = id === undefined ? undefined : await deliveryOf(id);
    if (before && before.urgency === undefined && isUnderWay(before)) return false;
  }
  return true;
}

async function messageOf(sayings: readonly Saying[], telling: Telling): Promise<OutboundMessage> {
  const { notice, alert, card } = sayings[0] as Saying;
  const { prefix, mentions } = mentionsFor(mentionsOf(sayings), notice.destination, telling);
  const root = card && (await telling.deliveryOf(card.deliveryId));
  // An answer to the card, when the card is in the same chat.
  const posted = root?.parts.find(
    ({ operation, status, chatId }) => operation === "create" && status === "sent" && chatId === undefined,
  )?.messageId;
  const isSameChat = root !== undefined && telling.chatOf(root.address) === notice.destination;
  const alerts = alertsOf(sayings);
  const words =
    alerts.length === 1 ? await aboutOne(alert, sayings, telling) : await aboutMany(alerts, sayings, telling);
  return {
    text: `${prefix}${words.text}`,
    buttons: words.buttons,
    replyToId: posted !== undefined && isSameChat ? posted : undefined,
    mentions,
  };
}

/** The person, the time of their wait, their words, the reason for this message; with the buttons of the card. */
async function aboutOne(alert: Alert, sayings: readonly Saying[], telling: Telling) {
  const standing = await standingOf(alert, telling);
  const { destination = "" } = sayings[0]?.notice ?? {};
  const { settings } = routeAt(alert, destination, telling);
  const entity = standing?.entity ?? alert.signal.entity;
  const quote = quoteOf(standing, telling);
  // The mark of an acknowledged or silenced alert would mean that no one is needed.
  const isCalling = alert.called !== undefined && isOpen(alert.state) && pagesOf(sayings).length > 0;
  // How long the customer has waited at the end of a pause is not known yet.
  const title = pauseBefore(sayings, telling) ? alert.signal.title : headline(alert, standing, telling.clock.now());
  const at = (ms: number, style?: MomentStyle) => moment(ms, telling.config.destinations[destination]?.timezone, style);
  const lines = [
    `${markOf(isCalling ? { ...alert, state: alert.condition } : alert)} **${inline(title, 250)}**${isCalling ? heldBy(alert) : ""}`,
    quote,
    // A quotation ends with an empty line.
    quote && "",
    chatLink(entity, destination),
    // Its title does not name what has happened.
    alert.signal.source.kind === "gateway" &&
      isOpen(alert.state) &&
      withMoments(inline(telling.mask(alert.signal.reason), 500), at),
    alert.signal.runbook && `Runbook: ${inline(alert.signal.runbook)}`,
    answerLine(standing, at),
    standing?.copy && copyLine(standing, entity),
    `${inline(saidOf(sayings, alert, telling.clock.now()))}.${latenessOf(sayings, telling)} \`${alert.id}\``,
  ];
  const buttons = isOpen(alert.state) ? cardButtons(alert, settings, standing) : [];
  return { text: lines.filter((line) => line !== undefined && line !== false).join("\n"), buttons };
}

async function aboutMany(alerts: readonly Alert[], sayings: readonly Saying[], telling: Telling) {
  const { common, of } = textOf(sayings, telling.clock.now());
  // How long the customers have waited at the end of a pause is not known yet.
  const isPaused = pauseBefore(sayings, telling) !== undefined;
  const shown = await Promise.all(
    alerts.slice(0, NAMED).map(async (one) => {
      const line = isPaused ? titleOf(one) : await alertLine(one, telling);
      return `- ${line}${common === undefined ? ` · ${inline(of(one), 200)}` : ""}`;
    }),
  );
  const lines = [
    `**${alerts.length} alerts**${common === undefined ? "" : ` · ${inline(common)}.`}${latenessOf(sayings, telling)}`,
    ...shown,
    ...(alerts.length > NAMED ? [`- and ${alerts.length - NAMED} more: \`/alerts\``] : []),
  ];
  const { deliveryId, destination = "" } = sayings[0]?.notice ?? {};
  return { text: lines.join("\n"), buttons: pageButtons(alerts, deliveryId, destination, telling) };
}

async function bodyOf(sayings: readonly Saying[], telling: Telling): Promise<unknown> {
  const { common, of } = textOf(sayings, telling.clock.now());
  const now = telling.clock.now();
  const alerts = await Promise.all(
    sayings.map(async ({ alert, card }) => {
      const standing = await standingOf(alert, telling);
      const { signal } = alert;
      const entity = standing?.entity ?? signal.entity;
      const late = lateOf(alert, standing, now);
      const cardUrl = card && (await telling.linkTo(card.deliveryId));
      return {
        id: alert.id,
        state: alert.state,
        severity: alert.severity,
        title: headline(alert, standing, now),
        reason: telling.mask(signal.reason),
        text: tokensInWords(of(alert), zoneOf(telling.config.business_hours)),
        labels: signal.labels,
        raisedAt: alert.raisedAt,
        dueAt: late?.dueAt,
        overdueMs: late && Math.max(0, -late.leftMs),
        lastWords: wordsOf(standing, telling),
        link: entity?.link,
        copyUrl: standing?.copy?.link,
        cardUrl,
        runbook: signal.runbook,
      };
    }),
  );
  const all = [...new Map(alerts.map((one) => [one.id, one] as const)).values()];
  const text = common ?? all.map((one) => `${one.title}: ${one.text}`).join("; ");
  const late = latenessOf(sayings, telling);
  return {
    kind: sayings[0]?.notice.kind,
    text: tokensInWords(late === "" ? text : `${text}.${late}`, zoneOf(telling.config.business_hours)),
    alerts: all,
  };
}
