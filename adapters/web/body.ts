/** The body of a web chat message besides its text: rendered parts, buttons, files, reactions. Stored as JSON in the message's row. */
import { z } from "zod";
import { type Attachment, attachment, inboundMessage } from "../../src/domain/chat/message.js";

const pageCard = z.object({
  title: z.string().optional(),
  url: z.string().optional(),
  html: z.string().optional(),
  tone: z.enum(["neutral", "good", "warning", "bad"]).optional(),
  fields: z.array(z.object({ name: z.string(), html: z.string(), inline: z.boolean().optional() })).optional(),
  footer: z.string().optional(),
});
export type PageCard = z.infer<typeof pageCard>;

const pageButton = z.object({
  label: z.string(),
  style: z.enum(["primary", "secondary", "success", "danger"]).optional(),
  url: z.string().optional(),
  token: z.string().optional(),
});

export const rowBody = z.object({
  /** Sanitised. */
  html: z.string().optional(),
  card: pageCard.optional(),
  buttons: z.array(z.array(pageButton)).optional(),
  attachments: z.array(attachment).optional(),
  replyToId: z.number().optional(),
  reactions: z
    .array(
      z.object({
        emoji: z.string(),
        userId: z.string(),
        at: z.number(),
        writtenBy: inboundMessage.shape.writtenBy,
      }),
    )
    .optional(),
  /** The writer's nonce, by which their page finds its own message again. */
  nonce: z.string().optional(),
  /** The nonce of the last edit: the same edit sent twice counts once. */
  editNonce: z.string().optional(),
  /** The run of a hook whose program wrote it; in a deleted message, of the one that deleted it. */
  writtenBy: inboundMessage.shape.writtenBy,
  /** A command given with named options, so that it can be offered to the gateway again. */
  command: z
    .object({ name: z.string(), options: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])) })
    .optional(),
});
export type RowBody = z.infer<typeof rowBody>;

/** The body of a row; an unreadable one is an empty one, so that the text still shows. */
export function readBody(message: { body?: Record<string, unknown> }): RowBody {
  const parsed = rowBody.safeParse(message.body ?? {});
  return parsed.success ? parsed.data : {};
}

/** The file's bytes are on another server. */
export function isElsewhere({ url }: Attachment): boolean {
  return /^https?:/i.test(url);
}
