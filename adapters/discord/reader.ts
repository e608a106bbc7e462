/** Whether a mention in a channel notifies a person: a member of its server who may view it. https://discord.com/developers/docs/resources/guild#get-guild-member */
import { Routes } from "discord-api-types/v10";
import type { Address } from "../../src/domain/chat/address.js";
import type { Caller } from "./caller.js";
import type { Channels } from "./channels.js";
import { type ChannelPayload, channelPayload, guildPayload, memberPayload, THREAD_TYPES } from "./decode/payloads.js";
import { DM_PREFIX } from "./dm.js";
import { isSeenBy } from "./permissions.js";
import { Refusal } from "./rest/errors.js";
import { isDiscordsOwn } from "./rest/outcome.js";

/** Unknown member, unknown user. */
const NO_MEMBER: ReadonlySet<number | string> = new Set([10007, 10013]);

/** Undefined: it is no channel of a server. Rejects when Discord does not answer, or hides the channel from us. */
export async function isReader(
  { caller, channels, signal }: { caller: Caller; channels: Channels; signal: AbortSignal },
  { chatId }: Address,
  userId: string,
): Promise<boolean | undefined> {
  if (chatId.startsWith(DM_PREFIX) || channels.isDm(chatId)) return undefined;
  const channelOf = async (id: string) => channelPayload.parse(await caller.get(Routes.channel(id), { signal }));
  const channel = await channelOf(chatId);
  const guildId = channel.guild_id;
  if (guildId === undefined) return undefined;
  const member = await caller
    .get(Routes.guildMember(guildId, userId), { signal })
    .then((found) => memberPayload.parse(found))
    .catch((error: unknown) => {
      if (error instanceof Refusal && isDiscordsOwn(error) && NO_MEMBER.has(error.code)) return undefined;
      throw error;
    });
  if (member === undefined) return false;
  // Members of a private thread are not asked for: who is mentioned there and may view its channel is added.
  const around: ChannelPayload[] = [channel];
  if (THREAD_TYPES.has(channel.type) && channel.parent_id) around.push(await channelOf(channel.parent_id));
  const guild = guildPayload.parse(await caller.get(Routes.guild(guildId), { signal }));
  const user = { id: userId, username: userId };
  return isSeenBy({ ...guild, channels: around, members: [{ ...member, user }] }, userId, channel);
}
