/** A message as the bodies of Discord requests, which `rest/send.ts` turns into requests. Pure; bodies are JSON. */
import { z } from "zod";
import type { EncodedPart } from "../../src/domain/chat/adapter.js";
import { attachment, type OutboundMessage } from "../../src/domain/chat/message.js";
import { plainRich } from "../../src/lib/markdown/rich.js";
import { splitRich } from "../../src/lib/markdown/split.js";
import { CONTENT_MAX, formatDiscord } from "./format.js";

const SUPPRESS_NOTIFICATIONS = 1 << 12;

/** The body of a part. `plain`: the formatting is off already, so a refusal is final. */
export const partBody = z.object({
  content: z.string(),
  embeds: z.array(z.record(z.string(), z.unknown())).optional(),
  components: z.array(z.record(z.string(), z.unknown())).optional(),
  attachments: z.array(attachment).optional(),
  allowed_mentions: z.object({
    parse: z.array(z.enum(["everyone", "users", "roles"])),
    users: z.array(z.string()).optional(),
    roles: z.array(z.string()).optional(),
    replied_user: z.boolean(),
  }),
  replyToId: z.string().optional(),
  flags: z.number().optional(),
  plain: z.boolean().optional(),
});
export type PartBody = z.infer<typeof partBody>;

/** True for a part of plain words, without pings and files. Nearly all parts are like this; this check saves their parsing. */
export function isPlainText(body: Record<string, unknown>): body is PartBody {
  for (const key in body) {
    const value = body[key];
    if (key === "content") {
      if (typeof value !== "string") return false;
    } else if (key === "replyToId") {
      if (typeof value !== "string") return false;
    } else if (key !== "allowed_mentions" || !isSilent(value)) return false;
  }
  return "content" in body && "allowed_mentions" in body;
}

function isSilent(mentions: unknown): boolean {
  if (typeof mentions !== "object" || mentions === null) return false;
  for (const key in mentions) if (key !== "parse" && key !== "replied_user") return false;
  return (
    "parse" in mentions &&
    Array.isArray(mentions.parse) &&
    mentions.parse.length === 0 &&
    "replied_user" in mentions &&
    mentions.replied_user === false
  );
}

export function encode(message: OutboundMessage, { plain }: { plain: boolean }): EncodedPart[] {
  const allowed_mentions = allowedMentions(message.mentions);
  return formatDiscord(message, { plain }).map((formatted, index) => {
    const body: PartBody = { content: formatted.content, allowed_mentions };
    if (formatted.embeds) body.embeds = formatted.embeds.map((embed) => ({ ...embed }));
    if (formatted.components) body.components = formatted.components.map((row) => ({ ...row }));
    // An empty list counts, too: an edit with it removes the files of the message.
    if (message.attachments) body.attachments = formatted.attachments ?? [];
    if (index === 0 && message.replyToId !== undefined) body.replyToId = message.replyToId;
    if (message.silent) body.flags = SUPPRESS_NOTIFICATIONS;
    if (plain) body.plain = true;
    const files = formatted.attachments && formatted.attachments.length > 0 ? { hasFile: true as const } : {};
    return { text: formatted.content || preview(message), body, ...files };
  });
}

/** The part with its embeds as text, which may take several parts. */
export function plainPart({ body: stored }: EncodedPart): EncodedPart[] | undefined {
  const { content, embeds, attachments, components, replyToId, allowed_mentions, flags, plain } =
    partBody.parse(stored);
  if (plain) return undefined;
  const { rows, links } = withoutLinks(components ?? []);
  const text = [content, ...(embeds ?? []).map(embedText), ...links].filter(Boolean).join("\n");
  const pieces = text === "" ? [""] : splitRich(plainRich(text), { limit: CONTENT_MAX }).map((piece) => piece.text);
  return pieces.map((piece, i) => {
    const body: PartBody = { content: piece, allowed_mentions, plain: true };
    if (flags !== undefined) body.flags = flags;
    if (i === 0 && replyToId !== undefined) body.replyToId = replyToId;
    const isLast = i === pieces.length - 1;
    if (isLast && rows.length > 0) body.components = rows;
    if (!isLast || !attachments?.length) return { text: piece, body };
    body.attachments = attachments;
    const names = attachments.map((file) => file.filename ?? file.type).join(", ");
    return { text: piece || names, body, hasFile: true as const };
  });
}

const link = z.looseObject({ label: z.string(), url: z.string() });

/** Link buttons as lines of text: Discord may have refused an address. */
export function withoutLinks(given: NonNullable<PartBody["components"]>): { rows: typeof given; links: string[] } {
  const links: string[] = [];
  const rows = given.flatMap((row) => {
    const buttons = Array.isArray(row.components) ? row.components : [];
    const left = buttons.filter((one) => {
      const { data } = link.safeParse(one);
      if (data !== undefined) links.push(`${data.label}: ${data.url}`);
      return data === undefined;
    });
    return left.length === 0 ? [] : [{ ...row, components: left }];
  });
  return { rows, links };
}

const embedShape = z.object({
  title: z.string().optional(),
  description: z.string().optional(),
  url: z.string().optional(),
  fields: z.array(z.object({ name: z.string(), value: z.string() })).optional(),
  footer: z.object({ text: z.string() }).optional(),
});

/** The words of an embed, in the order in which Discord shows them. */
function embedText(embed: Record<string, unknown>): string {
  const { title, url, description, fields, footer } = embedShape.parse(embed);
  const rows = (fields ?? []).map(({ name, value }) => `${name}: ${value}`);
  return [title, url, description, ...rows, footer?.text].filter(Boolean).join("\n");
}

/** Only mentions that the message names ping. https://discord.com/developers/docs/resources/message#allowed-mentions-object */
function allowedMentions(mentions: OutboundMessage["mentions"]): PartBody["allowed_mentions"] {
  return {
    parse: mentions?.everyone ? ["everyone"] : [],
    users: mentions?.users?.length ? mentions.users.slice(0, 100) : undefined,
    roles: mentions?.roles?.length ? mentions.roles.slice(0, 100) : undefined,
    replied_user: false,
  };
}

/** For a part that is only an embed, buttons or files. */
function preview({ card, attachments }: OutboundMessage): string {
  if (card) return [card.title, card.text].filter(Boolean).join("\n");
  return (attachments ?? []).map((file) => file.filename ?? file.type).join(", ");
}
