/** The status of the gateway: /status, /readyz and the metrics read it. */
import type { AdapterState } from "../domain/chat/adapter.js";
import type { DeliveryStatus, InboxStatus, Pause } from "../domain/store.js";
import type { Work } from "../domain/work.js";
import type { IgnoredCount } from "./people/ignored.js";
import type { Listening } from "./people/listening.js";

export interface AdapterStatus extends AdapterState {
  platform: string;
  /** When it came into this phase (ms since the epoch). */
  since: number;
  /** Since when it fails to stay online, in any phase; undefined at a start, once it was online for a minute, and while it is off. */
  awaySince?: number | undefined;
  /** Hook points whose events the platform never reports. */
  neverReports?: readonly string[];
  /** How often the supervisor had to start it again. */
  restarts: number;
  /** Nothing is sent to the whole platform until then: its own request (`retry_after`), or too many refused requests. */
  pausedUntil?: number;
  pauseReason?: string;
  /** The chats and people that the platform listens to; absent where that is no question (the web chat). */
  listening?: Listening;
  /** Conversations that have something to send and wait for the platform to come back. */
  conversationsWaiting: number;
}

/** A message that the default route of a plugin has, or gets again because it did not answer in time. */
export interface RouteCall {
  /** `m5`. */
  messageId: string;
  /** Formatted address. */
  conversation: string;
  plugin: string;
  /** Undefined while no call is under way. */
  forMs: number | undefined;
  /** Calls for this message that `gateway.command_timeout` ended. */
  timeouts: number;
}

/** Work that an earlier process was cut off in is done one at a time, and may keep other work waiting. */
export interface Turns {
  /** Messages and deliveries: `m5`, `d_m5r`. */
  waiting: readonly string[];
  /** The one that they wait for, where it is a message or a delivery. */
  current?: string | undefined;
}

export interface GatewayStatus {
  /** True between `start()` and `stop()`. */
  running: boolean;
  /** Every platform that is switched on, in the order of the configuration. */
  adapters: AdapterStatus[];
  inbox: Record<InboxStatus, number>;
  outbox: Record<DeliveryStatus, number>;
  /** New messages wait on their platforms until some are handled: `gateway.max_waiting` is reached, or a platform waits for long. */
  heldBack?: { forMs: number; unfinished: number; most?: { conversation: string; messages: number } } | undefined;
  /** Lanes under way and waiting for room. */
  lanes: Work["depth"];
  /** Absent while nothing waits so. */
  turns?: Turns | undefined;
  /** The calls that plugins with the default route are working on. */
  routed: RouteCall[];
  /** Conversations being sent to, and those waiting for room or for a rate limit. */
  sending: Work["depth"];
  /** Messages that access rules kept from an answer, since the start. */
  ignored: IgnoredCount[];
  /** Platforms or chats that asked for a pause that still lasts, and groups in which messages wait for the gateway's own limit. */
  pauses: Pause[];
}
