/** The platform's own payload stays out of the journal: it is large, and its contents are unknown. */
import type { InboundMessage } from "../domain/chat/message.js";

/** `journalled` of points whose payload carries a message as it came in. Not asked where the journal leaves it out by itself. */
export function withoutRaw<P extends { message?: InboundMessage | undefined }>(payload: P): P {
  if (payload.message?.raw === undefined) return payload;
  const { raw: _, ...message } = payload.message;
  return { ...payload, message };
}
