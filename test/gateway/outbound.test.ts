/** How a delivery goes out: order, retries, limits, doubt, and every way in which it can end. */
import { describe, expect, it } from "vitest";
import type { SendOperation, SendResult } from "../../src/domain/chat/adapter.js";
import { fateOf } from "../../src/domain/deliveries/fates.js";
import type { Cause } from "../../src/domain/journal.js";
import type { Delivery } from "../../src/domain/store.js";
import type { HookRegistry } from "../../src/hooks/registry.js";
import { silentLogger } from "../../src/lib/logger.js";
import { redact } from "../../src/lib/text/redact.js";
import { until } from "../support/until.js";
import { LoopbackPlatform, type Scripted } from "./loopback-adapter.js";
import { type Rig, restart, startRig } from "./rig.js";

const cause: Cause = { kind: "api", id: "test", depth: 0 };
const at = { platform: "loop", botId: "bot", chatId: "room" };

function send(rig: Rig, text: string, options: Partial<Parameters<Rig["gateway"]["send"]>[2]> = {}, chatId = "room") {
  return rig.gateway.send({ ...at, chatId }, { text }, { cause, ...options });
}

function ended(rig: Rig, id: string): Promise<Delivery> {
  return until(async () => {
    const delivery = await rig.store.outbox.get(id);
    return delivery && delivery.status !== "waiting" && delivery.status !== "sending" ? delivery : undefined;
  }, `delivery ${id} has ended`);
}

/** Resolves when the delivery has been tried so often and waits. */
function waitsAfter(rig: Rig, id: string, attempts: number): Promise<Delivery> {
  return until(async () => {
    const delivery = await rig.store.outbox.get(id);
    const { sending } = await rig.gateway.status();
    return delivery?.attempts === attempts && sending.active === 0 ? delivery : undefined;
  }, `delivery ${id} waits after attempt ${attempts}`);
}

/** Moves the clock on in small steps. */
function passTimeUntil(rig: Rig, isDone: () => Promise<boolean>): Promise<boolean> {
  return until(async () => {
    if (await isDone()) return true;
    await rig.clock.advance(250);
    return false;
  }, "time brings it about");
}

/** The first requests come to these, the rest does what was asked. */
function script(platform: LoopbackPlatform, ...results: (Scripted | undefined)[]): void {
  const offset = platform.requests.length;
  platform.script = (_, n) => results[n - 1 - offset];
}

const longText = "0123456789012345678901234567890123456789second part of the text, forty charsthe third";

describe("retries", () => {
  it("keep the order of the conversation, and do not run the hooks again", async () => {
    let runs = 0;
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerModifying("message_sending", ({ message }) => ({
          message: { ...message, text: `${message.text} ${++runs}` },
        })),
    });
    let failures = 0;
    rig.platform.script = ({ address }) =>
      address.chatId === "room" && ++failures <= 2 ? { kind: "retry", error: "503", scope: "chat" } : undefined;
    const first = await send(rig, "one");
    await send(rig, "two");
    await send(rig, "elsewhere", {}, "other");
    await waitsAfter(rig, first, 1);
    await until(() => rig.platform.texts("other").length > 0);
    expect(rig.platform.texts("room")).toEqual([]);
    await rig.clock.advance(2_000);
    await waitsAfter(rig, first, 2);
    await rig.clock.advance(5_000);
    await rig.idle();
    expect(rig.platform.texts("room")).toEqual(["one 1", "two 3"]);
    expect(rig.platform.texts("other")).toEqual(["elsewhere 2"]);
    expect(await rig.store.outbox.get(first)).toMatchObject({ status: "sent", attempts: 2 });
  });

  it("wait as long as the platform says, over a restart too, and hold back the whole chat", async () => {
    const rig = await startRig();
    script(rig.platform, { kind: "retry", error: "429", afterMs: 600_000, scope: "chat" });
    const id = await send(rig, "late");
    await waitsAfter(rig, id, 1);
    const next = await restart(rig);
    await send(next, "behind it", {});
    await next.gateway.send({ ...at, threadId: "topic" }, { text: "same chat" }, { cause });
    await send(next, "free", {}, "other");
    await until(() => next.platform.texts("other").length > 0);
    await next.clock.advance(599_000);
    expect(next.platform.texts("room")).toEqual([]);
    expect((await next.gateway.status()).pauses).toMatchObject([{ key: "loop:bot:room" }]);
    await next.clock.advance(2_000);
    await next.idle();
    expect(next.platform.texts("room").sort()).toEqual(["behind it", "late", "same chat"]);
    expect(next.platform.requests.filter(({ address }) => address.chatId === "room")).toHaveLength(4);
  });

  it("that are to grow get longer with each attempt, beginning with what was asked, and do not end the message", async () => {
    const rig = await startRig();
    const refused: SendResult = { kind: "retry", error: "401", afterMs: 5_000, isGrowing: true, scope: "chat" };
    script(rig.platform, ...Array.from({ length: 12 }, () => refused));
    const id = await send(rig, "late");
    const pauses: number[] = [];
    for (let n = 1; n <= 12; n++) {
      await waitsAfter(rig, id, n);
      const { dueAt = 0 } = (await rig.store.outbox.get(id)) ?? {};
      pauses.push(dueAt - rig.clock.now());
      await rig.clock.advance(dueAt - rig.clock.now());
    }
    await rig.idle();
    expect(pauses[0]).toBe(5_000);
    expect(pauses.at(-1)).toBeGreaterThan(60_000);
    expect(rig.platform.texts()).toEqual(["late"]);
  });

  it("of a limit of edits hold back that edit alone: what is new goes, and a newer edit takes its place", async () => {
    const rig = await startRig();
    script(rig.platform, undefined, { kind: "retry", error: "429", afterMs: 600_000, scope: "delivery" });
    const card = await send(rig, "card");
    await ended(rig, card);
    const edit = await rig.gateway.edit(card, { text: "card 2" }, { cause });
    await until(async () => (await rig.store.outbox.get(edit))?.isApart === true);
    await send(rig, "new alert");
    await until(() => rig.platform.texts().includes("new alert"));
    expect((await rig.gateway.status()).pauses).toEqual([]);
    const next = await restart(rig);
    const newer = await next.gateway.edit(card, { text: "card 3" }, { cause });
    await ended(next, newer);
    expect(next.platform.texts()).toEqual(["card 3", "new alert"]);
    await next.clock.advance(601_000);
    await until(async () => (await next.store.outbox.get(edit))?.status === "superseded");
    expect(next.platform.texts()).toEqual(["card 3", "new alert"]);
  });

  it("of an urgent message hold back later urgent ones of its chat, and no other message", async () => {
    const rig = await startRig();
    script(rig.platform, { kind: "retry", error: "502", scope: "delivery" });
    const first = await send(rig, "step 1", { urgency: "urgent" });
    await waitsAfter(rig, first, 1);
    await send(rig, "step 2", { urgency: "urgent" });
    await ended(rig, await send(rig, "a reply"));
    const next = await restart(rig);
    await next.gateway.send(at, { text: "step 3" }, { cause, urgency: "urgent" });
    expect(next.platform.texts()).toEqual(["a reply"]);
    await passTimeUntil(next, async () => next.platform.texts().length === 4);
    expect(next.platform.texts()).toEqual(["a reply", "step 1", "step 2", "step 3"]);
  });

  it("of a pause of the whole bot account hold back every chat", async () => {
    const rig = await startRig();
    script(rig.platform, { kind: "retry", error: "429", afterMs: 60_000, scope: "bot" });
    const id = await send(rig, "one");
    await waitsAfter(rig, id, 1);
    await send(rig, "two", {}, "other");
    await rig.clock.advance(59_000);
    expect(rig.platform.requests).toHaveLength(1);
    expect((await rig.gateway.status()).adapters[0]).toMatchObject({ pauseReason: "429" });
    await rig.clock.advance(2_000);
    await rig.idle();
    expect(rig.platform.texts().sort()).toEqual(["one", "two"]);
  });

  it("end as a dead letter, told of by delivery_failed, and the conversation goes on", async () => {
    const failed: unknown[] = [];
    const rig = await startRig({
      gateway: { outbox_attempts: 3 },
      hooks: (registry) =>
        void registry.registerVoid(
          "delivery_failed",
          ({ error, attempts, deliveryId }) => void failed.push({ error, attempts, deliveryId }),
        ),
    });
    rig.platform.script = (operation) =>
      operation.kind === "create" && operation.part.text === "bad"
        ? { kind: "retry", error: "500", scope: "chat" }
        : undefined;
    const id = await send(rig, "bad");
    await send(rig, "good");
    await waitsAfter(rig, id, 1);
    await rig.clock.advance(2_000);
    await waitsAfter(rig, id, 2);
    await rig.clock.advance(5_000);
    expect(await ended(rig, id)).toMatchObject({ status: "dead", reason: "500" });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["good"]);
    expect(failed).toEqual([{ error: "500", attempts: 3, deliveryId: id }]);
  });
});

