/** Trouble on demand, and the flood limits: what the fake does instead of answering properly. */
import type { Rule } from "../rules.js";
import { Refused } from "./calls.js";

export type FaultAction =
  /** The socket dies before the request is looked at. */
  | { kind: "drop-before" }
  /** The request takes effect, then the socket dies. */
  | { kind: "drop-after" }
  /** A refusal in Telegram's form. */
  | { kind: "refuse"; status: number; description: string; parameters?: Record<string, unknown> }
  | { kind: "rate-limit"; retryAfterS: number }
  /** An error page of a proxy: no JSON. `isProcessed`: the request took effect all the same. */
  | { kind: "proxy-error"; status: number; isProcessed?: boolean }
  /** The request takes effect; a proxy makes this of the answer: cut short, empty, or something else. */
  | { kind: "garble"; body: string; status?: number }
  /** The request takes effect; the answer comes late. */
  | { kind: "slow"; delayMs: number }
  /** The request takes effect; the answer never comes. */
  | { kind: "hang" };

export interface Fault extends Rule<FaultAction> {
  /** Tested against the method's name; all when absent. */
  method?: string;
  chatId?: number;
}

/** Whether a fault is for this request. */
export const isFor = (method: string, chatId: unknown) => (fault: Fault) =>
  (fault.method === undefined || new RegExp(`^(${fault.method})$`, "i").test(method)) &&
  (fault.chatId === undefined || String(fault.chatId) === String(chatId));

export interface FloodLimits {
  perSecond?: number;
  perChatPerSecond?: number;
  perGroupPerMinute?: number;
}

/** https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this; off unless set. */
export class Floods {
  limits: FloodLimits = {};
  hits = 0;
  #windows = new Map<string, number[]>();

  check(chatId: number, now = Date.now()): void {
    const { perSecond, perChatPerSecond, perGroupPerMinute } = this.limits;
    this.#take("all", perSecond, 1000, now);
    this.#take(`chat ${chatId}`, perChatPerSecond, 1000, now);
    if (chatId < 0) this.#take(`group ${chatId}`, perGroupPerMinute, 60_000, now);
  }

  #take(key: string, limit: number | undefined, windowMs: number, now: number): void {
    if (limit === undefined) return;
    const times = (this.#windows.get(key) ?? []).filter((at) => at > now - windowMs);
    this.#windows.set(key, times);
    const oldest = times[times.length - limit];
    if (oldest !== undefined) {
      this.hits++;
      throw tooMany(Math.max(1, Math.ceil((oldest + windowMs - now) / 1000)));
    }
    times.push(now);
  }
}

export function tooMany(retryAfterS: number): Refused {
  return new Refused(429, `Too Many Requests: retry after ${retryAfterS}`, { retry_after: retryAfterS });
}
