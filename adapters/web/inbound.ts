/** People's actions on the page: stored in the chat, offered to the gateway, and only then confirmed. */

import type { Acknowledgement, GatewayPort } from "../../src/domain/chat/adapter.js";
import { namedOption } from "../../src/domain/chat/command.js";
import type { InboundEvent } from "../../src/domain/chat/event.js";
import type { WebChatChange, WebChatMessage, WebChatStore, WebRoom } from "../../src/domain/store.js";
import type { InTurnByKey } from "../../src/lib/concurrency/in-turn.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { Clock } from "../../src/lib/time/clock.js";
import { type RowBody, readBody } from "./body.js";
import {
  createdEvent,
  deletedEvent,
  editedEvent,
  interactionOf,
  messageOf,
  type RowFacts,
  reactionEvent,
} from "./events.js";
import type { Feed } from "./feed.js";
import { writtenHtml } from "./format.js";
import type { Offers } from "./offers.js";
import type { Commanding, Place, Pressing, Saying, WebPerson, Writing } from "./port.js";
import type { Rooms } from "./rooms.js";
import { maySeeMessage } from "./view.js";

export interface InboundDeps {
  store: WebChatStore;
  rooms: Rooms;
  feed: Feed;
  /** Changes of a message read it before they write it: one after the other for each message. */
  changes: InTurnByKey<number>;
  gatewayName: string;
  maxText: number;
  /** Throws WEB_OFFLINE unless the adapter is running. */
  online(): { gateway: GatewayPort; clock: Clock; offers: Offers };
}

export async function say(deps: InboundDeps, person: WebPerson, saying: Saying): Promise<WebChatMessage> {
  if (saying.text.trim() === "" && saying.attachments.length === 0)
    throw new HookgateError({ code: "TEXT_EMPTY", message: "a message needs a text or a file" });
  needLength(deps, saying.text);
  const body: RowBody = { html: writtenHtml(saying.text), ...writingOf(saying) };
  if (saying.attachments.length > 0) body.attachments = saying.attachments;
  return create(deps, person, { ...saying, body });
}

/** A command with named options; its row shows it written out. */
export async function command(deps: InboundDeps, person: WebPerson, given: Commanding): Promise<WebChatMessage> {
  const words = Object.entries(given.options).map(([name, value]) => namedOption(name, value));
  const text = [`/${given.name}`, ...words].join(" ");
  needLength(deps, text);
  const body: RowBody = {
    html: writtenHtml(text),
    ...writingOf(given),
    command: { name: given.name, options: given.options },
  };
  return create(deps, person, { ...given, text, body });
}

export function edit(
  deps: InboundDeps,
  person: WebPerson,
  messageId: number,
  text: string,
  nonce: string,
  writtenBy?: Writing["writtenBy"],
) {
  const { clock } = deps.online();
  if (text.trim() === "") throw new HookgateError({ code: "TEXT_EMPTY", message: "a message needs a text" });
  needLength(deps, text);
  return change(deps, person, messageId, async (row) => {
    needOwn(person, row);
    needAlive(row);
    // Who writes it now, not who wrote it first.
    const { writtenBy: _before, ...body } = readBody(row);
    const isRepeat = body.editNonce === nonce;
    // The row's own time makes the event's id: two edits in one millisecond must not look like one.
    const at = Math.max(clock.now(), (row.editedAt ?? row.at) + 1);
    const next: RowBody = { ...body, writtenBy, html: writtenHtml(text), editNonce: nonce };
    const stored = isRepeat ? undefined : await deps.store.edit(row.id, { text, body: next, at });
    return { stored, event: editedEvent };
  });
}

const writingOf = ({ nonce, writtenBy }: Partial<Writing>): Pick<RowBody, "nonce" | "writtenBy"> => ({
  nonce,
  writtenBy,
});

