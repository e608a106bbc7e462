/** The bare concurrent bot of `bench/bare/grammy.mjs`, with an undici pool in the place of node-fetch. */
import { Bot } from "grammy";
import { Pool } from "undici";
import { pollConcurrently } from "../bare/poll-concurrently.mjs";

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
await pollConcurrently(bot);
