import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Saying } from "../../../adapters/web/port.js";
import { ada, bob, openWebChat } from "./web-chat.js";

let chat: Awaited<ReturnType<typeof openWebChat>>;
beforeEach(async () => {
  chat = await openWebChat();
});
afterEach(() => chat.close());

const saying = (text: string, more: Partial<Saying> = {}): Saying => ({
  roomId: "general",
  text,
  attachments: [],
  nonce: `nonce-${text}`,
  ...more,
});

describe("what people say", () => {
  it("is shown in the order that it has", async () => {
    const { html } = await chat.port.say(ada, saying("a\u202eb\u202c & c"));
    expect(html).toBe("<p>ab &amp; c</p>");
  });

  it("is in the chat and in the inbox when it is confirmed", async () => {
    const shown = await chat.port.say(ada, saying("hello **you**"));
    expect(shown).toMatchObject({
      text: "hello **you**",
      author: { id: "1", name: "Ada" },
      nonce: "nonce-hello **you**",
    });
    expect(shown.html).toContain("<strong>you</strong>");
    expect(chat.events).toMatchObject([
      {
        kind: "message",
        eventId: String(shown.id),
        message: { platform: "web", botId: "web", chatId: "general", userId: "1", text: "hello **you**", isDm: false },
      },
    ]);
  });

  it("counts once, however often the page sends it again", async () => {
    const first = await chat.port.say(ada, saying("once"));
    const again = await chat.port.say(ada, saying("once"));
    expect(again.id).toBe(first.id);
    expect(chat.events).toHaveLength(1);
    expect((await chat.port.history(bob, "general", undefined, 50)).messages).toHaveLength(1);
  });

  it("is two things when two people send the same text with the same nonce", async () => {
    await chat.port.say(ada, saying("hi"));
    await chat.port.say(bob, saying("hi"));
    expect(chat.events).toHaveLength(2);
  });

  it("is refused without a text, and with one that is too long", async () => {
    await expect(chat.port.say(ada, saying("  "))).rejects.toMatchObject({ code: "TEXT_EMPTY" });
    await expect(chat.port.say(ada, saying("x".repeat(1001)))).rejects.toMatchObject({ code: "TEXT_TOO_LONG" });
    expect(chat.events).toHaveLength(0);
  });

  it.each([
    ["@Hookgate ping", "ping"],
    ["  @hookgate: ping", "ping"],
    ["@Hookgate, /status", "/status"],
    ["@Hookgate", ""],
    ["@Hookgater ping", "@Hookgater ping"],
    ["ask @Hookgate", "ask @Hookgate"],
  ])("%s in a room reads %s: a mention of us at its beginning is taken off", async (text, read) => {
    await chat.port.say(ada, saying(text));
    expect(chat.events).toMatchObject([{ message: { text: read } }]);
  });

  it("mentions us by name, by a reply, or by a command", async () => {
    const posted = await chat.post({ text: "I am here" });
    const replyToId = Number(posted.kind === "sent" && posted.messageId);
    await chat.port.say(ada, saying("hey @hookgate, listen"));
    await chat.port.say(ada, saying("mail me at a@hookgate.example", { nonce: "nonce-mail" }));
    await chat.port.say(ada, saying("yes", { replyToId }));
    await chat.port.say(ada, saying("/help"));
    await chat.port.say(ada, saying("hello all"));
    await chat.port.say(ada, saying("hello", { roomId: "dm-1", nonce: "nonce-dm" }));
    const facts = chat.events.map((event) => "message" in event && [event.message.isGroupMention, event.message.isDm]);
    expect(facts).toEqual([
      [true, false],
      [false, false],
      [true, false],
      [true, false],
      [false, false],
      [false, true],
    ]);
    expect(chat.events[2]).toMatchObject({ message: { replyToUserId: "web", replyToId: String(replyToId) } });
  });

  it("goes into a thread under a message of the same room, and nowhere else", async () => {
    const root = await chat.port.say(ada, saying("root"));
    const inThread = await chat.port.say(bob, saying("below", { threadId: String(root.id) }));
    expect(chat.events[1]).toMatchObject({ message: { chatId: "general", threadId: String(root.id) } });
    for (const threadId of ["999", String(inThread.id)])
      await expect(chat.port.say(bob, saying("x", { threadId }))).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
    const elsewhere = saying("x", { threadId: String(root.id), roomId: "dm-2" });
    await expect(chat.port.say(bob, elsewhere)).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
  });

  it("is nobody else's business in a direct conversation", async () => {
    const mine = await chat.port.say(ada, saying("secret", { roomId: "dm-1" }));
    expect((await chat.port.rooms(bob)).map(({ id }) => id)).toEqual(["dm-2", "general"]);
    await expect(chat.port.history(bob, "dm-1", undefined, 10)).rejects.toMatchObject({ code: "ROOM_NOT_FOUND" });
    await expect(chat.port.say(bob, saying("x", { roomId: "dm-1" }))).rejects.toMatchObject({ code: "ROOM_NOT_FOUND" });
    await expect(chat.port.react(bob, mine.id, "👍", true)).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
    expect((await chat.port.changes(bob, 0, 100)).changes).toEqual([]);
  });
});

