/**
 * The contract of a chat platform. An adapter decodes, encodes and transports: no retries, no access rules, no business
 * words. It imports domain and lib only, and `gateway/outbound.ts` is the only caller of `send`.
 */

import type { LostFile } from "../../lib/files/lost-file.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";
import type { Address } from "./address.js";
import type { Choice, CommandSpec, CompletionQuery } from "./command.js";
import type { InboundEvent, InteractionRef } from "./event.js";
import type { Attachment, Form, InboundMessage, OutboundMessage } from "./message.js";

export type AdapterPhase = "off" | "connecting" | "online" | "reconnecting" | "offline";

export interface AdapterState {
  phase: AdapterPhase;
  /** Why it is not online, for the operator; or a remark while online. No secrets. */
  reason?: string;
  /** The operator's next step. */
  hint?: string | undefined;
  /** Only incoming events are in trouble: messages go out meanwhile. */
  isSending?: true;
  /** Set as soon as it is known. */
  botId?: string;
  botName?: string;
  /** Where a person adds the bot account to a server or group, once it is known. */
  inviteUrl?: string;
}

/** How the adapter must acknowledge an interaction, decided by the gateway after the durable write. */
export type Acknowledgement =
  | { kind: "defer"; isPrivate: boolean }
  | { kind: "defer-update" }
  | { kind: "form"; form: Form; token: string }
  /** No acknowledgement of its own: a short private text follows through the interaction (`isNotice`), and is its acknowledgement. */
  | { kind: "notice" }
  | { kind: "none" };

/** `duplicate`: the event was seen before; acknowledge it to the platform and do nothing else. */
export interface Accepted {
  kind: "accepted" | "duplicate";
  acknowledge: Acknowledgement;
}

/** The functions that the gateway offers an adapter. */
export interface GatewayPort {
  /**
   * Stores the event. Resolves when it is on disk: only then may the adapter acknowledge it to the platform (confirm an offset, answer a
   * webhook, store a sequence number). Slows down (stays pending) when too much is waiting; messages of a sender with too much waiting are
   * stored as not taken. Rejects when the store cannot take the event: do not acknowledge it; the platform will hand it over again.
   */
  accept(event: InboundEvent): Promise<Accepted>;
  /**
   * Undefined while incoming events are worked off from memory; else resolves when they are again. For events that can wait outside, and
   * cost less there; `accept` takes them without it, and reads them back from the disk when their turn comes. Absent: always.
   */
  room?(): Promise<void> | undefined;
  /**
   * For a platform that can refuse a message before the person writes it. Throws the reason why `accept` would not take the message, or
   * would keep it waiting; else it counts as a message that waits, until the returned function is called (right before `accept`, or when it
   * is not written). `text`: a command is always taken. Absent: every message is.
   */
  reserve?(userId: string, text?: string): () => void;
  /** Whether this gateway made the token of a button, for a platform that can refuse a press with another one. Absent: not known. */
  madeToken?(token: string): boolean;
  /** The platform asks for a pause of all requests, connecting included. It is stored, shown in /pauses, and can be lifted. */
  pause(askedMs: number, reason: string): void;
  /**
   * The pause that the platform asked for, while it lasts, also from before a restart. The gateway makes no requests to the platform
   * meanwhile.
   */
  paused(): { leftMs: number; reason: string } | undefined;
  /** A fresh address for another platform's file, as that platform's adapter gives it. Absent: there is none. */
  freshLink?(file: Attachment, signal: AbortSignal): Promise<string | undefined>;
  complete(query: CompletionQuery): Promise<Choice[]>;
  /** The command table, to register with the platform. */
  commands(): readonly CommandSpec[];
  /** Reported on every change; shown in /status and /readyz. */
  state(state: AdapterState): void;
}

/**
 * Small durable facts of an adapter: last seen ids, session info, offsets, hash of the registered commands. Other parts have cursors of
 * their own.
 */
export interface CursorStore {
  get(key: string): string | undefined;
  /** Resolves when it is on disk; writes of one tick share a transaction. `undefined` removes. */
  set(key: string, value: string | undefined): Promise<void>;
  /** All entries whose key starts with `prefix`. */
  list(prefix: string): { key: string; value: string }[];
}

/** Cursors whose keys start with one of these show how far a platform was read. Without them an adapter reads from now on. */
export const READ_POSITIONS: readonly string[] = ["session:", "seen", "gap", "owed:"];

export interface AdapterContext {
  gateway: GatewayPort;
  cursors: CursorStore;
  clock: Clock;
  logger: Logger;
}

/**
 * The part of a message that fits into one request of the platform: made by `encode`, stored as JSON, given back to `send` after any
 * restart.
 */
