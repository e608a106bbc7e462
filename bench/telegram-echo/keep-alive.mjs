/** The bare concurrent bot of `bench/bare/grammy.mjs`, with an undici pool in the place of node-fetch. */
import { Bot } from "grammy";
import { Pool } from "undici";

const { API_URL, TOKEN } = process.env;
const pool = new Pool(API_URL, { connections: 64 });

async function fetch(url, { method, headers, body }) {
  const answer = await pool.request({
    path: url.slice(API_URL.length),
    method,
    headers: { "content-type": headers["content-type"] },
    body,
  });
  return answer.body;
}

const bot = new Bot(TOKEN, { client: { apiRoot: API_URL, fetch } });
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
