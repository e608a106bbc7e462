/**
 * Ways to speak with Telegram, and our adapter, each as a process of its own on the same fake, in turn:
 * `npx tsx bench/telegram-echo/compare.ts [--messages N] [--rounds N]`. Prints the medians.
 */
import { rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { compiled } from "../compiled.js";
import { type Measured, measure, median, startPlatform } from "../measure.js";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "20000" },
    chats: { type: "string", default: "200" },
    rounds: { type: "string", default: "3" },
  },
});
const ROOT = resolve(import.meta.dirname, "../..");
const adapter = await compiled("bench/telegram-echo/adapter.ts");
const SUBJECTS: [label: string, file: string][] = [
  ["grammY, bot.start()", resolve(ROOT, "bench/telegram-echo/start.mjs")],
  ["grammY, webhook", resolve(ROOT, "bench/telegram-echo/webhook.mjs")],
  ["grammY, concurrent, node-fetch", resolve(ROOT, "bench/bare/grammy.mjs")],
  ["grammY, concurrent, undici", resolve(ROOT, "bench/telegram-echo/keep-alive.mjs")],
  ["our adapter", adapter],
];
const results = new Map<string, Measured[]>();
for (let round = 0; round < Number(values.rounds); round++)
  for (const [label, file] of SUBJECTS) {
    const platform = await startPlatform("telegram");
    try {
      const env = { API_URL: platform.url, TOKEN: String(platform.facts.token) };
      const load = { messages: Number(values.messages), chats: Number(values.chats) };
      const measured = await measure(platform, { label, command: [file], env }, load);
      results.set(label, [...(results.get(label) ?? []), measured]);
    } finally {
      platform.stop();
    }
  }
rmSync(dirname(adapter), { recursive: true, force: true });

console.table(
  SUBJECTS.map(([label]) => {
    const of = (key: keyof Measured) => Math.round(median((results.get(label) ?? []).map((one) => one[key])));
    return {
      telegram: label,
      "messages/s": of("messagesPerSecond"),
      "CPU µs/message": of("cpuMicrosPerMessage"),
      "first answer ms": of("readyMs"),
      "idle MB": of("idleMb"),
      "peak MB": of("loadedMb"),
    };
  }),
);
