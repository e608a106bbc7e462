/** Pauses that a platform asked for (`retry_after`), kept on disk so that a restart does not forget them. */
import { type Address, formatAddress } from "../../domain/address.js";
import type { PauseStore } from "../../domain/store.js";

export interface Pause {
  key: string;
  until: number;
  reason: string;
}

export class Pauses {
  readonly #store: PauseStore;
  readonly #pauses = new Map<string, Pause>();

  private constructor(store: PauseStore, pauses: readonly Pause[]) {
    this.#store = store;
    for (const pause of pauses) this.#pauses.set(pause.key, pause);
  }

  static async load(store: PauseStore): Promise<Pauses> {
    return new Pauses(store, await store.list());
  }

  /** When sending to this chat may go on; 0 when nothing holds it back. */
  until(at: Address, now: number): number {
    if (this.#pauses.size === 0) return 0;
    return Math.max(this.#lasting(platformKey(at), now), this.#lasting(chatKey(at), now));
  }

  /** Sets a pause; a longer one that is already there stays. */
  async set(at: Address, scope: "chat" | "bot", until: number, reason: string): Promise<void> {
    const key = scope === "bot" ? platformKey(at) : chatKey(at);
    if ((this.#pauses.get(key)?.until ?? 0) >= until) return;
    this.#pauses.set(key, { key, until, reason });
    await this.#store.set(key, until, reason);
  }

  lasting(now: number): Pause[] {
    return [...this.#pauses.values()].filter(({ until }) => until > now);
  }

  /** The pause of a whole platform. */
  ofPlatform(platform: string, now: number): Pause | undefined {
    return this.lasting(now).find(({ key }) => key.startsWith(`${platform}:`) && key.split(":").length === 2);
  }

  #lasting(key: string, now: number): number {
    const pause = this.#pauses.get(key);
    if (!pause) return 0;
    if (pause.until > now) return pause.until;
    this.#pauses.delete(key);
    return 0;
  }
}

const platformKey = ({ platform, botId }: Address) => `${platform}:${botId}`;
const chatKey = ({ platform, botId, chatId }: Address) => formatAddress({ platform, botId, chatId });
