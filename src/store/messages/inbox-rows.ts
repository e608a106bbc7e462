/** Inbox rows as records, and as the gateway and operators see them. */
import type { InboundEvent } from "../../domain/chat/event.js";
import type { InboxRow, InboxStatus } from "../../domain/store.js";
import { parseEvent } from "../shapes.js";
import { UNREADABLE } from "./delivery-rows.js";

export interface InboxRecord {
  id: number;
  lane: string;
  status: InboxStatus;
  attempts: number;
  deferrals: number;
  round: number;
  due_at: number;
  received_at: number;
  settled_at: number | null;
  outcome: string | null;
  claimed_by: string | null;
  reason: string | null;
  error: string | null;
  delivery_ids: string | null;
  event: string;
  event_id: string;
  platform: string;
  bot: string;
  chat: string;
}

export const SELECT_INBOX = `SELECT id, lane, status, attempts, deferrals, round, due_at, received_at, settled_at, outcome, claimed_by, reason, error, delivery_ids, event,
    event_id, platform, bot, chat
  FROM inbox`;

export type EventKey = [chat: string, eventId: string, bot: string, platform: string];

/** Throws when the row cannot be read. */
export function toRow(record: InboxRecord): InboxRow {
  return rowOf(record, parseEvent(record.event));
}

/** The view of a row that cannot be read, for an operator: enough to delete it. */
export function shownRow(record: InboxRecord): InboxRow {
  try {
    return toRow(record);
  } catch {
    return { ...rowOf(record, remainsOf(record)), isUnreadable: true };
  }
}

function remainsOf({ event_id: eventId, platform, bot: botId, chat: chatId, received_at }: InboxRecord): InboundEvent {
  const facts = { attachments: [], isDm: false, isGroupMention: false, isEdit: false };
  return {
    kind: "message",
    eventId,
    message: {
      platform,
      botId,
      chatId,
      userId: "",
      text: UNREADABLE,
      messageId: eventId,
      receivedAt: received_at,
      ...facts,
    },
  };
}

function rowOf(record: InboxRecord, event: InboundEvent): InboxRow {
  return {
    id: record.id,
    lane: record.lane,
    event,
    status: record.status,
    attempts: record.attempts,
    deferrals: record.deferrals,
    round: record.round,
    dueAt: record.due_at,
    receivedAt: record.received_at,
    settledAt: record.settled_at ?? undefined,
    outcome: record.outcome ?? undefined,
    claimedBy: record.claimed_by ?? undefined,
    reason: record.reason ?? undefined,
    error: record.error ?? undefined,
    deliveryIds: record.delivery_ids === null ? undefined : record.delivery_ids.split(" ").filter(Boolean),
  };
}
