/** Keys of events whose rows retention removed while their platform may still hand them over again. Mostly there are no such keys. */
import type { Address } from "../../domain/chat/address.js";
import type { InboundEvent } from "../../domain/chat/event.js";
import { addressOf } from "../../domain/chat/event.js";
import type { Connection } from "../connection.js";

export interface InboxSeen {
  /** The id that the event's row had. Inside an open transaction. */
  find(event: InboundEvent): number | undefined;
  /** The id as for `find`, outside of a transaction, too. */
  idOf(at: Address, eventId: string): number | undefined;
  /** Keeps the key of a row that is about to go, if it came in since then. Inside an open transaction. */
  remember(inboxId: number, since: number): void;
}

export function createInboxSeen({ database, onTransaction }: Connection): InboxSeen {
  const any = database.prepare("SELECT 1 FROM inbox_seen LIMIT 1");
  const find = database.prepare<[chat: string, eventId: string, bot: string, platform: string], { id: number }>(
    "SELECT inbox_id AS id FROM inbox_seen WHERE chat = ? AND event_id = ? AND bot = ? AND platform = ?",
  );
  const remember = database.prepare<[number, number]>(
    `INSERT OR IGNORE INTO inbox_seen (chat, event_id, bot, platform, inbox_id, received_at)
     SELECT chat, event_id, bot, platform, id, received_at FROM inbox WHERE id = ? AND received_at >= ?`,
  );
  let isEmpty = false;
  onTransaction({
    begin() {
      isEmpty = any.get() === undefined;
    },
    end() {},
  });

  const idOf = ({ platform, botId, chatId }: Address, eventId: string) =>
    find.get(chatId, eventId, botId, platform)?.id;
  return {
    find: (event) => (isEmpty ? undefined : idOf(addressOf(event), event.eventId)),
    idOf,
    remember(inboxId, since) {
      isEmpty = false;
      remember.run(inboxId, since);
    },
  };
}
