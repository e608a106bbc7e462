/** Messages that end without being sent or answered: each end is reported at once, with its reason. */
import { describe, expect, it } from "vitest";
import type { InboundMessage } from "../../src/domain/chat/message.js";
import type { HookRegistry } from "../../src/hooks/registry.js";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { startRig } from "./rig.js";

describe("a message", () => {
  it("routed to a platform that is not switched on is a failed run, and the next hook is asked", async () => {
    const rig = await startRig({
      platforms: [new LoopbackPlatform("loop")],
      hooks(registry) {
        registry.registerClaiming(
          "inbound_claim",
          () => ({ handled: true, routeTo: { platform: "slack", botId: "", chatId: "lobby" } }),
          { id: "astray" },
        );
        registry.registerClaiming("inbound_claim", () => ({ handled: true, reply: "here" }));
      },
    });
    await rig.say("hello", { messageId: "m1" });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["here"]);
    const runs = rig.dispatches.flatMap((dispatch) => dispatch.runs);
    expect(runs).toContainEqual(
      expect.objectContaining({
        hookId: "astray",
        outcome: "failed",
        error: expect.stringContaining('routeTo: the platform "slack" is not switched on'),
      }),
    );
  });

  it.each([
    ["an empty reply", { reply: " " }, "reply: it has no text, card, attachment or button"],
    ["an empty message", { reply: { text: "", buttons: [] } }, "reply: it has no text, card, attachment or button"],
    [
      "a routeTo to where the message came from",
      { routeTo: { platform: "loop", botId: "", chatId: "room" } },
      "routeTo: the message came from there, so it would reach no one: answer with reply",
    ],
    [
      "deferMs and routeTo",
      { deferMs: 50, routeTo: { platform: "loop", botId: "bot", chatId: "lobby" } },
      "deferMs: a message that is put off is offered to the hooks again, and is not forwarded",
    ],
  ])("claimed with %s is a failed run, and the next hook is asked", async (_, claim, error) => {
    const rig = await startRig({
      hooks(registry) {
        registry.registerClaiming("inbound_claim", () => ({ handled: true, ...claim }), { id: "astray" });
        registry.registerClaiming("inbound_claim", () => ({ handled: true, reply: { text: "here" } }));
      },
    });
    await rig.say("hello", { messageId: "m1" });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["here"]);
    const runs = rig.dispatches.flatMap((dispatch) => dispatch.runs);
    expect(runs).toContainEqual(
      expect.objectContaining({ hookId: "astray", outcome: "failed", error: expect.stringContaining(error) }),
    );
  });

  it("that a plugin's route forwards to where nothing is becomes a dead letter with the reason", async () => {
    const rig = await startRig({
      gateway: { default_route: { plugin: "p" }, inbox_attempts: 1 },
      routes: new Map([["p", () => ({ routeTo: { platform: "slack", botId: "", chatId: "lobby" } })]]),
    });
    await rig.say("hello", { messageId: "m1" });
    expect(await rig.settled("m1")).toMatchObject({
      status: "dead",
      error: expect.stringContaining('The route of "p": routeTo: the platform "slack" is not switched on'),
    });
  });

  it("put off more often than is allowed goes on, and its row keeps why", async () => {
    const rig = await startRig({
      gateway: { max_deferrals: 2 },
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", () => ({ handled: true, deferMs: 50 }), { id: "slow" }),
    });
    await rig.say("hello", { messageId: "m1" });
    const row = await until(async () => {
      await rig.clock.advance(1_000);
      return (await rig.store.inbox.list({ status: "done", limit: 1 }))[0];
    }, "the message being settled");
    expect(row).toMatchObject({
      outcome: "unrouted",
      reason: expect.stringContaining("slow put it off 2 times, as often as gateway.max_deferrals allows, and would"),
    });
  });

  it.each([
    ["in a direct message", { isDm: true }, "Your message was", "`/hooks why last`"],
    ["in a room", { isGroupMention: true }, "Your message in the room was", "`/hooks why m1`"],
  ])(
    "put off more often than is allowed %s tells its operator which hook deferred it",
    async (_, facts, start, why) => {
      const rig = await startRig({
        gateway: { max_deferrals: 2 },
        hooks: (registry) =>
          void registry.registerClaiming("inbound_claim", () => ({ handled: true, deferMs: 50 }), { id: "slow" }),
      });
      await rig.say("hello", { messageId: "m1", userId: "1", ...facts });
      await until(async () => {
        await rig.clock.advance(1_000);
        return (await rig.store.inbox.list({ status: "done", limit: 1 })).length > 0;
      }, "the message being settled");
      await rig.idle();
      expect(rig.platform.texts().join("")).toBe(
        `${start} not answered: the hook \`slow\` deferred it 2 times and would have deferred it again, which \`gateway.max_deferrals\` does not allow. Send it again later, or change the hook. ${why} shows why.`,
      );
    },
  );

  describe.each([
    [
      "cancelled",
      (registry: HookRegistry) => void registry.registerModifying("message_sending", () => ({ cancel: true })),
    ],
    [
      "suppressed",
      (registry: HookRegistry) => void registry.registerClaiming("before_dispatch", () => ({ handled: true })),
    ],
    [
      "held",
      (registry: HookRegistry) =>
        void registry.registerModifying("message_sending", () => Promise.reject(new Error("the guard is down")), {
          failurePolicy: "fail-closed",
        }),
    ],
  ])("that a hook claimed, with a reply that is %s,", (ending, withhold) => {
    const claimed = async (facts: Partial<InboundMessage>, unanswered_note = true) => {
      const rig = await startRig({
        gateway: { unanswered_note },
        access: { loop: { dms: "everyone", chats: ["*"], mention: "always" } },
        hooks(registry) {
          registry.registerClaiming("inbound_claim", () => ({ handled: true, reply: "secretword" }));
          withhold(registry);
        },
      });
      await rig.say("wh", { messageId: "m1", ...facts });
      await rig.idle();
      const shown = rig.platform.texts().join("");
      expect(shown).not.toContain("secretword");
      return shown;
    };

    it("has its sender notified who has a role, with the command that shows why", async () => {
      const direct = await claimed({ isDm: true, userId: "3" });
      expect(direct).toContain(`The answer to your message was ${ending}.`);
      expect(direct).toContain("`/hooks why m1` shows what happened.");
      expect(await claimed({ userId: "1" })).toContain(`The answer to your message was ${ending}.`);
    });

    it("says nothing to who would get no note that no hook answered", async () => {
      expect(await claimed({ isDm: true, userId: "7" })).toBe("");
      expect(await claimed({ userId: "3" })).toBe("");
      expect(await claimed({ isGroupMention: false, userId: "1" })).toBe("");
      expect(await claimed({ isDm: true, userId: "1" }, false)).toBe("");
    });
  });

  describe("that becomes a dead letter", () => {
    const died = async (facts: Partial<InboundMessage>, unanswered_note = true) => {
      let isBroken = true;
      const rig = await startRig({
        gateway: { unanswered_note, inbox_attempts: 1 },
        access: { loop: { dms: "everyone", chats: ["*"], mention: "always" } },
        hooks: (registry) =>
          void registry.registerClaiming(
            "inbound_claim",
            () => {
              if (isBroken) throw new Error("secretword");
              return { handled: true, reply: "here" };
            },
            { failurePolicy: "fail-closed" },
          ),
      });
      await rig.say("wh", { messageId: "m1", ...facts });
      expect(await rig.settled("m1")).toMatchObject({ status: "dead" });
      await rig.idle();
      const revive = async (isFixed: boolean) => {
        isBroken = !isFixed;
        await rig.gateway.revive(1);
        await rig.settled("m1");
        await rig.idle();
        return rig.platform.texts().join("");
      };
      return { text: rig.platform.texts().join(""), revive };
    };
    const note = "Your message was not handled: it was given up after one attempt. `/hooks why m1` shows why.";

    it("has its author told who has a role, with the next step of this role", async () => {
      expect((await died({ isDm: true, userId: "3" })).text).toBe(note);
      expect((await died({ userId: "1" })).text).toBe(`${note} \`/outbox retry m1\` tries it again.`);
    });

    it("says nothing to who would get no note that no hook answered", async () => {
      expect((await died({ isDm: true, userId: "7" })).text).toBe("");
      expect((await died({ userId: "3" })).text).toBe("");
      expect((await died({ isGroupMention: false, userId: "1" })).text).toBe("");
      expect((await died({ isDm: true, userId: "1" }, false)).text).toBe("");
    });

    it("and is tried again by an operator is answered, or its author is told again", async () => {
      const { revive } = await died({ isDm: true, userId: "3" });
      expect(await revive(false)).toBe(note + note);
      expect(await revive(true)).toBe(`${note}${note}here`);
    });
  });

  it("that is held and discarded by an operator fires delivery_failed, once", async () => {
    const failed: string[] = [];
    const rig = await startRig({
      hooks(registry) {
        registry.registerClaiming("inbound_claim", () => ({ handled: true, reply: { text: "yes" } }));
        registry.registerModifying(
          "message_sending",
          () => {
            throw new Error("the guard is down");
          },
          { failurePolicy: "fail-closed" },
        );
        registry.registerVoid("delivery_failed", ({ error }) => void failed.push(error));
      },
    });
    await rig.say("hello", { messageId: "m1" });
    await rig.idle();
    const [held] = await rig.store.outbox.list({ status: "held", limit: 5 });
    expect(failed).toEqual([]);
    expect(await rig.gateway.discard([held?.id ?? "none"])).toEqual([held?.id]);
    expect(await rig.gateway.discard([held?.id ?? "none"])).toEqual([]);
    await rig.idle();
    expect(failed).toEqual(["an operator discarded it"]);
    expect(await rig.store.outbox.list({ limit: 5 })).toEqual([]);
  });
});