describe("a platform that cannot be reached", () => {
  it("costs no message its life, is not asked by every chat, and gets everything when it is back", async () => {
    const rig = await startRig({ gateway: { outbox_attempts: 3, retry_max: "1m" } });
    rig.platform.script = () => ({ kind: "retry", error: "connection refused", scope: "bot" });
    for (let i = 0; i < 10; i++) await send(rig, String(i), {}, `c${i}`);
    for (let minutes = 0; minutes < 30; minutes++) await rig.clock.advance(60_000);
    expect(rig.platform.requests.length).toBeLessThan(400);
    rig.platform.script = () => undefined;
    await passTimeUntil(rig, async () => (await rig.store.outbox.counts()).sent === 10);
    expect(rig.platform.texts().sort()).toEqual(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  });

  it.each([
    ["an outage", { kind: "retry", error: "connection refused", scope: "bot" }],
    ["a limit", { kind: "retry", error: "429", afterMs: 1_000, scope: "chat" }],
  ] as const)("leaves a message all its attempts after %s", async (_, answer) => {
    const rig = await startRig({ gateway: { outbox_attempts: 3, retry_max: "1m" } });
    rig.platform.script = () => answer;
    const id = await send(rig, "hello");
    await passTimeUntil(rig, async () => ((await rig.store.outbox.get(id))?.attempts ?? 0) > 3);
    script(rig.platform, ...Array.from({ length: 2 }, () => ({ kind: "retry", error: "500", scope: "chat" }) as const));
    await passTimeUntil(rig, async () => (await rig.store.outbox.counts()).sent === 1);
  });
});

describe("a key that a plugin gives to `once`", () => {
  it("is warned of when it comes with another chat or another text, and not when the same is sent again", async () => {
    const lines: string[] = [];
    const warn = (_facts: object, message?: string) => void lines.push(message ?? "");
    const rig = await startRig({ logger: { ...silentLogger, warn, child: () => ({ ...silentLogger, warn }) } });
    const once = { plugin: "greeter", deliveryId: "d_key" };
    expect(await send(rig, "welcome", once)).toBe("d_key");
    await ended(rig, "d_key");
    expect(await send(rig, "welcome", once)).toBe("d_key");
    expect(lines).toEqual([]);
    expect(await send(rig, "welcome", once, "other")).toBe("d_key");
    expect(await send(rig, "goodbye", once)).toBe("d_key");
    expect(lines).toEqual([
      expect.stringMatching(
        /^plugin "greeter" sends with a `once` key that it used before for another chat: nothing is sent/,
      ),
      expect.stringMatching(/^plugin "greeter" sends with a `once` key that it used before for another message/),
    ]);
    await rig.idle();
    expect([rig.platform.texts(), rig.platform.texts("other")]).toEqual([["welcome"], []]);
  });
});

describe("a pause beyond reason", () => {
  it.each([
    [31_536_000_000, "365 d"],
    [1e300, "more than a year"],
  ])("is cut to an hour, is shown as cut, and is met again after it: %s ms", async (afterMs, length) => {
    const lines: string[] = [];
    const warn = (_facts: object, message?: string) => void lines.push(message ?? "");
    const rig = await startRig({ logger: { ...silentLogger, warn, child: () => ({ ...silentLogger, warn }) } });
    script(rig.platform, { kind: "retry", error: "flood", afterMs, scope: "bot" });
    const id = await send(rig, "patient");
    await waitsAfter(rig, id, 1);
    const why = `asked for a pause of ${length}, cut to 1 h: flood`;
    expect(await rig.gateway.status()).toMatchObject({
      adapters: [{ pausedUntil: rig.clock.now() + 3_600_000, pauseReason: why }],
    });
    expect(lines).toContain(`loop ${why}`);
    const next = await restart(rig);
    await next.clock.advance(3_600_000);
    await ended(next, id);
    expect(next.platform.texts()).toEqual(["patient"]);
  });
});

describe("an answer that is lost", () => {
  const PAUSE = { kind: "retry", error: "429", afterMs: 120_000, scope: "chat" } as const;

  it("is repeated with the same nonce where the platform deduplicates, and shows once", async () => {
    const rig = await startRig({ platforms: [new LoopbackPlatform("loop", { idempotentCreate: true })] });
    script(rig.platform, { kind: "lost" });
    const id = await send(rig, "once");
    await waitsAfter(rig, id, 1);
    await rig.clock.advance(2_000);
    expect(await ended(rig, id)).toMatchObject({ status: "sent" });
    expect(rig.platform.texts()).toEqual(["once"]);
    const [first, second] = rig.platform.requests;
    expect(first?.kind === "create" && second?.kind === "create" && first.nonce === second.nonce).toBe(true);
    expect(first?.kind === "create" && first.nonce.length <= 25).toBe(true);
  });

  it("is held where it does not, never repeated by itself, and the conversation goes on", async () => {
    const rig = await startRig();
    script(rig.platform, { kind: "lost" });
    const id = await send(rig, "once");
    await send(rig, "next");
    expect(await ended(rig, id)).toMatchObject({ status: "held" });
    await rig.idle();
    await rig.clock.advance(3_600_000);
    expect(rig.platform.texts()).toEqual(["once", "next"]);
  });

  it.each([
    { what: "the platform may have forgotten its nonce", forMs: 60_000, ttl: "1h", second: PAUSE },
    { what: "its time is over", forMs: 600_000, ttl: "1m", second: PAUSE },
    { what: "it is refused now", forMs: 600_000, ttl: "1h", second: { kind: "permanent", error: "no" } as const },
  ])("is held, and not repeated, when $what", async ({ forMs, ttl, second }) => {
    const traits = { idempotentCreate: true, idempotentForMs: forMs };
    const rig = await startRig({ platforms: [new LoopbackPlatform("loop", traits)], gateway: { ttl } });
    script(rig.platform, { kind: "lost" }, second);
    const id = await send(rig, "once");
    await waitsAfter(rig, id, 1);
    await passTimeUntil(rig, async () => (await rig.store.outbox.get(id))?.settledAt !== undefined);
    expect(await rig.store.outbox.get(id)).toMatchObject({
      status: "held",
      reason: expect.stringContaining("may or may not have arrived"),
      parts: [{ status: "sending" }],
    });
    expect(rig.platform.requests).toHaveLength(2);
    expect(rig.platform.texts()).toEqual(["once"]);
  });

  it("is in doubt, too, when it is a change whose time ends while its platform is away", async () => {
    const rig = await startRig();
    const card = await send(rig, "draft");
    await ended(rig, card);
    script(rig.platform, { kind: "lost" });
    const edit = await rig.gateway.edit(card, { text: "better" }, { cause, ttlMs: 60_000 });
    await waitsAfter(rig, edit, 1);
    rig.adapter.context.gateway.state({ phase: "reconnecting" });
    await rig.clock.advance(60_000);
    const late = await ended(rig, edit);
    expect(late.reason).toMatch(/^it may or may not have arrived: .*; not sent in time \(the limit is 1 min\)$/);
    expect(fateOf(late)).toBe("in_doubt");
  });

  it("is repeated after a wait before its first request that was longer than its nonce is remembered", async () => {
    const traits = { idempotentCreate: true, idempotentForMs: 60_000 };
    const rig = await startRig({ platforms: [new LoopbackPlatform("loop", traits)] });
    script(rig.platform, PAUSE, { kind: "lost" });
    const id = await send(rig, "once");
    await waitsAfter(rig, id, 1);
    await rig.clock.advance(120_000);
    await passTimeUntil(rig, async () => (await rig.store.outbox.get(id))?.settledAt !== undefined);
    expect(await rig.store.outbox.get(id)).toMatchObject({ status: "sent" });
    expect(rig.platform.texts()).toEqual(["once"]);
    expect(rig.platform.requests).toHaveLength(3);
  });

  it("and was held is released with what it was edited to since", async () => {
    const rig = await startRig();
    script(rig.platform, { kind: "throw" });
    const id = await send(rig, "draft");
    expect(await ended(rig, id)).toMatchObject({ status: "held" });
    for (const text of ["better", "best"]) {
      const edit = await rig.gateway.edit(id, { text }, { cause });
      expect(await ended(rig, edit)).toMatchObject({ status: "held", reason: `what it changes is held: ${id}` });
    }
    expect(await rig.gateway.release(id)).toBe(true);
    await rig.clock.advance(2_000);
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["best"]);
    expect(rig.platform.requests.map(({ kind }) => kind)).toEqual(["create", "create"]);
  });

  it("and was held is sent again when an operator releases it, or taken as sent when they confirm it", async () => {
    const sent: string[] = [];
    const rig = await startRig({
      hooks: (registry) => void registry.registerVoid("message_sent", ({ message }) => void sent.push(message.text)),
    });
    script(rig.platform, { kind: "throw" }, { kind: "lost" });
    const [lost, arrived] = [await send(rig, "lost"), await send(rig, "arrived")];
    await ended(rig, lost);
    await ended(rig, arrived);
    expect(await rig.gateway.release(lost)).toBe(true);
    expect(await rig.gateway.release(arrived, true)).toBe(true);
    // Two in a row without an answer: the platform is tried again after a pause.
    await rig.clock.advance(6_000);
    await rig.idle();
    expect(await rig.gateway.release(lost)).toBe(false);
    expect(rig.platform.texts().sort()).toEqual(["arrived", "lost"]);
    expect(sent.sort()).toEqual(["arrived", "lost"]);
  });

  it("is held, too, where the adapter says of this one request that it must not be repeated", async () => {
    const rig = await startRig({ platforms: [new LoopbackPlatform("loop", { idempotentCreate: true })] });
    script(rig.platform, { kind: "ambiguous", error: "a forum post", mayRepeat: false });
    expect(await ended(rig, await send(rig, "once"))).toMatchObject({ status: "held" });
    expect(rig.platform.requests).toHaveLength(1);
  });

  it.each([
    { isPrivate: true, becomes: "held" },
    { isPrivate: false, becomes: "sent" },
  ])(
    "in the second part of an answer to an interaction (private: $isPrivate) ends $becomes: only private follow-ups have no nonce",
    async ({ isPrivate, becomes }) => {
      const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
      platform.script = (_operation, n) => (n === 2 ? { kind: "lost" } : undefined);
      const rig = await startRig({ platforms: [platform] });
      const interaction = { id: "i", token: "t", isPrivate, expiresAt: rig.clock.now() + 900_000 };
      const id = await send(rig, "x".repeat(60), { interaction });
      await until(() => platform.requests.length === 2);
      await until(async () => (await rig.store.outbox.get(id))?.reason?.includes("may or may not"));
      await rig.clock.advance(2_000);
      expect(await ended(rig, id)).toMatchObject({ status: becomes });
      expect(platform.texts()).toHaveLength(2);
    },
  );

  it("is repeated where the policy says resend", async () => {
    const rig = await startRig({ gateway: { ambiguous: "resend" } });
    script(rig.platform, { kind: "lost" });
    const id = await send(rig, "twice");
    await waitsAfter(rig, id, 1);
    await rig.clock.advance(2_000);
    await ended(rig, id);
    expect(rig.platform.texts()).toEqual(["twice", "twice"]);
  });

  it("is what a request without any answer comes to", async () => {
    const rig = await startRig({ gateway: { send_timeout: "10s" } });
    script(rig.platform, { kind: "hang" });
    const id = await send(rig, "hung");
    await until(() => rig.platform.requests.length === 1);
    await rig.clock.advance(10_000);
    expect(await ended(rig, id)).toMatchObject({ status: "held", reason: expect.stringContaining("no answer within") });
  });
});

