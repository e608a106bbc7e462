import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { slaConfig } from "../../../src/alerts/sla/config.js";
import { createSla, type Sla } from "../../../src/alerts/sla/sla.js";
import type { AlertSignal } from "../../../src/domain/alerts/alert-signal.js";
import type { InboundMessage } from "../../../src/domain/chat/message.js";
import type { Command } from "../../../src/gateway/commands.js";
import { MovedChats } from "../../../src/gateway/moved-chats.js";
import { createAttempts } from "../../../src/hooks/attempts.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { pluginsConfig } from "../../../src/plugins/config.js";
import { createPlugins } from "../../../src/plugins/plugins.js";
import { LoopbackPlatform, type Scripted } from "../../gateway/loopback-adapter.js";
import { messageOf, type Rig, type RigOptions, startRig } from "../../gateway/rig.js";
import { ManualClock } from "../../support/manual-clock.js";
import { until } from "../../support/until.js";
import { at, HOUR, MINUTE } from "./rig.js";

const POLICIES = [
  { id: "first", for: "conversation", measure: "first_response", target: "15m", warn_at: ["80%"] },
  { id: "next", for: "conversation", measure: "next_response", target: "30m" },
  { id: "solved", for: "conversation", measure: "resolution", target: "8h" },
];

interface SupportRig {
  rig: Rig;
  sla: Sla;
  clock: ManualClock;
  signals: AlertSignal[];
  customer(text: string, facts?: Partial<InboundMessage>): Promise<string>;
  staff(text: string, facts?: Partial<InboundMessage>): Promise<string>;
  pass(ms: number): Promise<void>;
  /** `policy:cycle state outcome used-minutes`, in the order in which they began. */
  clocks(): Promise<string[]>;
}

async function support(options: RigOptions & { sla?: Record<string, unknown> } = {}): Promise<SupportRig> {
  const clock = (options.clock as ManualClock | undefined) ?? new ManualClock(at("2026-11-20T08:00:00Z"));
  const signals: AlertSignal[] = [];
  let sla: Sla | undefined;
  const rig = await startRig({
    ...options,
    clock,
    watch({ store, registry }) {
      sla = createSla({
        config: slaConfig.parse({ after_start: "0s", policies: POLICIES, ...options.sla }),
        store,
        registry,
        attempts: createAttempts({ keyValue: store.keyValue, registry, clock: systemClock, logger: silentLogger }),
        raise: async (signal) => void signals.push(signal),
        formerChats: (at) => new MovedChats(store.cursors("gateway")).former(at),
        clock,
        logger: silentLogger,
      });
      return sla.conversations;
    },
  });
  if (!sla) throw new Error("no SLA part");
  const started = sla;
  await started.load();
  await started.start();
  const settled = () =>
    until(async () => {
      await rig.idle();
      await clock.advance(0);
      const { sla: rows } = rig.store;
      const [due, say, unseen] = await Promise.all([rows.nextDue(), rows.nextAnnouncement(), rows.unseen(1)]);
      return unseen.length === 0 && say === undefined && (due ?? Number.POSITIVE_INFINITY) > clock.now();
    }, "what was seen is taken in").then(() => undefined);
  const say = async (text: string, facts: Partial<InboundMessage>) => {
    const message = messageOf(text, { isDm: true, receivedAt: clock.now(), ...facts });
    await rig.receive({ kind: "message", eventId: message.messageId, message });
    await settled();
    return message.messageId;
  };
  return {
    rig,
    sla: started,
    clock,
    signals,
    customer: (text, facts = {}) => say(text, { userId: "7", displayName: "Ada", ...facts }),
    staff: (text, facts = {}) => say(text, { userId: "1", displayName: "Olga", ...facts }),
    async pass(ms) {
      const end = clock.now() + ms;
      for (await settled(); clock.now() < end; await settled()) {
        const next = Math.min(
          (await rig.store.sla.nextDue()) ?? end,
          (await rig.store.sla.nextClosing())?.closesAt ?? end,
          end,
        );
        await clock.advance(Math.max(1, next - clock.now()));
      }
    },
    async clocks() {
      const [open, ended] = await Promise.all([
        rig.store.sla.list({ state: "open", limit: 50 }),
        rig.store.sla.list({ state: "ended", limit: 50 }),
      ]);
      return [...open, ...ended]
        .sort((a, b) => a.startedAt - b.startedAt || (a.policyId < b.policyId ? -1 : 1))
        .map(({ policyId, state, outcome, usedMs }) =>
          [policyId, state, outcome, usedMs === undefined ? undefined : usedMs / MINUTE]
            .filter((part) => part !== undefined)
            .join(" "),
        );
    },
  };
}

async function withoutPolicies({ sla, rig, clock }: SupportRig): Promise<void> {
  (await sla.prepare(slaConfig.parse({ after_start: "0s" })))();
  // From this very step on: a message that comes while clocks are computed again is heard.
  expect(sla.conversations.isWanted()).toBe(true);
  await until(async () => {
    await clock.advance(0);
    return (await rig.store.sla.count({ state: "open" })) === 0;
  }, "the clocks being withdrawn");
}

