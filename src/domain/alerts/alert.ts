/**
 * Alerts as they are kept: one row for each episode of a fingerprint, its history, the chats that show it (places), the messages that show
 * it (cards), other messages about it (notices), and silences. Writes resolve after their commit and reject as the rest of the store does.
 */
import type { AlertSignal, Severity } from "./alert-signal.js";

export const SEVERITIES = ["info", "warning", "high", "critical"] as const satisfies readonly Severity[];

export const isAtLeast = (severity: Severity, least: Severity): boolean =>
  SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(least);

/**
 * warned: will break soon · firing: broken · acked: a person has it · snoozed: it comes back later · silenced, inhibited: a rule or
 * another alert keeps it quiet · resolved, expired: ended.
 */
export const ALERT_STATES = [
  "warned",
  "firing",
  "acked",
  "snoozed",
  "silenced",
  "inhibited",
  "resolved",
  "expired",
] as const;
export type AlertState = (typeof ALERT_STATES)[number];

/**
 * Alerts that no operator has come first, then those that an operator has, then those that an operator put off. Ended alerts keep their
 * order.
 */
export const urgencyOf = ({ state }: Pick<Alert, "state">) => (isOpen(state) ? URGENCY.indexOf(state) : URGENCY.length);
const URGENCY: readonly Alert["state"][] = ["firing", "warned", "acked", "snoozed", "silenced", "inhibited"];

export function isOpen(state: AlertState): boolean {
  return state !== "resolved" && state !== "expired";
}

/** The effect that resolving an alert had on the task, mission or conversation that it is about. */
export interface CauseEnd {
  isEnded: boolean;
  /** For the history and the card: the reason that the person gave, and the outcome for the cause. */
  reason: string;
  /** For the person. */
  note: string;
}

/** The person, rule or source that changed an alert. */
export interface Actor {
  /** `web:1`, or a part of ours: `clock`, `rule`, `source`. */
  id: string;
  /** Its name as people write it. */
  name: string;
  /** Where it came from: a platform, `api`, `sla`, … */
  source: string;
}

export interface AlertNote {
  by: string;
  at: number;
  text: string;
}

/** A step of an escalation as the settings had it when it was taken. */
export interface TakenStep {
  /** Its place in the settings then, from 1: messages about it name that. */
  number: number;
  after?: number | undefined;
  reminders?: number | undefined;
  to: readonly string[];
  mention: readonly string[];
  webhook?: string | undefined;
  /** The accounts that `mention` meant then, as `platform:id`. Absent in steps that were stored without them. */
  called?: readonly string[];
  /** A person asked for it: its messages wait for no quiet hours. */
  isAsked?: true;
  /** The step notified none of its people. */
  isUnreached?: boolean;
  /** Private chats that may have got it, when no other message of the step notifies its people. */
  direct?: string[];
  /** Chats whose page of it, or whose copy of one, may not have arrived: it is not certain that they notify a person. */
  inDoubtAt?: string[];
  /** Chats that refused a page of it: the people whom the page mentions were not notified there. */
  refusedAt?: string[];
}

/** The messages that a route has sent because the alert was not acknowledged. */
export interface Urging {
  reminders: number;
  /** The time to the next reminder is counted from here: from the last reminder, or from the time since which reminders are due. */
  remindFrom?: number;
  /** How many steps were taken; the key of a step's messages has its place among them. */
  steps: number;
  /**
   * The steps that were taken, oldest first. Absent until one is taken, and in alerts that were stored when steps were only counted: those
   * are the first steps of the route.
   */
  taken?: TakenStep[];
  /** The next step as cards show it: changed settings may have another. */
  next?: string;
  /** The people whom copies of its pages mention, each as `place among those taken, a space, name`. */
  copiedFor?: string[];
  /** When the alert took this route, if that was later than it started to fire. */
  since?: number;
}

/** The state of an alert while its page was due and not posted, and the time until which that lasts. */
export interface Hold {
  state: AlertState;
  until: number;
}