describe("what would wait behind another delivery", () => {
  const interaction = { id: "i1", token: "t1", isPrivate: true, expiresAt: Number.MAX_SAFE_INTEGER };
  const idempotent = () => new LoopbackPlatform("loop", { idempotentCreate: true });
  const textOf = (operation: SendOperation) => (operation.kind === "delete" ? "" : operation.part.text);

  it("an answer to an interaction goes while its channel is busy, paused or in doubt", async () => {
    const rig = await startRig({ platforms: [idempotent()] });
    rig.platform.script = (operation) => (textOf(operation) === "upload" ? { kind: "hang" } : undefined);
    await send(rig, "upload");
    await send(rig, "in line");
    await until(() => rig.platform.requests.length === 1);
    await ended(rig, await send(rig, "answer", { interaction }));
    expect(rig.platform.texts()).toEqual(["answer"]);

    const paused = await startRig({ platforms: [idempotent()] });
    script(paused.platform, { kind: "retry", error: "flood", afterMs: 600_000, scope: "chat" });
    await waitsAfter(paused, await send(paused, "too much"), 1);
    await ended(paused, await send(paused, "answer", { interaction }));
    expect(paused.platform.texts()).toEqual(["answer"]);
  });

  it("answers to one interaction keep their order", async () => {
    const rig = await startRig({ platforms: [idempotent()] });
    script(rig.platform, { kind: "retry", error: "busy", afterMs: 5_000, scope: "chat" });
    await waitsAfter(rig, await send(rig, "first", { interaction }), 1);
    const last = await send(rig, "second", { interaction });
    await send(rig, "beside it");
    await passTimeUntil(rig, async () => (await rig.store.outbox.get(last))?.status === "sent");
    expect(rig.platform.texts()).toEqual(["beside it", "first", "second"]);
  });

  it("later messages pass one in doubt after three attempts, after a crash too; it goes on being tried and shows once", async () => {
    const rig = await startRig({ platforms: [idempotent()] });
    const refuse = (operation: SendOperation): Scripted | undefined =>
      textOf(operation) === "doubtful" ? { kind: "ambiguous", error: "HTTP 500" } : undefined;
    rig.platform.script = refuse;
    const doubtful = await send(rig, "doubtful");
    const next = await send(rig, "next");
    const since = rig.clock.now();
    await waitsAfter(rig, doubtful, 1);
    expect(rig.platform.texts()).toEqual([]);
    await passTimeUntil(rig, async () => (await rig.store.outbox.get(next))?.status === "sent");
    expect(rig.clock.now() - since).toBeLessThan(10_000);
    expect(await rig.store.outbox.get(doubtful)).toMatchObject({ status: "sending" });

    const later = await restart(rig);
    await ended(later, await send(later, "after the crash"));
    later.platform.script = () => undefined;
    await passTimeUntil(later, async () => (await later.store.outbox.get(doubtful))?.status === "sent");
    expect(later.platform.texts()).toEqual(["next", "after the crash", "doubtful"]);
  });

  it.each([
    ["its answers are clear again", undefined, "sent", ["done", "next"]],
    ["a newer one follows", "newer", "superseded", ["newer", "next"]],
    ["its time to live ends", "1m", "held", ["pending", "next"]],
  ])("a change in doubt is repeated until %s, and later messages pass it", async (_, end, status, texts) => {
    const ttl = status === "held" ? { ttl: end } : {};
    const rig = await startRig({ gateway: { retry_max: "2s", ...ttl } });
    const card = await send(rig, "pending");
    await ended(rig, card);
    rig.platform.script = ({ kind }) => (kind === "edit" ? { kind: "ambiguous", error: "HTTP 503" } : undefined);
    const edit = await rig.gateway.edit(card, { text: "done" }, { cause });
    await send(rig, "next");
    await passTimeUntil(rig, async () => {
      const { status: now, attempts = 0 } = (await rig.store.outbox.get(edit)) ?? {};
      return now === "held" || attempts > 10;
    });
    expect(rig.platform.texts()).toEqual(["pending", "next"]);
    expect(await rig.store.outbox.counts()).toMatchObject({ held: 0, dead: 0 });
    if (status !== "held") rig.platform.script = () => undefined;
    if (status === "superseded") await ended(rig, await rig.gateway.edit(card, { text: "newer" }, { cause }));
    await passTimeUntil(rig, async () => (await rig.store.outbox.get(edit))?.status === status);
    expect(rig.platform.texts()).toEqual(texts);
  });

  it("one answer that takes very long is enough to be passed", async () => {
    const rig = await startRig({ platforms: [idempotent()] });
    script(rig.platform, { kind: "hang" });
    await send(rig, "lost");
    const next = await send(rig, "next");
    await until(() => rig.platform.requests.length === 1);
    await rig.clock.advance(30_000);
    await ended(rig, next);
  });

  it("what was certainly not posted is not passed: the order stays", async () => {
    const rig = await startRig({ platforms: [idempotent()] });
    script(
      rig.platform,
      ...Array.from({ length: 5 }, () => ({ kind: "retry", error: "no file", scope: "chat" }) as const),
    );
    await send(rig, "first");
    const next = await send(rig, "second");
    await passTimeUntil(rig, async () => (await rig.store.outbox.get(next))?.status === "sent");
    expect(rig.platform.texts()).toEqual(["first", "second"]);
  });

  it("edits of one message stay in order in different queues: an older one is waited for on the wire, and dropped behind a newer one", async () => {
    const rig = await startRig({ platforms: [idempotent()] });
    const card = await send(rig, "v1");
    await ended(rig, card);
    const edit = (text: string, extra = {}) => rig.gateway.edit(card, { text }, { cause, ...extra });
    let release: (result: Scripted) => void = () => {};
    const take = rig.platform.take.bind(rig.platform);
    rig.platform.take = async (operation, signal) => {
      if (textOf(operation) === "v2") {
        rig.platform.requests.push(operation);
        return (await new Promise<Scripted>((resolve) => {
          release = resolve;
        })) as SendResult;
      }
      return take(operation, signal);
    };
    const older = await edit("v2");
    await until(() => rig.platform.requests.length === 2);
    const newer = await edit("v3", { interaction });
    await rig.clock.advance(2_000);
    expect(rig.platform.requests).toHaveLength(2);
    release({ kind: "retry", error: "HTTP 500", scope: "chat" });
    await passTimeUntil(rig, async () => (await rig.store.outbox.get(newer))?.status === "sent");
    await passTimeUntil(rig, async () => (await rig.store.outbox.get(older))?.status === "superseded");
    expect(rig.platform.texts()).toEqual(["v3"]);
    expect(rig.platform.requests).toHaveLength(3);
  });
});

