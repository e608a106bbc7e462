/**
 * Whether an account may read a channel, from the facts in GUILD_CREATE. Asked before a catch-up, because a refused request counts
 * against us, and before an alert mentions a person. https://discord.com/developers/docs/topics/permissions#permission-hierarchy
 */
import { type ChannelPayload, type GuildPayload, THREAD_TYPES } from "./decode/payloads.js";

const ADMINISTRATOR = 1n << 3n;
export const VIEW_CHANNEL = 1n << 10n;
/** The permissions to read older messages: VIEW_CHANNEL and READ_MESSAGE_HISTORY. */
const READ = VIEW_CHANNEL | (1n << 16n);

/** Whether a member of a guild sees a channel; `guild` lists this channel, its parent and the member. */
export const isSeenBy = (guild: GuildPayload, userId: string, channel: ChannelPayload): boolean =>
  readableIn(guild, userId, VIEW_CHANNEL)(channel);

/** A function over the channels of one guild; threads follow their parent. */
export function readableIn(guild: GuildPayload, userId: string, needed = READ): (channel: ChannelPayload) => boolean {
  const ownRoles = new Set(guild.members.find((member) => member.user?.id === userId)?.roles ?? []);
  let base = 0n;
  for (const role of guild.roles) if (role.id === guild.id || ownRoles.has(role.id)) base |= BigInt(role.permissions);
  const parents = new Map(guild.channels.map((channel) => [channel.id, channel]));

  return (channel) => {
    if (guild.owner_id === userId || base & ADMINISTRATOR) return true;
    const parent = THREAD_TYPES.has(channel.type) && channel.parent_id ? parents.get(channel.parent_id) : undefined;
    const overwrites = (parent ?? channel).permission_overwrites ?? [];
    let allowed = base;
    const apply = (deny: bigint, allow: bigint) => {
      allowed = (allowed & ~deny) | allow;
    };
    const everyone = overwrites.find((entry) => entry.id === guild.id);
    if (everyone) apply(BigInt(everyone.deny), BigInt(everyone.allow));
    const roles = overwrites.filter((entry) => ownRoles.has(entry.id));
    apply(
      roles.reduce((sum, entry) => sum | BigInt(entry.deny), 0n),
      roles.reduce((sum, entry) => sum | BigInt(entry.allow), 0n),
    );
    const own = overwrites.find((entry) => entry.id === userId);
    if (own) apply(BigInt(own.deny), BigInt(own.allow));
    return (allowed & needed) === needed;
  };
}
