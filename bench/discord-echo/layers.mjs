/** A bot on @discordjs/ws and @discordjs/rest that only replies: no store, no hooks, session info in memory. */
import { REST } from "@discordjs/rest";
import { WebSocketManager, WebSocketShardEvents } from "@discordjs/ws";
import { GatewayIntentBits, Routes } from "discord-api-types/v10";

const rest = new REST({ api: `${process.env.API_URL}/api`, globalRequestsPerSecond: 1_000_000 }).setToken(
  process.env.TOKEN,
);
const manager = new WebSocketManager({
  token: process.env.TOKEN,
  intents:
    GatewayIntentBits.Guilds |
    GatewayIntentBits.GuildMessages |
    GatewayIntentBits.DirectMessages |
    GatewayIntentBits.MessageContent,
  rest,
});
manager.on(WebSocketShardEvents.Dispatch, ({ data: { t, d } }) => {
  if (t !== "MESSAGE_CREATE" || d.author.bot) return;
  void rest.post(Routes.channelMessages(d.channel_id), { body: { content: d.content } });
});
manager.on(WebSocketShardEvents.Error, () => {});
await manager.connect();