describe("a request that carries a file", () => {
  it("has longer than others: an upload on a slow line is not taken for one that was lost", async () => {
    const rig = await startRig({ gateway: { send_timeout: "10s", upload_timeout: "1m" } });
    script(rig.platform, { kind: "hang" });
    const file = { type: "image" as const, ref: "1", url: "data:image/png;base64,AA==", mimeType: "image/png" };
    const id = await rig.gateway.send(at, { text: "look", attachments: [file] }, { cause });
    await until(() => rig.platform.requests.length === 1);
    await rig.clock.advance(59_000);
    expect(await rig.store.outbox.get(id)).toMatchObject({ status: "sending" });
    await rig.clock.advance(1_000);
    expect(await ended(rig, id)).toMatchObject({ reason: expect.stringContaining("no answer within 60000 ms") });
  });

  const file = { type: "file" as const, ref: "", url: "https://files.example/a", mimeType: "text/plain" };

  it("is in doubt only when its files were fetched, and has its whole time from then on", async () => {
    const rig = await startRig({ gateway: { upload_timeout: "1m" } });
    rig.platform.isFetching = true;
    script(rig.platform, { kind: "hang" });
    const id = await rig.gateway.send(at, { text: "look", attachments: [file] }, { cause });
    const [asked] = await until(() => (rig.platform.requests.length === 1 ? rig.platform.requests : undefined));
    await rig.clock.advance(59_000);
    const fetch = asked?.kind === "create" ? asked.fetch : undefined;
    expect(fetch?.withinMs).toBe(60_000);
    fetch?.onEnd();
    await rig.clock.advance(59_000);
    expect(await rig.store.outbox.get(id)).toMatchObject({ status: "sending", attempts: 0 });
    await rig.clock.advance(1_000);
    expect(await ended(rig, id)).toMatchObject({ status: "held", reason: expect.stringContaining("60000 ms") });
  });

  it("is sent again when the fetch of its files does not end, and the one before it is called off", async () => {
    const rig = await startRig({ gateway: { upload_timeout: "1m" } });
    rig.platform.isFetching = true;
    script(rig.platform, { kind: "hang" });
    const id = await rig.gateway.send(at, { text: "look", attachments: [file] }, { cause });
    await until(() => rig.platform.requests.length === 1);
    await rig.clock.advance(120_000);
    const waiting = await waitsAfter(rig, id, 1);
    expect(waiting.reason).toContain("a file could not be fetched");
    expect(rig.platform.calledOff).toBe(1);
    await passTimeUntil(rig, async () => (await rig.store.outbox.get(id))?.status === "sent");
    expect(rig.platform.texts()).toEqual(["look"]);
  });
});

