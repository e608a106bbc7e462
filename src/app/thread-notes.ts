/** Reports that a platform opens no thread: once for each chat and reason, and not for each message that wants one. */
import { type Address, formatAddress } from "../domain/address.js";
import type { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";

export type NoteNoThread = (at: Address, error: HookgateError) => void;

const MAX_NOTED = 1_000;

export function createThreadNotes(logger: Logger): NoteNoThread {
  const noted = new Set<string>();
  return (at, { message, hint }) => {
    const chat = formatAddress(at);
    const key = `${chat} ${message}`;
    if (noted.has(key)) return;
    if (noted.size >= MAX_NOTED) noted.clear();
    noted.add(key);
    logger.warn({ chat, hint }, `${message}; messages go to the chat itself`);
  };
}
