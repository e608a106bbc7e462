/** An answer in a thread of Discord that a moderator locked: its author changes it, and then takes it back. */
import { expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { invoke, startStack } from "./stack.js";

it("an answer whose correction was refused is still known: its deletion is refused, too, and succeeds after the thread is unlocked", async () => {
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
  const thread = discord.world.channels.get(chatId);
  if (!thread || !remove) throw new Error("no thread, or no deletions");
  const texts = async () => (await seen(room)).map(({ text }) => text);
  const notice = (words: string) =>
    until(async () => (await seenPrivately("owner")).find(({ text }) => text.includes(words))?.text, words);
  await say(room, "guest", `<@${discord.world.bot.id}> help`);
  const copy = await until(async () => (await seen(desk)).find(({ text }) => text.includes("help")), "the copy");
  const answer = await say(desk, "owner", "the password", { replyToId: copy.id });
  await until(async () => (await texts()).length === 1, "the answer");

  Object.assign(thread, { isArchived: true, isLocked: true });
  await edit(desk, "owner", answer, "no password");
  const refused = await notice("The correction of your message is not shown in #case");
  expect(refused).toContain("it is locked, so the bot cannot reopen it. Unlock the thread");
  expect(refused).not.toContain("parts were sent");
  await remove(desk, "owner", answer);
  const left = await notice("Your message was not deleted in #case");
  expect(await texts()).toEqual([expect.stringContaining("the password")]);

  thread.isLocked = false;
  const [, id] = /\/outbox retry (\S+?)`/.exec(left) ?? [];
  await invoke(gateway.url, `/outbox retry ${id}`);
  await until(async () => (await texts()).length === 0, "the deletion");
  await notice("Your deleted message is not shown in #case");
}, 120_000);
