/**
 * Alerts as they are kept: one row an episode of a fingerprint, its history, where it is told (places), the messages that tell it
 * (cards), what is said besides (notices), and silences. Writes resolve after their commit and reject as the rest of the store does.
 */
import type { AlertSignal, Severity } from "./alert-signal.js";

export const SEVERITIES = ["info", "warning", "high", "critical"] as const satisfies readonly Severity[];

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

/** What no operator has comes before what one has, that before what one put off. What has ended keeps its order. */
export const urgencyOf = ({ state }: Pick<Alert, "state">) => (isOpen(state) ? URGENCY.indexOf(state) : URGENCY.length);
const URGENCY: readonly Alert["state"][] = ["firing", "warned", "acked", "snoozed", "silenced", "inhibited"];

export function isOpen(state: AlertState): boolean {
  return state !== "resolved" && state !== "expired";
}

/** What resolving an alert did to what it is about. */
export interface CauseEnd {
  isEnded: boolean;
  /** For the history and the card: the reason that the person gave, and what became of the cause. */
  reason: string;
  /** For the person. */
  note: string;
}

/** The person, rule or source that changed an alert. */
export interface Actor {
  /** `web:1`, or a part of ours: `clock`, `rule`, `source`. */
  id: string;
  /** As people would write it. */
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
  /** The accounts that `mention` meant then, as `platform:id`. Absent in what was stored without them. */
  called?: readonly string[];
  /** A person asked for it: its messages wait for no quiet hours. */
  isAsked?: true;
  /** It notified none of its people. */
  isUnreached?: boolean;
  /** Private chats that may have got it, when no other message of the step notifies its people. */
  direct?: string[];
  /** Chats whose page of it, or whose copy of one, may not have arrived: it is not certain that they notify a person. */
  inDoubtAt?: string[];
  /** Chats that refused a page of it: whom it mentions was not notified there. */
  refusedAt?: string[];
}

/** What a route has sent because the alert was not acknowledged. */
export interface Urging {
  reminders: number;
  /** The time to the next is counted from here: the last one, or since it is to be reminded of. */
  remindFrom?: number;
  /** How many were taken; the key of a step's messages has its place among them. */
  steps: number;
  /** Those, oldest first. Absent until one is taken, and in what was stored when they were only counted: they are the first ones of the route. */
  taken?: TakenStep[];
  /** The next step as cards show it: changed settings may have another. */
  next?: string;
  /** The people whom copies of its pages mention, each as `place among those taken, a space, name`. */
  copiedFor?: string[];
  /** When the alert took this route, if that was later than it began to fire. */
  since?: number;
}

/** What an alert was while its page was due and not posted, and until when. */
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
  /** The latest of its source. */
  signal: AlertSignal;
  raisedAt: number;
  /** When it came into its state. */
  since: number;
  /** When it began to fire; absent while it is only a warning. */
  firedAt?: number;
  endedAt?: number;
  /** `until`: from then on it counts as not acknowledged. */
  ack?: { by: string; at: number; until?: number };
  /** When its last acknowledgement ended by itself. */
  lapsedAt?: number;
  /** `byId`: the account of that person (`platform:id`), who is mentioned when it ends. */
  snooze?: { by: string; byId?: string; at: number; until: number };
  /** Its snooze ended by itself, and no message has said so: a rule keeps the alert quiet. */
  woken?: { by: string; byId?: string };
  /** The silence, window or alert that keeps it quiet. */
  quietBy?: string;
  /** Person who took it: `platform:id`; and as people write it. */
  assignee?: { id: string; name: string };
  notes: AlertNote[];
  /** Reminders said since it was last acknowledged or began, and escalation steps done; of all its routes together. */
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
  /** The first person who asked for an escalation since it came into its state: others are needed although an operator has the alert. */
  called?: { by: string; at: number };
  /** When its source last spoke. */
  confirmedAt: number;
  /** When to look at it again. */
  nextAt?: number;
  /** Counts its changes: a change that was computed from an earlier state is refused. */
  version: number;
}

