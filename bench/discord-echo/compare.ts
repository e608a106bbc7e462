/**
 * The two ways to speak with Discord, and our adapter on the second, each as a process of its own on the same fake, in turn:
 * `npx tsx bench/discord-echo/compare.ts [--messages N] [--rounds N]`. Prints the medians.
 */
import { rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bot, compare, LOAD_OPTIONS, printTable, readLoad } from "../compare.js";
import { compiled } from "../compiled.js";

const { values } = parseArgs({ options: LOAD_OPTIONS });
const ROOT = resolve(import.meta.dirname, "../..");
const adapter = await compiled("bench/discord-echo/adapter.ts");
const subjects = [
  bot("discord.js Client", resolve(ROOT, "bench/bare/discord-js.mjs")),
  bot("@discordjs/ws + rest", resolve(ROOT, "bench/discord-echo/layers.mjs")),
  bot("our adapter", adapter),
];
printTable("discord", await compare("discord", subjects, readLoad(values)));
rmSync(dirname(adapter), { recursive: true, force: true });
