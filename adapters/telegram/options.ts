/** What the adapter is made with. Durations in milliseconds. */
import { HookgateError } from "../../src/lib/errors.js";
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
  maxFileBytes: number;
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

/** The options that a configuration means. Throws TELEGRAM_WEBHOOK_INCOMPLETE. */
export function telegramOptions(
  config: TelegramConfig,
  token: string,
  apiUrl: string = API_URL,
  webhookSecret?: string,
): TelegramOptions {
  const { limits } = config;
  return {
    token,
    apiUrl: apiUrl.replace(/\/+$/, ""),
    ...(config.mode === "webhook" ? { webhook: webhookOptions(config, webhookSecret) } : {}),
    isCommandRegistrationWanted: config.register_commands,
    pollTimeoutMs: config.poll_timeout,
    requestTimeoutMs: config.request_timeout,
    uploadTimeoutMs: config.upload_timeout,
    maxFileBytes: config.max_file_bytes,
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
