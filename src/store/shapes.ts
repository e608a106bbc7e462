/**
 * Whether JSON from the database has the shape that the code reads without checks. A change of the file by hand may have changed the shape.
 */
import type { InboundEvent } from "../domain/chat/event.js";
import type { OutboundMessage } from "../domain/chat/message.js";
import type { DeliveryPart } from "../domain/store.js";
import { HookgateError } from "../lib/errors.js";
import { isRecord } from "../lib/record.js";

/** Throws when the text is no JSON, or of another shape. */
export function parseEvent(json: string): InboundEvent {
  const event: unknown = JSON.parse(json);
  if (!isRecord(event) || !hasTexts(event, "kind", "eventId")) throw wrongShape("an event");
  const { message, address } = event;
  const isWhole =
    address === undefined
      ? isRecord(message) && hasTexts(message, ...ADDRESS, "userId", "text") && Array.isArray(message.attachments)
      : isRecord(address) && hasTexts(address, ...ADDRESS);
  if (!isWhole) throw wrongShape("an event");
  return event as unknown as InboundEvent;
}

const ADDRESS = ["platform", "botId", "chatId"];

/** Throws when the text is no JSON, or of another shape. */
export function parseDeliveryData<Data>(json: string): Data {
  const data: unknown = JSON.parse(json);
  const isWhole =
    isRecord(data) && hasTexts(data, "operation") && isRecord(data.cause) && hasTexts(data.cause, "kind", "id");
  if (!isWhole) throw wrongShape("a delivery");
  return data as Data;
}

export function parseMessage(json: string): OutboundMessage {
  const message: unknown = JSON.parse(json);
  if (!isMessage(message)) throw wrongShape("a message");
  return message;
}

export function parseDeliveryParts(json: string): DeliveryPart[] {
  const parts: unknown = JSON.parse(json);
  if (!isParts(parts)) throw wrongShape("the parts of a delivery");
  return parts;
}

function isMessage(message: unknown): message is OutboundMessage {
  if (!isRecord(message)) return false;
  const { text, card, buttons, files } = message;
  return (
    (text === undefined || typeof text === "string") &&
    (card === undefined || isRecord(card)) &&
    [buttons, files].every((list) => list === undefined || Array.isArray(list))
  );
}

function isParts(parts: unknown): parts is DeliveryPart[] {
  return (
    Array.isArray(parts) &&
    parts.every((part) => isRecord(part) && typeof part.index === "number" && hasTexts(part, "operation", "status"))
  );
}

function hasTexts(value: Record<string, unknown>, ...keys: string[]): boolean {
  return keys.every((key) => typeof value[key] === "string");
}

function wrongShape(what: string): HookgateError {
  return new HookgateError({ code: "STORE_FAILED", message: `a row of the database is not ${what}` });
}