describe("a crash", () => {
  it("between send and confirm shows once where the platform deduplicates", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    const rig = await startRig({ platforms: [platform] });
    platform.script = () => ({ kind: "hang" });
    await send(rig, "once");
    await until(() => platform.requests.length === 1);
    // It was posted; the process dies before it knows.
    const [request] = platform.requests;
    platform.script = () => undefined;
    if (request) await platform.take(request, new AbortController().signal);
    const next = await restart(rig);
    await next.idle();
    expect(platform.texts()).toEqual(["once"]);
  });

  it("in a hook runs the hook again, as the second attempt of the same dispatch", async () => {
    const runs: string[] = [];
    const hooks = (hang: boolean) => (registry: HookRegistry) =>
      void registry.registerModifying("message_sending", async (_payload, context) => {
        runs.push(`${context.dispatchId} ${context.attempt}`);
        if (hang) await new Promise(() => {});
        return null;
      });
    const rig = await startRig({ hooks: hooks(true) });
    const id = await send(rig, "cut off");
    await until(() => runs.length === 1);
    await rig.clock.advance(1);
    const next = await restart(rig, { hooks: hooks(false) });
    await ended(next, id);
    expect(runs).toEqual([`${id}:message_sending 1`, `${id}:message_sending 2`]);
  });

  it("counts the calls of hooks, and not the starts that a message waited over", async () => {
    const calls: string[] = [];
    const listen = (registry: HookRegistry) => {
      const note = (_: unknown, { dispatchId, attempt }: { dispatchId: string; attempt: number }) =>
        void calls.push(`${dispatchId} ${attempt}`);
      registry.registerClaiming("before_dispatch", (payload, context) => {
        note(payload, context);
        return { handled: false };
      });
      registry.registerModifying("message_sending", (payload, context) => {
        note(payload, context);
        return null;
      });
      registry.registerVoid("message_sent", note);
    };
    const rig = await startRig({ hooks: listen });
    rig.platform.script = () => ({ kind: "retry", error: "503", scope: "chat" });
    const first = await send(rig, "one");
    const second = await send(rig, "two");
    await waitsAfter(rig, first, 1);
    rig.platform.script = () => undefined;
    const next = await restart(rig, { hooks: listen });
    await passTimeUntil(next, async () => (await next.store.outbox.get(second))?.status === "sent");
    await until(() => calls.length === 6);
    expect(calls.sort()).toEqual(
      [first, second]
        .flatMap((id) => ["before_dispatch", "message_sending", "message_sent"].map((at) => `${id}:${at} 1`))
        .sort(),
    );
  });

  it("between send and confirm holds the message where the platform does not", async () => {
    const rig = await startRig();
    rig.platform.script = () => ({ kind: "hang" });
    const id = await send(rig, "doubtful");
    await until(() => rig.platform.requests.length === 1);
    rig.platform.script = () => undefined;
    const next = await restart(rig);
    await send(next, "next");
    expect(await ended(next, id)).toMatchObject({ status: "held" });
    await next.idle();
    expect(next.platform.texts()).toEqual(["next"]);
  });

  it("while a message waits for the rate limit leaves no doubt", async () => {
    const platform = new LoopbackPlatform("loop", { limits: { perSecond: 30, perChatPerSecond: 1 } });
    const rig = await startRig({ platforms: [platform] });
    const ids = [await send(rig, "one"), await send(rig, "two"), await send(rig, longText)];
    await ended(rig, ids[0] as string);
    const next = await restart(rig);
    for (const id of ids) await passTimeUntil(next, async () => (await next.store.outbox.get(id))?.status === "sent");
    for (const id of ids) expect(await next.store.outbox.get(id)).toMatchObject({ status: "sent" });
    expect(platform.texts().slice(0, 2)).toEqual(["one", "two"]);
    expect(platform.texts().slice(2).join("")).toBe(longText);
  });

  it("in the middle of a message in parts sends the rest, and no part twice", async () => {
    const platform = new LoopbackPlatform("loop", { limits: { perSecond: 30, perChatPerSecond: 1 } });
    const rig = await startRig({ platforms: [platform] });
    const id = await send(rig, longText);
    await until(() => platform.texts().length === 1);
    await until(async () => (await rig.store.outbox.get(id))?.parts[0]?.status === "sent");
    const next = await restart(rig);
    await passTimeUntil(next, async () => (await next.store.outbox.get(id))?.status === "sent");
    expect(platform.texts().join("")).toBe(longText);
  });
});

