/** What people do on Discord arrives as the right event. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { InboundEvent } from "../../../src/domain/chat/event.js";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/server.js";
import { until } from "../../support/until.js";
import { type Rig, startRig } from "./rig.js";

let fake: FakeDiscord;
let rig: Rig;
beforeAll(async () => {
  fake = await startFakeDiscord();
  rig = await startRig(fake);
});
afterAll(async () => {
  await rig.stop();
  await fake.stop();
});

/** The next event that is stored after `act`. */
async function eventAfter(act: () => unknown): Promise<InboundEvent> {
  const count = rig.gateway.stored.length;
  act();
  return until(() => rig.gateway.stored[count], "an event");
}

async function messageAfter(act: () => unknown) {
  const event = await eventAfter(act);
  if (!("message" in event)) throw new Error(`expected a message, got ${event.kind}`);
  return event.message;
}

describe("messages", () => {
  it("a guild message names guild, channel, person and roles, and is no mention", async () => {
    const event = await eventAfter(() => fake.people.says("hello there"));
    expect(event).toMatchObject({
      kind: "message",
      message: {
        platform: "discord",
        botId: fake.world.bot.id,
        chatId: fake.channelId,
        guildId: fake.world.guildId,
        userId: fake.userId,
        username: "ada",
        displayName: "Ada Lovelace",
        userRoleIds: fake.world.users.get(fake.userId)?.roleIds,
        text: "hello there",
        attachments: [],
        isDm: false,
        isGroupMention: false,
        isEdit: false,
      },
    });
    if (event.kind === "message") expect(event.eventId).toBe(event.message.messageId);
  });

  it("a leading mention of us is a mention and is taken off the text; one inside stays", async () => {
    const mention = `<@${fake.world.bot.id}>`;
    expect(await messageAfter(() => fake.people.says(`${mention}  do it`))).toMatchObject({
      text: "do it",
      isGroupMention: true,
    });
    expect(await messageAfter(() => fake.people.says(`ask ${mention} now`))).toMatchObject({
      text: `ask ${mention} now`,
      isGroupMention: true,
    });
  });

  it("a reply to us is a mention, a reply to another is not; both name what they answer", async () => {
    const ours = await rig.say({ text: "a question" });
    if (ours.kind !== "sent") throw new Error(ours.kind);
    expect(await messageAfter(() => fake.people.says("yes", { replyToId: ours.messageId }))).toMatchObject({
      replyToId: ours.messageId,
      replyToUserId: fake.world.bot.id,
      isGroupMention: true,
    });
    const bob = fake.world.addUser({ username: "bob" });
    const theirs = fake.people.says("by bob", { userId: bob.id });
    expect(await messageAfter(() => fake.people.says("indeed", { replyToId: theirs.id }))).not.toMatchObject({
      text: "indeed",
      isGroupMention: true,
    });
  });

  it("a thread and a forum post are chats of their own, with the channel they hang under", async () => {
    expect(await messageAfter(() => fake.people.says("in a thread", { channelId: fake.threadId }))).toMatchObject({
      chatId: fake.threadId,
      parentChatId: fake.channelId,
    });
    const post = fake.people.opensThread(fake.forumId, "a post");
    expect(await messageAfter(() => fake.people.says("in a post", { channelId: post.id }))).toMatchObject({
      chatId: post.id,
      parentChatId: fake.forumId,
    });
  });

  it("a thread that nothing told us about is asked for over REST", async () => {
    const thread = fake.world.addChannel({ type: 11, name: "unheard of", parentId: fake.channelId });
    expect(await messageAfter(() => fake.people.says("here", { channelId: thread.id }))).toMatchObject({
      chatId: thread.id,
      parentChatId: fake.channelId,
    });
  });

  it("messages of such a thread keep their order while it is asked for", async () => {
    const thread = fake.world.addChannel({ type: 11, name: "also unheard of", parentId: fake.channelId });
    fake.fail({ method: "GET", path: `/channels/${thread.id}$`, action: { kind: "slow", delayMs: 100 } });
    const words = ["one", "two", "three", "four"];
    for (const word of words) fake.people.says(word, { channelId: thread.id });
    await until(() => rig.gateway.texts.includes("four"));
    expect(rig.gateway.texts.slice(-4)).toEqual(words);
  });

  it("a thread that Discord does not tell about for a while holds up its own messages only", async () => {
    const thread = fake.world.addChannel({ type: 11, name: "hard to ask for", parentId: fake.channelId });
    const path = `/channels/${thread.id}$`;
    fake.fail({ method: "GET", path, times: 3, action: { kind: "status", status: 500 } });
    fake.fail({ method: "GET", path, action: { kind: "page", status: 403 } });
    fake.fail({ method: "GET", path, action: { kind: "page", status: 302 } });
    const states = rig.gateway.states.length;
    fake.people.says("in the thread", { channelId: thread.id });
    expect(await messageAfter(() => fake.people.says("elsewhere"))).toMatchObject({ text: "elsewhere" });
    const found = () => rig.gateway.stored.flatMap((event) => (event.kind === "message" ? [event.message] : []));
    const late = await until(() => found().find(({ text }) => text === "in the thread"), "the message in the thread");
    expect(late).toMatchObject({ chatId: thread.id, parentChatId: fake.channelId });
    expect(rig.gateway.states.slice(states)).toEqual([]);
    expect(rig.logger.lines.join()).toContain("a proxy or a login page of the network may be in between");
  });

  it("a DM has no guild and needs no mention", async () => {
    const message = await messageAfter(() => fake.people.says("psst", { dm: true }));
    expect(message).toMatchObject({ isDm: true, isGroupMention: false, text: "psst" });
    expect(message.guildId).toBeUndefined();
    expect(rig.adapter.traits.isGroup(message.chatId)).toBe(false);
    expect(rig.adapter.traits.isGroup(fake.channelId)).toBe(true);
  });

  it("an attachment-only message, a sticker and a forward are messages", async () => {
    const attachments = [
      { id: "9001", filename: "cat.png", size: 12, url: "https://cdn.invalid/cat.png", content_type: "image/png" },
    ];
    expect(await messageAfter(() => fake.people.says("", { attachments }))).toMatchObject({
      text: "",
      attachments: [
        {
          type: "image",
          ref: "9001",
          url: "https://cdn.invalid/cat.png",
          mimeType: "image/png",
          filename: "cat.png",
          sizeBytes: 12,
        },
      ],
    });
    const sticker = { sticker_items: [{ id: "77", name: "wave", format_type: 1 }] };
    expect(await messageAfter(() => fake.people.says("", { extra: sticker }))).toMatchObject({
      attachments: [{ type: "image", filename: "wave.png" }],
    });
    const forward = {
      message_reference: { type: 1, message_id: "5", channel_id: "6" },
      message_snapshots: [{ message: { content: "what they said", attachments } }],
    };
    const forwarded = await messageAfter(() => fake.people.says("", { extra: forward }));
    expect(forwarded).toMatchObject({ text: "what they said", attachments: [{ filename: "cat.png" }] });
    expect(forwarded.replyToId).toBeUndefined();
  });

  it("another bot is flagged; our own words and joins are no messages", async () => {
    const other = fake.world.addUser({ username: "otherbot", isBot: true });
    expect(await messageAfter(() => fake.people.says("beep", { userId: other.id }))).toMatchObject({ isBot: true });
    const count = rig.gateway.stored.length;
    await rig.say({ text: "our own" });
    fake.people.says("", { type: 7 });
    await messageAfter(() => fake.people.says("after"));
    expect(rig.gateway.stored.slice(count).map((event) => "message" in event && event.message.text)).toEqual(["after"]);
  });
});

