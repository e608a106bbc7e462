/** Facts of Discord's API that several files of this adapter need. */

/** Missing Permissions: https://discord.com/developers/docs/topics/opcodes-and-status-codes#json */
export const MISSING_PERMISSIONS = 50013;
/** Missing Access, or Missing Permissions: the bot may not do it there. */
export const FORBIDDEN: ReadonlySet<number | string> = new Set([50001, MISSING_PERMISSIONS]);
/** The flag of a message that only one person sees. */
export const EPHEMERAL = 64;
/** Characters. */
export const MAX_THREAD_NAME = 100;
/** The title where there are no words, and where Discord refuses to list a post or a thread under its own. */
export const NEUTRAL_TITLE = "New message";
