/** What the inbox promises: nothing is lost, nothing is handled twice, nothing blocks its lane for ever. */
import { describe, expect, it } from "vitest";
import type { HookRegistry } from "../../src/hooks/registry.js";
import { HookgateError } from "../../src/lib/errors.js";
import { type Logger, silentLogger } from "../../src/lib/logger.js";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { messageOf, type Rig, restart, room, startRig } from "./rig.js";

const answer = (registry: HookRegistry) =>
  registry.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: message.text }), {
    id: "answer",
  });

describe("after a crash", () => {
  it("a message that was cut off runs again with the same dispatch ids and attempt 2, and is answered once", async () => {
    const seen: [string, string, number][] = [];
    const hang = (registry: HookRegistry) => {
      registry.registerVoid(
        "message_received",
        (_, { dispatchId, attempt }) => void seen.push(["received", dispatchId, attempt]),
      );
      registry.registerClaiming("inbound_claim", (_, { dispatchId, attempt }) => {
        seen.push(["claim", dispatchId, attempt]);
        return attempt === 1 ? new Promise<never>(() => {}) : { handled: true, reply: "done" };
      });
    };
    const rig = await startRig({ hooks: hang });
    await rig.say("hello", { messageId: "m1" });
    await until(() => seen.length === 2);
    const next = await restart(rig, { hooks: hang });
    expect(await next.settled("m1")).toMatchObject({ status: "done", attempts: 2 });
    await next.idle();
    expect(next.platform.texts()).toEqual(["done"]);
    expect(seen).toEqual([
      ["received", "m1:message_received", 1],
      ["claim", "m1:inbound_claim", 1],
      ["received", "m1:message_received", 2],
      ["claim", "m1:inbound_claim", 2],
    ]);
  });

  it("a message waits as long as the platform of its file asked, also where that is longer than `gateway.retry_max`", async () => {
    let tries = 0;
    const options = {
      platforms: [new LoopbackPlatform("loop"), new LoopbackPlatform("other")],
      keepFile: async () => "https://files.example/a",
      hooks: (registry: HookRegistry) =>
        void registry.registerClaiming("inbound_claim", () => ({
          handled: true,
          routeTo: { platform: "other", botId: "", chatId: "lobby" },
        })),
      beforeStart: ({ adapter }: Rig) =>
        void Object.assign(adapter, {
          async fetchAttachment() {
            tries++;
            throw new HookgateError({ code: "LIMITED", message: "429", retryable: true, retryAfterMs: 1_800_000 });
          },
        }),
    };
    const rig = await startRig(options);
    await rig.say("look", {
      messageId: "m1",
      attachments: [{ type: "file", ref: "f", url: "", mimeType: "text/plain" }],
    });
    await until(async () => (await rig.store.inbox.get(1))?.status === "deferred", "the wait");
    const next = await restart(rig, options);
    await next.say("behind", { messageId: "m2", chatId: "elsewhere" });
    await next.settled("m2", "elsewhere");
    expect(tries).toBe(1);
    await next.clock.advance(1_800_000);
    await until(() => tries === 2, "the second try");
  });

  it("everything that was accepted is answered, in order, whatever the number", async () => {
    const rig = await startRig({
      hooks: (registry) => void registry.registerClaiming("inbound_claim", () => new Promise<never>(() => {})),
    });
    const texts = Array.from({ length: 180 }, (_, i) => String(i));
    await Promise.all(texts.map((text) => rig.say(text, { messageId: text })));
    const next = await restart(rig, { hooks: (registry) => void answer(registry) });
    await next.idle();
    expect(next.platform.texts()).toEqual(texts);
  });

  it("a message that crashes the gateway again and again becomes a dead letter, and the lane goes on", async () => {
    const hang = (registry: HookRegistry) =>
      registry.registerClaiming("inbound_claim", ({ message }) =>
        message.text === "poison" ? new Promise<never>(() => {}) : { handled: true, reply: message.text },
      );
    const options = { gateway: { inbox_attempts: 3 }, hooks: (registry: HookRegistry) => void hang(registry) };
    let rig = await startRig(options);
    await rig.say("poison", { messageId: "m1" });
    await rig.say("fine", { messageId: "m2" });
    for (let crashes = 1; crashes <= 3; crashes++) {
      await until(async () => (await rig.store.inbox.get(1))?.attempts === crashes);
      rig = await restart(rig, options);
    }
    expect(await rig.settled("m1")).toMatchObject({
      status: "dead",
      error: expect.stringContaining("cut off 3 times"),
    });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["fine"]);
    expect((await rig.gateway.status()).inbox.dead).toBe(1);
  });
});

