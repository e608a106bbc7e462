/** A message as Telegram's requests, in order. Pure; where it goes is known only when it is sent. */
import type { EncodedPart } from "../../src/domain/chat/adapter.js";
import type { OutboundMessage, Prompt } from "../../src/domain/chat/message.js";
import { type PartBody, readBody } from "./body.js";
import { CAPTION_MAX, formatTelegram, TEXT_MAX, type TelegramPart, withoutLinks } from "./format.js";

/** https://core.telegram.org/bots/api#forcereply */
const PLACEHOLDER_MAX = 64;

export function encode(message: OutboundMessage, options: { plain: boolean }): EncodedPart[] {
  const replyToId = Number(message.replyToId);
  return formatTelegram(message, options).map((part, i) => {
    const body: PartBody = { text: part.text };
    if (part.entities.length > 0) body.entities = part.entities;
    if (part.keyboard) body.keyboard = part.keyboard;
    const file = part.attachments?.[0];
    if (file) body.file = file;
    else if (message.attachments) body.noFile = true;
    if (i === 0 && Number.isSafeInteger(replyToId) && replyToId > 0) body.replyToId = replyToId;
    if (message.silent) body.silent = true;
    if (i === 0 && message.prompt) body.placeholder = placeholderOf(message.prompt);
    return { text: previewOf(part), body: { ...body }, hasFile: file ? true : undefined };
  });
}

/** The part without entities, with the addresses of its links in the text; in a message of their own where they do not fit. */
export function plainPart(part: EncodedPart): EncodedPart[] | undefined {
  const { entities, keyboard, ...body } = readBody(part.body);
  const { kept, lines } = withoutLinks(keyboard ?? []);
  if (!entities && lines.length === 0) return undefined;
  const buttons = kept.length > 0 ? { keyboard: kept } : {};
  const links = linksOf(body.text, entities ?? []);
  const text = [withAddresses(body.text, links), ...lines].filter((line) => line !== "").join("\n");
  if (text.length <= (body.file ? CAPTION_MAX : TEXT_MAX)) {
    const files = part.text.slice(body.text.length).trim();
    const preview = [text, files].filter((line) => line !== "").join("\n");
    return [{ ...part, text: preview, body: { ...body, text, ...buttons } }];
  }
  const addresses = [...links.map(({ label, url }) => `${label}: ${url}`), ...lines];
  const more = formatTelegram({ text: addresses.join("\n"), format: "plain" }, { plain: true });
  return [
    { ...part, body },
    ...more.map((piece, i) => ({
      text: piece.text,
      body: { text: piece.text, ...(i === more.length - 1 ? buttons : undefined) },
    })),
  ];
}

/** Without its formatting, links in words. Undefined where it has none, or where the addresses do not fit. */
export function withoutEntities({ entities, ...body }: PartBody): PartBody | undefined {
  if (!entities) return undefined;
  const text = withAddresses(body.text, linksOf(body.text, entities));
  return text.length <= (body.file ? CAPTION_MAX : TEXT_MAX) ? { ...body, text } : undefined;
}

interface Link {
  label: string;
  url: string;
  end: number;
}

/** Links whose address their text does not show. */
function linksOf(text: string, entities: NonNullable<PartBody["entities"]>): Link[] {
  return entities
    .map(({ url = "", offset, length }) => ({ label: text.slice(offset, offset + length), url, end: offset + length }))
    .filter(({ label, url }) => url !== "" && !label.includes(url));
}

function withAddresses(text: string, links: readonly Link[]): string {
  return links
    .toSorted((a, b) => b.end - a.end)
    .reduce((all, { end, url }) => `${all.slice(0, end)} (${url})${all.slice(end)}`, text);
}

function placeholderOf({ form, values }: Prompt): string {
  const field = form.fields.find(({ id }) => values[id] === undefined);
  return (field?.label ?? form.title).slice(0, PLACEHOLDER_MAX);
}

function previewOf({ text, attachments }: TelegramPart): string {
  const files = (attachments ?? []).map((file) => `[${file.filename ?? file.type}]`);
  return [...(text === "" ? [] : [text]), ...files].join("\n");
}
