/** A grammY bot that only replies: no store, no hooks. */
import { Bot } from "grammy";
import { pollConcurrently } from "./poll-concurrently.mjs";

const bot = new Bot(process.env.TOKEN, { client: { apiRoot: process.env.API_URL } });
bot.on("message:text", (context) => context.reply(context.message.text));
await pollConcurrently(bot);
