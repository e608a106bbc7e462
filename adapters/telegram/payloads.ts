/** The fields of Telegram's updates that are read, as https://core.telegram.org/bots/api#update gives them; the rest is not looked at. */
import { z } from "zod";

const user = z.object({
  id: z.int(),
  is_bot: z.boolean().optional(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
  username: z.string().optional(),
});
export type UserPayload = z.infer<typeof user>;

const chat = z.object({
  id: z.int(),
  type: z.string(),
  title: z.string().optional(),
  username: z.string().optional(),
});

const entity = z.object({
  type: z.string(),
  offset: z.int(),
  length: z.int(),
  user: user.optional(),
});
export type EntityPayload = z.infer<typeof entity>;

const file = z.object({
  file_id: z.string(),
  file_unique_id: z.string().optional(),
  file_size: z.int().nonnegative().optional(),
  file_name: z.string().optional(),
  mime_type: z.string().optional(),
});
export type FilePayload = z.infer<typeof file>;

const sticker = file.extend({
  is_animated: z.boolean().optional(),
  is_video: z.boolean().optional(),
  emoji: z.string().optional(),
});
const location = z.object({ latitude: z.number(), longitude: z.number() });

const replied = z.object({
  message_id: z.int(),
  date: z.int().optional(),
  from: user.optional(),
  sender_chat: chat.optional(),
  text: z.string().optional(),
  caption: z.string().optional(),
  forum_topic_created: z.unknown().optional(),
});

export const message = z.object({
  message_id: z.int(),
  date: z.int(),
  edit_date: z.int().optional(),
  chat,
  from: user.optional(),
  sender_chat: chat.optional(),
  is_automatic_forward: z.boolean().optional(),
  message_thread_id: z.int().optional(),
  is_topic_message: z.boolean().optional(),
  reply_to_message: replied.optional(),
  text: z.string().optional(),
  entities: z.array(entity).optional(),
  caption: z.string().optional(),
  caption_entities: z.array(entity).optional(),
  photo: z.array(file.extend({ width: z.number().optional(), height: z.number().optional() })).optional(),
  document: file.optional(),
  audio: file.optional(),
  voice: file.optional(),
  video: file.optional(),
  video_note: file.optional(),
  animation: file.optional(),
  sticker: sticker.optional(),
  location: location.optional(),
  venue: z.object({ location, title: z.string(), address: z.string() }).optional(),
  contact: z.object({ phone_number: z.string(), first_name: z.string(), last_name: z.string().optional() }).optional(),
  poll: z.object({ question: z.string(), options: z.array(z.object({ text: z.string() })) }).optional(),
  dice: z.object({ emoji: z.string(), value: z.number() }).optional(),
  checklist: z.object({ title: z.string(), tasks: z.array(z.object({ text: z.string() })) }).optional(),
  game: z.object({ title: z.string() }).optional(),
  story: z.unknown().optional(),
  paid_media: z.unknown().optional(),
  migrate_to_chat_id: z.int().optional(),
  migrate_from_chat_id: z.int().optional(),
});
export type MessagePayload = z.infer<typeof message>;

export const callbackQuery = z.object({
  id: z.string(),
  from: user,
  /** Absent when the button is on an inline message; of an inaccessible one only these fields are there. */
  message: z
    .object({
      message_id: z.int(),
      chat,
      message_thread_id: z.int().optional(),
      is_topic_message: z.boolean().optional(),
    })
    .optional(),
  data: z.string().optional(),
});
export type CallbackPayload = z.infer<typeof callbackQuery>;

const reaction = z.object({
  type: z.string(),
  emoji: z.string().optional(),
  custom_emoji_id: z.string().optional(),
});
export type ReactionPayload = z.infer<typeof reaction>;

export const messageReaction = z.object({
  chat,
  message_id: z.int(),
  user: user.optional(),
  actor_chat: chat.optional(),
  date: z.int(),
  old_reaction: z.array(reaction),
  new_reaction: z.array(reaction),
});
export type MessageReactionPayload = z.infer<typeof messageReaction>;

export const update = z.object({
  update_id: z.int().nonnegative(),
  message: message.optional(),
  edited_message: message.optional(),
  callback_query: callbackQuery.optional(),
  message_reaction: messageReaction.optional(),
});

/** The kinds of updates that Telegram is asked to send. */
export const ALLOWED_UPDATES = ["message", "edited_message", "callback_query", "message_reaction"] as const;
