/** Errors of the Bot API and of the network, in our words and without the token. */
import { TOKEN_PAUSE_MS } from "../../src/domain/chat/platform-defaults.js";
import { ExchangeError } from "../../src/fast/exchange.js";
import { errorMessage, HookgateError } from "../../src/lib/errors.js";
import { type Caller, Refusal, UnusableAnswer } from "./caller.js";

export const CHECK_NETWORK = "Check the network, and TELEGRAM_API_URL when it is set. Hookgate tries again by itself.";
/** https://core.telegram.org/bots/api#deletewebhook */
const deleteWebhook = (apiUrl: string) => `\`curl "${apiUrl}/bot$TELEGRAM_TOKEN/deleteWebhook"\``;

/** A refusal by the platform, or no usable answer; anything else is a fault of our own. */
export type ApiFailure =
  | { kind: "refused"; status: number; description: string; retryAfterMs?: number; movedTo?: string }
  /** A page of a proxy or of the network's login: the request was not passed on. */
  | { kind: "page"; status: number; error: string }
  | { kind: "unanswered"; error: string; isWritten: boolean };

export function readFailure(thrown: unknown): ApiFailure {
  if (thrown instanceof Refusal) {
    const { status, message: description, parameters } = thrown;
    const { migrate_to_chat_id: movedTo } = parameters;
    const waitS = secondsOf(parameters.retry_after) ?? floodWaitOf(description);
    return {
      kind: "refused",
      // Telegram's own servers answer 420; the Bot API makes 429 of it, but not always.
      status: status === 420 ? 429 : status,
      description,
      retryAfterMs: waitS === undefined ? undefined : waitS * 1000,
      movedTo: movedTo == null ? undefined : String(movedTo),
    };
  }
  if (thrown instanceof ExchangeError)
    return { kind: "unanswered", error: thrown.message, isWritten: thrown.isWritten };
  // A success without an answer that can be read may have taken effect, and so may a request that timed out.
  if (thrown instanceof UnusableAnswer && isPage(thrown.status)) return page(thrown.status);
  return { kind: "unanswered", error: errorMessage(thrown), isWritten: true };
}

/** A proxy may answer in Telegram's place, with a time that is none. */
function secondsOf(retryAfter: unknown): number | undefined {
  const seconds = typeof retryAfter === "string" ? Number.parseFloat(retryAfter) : retryAfter;
  return typeof seconds === "number" && seconds >= 0 && Number.isFinite(seconds) ? seconds : undefined;
}

/** Where the answer has no parameters: its own words, or those of https://core.telegram.org/api/errors#420-flood */
function floodWaitOf(description: string): number | undefined {
  const seconds = /(?:(?:FLOOD|SLOWMODE)\w*_WAIT_|\bretry after )(\d+)/.exec(description)?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}

function isPage(status: number | undefined): status is number {
  return status !== undefined && status >= 300 && status < 500 && status !== 408;
}

function page(status: number): ApiFailure {
  const error = `the answer was not Telegram's (HTTP ${status}): a proxy or a login page of the network may be in between`;
  return { kind: "page", status, error };
}

export function describeFailure(failure: ApiFailure): string {
  return failure.kind === "refused" ? `${failure.status} ${failure.description}` : failure.error;
}

/** A token of the wrong shape gets "404 Not Found"; an unknown method gets more words. */
export function isTokenRefused(failure: ApiFailure): boolean {
  if (failure.kind !== "refused") return false;
  return failure.status === 401 || (failure.status === 404 && failure.description === "Not Found");
}

/** The bot was moved to a Bot API server that its owner runs: https://core.telegram.org/bots/api#logout */
export function isLoggedOut(failure: ApiFailure): boolean {
  return failure.kind === "refused" && failure.status === 400 && /\blogged out$/i.test(failure.description);
}

