/** The traps that span platforms, on the whole product as a process that is killed and started again. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FlowPlatform, Place, Seen, Speaker } from "../flow/platform.js";
import { allOnline, invoke, type Stack, startStack } from "../flow/stack.js";
import { TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { TRAPS_PLUGIN } from "./traps-plugin.js";

const NAMES = ["web", "discord", "telegram"] as const;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ plugins: [TRAPS_PLUGIN] });
});
afterAll(() => stack.stop());

async function restart(): Promise<void> {
  await stack.gateway.kill();
  await stack.gateway.start();
  await allOnline(stack.gateway);
}

const find = (platform: FlowPlatform, place: Place, part: string, who: Speaker = "owner"): Promise<Seen> =>
  until(
    async () => (await platform.seen(place, who)).find(({ text }) => text.includes(part)),
    `"${part}" in ${platform.name}`,
  );

/** The next command of this platform's people, and how it ended. */
async function invoked(name: string, act: () => Promise<void>): Promise<{ command: string; outcome: string }> {
  const before = stack.noted("command_invoked").length;
  await act();
  const noted = await until(
    () =>
      stack
        .noted("command_invoked")
        .slice(before)
        .find(({ payload }) => payload.operator.platform === name),
    `a command on ${name}`,
  );
  return noted.payload;
}

describe("a button pressed after the process was killed and started again", () => {
  const cards = new Map<string, Seen>();

  beforeAll(async () => {
    for (const platform of Object.values(stack.platforms)) {
      await platform.say(platform.places[0], "guest", "card");
      cards.set(platform.name, await find(platform, platform.places[0], "The title"));
    }
    // Killed between send and confirm, Telegram's would be held: that is another trap.
    await until(() => stack.noted("message_sent").length >= cards.size, "the cards being confirmed");
    await restart();
  });

  it.each(NAMES)("works on %s, as the person who presses: the owner may, a stranger may not", async (name) => {
    const platform = stack.platforms[name];
    const { id } = cards.get(name) as Seen;
    const press = (who: Speaker, label: string) => platform.press(platform.places[0], who, id, label);

    expect(await invoked(name, () => press("stranger", "Status"))).toMatchObject({
      command: "status",
      outcome: "refused",
    });
    expect(await invoked(name, () => press("owner", "Status"))).toMatchObject({ command: "status", outcome: "done" });
    await press("guest", "Say it");
    await find(platform, platform.places[0], "pressed ‹");
  });
});

describe.each(NAMES)("in a thread on %s", (name) => {
  const platform = () => stack.platforms[name];
  const shown = async () => (await platform().seen(platform().thread)).map(({ text }) => text);
  const outside = async () => (await platform().seen(platform().places[0])).map(({ text }) => text).join("\n");

  it("an answer that is edited to several parts, and back to one, stays whole and in its thread", async () => {
    const say = (text: string) => platform().say(platform().thread, "guest", text);
    await say("post");
    const { id } = await find(platform(), platform().thread, "short ‹");

    await say("grow");
    await until(async () => (await shown()).some((text) => text.includes("Row 399 ")), "the last row");
    const parts = (await platform().seen(platform().thread)).filter(({ text }) => /Row \d+ /.test(text));
    expect(parts[0]?.id).toBe(id);
    if (name !== "web") expect(parts.length).toBeGreaterThan(2);
    const rows = [
      ...parts
        .map(({ text }) => text)
        .join("\n")
        .matchAll(/Row (\d+) with some words/g),
    ];
    expect(rows.map(([, n]) => Number(n))).toEqual(Array.from({ length: 400 }, (_, i) => i));

    await say("shrink");
    await until(async () => (await shown()).some((text) => text.includes("short again ‹")), "the short text");
    await until(async () => !(await shown()).some((text) => /Row \d+ /.test(text)), "the other parts being gone");
    const rest = (await platform().seen(platform().thread)).find(({ text }) => text.includes("short again"));
    expect(rest?.id).toBe(id);
    if (platform().thread.threadId !== undefined) expect(await outside()).not.toMatch(/Row \d+ |short again/);
  });

  it("a typed command is answered in the thread", async () => {
    await platform().say(platform().thread, "owner", "/hooks order inbound_claim");
    await find(platform(), platform().thread, "traps.claims");
    if (platform().thread.threadId !== undefined) expect(await outside()).not.toContain("traps.claims");
  });
});

