/** The options and the interface of the gateway. `gateway.ts` composes it; plugins, commands and the HTTP server drive it. */

import type { ConversationWatch } from "../domain/alerts/sla.js";
import type { Adapter } from "../domain/chat/adapter.js";
import type { Address } from "../domain/chat/address.js";
import type { OptionValue } from "../domain/chat/command.js";
import type { InteractionRef } from "../domain/chat/event.js";
import type { Operator } from "../domain/chat/identity.js";
import type { InboundMessage, OutboundMessage } from "../domain/chat/message.js";
import type { Cause } from "../domain/journal.js";
import type { CancelledRest, Delivery, DeliveryUrgency, NewDelivery, Pause, Store } from "../domain/store.js";
import type { HookRegistry } from "../hooks/registry.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import type { OrdinaryStops } from "../pending/ordinary-stops.js";
import type { Pending } from "../pending/pending.js";
import type { Command, CommandAnswer } from "./commands.js";
import type { AccessConfig, GatewayConfig, OperatorsConfig } from "./config.js";
import type { Deps, Offers } from "./deps.js";
import type { RunTurns } from "./inbound/suspects.js";
import type { MovedChats } from "./moved-chats.js";
import type { Observer } from "./observe.js";
import type { Listens, Place } from "./people/access.js";
import type { ConsolePerson, Identify } from "./people/identity.js";
import type { OwnerClaims } from "./people/owner-claims.js";
import type { Routes } from "./routes.js";
import type { GatewayStatus } from "./status.js";

export interface GatewaySettings {
  gateway: GatewayConfig;
  operators: OperatorsConfig;
  /** By platform. The gateway listens to no one on a platform that is not listed. */
  access: Readonly<Record<string, AccessConfig>>;
}

/** To whom a reply is sent, or the room where it is posted for all to read. */
export interface AnswersTo {
  author: string;
  room?: string | undefined;
}

export interface GatewayOptions {
  store: Store;
  moves: MovedChats;
  registry: HookRegistry;
  pending: Pending;
  /** Loaded; absent: each end of a process is a crash. */
  stops?: OrdinaryStops;
  /** The adapters that are switched on. */
  adapters: readonly Adapter[];
  commands: readonly Command[];
  /** Commands of plugins, as they are now. */
  pluginCommands?: () => readonly Command[];
  config: GatewaySettings;
  /** The person who holds the token of the local console; has the role `operators.console`. */
  console?: ConsolePerson;
  clock: Clock;
  logger: Logger;
  routes?: Routes;
  /** Keeps a copy of a file and gives its address, for forwards from platforms whose files have none. */
  keepFile?: (bytes: Uint8Array) => Promise<string>;
  /** Notified of sights of conversations, once each: they are stored together with the settling of the event. */
  watch?: ConversationWatch;
  observe?: Observer;
  /** Called at a start, before anything that a stop or a crash left is sent: it may still be withdrawn. */
  beforeSending?: () => Promise<void>;
  repliedTo?: RepliedTo;
  /** People who were claimed as owners in chat, read at every look-up; and the code that makes the next one. */
  claims?: Pick<OwnerClaims, "owners" | "hasCode" | "find" | "overheard">;
  offers?: Offers;
  /** Whether a run of this hook may post in this conversation; every hook may when absent. */
  mayPost?: (hookId: string, conversation: string) => boolean;
  /** Deliveries that an earlier process was sending, under a clock that was set back since: they may be as old as can be. */
  ofUnknownAge?: ReadonlySet<string>;
  /** The reason of an end as this person may read it; whole when absent. */
  readableReason?: Deps["readableReason"];
  /** Rewrites texts in answers to commands: whole paths of files are shortened. */
  shown?: (text: string) => string;
}

/**
 * A person replies to a message of ours that represents something (a task's card): gives the answer to show, or undefined when it is a
 * message like any other. `id` is the same when it is handled again after a crash.
 */
export type RepliedTo = (
  message: InboundMessage,
  to: Delivery,
  operator: Operator,
  id: string,
) => Promise<OutboundMessage | undefined>;

export interface SendOptions {
  cause: Cause;
  /** Made by `newId("d")` when absent; the same id twice sends once. */
  deliveryId?: string;
  /** Dead-lettered when not sent within this time; the configured `ttl` when absent. */
  ttlMs?: number;
  interaction?: InteractionRef;
  /** Shown to this person only, where the platform can. */
  visibleTo?: string;
  /** When it cannot be sent it is cancelled, and is no dead letter that waits for an operator. */
  isCourtesy?: boolean;
  /** Whether the message goes before or after others that wait for its chat. Messages of the same urgency keep their order. */
  urgency?: DeliveryUrgency;
  /** The plugin that sends it. */
  plugin?: string;
  /** A notice of the gateway itself that no hook may withhold. */
  skipsHooks?: boolean;
  /** The person who is notified when it does not arrive. */
  answers?: NewDelivery["answers"];
}

