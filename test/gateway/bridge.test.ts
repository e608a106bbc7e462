/** A bridge between two platforms: forwards with their author, replies, edits and deletions on both sides. */
import { describe, expect, it } from "vitest";
import type { HookRegistry } from "../../src/hooks/registry.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { messageOf, type Rig, startRig } from "./rig.js";

const toFar = (registry: HookRegistry) =>
  registry.registerClaiming("inbound_claim", ({ message }) =>
    message.platform === "loop"
      ? { handled: true, routeTo: { platform: "far", botId: "", chatId: "lobby" } }
      : { handled: false },
  );

async function startBridge(): Promise<Rig & { far: LoopbackPlatform }> {
  const far = new LoopbackPlatform("far");
  const rig = await startRig({
    gateway: { unanswered_note: false },
    platforms: [new LoopbackPlatform("loop"), far],
    hooks: (registry) => void toFar(registry),
  });
  return { ...rig, far };
}

describe("a bridge", () => {
  it("forwards under the author's name, and brings an unclaimed reply to the copy back to the original", async () => {
    const { far, ...rig } = await startBridge();
    await rig.say("anybody there?", { messageId: "m1", displayName: "Ada *L*" });
    await rig.idle();
    expect(far.texts("lobby")).toEqual(["**Ada \\*L\\***: anybody there?"]);
    const copy = far.messages[0]?.id as string;
    await rig.say("yes", { platform: "far", chatId: "lobby", messageId: "f1", displayName: "Bob", replyToId: copy });
    await rig.idle();
    expect(rig.platform.messages).toMatchObject([{ chatId: "room", text: "**Bob**: yes", body: { replyToId: "m1" } }]);
    // And so on: a reply to what was brought back points at its counterpart.
    const back = rig.platform.messages[0]?.id as string;
    await rig.say("good", { messageId: "m2", replyToId: back });
    await rig.idle();
    expect(far.messages[1]).toMatchObject({ text: "**Ada**: good", body: { replyToId: "f1" } });
  });

  it("does not bring back what answers nobody", async () => {
    const { far, ...rig } = await startBridge();
    await rig.say("hello", { platform: "far", chatId: "lobby", messageId: "f1" });
    await rig.idle();
    expect(far.texts()).toEqual([]);
    expect(rig.platform.texts()).toEqual([]);
  });

  it("carries edits and deletions of the original to the copy, parts included", async () => {
    const { far, ...rig } = await startBridge();
    const message = messageOf("short", { messageId: "m1" });
    await rig.receive({ kind: "message", eventId: "m1", message });
    await rig.idle();
    const long = `${"long ".repeat(20)}end`;
    await rig.receive({ kind: "edited", eventId: "edit:m1:1", message: { ...message, text: long, isEdit: true } });
    await rig.idle();
    expect(far.texts().join("")).toBe(`**Ada**: ${long}`);
    await rig.receive({
      kind: "edited",
      eventId: "edit:m1:2",
      message: { ...message, text: "short again", isEdit: true },
    });
    await rig.idle();
    expect(far.texts()).toEqual(["**Ada**: short again"]);
    await rig.receive({
      kind: "deleted",
      eventId: "del:m1",
      address: { platform: "loop", botId: "bot", chatId: "room" },
      messageId: "m1",
      at: 1,
    });
    await rig.idle();
    expect(far.texts()).toEqual([]);
  });

  it("carries an edit that overtakes the copy", async () => {
    const { far, ...rig } = await startBridge();
    const away = rig.adapters[1];
    away?.context.gateway.state({ phase: "reconnecting" });
    const message = messageOf("typo", { messageId: "m1" });
    await rig.receive({ kind: "message", eventId: "m1", message });
    await rig.receive({ kind: "edited", eventId: "edit:m1:1", message: { ...message, text: "no typo", isEdit: true } });
    await rig.settled("edit:m1:1");
    away?.context.gateway.state({ phase: "online" });
    await rig.idle();
    expect(far.texts()).toEqual(["**Ada**: no typo"]);
  });

  it("names attachments that the other side cannot fetch, and passes on those that it can", async () => {
    const { far, ...rig } = await startBridge();
    await rig.say("", {
      attachments: [
        { type: "image", ref: "1", url: "", mimeType: "image/png", filename: "cat.png" },
        { type: "file", ref: "2", url: "https://example.test/a.pdf", mimeType: "application/pdf" },
      ],
    });
    await rig.idle();
    expect(far.texts()).toEqual(["**Ada**: [image: cat.png]"]);
  });

  it("to where the message came from is no echo", async () => {
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", () => ({
          handled: true,
          routeTo: { platform: "loop", botId: "bot", chatId: "room" },
        })),
    });
    await rig.say("hello", { messageId: "m1" });
    expect(await rig.settled("m1")).toMatchObject({ outcome: "claimed" });
    await rig.idle();
    expect(rig.platform.texts()).toEqual([]);
  });
});
