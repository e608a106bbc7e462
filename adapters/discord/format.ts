/**
 * A message as Discord's request bodies: text in parts that fit, the card as an embed on the last of them, buttons below
 * the end, files with the end. Content that does not fit an embed or a row goes on in further parts; nothing is cut off.
 */
import type { Attachment, Button, Card, OutboundMessage } from "../../src/domain/chat/message.js";
import { flatten } from "../../src/lib/markdown/flatten.js";
import { boundaryBefore } from "../../src/lib/markdown/graphemes.js";
import { cardTree, EMPTY_MESSAGE, joinRich, readRich } from "../../src/lib/markdown/message.js";
import { isPlainText } from "../../src/lib/markdown/parse.js";
import { plainRich, type RichText } from "../../src/lib/markdown/rich.js";
import { splitRich } from "../../src/lib/markdown/split.js";
import type { ShowToken } from "../../src/lib/markdown/tokens.js";
import { type AllowedMentions, canLink, renderDiscord } from "./markdown.js";

/** https://discord.com/developers/docs/resources/message#create-message, …/message#embed-object-embed-limits and …/components/reference */
export const CONTENT_MAX = 2000;
const EMBED = { title: 256, description: 4096, fields: 25, name: 256, value: 1024, footer: 2048, total: 6000 };
const ROWS_MAX = 5;
const ROW_MAX = 5;
const LABEL_MAX = 80;
const FILES_MAX = 10;

export interface DiscordButton {
  type: 2;
  style: 1 | 2 | 3 | 4 | 5;
  label: string;
  custom_id?: string;
  url?: string;
}
export interface DiscordRow {
  type: 1;
  components: DiscordButton[];
}
export interface DiscordEmbed {
  title?: string;
  description?: string;
  url?: string;
  color?: number;
  fields?: { name: string; value: string; inline: boolean }[];
  footer?: { text: string };
}
/** The content of one request. `content` is empty when the part has only an embed, buttons or files. */
export interface DiscordPart {
  content: string;
  embeds?: DiscordEmbed[];
  components?: DiscordRow[];
  attachments?: Attachment[];
}

const TONES = { neutral: 0x95a5a6, good: 0x2ecc71, warning: 0xf1c40f, bad: 0xe74c3c };
const STYLES = { primary: 1, secondary: 2, success: 3, danger: 4 } as const;

export function formatDiscord(message: OutboundMessage, { plain }: { plain: boolean }): DiscordPart[] {
  const { text, card, buttons, attachments } = message;
  if (!card && !buttons?.length && !attachments?.length && isQuick(message)) return [{ content: text }];
  const write = writer(message, plain);
  const { rows, leftover } = buttonRows(buttons ?? [], plain);
  const parts: DiscordPart[] = [];
  const body = plain && card ? joinRich([write.read(text), write.block(card)]) : write.read(text);
  for (const content of write.split(body, CONTENT_MAX)) parts.push({ content });
  if (card && !plain) {
    const { embed, overflow } = cardEmbed(card, write);
    const last = parts.at(-1);
    if (last) last.embeds = [embed];
    else parts.push({ content: "", embeds: [embed] });
    for (const content of overflow.flatMap((rich) => write.split(rich, CONTENT_MAX))) parts.push({ content });
  }
  for (const content of write.split(plainRich(leftover.join("\n")), CONTENT_MAX)) parts.push({ content });
  attach(parts, attachments ?? []);
  attachRows(parts, rows);
  return parts.length > 0 ? parts : [{ content: EMPTY_MESSAGE }];
}

/** Text that Markdown would not change and Discord would not misread. */
function isQuick({ text, format }: OutboundMessage): boolean {
  return (
    text.length <= CONTENT_MAX && text !== "" && (format === undefined || format === "markdown") && isPlainText(text)
  );
}

interface Writer {
  read(text: string): RichText;
  block(card: Card): RichText;
  render(rich: RichText): string;
  split(rich: RichText, limit: number): string[];
}

function writer(message: OutboundMessage, plain: boolean): Writer {
  const mentions: AllowedMentions = message.mentions ?? {};
  const options = { canLink: plain ? () => false : canLink, show: showToken };
  const inText = { ...options, showAddresses: message.showAddresses };
  const styled = (rich: RichText) => (plain ? plainRich(rich.text) : rich);
  const render = (rich: RichText) => renderDiscord(rich, mentions);
  return {
    read: (text) => styled(readRich(text, message.format, inText)),
    block: (card) => styled(flatten(cardTree(card), options)),
    render,
    split: (rich, limit) => splitRich(rich, { limit, measure: (piece) => render(piece).length }).map(render),
  };
}

