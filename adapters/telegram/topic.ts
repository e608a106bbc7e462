/** A topic of a forum group: Telegram's threads hang under no message, so one is opened by its name. https://core.telegram.org/bots/api#createforumtopic */
import type { Address } from "../../src/domain/chat/address.js";
import { threadRefused } from "../../src/domain/chat/thread.js";
import { pauseAfter } from "../../src/lib/time/backoff.js";
import { type Clock, wait } from "../../src/lib/time/clock.js";
import { type Caller, unexpected } from "./caller.js";
import { type ApiFailure, isPassing, readFailure, requestError } from "./errors.js";

const HINT = "Make the bot an administrator of the group with the right Manage Topics.";
/** Topics are not switched on, or the group is of the kind that has none. */
const NO_FORUM = /not a forum|not a supergroup|method is available for supergroup/i;
/** The bot is in that chat no more, or never was. */
const NOT_THERE = /\bkicked\b|not a member|chat not found|group chat was (deleted|deactivated)/i;
const MAX_NAME = 128;
const ATTEMPTS = 3;
const RETRY = { firstMs: 500, maxMs: 2_000 };
/** A run of a hook waits for the topic. A message in the chat itself is better than one that comes late or never. */
const MAX_WAIT_MS = 10_000;

export interface TopicContext {
  caller: Caller;
  clock: Clock;
  /** Aborts when the adapter's run ends. */
  signal: AbortSignal;
}

/**
 * Undefined: a private chat. Rejects when the group has no topics, when we may not open topics there, or Telegram does not open one now. A request whose answer was lost
 * may leave an empty topic behind.
 */
export async function openTopic(context: TopicContext, at: Address, name: string): Promise<Address | undefined> {
  const { caller, clock, signal } = context;
  const topic = { chat_id: at.chatId, name: [...name].slice(0, MAX_NAME).join("") };
  const startedMs = clock.monotonic();
  for (let attempt = 1; ; attempt++) {
    try {
      const made = await caller.call("createForumTopic", topic, signal);
      const { message_thread_id: id } = made;
      if (!Number.isSafeInteger(id)) throw unexpected("createForumTopic", made);
      return { platform: at.platform, botId: at.botId, chatId: at.chatId, threadId: String(id) };
    } catch (thrown) {
      const failure = readFailure(thrown);
      if (failure.kind === "refused" && !at.chatId.startsWith("-")) return undefined;
      const error = requestError(thrown, "THREAD_NOT_OPENED", "Telegram opened no topic");
      // Thrown as it is: the run goes on after the next start.
      if (signal.aborted) throw error;
      const pauseMs = pauseAfter(error, RETRY, attempt);
      if (!isPassing(failure)) throw threadRefused(error.message, hintFor(failure), thrown);
      if (attempt === ATTEMPTS || clock.monotonic() - startedMs + pauseMs > MAX_WAIT_MS)
        throw threadRefused(error.message, "Telegram is in trouble; the next run tries again.", thrown);
      await wait(clock, pauseMs, signal);
    }
  }
}

function hintFor(failure: ApiFailure): string {
  const { description = "", movedTo = undefined } = failure.kind === "refused" ? failure : {};
  if (movedTo !== undefined) return `The group has a new id, ${movedTo}: the next run opens its topic there.`;
  if (NOT_THERE.test(description)) return "Add the bot to the group again, or change the chat of the hook.";
  const isNoForum = NO_FORUM.test(description);
  return isNoForum ? "Switch topics on in the settings of the group, or remove `thread` from the hook." : HINT;
}
