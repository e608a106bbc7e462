/** The options of the adapter. Durations are in milliseconds. */
import { HookgateError } from "../../src/lib/errors.js";
import { type Destinations, PUBLIC_ONLY } from "../../src/lib/outgoing/destinations.js";
import type { TelegramConfig } from "./config.js";

export interface TelegramOptions {
  token: string;
  /** The Bot API elsewhere, `http://127.0.0.1:8081`. */
  apiUrl: string;
  /** Telegram calls us; absent = we poll. */
  webhook?: WebhookOptions;
  isCommandRegistrationWanted: boolean;
  pollTimeoutMs: number;
  requestTimeoutMs: number;
  uploadTimeoutMs: number;
  /** A server of a file that sends nothing for so long counts as one that does not answer: later messages of the chat wait for it. */
  fileSilenceMs: number;
  maxFileBytes: number;
  /** Where the bytes of attachments may be fetched. */
  outgoing: Destinations;
  limits: { perSecond: number; perChatPerSecond: number; perGroupPerMinute: number };
}

export interface WebhookOptions {
  /** The public address, path included. */
  url: string;
  /** Sent by Telegram with every call. */
  secret: string;
  maxConnections: number;
}

const API_URL = "https://api.telegram.org";
const FILE_SILENCE_MS = 15_000;

/** Values that the options need besides the `telegram:` section. */
export interface TelegramSurroundings {
  token: string;
  apiUrl?: string | undefined;
  webhookSecret?: string | undefined;
  /** Nothing but public addresses by default. */
  outgoing?: Destinations;
}

/** The options that a configuration means. Throws TELEGRAM_WEBHOOK_INCOMPLETE. */
export function telegramOptions(config: TelegramConfig, surroundings: TelegramSurroundings): TelegramOptions {
  const { limits } = config;
  const { token, apiUrl = API_URL, webhookSecret, outgoing = PUBLIC_ONLY } = surroundings;
  return {
    token,
    apiUrl: apiUrl.replace(/\/+$/, ""),
    webhook: config.mode === "webhook" ? webhookOptions(config, webhookSecret) : undefined,
    isCommandRegistrationWanted: config.register_commands,
    pollTimeoutMs: config.poll_timeout,
    requestTimeoutMs: config.request_timeout,
    uploadTimeoutMs: config.upload_timeout,
    fileSilenceMs: FILE_SILENCE_MS,
    maxFileBytes: config.max_file_bytes,
    outgoing,
    limits: {
      perSecond: limits.per_second,
      perChatPerSecond: limits.per_chat_per_second,
      perGroupPerMinute: limits.per_group_per_minute,
    },
  };
}

function webhookOptions({ webhook }: TelegramConfig, secret: string | undefined): WebhookOptions {
  if (webhook.url && secret) return { url: webhook.url, secret, maxConnections: webhook.max_connections };
  const missing = [webhook.url ? "" : "telegram.webhook.url", secret ? "" : "TELEGRAM_WEBHOOK_SECRET"];
  throw new HookgateError({
    code: "TELEGRAM_WEBHOOK_INCOMPLETE",
    message: `telegram.mode is webhook, but ${missing.filter(Boolean).join(" and ")} is not set`,
    hint: "Set what is missing, or telegram.mode: polling.",
  });
}
