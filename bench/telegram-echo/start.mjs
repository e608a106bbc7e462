/** A grammY bot as its tutorial starts it: one update after the other. */
import { Bot } from "grammy";

const bot = new Bot(process.env.TOKEN, { client: { apiRoot: process.env.API_URL } });
bot.on("message:text", (context) => context.reply(context.message.text));
await bot.start();
