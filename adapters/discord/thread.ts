/** The thread under a message. It has the message's own id, so that opening it twice finds it. https://discord.com/developers/docs/resources/channel#start-thread-from-message */
import { DiscordAPIError, type REST } from "@discordjs/rest";
import { Routes } from "discord-api-types/v10";
import type { Address } from "../../src/domain/address.js";
import { backoffMs } from "../../src/lib/backoff.js";
import { type Clock, wait } from "../../src/lib/clock.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { Channels } from "./channels.js";
import { describeFailure, isDiscordsOwn } from "./outcome.js";

const ALREADY_OPEN = 160004;
const MAX_THREAD_NAME = 100;
const MAX_TRIES = 3;

/** Tried again when Discord does not answer. Undefined: there are none in this channel, or we may not open one. */
export async function openThread(
  { rest, channels, clock, signal }: { rest: REST; channels: Channels; clock: Clock; signal: AbortSignal },
  at: Address,
  messageId: string,
  name: string,
): Promise<Address | undefined> {
  if (channels.isDm(at.chatId)) return undefined;
  const thread = { platform: at.platform, botId: at.botId, chatId: messageId };
  // What is posted in a forum begins a thread by itself.
  if (channels.get(at.chatId)?.isForum) return thread;
  for (let attempt = 1; ; attempt++) {
    try {
      await rest.post(Routes.threads(at.chatId, messageId), {
        body: { name: [...name].slice(0, MAX_THREAD_NAME).join("") },
      });
      return thread;
    } catch (error) {
      if (error instanceof DiscordAPIError && error.code === ALREADY_OPEN) return thread;
      if (error instanceof DiscordAPIError && error.status < 500 && isDiscordsOwn(error)) return undefined;
      if (attempt === MAX_TRIES)
        throw new HookgateError({
          code: "THREAD_NOT_OPENED",
          message: `Discord opened no thread: ${describeFailure(error)}`,
          retryable: true,
          cause: error,
        });
      await wait(clock, backoffMs({ firstMs: 500, maxMs: 5000 }, attempt), signal);
    }
  }
}
