/**
 * The web chat's port for the HTTP routes that serve its page. Writes resolve when the event is on disk in the chat
 * and in the gateway's inbox; a `nonce` makes a repeated write the same write.
 */
import type { Acknowledgement } from "../../src/domain/chat/adapter.js";
import type { Choice, CommandSpec, CompletionQuery, OptionValue } from "../../src/domain/chat/command.js";
import type { Attachment, Button, InboundMessage } from "../../src/domain/chat/message.js";
import type { PageCard } from "./body.js";

/** A person who is logged in. */
export interface WebPerson {
  /** Numeric, as text. */
  id: string;
  name: string;
}

export interface PageRoom {
  id: string;
  name: string;
  isDm: boolean;
  /** The newest message that this person can see, for "unread". */
  lastMessageId?: number;
}

export interface PageAttachment {
  type: Attachment["type"];
  filename: string;
  mimeType: string;
  sizeBytes?: number;
  url: string;
}

/** A message as one person's page sees it. */
export interface PageMessage {
  id: number;
  roomId: string;
  threadId?: string;
  replyToId?: number;
  /** Absent id = the gateway. */
  author: { id?: string; name: string };
  text: string;
  /** Sanitised. */
  html: string;
  at: number;
  editedAt?: number;
  isDeleted?: boolean;
  /** Only this person sees it. */
  isPrivate?: boolean;
  /** On one's own messages: the nonce that it was sent with. */
  nonce?: string;
  card?: PageCard;
  buttons?: Omit<Button, "action">[][];
  attachments?: PageAttachment[];
  reactions?: { emoji: string; userIds: string[] }[];
}

export interface PageChange {
  seq: number;
  message: PageMessage;
}

export interface Place {
  roomId: string;
  threadId?: string;
}

export interface Writing {
  nonce: string;
  /** A hook's program, in a person's name. */
  writtenBy?: InboundMessage["writtenBy"];
}

export interface Saying extends Place, Writing {
  text: string;
  attachments: Attachment[];
  replyToId?: number;
}

export interface Commanding extends Place, Writing {
  name: string;
  options: Record<string, OptionValue>;
}

export interface Pressing extends Writing {
  messageId: number;
  token: string;
  /** The values of a form. */
  values?: Record<string, string>;
}

/** Rejects with ROOM_NOT_FOUND, MESSAGE_NOT_FOUND, NOT_YOURS, TEXT_EMPTY, TEXT_TOO_LONG, BUTTON_GONE, NAME_TAKEN or WEB_OFFLINE (retryable). */
export interface WebPort {
  /** Characters of the longest message. */
  readonly maxText: number;
  rooms(person: WebPerson): Promise<PageRoom[]>;
  createRoom(person: WebPerson, name: string): Promise<PageRoom>;
  /** The newest `limit` before `beforeId` that this person may see, threads included, oldest first; `more` = there are older ones. */
  history(
    person: WebPerson,
    roomId: string,
    beforeId: number | undefined,
    limit: number,
  ): Promise<{ messages: PageMessage[]; more: boolean }>;
  roomOf(person: WebPerson, messageId: number): Promise<string>;
  /** The attachment with its real place, for download. */
  attachment(person: WebPerson, messageId: number, index: number): Promise<Attachment>;
  say(person: WebPerson, saying: Saying): Promise<PageMessage>;
  command(person: WebPerson, commanding: Commanding): Promise<PageMessage>;
  edit(
    person: WebPerson,
    messageId: number,
    text: string,
    nonce: string,
    writtenBy?: Writing["writtenBy"],
  ): Promise<PageMessage>;
  remove(person: WebPerson, messageId: number, writtenBy?: Writing["writtenBy"]): Promise<PageMessage>;
  react(
    person: WebPerson,
    messageId: number,
    emoji: string,
    on: boolean,
    writtenBy?: Writing["writtenBy"],
  ): Promise<PageMessage>;
  /** `form`: the page shows the form, and presses again with its token and values. */
  press(person: WebPerson, pressing: Pressing): Promise<Acknowledgement>;
  complete(person: WebPerson, query: Omit<CompletionQuery, "operator">): Promise<Choice[]>;
  commands(): readonly CommandSpec[];
  lastSeq(): Promise<number>;
  /** The changes after `afterSeq` that this person may see, in order; `seq` in the answer is the last place that was looked at. */
  changes(
    person: WebPerson,
    afterSeq: number,
    limit: number,
  ): Promise<{ seq: number; changes: PageChange[]; done: boolean }>;
  /** Calls back when there may be something new. Returns a function that ends it. */
  subscribe(listener: (what: "messages" | "rooms") => void): () => void;
}