export interface Invocation {
  /** `/hooks show x`, or the name and its options. */
  line?: string;
  name?: string;
  options?: Record<string, OptionValue>;
  operator: Operator;
  /** The caller; `api` when absent. */
  source?: "api" | "cli";
  at?: Address;
  /** The run of a hook whose program gave it. */
  givenBy?: Cause;
  /** A key that is the same when the command is given again: what the command creates is created once. */
  once?: string;
}

export interface Gateway {
  /** Resumes the work that a stop or crash left, then starts the adapters. Resolves when they were started, not when they are online. */
  start(): Promise<void>;
  /** Adapters stop taking in, work under way ends (bounded by `shutdown_timeout`), the rest stays on disk. */
  stop(): Promise<void>;
  /** Resolves with the delivery's id when it is on disk. */
  send(at: Address, message: OutboundMessage, options: SendOptions): Promise<string>;
  /** With the bot account, as far as it is known, and with the id that the chat has now. */
  currentAddress(at: Address): Address;
  /** The current address, then those that the chat had before it moved. */
  addressesOf(at: Address): Address[];
  /** A new text for the message that a delivery posted (or will post). Rejects with DELIVERY_UNKNOWN. */
  edit(deliveryId: string, message: OutboundMessage, options: SendOptions): Promise<string>;
  /** Deletes the message that a delivery posted. Rejects with DELIVERY_UNKNOWN. */
  remove(deliveryId: string, options: SendOptions): Promise<string>;
  /** Runs a command for the HTTP API and the CLI; audited, fires `command_invoked`. Never rejects because of the command's result. */
  invoke(invocation: Invocation): Promise<CommandAnswer>;
  status(): Promise<GatewayStatus>;
  /**
   * Calls hooks about other work than messages apart from work that may crash the process. `cutOffs`: how often it ended while they ran.
   */
  inTurn<T>(cutOffs: number, work: () => Promise<T>): Promise<T>;
  /** Like `inTurn`, for stored runs in the background. */
  readonly runTurns: RunTurns;
  readonly identify: Identify;
  /** Why a claim of `inbound_claim` cannot be carried out; undefined when it can. */
  refuseClaim(claim: Readonly<Record<string, unknown>>): string | undefined;
  /** How messages of this person are treated there. */
  listens(platform: string, userId: string, place: Place): Listens;
  /** The default route forwards messages to this chat. */
  takesCopies(at: Address): boolean;
  /** Where the answer to this message of ours goes, when it is the copy of another. */
  answersTo(at: Address, messageId: string): Promise<AnswersTo | undefined>;
  /**
   * An operator sends a held or dead delivery after all. `confirmed`: an ambiguous part did arrive. False when there is nothing to
   * release.
   */
  release(deliveryId: string, confirmed?: boolean): Promise<boolean>;
  /**
   * Deletes deliveries that will not be sent, and dead messages of the inbox (`m5`); `delivery_failed` fires for deliveries that were held.
   * `reason`: absent when an operator discards them. Resolves with the ids of those that it deleted. A delivery that is on its way, or was
   * sent, stays.
   */
  discard(ids: readonly string[], reason?: string): Promise<string[]>;
  /** Cancels a delivery of which nothing was sent or is being sent; `delivery_failed` fires. False when it was too late for that. */
  withdraw(deliveryId: string, reason: string): Promise<boolean>;
  /** An operator ends an open delivery, also one that is partly sent; `delivery_failed` fires. Undefined when it is not open any more. */
  cancelRest(deliveryId: string, reason: string): Promise<CancelledRest | undefined>;
  /** The clock was set by so much: a row that waits in the queues keeps the length of its wait. */
  clockStepped(stepMs: number): Promise<void>;
  /** The pause of this chat while it lasts; undefined when only its platform is paused, or away. */
  chatPause(at: Address): Pause | undefined;
  /**
   * Ends a pause of a platform or chat, or all of them; deliveries that waited are sent now. Resolves with the keys of those that were
   * there.
   */
  liftPauses(key?: string): Promise<string[]>;
  /** Handles a dead inbox row again. False when it is not dead. */
  revive(inboxId: number): Promise<boolean>;
}
