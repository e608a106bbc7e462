/** More requests at once than `discord.requests_per_second` allows: they wait, and nothing blames Discord, which limits nothing. */
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { invoke, startStack } from "./stack.js";

it("a message that waits for the gateway's own limit counts no attempt and names no limit of Discord", async () => {
  const { discord, gateway, platforms, stop } = await startStack({
    withFlow: false,
    plugins: [resolve(import.meta.dirname, "../fixtures/plugins/changes.mjs")],
    config: ({ discord: { world } }) => ({
      discord: { access: { guilds: [world.guildId], mention: "always" }, requests_per_second: 5 },
    }),
  });
  afterTest(stop);
  const rooms = Array.from({ length: 15 }, (_, i) => ({
    chatId: discord.world.addChannel({ type: 0, name: `c${i}` }).id,
  }));
  for (const room of rooms) await platforms.discord.say(room, "guest", "post words");
  const answered = async () => (await Promise.all(rooms.map((room) => platforms.discord.seen(room)))).flat().length;
  await until(async () => (await answered()) === rooms.length, "an answer in every channel");
  const ids = new Set<string>();
  const listAll = async () => {
    for (let page = 1; page <= 10; page++) {
      const { data } = await invoke(gateway.url, `/outbox list sent page=${page}`);
      for (const { id } of (data as { letters?: { id: string }[] }).letters ?? []) ids.add(id);
    }
    return ids.size >= rooms.length;
  };
  await until(listAll, "all deliveries being sent");
  expect(discord.calls.some(({ status }) => status === 429)).toBe(false);
  for (const id of ids) {
    const { text } = await invoke(gateway.url, `/outbox show ${id}`);
    expect(text).not.toMatch(/failed|limited/);
    expect(text).toContain("tried 1 time");
  }
  expect(gateway.output()).not.toMatch(/Discord limits|limited by Discord|could not ask Discord/);
}, 120_000);
