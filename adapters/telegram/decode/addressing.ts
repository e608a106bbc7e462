/** Whether words are meant for us: our command, our name. Takes our name off their start. Pure. */
import type { EntityPayload } from "../payloads.js";
import type { Self } from "./self.js";

export interface Addressing {
  text: string;
  isForUs: boolean;
  isForAnotherBot: boolean;
}

/** https://core.telegram.org/bots/features#commands; `-` is ours, for `/fire-hook`. */
const COMMAND = /^\/([a-z0-9][a-z0-9_-]*)(?:@(\w+))?(?=\s|$)/i;

export function readAddressing(words: string, entities: readonly EntityPayload[], self: Self): Addressing {
  const mentions = entities.filter((entity) => isOurName(words, entity, self));
  const first = mentions.find(({ offset }) => words.slice(0, offset).trim() === "");
  const text = first ? words.slice(first.offset + first.length).replace(/^[\s,:]+/, "") : words;
  const command = COMMAND.exec(text);
  if (!command) return { text, isForUs: mentions.length > 0, isForAnotherBot: false };
  const [whole, name = "", bot] = command;
  if (bot !== undefined && bot.toLowerCase() !== self.username.toLowerCase())
    return { text, isForUs: false, isForAnotherBot: true };
  const isOurs = bot !== undefined || self.commands.has(name.toLowerCase().replaceAll("_", "-"));
  return {
    text: `/${name}${text.slice(whole.length)}`,
    isForUs: isOurs || mentions.length > 0,
    isForAnotherBot: false,
  };
}

function isOurName(words: string, { type, offset, length, user }: EntityPayload, self: Self): boolean {
  if (type === "text_mention") return user !== undefined && String(user.id) === self.botId;
  if (type !== "mention") return false;
  return words.slice(offset, offset + length).toLowerCase() === `@${self.username.toLowerCase()}`;
}
