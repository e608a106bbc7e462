/** The dependencies that the steps of the outbound flow share, and the values by which a step gives what comes next. */

import type { Delivery } from "../../domain/store.js";
import type { ActionTokens } from "../action-tokens.js";
import type { Conversations } from "../conversations.js";
import type { Deps } from "../deps.js";
import type { SendGate } from "../send-gate.js";
import type { Outages } from "./outages.js";
import type { Parking } from "./parking.js";
import type { Pauses } from "./pauses.js";
import type { RateLimiter } from "./send/rate-limit.js";
import type { Requests } from "./send/request.js";

export interface Outbound extends Deps {
  limiter: RateLimiter;
  pauses: Pauses;
  outages: Outages;
  requests: Requests;
  parking: Parking;
  tokens: ActionTokens;
  /** Warns when a line that a button gives calls no command. */
  checkLine(line: string, delivery: Delivery): void;
  /** Message ids by nonce of parts that the platform confirmed and the store could not take yet. */
  unsaved: Map<string, string>;
  /** Deliveries that an earlier process did not get through the hooks are decided one at a time, while no message is handled. */
  decideSuspect<T>(id: string, decision: () => Promise<T>): Promise<T>;
  /** Requests that a crash would leave in doubt enter it before they are marked on disk, and leave it when their result is stored. */
  gate: SendGate;
  isStopping(): boolean;
  /** When this process started (ms since the epoch, by the clock as it is set now). */
  startedAt: number;
  /** Hooks have been notified of the end of a delivery, well or badly. */
  endNotified(deliveryId: string): void;
  conversations: Conversations;
  /** Something changed in this queue of the outbox: it is read from the store. */
  wake(queue: string): void;
}

/**
 * `next`: this delivery is settled. `again`: it was changed in the store, and is processed again at once. A number: come back at that
 * time (ms since the epoch); undefined: another event wakes it.
 */
export type Then = "next" | "again" | number | undefined;
