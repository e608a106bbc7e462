/**
 * Chats that got another id (a Telegram group that became a supergroup). Durable, because deliveries that were queued for the old id come
 * up later.
 */
import type { CursorStore } from "../domain/chat/adapter.js";
import type { Address } from "../domain/chat/address.js";

const PREFIX = "moved:";
/** A chat moves once in practice; a ring of moves must not hang us. */
const MAX_HOPS = 5;

export class MovedChats {
  readonly #cursors: Pick<CursorStore, "list" | "set">;
  readonly #next = new Map<string, string>();

  constructor(cursors: Pick<CursorStore, "list" | "set">) {
    this.#cursors = cursors;
    for (const { key, value } of cursors.list(PREFIX)) this.#next.set(key.slice(PREFIX.length), value);
  }

  async record(at: Address, toChatId: string): Promise<void> {
    if (at.chatId === toChatId) return;
    const key = keyOf(at.platform, at.chatId);
    this.#next.set(key, toChatId);
    await this.#cursors.set(PREFIX + key, toChatId);
  }

  get isEmpty(): boolean {
    return this.#next.size === 0;
  }

  /** Where the chat is now; the same object when it never moved. */
  current<T extends Pick<Address, "platform" | "chatId">>(at: T): T {
    if (this.isEmpty) return at;
    let chatId = at.chatId;
    for (let hop = 0; hop < MAX_HOPS; hop++) {
      const next = this.#next.get(keyOf(at.platform, chatId));
      if (next === undefined) break;
      chatId = next;
    }
    return chatId === at.chatId ? at : { ...at, chatId };
  }

  /** The ids that the chat had before; undefined when it never moved. */
  former(at: Pick<Address, "platform" | "chatId">): string[] | undefined {
    if (this.isEmpty) return undefined;
    const former: string[] = [];
    let wanted = at.chatId;
    for (let hop = 0; hop < MAX_HOPS; hop++) {
      const before = [...this.#next].find(([key, to]) => to === wanted && key.startsWith(`${at.platform}:`))?.[0];
      if (before === undefined) break;
      wanted = before.slice(at.platform.length + 1);
      former.push(wanted);
    }
    return former.length > 0 ? former : undefined;
  }
}

const keyOf = (platform: string, chatId: string) => `${platform}:${chatId}`;
