/** A discord.js bot that only replies: no store, no hooks. */
import { Client, GatewayIntentBits, Options, Partials } from "discord.js";

const client = new Client({
  intents: [
    GatewayIntentBits.Guilds,
    GatewayIntentBits.GuildMessages,
    GatewayIntentBits.DirectMessages,
    GatewayIntentBits.MessageContent,
  ],
  partials: [Partials.Channel],
  makeCache: Options.cacheWithLimits({ ...Options.DefaultMakeCacheSettings, MessageManager: 0 }),
  rest: { api: `${process.env.API_URL}/api`, globalRequestsPerSecond: 1_000_000 },
});
client.on("messageCreate", (message) => {
  if (!message.author.bot) void message.channel.send(message.content);
});
client.on("error", () => {});
await client.login(process.env.TOKEN);
