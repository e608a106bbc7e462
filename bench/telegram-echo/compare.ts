/**
 * Ways to speak with Telegram, and our adapter, each as a process of its own on the same fake, in turn:
 * `npx tsx bench/telegram-echo/compare.ts [--messages N] [--rounds N]`. Prints the medians.
 */
import { rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bot, compare, LOAD_OPTIONS, printTable, readLoad } from "../compare.js";
import { compiled } from "../compiled.js";

const { values } = parseArgs({ options: LOAD_OPTIONS });
const ROOT = resolve(import.meta.dirname, "../..");
const adapter = await compiled("bench/telegram-echo/adapter.ts");
const subjects = [
  bot("grammY, bot.start()", resolve(ROOT, "bench/telegram-echo/start.mjs")),
  bot("grammY, webhook", resolve(ROOT, "bench/telegram-echo/webhook.mjs")),
  bot("grammY, concurrent, node-fetch", resolve(ROOT, "bench/bare/grammy.mjs")),
  bot("grammY, concurrent, undici", resolve(ROOT, "bench/telegram-echo/keep-alive.mjs")),
  bot("our adapter", adapter),
];
printTable("telegram", await compare("telegram", subjects, readLoad(values)));
rmSync(dirname(adapter), { recursive: true, force: true });