describe("a conversation's clocks", () => {
  it("survive a save that briefly removes their policies, with the time that the customer has waited", async () => {
    const desk = await support();
    await desk.customer("my order is lost");
    await desk.pass(16 * MINUTE);
    await withoutPolicies(desk);
    // Heard meanwhile: it is the same conversation.
    await desk.customer("hello?");
    (await desk.sla.prepare(slaConfig.parse({ after_start: "0s", policies: POLICIES })))();
    await until(async () => (await desk.rig.store.sla.count({ state: "open" })) > 0, "the clocks being back");
    await desk.pass(MINUTE);
    const { clocks } = await desk.sla.desk.list({ state: "open", limit: 10 });
    const first = clocks.find(({ clock }) => clock.policyId === "first");
    expect(first?.usedMs).toBeGreaterThan(16 * MINUTE);
    expect(desk.signals.at(-1)).toMatchObject({ state: "firing", episode: 2 });
  });

  it("are given up an hour after their last policy is gone", async () => {
    const desk = await support();
    await desk.customer("my order is lost");
    await withoutPolicies(desk);
    await desk.pass(HOUR + MINUTE);
    await until(
      async () => (await desk.rig.store.sla.openCases("", 10)).length === 0,
      "the conversation being given up",
    );
  });

  it("that an answer pauses say so to their alert, and when they run again", async () => {
    const desk = await support();
    await desk.customer("my order is lost");
    await desk.pass(9 * HOUR);
    await desk.staff("which one?");
    const paused = desk.signals.findLast(({ source, clock }) => source.policyId === "solved" && clock?.pausedFor);
    expect(paused).toMatchObject({ state: "firing", episode: 1, clock: { pausedFor: "pending_customer" } });
    await desk.customer("the blue one");
    const last = desk.signals.findLast(({ source }) => source.policyId === "solved");
    expect(last).toMatchObject({ state: "firing", episode: 1, reason: "the clock runs again" });
    expect(last?.clock?.pausedFor).toBeUndefined();
  });

  it("that are overdue are late by working time, without pauses before they end", async () => {
    const desk = await support();
    const leftMs = async (state: "paused" | "ended") => {
      const { clocks } = await desk.sla.desk.list({ policyId: "solved", state, limit: 10 });
      return clocks.map((view) => view.leftMs);
    };
    await desk.customer("my order is lost");
    await desk.pass(9 * HOUR);
    await desk.staff("which one?");
    await desk.pass(3 * HOUR);
    expect(await leftMs("paused")).toEqual([-HOUR]);
    await desk.pass(22 * HOUR);
    expect(desk.signals.at(-1)).toMatchObject({ state: "resolved", reason: "resolved, 1 h late" });
    expect(await leftMs("ended")).toEqual([-HOUR]);
  });

  it("start with the customer's first word, go from answer to answer, and wait while the customer is to speak", async () => {
    const desk = await support();
    await desk.customer("my order is lost");
    await desk.pass(10 * MINUTE);
    await desk.customer("hello?");
    await desk.pass(2 * MINUTE);
    expect(desk.signals.map(({ state, reason }) => `${state} ${reason}`)).toEqual([
      "warned 12 min of 15 min for first response used (warns at 80%)",
    ]);
    expect(desk.signals[0]?.entity).toMatchObject({
      lastWords: "hello?",
      status: "waiting",
      title: "Ada in a direct message on loop",
    });
    await desk.staff("I am looking");
    expect(await desk.clocks()).toEqual(["first ended met 12", "solved paused"]);
    await desk.pass(3 * HOUR);
    await desk.customer("and?");
    await desk.pass(20 * MINUTE);
    await desk.staff("found it");
    expect(await desk.clocks()).toEqual(["first ended met 12", "solved paused", "next ended met 20"]);
    expect(desk.signals.map(({ state }) => state)).toEqual(["warned", "resolved"]);
    // Silence for a day: it is over, 12 + 20 minutes after it began as far as we are concerned.
    await desk.pass(25 * HOUR);
    expect(await desk.clocks()).toContain("solved ended met 32");
  });

  it("are violated when nobody answers, and an answer that comes too late ends the alert without meeting it", async () => {
    const desk = await support();
    await desk.customer("help");
    await desk.pass(20 * MINUTE);
    await desk.staff("yes?");
    expect(desk.signals.map(({ state }) => state)).toEqual(["warned", "firing", "resolved"]);
    expect(desk.signals[2]?.reason).toBe("answered by Olga, 5 min late");
    expect(await desk.clocks()).toContain("first ended late 20");
  });

  it("count what was written while we were away from when it was written", async () => {
    const desk = await support({ sla: { after_start: "5s" } });
    const writtenAt = desk.clock.now();
    await desk.pass(HOUR);
    // The platform brings both an hour later: the question, and the answer that came in time.
    await desk.customer("anybody?", { writtenAt });
    await desk.staff("yes", { writtenAt: writtenAt + 4 * MINUTE });
    expect(await desk.clocks()).toContain("first ended met 4");
    expect(desk.signals).toEqual([]);
    await desk.customer("still there?", { writtenAt: writtenAt + 10 * MINUTE });
    await desk.pass(MINUTE);
    expect(desk.signals.map(({ state, at: when }) => `${state} ${(when - writtenAt) / MINUTE}`)).toEqual(["firing 40"]);
  });

  it("are not kept for chats that no policy is about", async () => {
    const policies = POLICIES.map((policy) => ({ ...policy, match: "entity.facts.is_dm" }));
    const desk = await support({ sla: { policies } });
    await desk.customer("small talk", { isDm: false });
    expect(await desk.rig.store.sla.openCases("", 1)).toEqual([]);
    await desk.customer("a question", { chatId: "dm-7" });
    expect(await desk.clocks()).toEqual(["first running", "solved running"]);
  });

  it("stay exact in a conversation that goes on for ever", async () => {
    const desk = await support();
    await desk.customer("hello");
    await desk.pass(MINUTE);
    await desk.staff("hello");
    for (let i = 0; i < 60; i++) {
      await desk.pass(MINUTE);
      await desk.customer(`question ${i}`);
      await desk.pass(2 * MINUTE);
      await desk.staff(`answer ${i}`);
    }
    const next = await desk.rig.store.sla.list({ policyId: "next", state: "ended", limit: 100 });
    expect(next.map(({ outcome, usedMs }) => `${outcome} ${usedMs}`)).toEqual(Array(60).fill(`met ${2 * MINUTE}`));
    const [first] = await desk.rig.store.sla.list({ policyId: "first", state: "ended", limit: 100 });
    expect(first).toMatchObject({ outcome: "met", usedMs: MINUTE, episode: 1 });
    await desk.pass(25 * HOUR);
    const [solved] = await desk.rig.store.sla.list({ policyId: "solved", state: "ended", limit: 1 });
    expect(solved?.usedMs).toBe(121 * MINUTE);
    expect(desk.signals).toEqual([]);
  }, 120_000);

  it("do not start for strangers, other bots, operators and their commands", async () => {
    const desk = await support({ access: { loop: { dms: "everyone", chats: [], mention: "required" } } });
    await desk.staff("good morning");
    await desk.customer("in a group that is not listened to", { isDm: false });
    await desk.customer("beep", { isBot: true });
    expect(await desk.clocks()).toEqual([]);
    // A viewer has a role, and is not one of those who answer.
    await desk.customer("hello", { userId: "3" });
    expect(await desk.clocks()).toEqual(["first running", "solved running"]);
  });

  it("go on when one of us mistypes a command where only a mention is read, and end with what is said there", async () => {
    const status: Command = {
      name: "status",
      summary: "How it is",
      role: "viewer",
      options: [],
      run: async () => ({ message: { text: "well" } }),
    };
    const access = { loop: { dms: "off", chats: ["room"], mention: "required" } };
    const desk = await support({ access, commands: [status] });
    await desk.customer("my order is lost", { isDm: false, isGroupMention: true });
    for (const text of ["/status", "/statos"]) await desk.staff(text, { isDm: false, isGroupMention: false });
    expect(await desk.clocks()).toEqual(["first running", "solved running"]);
    await desk.staff("it is on its way", { isDm: false, isGroupMention: false });
    expect(await desk.clocks()).toContain("first ended met 0");
  });

  it("do not start where the default route leads to, nor with a reply to a message of ours", async () => {
    const desk = await support({
      access: { loop: { dms: "everyone", chats: ["*"], mention: "always" } },
      gateway: { default_route: { forward: "loop::desk" } },
    });
    const among = { isDm: false, chatId: "desk" };
    await desk.customer("who has lunch?", { ...among, isGroupMention: false });
    const at = { platform: "loop", botId: "bot", chatId: "desk" };
    await desk.rig.gateway.send(at, { text: "a card" }, { cause: { kind: "alert", id: "ac_1", depth: 0 } });
    await desk.rig.idle();
    const card = desk.rig.platform.messages.at(-1)?.id;
    for (const replyToId of [card, "gone"])
      for (const threadId of [undefined, "t1"])
        await desk.customer("on Monday", { ...among, threadId, replyToId, replyToUserId: "bot" });
    expect(await desk.clocks()).toEqual([]);
    await desk.customer("where is it?", { isDm: false, chatId: "hall" });
    expect(await desk.clocks()).toEqual(["first running", "solved running"]);
  });

  it("know people of ours who have no role, and may leave roles out of it", async () => {
    const desk = await support({ sla: { conversations: { staff: { role: "none", people: ["loop:8"] } } } });
    await desk.customer("hello");
    await desk.staff("I only run this thing");
    expect(await desk.clocks()).toContain("first running");
    await desk.staff("how can I help?", { userId: "8", displayName: "Sam" });
    expect(await desk.clocks()).toContain("first ended met 0");
  });

  it("go on when an answer is deleted, end when the question is, and do not mind edits", async () => {
    const desk = await support();
    const question = await desk.customer("where is my order");
    await desk.pass(5 * MINUTE);
    const answer = await desk.staff("wrong window");
    expect(await desk.clocks()).toContain("first ended met 5");
    const address = { platform: "loop", botId: "bot", chatId: "room" };
    await desk.rig.receive({ kind: "deleted", eventId: "del1", address, messageId: answer, at: desk.clock.now() });
    await desk.pass(MINUTE);
    expect(await desk.clocks()).toEqual(["first running", "solved running"]);
    const edited = messageOf("where is my order 4711?", {
      messageId: question,
      isEdit: true,
      isDm: true,
      receivedAt: desk.clock.now(),
    });
    await desk.rig.receive({ kind: "edited", eventId: "ed1", message: edited });
    await desk.pass(9 * MINUTE);
    expect(desk.signals.map(({ state, episode }) => `${state} ${episode}`)).toEqual(["warned 2", "firing 2"]);
    expect(desk.signals[1]?.entity?.lastWords).toBe("where is my order 4711?");
    await desk.rig.receive({ kind: "deleted", eventId: "del2", address, messageId: question, at: desk.clock.now() });
    await desk.pass(MINUTE);
    expect(desk.signals.at(-1)?.state).toBe("resolved");
    expect((await desk.clocks()).filter((line) => !line.includes("ended"))).toEqual([]);
    expect((await desk.clocks()).join()).toContain("first ended withdrawn");
  });

  it("quote nothing of a later question that is taken back", async () => {
    const desk = await support();
    await desk.customer("one");
    await desk.staff("answered");
    const second = await desk.customer("my pin");
    await desk.pass(5 * HOUR);
    expect(desk.signals.at(-1)).toMatchObject({ state: "firing", entity: { lastWords: "my pin" } });
    const address = { platform: "loop", botId: "bot", chatId: "room" };
    await desk.rig.receive({ kind: "deleted", eventId: "del1", address, messageId: second, at: desk.clock.now() });
    await desk.pass(MINUTE);
    const { state, entity } = desk.signals.at(-1) ?? {};
    expect([state, entity?.lastWords]).toEqual(["resolved", undefined]);
    expect((await desk.rig.store.sla.list({ limit: 9 })).map((one) => one.entity.lastWords)).not.toContain("my pin");
  });

  it("start with the next question when the first one is taken back", async () => {
    const desk = await support();
    const first = await desk.customer("never mind this");
    await desk.pass(10 * MINUTE);
    await desk.customer("but this");
    const address = { platform: "loop", botId: "bot", chatId: "room" };
    await desk.rig.receive({ kind: "deleted", eventId: "del1", address, messageId: first, at: desk.clock.now() });
    await desk.pass(10 * MINUTE);
    expect(desk.signals).toEqual([]);
    await desk.staff("of course");
    expect(await desk.clocks()).toContain("first ended met 10");
  });

  it("take a claimed message for taken care of, its reply for an answer, and one that is passed on for neither", async () => {
    const desk = await support({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", ({ message: { text } }) => {
          if (text === "opening hours?") return { handled: true, reply: "9 to 5" };
          if (text === "spam") return { handled: true };
          if (text === "to a person")
            return { handled: true, reply: "one moment", routeTo: { platform: "loop", botId: "bot", chatId: "desk" } };
          return null;
        }),
    });
    await desk.customer("spam");
    expect(await desk.clocks()).toEqual([]);
    await desk.customer("to a person");
    expect(await desk.clocks()).toEqual(["first running", "solved running"]);
    await desk.pass(MINUTE);
    // What waits for a person still waits.
    await desk.customer("opening hours?");
    await desk.pass(MINUTE);
    expect(await desk.clocks()).toEqual(["first running", "solved running"]);
    await desk.staff("I am the person");
    expect(await desk.clocks()).toContain("first ended met 2");
    await desk.customer("opening hours?", { chatId: "dm-8" });
    await desk.pass(MINUTE);
    expect(await desk.clocks()).toContain("first ended met 0");
  });

  it("run on when a hook passes on a message of ours with neither words nor files", async () => {
    const desk = await support({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", ({ message }) =>
          message.chatId === "desk"
            ? { handled: true, routeTo: { platform: "loop", botId: "bot", chatId: "room" } }
            : null,
        ),
    });
    await desk.customer("where is it?");
    for (const text of ["", "on its way"]) {
      await desk.pass(MINUTE);
      await desk.staff(text, { chatId: "desk", isDm: false });
    }
    expect(await desk.clocks()).toContain("first ended met 2");
  });

  it("run on when a hook withholds the reply of a claim, until it is sent", async () => {
    const desk = await support({
      hooks(registry) {
        registry.registerClaiming("inbound_claim", () => ({ handled: true, reply: "9 to 5" }));
        registry.registerModifying(
          "message_sending",
          () => {
            throw new Error("the guard is out of order");
          },
          { id: "guard", failurePolicy: "fail-closed" },
        );
      },
    });
    await desk.customer("opening hours?");
    await desk.pass(16 * MINUTE);
    expect(desk.rig.platform.texts("room")).toEqual([]);
    expect(desk.signals.map(({ state }) => state)).toContain("firing");
    const [held] = await desk.rig.store.outbox.list({ status: "held", limit: 1 });
    desk.rig.registry.setEnabled("guard", false);
    expect(await desk.rig.gateway.release(held?.id ?? "")).toBe(true);
    await desk.pass(MINUTE);
    expect(desk.rig.platform.texts("room")).toEqual(["9 to 5"]);
    expect(await desk.clocks()).toContain("first ended late 16");
  });

  it("run on for a question that no hook claimed, when a hook answers what the customer writes besides", async () => {
    const desk = await support({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", ({ message }) =>
          message.text === "hi" ? { handled: true, reply: "Hello!" } : null,
        ),
    });
    await desk.customer("my refund is missing");
    await desk.pass(5 * MINUTE);
    await desk.customer("hi");
    expect(desk.rig.platform.texts("room")).toEqual(["Hello!"]);
    expect(await desk.clocks()).toEqual(["first running", "solved running"]);
    await desk.pass(11 * MINUTE);
    expect(desk.signals.map(({ state }) => state)).toContain("firing");
    await desk.staff("it is on its way");
    expect(await desk.clocks()).toContain("first ended late 16");
    // One that it claims alone is answered by its reply.
    await desk.customer("hi");
    expect((await desk.clocks()).filter((clock) => clock.startsWith("next"))).not.toContain("next running");
  });

  it("name the person whose words are shown, in a group where another person wrote before", async () => {
    const desk = await support({ sla: { conversations: { staff: { role: "operator", people: [] } } } });
    await desk.customer("where is my order?", { isDm: false });
    await desk.staff("on its way", { isDm: false });
    await desk.customer("and mine?", { isDm: false, userId: "9", displayName: "Zoe" });
    await desk.pass(31 * MINUTE);
    const { entity } = desk.signals.findLast(({ state }) => state === "firing") ?? {};
    expect(entity).toMatchObject({ lastWords: "and mine?", title: expect.stringMatching(/^Zoe /) });
  });

  it("take claims for nothing where the configuration says so", async () => {
    const desk = await support({
      sla: { conversations: { claims: "ignored" } },
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", () => ({ handled: true, reply: "we have got it" })),
    });
    await desk.customer("hello");
    expect(await desk.clocks()).toContain("first running");
  });

  it.each([
    ["for an answer where the configuration says so", "answered", "first ended met 3"],
    ["for nothing otherwise", "ignored", "first running"],
  ])("take what a hook says later, on its own, %s", async (_, hooks, expected) => {
    const desk = await support({ sla: { conversations: { hooks } } });
    await desk.customer("hello", { chatId: "dm-7" });
    await desk.pass(2 * MINUTE);
    const at = { platform: "loop", botId: "bot", chatId: "dm-7" };
    const say = (kind: "hook" | "alert", more = {}) =>
      desk.rig.gateway.send(at, { text: "Have you tried it again?" }, { cause: { kind, id: "1", depth: 1 }, ...more });
    await say("alert");
    await say("hook", { visibleTo: "1" });
    // What another hook withholds reaches nobody.
    desk.rig.registry.registerModifying("message_sending", () => ({ cancel: "not now" }), { id: "guard" });
    await say("hook");
    await desk.pass(MINUTE);
    desk.rig.registry.setEnabled("guard", false);
    expect(await desk.clocks()).toContain("first running");
    await say("hook", { deliveryId: "d_once" });
    await desk.pass(MINUTE);
    expect(await desk.clocks()).toContain(expected);
    // The same message once more answers no later question, which waits for people as the first one did.
    await desk.customer("I have", { chatId: "dm-7" });
    await say("hook", { deliveryId: "d_once" });
    await desk.pass(MINUTE);
    expect((await desk.clocks()).filter((clock) => clock.includes("running"))).toEqual(
      hooks === "answered" ? ["solved running", "first running"] : ["first running", "solved running"],
    );
  });

  it.each([
    ["alone", POLICIES.slice(0, 1)],
    ["with a next response, which comes after people's first answer", POLICIES.slice(0, 2)],
  ])("wait for people's first response after a hook's answer: %s", async (_, policies) => {
    const desk = await support({
      sla: { policies },
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", ({ message: { text } }) =>
          text === "hello" ? { handled: true, reply: "Hello!" } : null,
        ),
    });
    await desk.customer("hello");
    expect(await desk.clocks()).toEqual(["first ended met 0"]);
    await desk.pass(MINUTE);
    await desk.customer("Do you sell ink?");
    expect(await desk.clocks()).toEqual(["first running"]);
    // A hook answers these alone.
    await desk.customer("hello");
    await desk.pass(16 * MINUTE);
    const alert = desk.signals.findLast(({ state }) => state === "firing");
    expect(alert).toMatchObject({ entity: { lastWords: "Do you sell ink?" }, clock: { elapsedMs: 15 * MINUTE } });
    await desk.staff("Yes, black and blue.");
    expect(await desk.clocks()).toEqual(["first ended late 16"]);
    // One conversation counts once.
    const report = await desk.sla.desk.report(at("2026-11-20T00:00:00Z"), at("2026-11-21T00:00:00Z"));
    expect(report[0]).toMatchObject({ met: 0, metByHook: 0, late: 1, medianMs: 16 * MINUTE });
    await desk.customer("And green?");
    expect((await desk.clocks()).filter((clock) => !clock.startsWith("first"))).toEqual(
      policies.length === 1 ? [] : ["next running"],
    );
  });

  it("wait since the first of more messages than are kept", async () => {
    const desk = await support();
    await desk.customer("hello");
    await desk.staff("hello");
    const started = desk.clock.now();
    for (let i = 0; i < 105; i++) {
      await desk.customer(`line ${i}`);
      await desk.clock.advance(1_000);
    }
    const [next, ...others] = await desk.rig.store.sla.list({ policyId: "next", limit: 10 });
    expect([next?.state, next?.startedAt, others]).toEqual(["running", started, []]);
  }, 120_000);

  it("see an answer that comes back through a bridge where the customer is", async () => {
    const desk = await support({
      gateway: { default_route: { forward: "loop:bot:desk" } },
    });
    await desk.customer("anybody there?", { chatId: "dm-7" });
    await desk.pass(4 * MINUTE);
    const copy = desk.rig.platform.messages.find(({ chatId }) => chatId === "desk");
    const answer = await desk.staff("yes", { chatId: "desk", isDm: false, replyToId: copy?.id });
    expect(desk.rig.platform.texts("dm-7")).toHaveLength(1);
    expect(await desk.clocks()).toContain("first ended met 4");
    // Taken back in the staff's chat, it is taken back for the customer, too.
    await desk.rig.receive({
      kind: "deleted",
      eventId: "del",
      address: { platform: "loop", botId: "bot", chatId: "desk" },
      messageId: answer,
      at: desk.clock.now(),
    });
    await desk.pass(MINUTE);
    expect(desk.rig.platform.texts("dm-7")).toEqual([]);
    expect(await desk.clocks()).toContain("first running");
  });

  it.each([
    ["that the platform puts off", { kind: "retry", error: "503", scope: "chat" }, undefined],
    ["whose request is repeated, because its answer was lost", { kind: "lost" }, undefined],
    ["that a crash cuts off", { kind: "hang" }, "crash"],
    ["that arrived, as an operator says", { kind: "lost" }, "held"],
    ["that was refused", { kind: "permanent", error: "403" }, undefined],
  ] satisfies [string, Scripted, "crash" | "held" | undefined][])(
    "see an answer %s as none when its author deletes it meanwhile, and once when its author changes it",
    async (_, result, end) => {
      for (const change of ["deleted", "edited"] as const) {
        const platform = new LoopbackPlatform("loop", { idempotentCreate: end !== "held" });
        const options = { platforms: [platform], gateway: { default_route: { forward: "loop:bot:desk" } } };
        let desk = await support(options);
        const { clock } = desk;
        await desk.customer("anybody there?", { chatId: "dm-7" });
        await desk.pass(4 * MINUTE);
        let requests = 0;
        platform.script = ({ address }) => (address.chatId === "dm-7" && requests++ === 0 ? result : undefined);
        const facts = { userId: "1", displayName: "Olga", chatId: "desk", replyToId: platform.messages[0]?.id };
        const message = messageOf("yse", { ...facts, receivedAt: clock.now() });
        const { messageId } = message;
        await desk.rig.receive({ kind: "message", eventId: messageId, message });
        await until(() => requests > 0, "the first request");
        const address = { platform: "loop", botId: "bot", chatId: "desk" };
        await desk.rig.receive(
          change === "edited"
            ? { kind: "edited", eventId: "change", message: { ...message, text: "yes", isEdit: true } }
            : { kind: "deleted", eventId: "change", address, messageId, at: clock.now() },
        );
        await until(async () => {
          const { waiting, running } = (await desk.rig.gateway.status()).inbox;
          return waiting + running === 0;
        }, "the change is taken in");
        if (end === "crash") {
          await desk.sla.stop();
          await desk.rig.crash();
          desk = await support({ ...options, file: desk.rig.file, clock });
        } else if (end === "held") {
          const list = () => desk.rig.store.outbox.list({ status: end, limit: 5 });
          const isGivenUp = ({ targetId }: { targetId?: string | undefined }) => targetId === undefined;
          const answer = await until(async () => (await list()).find(isGivenUp), "the answer is given up");
          await desk.rig.gateway.release(answer.id, true);
        }
        await until(async () => {
          await clock.advance(1_000);
          const { waiting, sending } = (await desk.rig.gateway.status()).outbox;
          return waiting + sending === 0;
        }, "everything is sent");
        await desk.pass(MINUTE);
        const clocks = await desk.clocks();
        if (change === "deleted") expect(clocks).toEqual(["first running", "solved running"]);
        else expect(clocks).toEqual([expect.stringContaining("first ended met 4"), "solved paused"]);
      }
    },
  );

  it("see an answer that was refused when its correction is delivered, and a later correction as no answer", async () => {
    const desk = await support({ gateway: { default_route: { forward: "loop:bot:desk" } } });
    await desk.customer("anybody there?", { chatId: "dm-7" });
    const copy = desk.rig.platform.messages.find(({ chatId }) => chatId === "desk");
    desk.rig.platform.script = ({ address }) =>
      address.chatId === "dm-7" ? { kind: "permanent", error: "400: strange content" } : undefined;
    const facts = { userId: "1", displayName: "Olga", chatId: "desk", isDm: false, replyToId: copy?.id };
    const messageId = await desk.staff("yse", facts);
    desk.rig.platform.script = () => undefined;
    expect(await desk.clocks()).toContain("first running");
    const correct = async (text: string, eventId: string) => {
      const message = messageOf(text, { ...facts, messageId, isEdit: true, receivedAt: desk.clock.now() });
      await desk.rig.receive({ kind: "edited", eventId, message });
      await desk.rig.idle();
      await desk.pass(MINUTE);
    };
    await desk.pass(4 * MINUTE);
    await correct("yes", "edit:1");
    expect(desk.rig.platform.texts("dm-7")).toEqual(["**Olga**: yes"]);
    expect(await desk.clocks()).toContain("first ended met 4");
    await desk.customer("and where?", { chatId: "dm-7" });
    await correct("yes, sure", "edit:2");
    expect(desk.rig.platform.texts("dm-7")).toEqual(["**Olga**: yes, sure"]);
    expect(await desk.clocks()).toContain("next running");
  });

  it("see an answer that the bridge plugin posts where the customer is, and no question in a customer's copy", async () => {
    const desk = await support();
    const plugins = createPlugins({
      entries: pluginsConfig.parse([
        { module: "dist/examples/plugins/bridge.js", config: { pairs: [["loop::forum", "loop::desk"]] } },
      ]),
      baseDir: resolve(import.meta.dirname, "../../.."),
      registry: desk.rig.registry,
      gateway: desk.rig.gateway,
      keyValue: desk.rig.store.keyValue,
      clock: desk.clock,
      logger: silentLogger,
      watch: false,
    });
    expect(await plugins.load()).toMatchObject([{ state: "loaded" }]);
    await desk.customer("anybody there?", { chatId: "forum", isDm: false });
    expect(desk.rig.platform.texts("desk")).toHaveLength(1);
    expect(await desk.clocks()).toEqual(["first running", "solved running"]);
    await desk.pass(4 * MINUTE);
    await desk.staff("yes", { chatId: "desk", isDm: false });
    await desk.pass(MINUTE);
    expect(desk.rig.platform.texts("forum")).toHaveLength(1);
    expect(await desk.clocks()).toContain("first ended met 4");
  });

  it("do not count an answer that a hook withholds from the customer, until it is sent", async () => {
    const desk = await support({ gateway: { default_route: { forward: "loop:bot:desk" } } });
    desk.rig.registry.registerModifying(
      "message_sending",
      ({ message: { text } }) => {
        if (text.includes("secret")) throw new Error("the guard is out of order");
        return text.includes("rude") ? { cancel: "not polite" } : null;
      },
      { id: "guard", failurePolicy: "fail-closed" },
    );
    await desk.customer("anybody there?", { chatId: "dm-7" });
    const copy = desk.rig.platform.messages.find(({ chatId }) => chatId === "desk");
    const reply = (text: string) => desk.staff(text, { chatId: "desk", isDm: false, replyToId: copy?.id });
    await desk.pass(2 * MINUTE);
    await reply("a rude answer");
    await reply("a secret answer");
    await desk.pass(2 * MINUTE);
    expect(desk.rig.platform.texts("dm-7")).toEqual([]);
    expect(await desk.clocks()).toContain("first running");
    const [held] = await desk.rig.store.outbox.list({ status: "held", limit: 1 });
    desk.rig.registry.setEnabled("guard", false);
    expect(await desk.rig.gateway.release(held?.id ?? "")).toBe(true);
    await desk.pass(MINUTE);
    expect(desk.rig.platform.texts("dm-7")).toHaveLength(1);
    expect(await desk.clocks()).toContain("first ended met 4");
  });

  it("end by a reaction that Telegram has as well: ✅ is none of its", async () => {
    const desk = await support();
    const question = await desk.customer("thanks, all good");
    await desk.pass(MINUTE);
    await desk.rig.receive({
      ...{ kind: "reaction", eventId: "r1", address: { platform: "loop", botId: "bot", chatId: "room" } },
      ...{ messageId: question, userId: "1", emoji: "🫡", isDm: true, at: desk.clock.now() },
    });
    await desk.pass(MINUTE);
    expect(await desk.clocks()).toEqual(["first ended unanswered 1", "solved ended unanswered 1"]);
  });

  it("end when one of us says so: by a reaction, or by a command; the customer's next word begins another", async () => {
    const desk = await support();
    const question = await desk.customer("thanks, all good");
    await desk.pass(MINUTE);
    const address = { platform: "loop", botId: "bot", chatId: "room" };
    const react = (eventId: string, userId: string) =>
      desk.rig.receive({
        kind: "reaction",
        eventId,
        address,
        messageId: question,
        userId,
        emoji: "✅",
        isDm: true,
        at: desk.clock.now(),
      });
    await react("r1", "7");
    await desk.pass(MINUTE);
    expect(await desk.clocks()).toContain("solved running");
    await react("r2", "1");
    await desk.pass(MINUTE);
    expect(await desk.clocks()).toEqual(["first ended unanswered 2", "solved ended unanswered 2"]);
    await desk.customer("one more thing");
    const [open] = await desk.rig.store.sla.list({ state: "open", limit: 1 });
    expect(await desk.sla.desk.close(open?.entity.id ?? "", "Olga")).toBe(true);
    expect(await desk.sla.desk.close(open?.entity.id ?? "", "Olga")).toBe(false);
    expect((await desk.clocks()).filter((line) => !line.includes("unanswered"))).toEqual([]);
  });

  it("of an even number of answers have the mean of the two in the middle as median", async () => {
    const desk = await support();
    for (const [chatId, minutes] of [
      ["dm-1", 2],
      ["dm-2", 6],
    ] as const) {
      await desk.customer("my parcel is lost", { chatId });
      await desk.pass(minutes * MINUTE);
      await desk.staff("It is found.", { chatId });
    }
    const report = await desk.sla.desk.report(at("2026-11-20T00:00:00Z"), at("2026-11-21T00:00:00Z"));
    const first = report.find(({ policyId }) => policyId === "first");
    expect(first).toMatchObject({ medianMs: 4 * MINUTE, p90Ms: 6 * MINUTE });
    expect(first?.ended).toHaveLength(2);
  });

  it("that a hook answered are counted apart: shares, medians and percentiles are those of people", async () => {
    const desk = await support({
      sla: { conversations: { hooks: "answered", resolved_after: "1h" } },
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", ({ message }) =>
          message.text === "when are you open?" ? { handled: true, reply: "From nine to five." } : null,
        ),
    });
    for (const chatId of ["dm-1", "dm-2", "dm-3"]) await desk.customer("when are you open?", { chatId });
    for (const chatId of ["dm-4", "dm-5"]) await desk.customer("my parcel is lost", { chatId });
    await desk.pass(4 * MINUTE);
    await desk.staff("It is found.", { chatId: "dm-4" });
    await desk.pass(16 * MINUTE);
    const late = { platform: "loop", botId: "bot", chatId: "dm-5" };
    await desk.rig.gateway.send(late, { text: "Have you looked?" }, { cause: { kind: "hook", id: "1", depth: 1 } });
    await desk.pass(MINUTE);
    const report = await desk.sla.desk.report(at("2026-11-20T00:00:00Z"), at("2026-11-21T00:00:00Z"));
    const first = report.find(({ policyId }) => policyId === "first");
    // The customer of the late one has waited: it is missed, and its time is nobody's.
    expect(first).toMatchObject({ met: 1, metByHook: 3, late: 1, attained: 0.5 });
    expect(first).toMatchObject({ medianMs: 4 * MINUTE, p90Ms: 4 * MINUTE, maxMs: 4 * MINUTE });
    expect(first?.days).toEqual([{ day: "2026-11-20", met: 1, metExtended: 0, late: 1 }]);
    expect(first?.ended).toEqual([{ usedMs: 4 * MINUTE, met: true }]);

    // Resolved by the silence after an answer of a hook, of a person, or of a hook that came late.
    await desk.pass(2 * HOUR);
    const later = await desk.sla.desk.report(at("2026-11-20T00:00:00Z"), at("2026-11-21T00:00:00Z"));
    const solved = later.find(({ policyId }) => policyId === "solved");
    expect(solved).toMatchObject({ met: 1, metByHook: 4, late: 0 });
    expect(solved?.ended).toHaveLength(1);
    const ends = desk.signals.flatMap(({ state, reason }) => (state === "resolved" ? [reason] : []));
    expect(ends.join()).toContain("answered by a hook");
  });

  it("ends by silence although that of another one fails", async () => {
    const desk = await support({ sla: { conversations: { resolved_after: "2h" } } });
    for (const chatId of ["dm-1", "dm-2"]) {
      await desk.customer("when are you open?", { chatId });
      await desk.staff("At nine.", { chatId });
    }
    const open = () => desk.rig.store.sla.openCases("", 10);
    const first = (await open()).find(({ address }) => address.chatId === "dm-1");
    const { caseById } = desk.rig.store.sla;
    desk.rig.store.sla.caseById = async (id) => {
      if (id === first?.id) throw new Error("its row is damaged");
      return caseById(id);
    };
    await desk.clock.advance(2 * HOUR + MINUTE);
    await until(async () => (await open()).length === 1, "the end of the other");
    expect((await open()).map(({ id }) => id)).toEqual([first?.id]);
    // It is tried again.
    desk.rig.store.sla.caseById = caseById;
    await desk.clock.advance(MINUTE);
    await until(async () => (await open()).length === 0, "its end");
  });

  it("that are closed without an answer meet no target, and their time is no response time", async () => {
    const desk = await support();
    const close = async () => {
      const [open] = await desk.rig.store.sla.list({ state: "open", limit: 1 });
      await desk.sla.desk.close(open?.entity.id ?? "", "Olga: going home");
    };
    await desk.customer("hello?");
    await desk.pass(MINUTE);
    await close();
    await desk.customer("hello, again?");
    await desk.pass(20 * MINUTE);
    await close();
    await desk.customer("third time");
    await desk.pass(2 * MINUTE);
    await desk.staff("Here I am.");
    await close();
    const report = await desk.sla.desk.report(at("2026-11-20T00:00:00Z"), at("2026-11-21T00:00:00Z"));
    expect(report.find(({ policyId }) => policyId === "first")).toMatchObject({
      // The one that was late when it was closed is counted once.
      ...{ met: 1, late: 1, unanswered: 1, medianMs: 2 * MINUTE, maxMs: 2 * MINUTE, attained: 0.5 },
    });
    expect(report.find(({ policyId }) => policyId === "solved")).toMatchObject({ met: 1, late: 0, unanswered: 2 });
    const ends = desk.signals.filter(({ state }) => state === "resolved").map(({ reason }) => reason);
    expect(ends[0]).toMatch(/^closed without an answer by Olga: going home/);
  });

  it("go with a chat that gets another id", async () => {
    const desk = await support();
    await desk.customer("hello", { isDm: false });
    await desk.pass(MINUTE);
    const address = { platform: "loop", botId: "bot", chatId: "room" };
    await desk.rig.receive({ kind: "moved", eventId: "mv", address, toChatId: "super", at: desk.clock.now() });
    await desk.pass(MINUTE);
    await desk.staff("hello", { chatId: "super", isDm: false });
    expect(await desk.clocks()).toContain("first ended met 2");
  });
});