describe("one message too many, too large or too similar", () => {
  it("the same Telegram message id in two chats is two messages, both answered", async () => {
    const { telegram, platforms } = stack;
    const ids = [0, 0];
    const chats = [telegram.forumId, telegram.chatId];
    // Ids count per chat: whichever is behind catches up without the bot being told.
    while (ids[0] !== ids[1] || ids[0] === 0) {
      const behind = (ids[0] as number) <= (ids[1] as number) ? 0 : 1;
      ids[behind] = telegram.people.says("quiet", { chatId: chats[behind] as number, isSilent: true }).message_id;
    }
    const said = chats.map((chatId) => telegram.people.says(`echo twin of ${chatId}`, { chatId }).message_id);
    expect(said[0]).toBe(said[1]);
    for (const place of platforms.telegram.places) await find(platforms.telegram, place, `twin of ${place.chatId}`);
  });

  it("a message of 1 MB is refused by the web chat with its reason, and taken from the platforms", async () => {
    const huge = "x".repeat(1_048_576);
    const refused = await fetch(`${stack.gateway.url}/api/rooms/general/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ text: huge, nonce: "a-huge-message" }),
    });
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.status).toBeLessThan(500);
    expect(((await refused.json()) as { error: { message: string } }).error.message).toContain("32000 characters");
    const { discord, telegram } = stack.platforms;
    await discord.say(discord.places[0], "guest", huge);
    await telegram.say(telegram.places[0], "guest", huge);
    for (const platform of Object.values(stack.platforms)) {
      await platform.say(platform.places[0], "guest", "echo after the huge one");
      await find(platform, platform.places[0], "after the huge one");
    }
    const huges = stack.noted("message_received").filter(({ payload }) => payload.message.text.length === huge.length);
    expect(huges.map(({ payload }) => payload.message.platform).sort()).toEqual(["discord", "telegram"]);
    expect(stack.gateway.running()).toBe(true);
  });

  it("observers that throw and that hang keep nobody waiting, and are shown as failing", async () => {
    const { text } = await invoke(stack.gateway.url, "/hooks list failing");
    expect(text).toContain("traps.throws");
    expect(text).toContain("traps.hangs");
  });
});

/** What /status shows of a pause of about ten minutes. */
const HELD_BACK = /pauses: .*(10|9) min/;

describe("a 429", () => {
  it("of a second delays the answer, which then comes once", async () => {
    const { discord, telegram, platforms } = stack;
    discord.fail({
      method: "POST",
      path: `/channels/${discord.channelId}/messages`,
      action: { kind: "rate-limit", retryAfterS: 1, scope: "shared" },
    });
    telegram.fail({ method: "sendMessage", action: { kind: "rate-limit", retryAfterS: 1 } });
    for (const platform of [platforms.discord, platforms.telegram]) {
      await platform.say(platform.places[0], "guest", "echo past the limit");
      await find(platform, platform.places[0], "past the limit");
      const all = await platform.seen(platform.places[0]);
      expect(all.filter(({ text }) => text.includes("past the limit"))).toHaveLength(1);
    }
  });

  it("of ten minutes is not forgotten by a process that is killed: nothing is tried before its time", async () => {
    const { telegram, platforms } = stack;
    const place = platforms.telegram.places[1];
    const chatId = Number(place.chatId);
    telegram.fail({ method: "sendMessage", chatId, action: { kind: "rate-limit", retryAfterS: 600 } });
    const tries = () =>
      telegram.callsOf("sendMessage").filter(({ payload }) => String(payload.text).includes("in ten minutes")).length;
    await platforms.telegram.say(place, "guest", "echo in ten minutes");
    await until(() => tries() === 1, "the refused try");
    await until(async () => HELD_BACK.test((await invoke(stack.gateway.url, "/status")).text), "the pause");
    await restart();
    // What comes later in the chat waits behind it; other chats are served.
    await platforms.telegram.say(place, "guest", "echo behind it");
    await platforms.telegram.say(platforms.telegram.places[0], "guest", "echo elsewhere meanwhile");
    await find(platforms.telegram, platforms.telegram.places[0], "elsewhere meanwhile");
    expect(tries()).toBe(1);
    expect((await platforms.telegram.seen(place)).some(({ text }) => text.includes("behind it"))).toBe(false);
    expect((await invoke(stack.gateway.url, "/status")).text).toMatch(HELD_BACK);
  });
});

describe("a post in a forum that a kill cut off", () => {
  it("is held for an operator: Discord cannot tell a second one from the first", async () => {
    const { discord, platforms } = stack;
    const text = `open ${discord.forumId} once only`;
    const posts = () => [...discord.world.channels.values()].filter(({ name }) => name?.startsWith(text));
    discord.fail({
      method: "POST",
      path: `/channels/${discord.forumId}/threads$`,
      action: { kind: "slow", delayMs: 60_000 },
    });
    await platforms.discord.say(platforms.discord.places[0], "guest", text);
    await until(() => posts().length === 1, "the post");
    await restart();
    await until(
      async () =>
        (await invoke(stack.gateway.url, "/outbox list held")).text.includes("cut off while it was being sent"),
      "the held delivery",
    );
    expect(posts()).toHaveLength(1);
  });
});
