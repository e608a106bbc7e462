/** A message's Markdown as people elsewhere can read it: names in place of Discord's references to people, channels and emoji. Pure. */
import type { InboundMessage } from "../../../src/domain/chat/message.js";
import { escapeMarkdown } from "../../../src/lib/markdown/escape.js";

/** https://docs.discord.com/developers/reference#message-formatting */
const REFERENCE = /<(?:(?<sigil>@!?|#)(?<id>\d{1,20})|a?:(?<emoji>\w{2,32}):\d{1,20})>/g;

/** Replaces references by names. A reference whose name is not known stays as it is. */
export function readableText(
  { text, mentioned }: Pick<InboundMessage, "text" | "mentioned">,
  nameOfChannel: (channelId: string) => string | undefined,
): string {
  return text.replaceAll(REFERENCE, (reference, sigil?: string, id = "", emoji?: string) => {
    if (emoji !== undefined) return `:${escapeMarkdown(emoji)}:`;
    const person = mentioned?.find((one) => one.id === id)?.name;
    const name = sigil === "#" ? nameOfChannel(id) : person && `@${person}`;
    return name === undefined ? reference : escapeMarkdown(name);
  });
}
