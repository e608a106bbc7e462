/** The inputs of the pipeline's steps besides the alert: settings, rules in force, the store, the clock. */

import type { AlertStore } from "../domain/alerts/alert.js";
import type { Severity } from "../domain/alerts/alert-signal.js";
import type { Address } from "../domain/chat/address.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import type { AlertsConfig, RouteConfig } from "./config.js";
import type { Inhibitors } from "./inhibitors.js";
import type { Readers } from "./readers.js";
import type { Silences } from "./silences.js";

export interface AlertPolicy {
  routes?: readonly string[];
  /** Replaces the reminders of the routes. */
  remind?: Partial<RouteConfig["remind"]>;
  buttons?: RouteConfig["buttons"];
  severity?: { warning: Severity; violated: Severity };
}

export interface Alerting {
  readonly config: AlertsConfig;
  readonly store: AlertStore;
  readonly silences: Silences;
  readonly inhibitors: Inhibitors;
  readonly readers: Readers;
  /** The current alert settings of a policy; undefined when there is no such policy. */
  policy?(id: string | undefined): AlertPolicy | undefined;
  /** The chats where admins are notified when the configuration names no place. */
  admins(): readonly Address[];
  /** The private chat of an account (`platform:id`), as a formatted address; undefined where its platform is not switched on. */
  direct(ref: string): string | undefined;
  /** The account (`platform:id`) of a private chat: a message there notifies no one else. Undefined for every other chat. */
  personOf(destination: string): string | undefined;
  /** A chat as the settings spell it. */
  chatOf(at: Address): string;
  /** How people call a chat; undefined when it is not known. */
  placeName?(at: Address): string | undefined;
  /** The name that people use for `platform:id`; the id itself when its name is not known. */
  nameOf(ref: string): string;
  /** A message waits for that place. */
  wakePlace(destination: string): void;
  /** An alert is due then. */
  wakeAt(at: number): void;
  /** Chats where the page may or may not have arrived: a step is repeated as if it had not. */
  readonly inDoubtAt?: readonly string[] | undefined;
  /** Chats in doubt, and a chat that refused its page: a fallback among them does not get another page. */
  readonly lostAt?: readonly string[];
  /** A rule or an alert that keeps alerts quiet changed: open alerts are looked at again whose quiet that changes, and no others. */
  wakeConcerned(): void;
  readonly clock: Clock;
  readonly logger: Logger;
}
