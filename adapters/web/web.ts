/**
 * The web chat as a platform. Here the platform is ourselves: people's actions come in through `port`, called by the HTTP
 * routes, and the gateway's messages become rows that open pages read.
 */
import type { Adapter, AdapterContext, GatewayPort } from "../../src/domain/chat/adapter.js";
import type { WebChatMessage, WebChatStore } from "../../src/domain/store.js";
import { InTurnByKey } from "../../src/lib/concurrency/in-turn.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { Clock } from "../../src/lib/time/clock.js";
import { readBody } from "./body.js";
import { encodeWeb } from "./encode.js";
import { BOT_ID, PLATFORM } from "./events.js";
import { createFeed } from "./feed.js";
import type { FileAccess, FileOptions } from "./files.js";
import * as inbound from "./inbound.js";
import { Offers } from "./offers.js";
import { send } from "./outbound.js";
import type { PageChange, WebPerson, WebPort } from "./port.js";
import { createRooms } from "./rooms.js";
import { maySeeMessage, maySeeRoom, viewMessage } from "./view.js";

export interface WebAdapterOptions {
  chat: WebChatStore;
  /** The name of the gateway. */
  name: string;
  rooms: readonly { id: string; name: string }[];
  maxText: number;
  files: FileOptions;
  /** How many rooms one person can add; 20 when absent. */
  roomsPerPerson?: number;
  /** Ids of those who can log in. */
  people?: readonly string[];
  /** Where the page is opened, for links to its messages. */
  pageUrl?: () => string;
}

export interface WebAdapter extends Adapter {
  readonly port: WebPort;
}

/**
 * The limit for texts and everything shown with them, in one answer: all that is read at once is in memory until its reader took it,
 * and everyone else waits while it is read and written. 60 messages of a common length have less.
 */
const MAX_PAGE_BYTES = 250_000;

export function createWebAdapter({
  chat,
  name,
  rooms: configured,
  maxText,
  files,
  roomsPerPerson = 20,
  people,
  pageUrl,
}: WebAdapterOptions): WebAdapter {
  const feed = createFeed();
  const changes = new InTurnByKey<number>();
  const rooms = createRooms({ store: chat, configured, gatewayName: name, people, perPerson: roomsPerPerson });
  let running: { gateway: GatewayPort; clock: Clock; offers: Offers; files: FileAccess } | undefined;
  const online = () => {
    if (running) return running;
    throw new HookgateError({
      code: "WEB_OFFLINE",
      message: "the web chat is not running at the moment",
      hint: "Try again in a moment.",
      retryable: true,
    });
  };
  const deps: inbound.InboundDeps = { store: chat, rooms, feed, changes, gatewayName: name, maxText, online };
  const view = (person: WebPerson) => (row: WebChatMessage) => viewMessage(person, row, name);

  const port: WebPort = {
    maxText,
    rooms: (person) => rooms.list(person),
    async createRoom(person, roomName) {
      online();
      const room = await rooms.create(person, roomName);
      feed.wake("rooms");
      return room;
    },
    async history(person, roomId, beforeId, limit) {
      await rooms.need(person, roomId);
      const page = { readerId: person.id, beforeId, limit, maxBytes: MAX_PAGE_BYTES };
      const { messages, more } = await chat.history(roomId, page);
      return { messages: messages.map(view(person)), more };
    },
    roomOf: async (person, messageId) => (await inbound.findMessage(deps, person, messageId)).row.roomId,
    async attachment(person, messageId, index) {
      const { row } = await inbound.findMessage(deps, person, messageId);
      const file = row.deletedAt === undefined ? readBody(row).attachments?.[index] : undefined;
      if (file) return file;
      throw new HookgateError({ code: "FILE_NOT_FOUND", message: "there is no such file here" });
    },
    say: async (person, saying) => view(person)(await inbound.say(deps, person, saying)),
    command: async (person, given) => view(person)(await inbound.command(deps, person, given)),
    edit: async (person, id, text, nonce, writtenBy) =>
      view(person)(await inbound.edit(deps, person, id, text, nonce, writtenBy)),
    remove: async (person, id, writtenBy) => view(person)(await inbound.remove(deps, person, id, writtenBy)),
    react: async (person, id, emoji, on, writtenBy) =>
      view(person)(await inbound.react(deps, person, id, emoji, on, writtenBy)),
    press: (person, pressing) => inbound.press(deps, person, pressing),
    complete: (person, query) =>
      online().gateway.complete({
        operator: { platform: PLATFORM, userId: person.id, displayName: person.name },
        ...query,
      }),
    commands: () => online().gateway.commands(),
    lastSeq: () => chat.lastSeq(),
    async changes(person, afterSeq, limit) {
      const { changes, more } = await chat.changesAfter(afterSeq, { limit, maxBytes: MAX_PAGE_BYTES });
      const visible = new Set((await chat.rooms()).filter((room) => maySeeRoom(person, room)).map(({ id }) => id));
      const shown: PageChange[] = changes
        .filter(({ message }) => visible.has(message.roomId) && maySeeMessage(person, message))
        .map(({ seq, message }) => ({ seq, message: view(person)(message) }));
      return { seq: changes.at(-1)?.seq ?? afterSeq, changes: shown, done: !more };
    },
    subscribe: (listener) => feed.subscribe(listener),
  };

  async function run({ gateway, cursors, clock, logger }: AdapterContext, signal: AbortSignal): Promise<void> {
    gateway.state({ phase: "connecting", botId: BOT_ID, botName: name });
    const offers = new Offers({ store: chat, gateway, cursors, clock, logger, gatewayName: name });
    await rooms.prepare();
    await offers.start();
    running = { gateway, clock, offers, files: { ...files, freshLink: gateway.freshLink, logger } };
    gateway.state({ phase: "online", botId: BOT_ID, botName: name });
    try {
      await aborted(signal);
    } finally {
      running = undefined;
      await offers.stop();
      gateway.state({ phase: "off", botId: BOT_ID, botName: name });
    }
  }

  return {
    platform: PLATFORM,
    port,
    run,
    traits: {
      idempotentCreate: true,
      forms: true,
      // Only our own disk is at the other end.
      limits: { perSecond: 100_000 },
      isGroup: (chatId) => !chatId.startsWith("dm-"),
      privateAddress: () => undefined,
      placeName: ({ chatId }) => rooms.nameOf(chatId),
      // The page finds the thread of a message by itself.
      linkTo: pageUrl && (({ chatId }, messageId) => `${pageUrl()}/#${encodeURIComponent(chatId)}/${messageId}`),
    },
    encode: (message, _at, options) => encodeWeb(message, options),
    async send(operation, signal) {
      if (!running) return { kind: "retry", error: "the web chat is not running", scope: "bot" };
      const { clock, files: access } = running;
      return send({ store: chat, rooms, feed, changes, clock, files: access }, operation, signal);
    },
    isReader: async (_, userId) => people?.includes(userId),
    openThread: async (at, messageId) => ({ ...at, threadId: messageId }),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
