/** A task for a person on all three platforms through their real clients: one card, edited in place, its buttons, a stranger, a restart, a reply. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import type { FlowPlatform } from "./platform.js";
import { allOnline, invoke, type Stack, startStack } from "./stack.js";

const NAMES = ["web", "discord", "telegram"] as const;
let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    config: ({ discord, telegram }) => ({
      orchestrator: {
        tick: "500ms",
        runners: {
          web: { person: { user: "web:1", at: "web:web:general" } },
          discord: { person: { user: `discord:${discord.userId}`, at: `discord::${discord.channelId}` } },
          telegram: { person: { user: `telegram:${telegram.userId}`, at: `telegram::${telegram.chatId}` } },
        },
      },
    }),
  });
}, 90_000);
afterAll(() => stack?.stop());

/** Where the card of this platform's person goes. */
function placeOf(platform: FlowPlatform): FlowPlatform["places"][number] {
  if (platform.name === "web") return { chatId: "general" };
  return platform.name === "discord" ? platform.places[0] : platform.places[1];
}

const statusOf = async (id: string) =>
  ((await invoke(stack.gateway.url, `/task show ${id}`)).data as { status: string; lastNote?: { text: string } }) ?? {};

describe.each(NAMES)("a task for a person on %s", (name) => {
  it("is one card that is edited in place, refuses strangers, outlives a restart and takes a reply", async () => {
    const platform = stack.platforms[name];
    const place = placeOf(platform);
    const added = await invoke(stack.gateway.url, `/task add ${name} Water the plants on ${name}`);
    const { id } = added.data as { id: string };
    const card = () =>
      until(
        async () =>
          (await platform.seen(place, "owner")).find(({ text }) => text.includes(`Water the plants on ${name}`)),
        "the card",
      );
    const first = await card();
    expect(first.buttons).toEqual(["Start", "Done", "Can't", "Ask"]);

    await platform.press(place, "stranger", first.id, "Done");
    await platform.press(place, "owner", first.id, "Start");
    await until(async () => (await statusOf(id)).status === "in_progress", "the start");
    const started = await until(async () => {
      const now = await card();
      return now.buttons.includes("Start") ? undefined : now;
    }, "the card after the start");
    expect(started.id).toBe(first.id);
    expect(started.text).toContain("in progress");

    await stack.gateway.kill();
    await stack.gateway.start();
    await allOnline(stack.gateway.url);
    await platform.begin(stack.gateway.url);
    await platform.say(place, "owner", "the roses are done", { replyToId: first.id });
    await until(async () => (await statusOf(id)).lastNote?.text === "the roses are done", "the report");
    await platform.press(place, "owner", (await card()).id, "Done");
    await until(async () => (await statusOf(id)).status === "done", "the end");
    const last = await until(async () => {
      const now = await card();
      return now.text.includes("✅") ? now : undefined;
    }, "the card at the end");
    expect(last.id).toBe(first.id);
    expect(last.buttons).toEqual([]);
    const history = (await invoke(stack.gateway.url, `/task show ${id}`)).data as {
      history: { kind: string; by: string }[];
    };
    expect(history.history.filter(({ kind }) => kind === "transition")).toHaveLength(3);
  }, 120_000);
});
