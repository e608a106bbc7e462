/** The fake is Discord enough for the full discord.js Client, which knows nothing of our adapter. */
import { Client, Events, GatewayIntentBits, Partials } from "discord.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/server.js";
import { until } from "../../support/until.js";

let fake: FakeDiscord;
let client: Client;
const heard: string[] = [];
beforeAll(async () => {
  fake = await startFakeDiscord();
  client = new Client({
    intents: [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
      GatewayIntentBits.DirectMessages,
      GatewayIntentBits.MessageContent,
    ],
    partials: [Partials.Channel],
    enforceNonce: true,
    rest: { api: fake.apiUrl },
  });
  client.on(Events.MessageCreate, (message) => {
    if (!message.author.bot) heard.push(message.content);
  });
  client.on(Events.Error, () => {});
  client.on(Events.InteractionCreate, (interaction) => {
    if (interaction.isChatInputCommand()) void interaction.reply(`ran ${interaction.commandName}`);
  });
  const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(fake.token);
  await ready;
});
afterAll(async () => {
  await client.destroy();
  await fake.stop();
});

it("hears guilds, threads and DMs, and speaks", async () => {
  fake.people.says("in a channel");
  fake.people.says("in a thread", { channelId: fake.threadId });
  fake.people.says("in a DM", { dm: true });
  await until(() => heard.length === 3);
  expect(new Set(heard)).toEqual(new Set(["in a channel", "in a thread", "in a DM"]));
  const channel = await client.channels.fetch(fake.channelId);
  if (!channel?.isSendable()) throw new Error("not sendable");
  const sent = await channel.send("hello");
  await sent.edit("hello again");
  expect(fake.world.channels.get(fake.channelId)?.messages.get(sent.id)?.content).toBe("hello again");
});

it("answers a slash command", async () => {
  const interaction = fake.people.slash("status");
  expect(await fake.people.answerTo(interaction.token)).toMatchObject({ type: 4, data: { content: "ran status" } });
});

it("resumes after a drop and hears what it missed", async () => {
  heard.length = 0;
  fake.gateway.drop();
  fake.people.says("missed");
  await until(() => heard.includes("missed"));
  expect(fake.gateway.log.some((entry) => entry.kind === "resumed")).toBe(true);
});
