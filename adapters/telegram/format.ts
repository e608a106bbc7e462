/**
 * A message as Telegram's requests: text with entities (never escaped Markdown), the card as a titled block below the text,
 * one file a request (the first carries the text as its caption when it fits), the keyboard on the last.
 */
import type { Attachment, Button, OutboundMessage } from "../../src/domain/chat/message.js";
import { flatten } from "../../src/lib/markdown/flatten.js";
import { cardTree, EMPTY_MESSAGE, joinRich, readRich } from "../../src/lib/markdown/message.js";
import { isPlainText } from "../../src/lib/markdown/parse.js";
import { plainRich, type RichText, type Span } from "../../src/lib/markdown/rich.js";
import { splitRich } from "../../src/lib/markdown/split.js";
import type { ShowToken } from "../../src/lib/markdown/tokens.js";
import { takesNoCaption } from "./files.js";

/** https://core.telegram.org/bots/api#sendmessage and https://limits.tginfo.me/en: UTF-16 units after entities are parsed. */
export const TEXT_MAX = 4096;
export const CAPTION_MAX = 1024;
/** Further entities of a message are dropped by the server. */
const ENTITIES_MAX = 100;
const ROW_MAX = 8;
const KEYBOARD_MAX = 100;
/** The text of a message that has only a keyboard. */
const KEYBOARD_TEXT = "⬇️";

/** https://core.telegram.org/bots/api#messageentity; offsets and lengths in UTF-16 units. */
export interface TelegramEntity {
  type:
    | "bold"
    | "italic"
    | "underline"
    | "strikethrough"
    | "spoiler"
    | "blockquote"
    | "code"
    | "pre"
    | "text_link"
    | "text_mention";
  offset: number;
  length: number;
  url?: string;
  language?: string;
  user?: { id: number };
}
export type TelegramButton = { text: string; callback_data: string } | { text: string; url: string };

/** The content of one request. With `attachments` (one file) the text is its caption and may be empty; else it is never empty. */
export interface TelegramPart {
  text: string;
  entities: TelegramEntity[];
  keyboard?: TelegramButton[][];
  attachments?: Attachment[];
}

export function formatTelegram(message: OutboundMessage, { plain }: { plain: boolean }): TelegramPart[] {
  const { text, format, card, buttons, attachments = [] } = message;
  const isMarkdown = format === undefined || format === "markdown";
  if (
    !card &&
    !buttons?.length &&
    attachments.length === 0 &&
    text !== "" &&
    text.length <= TEXT_MAX &&
    isMarkdown &&
    isPlainText(text)
  )
    return [{ text, entities: [] }];
  const mentioned = message.mentions?.users ?? [];
  const isLink = plain ? () => false : (url: string) => canLink(url) && mayPing(url, mentioned);
  const options = { canLink: isLink, show: showPeople(mentioned) };
  const { keyboards, leftover } = keyboardsOf(buttons ?? [], isLink);
  const rich = joinRich([
    readRich(text, format, { ...options, showAddresses: message.showAddresses }),
    ...(card ? [flatten(cardTree(card), options)] : []),
    ...(leftover.length > 0 ? [plainRich(leftover.join("\n"))] : []),
  ]);
  const parts = textParts(rich, attachments, plain);
  for (const [i, keyboard] of keyboards.entries()) {
    const last = parts.at(-1);
    if (last && i === 0) last.keyboard = keyboard;
    else parts.push({ text: KEYBOARD_TEXT, entities: [], keyboard });
  }
  return parts.length > 0 ? parts : [{ text: EMPTY_MESSAGE, entities: [] }];
}

function textParts(rich: RichText, attachments: readonly Attachment[], plain: boolean): TelegramPart[] {
  const [first, ...more] = attachments;
  const isCaption = first !== undefined && !takesNoCaption(first) && rich.text.length <= CAPTION_MAX;
  const pieces = splitRich(rich, { limit: TEXT_MAX });
  const parts = pieces.map((piece): TelegramPart => ({ text: piece.text, entities: plain ? [] : entitiesOf(piece) }));
  if (first === undefined) return parts;
  const files = more.map((file): TelegramPart => ({ text: "", entities: [], attachments: [file] }));
  const caption = isCaption ? parts[0] : undefined;
  if (caption) return [{ ...caption, attachments: [first] }, ...files];
  return [...parts, { text: "", entities: [], attachments: [first] }, ...files];
}

const PERSON = "tg://user?id=";

/** A person whom the message may ping is named by a mention; any other by name only. */
function showPeople(allowed: readonly string[]): ShowToken {
  return (token) =>
    token.kind === "person" && allowed.includes(token.id)
      ? { text: `@${token.name ?? token.id}`, url: `${PERSON}${token.id}` }
      : undefined;
}

/** A link to a person pings that person, so text of strangers must not bring one along. */
function mayPing(url: string, allowed: readonly string[]): boolean {
  if (!/^tg:\/\/(user|openmessage)\b/i.test(url)) return true;
  return allowed.some((id) => url.toLowerCase() === `${PERSON}${id}`);
}

