/** One part is broken, the others serve: a wrong token, a platform that goes away and comes back, plugins that cannot be loaded. And no log tells a secret. */
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FlowPlatform, Place, Seen } from "../flow/platform.js";
import { invoke, readiness, type Stack, startStack } from "../flow/stack.js";
import { TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { TRAPS_PLUGIN } from "./traps-plugin.js";

const WRONG_TOKEN = "MTk5OTk5OTk5OTk5OTk5OTk5.Gwrong.a-discord-token-that-is-revoked-0001";
const BROKEN_PLUGIN = resolve(import.meta.dirname, "../fixtures/plugins/throws-on-load.mjs");

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    plugins: [BROKEN_PLUGIN, TRAPS_PLUGIN, TRAPS_PLUGIN],
    env: { DISCORD_TOKEN: WRONG_TOKEN, LOG_LEVEL: "trace" },
    online: ["web", "telegram"],
  });
});
afterAll(() => stack.stop());

const find = (platform: FlowPlatform, place: Place, part: string): Promise<Seen> =>
  until(
    async () => (await platform.seen(place)).find(({ text }) => text.includes(part)),
    `"${part}" in ${platform.name}`,
  );
const stateOf = async (platform: string) => (await readiness(stack.gateway.url)).platforms[platform];

describe("a platform whose token is wrong", () => {
  it("is offline with its reason in /readyz and /status, and the others answer", async () => {
    const discord = await until(async () => {
      const state = await stateOf("discord");
      return state?.state === "offline" ? state : undefined;
    }, "Discord being offline");
    expect(discord.reason).toMatch(/token/i);
    expect((await readiness(stack.gateway.url)).ready).toBe(true);
    const { text } = await invoke(stack.gateway.url, "/status");
    expect(text).toMatch(/✗ discord offline/);
    for (const platform of [stack.platforms.web, stack.platforms.telegram]) {
      await platform.say(platform.places[0], "guest", "echo without Discord");
      await find(platform, platform.places[0], "without Discord");
    }
  });
});

describe("a plugin that throws while it is loaded, and one that is listed twice", () => {
  it("are told by /status with file and cause; the start went on, and the handlers of the double are there once", async () => {
    const { text } = await invoke(stack.gateway.url, "/status");
    expect(text).toContain("throws-on-load.mjs");
    expect(text).toContain("this module throws while it is loaded");
    expect(text).toMatch(/Plugins[\s\S]*2 of 4 loaded/);
    const order = (await invoke(stack.gateway.url, "/hooks order inbound_claim")).text;
    expect(order.match(/traps\.claims/g)).toHaveLength(1);
    expect(stack.gateway.output()).toContain("throws-on-load.mjs");
  });
});

describe("a platform that goes away", () => {
  it("is shown as reconnecting while the web chat serves, and answers what was said meanwhile when it is back", async () => {
    const { telegram, platforms } = stack;
    const [room] = platforms.telegram.places;
    telegram.fail({
      method: "getUpdates|getMe",
      times: 1_000_000,
      action: { kind: "refuse", status: 502, description: "Bad Gateway" },
    });
    await until(async () => (await stateOf("telegram"))?.state === "reconnecting", "Telegram reconnecting");
    expect((await stateOf("telegram"))?.reason).toBeTruthy();
    telegram.people.says("echo said meanwhile", { chatId: Number(room.chatId) });
    await platforms.web.say(platforms.web.places[0], "guest", "echo without Telegram");
    await find(platforms.web, platforms.web.places[0], "without Telegram");
    telegram.faults.clear();
    await find(platforms.telegram, room, "said meanwhile");
    await until(async () => (await stateOf("telegram"))?.state === "online", "Telegram being online");
  }, 120_000);
});

describe("the log at its most talkative", () => {
  it("says much, and none of the tokens", () => {
    const output = stack.gateway.output();
    expect(output.length).toBeGreaterThan(2_000);
    for (const secret of [
      WRONG_TOKEN,
      stack.telegram.token,
      TOKEN,
      "the-token-of-a-stranger-01",
      "the-token-of-a-guest-0001",
    ]) {
      expect(output).not.toContain(secret);
      expect(output).not.toContain(encodeURIComponent(secret));
    }
  });
});
