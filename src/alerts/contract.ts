/** The dependencies and the interface of alerts. */

import type { Actor, Alert, AlertEvent, AlertFilter, CauseEnd, Silence } from "../domain/alerts/alert.js";
import type { ClockStanding, RaiseAlert } from "../domain/alerts/alert-signal.js";
import type { Address } from "../domain/chat/address.js";
import type { Role } from "../domain/chat/identity.js";
import type { Button, OutboundMessage } from "../domain/chat/message.js";
import type { Pause, Store } from "../domain/store.js";
import type { Work } from "../domain/work.js";
import type { Logger } from "../lib/logger.js";
import type { Destinations } from "../lib/outgoing/destinations.js";
import type { Clock } from "../lib/time/clock.js";
import type { PersonAction } from "./act.js";
import type { Alerting } from "./alerting.js";
import type { Coming } from "./coming.js";
import type { AlertsConfig } from "./config.js";
import type { Digest } from "./digests.js";
import type { ReadersDeps } from "./readers.js";
import type { RotaView } from "./rota/on-call.js";
import type { MaintenanceWindow } from "./silences.js";
import type { GatewayFacts } from "./sources/gateway.js";
import type { Telling } from "./tell/telling.js";

export interface AlertsDeps {
  config: AlertsConfig;
  store: Pick<Store, "alerts" | "inbox" | "keyValue" | "outbox">;
  gateway: Pick<Telling, "send" | "edit" | "discard" | "withdraw">;
  policy?: NonNullable<Alerting["policy"]>;
  /** The chats where admins are notified when the configuration names no place. */
  admins(): readonly Address[];
  /** The private chat of an account (`platform:id`); undefined where its platform is not switched on. */
  direct?(ref: string): Address | undefined;
  /** One spelling for each chat: settings may leave out the bot's id, messages have it. `admins` and `direct` use this spelling, too. */
  spelled?(at: Address): Address;
  placeName?: Alerting["placeName"];
  /** The account of a private chat; undefined for every other chat. */
  personOf?(at: Address): string | undefined;
  /** Whether an account can read a chat. */
  isReader?: ReadersDeps["isReader"];
  /** The pause of this chat while it lasts; not a pause of its whole platform. */
  pauseOf?(at: Address): Pause | undefined;
  /** The state of the platforms and the outbox. */
  status(): Promise<GatewayFacts>;
  /** A link to the message that a delivery posted. */
  linkTo?(deliveryId: string): Promise<string | undefined>;
  /** The current state of an SLA clock; undefined when it is not known. */
  standing?(clockId: string): Promise<ClockStanding | undefined>;
  /**
   * An operator resolves an alert: ends its cause, so that the alert cannot hide a customer who waits. `reason`: absent when none was
   * given. Undefined: there was nothing to end. Throws the error that keeps it from ending.
   */
  end?(alert: Alert, by: Actor, reason: string | undefined): Promise<CauseEnd | undefined>;
  /** Called when a person took an alert: assigns the cause of the alert to them, and returns the result as text for them. */
  taken?(alert: Alert, by: Actor, role: Role | undefined): Promise<string | undefined>;
  /** The name of the person with this account (`platform:id`), where a part besides the settings of alerts knows it. */
  nameOf?(ref: string): string | undefined;
  destinations: Destinations;
  mask(text: string): string;
  clock: Clock;
  logger: Logger;
}

