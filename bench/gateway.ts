/**
 * The whole gateway (inbox, eight hooks, outbox, journal, everything durable) beside bare bots that only reply, on the same
 * fake platform, in turn. Prints ratios: `npx tsx bench/gateway.ts [--messages N] [--rounds N] [--durability full|normal]`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bot, compare, LOAD_OPTIONS, printTable, type Results, readLoad } from "./compare.js";
import { median, type Platform, type Subject } from "./measure.js";

const { values } = parseArgs({
  options: {
    ...LOAD_OPTIONS,
    durability: { type: "string", default: "full" },
    only: { type: "string" },
  },
});
const ROOT = resolve(import.meta.dirname, "..");
const folders: string[] = [];

/** Our gateway, listening to everybody, its own limits out of the way as those of the bare bots are. */
function hookgate(platform: Platform): Subject {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-bench-"));
  folders.push(folder);
  const access = { dms: "everyone" };
  const config = {
    store: { durability: values.durability },
    web: { enabled: false },
    telegram: { access, limits: { per_second: 1e6, per_chat_per_second: 1e6, per_group_per_minute: 1e6 } },
    discord: { access, requests_per_second: 1_000_000 },
    plugins: [resolve(ROOT, "bench/eight-hooks.mjs")],
  };
  writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify(config));
  const token = String(platform.facts.token);
  const env: Record<string, string> =
    platform.name === "telegram"
      ? { TELEGRAM_TOKEN: token, TELEGRAM_API_URL: platform.url }
      : { DISCORD_TOKEN: token, DISCORD_API_URL: `${platform.url}/api` };
  return {
    label: "hookgate",
    command: asByNpmStart(),
    cwd: folder,
    env: { ...env, HOOKGATE_PORT: "0", HOOKGATE_TOKEN: "a-token-for-the-benchmark", LOG_LEVEL: "error" },
  };
}

/** What `npm start` gives to node. */
function asByNpmStart(): string[] {
  const { scripts } = JSON.parse(readFileSync(resolve(ROOT, "package.json"), "utf8")) as { scripts: { start: string } };
  return scripts.start
    .split(" ")
    .slice(1)
    .map((word) => (word.endsWith(".js") ? resolve(ROOT, word) : word));
}

const BARE: Record<Platform["name"], { file: string; label: string }> = {
  telegram: { file: "grammy.mjs", label: "bare grammY" },
  discord: { file: "discord-js.mjs", label: "bare discord.js" },
};

for (const name of ["telegram", "discord"] as const) {
  if (values.only && values.only !== name) continue;
  const { file, label } = BARE[name];
  const bare = bot(label, resolve(ROOT, "bench/bare", file));
  const results = await compare(name, [hookgate, bare], readLoad(values));
  printTable(name, results);
  printRatio(results, label);
}
for (const folder of folders) rmSync(folder, { recursive: true, force: true });

function printRatio(results: Results, label: string): void {
  const ours = results.get("hookgate") ?? [];
  const ratios = (results.get(label) ?? []).map(
    (other, i) => (ours[i]?.messagesPerSecond ?? 0) / other.messagesPerSecond,
  );
  console.log(
    `throughput, hookgate / ${label}: ${median(ratios).toFixed(2)} (${ratios.map((ratio) => ratio.toFixed(2)).join(", ")}); target 0.9`,
  );
}