/** The embed, and as text the parts that exceed its limits. */
function cardEmbed(card: Card, write: Writer): { embed: DiscordEmbed; overflow: RichText[] } {
  const overflow: RichText[] = [];
  const embed: DiscordEmbed = { color: TONES[card.tone ?? "neutral"] };
  let room = EMBED.total;
  const isWeb = /^https?:\/\/\S+$/.test(card.url ?? "") && (card.url as string).length <= 2048;
  const [title, titleRest] = headOf(write, plainRich(card.title ?? ""), EMBED.title);
  if (title) embed.title = title;
  room -= title.length;
  if (isWeb && card.url && title) embed.url = card.url;
  const opening = joinRich([
    ...titleRest,
    ...(card.url && !(isWeb && title) ? [plainRich(card.url)] : []),
    card.text ? readCardText(card.text) : plainRich(""),
  ]);
  const footer = fits(card.footer, EMBED.footer) ? (card.footer ?? "") : "";
  room -= footer.length;
  const [description, descriptionRest] = headOf(write, opening, Math.min(EMBED.description, room));
  if (description) embed.description = description;
  room -= description.length;
  overflow.push(...descriptionRest);
  for (const field of card.fields ?? []) {
    const name = write.render(plainRich(field.name)) || "\u200B";
    const value = write.render(readCardText(field.value)) || "\u200B";
    // Fields keep their order: after one that went into the text, all do.
    const hasFieldOut = overflow.length > descriptionRest.length;
    const count = embed.fields?.length ?? 0;
    const size = name.length + value.length;
    if (
      !hasFieldOut &&
      count < EMBED.fields &&
      name.length <= EMBED.name &&
      value.length <= EMBED.value &&
      size <= room
    ) {
      embed.fields = [...(embed.fields ?? []), { name, value, inline: field.inline ?? false }];
      room -= size;
    } else overflow.push(fieldText(field.name, field.value));
  }
  if (footer) embed.footer = { text: footer };
  else if (card.footer) overflow.push(plainRich(card.footer));
  if (!embed.title && !embed.description && !embed.fields && !embed.footer) embed.description = "\u200B";
  return { embed, overflow: overflow.length > 0 ? [joinRich(overflow)] : [] };
}

const readCardText = (text: string) => readRich(text, "markdown", { canLink, show: showToken });

/** Discord shows moments as its reader's clock does, and names people by itself. https://discord.com/developers/docs/reference#message-formatting */
const showToken: ShowToken = (token) =>
  token.kind === "moment"
    ? { text: `<t:${Math.floor(token.atMs / 1000)}:${token.style}>` }
    : { text: `<@${token.id}>` };
const fits = (text: string | undefined, limit: number) => text !== undefined && text.length <= limit;

function fieldText(name: string, value: string): RichText {
  const rich = joinRich([plainRich(name), readCardText(value)]);
  return name
    ? { text: rich.text, spans: [{ start: 0, end: name.length, style: { kind: "bold" } }, ...rich.spans] }
    : rich;
}

/** The start of a text that fits the limit, written; and the rest. */
function headOf(write: Writer, rich: RichText, limit: number): [string, RichText[]] {
  if (limit < 1) return ["", rich.text === "" ? [] : [rich]];
  const measure = (piece: RichText) => write.render(piece).length;
  const [first, ...rest] = splitRich(rich, { limit: EMBED.total, firstLimit: limit, measure });
  return [first ? write.render(first) : "", rest];
}

/**
 * Rows of at most five; a button that cannot be pressed (a link that is none, no action) becomes a line of text. When Discord refused
 * the message, every link does: a link may be the reason.
 */
function buttonRows(
  buttons: readonly (readonly Button[])[],
  plain: boolean,
): { rows: DiscordRow[]; leftover: string[] } {
  const rows: DiscordRow[] = [];
  const leftover: string[] = [];
  for (const row of buttons) {
    const components: DiscordButton[] = [];
    for (const button of row) {
      const made = plain && button.url !== undefined ? undefined : discordButton(button);
      if (made) components.push(made);
      else leftover.push(button.url ? `${button.label}: ${button.url}` : button.label);
      if (!made || boundary(button.label) === button.label.length) continue;
      leftover.push(button.label);
    }
    for (let i = 0; i < components.length; i += ROW_MAX)
      rows.push({ type: 1, components: components.slice(i, i + ROW_MAX) });
  }
  return { rows, leftover };
}

const boundary = (label: string) =>
  label.length <= LABEL_MAX ? label.length : boundaryBefore(label, 0, LABEL_MAX - 1);

function discordButton(button: Button): DiscordButton | undefined {
  const end = boundary(button.label);
  const label = end === button.label.length ? button.label : `${button.label.slice(0, end)}…`;
  if (button.url !== undefined)
    return /^(https?|discord):\/\/\S+$/.test(button.url) && button.url.length <= 512
      ? { type: 2, style: 5, label, url: button.url }
      : undefined;
  if (button.token === undefined) return undefined;
  return { type: 2, style: STYLES[button.style ?? "secondary"], label, custom_id: button.token };
}

/** Ten files a message; the first with the end of the text. */
function attach(parts: DiscordPart[], attachments: readonly Attachment[]): void {
  for (let i = 0; i < attachments.length; i += FILES_MAX) {
    const group = attachments.slice(i, i + FILES_MAX);
    const last = parts.at(-1);
    if (last && !last.attachments) last.attachments = group;
    else parts.push({ content: "", attachments: group });
  }
}

function attachRows(parts: DiscordPart[], rows: readonly DiscordRow[]): void {
  for (let i = 0; i < rows.length; i += ROWS_MAX) {
    const group = rows.slice(i, i + ROWS_MAX);
    const last = parts.at(-1);
    if (last && !last.components) last.components = group;
    else parts.push({ content: "", components: group });
  }
}