describe("handling that fails", () => {
  it("is tried again with growing pauses at the head of its lane, then buried; revived, it is handled anew", async () => {
    let isBroken = true;
    const attempts: string[] = [];
    const rig = await startRig({
      gateway: { inbox_attempts: 3, retry_first: "1s" },
      hooks: (registry) =>
        void registry.registerClaiming(
          "inbound_claim",
          ({ message }, { dispatchId, attempt }) => {
            if (message.text === "bad") attempts.push(`${dispatchId} ${attempt}`);
            if (message.text === "bad" && isBroken) throw new Error("database is away");
            return { handled: true, reply: message.text };
          },
          { failurePolicy: "fail-closed" },
        ),
    });
    await rig.say("bad", { messageId: "m1" });
    await rig.say("good", { messageId: "m2" });
    await rig.say("elsewhere", { messageId: "m3", chatId: "other" });
    await until(async () => (await rig.store.inbox.get(1))?.status === "deferred");
    await until(() => rig.platform.texts("other").length > 0);
    expect(rig.platform.texts("room")).toEqual([]);
    await rig.clock.advance(1_000);
    await until(() => attempts.length === 2);
    await until(async () => (await rig.store.inbox.get(1))?.status === "deferred");
    await rig.clock.advance(2_000);
    expect(await rig.settled("m1")).toMatchObject({
      status: "dead",
      attempts: 3,
      error: expect.stringContaining("database is away"),
    });
    await rig.idle();
    expect(rig.platform.texts("room")).toEqual(["good"]);
    isBroken = false;
    expect(await rig.gateway.revive(1)).toBe(true);
    await rig.idle();
    expect(rig.platform.texts("room")).toEqual(["good", "bad"]);
    expect(await rig.gateway.revive(1)).toBe(false);
    expect(attempts).toEqual([
      "m1:inbound_claim 1",
      "m1:inbound_claim:2 2",
      "m1:inbound_claim:3 3",
      "m1:inbound_claim:4 1",
    ]);
  });

  it("is on record once per try, each with its own error", async () => {
    let tries = 0;
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerClaiming(
          "inbound_claim",
          () => {
            if (++tries < 3) throw new Error(`failure ${tries}`);
            return { handled: true };
          },
          { id: "strict", failurePolicy: "fail-closed" },
        ),
    });
    await rig.say("hello", { messageId: "m1" });
    for (let failures = 1; failures <= 2; failures++) {
      await until(async () => (await rig.store.inbox.get(1))?.round === failures + 1);
      await rig.clock.advance(60_000);
    }
    await rig.settled("m1");
    expect(rig.dispatches.map(({ id, outcome, runs }) => [id, outcome, runs[0]?.id, runs[0]?.error])).toEqual([
      ["m1:inbound_claim", "failed", "m1:inbound_claim/1", "failure 1"],
      ["m1:inbound_claim:2", "failed", "m1:inbound_claim:2/1", "failure 2"],
      ["m1:inbound_claim:3", "claimed", "m1:inbound_claim:3/1", undefined],
    ]);
  });

  it("gives a message up at once for which the condition of a fail-closed hook has no answer: it has none later", async () => {
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", () => ({ handled: true }), {
          id: "strict",
          failurePolicy: "fail-closed",
          match: { when: 'payload.message.threadId == "5"' },
        }),
    });
    await rig.say("hello", { messageId: "m1" });
    await until(async () => (await rig.store.inbox.get(1))?.status === "dead");
    expect(await rig.store.inbox.get(1)).toMatchObject({
      attempts: 1,
      error: expect.stringContaining("has no answer"),
    });
  });

  it("does not go on without a fail-closed hook at message_received: that is asked again", async () => {
    const asked: string[] = [];
    const rig = await startRig({
      gateway: { inbox_attempts: 3, retry_first: "1s" },
      hooks(registry) {
        registry.registerVoid(
          "message_received",
          (_, { dispatchId, attempt }) => {
            asked.push(`${dispatchId} ${attempt}`);
            throw new Error("the audit log is away");
          },
          { id: "audit", failurePolicy: "fail-closed" },
        );
        answer(registry);
      },
    });
    await rig.say("hello", { messageId: "m1" });
    for (let failures = 1; failures <= 2; failures++) {
      await until(async () => (await rig.store.inbox.get(1))?.round === failures + 1);
      await rig.clock.advance(60_000);
    }
    expect(await rig.settled("m1")).toMatchObject({ status: "dead", error: expect.stringContaining("audit log") });
    expect(asked).toEqual(["m1:message_received 1", "m1:message_received:2 2", "m1:message_received:3 3"]);
    expect(rig.platform.texts()).toEqual([]);
  });
});

