/** How long a limit lasts whose answer (HTTP 429) does not say so as Discord's mostly do: a wait that can be kept, and the message is sent after it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/server.js";
import { ManualClock } from "../../support/manual-clock.js";
import { type Rig, startRig } from "./rig.js";

let fake: FakeDiscord;
let rig: Rig;
beforeAll(async () => {
  fake = await startFakeDiscord();
  rig = await startRig(fake);
});
afterAll(async () => {
  await rig.stop();
  await fake.stop();
});
beforeEach(() => fake.faults.clear());

const at = (chatId: string) => ({ platform: "discord", botId: fake.world.bot.id, chatId });
const part = (text: string) => {
  const [first] = rig.encode({ text });
  if (!first) throw new Error("no part");
  return first;
};

describe.each([
  ["text", "POST", []],
  ["an upload", "POST", [{ type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain" }]],
  ["an edit", "PATCH", []],
])("a limit whose answer names no usable time: %s", (kind, method, attachments) => {
  const soon = new Date(Date.now() + 30_000).toUTCString();
  const scoped = { "x-ratelimit-scope": "user" };
  it.each<[string, object, Record<string, string>, number, number]>([
    ["no retry_after, but the header", { global: false }, { ...scoped, "retry-after": "7" }, 6_000, 8_000],
    ["a date in the header", { global: false }, { ...scoped, "retry-after": soon }, 10_000, 31_000],
    ["neither", { global: false }, scoped, 1_000, 60_000],
    ["neither, and no scope", { message: "You are being rate limited.", global: false }, {}, 1_000, 60_000],
    ["a time that is no number", { retry_after: "soon" }, { ...scoped, "retry-after": "soon" }, 1_000, 60_000],
    ["a time of nothing", { retry_after: 0 }, { ...scoped, "retry-after": "0" }, 1_000, 60_000],
    ["only words, and no scope", { message: "You are being rate limited." }, {}, 1_000, 60_000],
    ["a time that is no number, and no scope", { message: "…", retry_after: null }, {}, 1_000, 60_000],
    ["a body only", { retry_after: 9.5 }, scoped, 9_000, 11_000],
  ])("%s", async (_, body, headers, leastMs, mostMs) => {
    const channel = fake.world.addChannel({ type: 0 }).id;
    const first = kind === "an edit" ? await rig.say({ text: "v1" }, { chatId: channel }) : undefined;
    const id = first?.kind === "sent" ? first.messageId : "";
    fake.fail({ method, path: `/${channel}/messages`, action: { kind: "status", status: 429, body, headers } });
    const result =
      kind === "an edit"
        ? await rig.send({ kind: "edit", address: at(channel), messageId: id, part: part("v2") })
        : await rig.say({ text: "x", attachments }, { chatId: channel });
    const scope = kind === "an edit" ? "delivery" : "chat";
    expect(result).toMatchObject({ kind: "retry", scope, afterMs: expect.any(Number) });
    const { afterMs = Number.NaN } = result as { afterMs?: number };
    expect(afterMs).toBeGreaterThanOrEqual(leastMs);
    expect(afterMs).toBeLessThanOrEqual(mostMs);
  });
});

it("the opening of a direct message waits as well when the limit names no time", async () => {
  const action = {
    kind: "status",
    status: 429,
    body: { global: false },
    headers: { "x-ratelimit-scope": "user" },
  } as const;
  fake.fail({ method: "POST", path: "/users/@me/channels$", action });
  const result = await rig.say({ text: "x" }, { chatId: `dm:${fake.world.snowflake()}` });
  expect(result).toMatchObject({ kind: "retry", scope: "chat", afterMs: expect.closeTo(5_000, -3) });
});

it("a ban may name its end as a date", async () => {
  const banned = await startFakeDiscord();
  const other = await startRig(banned);
  onTestFinished(async () => {
    await other.stop();
    await banned.stop();
  });
  const headers = { "retry-after": new Date(Date.now() + 1_200_000).toUTCString() };
  banned.fail({ method: "POST", path: "/messages$", action: { kind: "page", status: 429, headers } });
  const result = await other.say({ text: "x" }, { chatId: banned.channelId });
  expect(result).toMatchObject({ kind: "retry", scope: "bot", afterMs: expect.closeTo(1_200_000, -6) });
});

it("limited edits of a channel are asked for one at a time, with growing pauses, and hold no new message back", async () => {
  const clock = new ManualClock();
  const discord = await startFakeDiscord();
  const other = await startRig(discord, { clock });
  onTestFinished(async () => {
    await other.stop();
    await discord.stop();
  });
  const say = async (chatId = discord.channelId) => {
    const result = await other.say({ text: "card" }, { chatId });
    return result.kind === "sent" ? result.messageId : "";
  };
  const edit = (messageId: string, chatId = discord.channelId) =>
    other.send({ kind: "edit", address: { ...at(chatId), botId: "" }, messageId, part: part("card 2") });
  const ids = [await say(), await say(), await say(), await say()].reverse();
  const away = discord.world.addChannel({ type: 0 }).id;
  const [elsewhere, asked] = [await say(away), () => discord.calls.filter(({ method }) => method === "PATCH").length];
  const body = {
    message: "Maximum number of edits to messages older than 1 hour reached",
    code: 30046,
    retry_after: 5,
  };
  const path = `/${discord.channelId}/messages`;
  discord.fail({ method: "PATCH", path, times: 100, action: { kind: "status", status: 429, body } });
  for (const [round, pauseMs] of [5_000, 10_000, 20_000, 40_000].entries()) {
    const results = [];
    for (const id of ids) results.push(await edit(id));
    expect(asked(), `round ${round}`).toBe(round + 1);
    expect(results[0]).toMatchObject({ kind: "retry", scope: "delivery", afterMs: expect.closeTo(pauseMs, -3) });
    for (const held of results.slice(1)) expect(held).toMatchObject({ scope: "delivery", isUntried: true });
    expect(await say()).not.toBe("");
    await clock.advance(pauseMs + 1_000);
  }
  expect(await edit(elsewhere, away)).toMatchObject({ kind: "sent" });
  discord.faults.clear();
  for (const id of ids) expect(await edit(id)).toMatchObject({ kind: "sent" });
});
