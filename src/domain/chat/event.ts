/** The events that an adapter can bring in. Every event is stored under (platform, botId, chatId, eventId) before anything else happens. */
import { type Address, formatAddress } from "./address.js";
import type { OptionValue } from "./command.js";
import type { InboundMessage } from "./message.js";

/** A live interaction (slash command, button, form) that can still be answered through the platform's own reply channel. */
export interface InteractionRef {
  id: string;
  token: string;
  /** After this (ms since the epoch) the reply channel is closed and answers are ordinary messages. */
  expiresAt: number;
  /** The acknowledgement promised a private answer. */
  isPrivate: boolean;
  /** The interaction can show one short private text (a refusal) and nothing else: Telegram's answer to a press. */
  isNotice?: true;
  /** The message that carried the button stays as it is: answers are posted beside it. */
  isFollowUp?: true;
}

interface EventBase {
  /**
   * Unique in its chat: the message id; for an edit `edit:<id>:<edited at>`, for a deletion `delete:<id>`; for an interaction
   * `interaction:<id>`; …
   */
  eventId: string;
}

/** A message that a person wrote. `eventId` is its message id. */
export interface MessageEvent extends EventBase {
  kind: "message";
  message: InboundMessage;
}
/** A person edited a message: the new text, `isEdit: true`. */
export interface EditedEvent extends EventBase {
  kind: "edited";
  message: InboundMessage;
}
export interface DeletedEvent extends EventBase {
  kind: "deleted";
  address: Address;
  messageId: string;
  userId?: string;
  at: number;
  writtenBy?: InboundMessage["writtenBy"];
}
export interface ReactionEvent extends EventBase {
  kind: "reaction";
  address: Address;
  messageId: string;
  userId: string;
  emoji: string;
  isDm: boolean;
  guildId?: string;
  at: number;
  writtenBy?: InboundMessage["writtenBy"];
}
/** A command given in the platform's own form (a slash command). `message.text` holds it written out: `/hooks show x`. */
export interface CommandEvent extends EventBase {
  kind: "command";
  message: InboundMessage;
  name: string;
  options: Record<string, OptionValue>;
  interaction: InteractionRef;
}
/** A press on a button, or a form sent in. `message.messageId` is the message that carried the button; the text is empty. */
export interface ActionEvent extends EventBase {
  kind: "action";
  message: InboundMessage;
  token: string;
  /** Values of its form, by field id. */
  values?: Record<string, string>;
  interaction?: InteractionRef;
}
/** A chat got another id (Telegram group → supergroup). */
export interface MovedEvent extends EventBase {
  kind: "moved";
  address: Address;
  toChatId: string;
  at: number;
}

export type InboundEvent =
  | MessageEvent
  | EditedEvent
  | DeletedEvent
  | ReactionEvent
  | CommandEvent
  | ActionEvent
  | MovedEvent;

/** The conversation that an event belongs to. */
export function addressOf(event: InboundEvent): Address {
  if ("address" in event) return event.address;
  const { platform, botId, chatId, threadId } = event.message;
  return threadId === undefined ? { platform, botId, chatId } : { platform, botId, chatId, threadId };
}

/** The address of an event as one text. */
export function conversationOf(event: InboundEvent): string {
  return formatAddress(addressOf(event));
}
