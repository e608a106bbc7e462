/** Deliveries and their parts as rows, and back. */
import { type Address, formatAddress, parseAddress } from "../../domain/chat/address.js";
import {
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryPart,
  type DeliveryStatus,
  type NewDelivery,
} from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import { parseDeliveryData, parseDeliveryParts, parseMessage } from "../shapes.js";

/** The data of a delivery. Of the conditions in this file, only `QUEUE_NAME` reads it. */
type DeliveryData = Pick<
  NewDelivery,
  | "address"
  | "operation"
  | "targetId"
  | "cause"
  | "interaction"
  | "visibleTo"
  | "isCourtesy"
  | "answers"
  | "skipsHooks"
  | "openly"
  | "mirrors"
  | "sight"
  | "urgency"
  | "isApart"
  | "plugin"
  | "lostFiles"
>;

/** The address is in the column `conversation`. */
type StoredData = Omit<DeliveryData, "address">;

export interface DeliveryRecord {
  seq: number;
  id: string;
  conversation: string;
  status: DeliveryStatus;
  attempts: number;
  waits: number;
  round: number;
  asked: number;
  created_at: number;
  due_at: number;
  expires_at: number | null;
  settled_at: number | null;
  reason: string | null;
  data: string;
  message: string | null;
  /** The message after the hooks; empty = as it was before them; null = not decided yet. */
  frozen: string | null;
  /** JSON; null = not decided yet. */
  parts: string | null;
}

export const UNREADABLE = "its row in the database is damaged and cannot be read";

/** Conditions in the words of the partial indexes: only so does SQLite see that an index fits. */
export const IS_OPEN = "(status = 'waiting' OR status = 'sending')";
export const IS_EXCEPTION = "status <> 'sent' AND status <> 'waiting' AND status <> 'sending'";

/** A status that does not exist: only damage leads to it, and no list or queue would show the row. */
export const IS_LOST = `${IS_EXCEPTION} AND status NOT IN (${DELIVERY_STATUSES.map((one) => `'${one}'`).join(", ")})`;

/** The name of a queue of its own, as `queueOf` has it; null in the conversation's queue. */
export const QUEUE_NAME =
  "iif(json_valid(data), coalesce(data ->> '$.interaction.id', iif(data ->> '$.isApart', id, data ->> '$.urgency')), NULL)";

export const DELIVERY_COLUMNS = `seq, id, conversation, status, attempts, waits, round, asked, created_at, due_at, expires_at, settled_at, reason,
  data, message, frozen, parts`;

export function deliveryData({
  operation,
  targetId,
  cause,
  interaction,
  visibleTo,
  isCourtesy,
  answers,
  skipsHooks,
  openly,
  mirrors,
  sight,
  urgency,
  isApart,
  plugin,
  lostFiles,
}: Omit<DeliveryData, "address">): string {
  const data: StoredData = {
    operation,
    targetId,
    cause,
    interaction,
    visibleTo,
    isCourtesy,
    answers,
    skipsHooks,
    openly,
    mirrors,
    sight,
    urgency,
    isApart,
    plugin,
    lostFiles,
  };
  return JSON.stringify(data);
}

export function parseData({ data, conversation }: Pick<DeliveryRecord, "data" | "conversation">): DeliveryData {
  const stored = parseDeliveryData<StoredData>(data);
  return { ...stored, address: addressOf(conversation) };
}

function addressOf(conversation: string): Address {
  const address = parseAddress(conversation);
  if (!address) throw new HookgateError({ code: "STORE_FAILED", message: `"${conversation}" is no conversation` });
  return address;
}

export function parseParts({ parts }: Pick<DeliveryRecord, "parts">): DeliveryPart[] {
  return parts === null ? [] : parseDeliveryParts(parts);
}

export function conversationOf(delivery: Pick<NewDelivery, "address">): string {
  return formatAddress(delivery.address);
}

/** Throws when the row cannot be read. */
export function toDelivery(record: DeliveryRecord): Delivery {
  const data = parseData(record);
  if (record.message === null && data.operation !== "delete")
    throw new HookgateError({ code: "STORE_FAILED", message: `delivery ${record.id} has no message` });
  return {
    ...data,
    ...columnsOf(record),
    message: record.message === null ? undefined : parseMessage(record.message),
    ...(record.frozen === null ? undefined : frozenMessage(record.frozen || record.message)),
    parts: parseParts(record),
  };
}

/** The remains of a row that cannot be read, so that an operator can look at it and delete it. */
export function remainsOf(record: DeliveryRecord): Delivery {
  return {
    address: parseAddress(record.conversation) ?? { platform: "unknown", botId: "", chatId: record.conversation },
    operation: "send",
    cause: { kind: "api", id: "", depth: 0 },
    message: { text: UNREADABLE },
    ...columnsOf(record),
    reason: record.reason ?? UNREADABLE,
    parts: [],
    isUnreadable: true,
  };
}

function columnsOf(record: DeliveryRecord) {
  return {
    id: record.id,
    seq: record.seq,
    conversation: record.conversation,
    status: record.status,
    attempts: record.attempts,
    waits: record.waits,
    round: record.round,
    asked: record.asked,
    createdAt: record.created_at,
    dueAt: record.due_at,
    expiresAt: record.expires_at ?? undefined,
    settledAt: record.settled_at ?? undefined,
    reason: record.reason ?? undefined,
  };
}

function frozenMessage(json: string | null): Pick<Delivery, "frozen"> {
  return json === null ? {} : { frozen: parseMessage(json) };
}