describe("hooks", () => {
  it("rewrite, cancel and suppress; a button's words and a card reach them too", async () => {
    const failed: string[] = [];
    const rig = await startRig({
      hooks(registry) {
        registry.registerClaiming(
          "before_dispatch",
          ({ text }) => (text.includes("noise") ? { handled: true, reason: "a repeat" } : { handled: false }),
          { id: "quiet" },
        );
        registry.registerModifying("message_sending", ({ message }) =>
          message.text === "stop"
            ? { cancel: "not today" }
            : { message: { ...message, text: message.text.replace("secret", "***") } },
        );
        registry.registerVoid("delivery_failed", ({ error }) => void failed.push(error));
      },
    });
    const [kept, noise, stop] = [await send(rig, "a secret"), await send(rig, "noise"), await send(rig, "stop")];
    const card = await rig.gateway.send(at, { text: "", card: { title: "noise" } }, { cause });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["a ***"]);
    expect(await rig.store.outbox.get(kept)).toMatchObject({
      status: "sent",
      frozen: { text: "a ***" },
      message: { text: "a secret" },
    });
    for (const id of [noise, card])
      expect(await rig.store.outbox.get(id)).toMatchObject({
        status: "suppressed",
        reason: "suppressed by quiet: a repeat",
      });
    expect(await rig.store.outbox.get(stop)).toMatchObject({ status: "cancelled", reason: "not today" });
    expect(failed).toEqual(["not today"]);
    // A veto is no change, and its reason is in words.
    const vetoed = rig.dispatches.find(({ id }) => id === `${stop}:message_sending`);
    expect(vetoed).toMatchObject({ outcome: "cancelled", runs: [{ outcome: "cancelled", reason: "not today" }] });
    expect(redact(vetoed?.result, "us")).toEqual({ cancel: "not today" });
    expect(vetoed?.runs[0]?.diff).toBeUndefined();
  });

  it("that change the text keep the card and the buttons, and null takes a part away", async () => {
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerModifying("message_sending", ({ message }) =>
          message.text === "bare" ? { message: { card: null } } : { message: { text: `${message.text}!` } },
        ),
    });
    const card = { title: "Build 7" };
    const buttons = [[{ label: "Open", url: "https://example.org" }]];
    const whole = await rig.gateway.send(at, { text: "done", card, buttons }, { cause });
    const bare = await rig.gateway.send(at, { text: "bare", card, buttons }, { cause });
    await rig.idle();
    expect((await rig.store.outbox.get(whole))?.frozen).toEqual({ text: "done!", card, buttons });
    expect((await rig.store.outbox.get(bare))?.frozen).toEqual({ text: "bare", buttons });
  });

  it("see what hooks before them made of the message, without asking for it", async () => {
    const rig = await startRig({
      hooks(registry) {
        registry.registerModifying(
          "message_sending",
          ({ message }) => ({ message: { text: `HEAD ${message.text}` } }),
          {
            id: "header",
            priority: 5,
          },
        );
        registry.registerModifying(
          "message_sending",
          ({ message }) => ({ message: { text: message.text.replace("S3CRET", "***") } }),
          { id: "redact", failurePolicy: "fail-closed" },
        );
      },
    });
    await send(rig, "the value is S3CRET");
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["HEAD the value is ***"]);
  });

  it.each(["no redactor", "it may have been sent", "it may or may not have arrived"])(
    "that fail closed hold the message, which is not in doubt (%s); released, it goes through the hooks again",
    async (error) => {
      let isBroken = true;
      const rig = await startRig({
        hooks: (registry) =>
          void registry.registerModifying(
            "message_sending",
            ({ message }) => {
              if (isBroken) throw new Error(error);
              return { message: { ...message, text: "redacted" } };
            },
            { id: "redact", failurePolicy: "fail-closed" },
          ),
      });
      const id = await send(rig, "card number");
      const held = await ended(rig, id);
      expect(held).toMatchObject({ status: "held", reason: expect.stringContaining(error) });
      expect(fateOf(held)).toBe("withheld");
      expect(await rig.store.outbox.letters(["held"], {})).toMatchObject([{ id, isAmbiguous: false }]);
      expect(rig.platform.requests).toHaveLength(0);
      isBroken = false;
      await rig.gateway.release(id);
      await rig.idle();
      expect(rig.platform.texts()).toEqual(["redacted"]);
      // Each under an id of its own: the failure can be opened after the success.
      expect(rig.dispatches.map(({ id: dispatch, outcome, attempt }) => [dispatch, outcome, attempt])).toEqual([
        [`${id}:message_sending`, "failed", 1],
        [`${id}:message_sending:2`, "modified", 1],
      ]);
    },
  );

  it.each([{ message: null }, { cancel: null }])("that fail closed hold the message with %j", async (result) => {
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerModifying("message_sending", () => result as never, {
          id: "redact",
          failurePolicy: "fail-closed",
        }),
    });
    const id = await send(rig, "card number");
    expect(await ended(rig, id)).toMatchObject({
      status: "held",
      reason: expect.stringContaining(`${Object.keys(result)[0]}: null has no effect`),
    });
    expect(rig.platform.requests).toHaveLength(0);
  });

  it("that fail closed do not bring a text of a message into the log of the held delivery or the given-up message", async () => {
    const logged: object[] = [];
    const note = (facts: object, message?: string) => void logged.push({ message, facts });
    const logger = { ...silentLogger, warn: note, error: note };
    const quote = (hook: string, text: string) => {
      throw new Error(`${hook} says that "${text}" is forbidden`);
    };
    const rig = await startRig({
      logger: { ...logger, child: () => logger },
      hooks(registry) {
        registry.registerModifying("message_sending", ({ message }) => quote("guard", message.text), {
          id: "guard",
          failurePolicy: "fail-closed",
        });
        registry.registerClaiming("inbound_claim", ({ message }) => quote("gate", message.text), {
          id: "gate",
          failurePolicy: "fail-closed",
        });
      },
    });
    const id = await send(rig, "S3CRET");
    expect(await ended(rig, id)).toMatchObject({ status: "held", reason: expect.stringContaining("S3CRET") });
    await rig.say("S3CRET");
    await until(async () => {
      await rig.clock.advance(60_000);
      return logged.some((one) => "message" in one && one.message === "handling is given up: dead letter");
    });
    // What a hook throws is logged once, as its own error.
    const own = logged.filter((one) => !("message" in one && /^Hook "(guard|gate)" failed/.test(String(one.message))));
    expect(own.map((one) => ("message" in one ? one.message : ""))).toEqual(
      expect.arrayContaining(["delivery not sent", "handling failed; it is tried again"]),
    );
    expect(JSON.stringify(own)).not.toContain("S3CRET");
    expect(JSON.stringify(own)).toContain("failed at message_sending and is fail-closed");
    expect(JSON.stringify(own)).toContain("failed at inbound_claim and is fail-closed");
  });

  it("that hang do not keep the next conversation waiting", async () => {
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerModifying(
          "message_sending",
          ({ chatId }) => (chatId === "room" ? new Promise<null>(() => {}) : null),
          { timeoutMs: 5_000 },
        ),
    });
    await send(rig, "stuck");
    await send(rig, "free", {}, "other");
    await until(() => rig.platform.texts("other").length > 0);
    await rig.clock.advance(6_000);
    await rig.idle();
    expect(rig.platform.texts("room")).toEqual(["stuck"]);
  });

  it("see their own chain cut when they answer each other for ever", async () => {
    const rig = await startRig();
    rig.registry.registerVoid("message_sent", async ({ cause: { depth } }, { dispatchId }) => {
      await rig.gateway.send(
        at,
        { text: `again ${depth}` },
        { cause: { kind: "hook", id: dispatchId, depth: depth + 1 } },
      );
    });
    await send(rig, "start");
    await until(() => rig.platform.texts().includes("again 8"));
    await rig.idle();
    expect(rig.platform.texts().at(-1)).toBe("again 8");
  });
});

