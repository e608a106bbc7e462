/** Whether a mention in a channel notifies a person, as Discord says when it is asked. */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/server.js";
import { ChannelType } from "../../fakes/discord/world.js";
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

const canRead = (userId: string, chatId = fake.channelId) =>
  rig.adapter.isReader?.({ platform: "discord", botId: fake.world.bot.id, chatId }, userId, AbortSignal.timeout(5_000));

it("a member of the server reads its open channels and their threads; other accounts do not", async () => {
  expect(await canRead(fake.userId)).toBe(true);
  expect(await canRead(fake.userId, fake.threadId)).toBe(true);
  const outside = fake.world.addUser({ username: "cara", isOutside: true });
  expect(await canRead(outside.id)).toBe(false);
  expect(await canRead("123456789012345678")).toBe(false);
});

it("a channel for a role, and a thread in it, are read by those who have the role", async () => {
  const role = fake.world.snowflake();
  const ops = fake.world.addUser({ username: "dan", roleIds: [role] });
  const closed = fake.world.addChannel({ type: ChannelType.text, name: "ops", forRole: role });
  const thread = fake.world.addChannel({ type: ChannelType.publicThread, name: "night", parentId: closed.id });
  for (const { id } of [closed, thread]) {
    expect(await canRead(ops.id, id)).toBe(true);
    expect(await canRead(fake.userId, id)).toBe(false);
  }
});

it("a direct conversation has no members to ask for", async () => {
  const dm = await fake.people.says("hello", { channelId: fake.world.dmWith(fake.userId).id, userId: fake.userId });
  expect(dm).toBeDefined();
  expect(await canRead(fake.userId, `dm:${fake.userId}`)).toBeUndefined();
});

it.each([500, 429, 403])("Discord in trouble (%i) says nothing about a person", async (status) => {
  fake.faults.add({
    times: 1,
    path: "/members/",
    action: { kind: "status", status, body: { message: "no", code: 0 } },
  });
  await expect(canRead(fake.userId)).rejects.toThrow();
});
