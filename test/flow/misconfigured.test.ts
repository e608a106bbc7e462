/** One platform whose settings cannot be used never stops the others, and everybody who looks is told why. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { until } from "../support/until.js";
import type { FlowPlatform } from "./platform.js";
import { invoke, readiness, type Stack, startStack } from "./stack.js";

const WHY = /telegram\.webhook\.url.*TELEGRAM_WEBHOOK_SECRET/s;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    online: ["web", "discord"],
    config: {
      telegram: { mode: "webhook", access: { dms: "everyone", chats: ["*"], mention: "always" } },
    },
  });
});
afterAll(() => stack.stop());

const answered = async (platform: FlowPlatform, part: string) =>
  until(
    async () => (await platform.seen(platform.places[0])).find(({ text }) => text.includes(part)),
    `"${part}" on ${platform.name}`,
  );

describe("webhook mode without an address and a secret", () => {
  it("leaves Telegram offline, with the reason in /readyz, /status and the log; the gateway is ready", async () => {
    const { ready, platforms } = await readiness(stack.gateway.url);
    expect({ ready, web: platforms.web?.state, discord: platforms.discord?.state }).toEqual({
      ready: true,
      web: "online",
      discord: "online",
    });
    expect(platforms.telegram).toMatchObject({ state: "offline", reason: expect.stringMatching(WHY) });
    const { text } = await invoke(stack.gateway.url, "/status");
    expect(text).toMatch(/telegram.*offline/);
    expect(text.replaceAll("\\", "")).toMatch(WHY);
    expect(stack.gateway.output()).toMatch(WHY);
    expect(stack.telegram.calls).toEqual([]);
  });

  it("leaves the others at work", async () => {
    for (const platform of [stack.platforms.web, stack.platforms.discord]) {
      await platform.say(platform.places[0], "guest", "echo all the same");
      await answered(platform, "all the same");
    }
  });

  it("is told by hookgate check with file and line, which exits with 2", async () => {
    const { folder } = stack.gateway;
    const token = "a-token-of-sixteen-characters";
    const env = { TELEGRAM_TOKEN: "1:a", STRANGER_TOKEN: token, GUEST_TOKEN: token };
    const { code, err } = await runCli(["check"], { cwd: folder, env });
    expect(code).toBe(2);
    expect(err).toMatch(new RegExp(`${join(folder, "hookgate.yaml")}:\\d+:\\d+ telegram\\.webhook\\.url`));
    expect(err).toMatch(WHY);
    expect(err).toContain("2 problems. Until they are mended, off: telegram. Other platforms go on.");
  });
});
