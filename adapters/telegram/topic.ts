/** A topic of a forum group: Telegram's threads hang under no message, so one is opened by its name. https://core.telegram.org/bots/api#createforumtopic */
import type { Address } from "../../src/domain/address.js";
import { HookgateError } from "../../src/lib/errors.js";
import { describeFailure, readFailure } from "./errors.js";
import type { Transport } from "./transport.js";

const MAX_NAME = 128;

/** Undefined: the chat is no forum, or we may not open topics there. */
export async function openTopic(transport: Transport, at: Address, name: string): Promise<Address | undefined> {
  try {
    const { message_thread_id: id } = await transport.call((api) =>
      api.createForumTopic({ chat_id: at.chatId, name: [...name].slice(0, MAX_NAME).join("") }),
    );
    return { platform: at.platform, botId: at.botId, chatId: at.chatId, threadId: String(id) };
  } catch (thrown) {
    const failure = readFailure(thrown);
    if (failure.kind === "refused" && failure.status < 500 && failure.status !== 429) return undefined;
    throw new HookgateError({
      code: "THREAD_NOT_OPENED",
      message: `Telegram opened no topic: ${describeFailure(failure)}`,
      retryable: true,
      cause: thrown,
    });
  }
}
