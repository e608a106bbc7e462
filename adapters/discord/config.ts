/** The `discord:` section of the configuration, without the access rules, which are the gateway's. */
import { z } from "zod";
import { deadline, duration } from "../../src/lib/validation/config-fields.js";

export const discordConfig = z.strictObject({
  message_content: z
    .boolean()
    .default(true)
    .describe(
      "Ask for the Message Content intent; without it, guild messages that do not mention the bot have no text.",
    ),
  register_commands: z.boolean().default(true).describe("Register the slash commands when they differ from Discord's."),
  connect_timeout: deadline("30s").describe("How long a connection may take to greet, identify or resume."),
  request_timeout: deadline("15s").describe("How long one REST request may take."),
  upload_timeout: deadline("2m").describe("How long one request that uploads a file may take."),
  requests_per_second: z.number().int().min(1).default(45).describe("REST requests per second, of Discord's 50."),
  max_invalid_requests: z
    .number()
    .int()
    .min(10)
    .max(9000)
    .default(1000)
    .describe("Refused requests (401, 403, 429) in 10 minutes after which REST pauses; Discord bans at 10,000."),
  catch_up: z
    .strictObject({
      max_age: duration("24h").describe("After a lost session, missed messages older than this are left."),
      max_messages: z
        .number()
        .int()
        .min(0)
        .default(1000)
        .describe("After a lost session, at most this many missed messages are read per channel; 0 turns it off."),
    })
    .prefault({})
    .describe("What to read over REST when Discord could not resume a session."),
});
export type DiscordConfig = z.output<typeof discordConfig>;