describe("a message that a hook puts off", () => {
  it("is offered again in time, received once, and the conversation waits for it", async () => {
    const offers: string[] = [];
    let received = 0;
    const rig = await startRig({
      hooks(registry) {
        registry.registerVoid("message_received", () => void received++);
        registry.registerClaiming("inbound_claim", ({ message }, { dispatchId, attempt }) => {
          offers.push(`${dispatchId} ${attempt}`);
          return message.text === "later" && offers.length < 3
            ? { handled: true, deferMs: 10_000, reply: "one moment" }
            : { handled: true, reply: message.text };
        });
      },
    });
    await rig.say("later", { messageId: "m1" });
    await rig.say("next", { messageId: "m2" });
    for (let i = 1; i <= 2; i++) {
      await until(async () => (await rig.store.inbox.get(1))?.deferrals === i);
      await rig.clock.advance(10_000);
    }
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["one moment", "later", "next"]);
    expect(offers).toEqual([
      "m1:inbound_claim 1",
      "m1:inbound_claim:2 1",
      "m1:inbound_claim:3 1",
      "m2:inbound_claim 1",
    ]);
    expect(received).toBe(2);
  });

  it("too often goes on to the default route, over a restart too", async () => {
    const options = {
      gateway: { max_deferrals: 2, default_route: { plugin: "p" } },
      routes: new Map([["p", () => ({ reply: "at last" })]]),
      hooks: (registry: HookRegistry) =>
        void registry.registerClaiming("inbound_claim", () => ({ handled: true, deferMs: 1_000 })),
    };
    const rig = await startRig(options);
    await rig.say("hello", { messageId: "m1" });
    await until(async () => (await rig.store.inbox.get(1))?.deferrals === 1);
    const next = await restart(rig, options);
    await next.clock.advance(1_000);
    await until(async () => (await next.store.inbox.get(1))?.deferrals === 2);
    await next.clock.advance(1_000);
    expect(await next.settled("m1")).toMatchObject({ outcome: "routed", deferrals: 2 });
    await next.idle();
    expect(next.platform.texts()).toEqual(["at last"]);
  });
});