export function remove(deps: InboundDeps, person: WebPerson, messageId: number, writtenBy?: Writing["writtenBy"]) {
  const { clock } = deps.online();
  return change(deps, person, messageId, async (row) => {
    needOwn(person, row);
    const body: RowBody | undefined = writtenBy && { writtenBy };
    const stored = row.deletedAt === undefined ? await deps.store.remove(row.id, clock.now(), body) : undefined;
    return { stored, event: deletedEvent };
  });
}

export function react(
  deps: InboundDeps,
  person: WebPerson,
  messageId: number,
  emoji: string,
  on: boolean,
  writtenBy?: Writing["writtenBy"],
) {
  const { clock } = deps.online();
  return change(deps, person, messageId, async (row, room) => {
    needAlive(row);
    const body = readBody(row);
    const all = body.reactions ?? [];
    const mine = all.find((reaction) => reaction.emoji === emoji && reaction.userId === person.id);
    if (on && new Set([...all.map((reaction) => reaction.emoji), emoji]).size > 20)
      throw new HookgateError({ code: "TOO_MANY_REACTIONS", message: "a message holds 20 different reactions" });
    const reaction = mine ?? { emoji, userId: person.id, at: clock.now(), writtenBy };
    const reactions = on ? [...all.filter((one) => one !== mine), reaction] : all.filter((one) => one !== mine);
    const stored =
      on === (mine !== undefined)
        ? undefined
        : await deps.store.edit(row.id, { text: row.text, body: { ...body, reactions } });
    return { stored, event: on ? (row: WebChatMessage) => reactionEvent(row, reaction, room.isDm) : undefined };
  });
}

/** A press has no row of its own: the inbox alone remembers it, by the nonce. */
export async function press(deps: InboundDeps, person: WebPerson, pressing: Pressing): Promise<Acknowledgement> {
  const { gateway, clock } = deps.online();
  const { row, room } = await findMessage(deps, person, pressing.messageId);
  if (gateway.madeToken?.(pressing.token) === false)
    throw new HookgateError({ code: "NOT_FOUND", message: "this button has expired" });
  const message = messageOf(row, await factsOf(deps, row, room));
  const id = `press:${person.id}:${pressing.nonce}`;
  const at = clock.now();
  const { acknowledge } = await gateway.accept({
    kind: "action",
    eventId: `interaction:${id}`,
    message: {
      ...message,
      userId: person.id,
      displayName: person.name,
      text: "",
      attachments: [],
      isGroupMention: !room.isDm,
      receivedAt: at,
      writtenBy: pressing.writtenBy,
    },
    token: pressing.token,
    values: pressing.values,
    interaction: interactionOf(id, person.id, at),
  });
  return acknowledge;
}

/** The message, when this person may see it. */
export async function findMessage(
  deps: Pick<InboundDeps, "store" | "rooms">,
  person: WebPerson,
  messageId: number,
): Promise<{ row: WebChatMessage; room: WebRoom }> {
  const row = await deps.store.get(messageId);
  if (!row || !maySeeMessage(person, row)) throw gone();
  try {
    return { row, room: await deps.rooms.need(person, row.roomId) };
  } catch {
    throw gone(); // does not reveal whether it is in another person's room
  }
}

interface Creation extends Place {
  text: string;
  body: RowBody;
  nonce: string;
  replyToId?: number;
}

/** A refusal comes before the write: a message in the chat must be handled. `release` is called right before it is accepted. */
async function inReserve<T>(
  { gateway, userId, text }: { gateway: GatewayPort; userId: string; text?: string },
  write: (release: () => void) => Promise<T>,
): Promise<T> {
  const release = gateway.reserve?.(userId, text) ?? (() => {});
  try {
    return await write(release);
  } finally {
    release();
  }
}

async function create(deps: InboundDeps, person: WebPerson, creation: Creation): Promise<WebChatMessage> {
  const { gateway } = deps.online();
  const room = await deps.rooms.need(person, creation.roomId);
  return inReserve({ gateway, userId: person.id, text: creation.text }, (release) =>
    createIn(room, deps, person, creation, release),
  );
}