export interface AlertEvent {
  alertId: string;
  at: number;
  /** What happened: `fire`, `ack`, `remind`, `note`, … */
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

/** It ended because more time was given, and not because anything was done. */
export function isPostponed({ state, signal }: Pick<Alert, "state" | "signal">): boolean {
  return state === "resolved" && signal.state === "resolved" && signal.clock?.isPostponed === true;
}

/** What has a clock is overdue or due soon; anything else fires. */
export function stateWord({ state, signal }: Pick<Alert, "state" | "signal">): string {
  if (signal.clock !== undefined && state === "firing") return "overdue";
  if (signal.clock !== undefined && state === "warned") return "due soon";
  if (isPostponed({ state, signal })) return "postponed";
  return STATE_WORDS[state];
}

/** Where an alert is told. `quiet`: waits for the end of quiet hours and is told in the catch-up. */
export interface Place {
  alertId: string;
  /** A formatted address. */
  destination: string;
  group: string;
  kind: "now" | "quiet";
  dueAt: number;
}

/** A place as it is kept: `cardId` when it is told there; neither that nor waiting: it was over before it could be. */
export interface KnownPlace extends Place {
  isWaiting: boolean;
  cardId?: string;
  /** That card shows other alerts, too. */
  isShared: boolean;
  /** Where the alert went when it left this chat. */
  movedTo?: readonly string[];
}

/** One message at one destination, for one alert or for a list of them. */
export interface AlertCard {
  id: string;
  destination: string;
  /**
   * `alert`: one alert (its newest episode) · `list`: many of a group · `rest`: everything else that came at once · `catch-up`: after quiet
   * hours.
   */
  kind: "alert" | "list" | "rest" | "catch-up";
  /** The group, or for `alert` its fingerprint. */
  key: string;
  /** The group that its first alert belongs to. */
  group: string;
  /** The delivery that posts it, known before it is enqueued. */
  deliveryId: string;
  isPosted: boolean;
  /** Counts changes of what it shows; shown when both are equal. */
  wanted: number;
  shown: number;
  shownAt: number;
  createdAt: number;
  /** The delivery that showed it last, until it is known to have arrived. */
  unsettled?: string;
  unsettledSince?: number;
  /** It could not be told here, and was told elsewhere. */
  failedAt?: number;
  isClosed: boolean;
  /** When it is drawn again by itself. */
  redrawAt?: number;
}

/** What a notice says. What is asked of a page has a field; of its sentences only that a person was not notified is asked (`alerts/steps/call.ts`). */
export interface NoticeWords {
  /** The first names the step or the reminder. */
  sentences: readonly string[];
  /** The step that a page takes: its place in the settings, from 1. Absent in a message that only says what is new of a step. */
  step?: number;
  /** The people of a page in a private chat, by name. */
  sentTo?: string;
  /** When it was due, in the quiet hours of its chat: its sentences say that it waited. */
  waitedSince?: number | undefined;
  /** It is posted here because another chat did not take it in time, or because that is not known. */
  copy?: NoticeCopy;
}

export interface NoticeCopy {
  /** What became of the page: `did not arrive`. */
  fate: string;
  /** The same with its chat, in brackets. */
  where: string;
  /** Whom the copy does not notify. */
  sentences: readonly string[];
}

export interface NewNotice extends NoticeWords {
  alertId: string;
  destination: string;
  kind: "reminder" | "escalation" | "word";
  /** The same of one alert at one destination is said once. */
  key: string;
  /** `platform:id`, `platform:role:id` or `everyone`, each followed by `|` and a name. */
  mentions: readonly string[];
  dueAt: number;
}

export interface Notice extends NewNotice {
  id: number;
  /** Which delivery says it, once that is decided. */
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
  /** Destinations that it is not told at any more, and where it is told instead. */
  left: readonly { destination: string; movedTo: readonly string[] }[];
  notices: readonly NewNotice[];
  /** What its cards show is another thing now. */
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
  assignee?: string;
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
  /** Those that got more time are not among `resolved`: what their clocks wait for has not happened. */
  counts(filter: { cardId?: string }): Promise<Partial<Record<AlertState | "postponed", number>>>;
  /** Oldest first, the newest 200. */
  history(id: string): Promise<AlertEvent[]>;
  /** What is due now, soonest first; and when something will be. */
  due(now: number, limit: number): Promise<string[]>;
  nextDue(): Promise<number | undefined>;

