/**
 * The dependencies of messages about alerts besides those of the pipeline: the gateway's verbs, the fate of deliveries, and the message
 * budget.
 */

import type { AlertSignal, ClockStanding } from "../../domain/alerts/alert-signal.js";
import type { Address } from "../../domain/chat/address.js";
import type { OutboundMessage } from "../../domain/chat/message.js";
import type { Cause } from "../../domain/journal.js";
import type { Delivery, DeliveryUrgency, Pause } from "../../domain/store.js";
import type { Alerting } from "../alerting.js";
import type { Occasion } from "../pipeline.js";
import type { Budget } from "./budget.js";

export interface TellingOptions {
  cause: Cause;
  deliveryId: string;
  /** A message that cannot be sent is cancelled, and is no dead letter. */
  isCourtesy?: boolean;
  /** The message becomes a dead letter when it is not sent within this time. */
  ttlMs?: number;
  /** The message goes before or after others that wait for its chat, in order with those of the same urgency. */
  urgency?: DeliveryUrgency | undefined;
}

export interface Telling extends Alerting {
  send(at: Address, message: OutboundMessage, options: TellingOptions): Promise<string>;
  edit(deliveryId: string, message: OutboundMessage, options: TellingOptions): Promise<string>;
  /** Deletes dead letters: their messages are written again. `reason`: for hooks, of one that is held. */
  discard(deliveryIds: readonly string[], reason?: string): Promise<unknown>;
  /** Cancels a delivery that is not being sent yet; false when it is too late for that. */
  withdraw(deliveryId: string, reason: string): Promise<boolean>;
  deliveryOf(deliveryId: string): Promise<Delivery | undefined>;
  /** A change of this message, which was not posted itself, posted it. */
  wasPosted(deliveryId: string): Promise<boolean>;
  /** The pause of this chat while it lasts. Undefined when its whole platform is paused or away. */
  pauseOf(destination: string): Pause | undefined;
  /** POSTs a JSON body; rejects when it was not taken. */
  post(url: string, id: string, body: unknown): Promise<void>;
  run(occasion: Occasion): Promise<unknown>;
  /** An alert about alerting. The episode is counted here. */
  raiseOwn(signal: Omit<AlertSignal, "episode" | "at">): Promise<void>;
  /** Takes out secrets, which must not be shown. */
  mask(text: string): string;
  /** A link to the message that a delivery posted, where its platform has links. */
  linkTo(deliveryId: string): Promise<string | undefined>;
  standing(clockId: string): Promise<ClockStanding | undefined>;
  readonly budget: Budget;
}
