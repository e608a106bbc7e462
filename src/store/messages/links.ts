/** Pairs of mirrored messages. Written by the outbox when a mirrored delivery is sent. */
import type { LinkStore } from "../../domain/store.js";
import type { Connection } from "../connection.js";

interface LinkRecord {
  deliveryId: string;
  platform: string;
  bot: string;
  chat: string;
  thread: string | null;
  message: string;
}
type MessageKey = [chat: string, message: string, bot: string, platform: string];

export function createLinks({ database, read }: Connection): LinkStore {
  const otherSide = (here: "origin" | "mirror", there: "origin" | "mirror") =>
    database.prepare<MessageKey, LinkRecord>(
      `SELECT delivery_id AS deliveryId, ${there}_platform AS platform, ${there}_bot AS bot, ${there}_chat AS chat,
         ${there}_thread AS thread, ${there}_message AS message
       FROM links WHERE ${here}_chat = ? AND ${here}_message = ? AND ${here}_bot = ? AND ${here}_platform = ? ORDER BY id`,
    );
  const mirrors = otherSide("origin", "mirror");
  const origins = otherSide("mirror", "origin");
  return {
    find: ({ chatId, botId, platform }, messageId) =>
      read(() => {
        const key: MessageKey = [chatId, messageId, botId, platform];
        return [
          ...origins.all(...key).map((record) => toLink(record, true)),
          ...mirrors.all(...key).map((record) => toLink(record, false)),
        ];
      }),
  };
}

/** `isOrigin`: the message given back is the one that was mirrored. */
function toLink({ deliveryId, platform, bot, chat, thread, message }: LinkRecord, isOrigin: boolean) {
  const address = { platform, botId: bot, chatId: chat, threadId: thread ?? undefined };
  return { address, messageId: message, deliveryId, isOrigin };
}
