/** Events of the gateway for the metrics. Plain functions that must return at once and never throw. */
import type { InboundEvent } from "../domain/chat/event.js";
import type { Cause } from "../domain/journal.js";
import type { DeliveryStatus } from "../domain/store.js";

export interface Observer {
  /** An event is on disk, for the first time. */
  eventAccepted?(event: InboundEvent): void;
  /** An event is done or dead; `outcome` as in its row; `latencyMs` since it arrived. */
  eventSettled?(platform: string, outcome: string, latencyMs: number): void;
  /** A delivery reached a status that it stays in; `latencyMs` since it was made; `cause`: what it was for. */
  deliverySettled?(platform: string, status: DeliveryStatus, latencyMs: number, cause: Cause): void;
  /** A person deleted a message that we posted; `cause`: what it was for. */
  ownMessageDeleted?(cause: Cause): void;
  /** A platform answered one request. */
  requestAnswered?(platform: string, result: string, latencyMs: number): void;
}