describe("what people do with messages", () => {
  it("edits their own, once per nonce, and nobody else's", async () => {
    const { id } = await chat.port.say(ada, saying("befor"));
    await chat.clock.advance(10);
    const edited = await chat.port.edit(ada, id, "before", "edit-one");
    await chat.port.edit(ada, id, "before", "edit-one");
    await chat.port.edit(ada, id, "after", "edit-two");
    await expect(chat.port.edit(bob, id, "mine now", "edit-bob")).rejects.toMatchObject({ code: "NOT_YOURS" });
    expect(edited.editedAt).toBe(chat.clock.now());
    expect(chat.events.slice(1).map((event) => event.kind === "edited" && event.message.text)).toEqual([
      "before",
      "after",
    ]);
    expect(chat.events[1]).toMatchObject({ message: { isEdit: true, messageId: String(id) } });
  });

  it("deletes their own once; the text is gone for everybody", async () => {
    const { id } = await chat.port.say(ada, saying("oops"));
    await chat.port.remove(ada, id);
    await chat.port.remove(ada, id);
    expect(chat.events.map(({ kind }) => kind)).toEqual(["message", "deleted"]);
    await expect(chat.port.edit(ada, id, "x", "edit-late")).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
    const { changes } = await chat.port.changes(bob, 0, 100);
    expect(changes.at(-1)?.message).toMatchObject({ id, text: "", html: "", isDeleted: true });
  });

  it("reacts without marking the message as edited, and no reaction is lost when two come at once", async () => {
    const { id } = await chat.port.say(ada, saying("party"));
    await Promise.all([
      chat.port.react(ada, id, "🎉", true),
      chat.port.react(bob, id, "🎉", true),
      chat.port.react(bob, id, "👍", true),
    ]);
    await chat.port.react(bob, id, "👍", true);
    const after = await chat.port.react(ada, id, "🎉", false);
    expect(after.reactions).toEqual([
      { emoji: "🎉", userIds: ["2"] },
      { emoji: "👍", userIds: ["2"] },
    ]);
    expect(after.editedAt).toBeUndefined();
    const reactions = chat.events.filter(({ kind }) => kind === "reaction");
    expect(reactions).toMatchObject([
      { userId: "1", emoji: "🎉" },
      { userId: "2", emoji: "🎉" },
      { userId: "2", emoji: "👍" },
    ]);
  });

  it("presses a button as themselves, once per nonce, and gets the form that the gateway asks for", async () => {
    const posted = await chat.post({ text: "Sure?", buttons: [[{ label: "Yes", token: "tok" }]] });
    const messageId = Number(posted.kind === "sent" && posted.messageId);
    chat.acknowledge = {
      kind: "form",
      token: "tok",
      form: { title: "Why?", fields: [{ id: "why", label: "Reason" }] },
    };
    expect(await chat.port.press(bob, { messageId, token: "tok", nonce: "press-one" })).toMatchObject({
      kind: "form",
    });
    await chat.port.press(bob, { messageId, token: "tok", nonce: "press-one" });
    chat.acknowledge = { kind: "none" };
    await chat.port.press(bob, { messageId, token: "tok", nonce: "press-two", values: { why: "because" } });
    expect(chat.events).toMatchObject([
      { kind: "action", token: "tok", message: { userId: "2", displayName: "Bob", messageId: String(messageId) } },
      { kind: "action", token: "tok", values: { why: "because" } },
    ]);
  });

  it("gives a command with named options, written out in the chat", async () => {
    const shown = await chat.port.command(ada, {
      roomId: "general",
      name: "fire-hook",
      options: { id: "greeter", payload: '{"a": "b c"}', "dry-run": true },
      nonce: "command-1",
    });
    expect(shown.text).toBe('/fire-hook id=greeter payload="{\\"a\\": \\"b c\\"}" dry-run=true');
    expect(chat.events).toMatchObject([
      { kind: "command", name: "fire-hook", options: { id: "greeter", "dry-run": true }, interaction: { token: "1" } },
    ]);
  });

  it("writes a value in curly quotes so that it keeps them", async () => {
    const options = { id: "“greeter”", payload: "a=b" };
    const shown = await chat.port.command(ada, { roomId: "general", name: "fire-hook", options, nonce: "command-1" });
    expect(shown.text).toBe('/fire-hook id="“greeter”" payload=a=b');
  });
});

