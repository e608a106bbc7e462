/**
 * REST through @discordjs/rest, made to say "not now" at once instead of waiting or retrying inside: the gateway alone
 * decides what follows. Messages into channels go beside it (`posts.ts`).
 */
import { REST, type RESTOptions } from "@discordjs/rest";
import { Agent } from "undici";
import type { Clock } from "../../src/lib/clock.js";
import type { Logger } from "../../src/lib/logger.js";
import { exchange } from "./exchange.js";
import { MessageBuckets } from "./message-buckets.js";
import type { DiscordOptions } from "./options.js";
import { Posts } from "./posts.js";
import { Refusals } from "./refusals.js";

/** Where messages are created: with files through the library, without through `Posts`. */
const MESSAGES = /\/channels\/(\d+)\/messages$/;

export interface DiscordRest {
  rest: REST;
  posts: Posts;
  close(): Promise<void>;
}

export function openRest(options: DiscordOptions, clock: Clock, logger: Logger): DiscordRest {
  const agent = agentFor(options.requestTimeoutMs);
  // A line that is slow to take a file is no server that is slow to answer.
  const uploads = agentFor(options.uploadTimeoutMs);
  const refusals = new Refusals(options.maxInvalidRequests, clock);
  const buckets = new MessageBuckets(clock);
  const makeRequest: RESTOptions["makeRequest"] = async (url, init) => {
    refusals.check();
    const channelId = init.method === "POST" ? MESSAGES.exec(url)?.[1] : undefined;
    if (channelId !== undefined) buckets.take(channelId);
    const response = await exchange(agent, uploads, url, init);
    if (channelId !== undefined) buckets.note(channelId, (name) => response.headers.get(name));
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
  const api = `${rest.options.api}/v${rest.options.version}`;
  const { token, requestTimeoutMs: timeoutMs } = options;
  const posts = new Posts({ token, api, agent, timeoutMs, logger, buckets, refusals, rest });
  return {
    rest,
    posts,
    async close() {
      posts.close();
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
