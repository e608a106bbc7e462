/** A message for the web chat's page: HTML made from the tree (nothing raw passes), the card in parts, buttons and files as they are. */
import type { Attachment, Button, OutboundMessage } from "../../src/domain/chat/message.js";
import { flatten } from "../../src/lib/markdown/flatten.js";
import { cardTree, EMPTY_MESSAGE, joinRich, readRich, readTree } from "../../src/lib/markdown/message.js";
import { literal, type Root } from "../../src/lib/markdown/nodes.js";
import { isPlainText } from "../../src/lib/markdown/parse.js";
import { plainRich } from "../../src/lib/markdown/rich.js";
import { escapeHtml, isSafeUrl, toHtml } from "./html.js";

export interface WebCard {
  title?: string;
  /** From the card's text. */
  html?: string;
  url?: string;
  tone?: "neutral" | "good" | "warning" | "bad";
  fields?: { name: string; html: string; inline: boolean }[];
  footer?: string;
}
/** `url` opens a page; a press sends `token`. */
export interface WebButton {
  label: string;
  style: "primary" | "secondary" | "success" | "danger";
  url?: string;
  token?: string;
}
export interface WebBody {
  /** All that can be read, without formatting: for previews, search and screen readers. */
  text: string;
  html: string;
  card?: WebCard;
  buttons?: WebButton[][];
  attachments?: Attachment[];
}

const canLink = (url: string) => isSafeUrl(url);

export function formatWeb(message: OutboundMessage, { plain }: { plain: boolean }): WebBody {
  const { card, buttons, attachments } = message;
  const format = plain && message.format !== "html" ? "plain" : message.format;
  // Read once: for both.
  const tree = readTree(message.text, format, message.showAddresses);
  const body: WebBody = { text: textOf(message, plain, tree), html: htmlOf(message.text, format, plain, tree) };
  if (card) body.card = webCard(card, plain);
  if (buttons?.length) body.buttons = buttons.map((row) => row.map(webButton));
  if (attachments?.length) body.attachments = attachments;
  if (body.text === "" && !attachments?.length && !buttons?.length)
    return { ...body, text: EMPTY_MESSAGE, html: `<p>${EMPTY_MESSAGE}</p>` };
  return body;
}

/** A person's text, as the page shows it. */
export function writtenHtml(text: string): string {
  return htmlOf(text, "markdown", false, readTree(text, "markdown", true));
}

function textOf({ text, format, card }: OutboundMessage, plain: boolean, tree: Root): string {
  if (!card && (format === undefined || format === "markdown") && isPlainText(text)) return text;
  const rich = plain && format !== "html" ? plainRich(text) : readRich(text, format, { canLink }, tree);
  return joinRich([rich, ...(card ? [flatten(cardTree(card), { canLink })] : [])]).text;
}

function htmlOf(
  text: string,
  format: OutboundMessage["format"],
  plain: boolean,
  tree: Root = readTree(text, format),
): string {
  if (text.trim() === "") return "";
  if (plain && format === "html") return `<p>${escapeHtml(readRich(text, "html", { canLink: () => false }).text)}</p>`;
  const html = toHtml(tree);
  return html === "" ? toHtml({ type: "root", children: [literal(text)] }) : html;
}

function webCard(
  { title, text, url, tone, fields, footer }: NonNullable<OutboundMessage["card"]>,
  plain: boolean,
): WebCard {
  const format = plain ? "plain" : "markdown";
  return {
    title: title || undefined,
    html: text ? htmlOf(text, format, plain) : undefined,
    url: url && isSafeUrl(url) ? url : undefined,
    tone,
    fields: fields?.length
      ? fields.map(({ name, value, inline = false }) => ({
          name,
          html: htmlOf(value, format, plain),
          inline,
        }))
      : undefined,
    footer: footer || undefined,
  };
}

/** The action stays here: the page gets the token only. */
function webButton({ label, style = "secondary", url, token }: Button): WebButton {
  return { label, style, url: url && isSafeUrl(url) ? url : undefined, token };
}