it("a policy that names a chat by the id that it had before it moved is about that chat", async () => {
  const named = (id: string, match: string) => ({
    ...{ id, match, for: "conversation", measure: "first_response", target: "15m" },
  });
  const policies = [named("others", "entity.facts.chat != '-5'"), named("group", "entity.facts.chat == '-5'")];
  const desk = await support({ sla: { policies } });
  const address = { platform: "loop", botId: "bot", chatId: "-5" };
  await desk.rig.receive({ kind: "moved", eventId: "mv", address, toChatId: "-1005", at: desk.clock.now() });
  await desk.customer("hello", { chatId: "-1005", isDm: false });
  expect((await desk.clocks()).map((line) => line.split(" ")[0])).toEqual(["group"]);
});

describe.each(["first", "next"])("an answer on its way while the customer writes again: %s response", (policy) => {
  const FORWARD = { gateway: { default_route: { forward: "loop:bot:desk" } } };
  const DM = { platform: "loop", botId: "bot", chatId: "dm-7" };

  async function write(desk: SupportRig, text: string, facts: Partial<InboundMessage>): Promise<void> {
    const message = messageOf(text, { isDm: true, chatId: "dm-7", receivedAt: desk.clock.now(), ...facts });
    await desk.rig.receive({ kind: "message", eventId: message.messageId, message });
    await desk.rig.settled(message.messageId, message.chatId);
  }

  async function opened(options: Parameters<typeof support>[0]): Promise<SupportRig> {
    const desk = await support(options);
    if (policy === "first") return desk;
    await desk.customer("hello", { chatId: "dm-7" });
    await desk.staff("hello", { chatId: "dm-7" });
    await desk.pass(MINUTE);
    return desk;
  }

  /** 4 min after FIRST it is written, 1 min later SECOND comes; the platform lets it wait for 6 min. */
  async function crossing(end: Scripted | undefined, writtenAfter = 4 * MINUTE): Promise<SupportRig> {
    const desk = await opened(FORWARD);
    await desk.customer("FIRST", { chatId: "dm-7" });
    await desk.pass(writtenAfter);
    const copy = desk.rig.platform.messages.find(({ text }) => text.includes("FIRST"));
    let tries = 0;
    desk.rig.platform.script = ({ address }) => {
      if (address.chatId !== "dm-7") return undefined;
      return tries++ === 0 ? { kind: "retry", error: "slow down", afterMs: 6 * MINUTE, scope: "chat" } : end;
    };
    const staff = { userId: "1", displayName: "Olga", chatId: "desk", isDm: false, replyToId: copy?.id };
    await write(desk, "the answer", staff);
    await until(() => tries === 1, "the first attempt");
    await desk.clock.advance(MINUTE);
    await write(desk, "SECOND", { userId: "7" });
    return desk;
  }
  /** The pause ends 10 minutes after FIRST. The time is moved to 11, and the answer of the platform may come before or after that. */
  const AT_ITS_END = /^FIRST(, put otherwise)? met 1[01]$/;
  async function confirmed(desk: SupportRig): Promise<void> {
    await desk.clock.advance(6 * MINUTE);
    await desk.pass(1);
  }
  const waiting = (desk: SupportRig) =>
    desk.rig.store.sla
      .list({ state: "open", limit: 9 })
      .then((all) => all.flatMap(({ policyId, startedAt }) => (policyId === "solved" ? [] : [[policyId, startedAt]])));
  const ended = (desk: SupportRig) =>
    desk.rig.store.sla
      .list({ policyId: policy, state: "ended", limit: 9 })
      .then((all) => all.map(({ outcome, usedMs = 0, entity }) => `${entity.lastWords} ${outcome} ${usedMs / MINUTE}`));
  const deleted = async (desk: SupportRig, text: string) => {
    const rows = await desk.rig.store.inbox.list({ limit: 9 });
    const { event } = rows.find(({ event: one }) => "message" in one && one.message.text === text) ?? {};
    const messageId = event && "message" in event ? event.message.messageId : "none";
    await desk.rig.receive({ kind: "deleted", eventId: "del", address: DM, messageId, at: desk.clock.now() });
    await desk.rig.settled("del", "dm-7");
  };

  it("answers what had reached us before it was written; what came later waits since then, and is what is quoted", async () => {
    const desk = await crossing(undefined);
    const second = desk.clock.now();
    expect(await waiting(desk)).toEqual([[policy, second - 5 * MINUTE]]);
    await confirmed(desk);
    expect(desk.rig.platform.texts("dm-7")).toHaveLength(1);
    expect(await waiting(desk)).toEqual([["next", second]]);
    expect(await ended(desk)).toEqual([expect.stringMatching(AT_ITS_END)]);
    await desk.pass(25 * MINUTE);
    const alert = desk.signals.findLast(({ state }) => state === "firing");
    expect(alert).toMatchObject({ source: { policyId: "next" }, entity: { lastWords: "SECOND", status: "waiting" } });
    // Nobody was silent: the customer is the one who waits.
    await desk.pass(48 * HOUR);
    expect(await waiting(desk)).toEqual([["next", second]]);
  });

  it("answers the same after a restart", async () => {
    const before = await crossing(undefined);
    const second = before.clock.now();
    await before.rig.crash();
    const { file, platform } = before.rig;
    const desk = await support({ ...FORWARD, file, clock: before.clock, platforms: [platform] });
    await confirmed(desk);
    expect(desk.rig.platform.texts("dm-7")).toHaveLength(1);
    expect(await waiting(desk)).toEqual([["next", second]]);
  });

  it("answers nothing when it is refused in the end", async () => {
    const desk = await crossing({ kind: "permanent", error: "the chat is gone" });
    const first = desk.clock.now() - 5 * MINUTE;
    await confirmed(desk);
    expect(await waiting(desk)).toEqual([[policy, first]]);
  });

  it("goes on so when the customer edits what it answers", async () => {
    const desk = await crossing(undefined);
    const second = desk.clock.now();
    const [row] = await desk.rig.store.inbox
      .list({ limit: 9 })
      .then((rows) => rows.filter(({ event }) => "message" in event && event.message.text === "FIRST"));
    const messageId = row && "message" in row.event ? row.event.message.messageId : "none";
    const message = messageOf("FIRST, put otherwise", { messageId, isEdit: true, isDm: true, chatId: "dm-7" });
    await desk.rig.receive({ kind: "edited", eventId: "ed1", message });
    await confirmed(desk);
    expect(await waiting(desk)).toEqual([["next", second]]);
    expect(await ended(desk)).toEqual([expect.stringMatching(AT_ITS_END)]);
  });

  it("answers what had come in when a hook sent it on its own", async () => {
    const desk = await opened({ ...FORWARD, sla: { conversations: { hooks: "answered" } } });
    await desk.customer("FIRST", { chatId: "dm-7" });
    let tries = 0;
    desk.rig.platform.script = () =>
      tries++ === 0 ? { kind: "retry", error: "slow down", afterMs: 6 * MINUTE, scope: "chat" } : undefined;
    await desk.rig.gateway.send(DM, { text: "Try again." }, { cause: { kind: "hook", id: "1", depth: 1 } });
    await until(() => tries === 1, "the first attempt");
    await desk.clock.advance(MINUTE);
    const second = desk.clock.now();
    await write(desk, "SECOND", { userId: "7" });
    await confirmed(desk);
    expect(desk.rig.platform.texts("dm-7")).toHaveLength(1);
    expect(await waiting(desk)).toEqual([[policy, second]]);
    expect(await ended(desk)).toEqual(policy === "first" ? [] : ["FIRST met 7"]);
  });

  it("answers the message that a hook claimed, when it is the reply of that hook", async () => {
    const desk = await opened({
      ...FORWARD,
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", ({ message }) =>
          message.text === "FIRST" ? { handled: true, reply: "9 to 5" } : null,
        ),
    });
    let tries = 0;
    desk.rig.platform.script = () =>
      tries++ === 0 ? { kind: "retry", error: "slow down", afterMs: 6 * MINUTE, scope: "chat" } : undefined;
    await write(desk, "FIRST", { userId: "7" });
    await until(() => tries === 1, "the first attempt");
    await desk.clock.advance(MINUTE);
    const second = desk.clock.now();
    await write(desk, "SECOND", { userId: "7" });
    await confirmed(desk);
    expect(desk.rig.platform.texts("dm-7")).toEqual(["9 to 5"]);
    expect(await waiting(desk)).toEqual([[policy, second]]);
    expect(await ended(desk)).toEqual(policy === "first" ? [] : ["FIRST met 7"]);
  });

  it("ends the alert of what it answers, with how late it is, and quotes nothing else there", async () => {
    const desk = await crossing(undefined, 40 * MINUTE);
    const alert = desk.signals.findLast(({ state }) => state === "firing");
    await confirmed(desk);
    const { state, reason, entity } =
      desk.signals.findLast(({ fingerprint }) => fingerprint === alert?.fingerprint) ?? {};
    const late = policy === "first" ? "32 min" : "17 min";
    expect([state, reason, entity?.lastWords]).toEqual(["resolved", `answered by Olga, ${late} late`, "FIRST"]);
    expect(await ended(desk)).toEqual(["FIRST late 47"]);
  });

  it("leaves nothing that waits when the customer deletes what came later", async () => {
    const desk = await crossing(undefined);
    await deleted(desk, "SECOND");
    await confirmed(desk);
    expect(await waiting(desk)).toEqual([]);
    expect(await ended(desk)).toEqual([expect.stringMatching(AT_ITS_END)]);
  });

  it("answers nothing when the customer deletes what it answers; what came later waits since then", async () => {
    const desk = await crossing(undefined);
    const second = desk.clock.now();
    await deleted(desk, "FIRST");
    await confirmed(desk);
    expect(await waiting(desk)).toEqual([[policy, second]]);
    expect((await ended(desk)).join()).not.toMatch(/met|late/);
  });
});

