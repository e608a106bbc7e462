/** The texts by which people name a message, as they copy them in an app: a link, or an id of chat and message. */

export interface LinkedMessage {
  platform: string;
  chatId: string;
  messageId: string;
}

const IN_DISCORD = /^https:\/\/(?:(?:www|ptb|canary)\.)?discord(?:app)?\.com\/channels\/(?:\d+|@me)\/(\d+)\/(\d+)\/?$/i;
/** Discord copies an id in this form, with `-`, when Shift is held; people write `/`, as in a link. */
const CHANNEL_AND_MESSAGE = /^(\d{15,21})[-/](\d{15,21})$/;
const IN_TELEGRAM_GROUP = /^https:\/\/(?:t|telegram)\.me\/c\/(\d+)\/(?:\d+\/)?(\d+)$/i;
/** The gateway does not know public names: the link does not show which group it means. */
const IN_PUBLIC_GROUP = /^https:\/\/(?:t|telegram)\.me\/[a-z]\w+\/(?:\d+\/)?(\d+)$/i;

export const isMessageLink = (text: string): boolean =>
  readMessageLink(text) !== undefined || publicMessageId(text) !== undefined;

/** The id of a message in a group that the link names by its public name. */
export const publicMessageId = (link: string): string | undefined => IN_PUBLIC_GROUP.exec(link)?.[1];

/** The message that a link, or an id of chat and message, names. */
export function readMessageLink(text: string): LinkedMessage | undefined {
  const [, channelId, messageId] = IN_DISCORD.exec(text) ?? CHANNEL_AND_MESSAGE.exec(text) ?? [];
  if (channelId !== undefined && messageId !== undefined) return { platform: "discord", chatId: channelId, messageId };
  const [, groupId, inGroup] = IN_TELEGRAM_GROUP.exec(text) ?? [];
  return groupId === undefined || inGroup === undefined
    ? undefined
    : { platform: "telegram", chatId: `-${10 ** 12 + Number(groupId)}`, messageId: inGroup };
}
