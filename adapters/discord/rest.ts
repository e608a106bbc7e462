/**
 * REST through @discordjs/rest, made to say "not now" at once instead of waiting or retrying inside: the gateway alone
 * decides what follows. Counts refused requests, because Discord bans an address after 10,000 of them in 10 minutes.
 * https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
 */
import { REST, type RESTOptions } from "@discordjs/rest";
import { Agent } from "undici";
import type { Clock } from "../../src/lib/clock.js";
import { exchange } from "./exchange.js";
import type { DiscordOptions } from "./options.js";

const WINDOW_MS = 10 * 60_000;

/** Thrown without a request: too many were refused lately. */
export class InvalidRequestPause extends Error {
  readonly afterMs: number;
  constructor(afterMs: number) {
    super("too many refused requests in ten minutes; pausing before Discord bans this address");
    this.name = "InvalidRequestPause";
    this.afterMs = afterMs;
  }
}

export interface DiscordRest {
  rest: REST;
  close(): Promise<void>;
}

export function openRest(options: DiscordOptions, clock: Clock): DiscordRest {
  const agent = agentFor(options.requestTimeoutMs);
  // A line that is slow to take a file is no server that is slow to answer.
  const uploads = agentFor(options.uploadTimeoutMs);
  const refusals = new Refusals(options.maxInvalidRequests, clock);
  const makeRequest: RESTOptions["makeRequest"] = async (url, init) => {
    refusals.check();
    const response = await exchange(agent, uploads, url, init);
    refusals.count(response.status, response.headers.get("x-ratelimit-scope"));
    return response;
  };
  const rest = new REST({
    version: "10",
    ...(options.apiUrl === undefined ? {} : { api: options.apiUrl.replace(/\/+$/, "") }),
    agent,
    retries: 0,
    timeout: Math.max(options.requestTimeoutMs, options.uploadTimeoutMs),
    globalRequestsPerSecond: options.requestsPerSecond,
    rejectOnRateLimit: () => true,
    makeRequest,
  }).setToken(options.token);
  return {
    rest,
    async close() {
      rest.clearHashSweeper();
      rest.clearHandlerSweeper();
      await Promise.all([agent.destroy(), uploads.destroy()]);
    },
  };
}

function agentFor(timeoutMs: number): Agent {
  return new Agent({
    keepAliveTimeout: 30_000,
    keepAliveMaxTimeout: 60_000,
    connections: 256,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: { timeout: Math.min(10_000, timeoutMs) },
  });
}

/** Refused requests of the last ten minutes, in a window that starts with the first. */
class Refusals {
  readonly #limit: number;
  readonly #clock: Clock;
  #since = 0;
  #count = 0;

  constructor(limit: number, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  check(): void {
    const leftMs = this.#since + WINDOW_MS - this.#clock.now();
    if (leftMs > 0 && this.#count >= this.#limit) throw new InvalidRequestPause(leftMs);
  }

  /** 429s of a shared resource are not held against us. */
  count(status: number, scope: string | null): void {
    if (status !== 401 && status !== 403 && (status !== 429 || scope === "shared")) return;
    const now = this.#clock.now();
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count++;
  }
}
