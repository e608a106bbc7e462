/** Every adapter on its platform, ready to be held to the contract of `domain/chat/adapter.ts`. One entry a platform. */
import { randomUUID } from "node:crypto";
import { discordConfig } from "../../adapters/discord/config.js";
import { createDiscordAdapter } from "../../adapters/discord/discord.js";
import { discordOptions } from "../../adapters/discord/options.js";
import { telegramConfig } from "../../adapters/telegram/config.js";
import { telegramOptions } from "../../adapters/telegram/options.js";
import { createTelegramAdapter } from "../../adapters/telegram/telegram.js";
import { createWebAdapter } from "../../adapters/web/web.js";
import type { Adapter } from "../../src/domain/chat/adapter.js";
import type { Address } from "../../src/domain/chat/address.js";
import type { Store } from "../../src/domain/store.js";
import { parseDestinations } from "../../src/lib/outgoing/destinations.js";
import { FAKE_TOKEN as DISCORD_TOKEN, startFakeDiscord } from "../fakes/discord/server.js";
import { FakeTelegram, FAKE_TOKEN as TELEGRAM_TOKEN } from "../fakes/telegram/server.js";
import { discordPlatform } from "../flow/discord-platform.js";
import { telegramPlatform } from "../flow/telegram-platform.js";

export interface Rig {
  /** A new adapter on the same platform, as after a restart of the process. */
  create(): Adapter;
  address: Address;
  /** Resolves when the platform has it; web: when the adapter took it (or rejected it). */
  say(text: string): Promise<string>;
  press(messageId: string, label: string): Promise<void>;
  posted(): Promise<{ id: string; text: string }[]>;
  stop(): Promise<void>;
}

export const rigs: Record<"web" | "discord" | "telegram", (store: Store) => Promise<Rig>> = {
  async web(store) {
    const person = { id: "2", name: "Grace" };
    const files = { allow: parseDestinations([]), maxBytes: 1, keep: async () => "" };
    const rooms = [{ id: "general", name: "General" }];
    const options = { chat: store.web, name: "Hookgate", rooms, maxText: 32_000, files };
    let adapter = createWebAdapter(options);
    const rows = async () => (await store.web.history("general", { limit: 1000 })).messages;
    return {
      create: () => {
        adapter = createWebAdapter(options);
        return adapter;
      },
      address: { platform: "web", botId: "web", chatId: "general" },
      say: async (text) =>
        String((await adapter.port.say(person, { roomId: "general", text, attachments: [], nonce: randomUUID() })).id),
      async press(messageId, label) {
        const { messages } = await adapter.port.history(person, "general", undefined, 100);
        const buttons = messages.find(({ id }) => String(id) === messageId)?.buttons?.flat() ?? [];
        const token = buttons.find((one) => one.label === label)?.token ?? "";
        await adapter.port.press(person, { messageId: Number(messageId), token, nonce: randomUUID() });
      },
      posted: async () =>
        (await rows())
          .filter((row) => row.userId === undefined && row.deletedAt === undefined)
          .map(({ id, text }) => ({ id: String(id), text })),
      stop: async () => {},
    };
  },
  async discord() {
    const fake = await startFakeDiscord();
    const platform = discordPlatform(fake);
    const place = platform.places[0];
    return {
      create: () =>
        createDiscordAdapter(discordOptions(discordConfig.parse({}), { token: DISCORD_TOKEN, apiUrl: fake.apiUrl })),
      address: { platform: "discord", botId: fake.world.bot.id, chatId: place.chatId },
      say: (text) => platform.say(place, "guest", text),
      press: (messageId, label) => platform.press(place, "guest", messageId, label),
      posted: () => platform.seen(place),
      stop: () => fake.stop(),
    };
  },
  async telegram() {
    const fake = await new FakeTelegram().start();
    const platform = telegramPlatform(fake);
    const place = platform.places[0];
    return {
      create: () =>
        createTelegramAdapter(
          telegramOptions(telegramConfig.parse({}), { token: TELEGRAM_TOKEN, apiUrl: fake.apiUrl }),
        ),
      address: { platform: "telegram", botId: platform.botId(), chatId: place.chatId },
      say: (text) => platform.say(place, "guest", text),
      press: (messageId, label) => platform.press(place, "guest", messageId, label),
      posted: () => platform.seen(place),
      stop: () => fake.stop(),
    };
  },
};
