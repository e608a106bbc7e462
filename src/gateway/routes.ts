/** A plugin's own default route: gets every message that no hook claimed, when the config names the plugin. */
import type { Address } from "../domain/chat/address.js";
import type { InboundMessage, OutboundMessage } from "../domain/chat/message.js";
import type { Cause } from "../domain/journal.js";

export interface RouteResult {
  reply?: OutboundMessage | string;
  routeTo?: Address;
}

export interface RouteContext {
  /** `m<inbox id>`: the same when the message is handled again after a crash. */
  causeId: string;
  /** The message, or the run of a hook whose program wrote it. */
  cause: Cause;
  /** Counts from 1. */
  attempt: number;
  /** Fires when the call is not waited for any more: `gateway.command_timeout` has passed. */
  signal: AbortSignal;
}

/** Throwing counts as failed handling: the message is tried again, then dead-lettered. */
export type Route = (
  message: InboundMessage,
  context: RouteContext,
) => Promise<RouteResult | undefined> | RouteResult | undefined;

/** Routes by plugin id; read at every message, so that a reload counts at once. */
export type Routes = ReadonlyMap<string, Route>;
