/** Hooks that speak, on all three platforms: where they are spoken to, in threads where there are any, in place where they speak again. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import type { FlowPlatform, Place } from "./platform.js";
import { type Stack, startStack } from "./stack.js";

const when = (expression: string) => ({ match: { when: `payload.message.text.startsWith("${expression}")` } });
const HOOKS = [
  {
    id: "reports",
    on: "message_received",
    ...when("report"),
    run: { chat: { to: "here", text: "*{{ event.message.text }}* is noted", thread: "run" } },
    when_busy: "queue",
  },
  {
    id: "counts",
    on: "message_received",
    ...when("count"),
    run: { chat: { to: "here", card: { title: "Latest", text: "{{ event.message.text }}" }, update: true } },
    when_busy: "queue",
  },
];

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ config: { hooks: HOOKS } });
}, 120_000);
afterAll(() => stack.stop());

const texts = async (platform: FlowPlatform, place: Place) => (await platform.seen(place)).map(({ text }) => text);

describe.each(["web", "discord", "telegram"] as const)("on %s", (name) => {
  it("a hook answers where it was spoken to, in a thread where the platform can open one", async () => {
    const platform = stack.platforms[name];
    const [place] = platform.places;
    await platform.say(place, "guest", "report one");
    // Where there are none, the answer stands in the chat itself.
    const inThread = async (): Promise<string[]> => {
      if (name === "telegram") return texts(platform, place);
      const opener = (await platform.seen(place)).find(({ text }) => text.startsWith("reports · "));
      if (opener === undefined) return [];
      if (name === "discord") return texts(platform, { chatId: opener.id });
      return texts(platform, { chatId: place.chatId, threadId: opener.id });
    };
    await until(async () => (await inThread()).some((text) => text.includes("report one")), "the answer", 30_000);
    expect((await inThread()).filter((text) => text.includes("is noted"))).toHaveLength(1);
  });

  it("a hook that speaks again edits what it said", async () => {
    const platform = stack.platforms[name];
    const [, place] = platform.places;
    for (const n of [1, 2, 3]) {
      await platform.say(place, "guest", `count ${n}`);
      await until(
        async () => (await texts(platform, place)).some((text) => text.includes(`count ${n}`)),
        `count ${n}`,
        30_000,
      );
    }
    expect((await texts(platform, place)).filter((text) => text.includes("count"))).toHaveLength(1);
  });

  // The other two do not let people delete what a bot account said.
  if (name !== "discord") return;
  it("what somebody deleted is said anew", async () => {
    const platform = stack.platforms[name];
    const [, place] = platform.places;
    const [last] = (await platform.seen(place)).filter(({ text }) => text.includes("count"));
    await platform.remove?.(place, "owner", last?.id ?? "");
    await platform.say(place, "guest", "count 4");
    await until(async () => (await texts(platform, place)).some((text) => text.includes("count 4")), "count 4", 30_000);
  });
});
