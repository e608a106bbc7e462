/** Pauses that a platform asked for (`retry_after`), kept on disk so that a restart does not forget them. */
import { type Address, formatAddress } from "../../domain/chat/address.js";
import type { Pause, PauseStore } from "../../domain/store.js";

export class Pauses {
  readonly #store: PauseStore;
  readonly #pauses = new Map<string, Pause>();

  private constructor(store: PauseStore, pauses: readonly Pause[]) {
    this.#store = store;
    for (const pause of pauses) this.#pauses.set(pause.key, pause);
  }

  /** Loads the pauses that still last. A pause that would last longer than was asked for was set under another clock, and is void. */
  static async load(store: PauseStore, now: number): Promise<Pauses> {
    const pauses = await store.list();
    return new Pauses(
      store,
      pauses.filter(({ until, askedMs }) => until > now && until - now <= askedMs),
    );
  }

  /** When sending to this chat may go on; 0 when nothing holds it back. */
  until(at: Address, now: number): number {
    if (this.#pauses.size === 0) return 0;
    return Math.max(this.untilOfBot(at, now), this.#lasting(chatKey(at), now));
  }

  /** Like `until`, for requests that are not limited together with their chat. */
  untilOfBot(at: Address, now: number): number {
    if (this.#pauses.size === 0) return 0;
    return Math.max(this.#lasting(at.platform, now), this.#lasting(botKey(at), now));
  }

  /** The pause of all requests to a platform, connecting included. */
  ofAllRequests(platform: string, now: number): Pause | undefined {
    return this.#pauses.size > 0 && this.#lasting(platform, now) > 0 ? this.#pauses.get(platform) : undefined;
  }

  /** The pause of one chat. A pause that holds back all of its platform does not count. */
  ofChat(at: Address, now: number): Pause | undefined {
    const key = chatKey(at);
    return this.#lasting(key, now) > 0 ? this.#pauses.get(key) : undefined;
  }

  /** Sets a pause; a longer one that is already there stays. */
  async set(at: Address, scope: "chat" | "bot", askedMs: number, reason: string, now: number): Promise<void> {
    // Shown once: it ends with the pause of all requests.
    if (scope === "bot" && this.ofAllRequests(at.platform, now)) return;
    await this.#set(scope === "bot" ? botKey(at) : chatKey(at), askedMs, reason, now);
  }

  /** Pauses all requests to a platform, connecting included. */
  setForAllRequests(platform: string, askedMs: number, reason: string, now: number): Promise<void> {
    return this.#set(platform, askedMs, reason, now);
  }

  async #set(key: string, askedMs: number, reason: string, now: number): Promise<void> {
    const until = now + askedMs;
    if ((this.#pauses.get(key)?.until ?? 0) >= until) return;
    const pause: Pause = { key, until, askedMs, reason };
    this.#pauses.set(key, pause);
    await this.#store.set(pause);
  }

  /** An operator ends these pauses, or all. Gives the keys of those that were there. */
  async lift(key: string | undefined): Promise<string[]> {
    const keys = key === undefined ? [...this.#pauses.keys()] : [key].filter((one) => this.#pauses.has(one));
    for (const one of keys) this.#pauses.delete(one);
    await Promise.all(keys.map((one) => this.#store.remove(one)));
    return keys;
  }

  /** The clock was set: each pause ends as much later (earlier when negative), so that it keeps its length. */
  async shift(stepMs: number): Promise<void> {
    const moved = [...this.#pauses.values()].map((pause) => ({ ...pause, until: pause.until + stepMs }));
    for (const pause of moved) this.#pauses.set(pause.key, pause);
    await Promise.all(moved.map((pause) => this.#store.set(pause)));
  }

  /** `sending was paused until 2026-01-31 14:03:12 UTC: …`, for a reason that is kept; undefined when nothing holds this chat back. */
  textOf(at: Address, now: number): string | undefined {
    const until = this.until(at, now);
    const pause = [at.platform, botKey(at), chatKey(at)]
      .map((key) => this.#pauses.get(key))
      .find((one) => one?.until === until);
    return pause && `sending was paused until ${utcTime(until)}: ${pause.reason}`;
  }

  lasting(now: number): Pause[] {
    return [...this.#pauses.values()].filter(({ until }) => until > now);
  }

  /** The pause of a whole platform. */
  ofPlatform(platform: string, now: number): Pause | undefined {
    const isOfPlatform = (key: string) => key.startsWith(`${platform}:`) && key.split(":").length === 2;
    return this.ofAllRequests(platform, now) ?? this.lasting(now).find(({ key }) => isOfPlatform(key));
  }

  #lasting(key: string, now: number): number {
    const pause = this.#pauses.get(key);
    if (!pause) return 0;
    // A pause that would last longer than was asked for was set under another clock.
    if (pause.until > now && pause.until - now <= pause.askedMs) return pause.until;
    this.#pauses.delete(key);
    return 0;
  }
}

const utcTime = (at: number) => `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;

const botKey = ({ platform, botId }: Address) => `${platform}:${botId}`;
const chatKey = ({ platform, botId, chatId }: Address) => formatAddress({ platform, botId, chatId });