export interface EncodedPart {
  /** The text that a person reads, for previews and the journal. */
  text: string;
  /** The platform's own request body, as JSON. */
  body: Record<string, unknown>;
  /** The part carries a file, whose bytes take their time on a slow line. */
  hasFile?: true;
}

/** The files of a part are fetched before the platform gets any request: nothing is in doubt until then. */
export interface FileFetch {
  /** The time for all files together: a file that was not fetched by then may be fetched later. */
  withinMs: number;
  /** Called when no more files are fetched, and before the first request that may post. */
  onEnd(): void;
}

export type SendOperation = {
  /**
   * The id of the platform's message that the whole message starts with, once it is posted: the following parts belong to it (a post in a
   * forum).
   */
  firstMessageId?: string;
} & (
  | {
      kind: "create";
      address: Address;
      part: EncodedPart;
      /** The nonce is the same for every attempt of this part, and has at most 25 characters. Platforms that can, deduplicate by it. */
      nonce: string;
      /** Answer through the interaction while it is open. `first` = the deferred answer itself, else a follow-up. */
      interaction?: InteractionRef & { first: boolean };
      /** Only this person should see it, where the platform can do that in place (web). */
      visibleTo?: string;
      /** No other attempt follows to fetch a file: a file that cannot be fetched now is named in the text. */
      isLastAttempt?: boolean;
      /** For a part with files. */
      fetch?: FileFetch;
      /**
       * An earlier attempt may have been posted: this attempt must not post a second message, by another kind of request or without its
       * nonce.
       */
      mayHaveArrived?: boolean;
    }
  | {
      kind: "edit";
      address: Address;
      messageId: string;
      part: EncodedPart;
      interaction?: InteractionRef;
      isLastAttempt?: boolean;
      fetch?: FileFetch;
    }
  | { kind: "delete"; address: Address; messageId: string; interaction?: InteractionRef }
);

/** The adapter reports the result; the gateway alone decides the next step. */
export type SendResult =
  /** `lostFiles`: a line of text replaces each of them. */
  | { kind: "sent"; messageId: string; lostFiles?: readonly LostFile[] }
  /**
   * Nothing was posted, and the same request may work later. `afterMs`: the wait that the platform asks for. `scope`: the extent of the
   * pause. `delivery`: only this change of a message pauses; new messages in its chat are not limited. `file`: nothing pauses, because a
   * file could not be fetched from another server, which `afterMs` is from; it uses an attempt. The last attempt never has it, and names
   * the file in the text instead. `isUntried`, with `afterMs`: no request was made, so it counts as no attempt. `isGrowing`, with
   * `afterMs`: the wait is at least so long, and longer with each attempt.
   */
  | {
      kind: "retry";
      error: string;
      afterMs?: number | undefined;
      isGrowing?: true;
      scope: "file" | "delivery" | "chat" | "bot";
      isUntried?: true | undefined;
    }
  /**
   * The request was written and no answer came: it may or may not have been posted, or changed. `mayRepeat: false`: not even where the
   * platform's creates are idempotent (a private follow-up on Discord).
   */
  | { kind: "ambiguous"; error: string; mayRepeat?: false }
  /** The platform refused the formatting: the gateway encodes again as plain text. */
  | { kind: "format"; error: string }
  /** The chat has another id now. */
  | { kind: "moved"; toChatId: string }
  /**
   * The message to edit or delete is gone, or cannot be changed. `isNowhere`: nothing of it is there, not even the change of an attempt
   * that got no answer. `isLeft`: it is there and cannot be edited.
   */
  | { kind: "gone"; error: string; isNowhere?: true; isLeft?: true }
  /**
   * The interaction is closed: the gateway sends an ordinary message. `isUnposted`: no attempt, not even one without an answer, has shown
   * its text.
   */
  | { kind: "interaction-closed"; error: string; isUnposted?: true }
  /** The request will never work. `isChatGone`: nothing can be posted in the chat any more, and its messages are gone, too. */
  | { kind: "permanent"; error: string; isChatGone?: true };

export interface RateLimits {
  /** Requests per second for the whole bot account. */
  perSecond: number;
  perChatPerSecond?: number;
  /** In chats that are not DMs. */
  perGroupPerMinute?: number;
}

