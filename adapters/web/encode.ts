/** A message as the body of a chat row. The page has no limits of length or form, so one part holds everything. */
import type { EncodedPart } from "../../src/domain/chat/adapter.js";
import type { OutboundMessage } from "../../src/domain/chat/message.js";
import { isElsewhere, type RowBody, rowBody } from "./body.js";
import { formatWeb } from "./format.js";

export function encodeWeb(message: OutboundMessage, options: { plain: boolean }): EncodedPart[] {
  const { text, ...rendered } = formatWeb(message, options);
  const body: RowBody = { ...rendered };
  const replyToId = Number(message.replyToId);
  if (message.replyToId !== undefined && Number.isSafeInteger(replyToId)) body.replyToId = replyToId;
  return [{ text, body, hasFile: message.attachments?.some(isElsewhere) ? true : undefined }];
}

/** A part's body, read back from disk. */
export function decodeBody(part: EncodedPart): RowBody {
  return rowBody.parse(part.body);
}
