/**
 * What a message costs, where it can be counted: V8 has a hidden class for each shape of an object, and code that makes a new one each
 * time it runs (on Node 20 that is `{ ...one, more }`) is slow there and wherever the object goes.
 */
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FAKE_TOKEN, type FakeDiscord, startFakeDiscord } from "../fakes/discord/server.js";
import { FakeTelegram } from "../fakes/telegram/server.js";
import { type GatewayProcess, gatewayProcess } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { allOnline } from "./stack.js";

/** Of each platform. More than the connections that are opened for them, which have classes of their own. */
const MESSAGES = 1_200;
const CHATS = 100;

let folder: string;
/** Apart, because the gateway watches its folder. */
let logs: string;
let discord: FakeDiscord;
let telegram: FakeTelegram;
let gateway: GatewayProcess | undefined;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-classes-"));
  logs = mkdtempSync(join(tmpdir(), "hookgate-classes-log-"));
  discord = await startFakeDiscord();
  telegram = await new FakeTelegram().start();
});
afterAll(async () => {
  await gateway?.kill();
  await discord.stop();
  await telegram.stop();
  for (const one of [folder, logs]) rmSync(one, { recursive: true, force: true });
});

it("makes no hidden class for a message", async () => {
  const log = join(logs, "classes.log");
  const access = { dms: "everyone" };
  gateway = await gatewayProcess({
    folder,
    config: {
      web: { enabled: false },
      telegram: { access, limits: { per_second: 10_000, per_chat_per_second: 10_000 } },
      discord: { access, requests_per_second: 10_000 },
      plugins: [resolve(import.meta.dirname, "../../bench/eight-hooks.mjs")],
    },
    env: {
      DISCORD_TOKEN: FAKE_TOKEN,
      DISCORD_API_URL: discord.apiUrl,
      TELEGRAM_TOKEN: telegram.token,
      TELEGRAM_API_URL: telegram.apiUrl,
    },
    flags: ["--log-maps", "--no-log-maps-details", "--no-logfile-per-isolate", `--logfile=${log}`],
  });
  await gateway.start();
  await allOnline(gateway.url, 30_000, ["discord", "telegram"]);
  for (const fake of [discord, telegram]) {
    const { sends } = fake;
    fake.people.floods(MESSAGES, CHATS);
    await until(() => fake.sends >= sends + MESSAGES, `all answers of ${fake.constructor.name}`);
  }
  await gateway.stop();

  const made = await countByPlace(log);
  expect(made.size).toBeGreaterThan(100);
  expect([...made].filter(([, count]) => count > MESSAGES / 3)).toEqual([]);
});

/** How many hidden classes were made at each place in the code. */
async function countByPlace(log: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const line of createInterface({ input: createReadStream(log) })) {
    const [kind, how, , , , , row, column, , name] = line.split(",");
    if (kind !== "map" || how !== "Transition") continue;
    const place = `${row}:${column} ${name}`;
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  return counts;
}