describe("back-pressure", () => {
  it("keeps accept() pending while too much is unfinished, and lets operators in all the same", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const whoami = {
      name: "whoami",
      summary: "",
      options: [],
      role: "anyone" as const,
      run: async () => ({ message: { text: "you" } }),
    };
    const rig = await startRig({
      gateway: { max_waiting: 3 },
      commands: [whoami],
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", async ({ message }) => {
          await gate;
          return { handled: true, reply: message.text };
        }),
    });
    for (const text of ["1", "2", "3"]) await rig.say(text, { userId: `7${text}` });
    let isIn = false;
    const fourth = rig.say("4").then(() => {
      isIn = true;
    });
    await rig.say("/whoami");
    await until(() => rig.platform.texts().includes("you"));
    expect(isIn).toBe(false);
    release();
    await fourth;
    await rig.idle();
    expect(rig.platform.texts().filter((text) => text !== "you")).toEqual(["1", "2", "3", "4"]);
  });

  it("one sender gets a share: more is stored as not taken, with one note, and all others are served", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const lines: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (_, line = "") => void lines.push(line), child: () => logger };
    const rig = await startRig({
      // 10 are the share.
      gateway: { max_waiting: 20 },
      logger,
      hooks: (registry) =>
        void registry.registerClaiming(
          "inbound_claim",
          async ({ message }) => {
            if (message.chatId === "stuck") await gate;
            return { handled: true, reply: `re ${message.text}` };
          },
          { timeoutMs: 600_000 },
        ),
    });
    const dm = { chatId: "stuck", userId: "8", isDm: true };
    for (let n = 0; n < 10; n++) await rig.say(`${n}`, dm);
    for (let n = 0; n < 30; n++) await rig.say(`more ${n}`, { ...dm, messageId: `more${n}` });
    expect(await rig.settled("more0", "stuck")).toMatchObject({
      status: "done",
      outcome: "not_taken",
      reason: expect.stringContaining("its sender had 10 messages waiting, and one sender can have 10"),
    });
    const written = () => rig.platform.texts("stuck").join("");
    await until(() => written().includes("again later"), "the note");
    expect(written()).toBe(
      "You have 10 messages waiting for an answer, so this one was not taken. Messages that you send before half of them are handled are not taken either: send them again later.",
    );
    // Delivered again, it is no other message.
    expect(await rig.say("more 0", { ...dm, messageId: "more0" })).toMatchObject({ kind: "duplicate" });
    await rig.say("hello", { chatId: "room", userId: "9" });
    await until(() => rig.platform.texts().includes("re hello"), "the answer to another person");
    expect((await rig.gateway.status()).heldBack).toBeUndefined();

    for (let n = 0; n < 10; n++) await rig.say(`${n}`, { ...dm, userId: "10" });
    expect((await rig.gateway.status()).heldBack).toMatchObject({
      unfinished: 20,
      most: { conversation: "loop:bot:stuck", messages: 20 },
    });
    expect(lines).toEqual([expect.stringContaining("gateway.max_waiting is reached")]);
    release();
    await rig.idle();
    expect((await rig.gateway.status()).heldBack).toBeUndefined();
    await rig.say("later", dm);
    await rig.idle();
    expect(rig.platform.texts()).toContain("re later");
    expect(rig.platform.texts()).not.toContain("re more 0");
  });

  it("a lane longer than what is kept in memory is read on from the store, in order", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const order: string[] = [];
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", async ({ message }) => {
          await gate;
          order.push(message.text);
          return { handled: true };
        }),
    });
    const texts = Array.from({ length: 2_300 }, (_, i) => String(i));
    await Promise.all(texts.map((text, i) => rig.say(text, { userId: `7${i % 3}` })));
    release();
    await rig.idle(90_000);
    expect(order).toEqual(texts);
  }, 120_000);
});

describe("a stop", () => {
  it("lets what is under way end, leaves the rest on disk, and takes nothing in any more", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", async ({ message }) => {
          await gate;
          return { handled: true, reply: message.text };
        }),
    });
    await rig.say("1", { messageId: "m1" });
    await rig.say("2", { messageId: "m2" });
    const stopped = rig.gateway.stop();
    await expect(rig.say("3")).rejects.toMatchObject({ code: "GATEWAY_STOPPING" });
    release();
    await stopped;
    expect(await rig.store.inbox.get(1)).toMatchObject({ status: "done", attempts: 1 });
    expect(await rig.store.inbox.get(2)).toMatchObject({ status: "waiting", attempts: 0 });
    const next = await restart(rig, { hooks: (registry) => void answer(registry) });
    await next.idle();
    expect(next.platform.texts()).toEqual(["1", "2"]);
  });

  it("does not wait longer than it may", async () => {
    const rig = await startRig({
      gateway: { shutdown_timeout: "5s" },
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", () => new Promise<never>(() => {}), { timeoutMs: 600_000 }),
    });
    await rig.say("stuck");
    await until(async () => (await rig.gateway.status()).lanes.active === 1);
    let isStopped = false;
    const stopped = rig.gateway.stop().then(() => {
      isStopped = true;
    });
    await rig.clock.advance(4_000);
    expect(isStopped).toBe(false);
    await rig.clock.advance(3_000);
    await stopped;
  });
});

