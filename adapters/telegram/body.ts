/** The body of an encoded part: `encode` makes it and `send` reads it back, perhaps after a restart. */
import { z } from "zod";
import { attachment } from "../../src/domain/chat/message.js";
import { HookgateError } from "../../src/lib/errors.js";

const entity = z.object({
  type: z.enum([
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
  ]),
  offset: z.int(),
  length: z.int(),
  url: z.string().optional(),
  language: z.string().optional(),
  user: z.object({ id: z.int() }).optional(),
});

const keyboardButton = z.union([
  z.object({ text: z.string(), callback_data: z.string() }),
  z.object({ text: z.string(), url: z.string() }),
]);

const partBody = z.object({
  text: z.string(),
  entities: z.array(entity).optional(),
  keyboard: z.array(z.array(keyboardButton)).optional(),
  /** The file that the text is the caption of. */
  file: attachment.optional(),
  /** The message has no file, or has it in another part: an edit removes the file that is there. */
  noFile: z.boolean().optional(),
  replyToId: z.int().optional(),
  silent: z.boolean().optional(),
  /** A reply is asked for; the text in the box until the person types. */
  placeholder: z.string().optional(),
});
export type PartBody = z.infer<typeof partBody>;

/** Throws TELEGRAM_PART_UNREADABLE: a row that another version wrote. */
export function readBody(body: Record<string, unknown>): PartBody {
  if (isText(body)) return body;
  const parsed = partBody.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new HookgateError({
    code: "TELEGRAM_PART_UNREADABLE",
    message: `a stored part is not readable: ${parsed.error.issues[0]?.path.join(".")} ${parsed.error.issues[0]?.message}`,
  });
}

/** Most bodies are text only; this check needs no schema. */
function isText(body: Record<string, unknown>): body is { text: string } {
  for (const key in body) if (key !== "text") return false;
  return typeof body.text === "string";
}
