/** Turns Telegram's answer to a send into a result. Decides nothing: the gateway does that. */
import type { SendResult } from "../../src/domain/chat/adapter.js";
import { PAGE_PAUSE_MS, TOKEN_PAUSE_MS } from "../../src/domain/chat/platform-defaults.js";
import { HookgateError } from "../../src/lib/errors.js";
import { type ApiFailure, describeFailure, isLoggedOut, isTokenRefused, readFailure } from "./errors.js";

/** Formatting, length or a link to press that Telegram does not take: as plain text it will. */
const FORMAT = /can't parse|entit(y|ies)|ENTITY_|is too long|MESSAGE_TOO_LONG|BUTTON_|keyboard button|REPLY_MARKUP_/i;
const NOWHERE = /message to edit not found/i;
const GONE =
  /message to (edit|delete) not found|message can't be edited|(MESSAGE|MSG)_ID_INVALID|message identifier is not specified/i;
/** The message stays, but cannot be changed: its topic is closed, another account wrote it, it is too old, or of another kind. */
const NOT_EDITABLE =
  /message can't be edited|there is no (text|caption|media) in the message to edit|TOPIC_(CLOSED|DELETED)|MESSAGE_AUTHOR_REQUIRED|MESSAGE_EDIT_TIME_EXPIRED|CHAT_ADMIN_REQUIRED|message is too old|no rights to edit/i;
export const NOT_MODIFIED = /message is not modified|MESSAGE_NOT_MODIFIED/i;
const TOO_LARGE = 413;
/** When a limit names no time. */
const UNKNOWN_LIMIT_MS = 5_000;

/** Telegram counts in seconds, and two answers may be a moment apart. */
const SAME_END_MS = 3_000;
/** The account's limit is counted per second. A longer flood is the doing of its chat. */
const ACCOUNT_FLOOD_MS = 60_000;

export type Attempt = { kind: "create" | "edit" | "delete"; chatId: string; messageId?: string; hasFile?: boolean };

/** The chats that have to wait: Telegram does not state whether a 429 means the chat or the account. */
export class Floods {
  readonly #until = new Map<string, number>();

  /**
   * A flood is the chat's, unless another chat's ends at the same time: then it is the account's, which is never a long one.
   * https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
   */
  scopeOf(chatId: string, afterMs: number, now: number): "chat" | "bot" {
    for (const [chat, until] of this.#until) if (until <= now) this.#until.delete(chat);
    const end = now + afterMs;
    this.#until.delete(chatId);
    const isShared = [...this.#until.values()].some((until) => Math.abs(until - end) <= SAME_END_MS);
    this.#until.set(chatId, end);
    return isShared && afterMs <= ACCOUNT_FLOOD_MS ? "bot" : "chat";
  }
}

export function readOutcome(thrown: unknown, attempt: Attempt, floods: Floods, now: number): SendResult {
  if (thrown instanceof HookgateError)
    return thrown.retryable
      ? { kind: "retry", error: thrown.message, scope: "chat" }
      : { kind: "permanent", error: thrown.message };
  const failure = readFailure(thrown);
  const error = describeFailure(failure);
  switch (failure.kind) {
    case "unanswered":
      return unanswered(failure.isWritten, error, attempt);
    case "page":
      // Telegram's own server refuses uploads with a page. Words without a file are never too large, so a proxy answered.
      return failure.status === TOO_LARGE && attempt.hasFile === true
        ? { kind: "permanent", error: `the upload is too large (HTTP ${TOO_LARGE})` }
        : { kind: "retry", error, afterMs: PAGE_PAUSE_MS, scope: "chat" };
    case "refused":
      return refused(failure, error, attempt, floods, now);
  }
}

/** A deletion may be repeated: the second changes nothing. A request that was never written concerns every chat. */
function unanswered(isWritten: boolean, error: string, { kind }: Attempt): SendResult {
  if (!isWritten) return { kind: "retry", error, scope: "bot" };
  return kind === "delete" ? { kind: "retry", error, scope: "chat" } : { kind: "ambiguous", error };
}

function refused(
  failure: Extract<ApiFailure, { kind: "refused" }>,
  error: string,
  attempt: Attempt,
  floods: Floods,
  now: number,
): SendResult {
  const { status, description, retryAfterMs, movedTo } = failure;
  if (status === 429) {
    const afterMs = retryAfterMs ?? UNKNOWN_LIMIT_MS;
    return { kind: "retry", error, afterMs, scope: floods.scopeOf(attempt.chatId, afterMs, now) };
  }
  if (movedTo !== undefined) return { kind: "moved", toChatId: movedTo };
  // A request that timed out (408) may have been taken all the same.
  if (status >= 500 || status === 408) return unanswered(true, error, attempt);
  // Asked for a second time before: see send. The platform goes offline, so no long pause outlives a start with another token.
  if (isTokenRefused(failure)) return { kind: "retry", error, scope: "bot" };
  // Nothing is lost meanwhile.
  if (isLoggedOut(failure)) return { kind: "retry", error, afterMs: TOKEN_PAUSE_MS, scope: "bot" };
  // Every method that sends exists, so it is a mistake of a server in between.
  if (status === 404) return { kind: "retry", error, scope: "chat" };
  if (status === 400 && attempt.kind === "edit" && NOT_MODIFIED.test(description))
    return { kind: "sent", messageId: attempt.messageId ?? "" };
  if (attempt.kind === "edit" && NOWHERE.test(description)) return { kind: "gone", error, isNowhere: true };
  if (attempt.kind === "edit" && NOT_EDITABLE.test(description)) return { kind: "gone", error, isLeft: true };
  if (status === 400 && attempt.kind !== "create" && GONE.test(description)) return { kind: "gone", error };
  if (status === 400 && attempt.kind !== "delete" && FORMAT.test(description)) return { kind: "format", error };
  return { kind: "permanent", error };
}
