/** A stop (SIGTERM) and a pause (SIGSTOP) of the whole product while both platforms are slow to answer: nothing is left in doubt. */
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { discordPlatform } from "../flow/discord-platform.js";
import type { FlowPlatform } from "../flow/platform.js";
import { allOnline, invoke, type Stack, startStack } from "../flow/stack.js";
import { telegramPlatform } from "../flow/telegram-platform.js";
import { until } from "../support/until.js";

const CHATS = 20;
/** How long each platform takes for a send. */
const SLOW_MS = 1_000;

/** How long a send may take, and how long the process stands still: longer than any limit. */
const LIMIT_MS = 2_000;
const STILL_MS = 5_000;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    config: ({ discord, telegram }) => ({
      gateway: { send_timeout: `${LIMIT_MS}ms` },
      ...settings(discordPlatform(discord), { request_timeout: `${LIMIT_MS}ms` }),
      ...settings(telegramPlatform(telegram), { request_timeout: `${LIMIT_MS}ms` }),
    }),
  });
});
afterAll(() => stack.stop());

const settings = ({ name, config }: FlowPlatform, more: object) => ({ [name]: { ...config, ...more } });
const held = async () => (await invoke(stack.gateway.url, "/outbox list held")).text;

/** New people on each platform, each in a conversation of their own. */
function crowds(count: number) {
  const { discord, telegram } = stack;
  const numbers = Array.from({ length: count }, (_, n) => n);
  return {
    discord: numbers.map((n) => discord.world.addUser({ username: `d${n}` }).id),
    telegram: numbers.map((n) => telegram.world.addUser({ firstName: `t${n}` }).id),
  };
}

it.each([
  ["few", 5],
  ["a crowd", 60],
])("standing still for longer than any limit loses no answer that arrived meanwhile: %s", async (_, count) => {
  const { discord, telegram, gateway } = stack;
  const people = crowds(count);
  const slow = { kind: "slow", delayMs: 1_000 } as const;
  discord.fail({ method: "POST", path: "/messages$", times: count, action: slow });
  telegram.fail({ method: "sendMessage", times: count, action: slow });
  const before = [discord.sends, telegram.sends] as const;
  for (const userId of people.discord) discord.people.says("echo still", { userId, dm: true });
  for (const userId of people.telegram) telegram.people.says("echo still", { userId, dm: true });
  await until(
    () => discord.sends === before[0] + count && telegram.sends === before[1] + count,
    "every send being under way",
  );
  gateway.standStill();
  const since = performance.now();
  await until(() => performance.now() - since > STILL_MS, "the limits being past");
  gateway.goOn();
  await until(async () => /outbox: \d+ sent$/m.test(await held()), "all being sent");
  expect(await held()).toContain("Nothing is held.");
  expect([discord.sends, telegram.sends]).toEqual([before[0] + count, before[1] + count]);
});

it("lets requests under way end, on Discord and Telegram: no delivery is held, and each message is answered once", async () => {
  const { discord, telegram, gateway } = stack;
  const { discord: discordPeople, telegram: telegramPeople } = crowds(CHATS);
  const slow = { kind: "slow", delayMs: SLOW_MS } as const;

  for (const round of [1, 2, 3]) {
    discord.fail({ method: "POST", path: "/messages$", times: CHATS, action: slow });
    telegram.fail({ method: "sendMessage", times: CHATS, action: slow });
    const before = [discord.sends, telegram.sends] as const;
    for (const userId of discordPeople) discord.people.says(`echo round ${round}`, { userId, dm: true });
    for (const userId of telegramPeople) telegram.people.says(`echo round ${round}`, { userId, dm: true });
    await until(
      () => discord.sends === before[0] + CHATS && telegram.sends === before[1] + CHATS,
      "every send being under way",
    );
    expect(await gateway.stop()).toBe(0);
    await gateway.start();
    await allOnline(gateway);
    expect(await held()).toContain("Nothing is held.");
  }

  const texts = (messages: Iterable<{ text?: string; content?: string; isOwn: boolean }>) =>
    [...messages].filter(({ isOwn }) => isOwn).map(({ text, content }) => text ?? content ?? "");
  const rounds = [1, 2, 3].map((round) => expect.stringContaining(`round ${round}`));
  for (const userId of telegramPeople) {
    const messages = [...telegram.world.dmWith(userId).messages.values()];
    expect(texts(messages.map(({ text = "", from }) => ({ text, isOwn: from?.id === telegram.world.bot.id })))).toEqual(
      rounds,
    );
  }
  for (const userId of discordPeople) {
    const messages = [...discord.world.dmWith(userId).messages.values()];
    expect(
      texts(messages.map(({ content, author }) => ({ content, isOwn: author.id === discord.world.bot.id }))),
    ).toEqual(rounds);
  }
});

it("waits for a platform's answer that takes longer than shutdown_timeout, up to send_timeout", async () => {
  const slowStop = await startStack({
    config: ({ telegram }) => ({
      gateway: { shutdown_timeout: "300ms" },
      ...settings(telegramPlatform(telegram), {}),
    }),
  });
  try {
    const { telegram, gateway } = slowStop;
    const { id: userId } = telegram.world.addUser({ firstName: "patient" });
    telegram.fail({ method: "sendMessage", times: 1, action: { kind: "slow", delayMs: 3_000 } });
    const before = telegram.sends;
    telegram.people.says("echo slowly", { userId, dm: true });
    await until(() => telegram.sends === before + 1, "the send being under way");
    expect(await gateway.stop()).toBe(0);
    await gateway.start();
    await allOnline(gateway);
    expect((await invoke(gateway.url, "/outbox list held")).text).toContain("Nothing is held.");
  } finally {
    await slowStop.stop();
  }
});

it("shares its time between its stages: hooks, handlers and teardowns that never end do not have it one after the other", async () => {
  const stuck = await startStack({
    config: { gateway: { shutdown_timeout: "2s", send_timeout: "2s" }, orchestrator: { shutdown_timeout: "2s" } },
    plugins: [{ module: resolve(import.meta.dirname, "../fixtures/plugins/stuck.mjs") }],
  });
  try {
    const { gateway, platforms } = stuck;
    await platforms.web.say(platforms.web.places[0], "guest", "stuck");
    await until(() => stuck.noted("message_received").some(({ payload }) => payload.message.text === "stuck"), "it");
    expect(await gateway.stop()).toBe(0);
    const lines = gateway.output();
    expect(lines).toContain("The hooks at orchestrator:shutdown take longer than orchestrator.shutdown_timeout");
    const waitedMs = Number(/"plugin":"stuck","waitedMs":(\d+)/.exec(lines)?.[1]);
    // The shortest wait: the stages before have used the time up.
    expect(waitedMs).toBe(1_000);
  } finally {
    await stuck.stop();
  }
});
