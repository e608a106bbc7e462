/** An update as events. Trusts nothing: a malformed one is a finding, never an exception. Pure. */
import type { InboundEvent } from "../../../src/domain/chat/event.js";
import { type MessagePayload, update as updateSchema } from "../payloads.js";
import { decodeMessage } from "./message.js";
import { isPlain } from "./plain.js";
import { decodePress } from "./press.js";
import { decodeReactions } from "./reaction.js";
import type { Around, Self } from "./self.js";

export type Decoded =
  /** No events: nothing for us in it. */
  { kind: "events"; events: InboundEvent[]; callbackId?: string } | { kind: "malformed"; why: string };

export function decodeUpdate(given: unknown, self: Self, receivedAt: number): Decoded {
  if (isPlain(given)) {
    const event = written(given.message, { self, receivedAt, raw: given.message });
    return { kind: "events", events: event ? [event] : [] };
  }
  const parsed = updateSchema.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { kind: "malformed", why: `${issue?.path.join(".") || "update"}: ${issue?.message ?? "not understood"}` };
  }
  const { update_id: updateId, message, edited_message: edited, callback_query: callback } = parsed.data;
  const around = (key: string) => ({ self, receivedAt, raw: field(given, key) });
  if (message) {
    const event = moved(message, self, receivedAt) ?? written(message, around("message"));
    return { kind: "events", events: event ? [event] : [] };
  }
  if (edited) {
    const event = rewritten(edited, updateId, around("edited_message"));
    return { kind: "events", events: event ? [event] : [] };
  }
  if (callback) {
    const event = decodePress(callback, around("callback_query"));
    return { kind: "events", events: event ? [event] : [], callbackId: callback.id };
  }
  const reactions = parsed.data.message_reaction;
  return { kind: "events", events: reactions ? decodeReactions(reactions, around("message_reaction")) : [] };
}

function field(given: unknown, key: string): unknown {
  return typeof given === "object" && given !== null ? Reflect.get(given, key) : undefined;
}

function written(payload: MessagePayload, around: Around): InboundEvent | undefined {
  const message = decodeMessage(payload, around);
  return message && { kind: "message", eventId: message.messageId, message };
}

/** Edit times have seconds; the update's id distinguishes two edits within one, and stays the same on redelivery. */
function rewritten(payload: MessagePayload, updateId: number, around: Around): InboundEvent | undefined {
  const message = decodeMessage(payload, around);
  if (!message) return undefined;
  const eventId = `edit:${message.messageId}:${payload.edit_date ?? payload.date}:${updateId}`;
  return { kind: "edited", eventId, message: { ...message, isEdit: true } };
}

/** Said in the old chat and again in the new one; both give the same event. */
function moved(
  { chat, migrate_to_chat_id: to, migrate_from_chat_id: from }: MessagePayload,
  { botId }: Self,
  at: number,
): InboundEvent | undefined {
  const move = to !== undefined ? { from: chat.id, to } : from !== undefined ? { from, to: chat.id } : undefined;
  return (
    move && {
      kind: "moved",
      eventId: `moved:${move.to}`,
      address: { platform: "telegram", botId, chatId: String(move.from) },
      toChatId: String(move.to),
      at,
    }
  );
}
