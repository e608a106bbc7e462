/** A fresh address for a file of a message. The signed ones that Discord gives end after a day. */
import type { REST } from "@discordjs/rest";
import { z } from "zod";
import { HookgateError } from "../../src/lib/errors.js";
import { describeFailure } from "./outcome.js";

const answer = z.object({ refreshed_urls: z.array(z.object({ refreshed: z.string().nullish() })) });

/** https://docs.discord.com/developers/reference#signed-attachment-cdn-urls */
export async function freshLink(rest: REST, url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const given = await rest.post("/attachments/refresh-urls", { body: { attachment_urls: [url] }, signal });
    return answer.parse(given).refreshed_urls[0]?.refreshed ?? undefined;
  } catch (error) {
    throw new HookgateError({ code: "DISCORD_GAVE_NO_LINK", message: describeFailure(error), cause: error });
  }
}
