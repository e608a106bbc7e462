/** The thread under a message. It has the message's own id, so that opening it twice finds it. https://discord.com/developers/docs/resources/channel#start-thread-from-message */

import { Routes } from "discord-api-types/v10";
import type { Address } from "../../../src/domain/chat/address.js";
import { THREAD_NOT_OPENED, threadRefused } from "../../../src/domain/chat/thread.js";
import { HookgateError } from "../../../src/lib/errors.js";
import { backoffMs } from "../../../src/lib/time/backoff.js";
import { type Clock, wait } from "../../../src/lib/time/clock.js";
import type { Caller } from "../caller.js";
import type { Channels } from "../channels.js";
import { FORBIDDEN, MAX_THREAD_NAME, NEUTRAL_TITLE } from "../codes.js";
import { Limited, Refusal } from "./errors.js";
import { describeFailure, isDiscordsOwn, isTitleRefused, isTokenRefused } from "./outcome.js";

const ALREADY_OPEN = 160004;
/** This kind of channel has no threads, such as a direct conversation; or the request does not fit it. */
const OTHER_KIND: ReadonlySet<number | string> = new Set([50024, 50035]);
const TOO_MANY_THREADS = 160006;
const MAX_TRIES = 3;
/** A run of a hook waits for the thread. A message in the channel itself is better than one that comes late or never. */
const MAX_WAIT_MS = 10_000;

/** Tried again when Discord does not answer, refuses the token once, or limits requests for a moment. Undefined: there are none in this channel. */
export async function openThread(
  context: { caller: Caller; channels: Channels; clock: Clock; signal: AbortSignal },
  at: Address,
  messageId: string,
  name: string,
): Promise<Address | undefined> {
  const { caller, channels, clock, signal } = context;
  if (channels.isDm(at.chatId)) return undefined;
  const thread = { platform: at.platform, botId: at.botId, chatId: messageId };
  // A message posted in a forum starts a thread by itself.
  if (channels.isForum(at.chatId)) {
    channels.learnThread(messageId, at.chatId);
    return thread;
  }
  const startedMs = clock.monotonic();
  for (let attempt = 1; ; attempt++) {
    try {
      await caller.post(Routes.threads(at.chatId, messageId), {
        body: { name: [...name].slice(0, MAX_THREAD_NAME).join("") },
      });
      channels.learnThread(messageId, at.chatId);
      return thread;
    } catch (error) {
      if (error instanceof Refusal && error.code === ALREADY_OPEN) {
        channels.learnThread(messageId, at.chatId);
        return thread;
      }
      if (isTitleRefused(error) && name !== NEUTRAL_TITLE) return openThread(context, at, messageId, NEUTRAL_TITLE);
      if (error instanceof Refusal && OTHER_KIND.has(error.code)) return undefined;
      const isFinal = error instanceof Refusal && error.status < 500 && isDiscordsOwn(error);
      if (isFinal && !isTokenRefused(error))
        throw threadRefused(`Discord opened no thread: ${error.message} (${error.code})`, hintFor(error), error);
      const isLimited = error instanceof Limited;
      if (isLimited) attempt--;
      const pauseMs = isLimited ? error.afterMs : backoffMs({ firstMs: 500, maxMs: 5000 }, attempt);
      if (attempt === MAX_TRIES || clock.monotonic() - startedMs + pauseMs > MAX_WAIT_MS)
        throw new HookgateError({
          code: THREAD_NOT_OPENED,
          message: `Discord opened no thread: ${describeFailure(error)}`,
          retryable: true,
          cause: error,
        });
      await wait(clock, pauseMs, signal);
    }
  }
}

function hintFor({ code }: Refusal): string {
  if (FORBIDDEN.has(code))
    return "Give the bot the permissions View Channel, Create Public Threads and Send Messages in Threads in this channel.";
  if (code === TOO_MANY_THREADS) return "Archive threads of this server that are no longer needed.";
  return "Check that threads can be opened in this channel, or leave out `thread` in the hook.";
}
