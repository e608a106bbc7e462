import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { COMMAND_GROUPS } from "../../commands/groups.js";
import { commandSpecs } from "../../commands/index.js";
import { configSchema } from "../../src/config/schema.js";
import { type Desk, openDesk } from "./desk.js";

let desk: Desk;
beforeEach(async () => {
  desk = await openDesk();
});
afterEach(() => desk.close());

describe("/status", () => {
  it("shows platforms with their state and why, queues, hooks, store, version and uptime", async () => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "silent" });
    desk.registry.registerVoid("message_received", () => Promise.reject(new Error("x")), { id: "broken" });
    await desk.registry.fireVoid("message_received", {
      message: {
        platform: "web",
        botId: "web",
        chatId: "c",
        userId: "1",
        text: "",
        attachments: [],
        isDm: true,
        isGroupMention: true,
        messageId: "1",
        isEdit: false,
        receivedAt: 0,
      },
      access: "allowed",
    });
    await desk.clock.advance(3_600_000);
    const { shown, data, message } = await desk.say("/status");
    for (const part of [
      "web online",
      "other offline",
      "the token was refused",
      "restarted 2 times",
      "2 hooks, 2 enabled",
      "failing in 24 h: `broken`",
      "never fired: `silent`",
      "writable",
      "0.0.0-test",
      "up 1 h",
    ])
      expect(shown).toContain(part);
    expect(message.card?.tone).toBe("bad");
    expect(data).toMatchObject({
      version: "0.0.0-test",
      uptimeMs: 3_600_000,
      hooks: { total: 2, failing: ["broken"], neverFired: ["silent"], problems: [] },
      store: { ok: true },
    });
  });

  it.each([
    { phase: "online" as const, title: "The gateway is well", tone: "good" },
    { phase: "reconnecting" as const, title: "Up, waiting for web", tone: "warning" },
  ])("does not say that all is well while a platform is away ($phase)", async ({ phase, title, tone }) => {
    const status = await desk.deps.status();
    const adapters = status.adapters.filter(({ platform }) => platform === "web").map((one) => ({ ...one, phase }));
    desk.deps.status = () => ({ ...status, adapters });
    expect((await desk.say("/status")).message.card).toMatchObject({ title, tone });
  });

  it("does not say that all is well while sending to a chat is paused", async () => {
    const status = await desk.deps.status();
    const now = desk.clock.now();
    const pause = (key: string, askedMs: number) => ({ key, askedMs, until: now + askedMs, reason: "rate limited" });
    desk.deps.status = () => ({
      ...status,
      adapters: status.adapters.filter(({ platform }) => platform === "web"),
      pauses: [pause("web:web:general", 80_000), pause("telegram:1", 60_000), pause("web:web:busy", 1_000)],
    });
    expect((await desk.say("/status")).message.card).toMatchObject({
      title: "Up, but sending to web:web:general and 1 more is paused",
      tone: "warning",
    });
  });

  it("does not say that all is well while a platform answers each message with an error", async () => {
    const { outbox } = desk.store;
    const status = await desk.deps.status();
    const adapters = status.adapters.filter(({ platform }) => platform === "web");
    desk.deps.status = () => ({ ...status, adapters });
    const wait = async (id: string, platform: string, isWait: boolean) => {
      const address = { platform, botId: "b", chatId: id };
      const cause = { kind: "api" as const, id: "test", depth: 0 };
      await outbox.enqueue([{ id, address, operation: "send", message: { text: "x" }, cause }], desk.clock.now());
      const part = { index: 0, operation: "create", nonce: `n-${id}`, status: "sending", attempts: 1 } as const;
      await outbox.freeze(id, undefined, [part], []);
      for (let n = 0; n < 3; n++) await outbox.retryAt(id, desk.clock.now(), `HTTP 503 (${n})`, { isWait });
    };
    await wait("d_1", "discord", false);
    // Told to wait: that is a pause.
    await wait("d_2", "telegram", true);
    expect((await desk.say("/status")).message.card?.title).toBe("The gateway is well");
    await desk.clock.advance(60_000);
    const { message, shown } = await desk.say("/status");
    expect(message.card).toMatchObject({
      title: "Up, but 1 message could not be sent in three tries",
      tone: "warning",
    });
    expect(shown).toContain("⚠ discord: 1 message could not be sent in three tries, the oldest for 1 min: HTTP 503");
    expect(shown).not.toContain("⚠ telegram");
    const [, list = ""] = /Hookgate tries again \(`([^`]+)`/.exec(shown) ?? [];
    expect((await desk.say(list)).shown).toContain("d_1");
  });

  it("shows the most frequent reason of each platform for ignored messages, and how many more there are", async () => {
    const status = await desk.deps.status();
    const reasons = ["not addressed", "not listed", "direct messages are for operators", "banned", "a bot"];
    const ignored = reasons.map((reason, index) => ({ platform: "discord", reason, count: 10 - index }));
    desk.deps.status = () => ({
      ...status,
      ignored: [...ignored, { platform: "telegram", reason: "not listed", count: 1 }],
    });
    expect((await desk.say("/status")).shown).toContain(
      "10 on discord (not addressed), 1 on telegram (not listed), 9 on discord (not listed), 8 on discord (direct messages are for operators) and 13 more for other reasons",
    );
  });

  it("says that the store cannot be written, instead of failing", async () => {
    desk.deps.store = { ...desk.store, check: () => Promise.reject(new Error("the disk is full")) };
    const { shown, data } = await desk.say("/status");
    expect(shown).toContain("✗ the disk is full");
    expect(data).toMatchObject({ store: { ok: false, error: "the disk is full" } });
  });
});

describe("a journal that does not work", () => {
  beforeEach(() => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "note" });
    const fail = () => Promise.reject(new Error("the journal is locked"));
    desk.deps.store = { ...desk.store, journal: { ...desk.store.journal, flush: fail, stats: fail } };
  });

  it("is told by /status, /hooks and /hooks show, which still show what is installed", async () => {
    const status = await desk.say("/status");
    expect(status.shown).toContain("the journal is locked");
    expect(status.data).toMatchObject({ hooks: { total: 1, neverFired: [] } });
    const list = await desk.say("/hooks");
    expect(list.shown).toMatch(/note +\?/);
    expect(list.shown).toContain("the journal is locked");
    expect((await desk.say("/hooks show note")).shown).toContain("last fired: unknown");
  });

  it.each(["/hooks", "/hooks why last", "/hooks why note"])(
    "is not waited for longer than an answer may take, which %s says",
    async (line) => {
      desk.deps.store = { ...desk.store, journal: { ...desk.store.journal, flush: () => new Promise(() => {}) } };
      const answer = desk.say(line);
      await desk.clock.advance(2000);
      expect((await answer).shown).toContain("behind");
    },
  );
});

describe("/whoami", () => {
  const newcomer = {
    role: undefined,
    operator: { platform: "telegram", userId: "9007199254740993", displayName: "New *Comer*" },
  };

  it("gives a newcomer the exact lines that make the configuration know them and the chat", async () => {
    const { data, shown } = await desk.run(
      "whoami",
      {},
      {
        ...newcomer,
        at: { platform: "telegram", botId: "1", chatId: "-1001234567890123", threadId: "5" },
        from: { isDm: false },
      },
    );
    expect(shown).toContain("New \\*Comer\\*");
    expect(shown).toContain("**none**");
    const { config } = data as { config: string };
    expect(shown).toContain(config);
    const parsed = configSchema.parse(parse(config));
    expect(parsed.operators.operator).toEqual(["telegram:9007199254740993"]);
    expect(parsed.telegram.access.chats).toEqual(["-1001234567890123"]);
    expect(shown).toContain("If you run the gateway yourself: `/claim CODE` makes you an owner at once.");
  });

  it("names platform roles, and the parent of a thread", async () => {
    const { data, shown } = await desk.run(
      "whoami",
      {},
      {
        ...newcomer,
        at: { platform: "discord", botId: "1", chatId: "55" },
        from: { isDm: false, guildId: "9", parentChatId: "44", userRoleIds: ["77"] },
        operator: { platform: "discord", userId: "3" },
      },
    );
    expect(shown).toContain("`discord:role:77`");
    expect((data as { config: string }).config).toContain('chats:\n      - "44"');
  });

  it("lists no chat for a direct message, and no lines at all for an owner there", async () => {
    const { data, shown } = await desk.run(
      "whoami",
      {},
      {
        from: { isDm: true },
        at: { platform: "web", botId: "web", chatId: "dm-1" },
        operator: { platform: "web", userId: "1", role: "owner" },
      },
    );
    expect(data).toMatchObject({ person: "web:1", role: "owner" });
    expect(data).toMatchObject({ config: undefined });
    expect(shown).toContain("role: **owner**");
    expect(shown).not.toContain("/claim");
  });
});

describe("/help", () => {
  it("lists what one may use, and one command in full", async () => {
    const { shown, data } = await desk.say("/help");
    for (const { name } of commandSpecs) expect(shown).toContain(`/${name}`);
    expect(data).toMatchObject({ commands: commandSpecs.map(({ name }) => ({ name })) });
    expect((await desk.say("/help fire_hook")).shown).toContain("`live`");
    const at = { platform: "telegram", botId: "b", chatId: "c" };
    for (const name of ["task", "hooks"]) {
      const whole = (await desk.say(`/help ${name}`)).shown;
      const first = await desk.say(`/help ${name}`, { at });
      expect(first.lines.includes(`/help ${name} page=2`)).toBe(name === "task");
      const more = await Promise.all([2, 3].map((page) => desk.say(`/help ${name} page=${page}`, { at })));
      const pages = [first, ...more].map((page) => page.shown);
      for (const page of pages) expect(page.split("\n").length).toBeLessThanOrEqual(30);
      for (const one of whole.split("\n").filter((text) => text.startsWith("- ")))
        expect(pages.join("\n")).toContain(one);
    }
    await expect(desk.say("/help hoks")).rejects.toMatchObject({ message: expect.stringContaining('"hooks"') });
  });

  it("is short: the first subject in full, a button for each of the others", async () => {
    const { message } = await desk.say("/help");
    expect(message.text?.split("\n").length).toBeLessThan(15);
    const others = ["Hooks", "Messages and audit", "Tasks", "Alerts and SLAs"];
    expect(message.buttons?.flat().map(({ label }) => label)).toEqual(others);
    const tasks = await desk.say("/help group=tasks");
    expect(tasks.data).toMatchObject({ commands: [{ name: "task" }, { name: "add-task" }, {}, {}, {}] });
    expect(tasks.message.buttons?.flat().map(({ label }) => label)).toContain("/task");
    expect(tasks.shown).not.toContain("/hooks");
  });

  it("has each command under one subject, and a line of its own for each action", async () => {
    const subjects = COMMAND_GROUPS.map(({ id }) => String(id)).filter((id) => id !== "more");
    expect([...new Set(commandSpecs.map(({ group }) => group))]).toEqual(subjects);
    for (const { name, options } of commandSpecs) {
      const action = options.find((option) => option.name === "action");
      if (!action) continue;
      const summaries = action.choices?.map((choice) => action.choiceSummaries?.[choice]) ?? [];
      expect(summaries, name).not.toContain(undefined);
      expect(new Set(summaries).size, name).toBe(summaries.length);
      const { shown } = await desk.say(`/help ${name}`);
      for (const summary of summaries) expect(shown).toContain(summary);
    }
  });
});

describe("the table", () => {
  it("refuses what takes more than the role of the command, and says in each summary of an action which role that is", async () => {
    const taking = commandSpecs.flatMap(({ name, options }) =>
      Object.entries(options.find((one) => one.name === "action")?.choiceSummaries ?? {}).flatMap(
        ([action, summary]) => {
          const [, needed] = /\((operator|admin)s\)$/.exec(summary) ?? [];
          return needed === undefined ? [] : { name, action, needed };
        },
      ),
    );
    expect(taking).toContainEqual({ name: "outbox", action: "purge", needed: "admin" });
    expect(taking.length).toBeGreaterThan(20);
    for (const { name, action, needed } of taking)
      await expect(desk.run(name, { action }, { role: "viewer" }), `${name} ${action}`).rejects.toMatchObject({
        message: `needs ${needed}`,
      });
  });

  it("holds to what every platform takes: names, lengths, required options first, rest last among texts", () => {
    expect(new Set(commandSpecs.map(({ name }) => name)).size).toBe(commandSpecs.length);
    for (const { name, summary, options } of commandSpecs) {
      expect(name).toMatch(/^[a-z0-9-]{1,32}$/);
      expect(summary.length).toBeLessThanOrEqual(100);
      for (const option of options) {
        expect(option.name).toMatch(/^[a-z0-9_-]{1,32}$/);
        expect(option.summary.length).toBeLessThanOrEqual(100);
      }
      const firstOptional = options.findIndex(({ required }) => !required);
      expect(options.slice(firstOptional < 0 ? options.length : firstOptional).some(({ required }) => required)).toBe(
        false,
      );
    }
  });

  it("gives /help, /whoami and /claim to anyone, /task for what they were given themselves, and nothing else", () => {
    expect(commandSpecs.filter(({ role }) => role === "anyone").map(({ name }) => name)).toEqual([
      "help",
      "whoami",
      "claim",
      "task",
    ]);
  });
});
