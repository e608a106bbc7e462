/**
 * What keeps alerts quiet, and what is done when one cannot be told, through the started product with the real clients of Discord and
 * Telegram, on a clock that leaps: one day, in order.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type App, startApp } from "../../src/app.js";
import { readEnvironment } from "../../src/config/env.js";
import { configSchema } from "../../src/config/schema.js";
import type { AlertSignal } from "../../src/domain/alerts/alert-signal.js";
import { silentLogger } from "../../src/lib/logger.js";
import { type FakeDiscord, startFakeDiscord } from "../fakes/discord/server.js";
import { FakeTelegram } from "../fakes/telegram/server.js";
import { discordPlatform } from "../flow/discord-platform.js";
import type { FlowPlatform, Seen } from "../flow/platform.js";
import { telegramPlatform } from "../flow/telegram-platform.js";
import { webPlatform } from "../flow/web-platform.js";
import { freePort, TOKEN } from "../support/gateway-process.js";
import { LeapClock } from "../support/leap-clock.js";
import { until } from "../support/until.js";

const CHATS = ["discord", "telegram"] as const;
const NAMES = ["web", ...CHATS] as const;
type Name = (typeof NAMES)[number];
const MINUTE = 60_000;
/** A Thursday. */
const at = (time: string) => Date.parse(`2026-01-15T${time}:00Z`);

let folder: string;
let discord: FakeDiscord;
let telegram: FakeTelegram;
let platforms: Record<Name, FlowPlatform>;
let app: App;
let beats: Server;
const beaten: string[] = [];
let beatStatus = 204;
const clock = new LeapClock(at("10:00"));

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-rules-"));
  beats = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    beaten.push(text);
    response.writeHead(beatStatus).end();
  });
  await new Promise<void>((done) => beats.listen(0, "127.0.0.1", done));
  discord = await startFakeDiscord();
  telegram = await new FakeTelegram().start();
  platforms = { web: webPlatform(), discord: discordPlatform(discord), telegram: telegramPlatform(telegram) };
  const all = Object.values(platforms);
  const both = CHATS.map(destinationOf);
  const calm = { remind: { times: 0 }, alone: 100 };
  const config = configSchema.parse({
    operators: { operator: all.map(({ ownerRef }) => ownerRef) },
    outgoing: { allow: ["127.0.0.1"] },
    ...Object.fromEntries(all.map(({ name, config: own }) => [name, own])),
    alerts: {
      routes: {
        default: { to: both, ...calm },
        flapping: { match: ["host=flap"], to: both, hold: "5m", ...calm },
        fragile: { match: ["host=fragile"], to: [destinationOf("telegram")], ...calm },
        stranger: { match: ["host=stranger"], to: ["discord::dm%3A157602"], ...calm },
        nowhere: {
          match: ["host=nowhere"],
          to: ["matrix:bot:room"],
          escalate: [{ after: "0s", mention: [platforms.web.ownerRef] }],
          ...calm,
        },
        calling: {
          match: ["host=calling"],
          to: [destinationOf("discord")],
          escalate: [{ after: "1m", mention: [platforms.web.ownerRef] }],
          ...calm,
        },
      },
      fallback: [destinationOf("web")],
      digests: [
        { cron: "50 10 * * *", timezone: "UTC", to: ["matrix:bot:room", destinationOf("web")], title: "Morning" },
      ],
      inhibit: [{ by: ["kind=outage"], mutes: ["kind=child"], equal: ["host"] }],
      maintenance: [
        {
          match: ["host=works"],
          from: "2026-01-15T11:00",
          until: "2026-01-15T12:00",
          timezone: "UTC",
          comment: "new disks",
        },
      ],
      destinations: {
        [destinationOf("telegram")]: { quiet: { from: "13:00", to: "14:00", timezone: "UTC" } },
      },
      heartbeat: { every: "30m", to: `http://127.0.0.1:${(beats.address() as AddressInfo).port}/beat` },
      watch_gateway: { offline_after: "30d", undelivered_after: "30d" },
    },
  });
  const { env } = readEnvironment({
    DATABASE_URL: `file:${join(folder, "test.db")}`,
    HOOKGATE_PORT: String(await freePort()),
    HOOKGATE_TOKEN: TOKEN,
    ...Object.assign({}, ...all.map((one) => one.env)),
  });
  const options = { version: "0.0.0", logger: silentLogger, clock };
  app = await startApp({ config, env, problems: [] }, options);
  await until(
    async () => (await app.gateway.status()).adapters.every(({ phase }) => phase === "online"),
    "all platforms being online",
  );
  for (const platform of all) await platform.begin(app.url);
}, 120_000);
afterAll(async () => {
  await app.stop();
  await discord.stop();
  await telegram.stop();
  beats.close();
  rmSync(folder, { recursive: true, force: true });
});

