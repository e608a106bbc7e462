/** One alert on three platforms, through their real clients: warned, firing, escalated, acknowledged, resolved; one card each, in step. */
import { mkdtempSync, rmSync } from "node:fs";
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
import { until } from "../support/until.js";

const NAMES = ["web", "discord", "telegram"] as const;
const DUE = Date.UTC(2026, 0, 2, 15, 4);

let folder: string;
let discord: FakeDiscord;
let telegram: FakeTelegram;
let platforms: Record<(typeof NAMES)[number], FlowPlatform>;
let app: App;
let start: () => Promise<void>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-alerts-"));
  discord = await startFakeDiscord();
  telegram = await new FakeTelegram().start();
  platforms = { web: webPlatform(), discord: discordPlatform(discord), telegram: telegramPlatform(telegram) };
  const all = Object.values(platforms);
  const port = await freePort();
  const config = configSchema.parse({
    operators: { operator: all.map(({ ownerRef }) => ownerRef) },
    ...Object.fromEntries(all.map(({ name, config: own }) => [name, own])),
    alerts: {
      routes: {
        // The same chat in two spellings is one chat.
        default: {
          to: NAMES.flatMap((name) => [shortOf(name), destinationOf(name)]),
          escalate: [{ mention: ["ann"] }],
        },
      },
      destinations: { [shortOf("telegram")]: { timezone: "Europe/Berlin" } },
      people: { ann: [platforms.discord.ownerRef, platforms.telegram.ownerRef] },
    },
  });
  start = async () => {
    const { env } = readEnvironment({
      DATABASE_URL: `file:${join(folder, "test.db")}`,
      HOOKGATE_PORT: String(port),
      HOOKGATE_TOKEN: TOKEN,
      ...Object.assign({}, ...all.map((one) => one.env)),
    });
    app = await startApp({ config, env, problems: [] }, { version: "0.0.0", logger: silentLogger });
    await until(
      async () => (await app.gateway.status()).adapters.every(({ phase }) => phase === "online"),
      "all platforms being online",
    );
    for (const platform of all) await platform.begin(app.url);
  };
  await start();
}, 120_000);
afterAll(async () => {
  await app.stop();
  await discord.stop();
  await telegram.stop();
  rmSync(folder, { recursive: true, force: true });
});

const roomOf = (name: (typeof NAMES)[number]) => platforms[name].places[0];
function destinationOf(name: (typeof NAMES)[number]): string {
  return `${name}:${platforms[name].botId()}:${roomOf(name).chatId}`;
}

/** As people write it who leave out the bot's id. */
const shortOf = (name: (typeof NAMES)[number]) => `${name}::${roomOf(name).chatId}`;

const signal = (changes: Partial<AlertSignal>): AlertSignal => ({
  fingerprint: "reply:ann",
  episode: 1,
  state: "warned",
  severity: "high",
  title: "Reply to Ann",
  reason: "80 % of 4 h passed",
  at: DUE,
  source: { kind: "sla", id: "c1", policyId: "replies" },
  entity: {
    type: "conversation",
    id: "x",
    title: "Ann's question",
    status: "open",
    createdAt: DUE,
    link: "https://desk.example.org/x",
    facts: {},
  },
  clock: { name: "first response", dueAt: DUE, targetMs: 14_400_000, elapsedMs: 11_520_000, percentUsed: 0.8 },
  runbook: "look into the queue",
  labels: {},
  ...changes,
});

const cards = async (name: (typeof NAMES)[number]): Promise<Seen[]> =>
  (await platforms[name].seen(roomOf(name))).filter(
    ({ text }) =>
      /Ann's question|Reply to Ann/.test(text) &&
      text.includes("al_") &&
      !/Overdue now|Escalated: step|Severity/.test(text) &&
      text.trim().split("\n").length > 2,
  );
const card = (name: (typeof NAMES)[number], part: RegExp) =>
  until(async () => (await cards(name)).find(({ text }) => part.test(text)), `${part} on the card in ${name}`);

