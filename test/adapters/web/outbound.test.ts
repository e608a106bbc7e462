import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EncodedPart, SendResult } from "../../../src/domain/chat/adapter.js";
import type { OutboundMessage } from "../../../src/domain/chat/message.js";
import { ada, bob, openWebChat } from "./web-chat.js";

let chat: Awaited<ReturnType<typeof openWebChat>>;
beforeEach(async () => {
  chat = await openWebChat();
});
afterEach(() => chat.close());

const general = { platform: "web", botId: "web", chatId: "general" };
const signal = new AbortController().signal;
const idOf = (result: SendResult) => (result.kind === "sent" ? result.messageId : "nothing was sent");
const part = (text: string) => {
  const [encoded] = chat.adapter.encode({ text }, general, { plain: false });
  if (!encoded) throw new Error("no part");
  return encoded;
};
const shown = async (person = ada) => (await chat.port.history(person, "general", undefined, 50)).messages;

describe("what the gateway posts", () => {
  it("appears once, however often it is sent with one nonce", async () => {
    const results = [
      await chat.post({ text: "hi" }, { nonce: "same" }),
      await chat.post({ text: "hi" }, { nonce: "same" }),
    ];
    expect(idOf(results[0] as SendResult)).toBe(idOf(results[1] as SendResult));
    expect(await shown()).toMatchObject([{ text: "hi", html: "<p>hi</p>", author: { name: "Hookgate" } }]);
  });

  it("survives that the same nonce was used by a person", async () => {
    await chat.port.say(ada, { roomId: "general", text: "mine", attachments: [], nonce: "same" });
    await chat.post({ text: "ours" }, { nonce: "same" });
    expect(await shown()).toHaveLength(2);
  });

  it("shows cards, buttons and files, and never what a button does", async () => {
    await chat.post({
      text: "",
      card: { title: "Deploy", text: "**done**", tone: "good", fields: [{ name: "host", value: "`a1`" }] },
      buttons: [[{ label: "Again", token: "tok", action: { kind: "command", line: "/fire-hook secret-line" } }]],
      attachments: [
        { type: "file", ref: "r", url: "data:text/plain,hello", mimeType: "text/plain", filename: "log.txt" },
      ],
    });
    const [message] = await shown();
    expect(message).toMatchObject({
      card: { title: "Deploy", tone: "good", fields: [{ name: "host", html: "<p><code>a1</code></p>" }] },
      buttons: [[{ label: "Again", token: "tok" }]],
      attachments: [{ filename: "log.txt", url: `/api/messages/${message?.id}/attachments/0` }],
    });
    expect(JSON.stringify(message)).not.toContain("secret-line");
    expect(JSON.stringify(message)).not.toContain("data:");
  });

  it("lets no markup of others into the page", async () => {
    await chat.post({ text: "<img src=x onerror=alert(1)> [x](javascript:alert(1)) <script>alert(1)</script>" });
    const html = (await shown())[0]?.html ?? "";
    expect(html).not.toMatch(/<(img|script)|href="javascript/i);
  });

  it("is private in place: one person sees it, in the room", async () => {
    await chat.post({ text: "psst" }, { visibleTo: "1" });
    expect(await shown(ada)).toMatchObject([{ text: "psst", isPrivate: true }]);
    expect(await shown(bob)).toEqual([]);
    expect((await chat.port.changes(bob, 0, 100)).changes).toEqual([]);
    expect(chat.adapter.traits.privateAddress(general, "1")).toBeUndefined();
  });

  it("is private when the interaction promised so", async () => {
    const interaction = { id: "i", token: "2", expiresAt: 1, isPrivate: true, first: true };
    await chat.post({ text: "for Bob" }, { interaction });
    expect(await shown(ada)).toEqual([]);
    expect(await shown(bob)).toHaveLength(1);
  });

  it("goes into its thread and answers its message", async () => {
    const root = await chat.port.say(ada, { roomId: "general", text: "root", attachments: [], nonce: "nonce-root" });
    await chat.post(
      { text: "there", replyToId: String(root.id) },
      { address: { ...general, threadId: String(root.id) } },
    );
    expect((await shown())[1]).toMatchObject({ threadId: String(root.id), replyToId: root.id });
  });

  it("cannot be posted into a room that does not exist", async () => {
    const result = await chat.post({ text: "hi" }, { address: { ...general, chatId: "nowhere" } });
    expect(result).toMatchObject({ kind: "permanent" });
  });

  it("waits while the web chat is stopped", async () => {
    await chat.stop();
    expect(await chat.post({ text: "hi" })).toMatchObject({ kind: "retry", scope: "bot" });
    await chat.start();
  });
});

describe("what the gateway edits and deletes", () => {
  it("is its own messages only, and keeps the reactions", async () => {
    const messageId = idOf(await chat.post({ text: "draft" }));
    await chat.port.react(bob, Number(messageId), "👀", true);
    const edit = { kind: "edit" as const, address: general, messageId, part: part("final") };
    expect(await chat.adapter.send(edit, signal)).toEqual({ kind: "sent", messageId });
    expect(await shown()).toMatchObject([{ text: "final", reactions: [{ emoji: "👀", userIds: ["2"] }] }]);

    const theirs = await chat.port.say(ada, { roomId: "general", text: "mine", attachments: [], nonce: "nonce-mine" });
    const wrong = { ...edit, messageId: String(theirs.id) };
    expect(await chat.adapter.send(wrong, signal)).toMatchObject({ kind: "permanent" });
  });

  it("is gone when it was deleted or never was", async () => {
    const messageId = idOf(await chat.post({ text: "short life" }));
    expect(await chat.adapter.send({ kind: "delete", address: general, messageId }, signal)).toMatchObject({
      kind: "sent",
    });
    expect(await chat.adapter.send({ kind: "delete", address: general, messageId }, signal)).toMatchObject({
      kind: "gone",
    });
    for (const id of [messageId, "4711", "no number"])
      expect(
        await chat.adapter.send({ kind: "edit", address: general, messageId: id, part: part("x") }, signal),
      ).toMatchObject({ kind: "gone" });
    expect(await shown()).toEqual([]);
  });
});

describe("files on other servers", () => {
  const answers = new Map<string, { status: number; body: string }>();
  let server: Server;
  let base: string;
  beforeEach(async () => {
    answers.clear();
    server = createServer(({ url = "" }, response) => {
      const { status, body } = answers.get(url) ?? { status: 404, body: "gone" };
      response.writeHead(status).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => void server.close());

  const file = (path: string) => ({
    type: "file" as const,
    ref: path,
    url: `${base}${path}`,
    mimeType: "text/plain",
    filename: `${path.slice(1)}.txt`,
    platform: "elsewhere",
  });
  const encoded = (message: OutboundMessage) =>
    chat.adapter.encode(message, general, { plain: false })[0] as EncodedPart;

  it("are kept here, and stay with the corrected message when they are gone there", async () => {
    answers.set("/a", { status: 200, body: "the file" });
    const messageId = idOf(await chat.post({ text: "words", attachments: [file("/a")] }));
    answers.clear();
    const corrected = encoded({ text: "better words", attachments: [file("/a")] });
    const edit = { kind: "edit" as const, address: general, messageId, part: corrected };
    expect(await chat.adapter.send(edit, signal)).toEqual({ kind: "sent", messageId });
    expect(await shown()).toMatchObject([{ text: "better words", attachments: [{ filename: "a.txt", sizeBytes: 8 }] }]);
    const { url } = await chat.port.attachment(ada, Number(messageId), 0);
    expect(url).toBe(`data:;base64,${Buffer.from("the file").toString("base64")}`);
  });

  it("are named with the reason when they cannot be had, and a server in trouble is asked again", async () => {
    answers.set("/large", { status: 200, body: "x".repeat(101) });
    answers.set("/busy", { status: 503, body: "" });
    const private_ = { ...file("/_x_"), url: "http://169.254.169.254/latest" };
    const attachments = [file("/large"), file("/busy"), private_];
    const create = {
      kind: "create" as const,
      address: general,
      part: encoded({ text: "words", attachments }),
      nonce: "n",
    };
    const why = "a file could not be fetched: its server answered HTTP 503";
    expect(await chat.adapter.send(create, signal)).toMatchObject({ kind: "retry", scope: "file", error: why });
    expect(await shown()).toEqual([]);
    let ends = 0;
    const fetch = { withinMs: 5_000, onEnd: () => void ends++ };
    expect(await chat.adapter.send({ ...create, fetch, isLastAttempt: true }, signal)).toMatchObject({
      kind: "sent",
      lostFiles: [{ name: "large.txt" }, { name: "busy.txt" }, { name: "_x_.txt" }],
    });
    expect(ends).toBe(1);
    const [message] = await shown();
    expect(message?.attachments).toBeUndefined();
    expect(message?.text.split("\n")).toEqual([
      "words",
      `large.txt (larger than 100 bytes): ${base}/large`,
      "[file: busy.txt could not be fetched: its server answered HTTP 503]",
      "_x_.txt (may not be fetched)",
    ]);
    expect(message?.html).toContain("<p>_x_.txt (may not be fetched)</p>");
    expect(message?.html).toContain(`href="${base}/large"`);
  });
});

describe("pages", () => {
  it("are told at once, read what they may see in order, and end when they say so", async () => {
    const told: string[] = [];
    const end = chat.port.subscribe((what) => told.push(what));
    const from = await chat.port.lastSeq();
    await chat.post({ text: "one" });
    await chat.port.say(bob, { roomId: "dm-2", text: "hidden", attachments: [], nonce: "nonce-hidden" });
    await chat.post({ text: "two" });
    expect(told).toEqual(["messages", "messages", "messages"]);
    const { changes, seq, done } = await chat.port.changes(ada, from, 100);
    expect(changes.map(({ message }) => message.text)).toEqual(["one", "two"]);
    expect([seq, done]).toEqual([await chat.port.lastSeq(), true]);
    end();
    await chat.port.createRoom(ada, "Night shift");
    expect(told).toHaveLength(3);
  });

  it("add rooms, each name once", async () => {
    const names = ["Night shift", "Ночь", "DM", "Ночь 2"];
    const rooms = [];
    for (const name of names) rooms.push(await chat.port.createRoom(ada, name));
    expect(rooms.map(({ id }) => id)).toEqual(["night-shift", "room", "room-dm", "2"]);
    await expect(chat.port.createRoom(bob, " night  SHIFT ")).rejects.toMatchObject({ code: "NAME_TAKEN" });
    await expect(chat.port.createRoom(bob, " ")).rejects.toMatchObject({ code: "TEXT_EMPTY" });
    expect((await chat.port.rooms(bob)).map(({ name }) => name)).toContain("Night shift");
  });

  it("page back through history, over what is private to others", async () => {
    for (let n = 0; n < 30; n++) await chat.post({ text: `${n}` }, n % 2 ? { visibleTo: "2" } : {});
    const newest = await chat.port.history(ada, "general", undefined, 10);
    expect(newest.messages.map(({ text }) => text)).toEqual([
      "10",
      "12",
      "14",
      "16",
      "18",
      "20",
      "22",
      "24",
      "26",
      "28",
    ]);
    expect(newest.more).toBe(true);
    const older = await chat.port.history(ada, "general", newest.messages[0]?.id, 10);
    expect(older.messages.map(({ text }) => text)).toEqual(["0", "2", "4", "6", "8"]);
    expect(older.more).toBe(false);
  });
});
