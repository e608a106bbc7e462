/** `match.chats` with a Discord channel: a hook for the channel is a hook for its threads, in both directions and after a restart. */
import { expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { allOnline, invoke, startStack } from "./stack.js";

it("a guard of a channel holds in its threads: those that a hook opens, those that people write in, and after a restart", async () => {
  const { discord, gateway, platforms, stop } = await startStack({
    withFlow: false,
    config: ({ discord: { world, channelId, threadId } }) => {
      const guard = { match: { chats: [`discord:${channelId}`], when: 'payload.message.text.contains("SECRET")' } };
      const post = (id: string, to: string, more = {}) => ({
        id,
        trigger: "manual",
        run: { chat: { to, text: "{{ event.input.text }}", ...more } },
      });
      return {
        discord: { access: { guilds: [world.guildId], mention: "always" } },
        hooks: [
          { id: "guard", on: "message_sending", ...guard, run: { shell: { sh: "echo no secrets >&2; exit 2" } } },
          {
            id: "sent",
            on: "message_sent",
            match: { chats: [channelId], when: 'payload.message.text.startsWith("words")' },
            run: { chat: { to: "web:web:general", text: "Sent in {{ event.chatId }} of {{ event.parentChatId }}" } },
          },
          {
            id: "claim",
            on: "inbound_claim",
            match: { chats: [channelId] },
            run: { chat: { to: "here", text: "Heard in {{ event.message.chatId }}" } },
          },
          post("opens", `discord::${channelId}`, { thread: "run" }),
          post("there", `discord::${threadId}`),
        ],
      };
    },
  });
  afterTest(stop);
  const { channelId, threadId } = discord;
  const fire = (id: string, text: string) =>
    invoke(gateway.url, `/fire-hook ${id} ${JSON.stringify(JSON.stringify({ text }))} live=true`);
  const inThreads = () =>
    [...discord.world.channels.values()]
      .filter(({ parentId }) => parentId === channelId)
      .flatMap(({ id, messages }) => [...messages.values()].map(({ content }) => [id, content] as const));
  const posted = (part: string) =>
    until(() => inThreads().find(([, content]) => content.includes(part)), `"${part}" in a thread`);
  const logged = (line: string) =>
    until(
      async () => (await platforms.web.seen({ chatId: "general" })).some(({ text }) => text === line),
      `"${line}" in the log`,
    );

  expect((await fire("opens", "a SECRET")).text).toContain("cancelled");
  expect((await fire("there", "another SECRET")).text).toContain("cancelled");
  await fire("opens", "words");
  const [opened] = await posted("words");
  await logged(`Sent in ${opened} of ${channelId}`);
  await platforms.discord.say({ chatId: threadId }, "guest", "hello");
  await posted(`Heard in ${threadId}`);

  await gateway.stop();
  await gateway.start();
  await allOnline(gateway);
  expect((await fire("there", "a late SECRET")).text).toContain("cancelled");
  await fire("there", "words of late");
  await posted("words of late");
  await logged(`Sent in ${threadId} of ${channelId}`);
  expect(inThreads().filter(([, content]) => content.includes("SECRET"))).toEqual([]);
}, 120_000);
