/** Whether a mention in a group notifies a person, as Telegram says when it is asked. */
import { expect, it } from "vitest";
import { newFake, startAdapter } from "./harness.js";

async function asking() {
  const fake = await newFake();
  const { adapter } = await startAdapter({ fake });
  const at = { platform: "telegram", botId: String(fake.world.bot.id), chatId: String(fake.forumId) };
  const canRead = (userId: number) => adapter.isReader?.(at, String(userId), AbortSignal.timeout(5_000));
  return { fake, adapter, at, canRead };
}

it("a member reads the group, whoever left it does not, and of a person whom the bot never met Telegram does not say", async () => {
  const { fake, canRead } = await asking();
  const [member, left] = ["Ann", "Cara"].map((firstName) => fake.world.addUser({ firstName }));
  const group = fake.world.chats.get(fake.forumId);
  if (group) group.left = [left?.id ?? 0];
  expect(await canRead(member?.id ?? 0)).toBe(true);
  expect(await canRead(left?.id ?? 0)).toBe(false);
  expect(await canRead(987_654_321)).toBeUndefined();
});

it("Telegram in trouble says nothing about a person", async () => {
  const { fake, canRead } = await asking();
  fake.fail({ method: "getChatMember", action: { kind: "refuse", status: 500, description: "Internal Server Error" } });
  await expect(canRead(fake.world.addUser({ firstName: "Ann" }).id)).rejects.toThrow();
});

it("the title of the group is known once a person was asked for, before anybody wrote there", async () => {
  const { fake, adapter, at, canRead } = await asking();
  expect(adapter.traits.placeName?.(at)).toBeUndefined();
  await canRead(fake.world.addUser({ firstName: "Ann" }).id);
  expect(adapter.traits.placeName?.(at)).toBe(fake.world.chats.get(fake.forumId)?.title);
});