export interface AdapterTraits {
  /** A create with the same nonce posts once: an ambiguous send may be repeated. */
  idempotentCreate: boolean;
  /** Chats where `idempotentCreate` does not hold (a forum, where a create opens a thread). Absent: it holds in all. */
  isExceptionIn?(chatId: string): boolean;
  /** How long the platform remembers a nonce; absent = for ever. */
  idempotentForMs?: number;
  /**
   * Events that the gateway does not take in wait on the platform, in order: better there than here. Absent = no: events come whether the
   * gateway keeps up or not.
   */
  keepsBacklog?: boolean;
  /** Hook points whose events the platform never reports, so that hooks there never run for it. */
  neverReports?: readonly string[];
  /**
   * A message id counts in its chat only: once the chat moved, the same id is another message's. Absent = no: an id names one message
   * everywhere.
   */
  idsPerChat?: boolean;
  /** The platform can show forms. Absent = no: messages ask for the fields of a form, and people reply to them. */
  forms?: boolean;
  limits: RateLimits;
  /**
   * Edits and deletions do not wait while the platform limits new messages to their chat. Absent = no: a limit of a chat concerns all of
   * it.
   */
  limitsChangesApart?: boolean;
  /** Whether a chat is a group for `perGroupPerMinute`. */
  isGroup(chatId: string): boolean;
  /** Where a private answer to this person goes when the chat cannot show one in place; undefined = in place. */
  privateAddress(at: Address, userId: string): Address | undefined;
  /** Where a person can be found, for a reader who may not read the DM that the person wrote in. Its scheme may be the platform's own. */
  linkToPerson?(userId: string): string | undefined;
  /** The chat that a thread hangs under, as far as it is known. Absent: no thread is a chat of its own. */
  parentOf?(chatId: string): string | undefined;
  /** How people call a chat (`#support`, `#support › order 12`, `Sales`), as far as it is known. Absent: chats have no names. */
  placeName?(at: Address): string | undefined;
  /** The text of a message for people on other platforms: names in place of the platform's ids. Absent: its text as it is. */
  readableText?(message: InboundMessage): string;
  /** Where a browser shows a message to the members of its chat; undefined where nothing leads (a DM). Absent: nowhere. */
  linkTo?(at: Address, messageId: string, guildId: string | undefined): string | undefined;
}

export interface Adapter {
  readonly platform: string;
  readonly traits: AdapterTraits;
  /**
   * Connects and serves until `signal` aborts, then stops taking in, waits for work under way, and resolves. Rejects
   * with a `HookgateError` when it cannot go on: the supervisor restarts a `retryable` one with back-off, and at the
   * earliest after its `retryAfterMs`. Any other is `offline` with its reason (a wrong token), and started again only when it has a
   * `retryAfterMs`. An error of the store (STORE_…) is no fault of the platform: it is restarted. Reports its state through the gateway
   * port.
   */
  run(context: AdapterContext, signal: AbortSignal): Promise<void>;
  /**
   * Pure: a message as the platform's requests, in order; never empty. `plain` drops all formatting. Cards and buttons that the platform
   * lacks become text.
   */
  encode(message: OutboundMessage, at: Address, options: { plain: boolean }): EncodedPart[];
  /**
   * Pure: one part without formatting, with its files and buttons; links to press may become text. For a part that the platform refused
   * after others of its message were sent. Undefined when it is as plain as it can be. Absent: its readable text is all there is to it.
   */
  plainPart?(part: EncodedPart): EncodedPart[] | undefined;
  /**
   * The bytes of a file that has no address of its own (its `url` is empty), for a copy on another platform. Rejects when it
   * is gone or too large; with a retryable `HookgateError` when the same call may work later. Absent: every file of the platform has an
   * address.
   */
  fetchAttachment?(file: Attachment, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * A fresh address for a file of the platform whose address has expired; undefined when it gives none. Rejects when it refuses; with a
   * retryable `HookgateError` when the platform is not connected, limits requests or is in trouble. Absent: its addresses do not expire.
   */
  freshLink?(url: string, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Opens the thread under a message of ours, or finds it; undefined where this chat has none. Rejects when the platform opens none: with
   * `threadRefused`, or with a retryable `HookgateError` when it may work later. Absent: the platform has no threads under messages.
   */
  openThread?(at: Address, messageId: string, name: string): Promise<Address | undefined>;
  /**
   * Opens a thread of its own, under no message, by its name; undefined where this chat has none. Rejects as `openThread` does. Called
   * twice it opens two, so a caller that wants one remembers it. For platforms without threads under messages.
   */
  openTopic?(at: Address, name: string): Promise<Address | undefined>;
  /**
   * Whether this account can read the chat, so that a mention there notifies it; undefined when the platform does not report it. Rejects
   * when the platform cannot be asked. Absent: the platform is never asked, and everyone counts as a reader.
   */
  isReader?(at: Address, userId: string, signal: AbortSignal): Promise<boolean | undefined>;
  /** An operator lifted a pause of this platform: limits remembered from earlier answers are forgotten, and the platform is asked again. */
  forgetLimits?(): void;
  /**
   * Makes one request. Never throws for an answer of the platform; a thrown error counts as ambiguous. Only valid while `run` is under way.
   * The signal of a part with files aborts when the gateway gives it up: nothing of it may be posted after that.
   */
  send(operation: SendOperation, signal: AbortSignal): Promise<SendResult>;
}