const roomOf = (name: Name) => platforms[name].places[0];
function destinationOf(name: Name): string {
  return `${name}:${platforms[name].botId()}:${roomOf(name).chatId}`;
}

const raise = (title: string, labels: Record<string, string>, more: Partial<AlertSignal> = {}) =>
  app.alerts.raise({
    fingerprint: title,
    episode: 1,
    state: "firing",
    severity: "high",
    title,
    reason: "it is broken",
    at: clock.now(),
    source: { kind: "test", id: title },
    labels,
    ...more,
  });
const end = (title: string, labels: Record<string, string>) =>
  raise(title, labels, { state: "resolved", reason: "it is mended" });

const posted = async (name: Name, words: RegExp): Promise<Seen[]> =>
  (await platforms[name].seen(roomOf(name))).filter(({ text }) => words.test(text.replaceAll("\\", "")));
const shows = (name: Name, words: RegExp) =>
  until(async () => (await posted(name, words)).at(-1), `${words} on ${name}`);

/** Nothing is on its way. */
async function calm(): Promise<void> {
  let calmTurns = 0;
  await until(async () => {
    const { outbox, sending } = await app.gateway.status();
    const { active, waiting } = app.alerts.depth;
    const busy = outbox.waiting + outbox.sending + sending.active + sending.waiting + active + waiting;
    calmTurns = busy === 0 ? calmTurns + 1 : 0;
    return calmTurns > 2;
  }, "everything being told");
}
async function leapTo(time: string): Promise<void> {
  await calm();
  clock.leapTo(at(time));
  await calm();
}

describe("an alert is told", () => {
  it("however long its words are", async () => {
    await raise("Long ".repeat(500), { host: "long" }, { fingerprint: "long", reason: "word ".repeat(4_000) });
    for (const name of CHATS) await shows(name, /Long Long[\s\S]*Firing since/);
  });

  it("as plain text where its form is refused", async () => {
    const description = "Bad Request: can't parse entities: unsupported start tag";
    telegram.fail({ method: "sendMessage", action: { kind: "refuse", status: 400, description } });
    await raise("Odd form", { host: "odd" });
    await shows("telegram", /Odd form[\s\S]*Firing since/);
    const calls = telegram.callsOf("sendMessage").filter(({ payload }) => String(payload.text).includes("Odd form"));
    expect(calls.length).toBeGreaterThan(1);
    expect(calls.at(-1)?.payload).not.toHaveProperty("entities", expect.anything());
    expect(calls.at(-1)?.payload).not.toHaveProperty("parse_mode", expect.anything());
  });

  it("when its chat takes messages again that had too many", async () => {
    telegram.fail({ method: "sendMessage", action: { kind: "rate-limit", retryAfterS: 1 } });
    discord.fail({ method: "POST", path: "/messages", action: { kind: "rate-limit", retryAfterS: 1, scope: "user" } });
    await raise("Flooded", { host: "flood" });
    for (const name of CHATS) await shows(name, /Flooded[\s\S]*Firing since/);
  });

  it("anew by itself, some minutes after somebody deleted its card on Telegram, which tells nobody", async () => {
    await calm();
    const [card] = await posted("telegram", /Odd form[\s\S]*Firing since/);
    telegram.world.chats.get(Number(roomOf("telegram").chatId))?.messages.delete(Number(card?.id));
    expect(await posted("telegram", /Odd form/)).toEqual([]);
    await leapTo("10:06");
    expect((await shows("telegram", /Odd form[\s\S]*Firing since/)).id).not.toBe(card?.id);
    expect(await posted("telegram", /Odd form/)).toHaveLength(1);
  });
});