/** Telegram refuses a message for one address whose host has no dot ("Wrong HTTP URL"): localhost, or a name of the local network. */
const LINK = /^((tg|ton):\/\/|https?:\/\/([^\s/?#@]*@)?(\[[^\s\]]+\]|[^\s/?#:]*\.[^\s/?#:]*)([:/?#]|$))\S*$/i;

function canLink(url: string): boolean {
  return LINK.test(url) && url.length <= 2048;
}

const TYPES = {
  bold: "bold",
  italic: "italic",
  underline: "underline",
  strike: "strikethrough",
  spoiler: "spoiler",
  code: "code",
  quote: "blockquote",
  heading: "bold",
} as const;

/**
 * Telegram's rules: code holds no other entity and is in no link; the rest nests. So styles are cut around code. Past the
 * server's limit of entities, entities without address and code are dropped first.
 */
export function entitiesOf({ text, spans }: RichText): TelegramEntity[] {
  const links = spans.filter(({ style }) => style.kind === "link" && !style.bare);
  const codes = spans.filter(
    (span) =>
      (span.style.kind === "code" || span.style.kind === "pre") &&
      !links.some((link) => link.start <= span.start && span.end <= link.end),
  );
  const entities: TelegramEntity[] = [];
  let headingEnd = 0;
  for (const span of spans) {
    const { style, start } = span;
    if (style.kind === "bullet") continue;
    if (style.kind === "heading") headingEnd = span.end;
    if (style.kind === "bold" && start < headingEnd) continue; // a heading is bold already
    if (style.kind === "link") {
      if (!style.bare && !codes.some((code) => code.start <= start && span.end <= code.end))
        entities.push(linkEntity(start, span.end - start, style.url));
    } else if (style.kind === "pre" || style.kind === "code") {
      if (codes.includes(span)) entities.push(codeEntity(span));
    } else if (style.kind === "quote") entities.push({ type: "blockquote", offset: start, length: span.end - start });
    else
      for (const [from, to] of around(span, codes))
        if (text.slice(from, to).trim() !== "")
          entities.push({ type: TYPES[style.kind], offset: from, length: to - from });
  }
  return capped(entities).sort(
    (a, b) => a.offset - b.offset || b.length - a.length || Number(isCode(a)) - Number(isCode(b)),
  );
}

/** Code holds nothing, so of two entities over the same text it is the inner one. */
function isCode({ type }: TelegramEntity): boolean {
  return type === "code" || type === "pre";
}

/** A link to a person is a mention: a person without a public name can be pinged only this way. */
function linkEntity(offset: number, length: number, url: string): TelegramEntity {
  const id = url.startsWith(PERSON) ? Number(url.slice(PERSON.length)) : Number.NaN;
  if (Number.isSafeInteger(id) && id > 0) return { type: "text_mention", offset, length, user: { id } };
  return { type: "text_link", offset, length, url };
}

function codeEntity({ start, end, style }: Span): TelegramEntity {
  const place = { offset: start, length: end - start };
  if (style.kind !== "pre") return { type: "code", ...place };
  return style.language ? { type: "pre", ...place, language: style.language } : { type: "pre", ...place };
}

/** The stretches of a span outside of the holes. */
function around(span: Span, holes: readonly Span[]): [number, number][] {
  const stretches: [number, number][] = [];
  let from = span.start;
  for (const hole of holes) {
    if (hole.end <= from || hole.start >= span.end) continue;
    if (hole.start > from) stretches.push([from, hole.start]);
    from = hole.end;
  }
  if (from < span.end) stretches.push([from, span.end]);
  return stretches;
}

function capped(entities: TelegramEntity[]): TelegramEntity[] {
  if (entities.length <= ENTITIES_MAX) return entities;
  const isKept = (entity: TelegramEntity) => /^text_/.test(entity.type) || isCode(entity);
  return [...entities.filter(isKept), ...entities.filter((entity) => !isKept(entity))].slice(0, ENTITIES_MAX);
}

/** Rows of at most eight, a hundred buttons a message; a button that cannot be pressed becomes a line of text. */
function keyboardsOf(
  buttons: readonly (readonly Button[])[],
  canPress: (url: string) => boolean,
): { keyboards: TelegramButton[][][]; leftover: string[] } {
  const keyboards: TelegramButton[][][] = [];
  const leftover: string[] = [];
  let count = KEYBOARD_MAX;
  for (const row of buttons) {
    const made: TelegramButton[] = [];
    for (const button of row) {
      const pressable = telegramButton(button, canPress);
      if (pressable) made.push(pressable);
      else leftover.push(button.url ? `${button.label}: ${button.url}` : button.label);
    }
    for (let i = 0; i < made.length; i += ROW_MAX) {
      const group = made.slice(i, i + ROW_MAX);
      if (count + group.length > KEYBOARD_MAX) {
        keyboards.push([]);
        count = 0;
      }
      keyboards.at(-1)?.push(group);
      count += group.length;
    }
  }
  return { keyboards, leftover };
}

function telegramButton({ label, url, token }: Button, canPress: (url: string) => boolean): TelegramButton | undefined {
  if (url !== undefined) return canPress(url) ? { text: label, url } : undefined;
  return token === undefined ? undefined : { text: label, callback_data: token };
}

/** The buttons that bring a token back, and the links as lines of text. */
export function withoutLinks(keyboard: readonly (readonly TelegramButton[])[]): {
  kept: TelegramButton[][];
  lines: string[];
} {
  const lines: string[] = [];
  const kept: TelegramButton[][] = [];
  for (const row of keyboard) {
    for (const button of row) if ("url" in button) lines.push(`${button.text}: ${button.url}`);
    const pressed = row.filter((button) => !("url" in button));
    if (pressed.length > 0) kept.push(pressed);
  }
  return { kept, lines };
}
