/**
 * REST through @discordjs/rest, made to say "not now" at once instead of waiting or retrying inside: the gateway alone
 * decides what follows. Messages into channels go beside it (`posts.ts`).
 */

import { DiscordAPIError, REST, type RESTOptions, type ResponseLike } from "@discordjs/rest";
import { Agent } from "undici";
import type { GatewayPort } from "../../src/domain/adapter.js";
import type { Clock } from "../../src/lib/clock.js";
import type { Logger } from "../../src/lib/logger.js";
import { withoutUndefined } from "../../src/lib/without-undefined.js";
import { limited, makeRequest as request } from "./exchange.js";
import { limitMs } from "./limit.js";
import { MAX_LIMIT_MS, MessageBuckets } from "./message-buckets.js";
import type { DiscordOptions } from "./options.js";
import { NOT_DISCORDS } from "./outcome.js";
import { UnreadableAnswer } from "./posted.js";
import { Posts } from "./posts.js";
import { Refusals } from "./refusals.js";

/** Where messages are created: with files through the library, without through `Posts`. */
const MESSAGES = /\/channels\/(\d+)\/messages$/;

export interface DiscordRest {
  rest: REST;
  posts: Posts;
  /** Limits of earlier answers no longer hold requests back. */
  forgetLimits(): void;
  close(): Promise<void>;
}

export function openRest(
  options: DiscordOptions,
  pauses: Pick<GatewayPort, "pause" | "paused">,
  clock: Clock,
  logger: Logger,
): DiscordRest {
  const agent = agentFor(options.requestTimeoutMs);
  // A line that is slow to take a file is no server that is slow to answer.
  const uploads = agentFor(options.uploadTimeoutMs);
  const refusals = new Refusals(options.maxInvalidRequests, clock, pauses);
  const buckets = new MessageBuckets(clock);
  const makeRequest: RESTOptions["makeRequest"] = async (url, init) => {
    refusals.check();
    const channelId = init.method === "POST" ? MESSAGES.exec(url)?.[1] : undefined;
    if (channelId !== undefined) buckets.take(channelId);
    const answered = await request(agent, uploads, url, init);
    refusePage(answered, url, init.method);
    // Read here, because an upload's answer can be read only once.
    const text = answered.status === 429 ? await answered.text() : "";
    const askedMs = answered.status === 429 ? limitMs(text, (name) => answered.headers.get(name)) : 0;
    const response = answered.status === 429 ? limited(answered, text, Math.min(askedMs, MAX_LIMIT_MS)) : answered;
    if (channelId !== undefined) buckets.note(channelId, (name) => response.headers.get(name));
    refusals.count(answered.status, (name) => answered.headers.get(name), text);
    if (response.status === 429) refusals.check(); // banned: said as such, and not as a limit of this route
    if (askedMs > MAX_LIMIT_MS)
      logger.warn({ askedMs }, "Discord asks for a pause beyond reason; it is tried again after an hour");
    return response;
  };
  const rest = new TokenKeepingRest({
    version: "10",
    ...withoutUndefined({ api: options.apiUrl?.replace(/\/+$/, "") }),
    agent,
    retries: 0,
    timeout: Math.max(options.requestTimeoutMs, options.uploadTimeoutMs),
    globalRequestsPerSecond: options.requestsPerSecond,
    rejectOnRateLimit: () => true,
    makeRequest,
  }).setToken(options.token);
  // The library keeps its limits by the wall clock: they are forgotten when that is set, and learned anew from the next answer.
  const endWatch = clock.onStep?.((stepMs) => {
    rest.globalReset += stepMs;
    rest.handlers.clear();
  });
  const api = `${rest.options.api}/v${rest.options.version}`;
  const posts = new Posts({ token: options.token, api, agent, buckets, refusals, rest });
  return {
    rest,
    posts,
    forgetLimits() {
      buckets.clear();
      // The library keeps a route's limit with the route, and a global one by its reset.
      rest.handlers.clear();
      rest.globalRemaining = rest.options.globalRequestsPerSecond;
      rest.globalReset = -1;
    },
    async close() {
      endWatch?.();
      rest.clearHashSweeper();
      rest.clearHandlerSweeper();
      await Promise.all([agent.destroy(), uploads.destroy()]);
    },
  };
}

/** The library takes a redirect and a login page for success. Neither is Discord's. */
function refusePage({ status, headers }: ResponseLike, url: string, method = "GET"): void {
  if (status >= 300 && status < 400)
    throw new DiscordAPIError({ message: "redirected", code: 0 }, NOT_DISCORDS, status, method, url, {});
  if (status < 300 && headers.get("content-type")?.startsWith("text/html")) throw new UnreadableAnswer();
}

/** The library drops its token at any 401, also at a proxy's: here the adapter decides whether the token is wrong. */
class TokenKeepingRest extends REST {
  override setToken(token: string | null): this {
    return token === null ? this : super.setToken(token);
  }
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