describe("an alert is not told", () => {
  it("when it is over within its hold-down", async () => {
    await raise("Flap once", { host: "flap" });
    await leapTo("10:08");
    await end("Flap once", { host: "flap" });
    await raise("Flap on", { host: "flap" });
    await leapTo("10:12");
    expect(await posted("discord", /Flap/)).toEqual([]);
    await leapTo("10:14");
    for (const name of CHATS) {
      await shows(name, /Flap on[\s\S]*Firing since/);
      expect(await posted(name, /Flap once/)).toEqual([]);
    }
  });

  it("while an outage explains it, on its host only", async () => {
    await raise("Host a is gone", { host: "a", kind: "outage" });
    await raise("Disk of a", { host: "a", kind: "child" });
    await raise("Disk of b", { host: "b", kind: "child" });
    for (const name of CHATS) await shows(name, /Disk of b[\s\S]*Firing since/);
    await calm();
    for (const name of CHATS) expect(await posted(name, /Disk of a/)).toEqual([]);
    await end("Host a is gone", { host: "a", kind: "outage" });
    for (const name of CHATS) await shows(name, /Disk of a[\s\S]*Firing since/);
  });
});

describe("what cannot be told at its chat", () => {
  it("is told at the fallback, with an alert about alerting, which ends when the chat takes alerts again", async () => {
    const description = "Forbidden: bot was kicked from the supergroup chat";
    telegram.fail({ method: "sendMessage", times: 99, action: { kind: "refuse", status: 403, description } });
    await raise("Fragile", { host: "fragile" });
    await shows("web", /Fragile[\s\S]*Firing since/);
    await shows("web", /Alerts do not reach .*telegram[\s\S]*kicked/i);
    telegram.faults.clear();
    await end("Fragile", { host: "fragile" });
    await shows("telegram", /Fragile[\s\S]*Resolved/);
    await shows("web", /Alerts do not reach .*telegram[\s\S]*Resolved/i);
  });

  it("a private chat of an account that has no name is shown by its id, not by its address", async () => {
    const body = { code: 50_007, message: "Cannot send messages to this user" };
    discord.fail({
      method: "POST",
      path: "/users/@me/channels",
      times: 9,
      action: { kind: "status", status: 403, body },
    });
    await raise("Stranger", { host: "stranger" });
    await shows("web", /Alerts do not reach direct messages with account 157602 \(discord\)/);
    discord.faults.clear();
    await end("Stranger", { host: "stranger" });
  });

  it("because its platform is not switched on, is told at the fallback, once, with whom it calls; so are digests elsewhere", async () => {
    await raise("Nowhere", { host: "nowhere" });
    await shows("web", /Nowhere[\s\S]*Firing since/);
    await shows("web", /Nowhere[\s\S]*Escalated: step 1 of 1 \(Owner\)[\s\S]*did not arrive at matrix/);
    await shows("web", /Alerts do not reach matrix:bot:room[\s\S]*"matrix" is not switched on/);
    await leapTo("10:25");
    const [alert] = (await app.alerts.list({ open: true, limit: 100 })).filter(
      ({ signal }) => signal.title === "Nowhere",
    );
    const events = (await app.alerts.history(alert?.id ?? "")).map(({ event }) => event);
    await leapTo("10:28");
    await leapTo("10:31");
    expect((await app.alerts.history(alert?.id ?? "")).map(({ event }) => event)).toEqual(events);
    expect(events.filter((event) => event === "undelivered")).toHaveLength(2);
    await leapTo("10:51");
    await shows("web", /Morning: \d+ open/);
  });

  it("though its card stands there: an escalation is said at the fallback, which does not mention again who was notified in a private chat", async () => {
    await raise("Calling", { host: "calling" });
    await shows("discord", /Calling[\s\S]*Firing since/);
    const body = { code: 50_013, message: "Missing Permissions" };
    discord.fail({ method: "POST", path: "/messages", times: 99, action: { kind: "status", status: 403, body } });
    await leapTo("10:55");
    const call = await shows("web", /Calling[\s\S]*Escalated: step 1 of 1 \(Owner\)[\s\S]*did not arrive/);
    const seenByOwner = await platforms.web.seen({ chatId: "dm-1" }, "owner");
    expect(seenByOwner.filter(({ text }) => /Calling[\s\S]*Escalated: step 1 of 1/.test(text))).toHaveLength(1);
    expect(call.text).toContain("Owner was notified in direct messages with Owner");
    expect(call.text).not.toMatch(/@/);
    await shows("web", /Reminders and escalations do not reach .*\(discord\)[\s\S]*Missing Permissions/);
    discord.faults.clear();
  });
});

