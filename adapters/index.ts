/** The table of chat platforms. A platform's code is loaded only when it is switched on. */
import type { Adapter } from "../src/domain/chat/adapter.js";
import type { DiscordOptions } from "./discord/options.js";
import { createMisconfiguredAdapter } from "./misconfigured.js";
import type { TelegramAdapter, TelegramOptions } from "./telegram/telegram.js";
import type { WebAdapter, WebAdapterOptions } from "./web/web.js";

/** The platforms that are switched on, with the parts that each is made from. */
export interface PlatformOptions {
  web?: WebAdapterOptions | undefined;
  discord?: DiscordOptions | undefined;
  telegram?: TelegramOptions | undefined;
  /** Switched on with settings that cannot be used: why, by platform. */
  misconfigured?: Partial<Record<"web" | "discord" | "telegram", string>>;
}

export interface Platforms {
  /** In the order of the table. */
  all: Adapter[];
  web?: WebAdapter | undefined;
  telegram?: TelegramAdapter | undefined;
}

export async function createPlatforms({
  web,
  discord,
  telegram,
  misconfigured = {},
}: PlatformOptions): Promise<Platforms> {
  const [webChat, discordBot, telegramBot] = await Promise.all([
    web && import("./web/web.js").then(({ createWebAdapter }) => createWebAdapter(web)),
    discord && import("./discord/discord.js").then(({ createDiscordAdapter }) => createDiscordAdapter(discord)),
    telegram && import("./telegram/telegram.js").then(({ createTelegramAdapter }) => createTelegramAdapter(telegram)),
  ]);
  const standIn = (platform: keyof typeof misconfigured) => {
    const why = misconfigured[platform];
    return why === undefined ? undefined : createMisconfiguredAdapter(platform, why);
  };
  const all = [webChat ?? standIn("web"), discordBot ?? standIn("discord"), telegramBot ?? standIn("telegram")].filter(
    (adapter) => adapter !== undefined,
  );
  return { all, web: webChat, telegram: telegramBot };
}