/** Whether the same request may work later. */
export function isPassing(failure: ApiFailure): boolean {
  if (failure.kind !== "refused" || isTokenRefused(failure) || isLoggedOut(failure)) return true;
  return failure.status >= 500 || failure.status === 429 || /temporarily unavailable/i.test(failure.description);
}

/** Why a request that is no send failed, and whether it may work later. */
export function requestError(thrown: unknown, code: string, what: string): HookgateError {
  if (thrown instanceof HookgateError) return thrown;
  const failure = readFailure(thrown);
  return new HookgateError({
    code,
    message: `${what}: ${describeFailure(failure)}`,
    retryable: isPassing(failure),
    retryAfterMs: retryAfterOf(failure),
    cause: thrown,
  });
}

export function retryAfterOf(failure: ApiFailure): number | undefined {
  return failure.kind === "refused" ? failure.retryAfterMs : undefined;
}

/** One refusal may be a mistake of a server in between. The token is wrong when Telegram refuses it a second time. */
export function isTokenWrong({ call }: Caller, signal: AbortSignal): Promise<boolean> {
  return call("getMe", {}, signal).then(
    () => false,
    (thrown: unknown) => isTokenRefused(readFailure(thrown)),
  );
}

/** Why a run cannot go on. `isWrong`: the token was refused twice. */
export function runError(thrown: unknown, apiUrl: string, isWrong = false): HookgateError {
  if (thrown instanceof HookgateError) return thrown;
  const failure = readFailure(thrown);
  if (isTokenRefused(failure) && isWrong)
    return new HookgateError({
      code: "TELEGRAM_TOKEN_REFUSED",
      message: "Telegram refuses the token",
      hint: "Check TELEGRAM_TOKEN (@BotFather shows the right one) and, when it is set, TELEGRAM_API_URL. Then restart Hookgate. Without a restart it tries the same token again every minute.",
      retryAfterMs: TOKEN_PAUSE_MS,
    });
  if (isTokenRefused(failure))
    return new HookgateError({
      code: "TELEGRAM_REFUSED_ONCE",
      message: `Telegram refused the token once (${describeFailure(failure)}), and took it when it was asked again`,
      hint: "Hookgate connects again by itself. If this happens again, check the network, proxy and firewall between Hookgate and Telegram.",
      retryable: true,
    });
  if (isLoggedOut(failure))
    return new HookgateError({
      code: "TELEGRAM_LOGGED_OUT",
      message: "this bot is logged out of Telegram's Bot API server (400 Logged out)",
      hint: "A program called logOut, to use the bot on a Bot API server of its own. To use it there, set TELEGRAM_API_URL to that server. Else call logOut there: Hookgate tries again every minute, and what is to be sent waits.",
      retryAfterMs: TOKEN_PAUSE_MS,
    });
  if (failure.kind === "refused" && failure.status === 429)
    return new HookgateError({
      code: "TELEGRAM_LIMITED",
      message: `Telegram limits how often this bot connects: ${describeFailure(failure)}`,
      hint: "Hookgate connects by itself after the pause; /pauses shows how long it lasts.",
      retryable: true,
    });
  if (failure.kind === "refused" && failure.status === 409)
    return new HookgateError({
      code: "TELEGRAM_CONFLICT",
      message: /webhook/i.test(failure.description)
        ? "a webhook is set for this bot, so it cannot be polled"
        : "another process polls with the same token",
      hint: /webhook/i.test(failure.description)
        ? `Another program receives this bot's updates. Stop it, then remove its webhook: ${deleteWebhook(apiUrl)}. Or give this gateway a bot of its own, or set telegram.mode: webhook.`
        : "Stop the other process, or give this one a token of its own.",
      retryable: true,
    });
  return new HookgateError({
    code: "TELEGRAM_UNREACHABLE",
    message: `Telegram cannot be reached: ${describeFailure(failure)}`,
    hint: CHECK_NETWORK,
    retryable: true,
  });
}
