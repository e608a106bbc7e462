/** Messages that end without being sent or answered: each end is reported at once, with its reason. */
import { describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { startRig } from "./rig.js";

describe("a message", () => {
  it("routed to a platform that is not switched on is a dead letter at once, and delivery_failed fires", async () => {
    const failed: string[] = [];
    const rig = await startRig({
      platforms: [new LoopbackPlatform("loop")],
      hooks(registry) {
        registry.registerClaiming("inbound_claim", () => ({
          handled: true,
          routeTo: { platform: "slack", botId: "", chatId: "lobby" },
        }));
        registry.registerVoid("delivery_failed", ({ error }) => void failed.push(error));
      },
    });
    await rig.say("hello", { messageId: "m1" });
    await rig.idle();
    expect(await rig.store.outbox.list({ status: "dead", limit: 5 })).toMatchObject([
      { conversation: "slack::lobby", reason: 'the platform "slack" is not switched on' },
    ]);
    expect(failed).toEqual(['the platform "slack" is not switched on']);
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
      reason: expect.stringContaining("slow put it off 2 times"),
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
    expect(await rig.gateway.discard([held?.id ?? "none"])).toBe(1);
    expect(await rig.gateway.discard([held?.id ?? "none"])).toBe(0);
    await rig.idle();
    expect(failed).toEqual(["an operator discarded it"]);
    expect(await rig.store.outbox.list({ limit: 5 })).toEqual([]);
  });
});
