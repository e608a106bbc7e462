/** Messages that get no answer because of access rules: one log line each, and counts since the start. */
import type { InboundMessage } from "../../domain/chat/message.js";
import type { Logger } from "../../lib/logger.js";

export interface IgnoredCount {
  platform: string;
  reason: string;
  count: number;
}

export class Ignored {
  readonly #logger: Logger;
  readonly #counts = new Map<string, IgnoredCount>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The bot's own messages come back on some platforms and are not worth a line. */
  note({ platform, botId, chatId, threadId, userId, messageId }: InboundMessage, reason: string): void {
    if (userId === botId && botId !== "") return;
    const key = `${platform} ${reason}`;
    const known = this.#counts.get(key);
    if (known) known.count++;
    else this.#counts.set(key, { platform, reason, count: 1 });
    this.#logger.info({ platform, chatId, threadId, messageId, reason }, `message ignored: ${reason}`);
  }

  /** Most frequent first. */
  counts(): IgnoredCount[] {
    return [...this.#counts.values()].sort((a, b) => b.count - a.count);
  }
}
