/** A grammY bot that is called: no polling. */
import { createServer } from "node:http";
import { Bot, webhookCallback } from "grammy";

const bot = new Bot(process.env.TOKEN, { client: { apiRoot: process.env.API_URL } });
bot.on("message:text", (context) => context.reply(context.message.text));
const secretToken = "a-secret-for-the-benchmark";
const server = createServer(webhookCallback(bot, "http", { secretToken }));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
await bot.api.setWebhook(`http://127.0.0.1:${server.address().port}/`, { secret_token: secretToken });
