/** A fail-closed guard that cannot be reached, and operators who use commands meanwhile, on all three platforms. */
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import type { FlowPlatform, Place, Speaker } from "./platform.js";
import { invoke, type Stack, startStack } from "./stack.js";

const NAMES = ["web", "discord", "telegram"] as const;
const PLUGIN = resolve(import.meta.dirname, "../fixtures/plugins/withholds.mjs");

let stack: Stack;
beforeAll(async () => {
  const port = await freePort();
  stack = await startStack({
    plugins: [PLUGIN],
    config: ({ discord, telegram }) => ({
      outgoing: { allow: [`127.0.0.1:${port}`] },
      automations: {
        alerts: ["web:web:dm-1", `discord::dm%3A${discord.userId}`, `telegram::${telegram.userId}`, "web:web:second"],
        breaker: { failures: 3 },
      },
      hooks: [
        {
          id: "no-money",
          on: "message_sending",
          execution: "blocking",
          on_failure: "closed",
          enabled: false,
          run: { http: { url: `http://127.0.0.1:${port}/veto` } },
        },
      ],
    }),
  });
});
afterAll(() => stack.stop());

const shown = async (platform: FlowPlatform, place: Place, who: Speaker = "owner"): Promise<string[]> =>
  [...(await platform.seen(place, who)), ...(await platform.seenPrivately(who))].map(({ text }) => text);
const find = (platform: FlowPlatform, place: Place, part: RegExp, who?: Speaker): Promise<string> =>
  until(async () => (await shown(platform, place, who)).find((text) => part.test(text)), `${part} in ${platform.name}`);

describe("an operator in a Telegram group who never wrote to the bot directly", () => {
  it("sees where they asked that the answer was withheld, and after writing directly is notified there", async () => {
    const { telegram } = stack.platforms;
    await telegram.command(telegram.places[0], "owner", "/hooks show suppress-it");
    await find(telegram, telegram.places[0], /withheld by a hook/);
    stack.telegram.people.says("hello", { dm: true, userId: Number(telegram.ownerRef.split(":")[1]) });
  });
});

describe.each(NAMES)("on %s", (name) => {
  const platform = () => stack.platforms[name];
  const room = () => platform().places[0];

  it("an operator is notified privately that an answer was suppressed, and that one was cancelled, with the reason", async () => {
    await platform().command(room(), "owner", "/hooks show suppress-it");
    expect(await find(platform(), room(), /answer was suppressed/)).toContain("not said here");
    await platform().command(room(), "owner", "/hooks show cancel-it");
    expect(await find(platform(), room(), /answer was cancelled/)).toContain("it names cancel");
  });
});

describe("while a fail-closed guard cannot be reached", () => {
  beforeAll(async () => {
    await invoke(stack.gateway.url, "/hooks enable no-money");
  });

  it.each(NAMES)("an operator on %s is notified that the answer was held, why, and what to do", async (name) => {
    const platform = stack.platforms[name];
    await platform.command(platform.places[0], "owner", "/status");
    const notice = await find(platform, platform.places[0], /answer was held/);
    expect(notice).toContain("no-money");
    expect(notice).toMatch(/\/outbox release d_m\d+a/);
    expect((await shown(platform, platform.places[0])).some((text) => text.includes("Platforms"))).toBe(false);
  });

  it("a person without a role is shown that the answer is withheld on Discord, and nothing of the guard", async () => {
    const { discord } = stack.platforms;
    await discord.command(discord.places[0], "guest", "/whoami");
    const notice = await find(discord, discord.places[0], /cannot be shown here/, "guest");
    expect(notice).not.toContain("no-money");
  });

  it.each(NAMES)("the owner on %s is notified in a direct message that its breaker opened", async (name) => {
    const platform = stack.platforms[name];
    const direct = name === "web" ? { chatId: "dm-1" } : platform.places[1];
    expect(await find(platform, direct, /no-money\W+failed 3 times in a row/)).toContain("/hooks enable no-money");
  });

  it("the notice for a room is held like any other message there", async () => {
    const held = async () =>
      (await invoke(stack.gateway.url, "/outbox list held")).text.split("\n").filter((line) => line.includes("Second"));
    await until(async () => (await held()).length > 0, "the held notice");
    expect((await shown(stack.platforms.web, { chatId: "second" })).join()).not.toContain("failed 3 times");
  });

  it("an operator gets out of it from the chat: the guard is disabled, and the next answer arrives", async () => {
    const { telegram } = stack.platforms;
    await telegram.command(telegram.places[1], "owner", "/hooks disable no-money");
    await telegram.command(telegram.places[1], "owner", "/status");
    await find(telegram, telegram.places[1], /Platforms/);
  });
});