describe("formatting, parts, edits and deletions", () => {
  it("that the platform refuses goes as plain text", async () => {
    const rig = await startRig();
    script(rig.platform, { kind: "format", error: "cannot parse entities" });
    const id = await send(rig, "**bold**");
    expect(await ended(rig, id)).toMatchObject({ status: "sent" });
    expect(rig.platform.messages[0]?.body.text).toBe("bold");
  });

  it("that is refused as plain text too is a dead letter", async () => {
    const rig = await startRig();
    rig.platform.script = () => ({ kind: "format", error: "cannot parse entities" });
    expect(await ended(rig, await send(rig, "**bold**"))).toMatchObject({ status: "dead" });
  });

  it("in a later part loses no text", async () => {
    const rig = await startRig();
    script(rig.platform, undefined, { kind: "format", error: "cannot parse entities" });
    const text = `${"0".repeat(40)}**bold** and more in the second of the parts`;
    await ended(rig, await send(rig, text));
    expect(rig.platform.texts().join("")).toBe(text);
    expect(rig.platform.messages.map(({ body }) => body.text).join("")).toBe(text.replaceAll("*", ""));
  });

  it("in parts tells message_sent all ids; an edit uses them, adds what is more and deletes what is too many", async () => {
    const sent: string[][] = [];
    const rig = await startRig({
      hooks: (registry) => void registry.registerVoid("message_sent", ({ messageIds }) => void sent.push(messageIds)),
    });
    const id = await send(rig, longText.slice(0, 80));
    await ended(rig, id);
    const longer = await rig.gateway.edit(id, { text: longText }, { cause });
    await ended(rig, longer);
    expect(rig.platform.texts().join("")).toBe(longText);
    expect(rig.platform.messages.map(({ edits }) => edits)).toEqual([1, 1, 0]);
    // An edit of the edit is an edit of the same message.
    await ended(rig, await rig.gateway.edit(longer, { text: "short" }, { cause }));
    expect(rig.platform.texts()).toEqual(["short"]);
    await rig.idle();
    expect(sent.map((ids) => ids.length)).toEqual([2, 3, 1]);
    await ended(rig, await rig.gateway.remove(id, { cause }));
    expect(rig.platform.texts()).toEqual([]);
  });

  it("of a message that is gone posts it anew, once", async () => {
    const rig = await startRig();
    const id = await send(rig, "card");
    await ended(rig, id);
    const [message] = rig.platform.messages;
    if (message) message.isDeleted = true;
    await ended(rig, await rig.gateway.edit(id, { text: "card 2" }, { cause }));
    await ended(rig, await rig.gateway.edit(id, { text: "card 3" }, { cause }));
    expect(rig.platform.texts()).toEqual(["card 3"]);
    expect(rig.platform.messages).toMatchObject([{ text: "card" }, { text: "card 3", edits: 1 }]);
    if (message) message.isDeleted = true;
    expect(await ended(rig, await rig.gateway.remove(id, { cause }))).toMatchObject({ status: "sent" });
    expect(rig.platform.texts()).toEqual([]);
  });

  it("that a newer edit follows are left out", async () => {
    const rig = await startRig();
    script(rig.platform, undefined, { kind: "retry", error: "429", afterMs: 5_000, scope: "chat" });
    const id = await send(rig, "0");
    await ended(rig, id);
    const edits: string[] = [];
    for (let i = 1; i <= 5; i++) edits.push(await rig.gateway.edit(id, { text: String(i) }, { cause }));
    await waitsAfter(rig, edits[0] as string, 1);
    await rig.clock.advance(5_000);
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["5"]);
    expect(rig.platform.messages[0]?.edits).toBe(2);
    expect(await rig.store.outbox.get(edits[2] as string)).toMatchObject({ status: "superseded" });
  });

  it("that cannot be encoded is a dead letter", async () => {
    const rig = await startRig();
    rig.adapter.encode = () => [];
    expect(await ended(rig, await send(rig, "x"))).toMatchObject({
      status: "dead",
      reason: expect.stringContaining("cannot be encoded"),
    });
  });
});

