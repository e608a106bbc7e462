/**
 * How many files and functions of the product one message, command, alert, run and reload pass: V8 coverage of the product run from its
 * sources beside a fake Discord. `npx tsx bench/trace.ts [--list message]` names the files and functions of one of them.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { startApp } from "../src/app.js";
import { loadConfig } from "../src/config/load.js";
import { FAKE_TOKEN, startFakeDiscord } from "../test/fakes/discord/server.js";

const { values } = parseArgs({ options: { list: { type: "string" } } });
const ROOT = pathToFileURL(resolve(import.meta.dirname, "..")).href;
const OURS = new RegExp(`^${ROOT}/((?:src|adapters|commands)/.*)$`);
const WITHIN_MS = 40_000;
/** After all that is traced before it. */
const TICK_AFTER_MS = 25_000;

const ECHO = `export default { id: "echo", setup({ hooks }) {
  hooks.registerClaiming("inbound_claim", ({ message }) => message.text.startsWith("echo") ? { handled: true, reply: { text: "re: " + message.text } } : undefined, { name: "echo" });
} };`;

const folder = mkdtempSync(join(tmpdir(), "hookgate-trace-"));
process.chdir(folder);
const discord = await startFakeDiscord();
writeFileSync(join(folder, "echo.mjs"), ECHO);
writeFileSync(
  join(folder, "hookgate.yaml"),
  JSON.stringify({
    operators: { owner: [`discord:${discord.userId}`] },
    discord: { access: { dms: "everyone", guilds: [discord.world.guildId], mention: "always" } },
    plugins: [{ module: "./echo.mjs" }],
    hooks: [
      {
        id: "tick",
        trigger: { at: new Date(Date.now() + TICK_AFTER_MS).toISOString() },
        run: { chat: { to: `discord::${discord.channelId}`, text: "tick" } },
      },
    ],
    sla: {
      policies: [{ id: "replies", for: "conversation", measure: "first_response", target: "40s", warn_at: ["15%"] }],
      after_start: "1s",
    },
    alerts: { routes: { default: { to: [`discord::${discord.channelId}`] } } },
  }),
);
const env = {
  HOOKGATE_PORT: "0",
  HOOKGATE_TOKEN: "a-token-for-the-benchmark",
  DATABASE_URL: `file:${join(folder, "test.db")}`,
  DISCORD_TOKEN: FAKE_TOKEN,
  DISCORD_API_URL: discord.apiUrl,
  LOG_LEVEL: "error",
};
const app = await startApp(loadConfig({ env }), { version: "0.0.0" });

async function until(isSo: () => boolean): Promise<void> {
  for (let waitedMs = 0; !isSo(); waitedMs += 20) {
    if (waitedMs > WITHIN_MS) throw new Error("it did not come true");
    await sleep(20);
  }
}
const own = () =>
  [...(discord.world.channels.get(discord.channelId)?.messages.values() ?? [])].filter(
    ({ author }) => author.id === discord.world.bot.id,
  );
const say = (text: string, userId = discord.userId) =>
  discord.people.says(text, { channelId: discord.channelId, userId });
async function echoed(text: string): Promise<void> {
  say(`echo ${text}`);
  await until(() => own().some(({ content }) => content === `re: echo ${text}`));
}

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await echoed("once, to be warm").catch(() => echoed("twice"));
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

async function trace(name: string, work: () => Promise<void>): Promise<void> {
  await sleep(1_000); // what was caused before is done
  await session.post("Profiler.takePreciseCoverage");
  await work();
  await sleep(250); // the ends of deliveries
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const passed = result.flatMap(({ url, functions }) => {
    const file = OURS.exec(url)?.[1];
    const called = functions.filter(({ ranges, functionName }) => ranges[0]?.count && functionName !== "");
    return file === undefined || called.length === 0 ? [] : [{ file, called }];
  });
  const functions = passed.reduce((sum, { called }) => sum + called.length, 0);
  console.log(
    `${name.padEnd(28)} ${String(passed.length).padStart(4)} files ${String(functions).padStart(5)} functions`,
  );
  if (values.list !== undefined && name.startsWith(values.list))
    for (const { file, called } of passed)
      console.log(`  ${file}: ${called.map(({ functionName }) => functionName).join(" ")}`);
}

await trace("message with a reply", () => echoed("one"));
await trace("plain message", async () => {
  say("hello there");
  await sleep(500);
});
await trace("/fire-hook", async () => {
  const before = own().length;
  say("/fire-hook echo.echo");
  await until(() => own().length > before);
});
say("I need help", discord.world.addUser({ username: "grace" }).id);
await trace("card of a warning", async () => {
  const cards = () => own().filter(({ embeds }) => (embeds?.length ?? 0) > 0).length;
  const before = cards();
  await until(() => cards() > before);
});
await trace("scheduled run", async () => {
  const before = own().length;
  await until(() =>
    own()
      .slice(before)
      .some(({ content }) => content.startsWith("tick")),
  );
});
await trace("reload without a change", async () => {
  await app.reload(loadConfig({ env }));
});
await app.stop();
await discord.stop();
process.chdir("/");
rmSync(folder, { recursive: true });
process.exit(0);
