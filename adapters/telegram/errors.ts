/** What the Bot API and the network say when something fails, in our words and without the token. */
import { GrammyError, HttpError } from "grammy";
import { errorMessage, HookgateError } from "../../src/lib/errors.js";
import { TransportError } from "./transport.js";

/** A refusal by the platform, or no usable answer; anything else is a fault of our own. */
export type ApiFailure =
  | { kind: "refused"; status: number; description: string; retryAfterMs?: number; movedTo?: string }
  /** A page of a proxy or of the network's login: the request was not passed on. */
  | { kind: "page"; status: number; error: string }
  | { kind: "unanswered"; error: string; isWritten: boolean };

export function readFailure(thrown: unknown): ApiFailure {
  if (thrown instanceof GrammyError) {
    const { retry_after, migrate_to_chat_id } = thrown.parameters;
    return {
      kind: "refused",
      status: thrown.error_code,
      description: thrown.description,
      ...(retry_after === undefined ? {} : { retryAfterMs: retry_after * 1000 }),
      ...(migrate_to_chat_id === undefined ? {} : { movedTo: String(migrate_to_chat_id) }),
    };
  }
  const inner = thrown instanceof HttpError ? thrown.error : thrown;
  if (inner instanceof TransportError) {
    const { message, status, isWritten } = inner;
    // Of a success nobody knows what became of it.
    if (status !== undefined && status >= 300 && status < 500) return page(status);
    return { kind: "unanswered", error: message, isWritten };
  }
  return { kind: "unanswered", error: errorMessage(inner), isWritten: true };
}

function page(status: number): ApiFailure {
  const error = `the answer was not Telegram's (HTTP ${status}): a proxy or a login page of the network may stand in between`;
  return { kind: "page", status, error };
}

export function describeFailure(failure: ApiFailure): string {
  return failure.kind === "refused" ? `${failure.status} ${failure.description}` : failure.error;
}

/** 404 is what a token of the wrong shape gets. */
export function isTokenRefused(failure: ApiFailure): boolean {
  return failure.kind === "refused" && (failure.status === 401 || failure.status === 404);
}

/** Why a run cannot go on. */
export function runError(thrown: unknown): HookgateError {
  if (thrown instanceof HookgateError) return thrown;
  const failure = readFailure(thrown);
  if (isTokenRefused(failure))
    return new HookgateError({
      code: "TELEGRAM_TOKEN_REFUSED",
      message: "Telegram refuses the token",
      hint: "Check TELEGRAM_TOKEN (@BotFather shows the right one) and, when it is set, TELEGRAM_API_URL.",
    });
  if (failure.kind === "refused" && failure.status === 409)
    return new HookgateError({
      code: "TELEGRAM_CONFLICT",
      message: /webhook/i.test(failure.description)
        ? "a webhook is set for this bot, so it cannot be polled"
        : "another process polls with the same token",
      hint: /webhook/i.test(failure.description)
        ? "Something else receives this bot's updates: delete its webhook, or set telegram.mode: webhook."
        : "Stop the other process, or give this one a token of its own.",
      retryable: true,
    });
  return new HookgateError({
    code: "TELEGRAM_UNREACHABLE",
    message: `Telegram cannot be reached: ${describeFailure(failure)}`,
    hint: "Check the network, and TELEGRAM_API_URL when it is set. Hookgate tries again by itself.",
    retryable: true,
  });
}
