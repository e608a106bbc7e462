/** A chat id that means "the DM with this person", until Discord has named its channel. */
export const DM_PREFIX = "dm:";

export const dmChatId = (userId: string) => `${DM_PREFIX}${userId}`;