describe("changes", () => {
  it("an edit is an event of its own; a link preview is none", async () => {
    const message = fake.people.says("frist");
    await until(() => rig.gateway.texts.includes("frist"));
    fake.people.unfurls(message.id);
    const event = await eventAfter(() => fake.people.edits(message.id, "first"));
    expect(event).toMatchObject({ kind: "edited", message: { text: "first", isEdit: true, messageId: message.id } });
    expect(event.eventId).toMatch(new RegExp(`^edit:${message.id}:`));
  });

  it("a preview after an edit does not repeat the edit", async () => {
    const message = fake.people.says("see http://example.com");
    await eventAfter(() => fake.people.edits(message.id, "see http://example.org"));
    await until(() =>
      rig.gateway.stored.some((event) => event.kind === "edited" && event.message.messageId === message.id),
    );
    fake.people.unfurls(message.id);
    await messageAfter(() => fake.people.says("later"));
    const edits = rig.gateway.stored.filter(
      (event) => event.kind === "edited" && event.message.messageId === message.id,
    );
    expect(edits).toHaveLength(1);
  });

  it("deletes come one by one, also from a bulk", async () => {
    const ids = ["a", "b", "c"].map((text) => fake.people.says(text).id);
    fake.people.deletes(ids[0] as string);
    fake.people.deletesMany(ids.slice(1));
    await until(() => rig.gateway.stored.filter((event) => event.kind === "deleted").length === 3);
    expect(rig.gateway.stored.slice(-3)).toMatchObject(
      ids.map((messageId) => ({ kind: "deleted", messageId, eventId: `delete:${messageId}` })),
    );
  });

  it("a reaction given twice is two events, a repeated frame is one", async () => {
    const { id } = fake.people.says("nice");
    expect(await eventAfter(() => fake.people.reacts(id, "👍"))).toMatchObject({ kind: "message" });
    await until(() => rig.gateway.stored.at(-1)?.kind === "reaction");
    expect(rig.gateway.stored.at(-1)).toMatchObject({
      kind: "reaction",
      messageId: id,
      emoji: "👍",
      userId: fake.userId,
      isDm: false,
    });
    fake.gateway.repeatLast(1);
    await eventAfter(() => fake.people.reacts(id, "👍"));
    await messageAfter(() => fake.people.says("end"));
    expect(rig.gateway.stored.filter((event) => event.kind === "reaction")).toHaveLength(2);
  });
});