  /** Places that wait, soonest first. */
  waiting(destination: string, limit: number): Promise<Place[]>;
  /** What waits there for the end of quiet hours waits until then. */
  postponePlaces(destination: string, dueAt: number): Promise<void>;
  /** Destinations with something to do. */
  busyDestinations(): Promise<string[]>;
  /** Places get their card (`undefined`: nowhere, it was over before it was told), new cards are made; in one transaction. */
  place(
    assigned: readonly { alertId: string; destination: string; cardId: string | undefined }[],
    made: readonly AlertCard[],
  ): Promise<void>;
  placesOf(alertId: string): Promise<KnownPlace[]>;
  /** Alerts that a card told before they moved, and where to; newest episode first. */
  movedFrom(cardId: string, limit: number): Promise<{ alert: Alert; movedTo: string[] }[]>;
  card(id: string): Promise<AlertCard | undefined>;
  /** The newest card with this key at a destination. */
  cardOf(destination: string, kind: AlertCard["kind"], key: string): Promise<AlertCard | undefined>;
  /** Open cards of single alerts of a group. */
  aloneIn(destination: string, group: string): Promise<number>;
  /** Cards that show something old, or whose last delivery is not known to have arrived. */
  stale(destination: string): Promise<AlertCard[]>;
  unsettled(destination: string): Promise<AlertCard[]>;
  /** Those that are not closed, and whose last change did not arrive. */
  failedCards(destination: string): Promise<AlertCard[]>;
  /** All but `wanted`, which only changes of alerts count up. */
  saveCard(card: AlertCard): Promise<void>;
  /** It shows something else now. */
  redraw(cardId: string): Promise<void>;
  /** So do those whose time to be drawn again has come. */
  redrawDue(destination: string, now: number): Promise<void>;
  /** Sets future times of cards, places and notices there to now, where only a clock that was ahead can have written them. What was drawn then is drawn again. */
  takeBack(destination: string, now: number): Promise<void>;
  /** How many cards there are drawn again by themselves, and when the next one is. */
  redraws(destination: string): Promise<{ count: number; nextAt?: number }>;

  /** Notices that are not enqueued yet, oldest first. */
  notices(destination: string, limit: number): Promise<Notice[]>;
  /** Those that were due there then, without those that were dropped; oldest first. */
  noticesDueAt(destination: string, dueAt: number): Promise<Notice[]>;
  /** They wait for other quiet hours. */
  postponeNotices(ids: readonly number[], dueAt: number): Promise<void>;
  /** Decides which delivery says them; undefined: none (they say nothing new). */
  assignNotices(ids: readonly number[], deliveryId: string | undefined): Promise<void>;
  /** Other notices have taken the place of these, which are not enqueued, and may come back to their chats. */
  removeNotices(ids: readonly number[]): Promise<void>;
  /** They are with the outbox, and looked after until they are settled. */
  noticesSent(ids: readonly number[], now: number): Promise<void>;
  /** Their delivery waited too long: they are said anew. */
  requeueNotices(ids: readonly number[]): Promise<void>;
  /** The pages of this delivery, which was given up or held, are said anew. Gives the chats that wait for that. */
  reviveNotices(deliveryId: string): Promise<string[]>;
  /** Those that are not known to have arrived, oldest first; a thousand at most. */
  unsettledNotices(destination: string): Promise<Notice[]>;
  /** What was posted there about this alert, with all else that the same messages are about; oldest first. */
  postedWith(alertId: string, destination: string): Promise<Notice[]>;
  /** The newest of each open alert there whose delivery has ended. */
  lastNotices(destination: string): Promise<Notice[]>;
  /** The ids of the alerts that the message of this delivery is about. */
  idsIn(deliveryId: string): Promise<string[]>;
  /** The same notice at every destination: what an escalation step posted, and copies of what was lost. Also those whose key goes on after `:`. */
  noticesWith(alertId: string, key: string): Promise<Notice[]>;
  settleNotices(ids: readonly number[]): Promise<void>;
  /** Escalations whose deliveries were given up or are held, newest first; a hundred at most. */
  lostPages(): Promise<Notice[]>;

  silences(): Promise<Silence[]>;
  saveSilence(silence: Silence): Promise<void>;

  /** Deletes alerts that ended before, with all that belongs to them; resolves with how many. */
  sweep(endedBefore: number): Promise<number>;
}
