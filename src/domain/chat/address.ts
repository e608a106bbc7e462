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

/** The address of a room of the web chat. */
export const webAddress = (roomId: string): Address => ({ platform: "web", botId: "web", chatId: roomId });

/** One text per conversation: `platform:botId:chatId` or `platform:botId:chatId:threadId`, parts percent-encoded. */
export function formatAddress(at: Address): string {
  const text = `${encoded(at.platform)}:${encoded(at.botId)}:${encoded(at.chatId)}`;
  return at.threadId === undefined ? text : `${text}:${encoded(at.threadId)}`;
}

/** Called a dozen times for each message, and almost never is there anything to encode. */
function encoded(part: string): string {
  return part.includes(":") || part.includes("%") ? part.replace(/[%:]/g, encodeURIComponent) : part;
}

/** Why no chat of its platform can have this address; undefined when one can, as far as its form shows. */
export function addressProblem({ platform, botId, chatId, threadId }: Address): string | undefined {
  if (platform !== "discord" && platform !== "telegram") return undefined;
  const wrong = (part: string, value: string, advice: string) =>
    `"${value}" is no ${part} of ${platform}, which has numbers: ${advice}`;
  if (!/^\d*$/.test(botId))
    return wrong("account", botId, `write the id of the bot account, as in ${platform}:123456:…`);
  if (!(platform === "telegram" ? /^-?\d+$/ : /^\d+$/).test(chatId))
    return wrong("chat", chatId, "`/whoami` in that chat shows it");
  if (threadId !== undefined && platform === "discord")
    return `a thread of discord is a chat of its own: write ${platform}:${botId}:${threadId}`;
  return threadId === undefined || /^\d+$/.test(threadId)
    ? undefined
    : wrong("topic", threadId, "`/whoami` in that topic shows it");
}

/** The inverse of `formatAddress`; undefined when the text is no address. */
export function parseAddress(text: string): Address | undefined {
  const parts = text.split(":");
  if (parts.length < 3 || parts.length > 4) return undefined;
  try {
    const [platform, botId, chatId, threadId] = parts.map(decodeURIComponent);
    if (!platform || !chatId) return undefined;
    return { platform, botId: botId ?? "", chatId, threadId };
  } catch {
    return undefined; // a stray % is no address
  }
}

/** A setting that names a conversation. */
export const addressField = z
  .string()
  .refine((text) => parseAddress(text) !== undefined, "expected platform:bot:chat or platform:bot:chat:thread");
