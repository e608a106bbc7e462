/** Where a conversation happens: platform + bot + chat + thread. */
import { z } from "zod";

export const address = z.object({
  platform: z.string().min(1),
  /** The platform's numeric id of the bot account; "web" for the web chat. */
  botId: z.string(),
  chatId: z.string().min(1),
  /** A Telegram topic or a web thread. On Discord a thread is a chat of its own, so it stays empty there. */
  threadId: z.string().optional(),
});
export type Address = z.infer<typeof address>;

/** One text per conversation: `platform:botId:chatId` or `platform:botId:chatId:threadId`, parts percent-encoded. */
export function formatAddress(at: Address): string {
  const text = `${encoded(at.platform)}:${encoded(at.botId)}:${encoded(at.chatId)}`;
  return at.threadId === undefined ? text : `${text}:${encoded(at.threadId)}`;
}

/** Asked for a dozen times a message, and almost never is there anything to encode. */
function encoded(part: string): string {
  return part.includes(":") || part.includes("%") ? part.replace(/[%:]/g, encodeURIComponent) : part;
}

/** The inverse of `formatAddress`; undefined when the text is no address. */
export function parseAddress(text: string): Address | undefined {
  const parts = text.split(":");
  if (parts.length < 3 || parts.length > 4) return undefined;
  try {
    const [platform, botId, chatId, threadId] = parts.map(decodeURIComponent);
    if (!platform || !chatId) return undefined;
    return { platform, botId: botId ?? "", chatId, ...(threadId === undefined ? {} : { threadId }) };
  } catch {
    return undefined; // a stray % is no address
  }
}