describe("other ways out", () => {
  it("a chat that moved is followed, by what waits for it too", async () => {
    const rig = await startRig();
    script(rig.platform, { kind: "moved", toChatId: "-100" });
    const ids = [await send(rig, "one"), await send(rig, "two")];
    for (const id of ids) await ended(rig, id);
    await send(rig, "three");
    await rig.idle();
    expect(rig.platform.texts("-100")).toEqual(["one", "two", "three"]);
    const next = await restart(rig);
    await send(next, "four");
    await next.idle();
    expect(next.platform.texts("-100")).toHaveLength(4);
  });

  it.each([
    ["where messages are numbered per chat, so settings may have its old id", true, 1],
    ["nowhere else: a direct conversation was opened, or a thread replaced", false, 0],
  ])("a chat that moved is logged %s", async (_where, idsPerChat, expected) => {
    const lines: string[] = [];
    const warn = (_facts: object, message?: string) => void lines.push(message ?? "");
    const rig = await startRig({
      platforms: [new LoopbackPlatform("loop", { idsPerChat })],
      logger: { ...silentLogger, warn, child: () => ({ ...silentLogger, warn }) },
    });
    script(rig.platform, { kind: "moved", toChatId: "-100" });
    await ended(rig, await send(rig, "one"));
    expect(rig.platform.texts("-100")).toEqual(["one"]);
    expect(lines.filter((line) => line.includes("a chat has another id now"))).toHaveLength(expected);
  });

  it("marks of direction and controls of strangers turn nothing that is shown after them", async () => {
    const rig = await startRig();
    const text = "see \u202eevil\nnext \u2066one\u2069 \u202b\u2067two";
    const card = { title: "disk\u202e full\u0000", fields: [{ name: "na\u001b\u202eme", value: "\u202evalue" }] };
    await ended(rig, await rig.gateway.send(at, { text, card }, { cause }));
    expect(rig.platform.texts("room").join("")).toBe(
      "see \u202eevil\u202c\nnext \u2066one\u2069 \u202b\u2067two\u2069\u202c\ndisk full\nname: \u202evalue\u202c",
    );
  });

  it("a chat that moved while it waits for a limit has what waits sent before what is newer", async () => {
    const rig = await startRig();
    script(rig.platform, { kind: "retry", error: "429", afterMs: 4_000, scope: "chat" });
    const ids = [await send(rig, "one"), await send(rig, "two"), await send(rig, "three")];
    await waitsAfter(rig, ids[0] as string, 1);
    await rig.receive({ kind: "moved", eventId: "moved", address: at, toChatId: "-100", at: 1 });
    await rig.settled("moved");
    await send(rig, "four", {}, "-100");
    await passTimeUntil(rig, async () => rig.platform.texts("-100").length === 4);
    expect(rig.platform.texts("-100")).toEqual(["one", "two", "three", "four"]);
  });

  it.each([
    ["an event", undefined],
    ["a refusal", undefined],
    ["an event", "urgent"],
    ["a refusal", "urgent"],
  ] as const)(
    "a chat whose move shows in %s has all that waits sent before what is new (urgency: %s)",
    async (way, urgency) => {
      const rig = await startRig();
      const texts = Array.from({ length: 40 }, (_, i) => `${i}`);
      const pause = { kind: "retry", error: "429", afterMs: 4_000, scope: "chat" } as const;
      script(rig.platform, pause, way === "a refusal" ? { kind: "moved", toChatId: "-100" } : undefined);
      const ids = [];
      for (const text of texts) ids.push(await send(rig, text, { urgency }));
      await waitsAfter(rig, ids[0] as string, 1);
      const isKnown = () => rig.gateway.currentAddress(at).chatId === "-100";
      const sendNew = async () => {
        while (!isKnown()) await new Promise((resolve) => setImmediate(resolve));
        await send(rig, "new", { urgency }, "-100");
      };
      const sending = sendNew();
      if (way === "an event")
        await rig.receive({ kind: "moved", eventId: "moved", address: at, toChatId: "-100", at: 1 });
      else await passTimeUntil(rig, async () => isKnown());
      await sending;
      await passTimeUntil(rig, async () => rig.platform.texts("-100").length > texts.length);
      expect(rig.platform.texts("-100")).toEqual([...texts, "new"]);
    },
  );

  describe("a chat that moved, whose messages are numbered afresh", () => {
    const numbered = () => startRig({ platforms: [new LoopbackPlatform("loop", { idsPerChat: true })] });
    const shown = (rig: Rig) => rig.platform.messages.filter(({ chatId }) => chatId === "-100").map(({ text }) => text);

    it("has an edit that finds out about the move posted anew, and later edits change that", async () => {
      const rig = await numbered();
      const id = await send(rig, longText);
      await ended(rig, id);
      script(rig.platform, undefined, { kind: "moved", toChatId: "-100" });
      const longer = longText.replaceAll("second", "2nd");
      await ended(rig, await rig.gateway.edit(id, { text: longer }, { cause }));
      expect(shown(rig)).toEqual([longer.slice(40, 80), longer.slice(80)]);
      await ended(rig, await rig.gateway.edit(id, { text: "short" }, { cause }));
      expect(rig.platform.texts("-100")).toEqual(["short"]);
      await ended(rig, await rig.gateway.remove(id, { cause }));
      expect(rig.platform.texts("-100")).toEqual([]);
      expect(rig.platform.texts("room").join("")).toBe(longer.slice(0, 40) + longText.slice(40));
    });

    it("has a deletion that finds out about the move left out", async () => {
      const rig = await numbered();
      const id = await send(rig, "old");
      await ended(rig, id);
      script(rig.platform, { kind: "moved", toChatId: "-100" });
      const removal = await ended(rig, await rig.gateway.remove(id, { cause }));
      expect(removal).toMatchObject({ status: "cancelled", reason: expect.stringContaining("before its chat moved") });
      expect(rig.platform.requests).toHaveLength(2);
    });

    it("has an answer without its reference, also one that waited, and one that is sent to the id of before", async () => {
      const rig = await numbered();
      script(rig.platform, { kind: "moved", toChatId: "-100" });
      const at = { platform: "loop", botId: "bot", chatId: "room" };
      const ids = [];
      for (const text of ["one", "two"]) ids.push(await rig.gateway.send(at, { text, replyToId: "1" }, { cause }));
      for (const id of ids) await ended(rig, id);
      await ended(rig, await rig.gateway.send(at, { text: "three", replyToId: "1" }, { cause }));
      await ended(rig, await rig.gateway.send({ ...at, chatId: "-100" }, { text: "four", replyToId: "1" }, { cause }));
      const inChat = rig.platform.messages.map(({ text, body }) => [text, body.replyToId]);
      expect(inChat).toEqual([
        ["one", undefined],
        ["two", undefined],
        ["three", undefined],
        ["four", "1"],
      ]);
    });
  });

  it("an interaction that is closed makes an ordinary message, and a private answer stays private", async () => {
    const platform = new LoopbackPlatform("loop", {
      privateAddress: (from, userId) => ({ ...from, chatId: `dm-${userId}` }),
    });
    const rig = await startRig({ platforms: [platform] });
    const interaction = { id: "i", token: "t", isPrivate: true, expiresAt: rig.clock.now() + 900_000 };
    script(platform, { kind: "interaction-closed", error: "10062" });
    await ended(rig, await send(rig, "private", { interaction, visibleTo: "7" }));
    expect(platform.messages).toMatchObject([{ chatId: "dm-7", text: "private" }]);
    await rig.clock.advance(1_000_000);
    await ended(rig, await send(rig, "public", { interaction: { ...interaction, isPrivate: false } }));
    expect(platform.messages[1]).toMatchObject({ chatId: "room", text: "public" });
    expect(platform.messages[1]?.through).toBeUndefined();
  });

  it("what is not sent within its time to live is a dead letter, also while the platform is away", async () => {
    const rig = await startRig();
    rig.adapter.context.gateway.state({ phase: "reconnecting", reason: "network" });
    const late = await send(rig, "late", { ttlMs: 60_000 });
    const patient = await send(rig, "patient", { ttlMs: 600_000 });
    await until(async () => (await rig.gateway.status()).adapters[0]?.conversationsWaiting === 1);
    await rig.clock.advance(60_000);
    expect(await ended(rig, late)).toMatchObject({ status: "dead", reason: "not sent in time (the limit is 1 min)" });
    rig.adapter.context.gateway.state({ phase: "online" });
    expect(await ended(rig, patient)).toMatchObject({ status: "sent" });
    expect(rig.platform.texts()).toEqual(["patient"]);
  });

  it("what is refused for good is a dead letter at once, and can be released", async () => {
    const rig = await startRig();
    script(rig.platform, { kind: "permanent", error: "chat not found" });
    const id = await send(rig, "x");
    expect(await ended(rig, id)).toMatchObject({ status: "dead", reason: "chat not found" });
    await rig.gateway.release(id);
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["x"]);
  });

  it("what an operator sends again may take as long as a new message, and not longer", async () => {
    const rig = await startRig({ gateway: { ttl: "1m" } });
    script(rig.platform, { kind: "permanent", error: "chat not found" });
    const id = await send(rig, "x");
    expect(await ended(rig, id)).toMatchObject({ status: "dead" });
    rig.adapter.context.gateway.state({ phase: "reconnecting" });
    await rig.clock.advance(120_000);
    await rig.gateway.release(id);
    expect((await rig.store.outbox.get(id))?.expiresAt).toBe(rig.clock.now() + 60_000);
    await until(async () => (await rig.gateway.status()).adapters[0]?.conversationsWaiting === 1);
    await rig.clock.advance(60_000);
    expect(await ended(rig, id)).toMatchObject({
      status: "dead",
      reason: "not sent in time (gateway.ttl is 1 min, counted from when an operator sent it again)",
    });
  });

  it("a platform that is not switched on, and a delivery that nobody knows, are refused", async () => {
    const rig = await startRig();
    await expect(rig.gateway.send({ ...at, platform: "irc" }, { text: "x" }, { cause })).rejects.toMatchObject({
      code: "PLATFORM_UNKNOWN",
    });
    await expect(rig.gateway.edit("d_none", { text: "x" }, { cause })).rejects.toMatchObject({
      code: "DELIVERY_UNKNOWN",
    });
  });
});

it("sends everything in order under limits per bot, chat and group", async () => {
  const platform = new LoopbackPlatform("loop", {
    limits: { perSecond: 10, perChatPerSecond: 1, perGroupPerMinute: 5 },
  });
  const rig = await startRig({ platforms: [platform] });
  for (let i = 0; i < 20; i++) await send(rig, String(i), {}, `c${i}`);
  const group = ["0", "1", "2", "3", "4", "5", "6", "7"];
  for (const text of group) await send(rig, text, {}, "-group");
  const startedAt = rig.clock.now();
  await passTimeUntil(rig, async () => (await rig.store.outbox.counts()).sent === 28);
  expect(rig.clock.now() - startedAt).toBeGreaterThan(60_000);
  expect(platform.texts("-group")).toEqual(group);
});
