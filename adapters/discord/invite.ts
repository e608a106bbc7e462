/** The link that adds the bot to a person's server. https://docs.discord.com/developers/topics/oauth2#bot-authorization-flow */

/** https://docs.discord.com/developers/topics/permissions#permissions-bitwise-permission-flags */
const PERMISSIONS = {
  addReactions: 1n << 6n,
  viewChannel: 1n << 10n,
  sendMessages: 1n << 11n,
  embedLinks: 1n << 14n,
  attachFiles: 1n << 15n,
  readMessageHistory: 1n << 16n,
  /** Reopens archived threads. */
  manageThreads: 1n << 34n,
  createPublicThreads: 1n << 35n,
  sendMessagesInThreads: 1n << 38n,
};

/** With all that the gateway uses, and slash commands. */
export function inviteUrl(applicationId: string): string {
  const permissions = Object.values(PERMISSIONS).reduce((all, one) => all | one, 0n);
  return `https://discord.com/oauth2/authorize?client_id=${applicationId}&scope=bot+applications.commands&permissions=${permissions}`;
}