describe("one alert on three platforms", () => {
  const ids = new Map<string, string>();

  it("is a card each, with what is late, and when it is due as its reader knows it", async () => {
    await app.alerts.raise(signal({}));
    for (const name of NAMES) {
      const { id, text, buttons } = await card(name, /Due soon/);
      ids.set(name, id);
      expect(text).toMatch(/Ann's question waits .* for a first response \(target 4 h\)/);
      expect(text).toContain("look into the queue");
      expect(buttons).toContain("Acknowledge");
    }
    expect((await card("discord", /Due soon/)).text).toContain(`<t:${DUE / 1000}:f>`);
    expect((await card("telegram", /Due soon/)).text).toContain("2 Jan 2026, 16:04 CET");
  });

  it("changes in place when it breaks, and calls whom the escalation names in a new message", async () => {
    await app.alerts.raise(signal({ state: "firing", reason: "the reply is late" }));
    for (const name of NAMES) expect((await card(name, /Overdue since/)).id).toBe(ids.get(name));
    const escalated = (name: (typeof NAMES)[number]) =>
      until(
        async () =>
          (await platforms[name].seen(roomOf(name))).find(
            ({ text }) => text.includes("Escalated: step 1 of 1") && !/(No owner|Owner:)/.test(text),
          ),
        `the escalation in ${name}`,
      );
    for (const name of NAMES) expect((await escalated(name)).id).not.toBe(ids.get(name));
    const [, ann] = platforms.discord.ownerRef.split(":");
    expect((await escalated("discord")).text).toContain(`<@${ann}>`);
    const call = discord.calls.find(({ body }) => /"content":"[^"]*Escalated: step/.test(JSON.stringify(body ?? {})));
    expect(call?.body).toMatchObject({ allowed_mentions: { parse: [], users: [ann] } });
    const said = telegram
      .callsOf("sendMessage")
      .find(({ payload }) => /^(?![\s\S]*owner)[\s\S]*Escalated: step/.test(String(payload.text)));
    expect(JSON.stringify(said?.payload.entities)).toContain(`"text_mention"`);
  });

  it.each(NAMES)("is not acknowledged by a stranger on %s, who is told so privately", async (name) => {
    await platforms[name].press(roomOf(name), "stranger", ids.get(name) ?? "", "Acknowledge");
    if (name === "telegram")
      await until(
        () => telegram.callsOf("answerCallbackQuery").some(({ payload }) => String(payload.text).includes("no role")),
        "the word to the stranger",
      );
    else
      await until(async () => {
        const seen = [
          ...(await platforms[name].seenPrivately("stranger")),
          ...(await platforms[name].seen(roomOf(name), "stranger")),
        ];
        return (
          seen.some(({ text }) => text.includes("no role")) ||
          discord.calls.some(({ body }) => JSON.stringify(body ?? {}).includes("no role"))
        );
      }, "the word to the stranger");
    expect((await app.alerts.list({ limit: 1 }))[0]?.state).toBe("firing");
  });

  it("is acknowledged by an operator after a restart, and shows so everywhere", async () => {
    await app.stop();
    await start();
    const pages = async (name: (typeof NAMES)[number], part: RegExp) =>
      (await platforms[name].seen(roomOf(name))).filter(
        ({ text }) => part.test(text) && text.includes("al_") && text.trim().split("\n").length === 2,
      );
    const page = (await platforms.telegram.seen(roomOf("telegram"))).find(({ text }) =>
      text.includes("Escalated: step"),
    );
    await platforms.telegram.press(roomOf("telegram"), "owner", page?.id ?? "", "Acknowledge");
    await until(
      async () =>
        (await platforms.telegram.whispers(roomOf("telegram"), "owner")).some((text) => text.startsWith("✓ Ack")),
      "the answer to the press",
    );
    for (const name of NAMES) {
      const [taken] = await until(async () => {
        const found = await pages(name, /Acknowledged by/);
        return found.length > 0 ? found : undefined;
      }, `the page showing who has it in ${name}`);
      expect(taken?.buttons).toEqual(["Open chat", "Snooze ▾", "More…"]);
    }
    for (const name of NAMES) {
      const { id, buttons } = await card(name, /Acknowledged by/);
      expect(id).toBe(ids.get(name));
      expect(buttons).not.toContain("Acknowledge");
    }
    // The press is answered to its person, not to the group.
    expect((await platforms.telegram.seen(roomOf("telegram"))).some(({ text }) => text.includes("✓"))).toBe(false);
  });

  it("is posted anew at once where somebody deleted its card and the platform says so", async () => {
    const before = ids.get("discord") ?? "";
    discord.people.deletes(before, { channelId: roomOf("discord").chatId, userId: discord.userId });
    const { id } = await card("discord", /Acknowledged by/);
    expect(id).not.toBe(before);
    ids.set("discord", id);
    expect(await cards("discord")).toHaveLength(1);
  });

  it("is posted anew where its card was deleted, and changed where it stands", async () => {
    discord.world.channels.get(roomOf("discord").chatId)?.messages.delete(ids.get("discord") ?? "");
    await platforms.web.press(roomOf("web"), "owner", ids.get("web") ?? "", "More…");
    const details = await until(
      async () => (await platforms.web.seen(roomOf("web"), "owner")).find(({ buttons }) => buttons.includes("Resolve")),
      "the details",
    );
    await platforms.web.press(roomOf("web"), "owner", details.id, "Resolve");
    for (const name of NAMES) {
      const { id, buttons } = await card(name, /Resolved/);
      if (name === "discord") expect(id).not.toBe(ids.get(name));
      else expect(id).toBe(ids.get(name));
      expect(buttons).toEqual([]);
      expect(await cards(name)).toHaveLength(1);
    }
  });

  it("leads to the person of a DM that nobody else can read, where the platform's own link does", async () => {
    const entity = {
      type: "conversation" as const,
      id: "y",
      title: "Bob's question",
      status: "open",
      createdAt: DUE,
      link: "tg://user?id=4711",
      facts: { platform: "telegram", is_dm: true, customer: "4711" },
    };
    await app.alerts.raise(signal({ fingerprint: "reply:bob", title: "Answer to Bob", entity }));
    const told = (name: (typeof NAMES)[number]) =>
      until(
        async () => (await platforms[name].seen(roomOf(name))).find(({ text }) => text.includes("Bob's question")),
        `the card in ${name}`,
      );
    await told("telegram");
    const { payload } =
      telegram.callsOf("sendMessage").find(({ payload: one }) => String(one.text).includes("Bob's")) ?? {};
    expect(JSON.stringify(payload?.entities)).toMatch(/"text_mention","offset":\d+,"length":9,"user":{"id":4711/);
    for (const name of ["discord", "web"] as const) expect((await told(name)).text).not.toContain("tg:");
    await app.alerts.raise(signal({ fingerprint: "reply:bob", title: "Answer to Bob", entity, state: "resolved" }));
  });
});
