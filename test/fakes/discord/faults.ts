/** Trouble on demand: what the fake does instead of answering properly. */
import type { Rule } from "../rules.js";

export type FaultAction =
  /** The socket dies before the request is looked at. */
  | { kind: "drop-before" }
  /** The request takes effect, then the socket dies. */
  | { kind: "drop-after" }
  | { kind: "status"; status: number; body?: object; headers?: Record<string, string> }
  /** A web page of what stands between Discord and us, without any of Discord's headers: Cloudflare's ban (429) is one. */
  | { kind: "page"; status: number; headers?: Record<string, string> }
  | { kind: "rate-limit"; retryAfterS: number; scope: "user" | "global" | "shared" }
  /** The request takes effect; a proxy makes this of the answer: cut short, empty, or something else. */
  | { kind: "garble"; body: string; contentType?: string }
  /** The request takes effect; the answer comes late. */
  | { kind: "slow"; delayMs: number };

export interface Fault extends Rule<FaultAction> {
  method?: string;
  /** Tested against the path without `/api/v10`. */
  path?: string;
  /** Only requests that carry a file. */
  isUpload?: boolean;
}

/** Whether a fault is for this request. */
export const isFor = (method: string, path: string, isUpload: boolean) => (fault: Fault) =>
  (fault.isUpload === undefined || fault.isUpload === isUpload) &&
  (fault.method === undefined || fault.method === method) &&
  (fault.path === undefined || new RegExp(fault.path).test(path));

/** Fixed-window buckets as Discord's headers describe them. Off (a very wide bucket) unless configured. */
export class RateLimits {
  #windows = new Map<string, { resetAt: number; remaining: number }>();
  perRoute?: { limit: number; windowMs: number };
  global?: { limit: number; windowMs: number };
  hits = 0;

  /** What the headers say, and whether the request is over a limit. */
  take(route: string): { headers: Record<string, string>; over?: { retryAfterS: number; isGlobal: boolean } } {
    if (this.global) {
      const window = this.#window("global", this.global);
      if (window.remaining <= 0) return this.#over(window.resetAt, true);
      window.remaining--;
    }
    if (!this.perRoute) return { headers: {} };
    const window = this.#window(route, this.perRoute);
    if (window.remaining <= 0) return this.#over(window.resetAt, false);
    window.remaining--;
    return {
      headers: {
        "x-ratelimit-limit": String(this.perRoute.limit),
        "x-ratelimit-remaining": String(window.remaining),
        "x-ratelimit-reset": String(window.resetAt / 1000),
        "x-ratelimit-reset-after": String((window.resetAt - Date.now()) / 1000),
        "x-ratelimit-bucket": route.replace(/\d{17,19}/g, "id").replace(/[^a-z]/gi, "") || "root",
      },
    };
  }

  #window(key: string, spec: { limit: number; windowMs: number }) {
    let window = this.#windows.get(key);
    if (!window || window.resetAt <= Date.now()) {
      window = { resetAt: Date.now() + spec.windowMs, remaining: spec.limit };
      this.#windows.set(key, window);
    }
    return window;
  }

  #over(resetAt: number, isGlobal: boolean) {
    this.hits++;
    return { headers: {}, over: { retryAfterS: Math.max(0.001, (resetAt - Date.now()) / 1000), isGlobal } };
  }
}