describe("interactions", () => {
  it("a slash command arrives with typed options and written out", async () => {
    rig.gateway.table = [
      {
        name: "hooks",
        summary: "Hooks",
        role: "viewer",
        options: [
          { name: "action", summary: "What", type: "string" },
          { name: "id", summary: "Which", type: "string" },
          { name: "page", summary: "Page", type: "integer" },
        ],
      },
    ];
    expect(await eventAfter(() => fake.people.slash("hooks", { action: "show", id: "greeter.hello" }))).toMatchObject({
      kind: "command",
      name: "hooks",
      options: { action: "show", id: "greeter.hello" },
      message: { text: "/hooks show greeter.hello", isGroupMention: true, userId: fake.userId },
      interaction: { isPrivate: false },
    });
    expect(await messageAfter(() => fake.people.slash("hooks", { id: "two words", page: 2 }))).toMatchObject({
      text: '/hooks id="two words" page=2',
    });
  });

  it("a command in a thread names the thread and its parent, one in a DM is private", async () => {
    expect(await messageAfter(() => fake.people.slash("status", {}, { channelId: fake.threadId }))).toMatchObject({
      chatId: fake.threadId,
      parentChatId: fake.channelId,
    });
    expect(await messageAfter(() => fake.people.slash("status", {}, { dm: true }))).toMatchObject({ isDm: true });
  });

  it("a press brings the token of its button and the message that carried it", async () => {
    const sent = await rig.say({ text: "choose", buttons: [[{ label: "Go", token: "tok-1" }]] });
    if (sent.kind !== "sent") throw new Error(sent.kind);
    expect(await eventAfter(() => fake.people.presses(sent.messageId, "Go"))).toMatchObject({
      kind: "action",
      token: "tok-1",
      message: { messageId: sent.messageId, text: "" },
    });
  });

  it("a modal brings its values", async () => {
    expect(await eventAfter(() => fake.people.submits("tok-2", { reason: "because", note: "" }))).toMatchObject({
      kind: "action",
      token: "tok-2",
      values: { reason: "because", note: "" },
    });
  });
});