describe("nothing is lost", () => {
  it("offers a message again that was stored but not accepted when the process died", async () => {
    await chat.port.say(ada, saying("safe"));
    chat.gatewayFails = true;
    await expect(chat.port.say(ada, saying("endangered"))).rejects.toMatchObject({ code: "STORE_FULL" });
    const { messages } = await chat.store.web.history("general", { limit: 1 });
    const id = messages[0]?.id;
    await chat.crash();
    expect(chat.events.map((event) => "message" in event && event.message.text)).toEqual(["safe", "endangered"]);
    // The page tries again, too: the same row, the same event.
    expect((await chat.port.say(ada, saying("endangered"))).id).toBe(id);
    expect(chat.events).toHaveLength(2);
  });

  it("offers edits, reactions, deletions and commands again, each once", async () => {
    const { id } = await chat.port.say(ada, saying("first"));
    const other = await chat.port.say(ada, saying("second"));
    chat.gatewayFails = true;
    const failed = [
      () => chat.port.edit(ada, id, "first, better", "edit-one"),
      () => chat.port.react(bob, id, "👀", true),
      () => chat.port.remove(ada, other.id),
      () =>
        chat.port.command(ada, { roomId: "general", name: "help", options: { topic: "hooks" }, nonce: "command-1" }),
    ];
    for (const action of failed) await expect(action()).rejects.toThrow("the disk is full");
    await chat.crash();
    const kinds = chat.events.map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(["command", "deleted", "edited", "message", "message", "reaction"]);
    await chat.crash();
    expect(chat.events).toHaveLength(6);
  });

  it("offers what a hook's program did again as caused by its run", async () => {
    const { id } = await chat.port.say(ada, saying("first"));
    const other = await chat.port.say(ada, saying("second"));
    const writtenBy = { runId: "r1", depth: 3 };
    chat.gatewayFails = true;
    await expect(chat.port.react(bob, id, "👀", true, writtenBy)).rejects.toThrow("the disk is full");
    await expect(chat.port.remove(ada, other.id, writtenBy)).rejects.toThrow("the disk is full");
    await chat.crash();
    expect(chat.events.slice(2)).toMatchObject([
      { kind: "reaction", writtenBy },
      { kind: "deleted", writtenBy },
    ]);
  });

  it("does not forget it because others were accepted since", async () => {
    chat.gatewayFails = true;
    await expect(chat.port.say(ada, saying("endangered"))).rejects.toThrow();
    chat.gatewayFails = false;
    for (let n = 0; n < 3; n++) await chat.port.say(bob, saying(`safe ${n}`));
    await chat.clock.advance(2000);
    await chat.crash();
    expect(chat.events.map((event) => "message" in event && event.message.text)).toContain("endangered");
    expect(chat.events).toHaveLength(4);
  });

  it("offers it again while it runs, when the writer does not come back", async () => {
    chat.gatewayFails = true;
    await expect(chat.port.say(ada, saying("patience"))).rejects.toThrow();
    await chat.clock.advance(5000);
    chat.gatewayFails = false;
    await chat.clock.advance(5000);
    expect(chat.events).toHaveLength(1);
  });

  it("does not offer again what was accepted long ago", async () => {
    for (let n = 0; n < 5; n++) await chat.port.say(ada, saying(`message ${n}`));
    await chat.clock.advance(2000);
    await chat.stop();
    await chat.start();
    expect(chat.offered()).toBe(5);
    // A change to an old message is news; the message itself is not, even when the inbox has forgotten it.
    await chat.clock.advance(90 * 24 * 3_600_000);
    const [oldest] = (await chat.port.history(ada, "general", undefined, 10)).messages;
    chat.gatewayFails = true;
    await expect(chat.port.react(bob, oldest?.id ?? 0, "👍", true)).rejects.toThrow();
    await chat.crash();
    expect(chat.events.map(({ kind }) => kind)).toEqual([...Array(5).fill("message"), "reaction"]);
  });

  it("takes nothing while it is stopped", async () => {
    await chat.stop();
    await expect(chat.port.say(ada, saying("hello"))).rejects.toMatchObject({ code: "WEB_OFFLINE", retryable: true });
    expect(chat.states.at(-1)?.phase).toBe("off");
    await chat.start();
    await chat.port.say(ada, saying("hello"));
    expect(chat.events).toHaveLength(1);
  });
});