export interface Alert {
  /** `newId("al")`. */
  id: string;
  fingerprint: string;
  episode: number;
  state: AlertState;
  /** The state that its source reports, regardless of acknowledgements, snoozes and silences. */
  condition: "warned" | "firing";
  severity: Severity;
  /** The latest signal of its source. */
  signal: AlertSignal;
  raisedAt: number;
  /** When it came into its state. */
  since: number;
  /** When it started to fire; absent while it is only a warning. */
  firedAt?: number;
  endedAt?: number;
  /** `until`: from then on the alert counts as not acknowledged. */
  ack?: { by: string; at: number; until?: number };
  /** When its last acknowledgement ended by itself. */
  lapsedAt?: number;
  /** `byId`: the account of that person (`platform:id`), who is mentioned when the snooze ends. */
  snooze?: { by: string; byId?: string; at: number; until: number };
  /** Its snooze ended by itself, and no message has reported that: a rule keeps the alert quiet. */
  woken?: { by: string; byId?: string };
  /** The silence, window or alert that keeps it quiet. */
  quietBy?: string;
  /** The person who took it: `platform:id`; and the name as people write it. */
  assignee?: { id: string; name: string };
  notes: AlertNote[];
  /** Reminders sent since it was last acknowledged or started to fire, and escalation steps done; of all its routes together. */
  reminders: number;
  steps: number;
  /** Where its routes lead, as they were last followed. */
  routedTo?: readonly string[];
  /** By route, for each route that it takes. */
  urged?: Record<string, Urging>;
  /** Since when escalation is counted. */
  escalateFrom?: number;
  /** A person asked for the next step now. */
  escalateNow?: Actor;
  /**
   * The first person who asked for an escalation since the alert came into its state: others are needed although an operator has the alert.
   */
  called?: { by: string; at: number };
  /** When its source last reported. */
  confirmedAt: number;
  /** When to look at it again. */
  nextAt?: number;
  /** Counts its changes: a change that was computed from an earlier state is refused. */
  version: number;
}

export interface AlertEvent {
  alertId: string;
  at: number;
  /** The kind of the event: `fire`, `ack`, `remind`, `note`, … */
  event: string;
  from?: AlertState;
  to: AlertState;
  actor: Actor;
  reason?: string;
}

/** States for people. */
export const STATE_WORDS: Record<AlertState, string> = {
  warned: "warning",
  firing: "firing",
  acked: "acknowledged",
  snoozed: "snoozed",
  silenced: "silenced",
  inhibited: "explained by another alert",
  resolved: "resolved",
  expired: "expired",
};

/** The alert ended because it got more time, and not because anything was done. */
export function isPostponed({ state, signal }: Pick<Alert, "state" | "signal">): boolean {
  return state === "resolved" && signal.state === "resolved" && signal.clock?.isPostponed === true;
}

/** An alert with a clock is overdue or due soon; any other alert fires. */
export function stateWord({ state, signal }: Pick<Alert, "state" | "signal">): string {
  if (signal.clock !== undefined && state === "firing") return "overdue";
  if (signal.clock !== undefined && state === "warned") return "due soon";
  if (isPostponed({ state, signal })) return "postponed";
  return STATE_WORDS[state];
}

/** A chat that shows an alert. `quiet`: the alert waits for the end of quiet hours and is shown in the catch-up. */
export interface Place {
  alertId: string;
  /** A formatted address. */
  destination: string;
  group: string;
  kind: "now" | "quiet";
  dueAt: number;
}

/**
 * A place as it is kept. It has a `cardId` when a card there shows the alert. With neither that nor waiting, the alert was over before it
 * could be shown.
 */
export interface KnownPlace extends Place {
  isWaiting: boolean;
  cardId?: string;
  /** The card shows other alerts, too. */
  isShared: boolean;
  /** Where the alert went when it left this chat. */
  movedTo?: readonly string[];
}

/** A message at a destination, for one alert or for a list of them. */
export interface AlertCard {
  id: string;
  destination: string;
  /**
   * `alert`: one alert (its newest episode) · `list`: many of a group · `rest`: everything else that came at once · `catch-up`: after
   * quiet hours.
   */
  kind: "alert" | "list" | "rest" | "catch-up";
  /** The group, or for `alert` its fingerprint. */
  key: string;
  /** The group that its first alert belongs to. */
  group: string;
  /** The delivery that posts it, known before it is enqueued. */
  deliveryId: string;
  isPosted: boolean;
  /** Counts changes of its content. The card shows the newest content when both numbers are equal. */
  wanted: number;
  shown: number;
  shownAt: number;
  createdAt: number;
  /** The delivery that showed it last, until it is known to have arrived. */
  unsettled?: string;
  unsettledSince?: number;
  /** The time when the card could not be posted here, and the alert was shown elsewhere. */
  failedAt?: number;
  isClosed: boolean;
  /** When it is drawn again by itself. */
  redrawAt?: number;
}

