/** A grammY bot that only replies: no store, no hooks. Polls by itself so that one slow send does not hold up the others, as the runner does. */
import { Bot } from "grammy";

const bot = new Bot(process.env.TOKEN, { client: { apiRoot: process.env.API_URL } });
bot.on("message:text", (context) => context.reply(context.message.text));
await bot.init();
let offset = 0;
const MOST_AT_ONCE = 500;
let running = 0;
for (;;) {
  while (running >= MOST_AT_ONCE) await new Promise((resolve) => setImmediate(resolve));
  const updates = await bot.api.getUpdates({ offset, limit: 100, timeout: 30 });
  for (const update of updates) {
    offset = update.update_id + 1;
    running++;
    void bot.handleUpdate(update).finally(() => running--);
  }
}
