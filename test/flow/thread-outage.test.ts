/** A hook's message with `thread: run` while Discord takes no post: it goes to the chat, and no headline stands alone. */
import { expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { invoke, startStack } from "./stack.js";

it("a message whose thread cannot be opened in time goes to the chat when the pause is over, without its headline", async () => {
  const { discord, gateway, platforms, stop } = await startStack({
    withFlow: false,
    config: ({ discord: { world, channelId } }) => ({
      discord: { access: { guilds: [world.guildId] } },
      hooks: [
        { id: "th", trigger: "manual", run: { chat: { to: `discord::${channelId}`, text: "words", thread: "run" } } },
      ],
    }),
  });
  afterTest(stop);
  const { channelId } = discord;
  discord.fail({
    method: "POST",
    path: `^/channels/${channelId}/messages$`,
    times: 1,
    action: { kind: "page", status: 429, headers: { "retry-after": "300" } },
  });
  await invoke(gateway.url, "/fire-hook th live=true");
  const inOutbox = async () => {
    const { data } = await invoke(gateway.url, "/outbox list waiting");
    return (data as { letters: unknown[] }).letters.length === 1;
  };
  await until(inOutbox, "the message waits for the end of the pause");
  await invoke(gateway.url, "/pauses lift all");
  const seen = async () => (await platforms.discord.seen({ chatId: channelId })).map(({ text }) => text);
  await until(async () => (await seen()).includes("words"), "the message in the chat");
  expect(await seen()).toEqual(["words"]);
}, 120_000);
