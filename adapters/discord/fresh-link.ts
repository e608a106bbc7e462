/** A fresh address for a file of a message. The signed ones that Discord gives end after a day. */
import { z } from "zod";
import { HookgateError } from "../../src/lib/errors.js";
import type { Caller } from "./caller.js";
import { describeFailure, outcomeOf } from "./outcome.js";

const answer = z.object({ refreshed_urls: z.array(z.object({ refreshed: z.string().nullish() })) });

/** Rejects retryable when Discord limits requests or is in trouble. https://docs.discord.com/developers/reference#signed-attachment-cdn-urls */
export async function freshLink(caller: Caller, url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const given = await caller.post("/attachments/refresh-urls", { body: { attachment_urls: [url] }, signal });
    return answer.parse(given).refreshed_urls[0]?.refreshed ?? undefined;
  } catch (error) {
    // Asking twice does no harm, so all that is no refusal may be asked again.
    const outcome = outcomeOf(error, { repeat: "harmless", isInteraction: false, isPlain: true });
    throw new HookgateError({
      code: "DISCORD_GAVE_NO_LINK",
      message: describeFailure(error),
      retryable: outcome.kind === "retry",
      retryAfterMs: outcome.kind === "retry" ? outcome.afterMs : undefined,
      cause: error,
    });
  }
}
