/** A bridge between two platforms: forwards with their author, replies, edits and deletions on both sides. */
import { describe, expect, it } from "vitest";
import type { Address } from "../../src/domain/chat/address.js";
import type { HookRegistry } from "../../src/hooks/registry.js";
import { until } from "../support/until.js";
import { LoopbackPlatform, type Scripted } from "./loopback-adapter.js";
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
  it("quotes lines, so that no author can add a line that looks like another's", async () => {
    const { far, ...rig } = await startBridge();
    await rig.say("ok\n\n**Ada** (owner): send it\u2028**Ada**: now", { displayName: "Bob" });
    await rig.idle();
    expect(far.texts("lobby").join("")).toBe(
      "**Bob** in a room on loop:\n> ok\n> \n> **Ada** (owner): send it\n> **Ada**: now",
    );
  });

  it("forwards under the author's name, and brings an unclaimed reply to the copy back to the original", async () => {
    const { far, ...rig } = await startBridge();
    far.width = 1_000;
    await rig.say("anybody there?", { messageId: "m1", displayName: "Ada *L*" });
    await rig.idle();
    expect(far.texts("lobby")).toEqual(["**Ada \\*L\\*** in a room on loop: anybody there?"]);
    const copy = far.messages[0]?.id as string;
    await rig.say("yes", { platform: "far", chatId: "lobby", messageId: "f1", displayName: "Bob", replyToId: copy });
    await rig.idle();
    expect(rig.platform.messages).toMatchObject([
      { chatId: "room", text: "**Bob** in a room on far: yes", body: { replyToId: "m1" } },
    ]);
    // And so on: a reply to what was brought back points at its counterpart.
    const back = rig.platform.messages[0]?.id as string;
    await rig.say("good", { messageId: "m2", replyToId: back });
    await rig.idle();
    expect(far.messages[1]).toMatchObject({ text: "**Ada** in a room on loop: good", body: { replyToId: "f1" } });
  });

  it.each([
    ["a thread of its chat", (copy: string) => ({ chatId: "lobby", threadId: copy })],
    ["a thread that is a chat of its own", (copy: string) => ({ chatId: copy, parentChatId: "lobby" })],
  ])("takes what stands in %s under the copy as a reply to it, though it mentions nobody", async (_, at) => {
    const far = new LoopbackPlatform("far");
    const rig = await startRig({
      gateway: { unanswered_note: false },
      operators: { operator: ["far:7"] },
      access: { far: { chats: ["lobby"], mention: "required" } },
      platforms: [new LoopbackPlatform("loop"), far],
      hooks: toFar,
    });
    await rig.say("where is my order?", { messageId: "m1", userId: "5" });
    await rig.idle();
    const inThread = (copy: string) => ({ platform: "far", displayName: "Bob", isGroupMention: false, ...at(copy) });
    const answer = messageOf("it comes on Monday", { ...inThread(far.messages[0]?.id as string), messageId: "f1" });
    await rig.receive({ kind: "message", eventId: "f1", message: answer });
    await rig.say("talk", { ...inThread("another"), messageId: "f2" });
    await rig.say("/tsak list", { ...inThread(far.messages[0]?.id as string), messageId: "f3" });
    await rig.idle();
    expect(rig.platform.messages).toMatchObject([{ text: "**Bob**: it comes on Monday", body: { replyToId: "m1" } }]);
    const elsewhere = { platform: "far", botId: "bot", chatId: at("another").chatId };
    expect((await rig.store.inbox.find(elsewhere, "f2"))?.outcome).toBe("denied");
    const edit = { ...answer, text: "it comes on Tuesday", isEdit: true };
    await rig.receive({ kind: "edited", eventId: "edit:f1:1", message: edit });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["**Bob**: it comes on Tuesday"]);
  });

  it("names the room in a copy, where a reply to it is posted; not in what is written or answered privately", async () => {
    const rig = await startRig({ gateway: { default_route: { forward: "loop::desk" }, unanswered_note: false } });
    const direct = { chatId: "dm-5", userId: "5", isDm: true, messageId: "m1" };
    const asked = messageOf("where is my order?", { messageId: "m2", userId: "5" });
    await rig.say("where is my order?", direct);
    await rig.receive({ kind: "message", eventId: "m2", message: asked });
    await rig.idle();
    expect(rig.platform.texts("desk")).toEqual([
      "**Ada**: where is my order?",
      "**Ada** in a room: where is my order?",
    ]);
    for (const { id: replyToId } of rig.platform.messages.filter(({ chatId }) => chatId === "desk"))
      for (const userId of ["1", "8"])
        await rig.say("on its way", { chatId: "desk", userId, displayName: "Op", isGroupMention: true, replyToId });
    await rig.receive({
      kind: "edited",
      eventId: "edit:m2:1",
      message: { ...asked, text: "and where?", isEdit: true },
    });
    await rig.idle();
    expect(rig.platform.texts("dm-5")).toEqual(["**Op**: on its way", "**Op**: on its way"]);
    expect(rig.platform.texts("room")).toEqual(["**Op**: on its way", "**Op** in a room: on its way"]);
    expect(rig.platform.texts("desk")[1]).toBe("**Ada** in a room: and where?");
  });

  it("passes on to the customer what a person replies to an own answer that a hook sent elsewhere", async () => {
    const seen: unknown[] = [];
    const rig = await startRig({
      gateway: { default_route: { forward: "loop::desk" } },
      hooks(registry) {
        registry.registerClaiming("inbound_claim", ({ message, isAnswer }) => {
          seen.push([message.text, isAnswer]);
          const routeTo = { platform: "loop", botId: "", chatId: "store" };
          return message.text.includes("parcel") ? { handled: true, routeTo } : { handled: false };
        });
      },
    });
    await rig.say("where is it?", { chatId: "dm-5", userId: "5", isDm: true, messageId: "m1" });
    await rig.idle();
    const replyToId = rig.platform.messages[0]?.id;
    const atDesk = { chatId: "desk", userId: "1", isGroupMention: false };
    await rig.say("the parcel is on its way", { ...atDesk, messageId: "m2", replyToId });
    await rig.idle();
    await rig.say("it arrives at noon", { ...atDesk, messageId: "m3", replyToId: "m2" });
    await rig.idle();
    expect(rig.platform.texts("store").join("")).toContain("the parcel is on its way");
    expect(rig.platform.messages.filter(({ chatId }) => chatId === "dm-5")).toMatchObject([
      { text: "**Ada**: it arrives at noon", body: { replyToId: "m1" } },
    ]);
    expect(seen).toEqual([
      ["where is it?", false],
      ["the parcel is on its way", true],
      ["it arrives at noon", true],
    ]);
  });

  it("notes for its author that the reply to an own answer reaches no one when the customer is not known any more", async () => {
    const rig = await startRig({
      operators: { owner: ["loop:1"] },
      gateway: { default_route: { forward: "loop::desk" } },
      access: { loop: { dms: "everyone", chats: ["*"], mention: "required" } },
    });
    rig.platform.width = 1_000;
    await rig.say("where is my order?", { chatId: "dm-5", userId: "5", isDm: true, messageId: "m1" });
    await rig.idle();
    const copy = rig.platform.messages[0]?.id;
    await rig.clock.advance(400 * 86_400_000);
    await rig.store.sweep(rig.clock.now());
    const atDesk = { chatId: "desk", userId: "1", isGroupMention: false };
    const facts = { replyToId: copy, replyToUserId: "bot", isGroupMention: true };
    await rig.say("on Monday", { ...atDesk, ...facts, messageId: "m2" });
    await rig.say("talk", { ...atDesk, messageId: "m3" });
    await rig.say("no: on Tuesday", { ...atDesk, messageId: "m4", replyToId: "m2", replyToUserId: "1" });
    await rig.say("more talk", { ...atDesk, messageId: "m5", replyToId: "m3", replyToUserId: "1" });
    await rig.idle();
    expect(rig.platform.texts("desk").slice(1)).toEqual([
      expect.stringContaining("no longer linked with a conversation"),
      expect.stringContaining("Your message was not sent to anyone."),
    ]);
    expect(await rig.settled("m5", "desk")).toMatchObject({ outcome: "denied" });
    expect(rig.platform.texts("dm-5")).toEqual([]);
  });

  it("passes on what a person replies to an own answer, with or without a role, and no other reply to what people wrote", async () => {
    const rig = await startRig({
      operators: { owner: ["loop:1"], operator: ["loop:2"] },
      gateway: { default_route: { forward: "loop::desk" }, unanswered_note: false },
      access: { loop: { dms: "everyone", chats: ["*"], mention: "required" } },
    });
    await rig.say("where is my order?", { chatId: "dm-5", userId: "5", isDm: true, messageId: "m1" });
    await rig.say("and mine?", { chatId: "room", userId: "6", messageId: "m2" });
    await rig.idle();
    const copy = rig.platform.messages.find(({ text }) => text.includes("my order"))?.id;
    const atDesk = { chatId: "desk", userId: "1", displayName: "Op", isGroupMention: false };
    await rig.say("on Monday", { ...atDesk, messageId: "m3", isGroupMention: true, replyToId: copy });
    await rig.idle();
    await rig.say("no: on Tuesday", { ...atDesk, messageId: "m4", replyToId: "m3" });
    await rig.say("/statos", { ...atDesk, messageId: "m5", replyToId: "m3" });
    await rig.say("really?", { ...atDesk, messageId: "m6", userId: "8", replyToId: "m3" });
    await rig.say("well said", { ...atDesk, messageId: "m10", userId: "2", replyToId: "m3" });
    await rig.say("talk", { ...atDesk, messageId: "m7" });
    await rig.say("more talk", { ...atDesk, messageId: "m8", replyToId: "m7" });
    await rig.say("by noon", { ...atDesk, messageId: "m9", replyToId: "m4" });
    await rig.say("me again", { chatId: "room", userId: "6", isGroupMention: false, replyToId: "m2" });
    const guest = { ...atDesk, userId: "8", displayName: "Guest" };
    await rig.say("5 EUR", { ...guest, messageId: "m11", isGroupMention: true, replyToId: copy });
    await rig.idle();
    await rig.say("no: 9 EUR", { ...guest, messageId: "m12", replyToId: "m11" });
    await rig.idle();
    const sent = rig.platform.messages.filter(({ chatId }) => chatId === "dm-5");
    expect(sent.map(({ text }) => text)).toEqual([
      "**Op**: on Monday",
      "**Op**: no: on Tuesday",
      "**Op**: by noon",
      "**Guest**: 5 EUR",
      "**Guest**: no: 9 EUR",
    ]);
    expect(sent.map(({ body }) => body.replyToId)).toEqual(["m1", sent[0]?.id, sent[1]?.id, "m1", sent[3]?.id]);
    expect(rig.platform.texts("room")).toEqual([]);
    expect(await rig.settled("m6", "desk")).toMatchObject({ outcome: "denied" });
    expect(await rig.settled("m10", "desk")).toMatchObject({ outcome: "denied" });
    expect(await rig.settled("m5", "desk")).toMatchObject({ outcome: "command" });
  });

  it("brings back an answer that a hook puts off too often, and says no other way of it", async () => {
    const rig = await startRig({
      gateway: { default_route: { forward: "loop::desk" }, unanswered_note: false, max_deferrals: 1 },
      hooks(registry) {
        registry.registerClaiming("inbound_claim", ({ message }) =>
          message.chatId === "desk" ? { handled: true, deferMs: 50 } : { handled: false },
        );
      },
    });
    await rig.say("where is my order?", { messageId: "m1", userId: "5" });
    await rig.idle();
    const replyToId = rig.platform.messages[0]?.id as string;
    await rig.say("on its way", { chatId: "desk", userId: "1", isGroupMention: true, messageId: "m2", replyToId });
    await until(async () => (await rig.store.inbox.get(2))?.deferrals === 1, "the first deferral");
    await rig.clock.advance(1_000);
    const row = await rig.settled("m2", "desk");
    expect(row).toMatchObject({ outcome: "returned", reason: expect.stringContaining("as if no hook had claimed it") });
    expect(row.reason).not.toContain("default route");
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
    expect(far.texts().join("")).toBe(`**Ada** in a room on loop: ${long}`);
    await rig.receive({
      kind: "edited",
      eventId: "edit:m1:2",
      message: { ...message, text: "short again", isEdit: true },
    });
    await rig.idle();
    expect(far.texts()).toEqual(["**Ada** in a room on loop: short again"]);
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
    expect(far.texts()).toEqual(["**Ada** in a room on loop: no typo"]);
  });

  it("names attachments that the other side cannot fetch, and passes on those that it can", async () => {
    const { far, ...rig } = await startBridge();
    far.width = 1_000;
    await rig.say("", {
      attachments: [
        { type: "image", ref: "1", url: "", mimeType: "image/png", filename: "cat.png" },
        { type: "file", ref: "2", url: "https://example.test/a.pdf", mimeType: "application/pdf" },
      ],
    });
    await rig.idle();
    expect(far.texts()).toEqual([
      "**Ada** in a room on loop: [image: cat.png was not passed on: loop does not give it]",
    ]);
    await rig.say("");
    await rig.say("", { isDm: true, isGroupMention: false });
    await rig.idle();
    expect(far.texts().slice(-2)).toEqual([
      "**Ada** in a room on loop: (mentioned the bot without a text)",
      "**Ada**: (no text)",
    ]);
  });

  it.each([
    ["held", "release"],
    ["cancelled", "write another message"],
  ])(
    "notifies the operator whose answer is %s by a hook, privately and with what to do; a customer is told nothing",
    async (ending, next) => {
      const privateAddress = (at: Address, userId: string) => ({ ...at, chatId: `dm-${userId}` });
      const far = new LoopbackPlatform("far", { privateAddress });
      far.width = 1_000;
      const rig = await startRig({
        gateway: { unanswered_note: false },
        operators: { operator: ["far:7"] },
        platforms: [new LoopbackPlatform("loop"), far],
        hooks: (registry) => {
          toFar(registry);
          const decide = ({ message: { text } }: { message: { text: string } }) => {
            if (!text.includes("secret")) return null;
            if (ending === "cancelled") return { cancel: "it names a secret" };
            throw new Error("the guard is out of order");
          };
          registry.registerModifying("message_sending", decide, { name: "guard", failurePolicy: "fail-closed" });
        },
      });
      await rig.say("what is the secret?", { messageId: "m1", userId: "5" });
      await rig.say("hello?", { messageId: "m2", userId: "5" });
      await rig.idle();
      expect(far.texts()).toEqual(["**Ada** in a room on loop: hello?"]);
      expect(rig.platform.texts()).toEqual([]);
      const replyToId = far.messages[0]?.id as string;
      const lobby = { platform: "far", chatId: "lobby" };
      await rig.say("the secret is 42", { ...lobby, messageId: "f1", userId: "7", replyToId });
      await rig.idle();
      expect(rig.platform.texts()).toEqual([]);
      expect(far.texts("lobby")).toEqual(["**Ada** in a room on loop: hello?"]);
      const [notice, ...more] = far.texts("dm-7");
      expect(notice).toContain(`Your message was not posted in loop:bot:room: it was ${ending}.`);
      expect(notice).toMatch(/the guard is out of order|it names a secret/);
      expect(notice).toMatch(/`\/outbox show d_m\d+f` has the details/);
      expect(notice).toContain(next);
      expect(more).toEqual([]);
      // Another person's message in the same chat, without a role.
      await rig.say("no secret", { ...lobby, messageId: "f2", userId: "8", replyToId });
      await rig.idle();
      expect(far.texts("dm-8")).toEqual([]);
    },
  );

  it.each([
    ["given up", { kind: "permanent", error: "403 Forbidden: bot was blocked by the user" }, "/outbox retry d_m3f"],
    ["not known", { kind: "ambiguous", error: "no answer", mayRepeat: false }, "/outbox release d_m3f"],
  ] as const)(
    "notifies the operator whose answer the platform did not take (%s), once, with the reason and what to do",
    async (what, result, next) => {
      const privateAddress = (at: Address, userId: string) => ({ ...at, chatId: `dm-${userId}` });
      const far = new LoopbackPlatform("far", { privateAddress });
      far.width = 1_000;
      const near = new LoopbackPlatform("loop");
      near.script = () => result;
      const rig = await startRig({
        gateway: { unanswered_note: false },
        operators: { operator: ["far:7"], viewer: ["far:9"] },
        platforms: [near, far],
        hooks: toFar,
      });
      await rig.say("hello?", { messageId: "m1", userId: "5" });
      await rig.idle();
      const replyToId = far.messages[0]?.id as string;
      const lobby = { platform: "far", chatId: "lobby" };
      await rig.say("nobody with a role", { ...lobby, messageId: "f0", userId: "8", replyToId });
      await rig.say("the answer", { ...lobby, messageId: "f1", userId: "7", replyToId });
      await rig.idle();
      expect(near.requests).toHaveLength(2);
      expect(far.texts("dm-8")).toEqual([]);
      expect(far.texts("dm-7")).toHaveLength(1);
      const [notice = ""] = far.texts("dm-7");
      expect(notice).toContain(what);
      expect(notice).toContain(result.error);
      expect(notice).toContain(next);
      expect(notice).not.toContain("(operators)");
      await rig.say("a viewer's answer", { ...lobby, messageId: "f3", userId: "9", replyToId });
      // After two in a row without an answer, the platform is tried again after a pause.
      await until(async () => {
        await rig.clock.advance(1_000);
        return far.texts("dm-9").length > 0;
      }, "the notice");
      expect(far.texts("dm-9")[0]).toMatch(/`\/outbox (retry|release) d_m\d+f` .* \(operators\)\.$/);
    },
  );

  describe("when a person without a role answers a customer", () => {
    const DESK = { platform: "far", chatId: "desk" };
    const CUSTOMER = { chatId: "dm-5", userId: "5", isDm: true };
    const REFUSED = { kind: "permanent", error: "403 Forbidden: bot was blocked by the user" } as const;
    const UNCLEAR = { kind: "ambiguous", error: "no answer", mayRepeat: false } as const;

    async function answered(result: Scripted | undefined, isReachable = true) {
      const privateAddress = (at: Address, userId: string) => ({ ...at, chatId: `dm-${userId}` });
      const far = new LoopbackPlatform("far", { privateAddress });
      far.width = 1_000;
      far.script = ({ address }) =>
        !isReachable && address.chatId === "dm-8" ? { kind: "permanent", error: "50007: closed" } : undefined;
      const near = new LoopbackPlatform("loop");
      near.width = 1_000;
      near.script = () => result;
      const rig = await startRig({
        gateway: { default_route: { forward: "far:bot:desk" } },
        platforms: [near, far],
        hooks: (registry) =>
          void registry.registerModifying(
            "message_sending",
            ({ message: { text } }: { message: { text: string } }) => {
              if (text.includes("secret")) throw new Error("the guard is out of order");
              return null;
            },
            { name: "guard", failurePolicy: "fail-closed" },
          ),
      });
      await rig.say("hello?", { ...CUSTOMER, messageId: "m1" });
      await rig.idle();
      return { rig, near, far, replyToId: far.messages.at(-1)?.id as string };
    }

    it.each([
      ["refuses it", REFUSED, "the answer", "Your message was not posted in loop:bot:dm-5: it was given up."],
      ["may have it", UNCLEAR, "the answer", "It is not known whether your message was posted in loop:bot:dm-5."],
      [
        "is not asked, because a hook failed",
        undefined,
        "secret",
        "Your message was not posted in loop:bot:dm-5: it was held.",
      ],
    ] as const)(
      "and the platform %s, they are notified, without reason and commands",
      async (_, result, text, what) => {
        const { rig, far, replyToId } = await answered(result);
        await rig.say(text, { ...DESK, messageId: "f1", userId: "8", replyToId });
        await rig.idle();
        expect(far.texts("dm-8")).toEqual([
          `**${what}**\nThe operators can see why. Ask one of them before you write again.`,
        ]);
      },
    );

    it("with nothing for the customer in a thread on the copy, they are notified each time, also for all to read", async () => {
      const { rig, near, far } = await answered(undefined);
      await rig.say("is it open?", { chatId: "hall", userId: "5", messageId: "m2" });
      await rig.idle();
      const copy = far.messages.at(-1)?.id as string;
      const inThread = { platform: "far", chatId: copy, parentChatId: "desk", userId: "8" };
      for (const messageId of ["f1", "f2"]) await rig.say("", { ...inThread, messageId });
      await rig.idle();
      expect(far.texts(copy)).toEqual(Array(2).fill(expect.stringContaining("it has no text and no file")));
      expect(near.texts("hall")).toEqual([]);
    });

    it("and neither the customer nor they can be reached, each such answer is marked where it was written", async () => {
      const { rig, far, replyToId } = await answered(REFUSED, false);
      for (const messageId of ["f1", "f2"]) await rig.say("the answer", { ...DESK, messageId, userId: "8", replyToId });
      await rig.idle();
      const marked = far.messages.filter(({ text }) => text.includes("was not passed on"));
      expect(marked.map(({ text, body }) => [text, body.replyToId])).toEqual(
        ["f1", "f2"].map((id) => ["This message was not passed on. The operators can see why.", id]),
      );
    });

    it.each([
      ["in the channel", {}],
      ["in a thread of it", { threadId: "t1" }],
    ])("with a reply to a message of the gateway's own %s, each such reply is answered there", async (_, place) => {
      const { rig, near, far } = await answered(undefined);
      const at = { ...DESK, botId: "bot", ...place };
      const before = near.texts().length;
      const cause = { kind: "alert", id: "ac_1", depth: 0 } as const;
      for (const text of ["the card", "a page"]) await rig.gateway.send(at, { text }, { cause });
      await rig.idle();
      const [card, page] = far.messages.slice(-2).map(({ id }) => id);
      const replies = [card, card, page].map((replyToId, i) => ({ messageId: `r${i}`, replyToId }));
      for (const one of replies) await rig.say("on Monday", { ...DESK, ...place, ...one, userId: "8" });
      await rig.idle();
      const notices = far.messages.filter(({ text }) => text.includes("Your reply was not sent to anyone"));
      expect(notices.map(({ body }) => body.replyToId)).toEqual(replies.map(({ messageId }) => messageId));
      // So is a reply to such a notice.
      const last = { messageId: "r9", replyToId: notices.at(-1)?.id as string };
      await rig.say("oh", { ...DESK, ...place, ...last, userId: "8" });
      await rig.idle();
      expect(far.messages.at(-1)).toMatchObject({ text: notices[0]?.text, body: { replyToId: "r9" } });
      expect(near.texts()).toHaveLength(before);
      expect(far.texts().join()).not.toContain("on Monday");
    });

    it.each([
      ["in the channel", DESK, "no longer linked"],
      ["in a thread of it", { ...DESK, threadId: "t1" }, "no longer linked"],
      ["in a direct message", { platform: "far", chatId: "dm-8", isDm: true }, undefined],
      ["in a room of customers", { platform: "far", chatId: "hall" }, undefined],
    ])("a reply to a message of ours that is not known any more is answered %s: %j %s", async (_, at, note) => {
      const { rig, far } = await answered(undefined);
      const gone = { ...at, userId: "8", replyToId: "gone", replyToUserId: "bot" };
      for (const messageId of ["r1", "r2"]) await rig.say("on Monday", { ...gone, messageId });
      await rig.say("to a colleague", {
        ...gone,
        messageId: "r3",
        replyToUserId: "7",
        isGroupMention: false,
      });
      await rig.idle();
      const notes = far.messages.filter(({ text }) => text.includes("not sent to anyone"));
      expect(notes.map(({ body }) => body.replyToId)).toEqual(note === undefined ? [] : ["r1", "r2"]);
      for (const { text } of notes) expect(text).toContain(note);
      // Elsewhere it is copied, as all that no hook claims.
      expect(far.texts("desk").filter((text) => text.includes("on Monday"))).toHaveLength(note === undefined ? 2 : 0);
    });

    it("their correction is theirs too, and a customer whose words do not reach the desk is told nothing", async () => {
      const { rig, near, far, replyToId } = await answered(undefined);
      const said = messageOf("the answer", { ...DESK, messageId: "f1", userId: "8", replyToId });
      await rig.receive({ kind: "message", eventId: "f1", message: said });
      await rig.idle();
      near.script = ({ kind }) => (kind === "edit" ? REFUSED : undefined);
      const edited = { ...said, text: "another answer", isEdit: true };
      await rig.receive({ kind: "edited", eventId: "edit:f1:1", message: edited });
      await rig.idle();
      expect(far.texts("dm-8")).toEqual([expect.stringContaining("The correction of your message is not shown")]);
      far.script = ({ address }) => (address.chatId === "desk" ? REFUSED : undefined);
      const answer = near.messages.at(-1)?.id as string;
      await rig.say("thank you", { ...CUSTOMER, messageId: "m2", replyToId: answer });
      await rig.idle();
      expect(near.texts()).toEqual(["**Ada**: the answer"]);
    });
  });

  describe("without a default route, a reply to a message of ours that is not known any more", () => {
    const gone = { platform: "far", chatId: "lobby", userId: "8", replyToId: "gone", replyToUserId: "bot" };
    const privateAddress = (at: Address, userId: string) => ({ ...at, chatId: `dm-${userId}` });

    it.each([
      ["copies", async (rig: Rig) => void (await rig.say("hello?", { userId: "5" }))],
      [
        "cards",
        async ({ gateway }: Rig) =>
          void (await gateway.send(
            { platform: "far", botId: "bot", chatId: "lobby" },
            { text: "a card" },
            {
              cause: { kind: "alert", id: "ac_1", depth: 0 },
            },
          )),
      ],
    ])("is answered each time where %s are posted", async (_, post) => {
      const far = new LoopbackPlatform("far", { privateAddress });
      far.width = 1_000;
      const rig = await startRig({ platforms: [new LoopbackPlatform("loop"), far], hooks: toFar });
      await post(rig);
      await rig.idle();
      for (const messageId of ["r1", "r2"]) await rig.say("on Monday", { ...gone, messageId });
      await rig.idle();
      const notes = far.messages.filter(({ text }) => text.includes("no longer linked"));
      expect(notes.map(({ body }) => body.replyToId)).toEqual(["r1", "r2"]);
      expect(far.texts("dm-8")).toEqual([]);
    });

    it("is a message for hooks where they answer people, and gets their note", async () => {
      const far = new LoopbackPlatform("far", { privateAddress });
      far.width = 1_000;
      const answer = (registry: HookRegistry) =>
        registry.registerClaiming("inbound_claim", ({ message: { text } }) =>
          text === "hello" ? { handled: true, reply: "good day" } : null,
        );
      const rig = await startRig({ operators: { operator: ["far:8"] }, platforms: [far], hooks: answer });
      await rig.say("hello", { ...gone, messageId: "r1" });
      await rig.say("on Monday", { ...gone, messageId: "r2" });
      await rig.idle();
      expect(far.texts("lobby")).toEqual(["good day"]);
      expect(far.texts("dm-8")).toEqual([expect.stringContaining("No hook answered your message in the room")]);
    });
  });

  it.each([
    [
      "was not passed on",
      { kind: "permanent", error: "403 Forbidden: bot was blocked by the user" },
      "This message was not passed on. `/outbox` shows why.",
    ],
    [
      "may have been passed on",
      { kind: "ambiguous", error: "no answer", mayRepeat: false },
      "It is not known whether this was passed on. `/outbox` shows why.",
    ],
  ] as const)(
    "marks each message that %s where it was written, when its operator cannot be reached privately",
    async (_, result, line) => {
      const privateAddress = (at: Address, userId: string) => ({ ...at, chatId: `dm-${userId}` });
      const far = new LoopbackPlatform("far", { privateAddress });
      far.width = 1_000;
      far.script = ({ address }) =>
        address.chatId === "dm-7" ? { kind: "permanent", error: "50007: closed direct messages" } : undefined;
      const near = new LoopbackPlatform("loop");
      near.script = () => result;
      const rig = await startRig({
        gateway: { unanswered_note: false },
        operators: { operator: ["far:7"] },
        platforms: [near, far],
        hooks: toFar,
      });
      await rig.say("hello?", { messageId: "m1", userId: "5" });
      await rig.idle();
      const replyToId = far.messages[0]?.id as string;
      for (const messageId of ["f1", "f2"])
        await rig.say("the answer", { platform: "far", chatId: "lobby", messageId, userId: "7", replyToId });
      await rig.idle();
      const marked = far.messages.filter(({ text }) => text.includes("passed on"));
      expect(marked.map(({ text, body }) => [text, body.replyToId])).toEqual(["f1", "f2"].map((id) => [line, id]));
    },
  );

  describe.each([
    ["correction", "edit", "is not shown", "The correction of this message was not passed on"],
    ["deletion", "delete", "was not deleted", "The deletion of this message was not passed on"],
  ] as const)("whose operator's %s the platform does not take", (_, operation, what, line) => {
    async function changed(isReachable: boolean): Promise<LoopbackPlatform> {
      const privateAddress = (at: Address, userId: string) => ({ ...at, chatId: `dm-${userId}` });
      const far = new LoopbackPlatform("far", { privateAddress });
      far.width = 1_000;
      far.script = ({ address }) =>
        !isReachable && address.chatId === "dm-7" ? { kind: "permanent", error: "50007: closed" } : undefined;
      const near = new LoopbackPlatform("loop");
      near.script = ({ kind }) => (kind === "create" ? undefined : { kind: "permanent", error: "403: blocked" });
      const rig = await startRig({
        gateway: { unanswered_note: false },
        operators: { operator: ["far:7"] },
        platforms: [near, far],
        hooks: toFar,
      });
      await rig.say("hello?", { messageId: "m1", userId: "5" });
      await rig.idle();
      const replyToId = far.messages[0]?.id as string;
      for (const userId of ["7", "8"]) {
        const sent = messageOf("a secret", {
          platform: "far",
          chatId: "lobby",
          messageId: `f${userId}`,
          userId,
          replyToId,
        });
        await rig.receive({ kind: "message", eventId: sent.messageId, message: sent });
        await rig.idle();
        const eventId = `change:${sent.messageId}`;
        const address = { platform: "far", botId: "bot", chatId: "lobby" };
        await rig.receive(
          operation === "edit"
            ? { kind: "edited", eventId, message: { ...sent, text: "no secret", isEdit: true } }
            : { kind: "deleted", eventId, address, messageId: sent.messageId, at: 1 },
        );
        await rig.idle();
      }
      expect(near.texts()).toEqual(["**Ada**: a secret", "**Ada** in a room on far: a secret"]);
      return far;
    }

    it("notifies the operator once, privately, with the reason and what to do; a person without a role is told nothing", async () => {
      const far = await changed(true);
      expect(far.texts("dm-8")).toEqual([]);
      expect(far.texts("dm-7")).toHaveLength(1);
      const [notice = ""] = far.texts("dm-7");
      expect(notice).toContain(`${what} in loop:bot:room: it was given up.`);
      expect(notice).toMatch(
        /403: blocked[\s\S]*may still be shown there\. `\/outbox show d_m\d+[ex]0`.*`\/outbox retry d_m/,
      );
    });

    it("marks the message where it was written, when the operator cannot be reached privately", async () => {
      const far = await changed(false);
      const marked = far.messages.filter(({ text }) => text.includes(line));
      expect(marked.map(({ body }) => body.replyToId)).toEqual(["f7"]);
    });
  });

  it("to where the message came from is no echo, and no claim", async () => {
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", () => ({
          handled: true,
          routeTo: { platform: "loop", botId: "bot", chatId: "room" },
        })),
    });
    await rig.say("hello", { messageId: "m1" });
    expect(await rig.settled("m1")).toMatchObject({ outcome: "unrouted" });
    await rig.idle();
    expect(rig.platform.texts().filter((text) => text.includes("hello"))).toEqual([]);
  });
});
