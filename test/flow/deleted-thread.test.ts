/** Answers in a thread of Discord that a moderator deleted: their author deletes one, corrects another, and then deletes that, too. */
import { expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { invoke, startStack } from "./stack.js";

it("an answer whose thread was deleted is not shown any more: its deletion is done, and its correction cannot be tried again", async () => {
  const stack = await startStack({
    withFlow: false,
    config: ({ discord }) => ({ gateway: { default_route: { forward: `discord::${discord.channelId}` } } }),
  });
  afterTest(() => stack.stop());
  const { gateway, discord, platforms } = stack;
  const { places, say, edit, remove, seen, seenPrivately } = platforms.discord;
  const [desk] = places;
  const { id: chatId } = discord.world.addChannel({ type: 11, parentId: places[1].chatId, name: "case" });
  const room = { chatId };
  if (!remove) throw new Error("no deletions");
  const outbox = async (line: string) => (await invoke(gateway.url, `/outbox ${line}`)).text;
  const notice = (words: string) =>
    until(async () => (await seenPrivately("owner")).find(({ text }) => text.includes(words))?.text, words);
  await say(room, "guest", `<@${discord.world.bot.id}> help`);
  const copy = await until(async () => (await seen(desk)).find(({ text }) => text.includes("help")), "the copy");
  const deleted = await say(desk, "owner", "the password", { replyToId: copy.id });
  const corrected = await say(desk, "owner", "the key", { replyToId: copy.id });
  await until(async () => (await seen(room)).length === 2, "the answers");

  discord.people.deletesThread(chatId);
  await remove(desk, "owner", deleted);
  await edit(desk, "owner", corrected, "no key");
  const refused = await notice("The correction of your message is not shown in");
  expect(refused).toContain("its channel or thread was deleted, so nothing is shown there any more");
  expect(refused).toContain("Unknown Channel (10003)");
  expect(refused).not.toMatch(/may still be shown|outbox retry/);
  const [, id = ""] = /\/outbox show (\S+?)`/.exec(refused) ?? [];
  expect(await outbox(`retry ${id}`)).toContain("cannot be tried again");
  const letters = await outbox("list dead");
  expect(letters).toContain(id);
  expect(letters).toContain("1 message: dead");

  await remove(desk, "owner", corrected);
  await notice("Your deleted message is not shown in");
  expect(await outbox("list dead")).not.toContain("10003");
}, 120_000);
