/** The `telegram:` section of the configuration, without the access rules, which are the gateway's. */
import { z } from "zod";
import { deadline } from "../../src/lib/validation/config-fields.js";

export const telegramConfig = z.strictObject({
  mode: z
    .enum(["polling", "webhook"])
    .default("polling")
    .describe("How updates arrive: polling (works anywhere), or webhook (Telegram calls this gateway's HTTP server)."),
  webhook: z
    .strictObject({
      url: z
        .url({ protocol: /^https?$/ })
        .optional()
        .describe("The public address that Telegram calls, path included. Needed in webhook mode."),
      path: z
        .string()
        .regex(/^\/[\w/.-]+$/, "expected a path such as /telegram/webhook")
        .default("/telegram/webhook")
        .describe("The path of this gateway's HTTP server that answers those calls."),
      max_connections: z.int().min(1).max(100).default(40).describe("How many calls Telegram makes at the same time."),
    })
    .prefault({})
    .describe("For webhook mode only. The secret comes from TELEGRAM_WEBHOOK_SECRET."),
  poll_timeout: deadline("30s").describe("How long Telegram holds a poll open while there is nothing new."),
  request_timeout: deadline("20s").describe("How long any other request may take before it counts as unanswered."),
  upload_timeout: deadline("2m").describe("How long a request that uploads or downloads a file may take."),
  max_file_bytes: z
    .int()
    .min(1)
    .default(50_000_000)
    .describe("The largest file that is uploaded; Telegram's own limit is 50 MB."),
  register_commands: z.boolean().default(true).describe("Register the command menu when it differs from Telegram's."),
  limits: z
    .strictObject({
      per_second: z.number().positive().default(30).describe("How many messages per second are sent over all chats."),
      per_chat_per_second: z
        .number()
        .positive()
        .default(1)
        .describe("How many messages per second are sent to one chat."),
      per_group_per_minute: z
        .number()
        .positive()
        .default(20)
        .describe("How many messages per minute are sent to one group."),
    })
    .prefault({})
    .describe("How fast the gateway sends; the defaults are what Telegram allows."),
});
export type TelegramConfig = z.output<typeof telegramConfig>;
