/**
 * The fields of Discord's payloads that the adapter reads. They are parsed here and trusted afterwards: a payload that does not
 * parse is logged and skipped. Shapes: https://discord.com/developers/docs/events/gateway-events
 */
import { z } from "zod";

const snowflake = z.string().regex(/^\d{1,20}$/);

const user = z.object({
  id: snowflake,
  username: z.string(),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
});
export type UserPayload = z.infer<typeof user>;

export const memberPayload = z.object({
  nick: z.string().nullish(),
  roles: z.array(snowflake),
  user: user.optional(),
});
export type MemberPayload = z.infer<typeof memberPayload>;

const attachmentPayload = z.object({
  id: snowflake,
  filename: z.string(),
  url: z.string(),
  size: z.number().int().nonnegative().optional(),
  content_type: z.string().nullish(),
});
export type AttachmentPayload = z.infer<typeof attachmentPayload>;

const sticker = z.object({ id: snowflake, name: z.string(), format_type: z.number() });
export type StickerPayload = z.infer<typeof sticker>;

const snapshot = z.object({
  message: z.object({ content: z.string().optional(), attachments: z.array(attachmentPayload).optional() }),
});

const pollMedia = z.object({
  text: z.string().nullish(),
  emoji: z.object({ name: z.string().nullish() }).nullish(),
});

export const messagePayload = z.object({
  id: snowflake,
  channel_id: snowflake,
  guild_id: snowflake.optional(),
  type: z.number(),
  content: z.string(),
  author: user,
  member: memberPayload.optional(),
  webhook_id: snowflake.optional(),
  edited_timestamp: z.string().nullish(),
  mentions: z
    .array(z.object({ id: snowflake, username: z.string().optional(), global_name: z.string().nullish() }))
    .optional(),
  mention_roles: z.array(snowflake).optional(),
  attachments: z.array(attachmentPayload).optional(),
  sticker_items: z.array(sticker).optional(),
  poll: z
    .object({
      question: pollMedia,
      answers: z.array(z.object({ poll_media: pollMedia })).optional(),
    })
    .optional(),
  message_reference: z.object({ type: z.number().optional(), message_id: snowflake.optional() }).optional(),
  referenced_message: z.object({ id: snowflake, content: z.string(), author: z.object({ id: snowflake }) }).nullish(),
  message_snapshots: z.array(snapshot).optional(),
});
export type MessagePayload = z.infer<typeof messagePayload>;

export const deletePayload = z.object({ id: snowflake, channel_id: snowflake, guild_id: snowflake.optional() });
export const bulkDeletePayload = z.object({
  ids: z.array(snowflake),
  channel_id: snowflake,
  guild_id: snowflake.optional(),
});

export const reactionPayload = z.object({
  user_id: snowflake,
  channel_id: snowflake,
  message_id: snowflake,
  guild_id: snowflake.optional(),
  emoji: z.object({ id: snowflake.nullish(), name: z.string().nullish() }),
});
export type ReactionPayload = z.infer<typeof reactionPayload>;

export const channelPayload = z.object({
  id: snowflake,
  type: z.number(),
  name: z.string().nullish(),
  parent_id: snowflake.nullish(),
  guild_id: snowflake.optional(),
  last_message_id: snowflake.nullish(),
  permission_overwrites: z.array(z.object({ id: snowflake, allow: z.string(), deny: z.string() })).optional(),
  recipients: z.array(user).optional(),
});
export type ChannelPayload = z.infer<typeof channelPayload>;

export const guildPayload = z.object({
  id: snowflake,
  owner_id: snowflake.optional(),
  unavailable: z.boolean().optional(),
  roles: z
    .array(
      z.object({
        id: snowflake,
        permissions: z.string(),
        tags: z.object({ bot_id: snowflake.optional() }).optional(),
      }),
    )
    .default([]),
  members: z.array(memberPayload).default([]),
  channels: z.array(channelPayload).default([]),
  threads: z.array(channelPayload).default([]),
});
export type GuildPayload = z.infer<typeof guildPayload>;

export const archivedThreadsPayload = z.object({
  threads: z.array(channelPayload.extend({ thread_metadata: z.object({ archive_timestamp: z.string() }) })),
});

export const threadListPayload = z.object({ guild_id: snowflake, threads: z.array(channelPayload) });

export const readyPayload = z.object({
  user: z.object({ id: snowflake, username: z.string() }),
  application: z.object({ id: snowflake }),
  guilds: z.array(z.object({ id: snowflake })),
});

const option = z.object({
  name: z.string(),
  value: z.union([z.string(), z.number(), z.boolean()]).optional(),
  focused: z.boolean().optional(),
});

const component = z.object({
  custom_id: z.string().optional(),
  value: z.string().optional(),
});

export const interactionPayload = z.object({
  id: snowflake,
  application_id: snowflake,
  type: z.number(),
  token: z.string().min(1),
  guild_id: snowflake.optional(),
  channel_id: snowflake.optional(),
  channel: z.object({ id: snowflake, type: z.number(), parent_id: snowflake.nullish() }).optional(),
  user: user.optional(),
  member: memberPayload.optional(),
  message: z.object({ id: snowflake }).optional(),
  data: z
    .object({
      name: z.string().optional(),
      options: z.array(option).optional(),
      custom_id: z.string().optional(),
      component_type: z.number().optional(),
      components: z
        .array(z.object({ components: z.array(component).optional(), component: component.optional() }))
        .optional(),
    })
    .optional(),
});
export type InteractionPayload = z.infer<typeof interactionPayload>;

/** Kinds of channels, as far as they matter here. https://discord.com/developers/docs/resources/channel#channel-object-channel-types */
export const THREAD_TYPES: ReadonlySet<number> = new Set([10, 11, 12]);
export const FORUM_TYPES: ReadonlySet<number> = new Set([15, 16]);
/** Text, announcement, forum and media channels have threads. */
export const ARCHIVING_TYPES: ReadonlySet<number> = new Set([0, 5, 15, 16]);
/** Text channels have private threads, too. */
export const TEXT_TYPE = 0;
export const DM_TYPES: ReadonlySet<number> = new Set([1, 3]);
