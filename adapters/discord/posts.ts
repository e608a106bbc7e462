/**
 * Messages into channels, which nearly all requests are, without @discordjs/rest: its queues, handlers, timers and signals cost
 * more than the request. It shares with it all that limits: the requests of this second, global pauses, refusals, and the
 * buckets of channels, which also hold back what the library uploads there.
 */
import { STATUS_CODES } from "node:http";
import { DefaultUserAgent, DefaultUserAgentAppendix, DiscordAPIError, HTTPError, type REST } from "@discordjs/rest";
import { Routes } from "discord-api-types/v10";
import type { Dispatcher } from "undici";
import { systemClock } from "../../src/lib/clock.js";
import { exchange, headerOf } from "../../src/lib/exchange.js";
import { pathIn } from "./exchange.js";
import { fieldsOf, isGlobalLimit, limitMs } from "./limit.js";
import { Limited, MAX_LIMIT_MS, type MessageBuckets } from "./message-buckets.js";
import { NOT_DISCORDS } from "./outcome.js";
import { idIn } from "./posted.js";
import type { Refusals } from "./refusals.js";

/** As @discordjs/rest allows for clocks that differ. */
const MARGIN_MS = 50;

interface PostAnswer {
  status: number;
  text: string;
  header(name: string): string | null;
}

export interface PostsOptions {
  token: string;
  /** Where the API is, with its version: `https://discord.com/api/v10`. */
  api: string;
  agent: Dispatcher;
  buckets: MessageBuckets;
  refusals: Refusals;
  rest: REST;
}

export class Posts {
  readonly #options: PostsOptions;
  readonly #origin: string;
  readonly #path: string;
  readonly #headers: Record<string, string>;

  constructor(options: PostsOptions) {
    this.#options = options;
    const pathAt = pathIn(`${options.api}/`);
    this.#origin = options.api.slice(0, pathAt);
    this.#path = options.api.slice(pathAt);
    this.#headers = {
      "User-Agent": `${DefaultUserAgent} ${DefaultUserAgentAppendix}`.trim(),
      Authorization: `Bot ${options.token}`,
      "Content-Type": "application/json",
    };
  }

  /** The id of the message that Discord made of it. Rejects as @discordjs/rest does. */
  async post(channelId: string, message: Record<string, unknown>): Promise<string> {
    const { agent, buckets, refusals } = this.#options;
    refusals.check();
    buckets.take(channelId);
    this.#takeGlobal();
    const path = `${this.#path}${Routes.channelMessages(channelId)}`;
    const body = JSON.stringify(message);
    const request = { origin: this.#origin, path, method: "POST" as const, headers: this.#headers, body };
    const { status, headers, body: bytes } = await exchange(agent, request);
    const answer = { status, text: bytes.toString("utf8"), header: (name: string) => headerOf(headers, name) };
    buckets.note(channelId, answer.header);
    if (status >= 200 && status < 300) return idIn(answer.text);
    refusals.count(status, answer.header, answer.text);
    if (status === 429) refusals.check(); // banned: no limit of this channel
    throw status === 429
      ? this.#limited(channelId, answer)
      : failed(answer, { url: `${this.#origin}${path}`, body: message });
  }

  /** The requests of a second are counted where the library counts its own. */
  #takeGlobal(): void {
    const { rest } = this.#options;
    const now = systemClock.now(); // by which the library goes
    if (rest.globalReset < now) {
      rest.globalReset = now + 1000;
      rest.globalRemaining = rest.options.globalRequestsPerSecond;
    } else if (rest.globalRemaining <= 0) throw new Limited(rest.globalReset + MARGIN_MS - now, true);
    rest.globalRemaining--;
  }

  #limited(channelId: string, { header, text }: PostAnswer): Limited {
    const { rest, buckets } = this.#options;
    const afterMs = limitMs(text, header) + MARGIN_MS;
    const isGlobal = isGlobalLimit(text, header);
    if (isGlobal) {
      rest.globalRemaining = 0;
      rest.globalReset = systemClock.now() + Math.min(afterMs, MAX_LIMIT_MS);
    } else buckets.shut(channelId, afterMs);
    return new Limited(afterMs, isGlobal);
  }
}

function failed({ status, text }: PostAnswer, asked: { url: string; body: unknown }): Error {
  if (status >= 500) return new HTTPError(status, STATUS_CODES[status] ?? "", "POST", asked.url, asked);
  const { message, code, errors } = fieldsOf(text);
  const told = {
    message: typeof message === "string" ? message : `${status}: ${STATUS_CODES[status] ?? "refused"}`,
    code: typeof code === "number" ? code : 0,
    errors: typeof errors === "object" && errors !== null ? (errors as Record<string, never>) : undefined,
  };
  const isOwn = typeof message === "string" && typeof code === "number";
  return new DiscordAPIError(told, isOwn ? code : NOT_DISCORDS, status, "POST", asked.url, asked);
}