describe("the words of a message whose copy hooks withhold", () => {
  const WITHHELD = "(withheld by a hook)";
  const DM = { userId: "7", displayName: "Ada", chatId: "dm-7", isDm: true };

  async function guarded() {
    let isDown = true;
    const desk = await support({
      gateway: { default_route: { forward: "loop:bot:desk" } },
      hooks: (registry) =>
        void registry.registerModifying(
          "message_sending",
          ({ message: { text } }: { message: { text: string } }) => {
            if (text.includes("wait") && isDown) throw new Error("the guard is down");
            return text.includes("SECRET") ? { cancel: "a secret" } : null;
          },
          { name: "guard", failurePolicy: "fail-closed" },
        ),
    });
    let edits = 0;
    return {
      ...desk,
      repair: () => {
        isDown = false;
      },
      async correct(messageId: string, text: string) {
        const message = messageOf(text, { ...DM, messageId, isEdit: true, receivedAt: desk.clock.now() });
        await desk.rig.receive({ kind: "edited", eventId: `edit:${messageId}:${++edits}`, message });
        await desk.rig.settled(`edit:${messageId}:${edits}`, "dm-7");
        await desk.pass(1);
      },
      quoted: async () => (await desk.rig.store.sla.list({ policyId: "first", limit: 1 }))[0]?.entity.lastWords,
      texts: () => desk.rig.platform.texts("desk"),
    };
  }

  it("are not quoted by alerts, and the words of a correction that is shown are", async () => {
    const { customer, correct, quoted, pass, signals, texts } = await guarded();
    await customer("plain question", DM);
    expect(await quoted()).toBe("plain question");
    const id = await customer("my SECRET pin", DM);
    expect(await quoted()).toBe(WITHHELD);
    await pass(16 * MINUTE);
    expect(signals.map(({ state, entity }) => [state, entity?.lastWords])).toEqual([
      ["warned", WITHHELD],
      ["firing", WITHHELD],
    ]);
    await correct(id, "my pin");
    expect(await quoted()).toBe("my pin");
    await correct(id, "my SECRET pin, again");
    expect(await quoted()).toBe(WITHHELD);
    expect(texts().join()).not.toContain("SECRET");
  });

  it("are quoted again once an operator releases what is held, as the copy has them", async () => {
    const { rig, customer, correct, quoted, repair, pass, texts } = await guarded();
    const id = await customer("please wait", DM);
    expect(await quoted()).toBe(WITHHELD);
    await correct(id, "please wait: it is *late*");
    expect(await quoted()).toBe(WITHHELD);
    repair();
    const [held] = await rig.store.outbox.list({ status: "held", limit: 1 });
    await rig.gateway.release(held?.id ?? "");
    await pass(1);
    expect(texts()).toEqual([expect.stringContaining("it is *late*")]);
    expect(await quoted()).toBe("please wait: it is *late*");
  });

  it("are not quoted after a crash that came before the SLA part saw that", async () => {
    const before = await guarded();
    const id = await before.customer("plain question", DM);
    await before.sla.stop();
    const message = messageOf("my SECRET pin", { ...DM, messageId: id, isEdit: true });
    await before.rig.receive({ kind: "edited", eventId: "edit:x", message });
    await before.rig.idle();
    await before.rig.crash();
    const { file, platform } = before.rig;
    const desk = await support({ file, clock: before.clock, platforms: [platform] });
    await desk.pass(1);
    expect((await desk.rig.store.sla.list({ policyId: "first", limit: 1 }))[0]?.entity.lastWords).toBe(WITHHELD);
  });
});