/**
 * The words of a notice. Each fact that code needs about a page has a field. Code searches the sentences only for one fact: that a person
 * was not notified (`alerts/steps/call.ts`).
 */
export interface NoticeWords {
  /** The first names the step or the reminder. */
  sentences: readonly string[];
  /** The step that a page takes: its place in the settings, from 1. Absent in a message that only reports news of a step. */
  step?: number;
  /** The people of a page in a private chat, by name. */
  sentTo?: string;
  /** The time when it was due, in the quiet hours of its chat: its sentences mention that it waited. */
  waitedSince?: number | undefined;
  /** The notice is posted here because another chat did not take it in time, or because that is not known. */
  copy?: NoticeCopy;
}

export interface NoticeCopy {
  /** The outcome of the page: `did not arrive`. */
  fate: string;
  /** The outcome of the page with its chat, in brackets. */
  where: string;
  /** Sentences about the people whom the copy does not notify. */
  sentences: readonly string[];
}

export interface NewNotice extends NoticeWords {
  alertId: string;
  destination: string;
  kind: "reminder" | "escalation" | "word";
  /** Notices about one alert with the same key are sent once to a destination. */
  key: string;
  /** `platform:id`, `platform:role:id` or `everyone`, each followed by `|` and a name. */
  mentions: readonly string[];
  dueAt: number;
}

export interface Notice extends NewNotice {
  id: number;
  /** The delivery that sends the notice, once that is decided. */
  deliveryId?: string;
  /** When it was handed to the outbox, the first time. */
  sentAt?: number;
}

/** A change of one alert with all that follows from it, in one transaction. */
export interface AlertChange {
  alert: Alert;
  /** Undefined when it is new. */
  before: number | undefined;
  events: readonly AlertEvent[];
  places: readonly Place[];
  /** Destinations that do not show the alert any more, and the destinations that show it instead. */
  left: readonly { destination: string; movedTo: readonly string[] }[];
  notices: readonly NewNotice[];
  /** The cards of the alert have to show something else now. */
  redraw: boolean;
}

export interface Silence {
  id: string;
  matchers: readonly string[];
  from: number;
  until: number;
  comment: string;
  by: Actor;
  endedAt?: number;
}

export interface AlertFilter {
  open?: boolean;
  /** Open alerts that one of these accounts has. */
  assignees?: readonly string[];
  states?: readonly AlertState[];
  /** Only the alerts of this card. */
  cardId?: string;
  /** Raised, changed or ended since. */
  since?: number;
  /** By id: pages through. */
  afterId?: string;
  limit: number;
}

export interface AlertStore {
  /** False (and nothing is written) when the alert changed meanwhile, or its episode is known. */
  commit(change: AlertChange): Promise<boolean>;
  get(id: string): Promise<Alert | undefined>;
  /** The newest episode. */
  latest(fingerprint: string): Promise<Alert | undefined>;
  /** Open alerts whose fingerprint starts with this, oldest first. */
  openWith(prefix: string): Promise<Alert[]>;
  /** Worst first, then oldest; with `afterId`, by id. */
  list(filter: AlertFilter): Promise<Alert[]>;
  /**
   * Numbers of alerts by state. Alerts that got more time are not counted as `resolved`, because their clocks still wait for the same
   * thing.
   */
  counts(filter: { cardId?: string }): Promise<Partial<Record<AlertState | "postponed", number>>>;
  /** Oldest first, the newest 200. */
  history(id: string): Promise<AlertEvent[]>;
  /** Ids of the alerts that are due now, soonest first, without the first `offset` of them. */
  due(now: number, limit: number, offset?: number): Promise<string[]>;
  /** When the next alert is due, `after` a time if one is given. */
  nextDue(after?: number): Promise<number | undefined>;

