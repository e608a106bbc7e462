/** The options of the adapter. Durations are in milliseconds. */
import { type Destinations, PUBLIC_ONLY } from "../../src/lib/outgoing/destinations.js";
import type { DiscordConfig } from "./config.js";

export interface DiscordOptions {
  token: string;
  /** Discord's REST elsewhere, `http://127.0.0.1:4000/api`; the version is added. */
  apiUrl?: string;
  isMessageContentWanted: boolean;
  isCommandRegistrationWanted: boolean;
  connectTimeoutMs: number;
  requestTimeoutMs: number;
  uploadTimeoutMs: number;
  requestsPerSecond: number;
  maxInvalidRequests: number;
  /** Where the bytes of attachments may be fetched. */
  outgoing: Destinations;
  catchUp: { maxAgeMs: number; maxMessages: number };
}

/** Values that the options need besides the `discord:` section. */
export interface DiscordSurroundings {
  token: string;
  apiUrl?: string | undefined;
  /** Nothing but public addresses by default. */
  outgoing?: Destinations;
}

/** The options that a configuration means. */
export function discordOptions(config: DiscordConfig, surroundings: DiscordSurroundings): DiscordOptions {
  const { token, apiUrl, outgoing = PUBLIC_ONLY } = surroundings;
  return {
    token,
    apiUrl,
    isMessageContentWanted: config.message_content,
    isCommandRegistrationWanted: config.register_commands,
    connectTimeoutMs: config.connect_timeout,
    requestTimeoutMs: config.request_timeout,
    uploadTimeoutMs: config.upload_timeout,
    requestsPerSecond: config.requests_per_second,
    maxInvalidRequests: config.max_invalid_requests,
    outgoing,
    catchUp: { maxAgeMs: config.catch_up.max_age, maxMessages: config.catch_up.max_messages },
  };
}
