/** Judges the token by an answer of a platform's API, as a running gateway judges it. For `doctor`. */
import { readAnswer } from "../../adapters/discord/caller.js";
import { isDiscordsLimit } from "../../adapters/discord/rest/limit.js";
import {
  describeFailure as describeDiscord,
  isTokenRefused as isDiscordTokenRefused,
} from "../../adapters/discord/rest/outcome.js";
import { BANNED } from "../../adapters/discord/rest/refusals.js";
import { resultOf } from "../../adapters/telegram/caller.js";
import {
  describeFailure as describeTelegram,
  isTokenRefused as isTelegramTokenRefused,
  readFailure,
} from "../../adapters/telegram/errors.js";

/**
 * `refused`: the platform itself refuses the token; a second time, the token is wrong. `trouble`: the answer shows nothing about the token.
 */
export type Probed =
  | { kind: "data"; data: unknown }
  | { kind: "refused" }
  | { kind: "trouble"; why: string; isPassing: boolean };

export function readDiscord(status: number, text: string): Probed {
  if (status === 429)
    return {
      kind: "trouble",
      why: isDiscordsLimit(text) ? "Discord limits requests (HTTP 429)" : BANNED,
      isPassing: true,
    };
  try {
    return { kind: "data", data: readAnswer(status, text) };
  } catch (error) {
    if (isDiscordTokenRefused(error)) return { kind: "refused" };
    return { kind: "trouble", why: describeDiscord(error), isPassing: status >= 500 };
  }
}

export function readTelegram(status: number, text: string): Probed {
  try {
    return { kind: "data", data: resultOf(status, text) };
  } catch (error) {
    const failure = readFailure(error);
    if (isTelegramTokenRefused(failure)) return { kind: "refused" };
    const isPassing = status >= 500 || (failure.kind === "refused" && failure.status === 429);
    return { kind: "trouble", why: describeTelegram(failure), isPassing };
  }
}
