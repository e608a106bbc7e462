/** Messages as every hook, command and adapter sees them. Field names are those of the published hook systems. */
import { z } from "zod";

export const attachment = z.object({
  type: z.enum(["image", "file", "audio", "video"]),
  /**
   * The platform's own name for the type (Telegram's `voice`, `video_note`): the platform shows the file again by `ref` as that only.
   * Absent: it is `type`.
   */
  kind: z.string().optional(),
  /** The platform's own reference (a Telegram file_id, a Discord attachment id, a web upload id). */
  ref: z.string(),
  /** An id that stays the same while the file is the same, where `ref` may change (Telegram's file_unique_id). Absent: `ref` is the id. */
  id: z.string().optional(),
  /** Where the bytes can be fetched; empty when the platform gives them by `ref` only. `file:` and `data:` are read locally. */
  url: z.string(),
  mimeType: z.string(),
  filename: z.string().optional(),
  sizeBytes: z.number().int().nonnegative().optional(),
  /** For a file in a copy: the platform that `url` belongs to. That platform may give a fresh one when it has expired. */
  platform: z.string().optional(),
  /** In a correction of a copy: the message that it changes shows the file. Of no use in a new message. */
  isKept: z.boolean().optional(),
});
export type Attachment = z.infer<typeof attachment>;

/** Compares two files of one platform. Names do not help: all pasted pictures of Discord have the same name. */
export const isSameFile = (one: Attachment, other: Attachment): boolean =>
  (one.id ?? one.ref) === (other.id ?? other.ref);

export const inboundMessage = z.object({
  platform: z.string(),
  botId: z.string(),
  chatId: z.string(),
  threadId: z.string().optional(),
  /** Discord guild, or empty. For access lists only. */
  guildId: z.string().optional(),
  /** The chat that a thread hangs under, so that an allowed channel allows its threads. */
  parentChatId: z.string().optional(),
  userId: z.string(),
  username: z.string().optional(),
  displayName: z.string().optional(),
  /** Platform role ids of the sender (Discord), for operator roles. */
  userRoleIds: z.array(z.string()).optional(),
  /** True when another bot account or a webhook wrote it. */
  isBot: z.boolean().optional(),
  text: z.string(),
  /** `plain`: no sign in the text is a mark, as on Telegram, and a copy shows each as it was written. Absent = the text is Markdown. */
  format: z.literal("plain").optional(),
  /** People whom the text mentions by id (Discord), with their names. */
  mentioned: z.array(z.object({ id: z.string(), name: z.string() })).optional(),
  attachments: z.array(attachment),
  replyToId: z.string().optional(),
  replyToUserId: z.string().optional(),
  /** The message of ours that it replies to, as the platform shows it. */
  replyToOwn: z.object({ text: z.string(), writtenAt: z.number() }).optional(),
  isDm: z.boolean(),
  /** In a group or guild: the message addresses us (mention, reply to us, thread on a copy of ours, or a command for us). */
  isGroupMention: z.boolean(),
  messageId: z.string(),
  isEdit: z.boolean(),
  /** Milliseconds since the epoch, by our clock. */
  receivedAt: z.number(),
  /** The same time by the platform's clock, which knows when the message was written while the gateway did not receive it. */
  writtenAt: z.number().optional(),
  /** The run of the hook whose program wrote it, or pressed the button (in the web chat, from this machine), and its depth in a chain of hooks. */
  writtenBy: z.object({ runId: z.string(), depth: z.number().int().nonnegative() }).optional(),
  /** The platform's own payload, as it came. Never journalled. */
  raw: z.unknown().optional(),
});
export type InboundMessage = z.infer<typeof inboundMessage>;

export const cardField = z.object({ name: z.string(), value: z.string(), inline: z.boolean().optional() });

/** A framed block: an embed on Discord, a titled block elsewhere. `text` and field values are Markdown. */
export const card = z.object({
  title: z.string().optional(),
  text: z.string().optional(),
  url: z.string().optional(),
  tone: z.enum(["neutral", "good", "warning", "bad"]).optional(),
  fields: z.array(cardField).optional(),
  footer: z.string().optional(),
});
export type Card = z.infer<typeof card>;

/**
 * The questions that a person answers before a button acts. Each platform asks its own way: in a form (values arrive with the press, by
 * field id), or, without forms, by one question a field, which is answered by a reply. The rules for its texts are in `message-problems.ts`:
 * a template is judged when it is filled in.
 */
export const form = z.object({
  title: z.string().describe("1 to 45 characters."),
  fields: z
    .array(
      z.object({
        id: z
          .string()
          .describe("The option of the command that the value is for: 1 to 100 characters, each field its own."),
        label: z.string().describe("1 to 45 characters."),
        long: z.boolean().optional(),
        required: z.boolean().optional(),
        value: z.string().optional(),
      }),
    )
    .min(1)
    .max(5),
});
export type Form = z.infer<typeof form>;

/**
 * The action of a press: run a command line as the person who pressed (`"/hooks show x"`; the values of its form are added as named options
 * `field=value`), or send a text as that person, through all the hooks; such a text is never read as a command. A link button opens `url`
 * and is never an action. `isFilledIn`: the line holds values that are not its author's; the person who presses is shown the line.
 */
export const buttonAction = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("command"),
    line: z
      .string()
      .describe(
        "The command line. A template fills one whole option value, and is quoted: `/task add me text={{ … }}`.",
      ),
    form: form.optional(),
    isFilledIn: z.boolean().optional().describe("Put in when templates filled the line: a press shows the line."),
  }),
  z.object({
    kind: z.literal("say"),
    text: z.string().describe("Goes through the hooks as a message of the person; never read as a command."),
  }),
]);
export type ButtonAction = z.infer<typeof buttonAction>;

export const button = z.object({
  label: z.string().min(1),
  style: z.enum(["primary", "secondary", "success", "danger"]).optional(),
  url: z.string().optional(),
  action: buttonAction.optional(),
  /** Put in by the gateway: the signed token that a press brings back (at most 64 bytes). */
  token: z.string().optional(),
});
export type Button = z.infer<typeof button>;

/** The message asks one person for the next field of a form; their reply to it is the value. Where a platform has no forms. */
export const prompt = z.object({
  userId: z.string(),
  /** The command line that all the values are for. */
  line: z.string(),
  form,
  /** The earlier answers, by field id. */
  values: z.record(z.string(), z.string()),
  /** ms since the epoch; no answer counts afterwards. */
  until: z.number(),
});
export type Prompt = z.infer<typeof prompt>;

export const outboundMessage = z.object({
  /** Markdown (CommonMark + GFM), unless `format` sets another format. */
  text: z.string(),
  attachments: z.array(attachment).optional(),
  replyToId: z.string().optional(),
  threadId: z.string().optional(),
  format: z.enum(["markdown", "html", "plain"]).optional(),
  card: card.optional(),
  /** Rows of buttons. */
  buttons: z.array(z.array(button)).optional(),
  silent: z.boolean().optional(),
  /** Writes out the address of every link in the text: a stranger's words cannot hide where a link leads. */
  showAddresses: z.boolean().optional(),
  /** Put in by the gateway. */
  prompt: prompt.optional(),
  /** The accounts and roles that the message may ping. None by default: no @everyone, no roles, no users. */
  mentions: z
    .object({
      users: z.array(z.string()).optional(),
      roles: z.array(z.string()).optional(),
      everyone: z.boolean().optional(),
    })
    .optional(),
});
export type OutboundMessage = z.infer<typeof outboundMessage>;
