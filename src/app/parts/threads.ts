/** Threads on the platforms that have them, and a line in the log where a platform opens none. */
import type { AssemblyDeps } from "../../automations/assemble.js";
import type { Adapter } from "../../domain/chat/adapter.js";
import { type Address, formatAddress } from "../../domain/chat/address.js";
import type { HookgateError } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";

export type NoteNoThread = (at: Address, error: HookgateError) => void;

const MAX_NOTED = 1_000;

/** Reports that a platform opens no thread: once for each chat and reason, and not for each message that wants one. */
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

/** Threads, under a message or by their name, on the platforms that have them. */
export function threadsOf(adapters: readonly Adapter[], noteNoThread: NoteNoThread): AssemblyDeps["threads"] {
  const adapterOf = (wanted: string) => adapters.find(({ platform }) => platform === wanted);
  return {
    noteNoThread,
    threadsAt: (platform) => {
      const adapter = adapterOf(platform);
      return adapter?.openThread ? "under-messages" : adapter?.openTopic ? "by-name" : "none";
    },
    openTopic: async (at, name) => adapterOf(at.platform)?.openTopic?.(at, name),
    openThread: async (at, messageId, name) => adapterOf(at.platform)?.openThread?.(at, messageId, name),
  };
}
