/** Long polling: what is confirmed, what comes again, and what becomes of trouble. */
import { getEventListeners } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { HookgateError } from "../../../src/lib/errors.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { MemoryCursors } from "../../support/memory-cursors.js";
import { until } from "../../support/until.js";
import { gate, newFake, Recorder, recordingLogger, startAdapter } from "./harness.js";

describe("polling", () => {
  it("goes online with its numeric id and its name", async () => {
    const { gateway } = await startAdapter();
    expect(gateway.states.map(({ phase }) => phase)).toEqual(["connecting", "online"]);
    expect(gateway.states.at(-1)).toMatchObject({ botId: "7654321", botName: "HookgateBot" });
  });

  it("knows chats by their titles, also after a restart", async () => {
    const fake = await newFake();
    const cursors = new MemoryCursors();
    const first = await startAdapter({ fake, cursors });
    fake.people.says("hello", { chatId: fake.chatId });
    fake.people.says("hello", { dm: true });
    await first.events(2);
    await first.stop();
    const { adapter } = await startAdapter({ fake, cursors });
    const nameOf = (chatId: number) =>
      adapter.traits.placeName?.({ platform: "telegram", botId: "7654321", chatId: String(chatId) });
    expect([nameOf(fake.chatId), nameOf(fake.userId)]).toEqual(["The group", "direct messages with Ada"]);
  });

  it("knows the private chat of a person who wrote in a group by the person's name", async () => {
    const { fake, adapter, events } = await startAdapter();
    const { id } = fake.world.addUser({ firstName: "Carl" });
    fake.people.says("hello", { chatId: fake.chatId, userId: id });
    await events(1);
    const at = { platform: "telegram", botId: "7654321", chatId: String(id) };
    expect(adapter.traits.placeName?.(at)).toBe("direct messages with Carl");
  });

  it("leaves no listeners behind on the signal that outlives its runs", async () => {
    const fake = await newFake();
    fake.fail({ method: "getMe", times: 5, action: { kind: "refuse", status: 500, description: "trouble" } });
    const { adapter, ended } = await startAdapter({ fake, isTroubled: true });
    await ended;
    const { signal } = new AbortController();
    const context = {
      gateway: new Recorder(),
      cursors: new MemoryCursors(),
      clock: systemClock,
      logger: recordingLogger([]),
    };
    for (let n = 0; n < 4; n++) await expect(adapter.run(context, signal)).rejects.toThrow("trouble");
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
  });

  it("asks for reactions, which Telegram leaves out by default", async () => {
    const { fake, events } = await startAdapter();
    const message = fake.people.says("look", { dm: true });
    await events(1);
    fake.people.reacts(message.message_id, ["👍"], { chatId: fake.userId });
    expect((await events(2))[1]).toMatchObject({
      kind: "reaction",
      emoji: "👍",
      messageId: "1",
      userId: "1001",
      isDm: true,
    });
  });

  it("confirms an update only when it is on disk", async () => {
    const gateway = new Recorder();
    const { wait, open } = gate();
    gateway.hold = () => wait;
    const { fake, events } = await startAdapter({ gateway });
    fake.people.says("first", { dm: true });
    await until(() => fake.updates.handedOver === 1);
    fake.people.says("second", { dm: true });
    expect(fake.updates.confirmed).toBe(0);
    expect(fake.updates.pending).toHaveLength(2);
    open();
    await events(2);
    await until(() => fake.updates.confirmed === 2);
  });

  it("gets an update again after a crash before the durable write, and stores it once", async () => {
    const fake = await newFake();
    const first = new Recorder();
    const { wait: death, open: die } = gate();
    first.hold = () => death.then(() => Promise.reject(new Error("the process is gone")));
    const crashed = await startAdapter({ fake, gateway: first });
    fake.people.says("hello", { dm: true });
    await until(() => fake.updates.handedOver === 1);
    const second = await startAdapter({ fake });
    const [event] = await second.events(1);
    expect(event).toMatchObject({ kind: "message", eventId: "1" });
    await until(() => fake.updates.pending.length === 0);
    die();
    await crashed.stop();
    expect(first.events).toEqual([]);
    expect(second.gateway.events).toHaveLength(1);
  });

  it("hands a batch over at once and in order", async () => {
    const fake = await newFake();
    for (let i = 0; i < 250; i++) fake.people.says(`message ${i}`, { dm: true });
    const { events } = await startAdapter({ fake });
    const texts = (await events(250)).map((event) => (event.kind === "message" ? event.message.text : ""));
    expect(texts).toEqual(Array.from({ length: 250 }, (_, i) => `message ${i}`));
  });

  it("confirms up to what the store refused, and asks for that again", async () => {
    const gateway = new Recorder();
    let refusals = 0;
    gateway.hold = async (event) => {
      if (event.eventId !== "2" || refusals > 0) return;
      refusals++;
      throw new HookgateError({ code: "STORE_LOCKED", message: "the store is locked", retryable: true });
    };
    const fake = await newFake();
    for (const text of ["one", "two", "three"]) fake.people.says(text, { dm: true });
    const { events, lines } = await startAdapter({ fake, gateway, isTroubled: true });
    await until(() => refusals === 1);
    expect(fake.updates.confirmed).toBe(0);
    const ids = (await events(3)).map(({ eventId }) => eventId);
    expect(ids.toSorted()).toEqual(["1", "2", "3"]);
    await until(() => fake.updates.pending.length === 0);
    expect(lines.join("\n")).toContain("the store is locked");
    expect(gateway.states.some(({ phase, reason }) => phase === "reconnecting" && reason?.includes("locked"))).toBe(
      true,
    );
  });

  it("goes on when Telegram counts from another number, as it does after a week without updates", async () => {
    const { fake, events, gateway } = await startAdapter();
    fake.people.says("before", { dm: true });
    await until(() => fake.updates.confirmed === 1);
    for (const [i, from] of [7, 900_000_000].entries()) {
      fake.updates.countsFrom(from);
      fake.people.says(`after ${i}`, { dm: true });
      await until(() => fake.updates.pending.length === 0, "the confirmation");
    }
    expect((await events(3)).map((event) => event.kind === "message" && event.message.text)).toEqual([
      "before",
      "after 0",
      "after 1",
    ]);
    expect(gateway.states.map(({ phase }) => phase)).toEqual(["connecting", "online"]);
  });

  it("recognises a message that comes in another update", async () => {
    const { fake, events, gateway } = await startAdapter();
    const { message_id } = fake.people.says("once", { dm: true });
    fake.people.repeats(message_id, { chatId: fake.userId });
    await until(() => fake.updates.pending.length === 0);
    await events(1);
    expect(gateway.events).toHaveLength(1);
  });

  it("drains on stop: waits for what is being stored, then confirms it", async () => {
    const gateway = new Recorder();
    const { wait, open } = gate();
    let isTaken = false;
    gateway.hold = () => {
      isTaken = true;
      return wait;
    };
    const { fake, stop } = await startAdapter({ gateway });
    fake.people.says("late", { dm: true });
    await until(() => isTaken);
    let isStopped = false;
    const stopped = stop().then(() => {
      isStopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isStopped).toBe(false);
    expect(fake.updates.confirmed).toBe(0);
    open();
    await stopped;
    expect(gateway.events).toHaveLength(1);
    expect(fake.updates.confirmed).toBe(1);
  });

  it("confirms nothing on stop that could not be stored", async () => {
    const gateway = new Recorder();
    const { wait, open } = gate();
    gateway.hold = async () => {
      await wait;
      throw new HookgateError({ code: "STORE_FULL", message: "the disk is full" });
    };
    const { fake, stop } = await startAdapter({ gateway });
    fake.people.says("unlucky", { dm: true });
    await until(() => fake.updates.handedOver === 1);
    const stopped = stop();
    open();
    expect(await stopped).toBe("stopped");
    expect(fake.updates.confirmed).toBe(0);
    expect(fake.updates.pending).toHaveLength(1);
  });

  it("stops at once while a poll is held open", async () => {
    const { stop } = await startAdapter();
    const before = performance.now();
    expect(await stop()).toBe("stopped");
    expect(performance.now() - before).toBeLessThan(2000);
  });
});

/** As after a run in webhook mode. */
async function withOwnWebhook(): Promise<MemoryCursors> {
  const cursors = new MemoryCursors();
  await cursors.set("webhook", "of an earlier run");
  return cursors;
}

describe("trouble while polling", () => {
  it("ends with a retryable conflict when another process polls", async () => {
    const fake = await newFake();
    const older = await startAdapter({ fake });
    await until(() => fake.callsOf("getMyCommands").length > 0);
    await startAdapter({ fake });
    expect(await older.ended).toMatchObject({
      code: "TELEGRAM_CONFLICT",
      retryable: true,
      message: "another process polls with the same token",
    });
  });

  /** Runs again after another process polled; a poll is held. */
  async function afterConflict(pollTimeout: string) {
    const running = await startAdapter({ config: { poll_timeout: pollTimeout } });
    const { fake, adapter, gateway, cursors } = running;
    const description = "Conflict: terminated by other getUpdates request";
    fake.fail({ method: "getUpdates", action: { kind: "refuse", status: 409, description } });
    fake.people.says("wake the poll", { dm: true });
    expect(await running.ended).toMatchObject({ code: "TELEGRAM_CONFLICT" });
    gateway.states.length = 0;
    const stopping = new AbortController();
    const polls = fake.callsOf("getUpdates").length;
    const ended = adapter.run({ gateway, cursors, clock: systemClock, logger: silentLogger }, stopping.signal);
    onTestFinished(async () => {
      stopping.abort();
      await ended;
    });
    // The first is answered with what waits.
    await until(() => fake.callsOf("getUpdates").length > polls && fake.updates.isPolled, "a poll that is held");
    return running;
  }
  const contested = { phase: "reconnecting", reason: "another process polls with the same token", isSending: true };

  it("is not online again after a conflict before a poll was held to its end, and sends meanwhile", async () => {
    const running = await afterConflict("1s");
    const { gateway } = running;
    expect(gateway.states).toMatchObject([{ phase: "connecting" }, contested]);
    expect(await running.say({ text: "meanwhile" })).toMatchObject([{ kind: "sent" }]);
    await until(() => gateway.phase === "online", "the held poll has ended");
  });

  it("after a conflict, sends again as soon as a poll succeeds after one that was refused", async () => {
    const { fake, gateway } = await afterConflict("20s");
    fake.fail({ method: "getUpdates", action: { kind: "refuse", status: 403, description: "Forbidden: no" } });
    fake.people.says("wake the poll", { dm: true });
    await until(() => gateway.states.length === 4, "a poll that succeeds");
    const refused = {
      phase: "reconnecting",
      reason: "Telegram cannot be polled: 403 Forbidden: no",
      hint: expect.stringContaining("TELEGRAM_API_URL"),
    };
    expect(gateway.states).toMatchObject([{ phase: "connecting" }, contested, refused, contested]);
    expect(gateway.states[2]?.isSending).toBeUndefined();
  });

  it("says so when somebody else's webhook is set, and leaves it", async () => {
    const fake = await newFake();
    fake.updates.setWebhook({ url: "http://127.0.0.1:9/elsewhere" });
    const { ended } = await startAdapter({ fake, isTroubled: true });
    expect(await ended).toMatchObject({
      code: "TELEGRAM_CONFLICT",
      retryable: true,
      message: "a webhook is set for this bot, so it cannot be polled",
      hint: expect.stringContaining(`curl "${fake.apiUrl}/bot$TELEGRAM_TOKEN/deleteWebhook"`),
    });
    expect(fake.updates.webhook).toBeDefined();
  });

  it.each([
    ["unknown", "7654321:AAanotherTokenOfTheRightShape0000000"],
    ["of the wrong shape", "nonsense"],
  ])("ends with a hint, to be tried again slowly, when the token is %s", async (_, token) => {
    const { ended } = await startAdapter({ token, isTroubled: true });
    expect(await ended).toMatchObject({
      code: "TELEGRAM_TOKEN_REFUSED",
      retryable: false,
      retryAfterMs: 60_000,
      hint: expect.stringContaining("TELEGRAM_TOKEN"),
    });
  });

  it("ends when the token is withdrawn while it runs", async () => {
    const { fake, ended } = await startAdapter();
    const action = { kind: "refuse", status: 401, description: "Unauthorized" } as const;
    fake.fail({ method: "getUpdates|getMe", times: 2, action });
    fake.people.says("wake the poll", { dm: true });
    expect(await ended).toMatchObject({ code: "TELEGRAM_TOKEN_REFUSED", retryable: false, retryAfterMs: 60_000 });
  });

  it.each(["getMe", "getUpdates", "getWebhookInfo|deleteWebhook"])(
    "may be started again at once after one refused token (%s)",
    async (method) => {
      const fake = await newFake();
      fake.fail({ method, action: { kind: "refuse", status: 401, description: "Unauthorized" } });
      fake.people.says("there is something to poll", { dm: true });
      const { ended } = await startAdapter({ fake, isTroubled: true, cursors: await withOwnWebhook() });
      expect(await ended).toMatchObject({ code: "TELEGRAM_REFUSED_ONCE", retryable: true });
    },
  );

  it.each([
    ["getMe", 120, 120_000],
    ["getUpdates", 31_536_000, 3_600_000],
  ])(
    "asks for a stored pause when Telegram limits %s for %i s, an hour at most",
    async (method, retryAfterS, askedMs) => {
      const fake = await newFake();
      fake.fail({ method, action: { kind: "rate-limit", retryAfterS } });
      const { ended, gateway } = await startAdapter({ fake, isTroubled: true });
      expect(await ended).toMatchObject({ code: "TELEGRAM_LIMITED", retryable: true });
      expect(gateway.pauses).toEqual([{ askedMs, reason: expect.stringContaining(`retry after ${retryAfterS}`) }]);
    },
  );

  it("names what it got when a result has another shape, and tries again", async () => {
    const fake = await newFake();
    fake.fail({ method: "getMe", action: { kind: "garble", body: '{"ok":true,"result":true}' } });
    const first = await startAdapter({ fake, isTroubled: true });
    expect(await first.ended).toMatchObject({ message: expect.stringContaining("result of getMe"), retryable: true });
    fake.fail({ method: "getUpdates", action: { kind: "garble", body: '{"ok":true,"result":true}' } });
    fake.people.says("there is something to poll", { dm: true });
    const { gateway, events } = await startAdapter({ fake, isTroubled: true });
    const isNamed = () =>
      gateway.states.some(({ reason }) => reason?.includes("result of getUpdates cannot be read (true)"));
    await until(isNamed, "the reason");
    await events(1);
    await until(() => gateway.phase === "online", "the bot being online");
  });

  it("is retryable when Telegram is not there", async () => {
    const { ended } = await startAdapter({ apiUrl: "http://127.0.0.1:1", isTroubled: true });
    expect(await ended).toMatchObject({ code: "TELEGRAM_UNREACHABLE", retryable: true });
  });

  it("asks for an answer at once after a failure, so that a quiet bot sends again in a moment", async () => {
    const { fake, gateway, events } = await startAdapter({ config: { poll_timeout: "50s" } });
    await until(() => fake.updates.isPolled, "the poll");
    fake.fail({ method: "getUpdates", action: { kind: "proxy-error", status: 502 } });
    fake.people.says("one", { dm: true });
    await events(1);
    await until(() => gateway.states.some(({ phase }) => phase === "reconnecting"));
    await until(() => gateway.phase === "online", "the bot being online, although nobody writes");
  });

  it.each([
    ["a dropped connection", { kind: "drop-before" }],
    ["a proxy's error page", { kind: "proxy-error", status: 502 }],
    ["an answer without a result", { kind: "garble", body: '{"ok":true,"result":null}' }],
    ["an internal error", { kind: "refuse", status: 500, description: "Internal Server Error" }],
  ] as const)("reconnects after %s", async (_, action) => {
    const { fake, gateway, events } = await startAdapter();
    fake.fail({ method: "getUpdates", action });
    fake.people.says("one", { dm: true });
    await events(1);
    await until(() => gateway.states.some(({ phase }) => phase === "reconnecting"));
    fake.people.says("two", { dm: true });
    await events(2);
    await until(() => gateway.phase === "online");
  });
});
