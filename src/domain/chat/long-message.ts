/**
 * How long a message may be. A platform splits a long text into parts: a text without a limit becomes hundreds of them, and blocks its
 * chat.
 */
import type { Card, OutboundMessage } from "./message.js";

/** Characters of all texts of a message together. */
export const MAX_CHARACTERS = 20_000;

/** The message itself when it is short enough; else as much of its texts as may be sent, with an ending that reports the cut. */
export function shortenMessage(message: OutboundMessage): OutboundMessage {
  const size = charactersOf(message);
  if (size <= MAX_CHARACTERS) return message;
  const take = cutter(size, message.format);
  return { ...message, text: take(message.text), card: message.card && shortenCard(message.card, take) };
}

/** How many characters it had before `shortenMessage`; undefined when it was not shortened. */
export function shortenedFrom({ text, card }: OutboundMessage): number | undefined {
  const fields = card?.fields?.flatMap(({ name, value }) => [name, value]) ?? [];
  for (const one of [text, card?.title, card?.text, ...fields, card?.footer]) {
    const [, size] = (one && ENDING.exec(one)) || [];
    if (size !== undefined) return Number(size.replaceAll(",", ""));
  }
  return undefined;
}

export function charactersOf({ text, card }: OutboundMessage): number {
  if (!card) return text.length;
  const { title = "", text: words = "", fields = [], footer = "" } = card;
  const inFields = fields.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
  return text.length + title.length + words.length + inFields + footer.length;
}

const ending = (size: number) => `… (shortened: ${size.toLocaleString("en-US")} characters)`;
const ENDING = /… \(shortened: ([\d,]{1,20}) characters\)$/;
/** Room for the end of a code block and a blank line before the ending. */
const ROOM = 10;

type Take = (text: string) => string;

/** Gives each text whole until there is no more room; the text that does not fit is cut, and the next ones are dropped. */
function cutter(size: number, format: OutboundMessage["format"]): Take {
  let left = MAX_CHARACTERS - ending(size).length - ROOM;
  return (text) => {
    if (left < 0) return "";
    if (text.length <= left) {
      left -= text.length;
      return text;
    }
    const start = cut(text, left, format);
    left = -1;
    return `${start}${ending(size)}`;
  };
}

/** Cuts a text. The result ends in a blank line, outside of any markup that was open. */
function cut(text: string, length: number, format: OutboundMessage["format"]): string {
  const start = text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
  if (start === "") return "";
  if (format === "html") return `${start.replace(/(<[^<>]*|&[^&;\s]{0,10})$/, "")}\n\n`;
  const isInCode = format !== "plain" && (start.match(/^ {0,3}```/gm)?.length ?? 0) % 2 === 1;
  return `${start}${isInCode ? "\n```" : ""}\n\n`;
}

function shortenCard(card: Card, take: Take): Card {
  const { title, text, fields, footer, ...rest } = card;
  return {
    ...rest,
    ...kept("title", title, take),
    ...kept("text", text, take),
    fields: fields?.flatMap((field) => shortenField(field, take)),
    ...kept("footer", footer, take),
  };
}

function kept(key: "title" | "text" | "footer", text: string | undefined, take: Take): Partial<Card> {
  const short = text && take(text);
  return short ? { [key]: short } : {};
}

function shortenField(field: NonNullable<Card["fields"]>[number], take: Take) {
  const name = take(field.name);
  const value = take(field.value);
  if (name === "" && value === "") return [];
  // A field whose name was cut has no value, and platforms take none that is empty.
  return [{ ...field, name, value: value || "…" }];
}
