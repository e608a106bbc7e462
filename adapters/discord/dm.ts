/** A chat id that stands for "the DM with this person", until Discord has told its channel. */
export const DM_PREFIX = "dm:";

export const dmChatId = (userId: string) => `${DM_PREFIX}${userId}`;