describe("a chat that moves", () => {
  it("has what was said before handled without the ids of before, which are other messages' now", async () => {
    const loop = new LoopbackPlatform("loop", { idsPerChat: true });
    const rig = await startRig({ platforms: [loop], hooks: (registry) => void answer(registry) });
    await rig.gateway.send(
      { platform: "loop", botId: "bot", chatId: "-100" },
      { text: "card" },
      { cause: { kind: "api", id: "x", depth: 0 } },
    );
    await rig.idle();
    const address = { platform: "loop", botId: "bot", chatId: "room" };
    await rig.receive({ kind: "moved", eventId: "moved", address, toChatId: "-100", at: 1 });
    await rig.settled("moved");
    await rig.say("of before", { messageId: "1", replyToId: "1" });
    await rig.idle();
    expect(loop.messages).toMatchObject([{ text: "card" }, { chatId: "-100", text: "of before" }]);
    expect(loop.messages[1]?.body.replyToId).toBeUndefined();
  });

  it.each(["runs", "was restarted"])(
    "has what waits under the old id handled before what is new (the gateway %s)",
    async (state) => {
      let free = () => {};
      const held = new Promise<void>((resolve) => {
        free = resolve;
      });
      const seen: string[] = [];
      const slow = (registry: HookRegistry) =>
        void registry.registerClaiming("inbound_claim", async ({ message: { text } }) => {
          seen.push(text);
          if (text === "1") await held;
          return { handled: true, reply: text };
        });
      let rig = await startRig({ hooks: slow });
      await rig.say("1");
      await rig.say("2");
      await until(() => seen.length === 1, "the first one being handled");
      const address = { platform: "loop", botId: "bot", chatId: "room" };
      await rig.receive({ kind: "moved", eventId: "moved", address, toChatId: "-100", at: 1 });
      await rig.say("3", { chatId: "-100" });
      if (state === "was restarted") rig = await restart(rig, { hooks: slow });
      await rig.say("4", { chatId: "-100" });
      await rig.say("other", { chatId: "elsewhere" });
      await until(() => seen.includes("other"), "the message of another chat");
      free();
      await rig.idle();
      expect(rig.platform.texts("-100")).toEqual(["1", "2", "3", "4"]);
      await rig.say("5", { chatId: "-100" });
      await rig.idle();
      expect(rig.platform.texts("-100")).toEqual(["1", "2", "3", "4", "5"]);
    },
  );

  it("takes its waiting messages and its place on the access list along", async () => {
    const rig = await startRig({ access: { loop: { chats: ["room"] } }, hooks: (registry) => void answer(registry) });
    await rig.receive({
      kind: "moved",
      eventId: "moved",
      address: { platform: "loop", botId: "bot", chatId: "room" },
      toChatId: "-100",
      at: 1,
    });
    await rig.settled("moved");
    await rig.say("to the old id");
    await rig.say("to the new id", { chatId: "-100" });
    await rig.idle();
    expect(rig.platform.texts("-100").sort()).toEqual(["to the new id", "to the old id"]);
    expect(rig.platform.texts("room")).toEqual([]);
  });
});

it("keeps a lane of its own for commands, so that they overtake a conversation that is stuck", async () => {
  const rig = await startRig({
    commands: [
      {
        name: "status",
        summary: "",
        options: [],
        role: "viewer",
        run: async () => ({ message: { text: "all is well" } }),
      },
    ],
    hooks: (registry) =>
      void registry.registerClaiming("inbound_claim", () => new Promise<never>(() => {}), { timeoutMs: 600_000 }),
  });
  await rig.say("stuck");
  await rig.say("/status", { userId: "3" });
  await until(() => rig.platform.texts().includes("all is well"));
  expect((await rig.store.inbox.list({ limit: 5 })).map(({ lane }) => lane)).toEqual([`${room}#commands`, room]);
});

it("keeps presses on buttons out of a conversation that is stuck, too", async () => {
  const rig = await startRig({
    hooks: (registry) =>
      void registry.registerClaiming("inbound_claim", () => new Promise<never>(() => {}), { timeoutMs: 600_000 }),
  });
  await rig.say("stuck");
  await rig.receive({ kind: "action", eventId: "p1", message: messageOf("", { messageId: "card" }), token: "made.up" });
  await until(() => rig.platform.texts().join("").replaceAll(/\s/g, "").includes("buttonisnotknown"));
});

it("does not let an observer that hangs keep an operator waiting", async () => {
  const rig = await startRig({
    commands: [
      {
        name: "status",
        summary: "",
        options: [],
        role: "viewer",
        run: async () => ({ message: { text: "all is well" } }),
      },
    ],
    hooks: (registry) => void registry.registerVoid("message_received", () => new Promise<never>(() => {})),
  });
  await rig.receive({ kind: "message", eventId: "c1", message: messageOf("/status", { userId: "3" }) });
  await until(() => rig.platform.texts().includes("all is well"));
});
