/**
 * The requests that Discord's limits still allow: those of this second, and those of each bucket until its reset, as the headers of
 * answers state. A request that would meet a known limit is not made.
 * https://discord.com/developers/docs/topics/rate-limits
 */
import { doubledMs, MAX_PAUSE_MS } from "../../../src/lib/time/backoff.js";
import type { Clock } from "../../../src/lib/time/clock.js";
import { Limited, OwnLimit } from "./errors.js";
import { isGlobalLimit, limitMs } from "./limit.js";

/** Discord's clock and ours differ. */
const MARGIN_MS = 50;
const MAX_BUCKETS = 10_000;
/** From the second limit in a row on, changes of a channel's messages wait at least so long, doubled for each limit before it, up to `maxMs`. */
const CHANGE_LIMIT = { firstMs: 5_000, maxMs: 300_000 };
/** While one change tests whether the limit has ended, the others wait so long. */
const TEST_MS = 5_000;

type Header = (name: string) => string | null;

/** Which limits a request meets. */
export interface Route {
  method: string;
  /** Its path without ids and tokens. */
  shape: string;
  /** The part of its path that has limits of its own. */
  major: string;
  /** The message that it edits or deletes. */
  changed?: bigint | undefined;
}

interface Bucket {
  remaining: number;
  /** On the monotonic clock. */
  resetAt: number;
  /** Discord reported that it is used up. */
  isDiscords?: true;
}

/** A limit on changes of a channel's messages that names no bucket, as that of edits of messages older than an hour (30046). */
interface ChangeLimit {
  /** How many answers in a row reported the limit. */
  count: number;
  /** On the monotonic clock. */
  until: number;
  /** Older messages are limited, too. A newer one may not be. */
  newest: bigint;
  /** A change was let through to test whether the limit has ended. */
  isTried: boolean;
}

export function routeOf(method: string, path: string): Route {
  const major = /^\/webhooks\/\d+\/[^/?]+|^\/(?:channels|guilds|webhooks|interactions)\/\d+/.exec(path)?.[0] ?? "";
  const shape = path.replace(/^(\/(?:webhooks|interactions)\/\d+)\/[^/?]+/, "$1/:token").replace(/\d{15,}/g, ":id");
  const messageId = method === "POST" ? undefined : /^\/channels\/\d+\/messages\/(\d+)$/.exec(path)?.[1];
  return { method, shape, major, changed: messageId === undefined ? undefined : BigInt(messageId) };
}

export class Limits {
  readonly #perSecond: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();
  /** By method and shape, Discord's name for the bucket, which several may share. */
  readonly #names = new Map<string, string>();
  /** By method and channel. */
  readonly #changes = new Map<string, ChangeLimit>();
  /** The requests of the account, on the monotonic clock. */
  #second: Bucket = { remaining: 0, resetAt: Number.NEGATIVE_INFINITY };

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** Counts a request. Throws `Limited` when Discord takes none of its kind now. */
  take(route: Route): void {
    const now = this.#clock.monotonic();
    const limit = this.#changeLimitOf(route);
    if (limit && limit.until > now) throw limitOf(route, limit.until - now, { isGlobal: false, wasAsked: false });
    const key = this.#keyOf(route);
    const bucket = this.#buckets.get(key);
    if (bucket && bucket.resetAt <= now) this.#buckets.delete(key);
    else if (bucket && bucket.remaining <= 0)
      throw limitOf(route, bucket.resetAt - now, { isGlobal: false, wasAsked: false });
    else if (bucket) bucket.remaining--;
    // https://discord.com/developers/docs/interactions/receiving-and-responding#endpoints
    if (!route.shape.startsWith("/interactions/")) this.#takeOfSecond(route, now);
    if (limit) Object.assign(limit, { until: now + TEST_MS, isTried: true });
  }

  /** Notes the limits that the headers of an answer state. */
  note(route: Route, header: Header): void {
    const name = header("x-ratelimit-bucket");
    if (name !== null) this.#names.set(`${route.method} ${route.shape}`, name);
    const remaining = header("x-ratelimit-remaining");
    const resetAfter = header("x-ratelimit-reset-after");
    if (remaining !== null && resetAfter !== null)
      this.#set(route, Number(remaining), Number(resetAfter) * 1000 + MARGIN_MS);
  }