  /** Places that wait, soonest first. */
  waiting(destination: string, limit: number): Promise<Place[]>;
  /** Places there that wait for the end of quiet hours wait until this time. */
  postponePlaces(destination: string, dueAt: number): Promise<void>;
  /** Destinations with something to do. */
  busyDestinations(): Promise<string[]>;
  /** Gives places their card (`undefined`: none, the alert was over before it was shown) and creates new cards, in one transaction. */
  place(
    assigned: readonly { alertId: string; destination: string; cardId: string | undefined }[],
    made: readonly AlertCard[],
  ): Promise<void>;
  placesOf(alertId: string): Promise<KnownPlace[]>;
  /** Alerts that a card showed before they moved, with their new destinations; newest episode first. */
  movedFrom(cardId: string, limit: number): Promise<{ alert: Alert; movedTo: string[] }[]>;
  card(id: string): Promise<AlertCard | undefined>;
  /** The newest card with this key at a destination. */
  cardOf(destination: string, kind: AlertCard["kind"], key: string): Promise<AlertCard | undefined>;
  /** Open cards of single alerts of a group. */
  aloneIn(destination: string, group: string): Promise<number>;
  /** Cards that show something old, or whose last delivery is not known to have arrived. */
  stale(destination: string): Promise<AlertCard[]>;
  unsettled(destination: string): Promise<AlertCard[]>;
  /** Cards that are not closed, and whose last change did not arrive. */
  failedCards(destination: string): Promise<AlertCard[]>;
  /** Saves all fields but `wanted`, which only changes of alerts count up. */
  saveCard(card: AlertCard): Promise<void>;
  /** The card has to show something else now. */
  redraw(cardId: string): Promise<void>;
  /** Marks cards whose time to be drawn again has come. */
  redrawDue(destination: string, now: number): Promise<void>;
  /**
   * Sets future times of cards, places and notices there to now, where only a clock that was ahead can have written them. Cards drawn at
   * those times are drawn again.
   */
  takeBack(destination: string, now: number): Promise<void>;
  /** How many cards there will be drawn again by themselves, and when the next one is due. */
  redraws(destination: string): Promise<{ count: number; nextAt?: number }>;

  /** Notices that are not enqueued yet, oldest first. */
  notices(destination: string, limit: number): Promise<Notice[]>;
  /** Notices that were due there at that time, without those that were dropped; oldest first. */
  noticesDueAt(destination: string, dueAt: number): Promise<Notice[]>;
  /** The notices wait for other quiet hours. */
  postponeNotices(ids: readonly number[], dueAt: number): Promise<void>;
  /** Decides which delivery sends the notices; undefined: none (they contain nothing new). */
  assignNotices(ids: readonly number[], deliveryId: string | undefined): Promise<void>;
  /** Other notices have replaced these, which are not enqueued, and may come back to their chats. */
  removeNotices(ids: readonly number[]): Promise<void>;
  /** The outbox has these notices; they are watched until they are settled. */
  noticesSent(ids: readonly number[], now: number): Promise<void>;
  /** The delivery of these notices waited too long: they are sent again. */
  requeueNotices(ids: readonly number[]): Promise<void>;
  /** Sends the pages of this delivery, which was given up or held, again. Resolves with the chats that wait for that. */
  reviveNotices(deliveryId: string): Promise<string[]>;
  /** Notices that are not known to have arrived, oldest first; a thousand at most. */
  unsettledNotices(destination: string): Promise<Notice[]>;
  /** Notices that were posted there about this alert, with all others in the same messages; oldest first. */
  postedWith(alertId: string, destination: string): Promise<Notice[]>;
  /** The newest notice of each open alert there whose delivery has ended. */
  lastNotices(destination: string): Promise<Notice[]>;
  /** The ids of the alerts that the message of this delivery is about. */
  idsIn(deliveryId: string): Promise<string[]>;
  /**
   * The same notice at every destination: pages of an escalation step, and copies of lost pages. Also notices whose key goes on after `:`.
   */
  noticesWith(alertId: string, key: string): Promise<Notice[]>;
  settleNotices(ids: readonly number[]): Promise<void>;
  /** Escalations whose deliveries were given up or are held, newest first; a hundred at most. */
  lostPages(): Promise<Notice[]>;

  silences(): Promise<Silence[]>;
  saveSilence(silence: Silence): Promise<void>;

  /** Deletes alerts that ended before, with all that belongs to them; resolves with how many. */
  sweep(endedBefore: number): Promise<number>;
}
