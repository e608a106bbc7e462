/** The input of the platforms: their settings, and the problems of these settings, if any. */
import { discordOptions } from "../../../adapters/discord/options.js";
import type { PlatformOptions } from "../../../adapters/index.js";
import { telegramOptions } from "../../../adapters/telegram/options.js";
import type { Environment } from "../../config/env.js";
import { brokenPlatform, type LoadedConfig } from "../../config/load.js";
import type { PlatformName } from "../../domain/chat/platform.js";
import type { Store } from "../../domain/store.js";
import { type Destinations, parseDestinations } from "../../lib/outgoing/destinations.js";
import { keepFile, uploadsFolder } from "../kept-files.js";
import type { FixedConfig } from "../taken-over.js";

export function platformOptions(
  { problems }: LoadedConfig,
  {
    config,
    env,
    store,
    consoleId,
    pageUrl,
  }: { config: FixedConfig; env: Environment; store: Store; consoleId: string; pageUrl: () => string },
): PlatformOptions {
  const outgoing = outgoingDestinations(config, env);
  const broken = (platform: PlatformName) => brokenPlatform(platform, problems);
  const options: PlatformOptions = { misconfigured: {} };
  const add = <P extends PlatformName>(platform: P, make: () => PlatformOptions[P]) => {
    const why = broken(platform);
    if (why === undefined) options[platform] = make();
    else options.misconfigured = { ...options.misconfigured, [platform]: why };
  };
  const { DISCORD_TOKEN, TELEGRAM_TOKEN } = env;
  if (config.web.enabled)
    add("web", () => ({
      chat: store.web,
      name: config.web.name,
      rooms: config.web.rooms,
      maxText: config.web.max_text,
      files: {
        allow: outgoing,
        maxBytes: config.http.max_upload_mb * 1_000_000,
        keep: (bytes) => keepFile(uploadsFolder(env.DATABASE_URL), bytes),
      },
      roomsPerPerson: config.web.rooms_per_person,
      pageUrl,
      people: [consoleId, ...config.web.people.map(({ id }) => id)],
    }));
  if (DISCORD_TOKEN)
    add("discord", () =>
      discordOptions(config.discord, { token: DISCORD_TOKEN, apiUrl: env.DISCORD_API_URL, outgoing }),
    );
  if (TELEGRAM_TOKEN)
    add("telegram", () =>
      telegramOptions(config.telegram, {
        token: TELEGRAM_TOKEN,
        apiUrl: env.TELEGRAM_API_URL,
        webhookSecret: env.TELEGRAM_WEBHOOK_SECRET,
        outgoing,
      }),
    );
  return options;
}

/** A platform's own server holds its files, wherever the operator runs it. */
function outgoingDestinations({ outgoing }: Pick<FixedConfig, "outgoing">, env: Environment): Destinations {
  const own = [env.DISCORD_API_URL, env.TELEGRAM_API_URL].filter((url) => url !== undefined).map((url) => new URL(url));
  const hostAndPort = own.map((url) => `${url.hostname}:${url.port || (url.protocol === "https:" ? 443 : 80)}`);
  return parseDestinations([...outgoing.allow, ...hostAndPort]);
}