  /** Discord took a change: the limit that it met has ended. */
  changed(route: Route): void {
    if (this.#changeLimitOf(route)) this.#changes.delete(changesKey(route));
  }

  /** Notes the limit of an answer with the status 429 for the requests that follow. Returns the error for its own request. */
  limited(route: Route, header: Header, body: string): Limited {
    const askedMs = limitMs(body, header);
    // The margin does not make it longer than the longest pause.
    const toldMs = Math.min(askedMs, MAX_PAUSE_MS - MARGIN_MS);
    const isGlobal = isGlobalLimit(body, header);
    const forMs = (isGlobal || route.changed === undefined ? toldMs : this.#limitChanges(route, toldMs)) + MARGIN_MS;
    if (isGlobal) this.#second = { remaining: 0, resetAt: this.#clock.monotonic() + forMs, isDiscords: true };
    else if (route.method === "POST") this.#set(route, 0, forMs);
    // The limit of a resource may concern a single message, as that of edits of an old one does (30046).
    else if (header("x-ratelimit-scope") !== "shared") this.note(route, header);
    return limitOf(route, forMs, { askedMs, isGlobal, wasAsked: true });
  }

  /** The next request asks Discord. */
  forget(): void {
    this.#buckets.clear();
    this.#changes.clear();
    this.#second = { remaining: 0, resetAt: Number.NEGATIVE_INFINITY };
  }

  #changeLimitOf(route: Route): ChangeLimit | undefined {
    if (this.#changes.size === 0 || route.changed === undefined) return undefined;
    const limit = this.#changes.get(changesKey(route));
    return limit && route.changed <= limit.newest ? limit : undefined;
  }

  /** Gives how long it lasts. Answers to changes that were under way together count once. */
  #limitChanges({ changed = 0n, ...route }: Route, toldMs: number): number {
    const now = this.#clock.monotonic();
    const before = this.#changes.get(changesKey(route));
    const newest = before !== undefined && before.newest > changed ? before.newest : changed;
    const count = (before?.count ?? 1) + (before?.isTried ? 1 : 0);
    const grownMs = doubledMs(CHANGE_LIMIT, count);
    const until = Math.max(before?.until ?? 0, now + Math.max(toldMs, count > 1 ? grownMs : 0));
    this.#changes.set(changesKey(route), { count, until, newest, isTried: false });
    if (this.#changes.size > MAX_BUCKETS)
      for (const oldest of this.#changes.keys()) {
        this.#changes.delete(oldest);
        break;
      }
    return until - now;
  }

  #takeOfSecond(route: Route, now: number): void {
    if (this.#second.resetAt <= now) this.#second = { remaining: this.#perSecond, resetAt: now + 1000 };
    const { remaining, resetAt, isDiscords } = this.#second;
    if (remaining <= 0) {
      const forMs = resetAt + MARGIN_MS - now;
      throw isDiscords
        ? limitOf(route, forMs, { isGlobal: true, wasAsked: false })
        : new OwnLimit(this.#perSecond, forMs);
    }
    this.#second.remaining--;
  }

  #keyOf({ method, shape, major }: Route): string {
    const own = `${method} ${shape}`;
    return `${this.#names.get(own) ?? own} ${major}`;
  }

  #set(route: Route, remaining: number, forMs: number): void {
    if (!Number.isFinite(remaining) || !Number.isFinite(forMs)) return;
    const resetAt = this.#clock.monotonic() + Math.min(forMs, MAX_PAUSE_MS + MARGIN_MS);
    this.#buckets.set(this.#keyOf(route), { remaining, resetAt });
    if (this.#buckets.size > MAX_BUCKETS)
      for (const oldest of this.#buckets.keys()) return void this.#buckets.delete(oldest);
  }
}

const changesKey = ({ method, major }: Pick<Route, "method" | "major">) => `${method} ${major}`;

const limitOf = (
  { shape }: Route,
  afterMs: number,
  facts: { askedMs?: number; isGlobal: boolean; wasAsked: boolean },
) => new Limited(`Discord limits requests to ${shape}`, { afterMs, ...facts });