it("a maintenance window keeps new alerts quiet, and lets what is resolved in it through", async () => {
  await raise("Works one", { host: "works" });
  for (const name of CHATS) await shows(name, /Works one[\s\S]*Firing since/);
  await leapTo("11:01");
  for (const name of CHATS) await shows(name, /Works one[\s\S]*Silenced/);
  await raise("Works two", { host: "works" });
  await end("Works one", { host: "works" });
  for (const name of CHATS) await shows(name, /Works one[\s\S]*Resolved/);
  await calm();
  for (const name of CHATS) expect(await posted(name, /Works two/)).toEqual([]);
  await leapTo("12:01");
  for (const name of CHATS) await shows(name, /Works two[\s\S]*Firing since/);
});

it("quiet hours of one chat let only what is severe through, and end with one message that tells the rest", async () => {
  await leapTo("13:05");
  await raise("Soft one", { host: "q" });
  await raise("Soft two", { host: "q" });
  await raise("Hard one", { host: "q" }, { severity: "critical" });
  for (const name of CHATS) await shows(name, /Hard one[\s\S]*Firing since/);
  for (const title of [/Soft one/, /Soft two/]) await shows("discord", title);
  await calm();
  expect(await posted("telegram", /Soft/)).toEqual([]);
  await leapTo("14:01");
  const caughtUp = await shows("telegram", /While it was quiet: 2 alerts/);
  expect(caughtUp.text).toMatch(/Soft one[\s\S]*Soft two|Soft two[\s\S]*Soft one/);
  expect(await posted("telegram", /Soft/)).toHaveLength(1);
});

it("a heartbeat goes to its address; that it is not taken three times is an alert", async () => {
  const before = beaten.length;
  expect(before).toBeGreaterThan(1);
  expect(JSON.parse(beaten.at(-1) ?? "")).toMatchObject({ kind: "heartbeat" });
  beatStatus = 500;
  for (const time of ["14:32", "15:03", "15:34"]) {
    const count = beaten.length;
    await leapTo(time);
    await until(() => beaten.length > count, "the next heartbeat");
  }
  for (const name of CHATS) await shows(name, /heartbeat of alerts is not taken[\s\S]*Firing since/);
  beatStatus = 204;
  await calm();
  clock.leap(31 * MINUTE);
  for (const name of CHATS) await shows(name, /heartbeat of alerts is not taken[\s\S]*Resolved/);
});