async function createIn(
  room: WebRoom,
  deps: InboundDeps,
  person: WebPerson,
  creation: Creation,
  release: () => void,
): Promise<WebChatMessage> {
  const { clock, offers } = deps.online();
  await needPlace(deps, person, creation);
  const offer = offers.open();
  let stored: WebChatChange;
  try {
    stored = await deps.store.post(
      {
        roomId: room.id,
        threadId: creation.threadId,
        replyToId: creation.replyToId,
        userId: person.id,
        userName: person.name,
        text: creation.text,
        body: creation.body,
        at: clock.now(),
      },
      `person:${person.id}:${creation.nonce}`,
    );
  } catch (error) {
    offer.dropped();
    throw error;
  }
  offer.stored(stored.seq);
  deps.feed.wake("messages");
  // The event comes from the row, not from the request: a page that tries again gets the row, and the event, of its first try.
  const event = createdEvent(stored.message, await factsOf(deps, stored.message, room));
  release();
  await offer.accept(event);
  return stored.message;
}

interface Changed {
  /** Undefined when the row was so already: the event is offered all the same, because the first try may have died before. */
  stored: WebChatChange | undefined;
  event?: (row: WebChatMessage, facts: RowFacts) => InboundEvent;
}

function change(
  deps: InboundDeps,
  person: WebPerson,
  messageId: number,
  apply: (row: WebChatMessage, room: WebRoom) => Promise<Changed>,
): Promise<WebChatMessage> {
  const changeIt = async (release: () => void) => {
    const { offers } = deps.online();
    const { row, room } = await findMessage(deps, person, messageId);
    const offer = offers.open();
    let changed: Changed;
    try {
      changed = await apply(row, room);
    } catch (error) {
      offer.dropped();
      throw error;
    }
    const now = changed.stored?.message ?? row;
    if (changed.stored) {
      offer.stored(changed.stored.seq);
      deps.feed.wake("messages");
    }
    if (!changed.event) {
      offer.dropped();
      return now;
    }
    const event = changed.event(now, await factsOf(deps, now, room));
    release();
    await offer.accept(event);
    return now;
  };
  return deps.changes.run(messageId, () => inReserve({ gateway: deps.online().gateway, userId: person.id }, changeIt));
}

async function factsOf(deps: InboundDeps, row: WebChatMessage, room: WebRoom): Promise<RowFacts> {
  const replyTo = row.replyToId === undefined ? undefined : await deps.store.get(row.replyToId);
  return { isDm: room.isDm, gatewayName: deps.gatewayName, replyTo };
}

/** A thread hangs under a message of the same room that is in no thread itself; a reply answers a message of the same room. */
async function needPlace(deps: InboundDeps, person: WebPerson, place: Place & { replyToId?: number }): Promise<void> {
  if (place.threadId !== undefined) {
    const { row } = await findMessage(deps, person, Number(place.threadId));
    if (row.roomId !== place.roomId || row.threadId !== undefined) throw gone();
  }
  if (place.replyToId !== undefined) {
    const { row } = await findMessage(deps, person, place.replyToId);
    if (row.roomId !== place.roomId) throw gone();
  }
}

function needOwn(person: WebPerson, row: WebChatMessage): void {
  if (row.userId === person.id) return;
  throw new HookgateError({ code: "NOT_YOURS", message: "this message was written by another person" });
}

function needAlive(row: WebChatMessage): void {
  if (row.deletedAt !== undefined) throw gone();
}

function needLength(deps: InboundDeps, text: string): void {
  if (text.length <= deps.maxText) return;
  throw new HookgateError({
    code: "TEXT_TOO_LONG",
    message: `a message holds ${deps.maxText} characters, this one has ${text.length}`,
    hint: "Send it in parts, or as a file.",
  });
}

function gone(): HookgateError {
  return new HookgateError({ code: "MESSAGE_NOT_FOUND", message: "there is no such message here" });
}