export interface Alerts {
  /** The entrance for everything that may break. */
  raise: RaiseAlert;
  /** Acts on one alert (`al_…`), or on all open alerts of a card (`ac_…`) or of a message (`d_…`). Rejects with NOT_FOUND. */
  act(
    id: string,
    action: PersonAction,
    by: Actor,
    role?: Role,
  ): Promise<{ alerts: Alert[]; changed: number; note?: string }>;
  /** People gave the clock of an alert more time. Does nothing when there is no such alert. */
  extended(fingerprint: string, by: Actor, reason: string): Promise<void>;
  whoExtended(fingerprint: string): Promise<{ by: string; at: number } | undefined>;
  get(id: string): Promise<Alert | undefined>;
  /** The open alert that has the same cause, when this one has ended: it fired again under another id. */
  firedAgain(alert: Alert): Promise<Alert | undefined>;
  /** All details of one alert, with every button, as this chat shows them. Throws NOT_FOUND. */
  details(id: string, destination: string): Promise<OutboundMessage>;
  /** Reminders and escalation steps that come by themselves, the earliest first. Throws NOT_FOUND. */
  coming(id: string): Promise<Coming[]>;
  /** The buttons that snooze the alert. Throws NOT_FOUND. */
  snoozeButtons(id: string, destination: string): Promise<Button[]>;
  list(filter: AlertFilter): Promise<Alert[]>;
  /** All accounts (`platform:id`) of the person with this one, this one first. */
  accountsOf(ref: string): string[];
  /** A line for lists: the person, the time and reason of their wait, their last words, its id. */
  line(alert: Alert): Promise<string>;
  /** The alert is open, and each chat that should show it did not take it. */
  isPostedNowhere(alert: Alert): Promise<boolean>;
  /**
   * The open alert that was posted last in this chat (a formatted address), else anywhere; about work before about the gateway. `person`:
   * the account (`platform:id`) whose private chat it is: some platforms give that chat another id than the one that pages are sent to.
   */
  last(destination: string | undefined, person?: string): Promise<Alert | undefined>;
  counts: Store["alerts"]["counts"];
  history(id: string): Promise<AlertEvent[]>;
  silences: {
    list(): readonly Silence[];
    /** Maintenance windows of the configuration that are in force or still to come. */
    maintenance(): MaintenanceWindow[];
    add(matchers: readonly string[], forMs: number, comment: string, by: Actor): Promise<Silence>;
    expire(id: string): Promise<Silence | undefined>;
    /** The problem of a matcher; undefined when there is none. */
    problemOf(matcher: string): string | undefined;
    /** No stored alert matches the matcher, and nothing in the configuration does: it may be misspelt. */
    isUnknown(matcher: string): Promise<boolean>;
    /** The label that the matcher asks for, when no stored alert has it. */
    unknownLabel(matcher: string): Promise<{ name: string; known: string[] } | undefined>;
    /** The policy that the matcher names, `policy=replies`; undefined when it names none, or by a pattern. */
    policyOf(matcher: string): string | undefined;
  };
  digest(): Promise<Digest>;
  /** The people on call, by rota. `until`: when that changes; `gaps`: the first stretches of the next 90 days without anyone. */
  onCall(): Promise<RotaView[]>;
  nextBusinessHour(): number;
  /** The zone of business hours, for times of day that a person types. */
  timezone(): string;
  /** Sends a test message to the destination that the alert reports as not reached, and returns it. Undefined for other alerts. */
  test(id: string): Promise<string | undefined>;
  /**
   * The delivery of a card (`ac_…`), of a notice of an alert (`al_…`), or of the digest (`digest`) has ended: it is looked after at
   * once.
   */
  delivered(id: string): void;
  /** A person deleted the card's message: it is posted again while an alert on it is open. */
  deleted(cardId: string): void;
  /** An operator sends a lost or held delivery again. True for a page, whose words are of the time when it was due: it is written again. */
  sendAnew(deliveryId: string): Promise<boolean>;
  /**
   * A person (`platform:id`) wrote or pressed something in their private chat with the bot: a test message finds out whether one that
   * refused alerts takes them again.
   */
  heardFrom(ref: string): void;
  /** Looks under way and waiting for room. */
  readonly depth: Work["depth"];
  /**
   * Called before a start, while nothing is sent yet: pages that a stop or a crash left and that are late by now are written again at the
   * start.
   */
  withdrawLatePages(): Promise<void>;
  start(): Promise<void>;
  /** Other settings: resolves with a function that puts them in force. Alerts that are open follow them, with their cards. */
  prepare(config: AlertsConfig): Promise<() => void>;
  stop(): Promise<void>;
  sweep(now: number): Promise<number>;
}