describe("what the gateway saw", () => {
  it("is kept with the settling of the message, and taken up after a crash that came before anybody looked", async () => {
    const before = await startRig({
      clock: new ManualClock(at("2026-11-20T08:00:00Z")),
      // Nobody looks: as when the process dies right after the commit.
      watch: () => ({ isWanted: () => true, hearsHooks: () => true, seen: () => {} }),
    });
    const message = messageOf("help", { isDm: true, receivedAt: before.clock.now() });
    await before.receive({ kind: "message", eventId: message.messageId, message });
    await before.idle();
    await before.crash();
    const desk = await support({
      file: before.file,
      clock: new ManualClock(at("2026-11-20T09:00:00Z")),
      platforms: [before.platform],
    });
    await desk.pass(MINUTE);
    expect(desk.signals.map(({ state, at: when }) => `${state} ${new Date(when).toISOString()}`)).toEqual([
      "firing 2026-11-20T08:15:00.000Z",
    ]);
  });

  it("is not kept when no policy is about conversations", async () => {
    const desk = await support({ sla: { policies: [{ id: "t", for: "task" }] } });
    await desk.customer("hello");
    expect([await desk.rig.store.sla.unseen(1), await desk.rig.store.sla.openCases("", 1)]).toEqual([[], []]);
  });
});
