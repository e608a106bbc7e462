/** Sends, edits and deletes against the fake: what is posted, and what is reported when it is not. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { SendOperation } from "../../../src/domain/chat/adapter.js";
import type { Attachment, OutboundMessage } from "../../../src/domain/chat/message.js";
import type { Fault } from "../../fakes/telegram/faults.js";
import { silentServer } from "../../support/silent-server.js";
import { until } from "../../support/until.js";
import { Recorder, type Running, startAdapter } from "./harness.js";

const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** What stands in a chat of the fake. */
function posted({ fake, at }: Running, chatId = at.chatId) {
  return [...(fake.world.chats.get(Number(chatId))?.messages.values() ?? [])];
}

/** The operation for the first part of a message. */
function part(running: Running, message: OutboundMessage, plain = false) {
  const [first] = running.adapter.encode(message, running.at, { plain });
  if (!first) throw new Error("nothing was encoded");
  return first;
}

function create(running: Running, message: OutboundMessage): Extract<SendOperation, { kind: "create" }> {
  return { kind: "create", address: running.at, part: part(running, message), nonce: "n" };
}

function edit(running: Running, messageId: string, message: OutboundMessage): SendOperation {
  return { kind: "edit", address: running.at, messageId, part: part(running, message) };
}

describe("a new message", () => {
  it("is posted with entities, without a link preview", async () => {
    const running = await startAdapter();
    expect(await running.say({ text: "**bold** and <b>not</b>" })).toEqual([{ kind: "sent", messageId: "1" }]);
    const [call] = running.fake.callsOf("sendMessage");
    expect(call?.payload).toEqual({
      chat_id: running.fake.chatId,
      text: "bold and <b>not</b>",
      entities: [{ type: "bold", offset: 0, length: 4 }],
      link_preview_options: { is_disabled: true },
    });
  });

  it("pings nobody by a link in its text or card, only by a mention that it lists", async () => {
    const running = await startAdapter();
    await running.say({ text: "[Ada](tg://user?id=1001) [Bob](TG://user?id=1002)", mentions: { users: ["1002"] } });
    await running.say({ text: "[Bob](tg://user?id=1002)", mentions: { users: ["1002"] } });
    const ada = "tg://user?id=1001";
    const fields = [{ name: "Who", value: `[Ada](${ada})` }];
    await running.say({ text: "", card: { title: "t", url: ada, text: `[Ada](${ada})`, fields } });
    const sent = running.fake.callsOf("sendMessage").map(({ payload }) => JSON.stringify(payload.entities ?? []));
    for (const entities of sent) expect(entities).not.toContain("1001");
    expect(sent[1]).toContain("1002");
  });

  it("replies, even when the message replied to is gone, and is silent when asked", async () => {
    const running = await startAdapter();
    const { message_id } = running.fake.people.says("a question");
    await running.say({ text: "an answer", replyToId: String(message_id), silent: true });
    expect(posted(running)[1]?.reply_to_message?.message_id).toBe(message_id);
    expect(running.fake.callsOf("sendMessage")[0]?.payload).toMatchObject({ disable_notification: true });
    expect(await running.say({ text: "to nothing", replyToId: "999" })).toMatchObject([{ kind: "sent" }]);
  });

  it("goes to its topic, and to General without saying so", async () => {
    const running = await startAdapter();
    const { forumId, topicId } = running.fake;
    const at = { chatId: String(forumId) };
    expect(await running.say({ text: "in the topic" }, { ...at, threadId: String(topicId) })).toMatchObject([
      { kind: "sent" },
    ]);
    expect(await running.say({ text: "in General" }, { ...at, threadId: "1" })).toMatchObject([{ kind: "sent" }]);
    expect(posted(running, at.chatId).map(({ message_thread_id }) => message_thread_id)).toEqual([topicId, undefined]);
  });

  it("has an inline keyboard whose presses bring the token back", async () => {
    const running = await startAdapter();
    const buttons = [
      [
        { label: "Yes", token: "tok_1" },
        { label: "Docs", url: "https://example.org/" },
      ],
    ];
    await running.say({ text: "Sure?", buttons });
    expect(posted(running)[0]?.reply_markup).toEqual({
      inline_keyboard: [
        [
          { text: "Yes", callback_data: "tok_1" },
          { text: "Docs", url: "https://example.org/" },
        ],
      ],
    });
    const id = running.fake.people.presses(1, "Yes");
    expect((await running.events(1))[0]).toMatchObject({ kind: "action", token: "tok_1" });
    await expect.poll(() => running.fake.people.isAnswered(id)).toBe(true);
  });

  it("takes the spinner off a pressed button also after a limit or an error of Telegram", async () => {
    const running = await startAdapter();
    await running.say({ text: "pick", buttons: [[{ label: "Yes", token: "tok_1" }]] });
    const method = "answerCallbackQuery";
    running.fake.fail({ method, action: { kind: "rate-limit", retryAfterS: 1 } });
    running.fake.fail({ method, action: { kind: "refuse", status: 500, description: "Internal Server Error" } });
    const id = running.fake.people.presses(1, "Yes");
    await until(() => running.fake.people.isAnswered(id), "the press is acknowledged");
    expect(running.fake.callsOf(method).map(({ status }) => status)).toEqual([429, 500, 200]);
  });

  it("waits while the bot is logged out of Telegram's server, and that ends the run with what to do", async () => {
    const running = await startAdapter();
    const action = { kind: "refuse", status: 400, description: "Logged out" } as const;
    running.fake.fail({ method: "sendMessage", action });
    expect(await running.say({ text: "later" })).toEqual([
      { kind: "retry", error: "400 Logged out", afterMs: 60_000, scope: "bot" },
    ]);
    running.fake.fail({ method: "getUpdates", action });
    running.fake.people.says("wake the poll", { dm: true });
    expect(await running.ended).toMatchObject({
      code: "TELEGRAM_LOGGED_OUT",
      retryAfterMs: 60_000,
      hint: expect.stringContaining("TELEGRAM_API_URL"),
    });
  });

  it("that answers a press is shown to its person only; too long, too late or a second one goes another way", async () => {
    const gateway = new Recorder();
    gateway.acknowledge = { kind: "notice" };
    const running = await startAdapter({ gateway });
    await running.say({ text: "Sure?", buttons: [[{ label: "Yes", token: "tok_1" }]] });
    const answer = (token: string, text: string, first = true) => {
      const interaction = { id: token, token, expiresAt: 0, isPrivate: true, isNotice: true as const, first };
      return running.send({
        kind: "create",
        address: running.at,
        part: part(running, { text }),
        nonce: "n",
        interaction,
      });
    };
    const answers = () => running.fake.callsOf("answerCallbackQuery").map(({ payload }) => payload);
    const id = running.fake.people.presses(1, "Yes");
    await running.events(1);
    running.fake.people.says("let time pass");
    await running.events(2);
    expect(answers()).toEqual([]);
    expect(await answer(id, "Not **you**.")).toEqual({ kind: "sent", messageId: `callback:${id}` });
    expect(answers()).toEqual([{ callback_query_id: id, text: "Not you." }]);
    const closed = { kind: "interaction-closed" };
    expect(await answer(id, "Not you.")).toMatchObject({ ...closed, error: expect.stringContaining("too old") });
    const other = running.fake.people.presses(1, "Yes");
    expect(await answer(other, "x", false)).toMatchObject(closed);
    expect(await answer(other, "x".repeat(201))).toMatchObject(closed);
    expect(answers().at(-1)).toEqual({ callback_query_id: other });
    const lost = running.fake.people.presses(1, "Yes");
    running.fake.fail({ method: "answerCallbackQuery", action: { kind: "drop-after" } });
    expect(await answer(lost, "x")).toMatchObject({ kind: "ambiguous" });
    expect(running.fake.callsOf("sendMessage")).toHaveLength(1);
  });

  it("of 30,000 characters arrives whole, in as many parts as it takes", async () => {
    const running = await startAdapter();
    const text = Array.from({ length: 3000 }, (_, i) => `word${i}😀`).join(" ");
    const results = await running.say({ text });
    expect(results.every(({ kind }) => kind === "sent")).toBe(true);
    const words = posted(running).flatMap((message) => (message.text ?? "").split(/\s+/));
    expect(words.join(" ")).toBe(text);
  });

  it("to a chat that is no number is refused here", async () => {
    const running = await startAdapter();
    expect(await running.say({ text: "x" }, { chatId: "lobby" })).toMatchObject([{ kind: "permanent" }]);
    expect(running.fake.contentCalls()).toEqual([]);
  });
});

describe("files", () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-telegram-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "notes für dich.txt");
  writeFileSync(path, "some notes");

  it("are uploaded with their name, the text as caption", async () => {
    const running = await startAdapter();
    const attachments: Attachment[] = [
      { type: "file", ref: "", url: pathToFileURL(path).href, mimeType: "text/plain", filename: "notes für dich.txt" },
    ];
    expect(await running.say({ text: "*here*", attachments })).toEqual([{ kind: "sent", messageId: "1" }]);
    expect(posted(running)[0]).toMatchObject({
      caption: "here",
      caption_entities: [{ type: "italic", offset: 0, length: 4 }],
      document: { file_name: "notes für dich.txt", file_size: 10 },
    });
  });

  it("that are images go as photos, others of a kind as that kind, one a request", async () => {
    const running = await startAdapter();
    const file = (type: Attachment["type"], mimeType: string, url = "data:,abc"): Attachment => ({
      type,
      ref: "",
      url,
      mimeType,
    });
    await running.say({
      text: "",
      attachments: [
        file("image", "image/png", PNG),
        file("audio", "audio/mpeg"),
        file("video", "video/mp4"),
        file("audio", "audio/wav"),
        file("image", "image/svg+xml"),
      ],
    });
    expect(running.fake.contentCalls().map(({ method }) => method)).toEqual([
      "sendPhoto",
      "sendAudio",
      "sendVideo",
      "sendDocument",
      "sendDocument",
    ]);
  });

  it("of Telegram go by reference, without a byte", async () => {
    const running = await startAdapter();
    running.fake.people.says("", { dm: true, file: { kind: "document", name: "a.pdf", mime: "application/pdf" } });
    const [event] = await running.events(1);
    if (event?.kind !== "message") throw new Error("no message");
    expect(await running.say({ text: "back to you", attachments: event.message.attachments })).toMatchObject([
      { kind: "sent" },
    ]);
    expect(running.fake.callsOf("sendDocument")[0]).toMatchObject({
      files: [],
      payload: { document: "fake-document-1" },
    });
  });

  it.each([
    ["photo", "sendPhoto"],
    ["document", "sendDocument"],
    ["audio", "sendAudio"],
    ["video", "sendVideo"],
    ["voice", "sendVoice"],
    ["animation", "sendAnimation"],
    ["video_note", "sendMessage", "sendVideoNote"],
    ["sticker", "sendMessage", "sendSticker"],
  ])("of Telegram go as what they came: %s", async (kind, ...methods) => {
    const running = await startAdapter();
    running.fake.people.says("", { dm: true, file: { kind, mime: kind === "document" ? "image/jpeg" : undefined } });
    const [event] = await running.events(1);
    if (event?.kind !== "message") throw new Error("no message");
    await running.say({ text: "Ada:", attachments: event.message.attachments });
    expect(running.fake.contentCalls().map(({ method, status, files }) => [method, status, files])).toEqual(
      methods.map((method) => [method, 200, []]),
    );
    expect(posted(running).at(-1)).toHaveProperty(kind);
  });

  const voiceAs = ({ fake }: Running, type: Attachment["type"]): Attachment => {
    const { file_id: ref } = fake.world.addFile({ kind: "voice", bytes: Buffer.from("a voice") });
    return { type, ref, url: "", mimeType: "audio/ogg" };
  };

  it("of Telegram whose kind is not known are uploaded when Telegram refuses the reference", async () => {
    const running = await startAdapter();
    for (const type of ["audio", "image"] as const)
      expect(await running.say({ text: "see", attachments: [voiceAs(running, type)] })).toMatchObject([
        { kind: "sent" },
      ]);
    expect(running.fake.contentCalls().map(({ method, description }) => [method, description])).toEqual([
      ["sendAudio", "Bad Request: type of file mismatch"],
      ["sendDocument", undefined],
      ["sendPhoto", "Bad Request: can't use file of type Voice as Photo"],
      ["sendDocument", undefined],
    ]);
    for (const message of posted(running))
      expect(message).toMatchObject({ caption: "see", document: { file_name: "file.ogg", file_size: 7 } });
  });

  it("of Telegram that a message cannot become are uploaded in its correction", async () => {
    const running = await startAdapter();
    await running.say({ text: "words" });
    const attachments = [{ ...voiceAs(running, "audio"), kind: "voice" }];
    expect(await running.send(edit(running, "1", { text: "heard", attachments }))).toMatchObject({ kind: "sent" });
    expect(posted(running)).toMatchObject([{ caption: "heard", document: { file_name: "file.ogg" } }]);
  });

  it("of Telegram that a message cannot become keep what they are when their words are corrected, or are posted anew", async () => {
    const running = await startAdapter();
    const { file_id: ref } = running.fake.world.addFile({ kind: "video_note", bytes: Buffer.from("round") });
    const voice = { ...voiceAs(running, "audio"), kind: "voice" };
    const round: Attachment = { type: "video", ref, url: "", mimeType: "video/mp4", kind: "video_note" };
    await running.say({ text: "herd", attachments: [voice] });
    await running.say({ text: "", attachments: [round] });
    expect(await running.send(edit(running, "1", { text: "heard", attachments: [voice] }))).toMatchObject({
      kind: "sent",
    });
    expect(posted(running)[0]).toMatchObject({ caption: "heard", voice: expect.anything() });
    expect(await running.send(edit(running, "2", { text: "", attachments: [round] }))).toMatchObject({
      kind: "gone",
      isLeft: true,
    });
    expect(running.fake.callsOf("editMessageMedia")).toHaveLength(1);
  });

  it("of Telegram that are refused, and not given now, are waited for, and named at the last attempt", async () => {
    const running = await startAdapter();
    const operation = create(running, { text: "see", attachments: [voiceAs(running, "audio")] });
    const busy = { kind: "rate-limit", retryAfterS: 3 } as const;
    running.fake.fail({ method: "getFile", times: 2, action: busy });
    expect(await running.send(operation)).toMatchObject({ kind: "retry", scope: "file", afterMs: 3000 });
    expect(await running.send({ ...operation, isLastAttempt: true })).toMatchObject({ kind: "sent" });
    expect(posted(running)).toMatchObject([
      { text: expect.stringMatching(/^see\n\[file: file\.ogg could not be fetched: /) },
    ]);
  });

  it("are fetched over HTTP first; a server's refusal leaves the address, its trouble is waited for", async () => {
    const running = await startAdapter({ outgoing: ["127.0.0.1"] });
    const server = createServer((request, response) => {
      if (request.url === "/a/moved.bin") response.writeHead(302, { location: "/there.bin" }).end();
      else if (request.url === "/there.bin") response.end("bytes");
      else response.writeHead(request.url === "/broken" ? 500 : 404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const url = (path: string) => `http://127.0.0.1:${port}${path}`;
    const send = (path: string) =>
      running.say({ text: "", attachments: [{ type: "file", ref: "", url: url(path), mimeType: "application/x" }] });
    expect(await send("/a/moved.bin")).toMatchObject([{ kind: "sent" }]);
    expect(posted(running)[0]?.document).toMatchObject({ file_size: 5, file_name: "moved.bin" });
    expect(await send("/gone")).toMatchObject([{ kind: "sent" }]);
    expect(posted(running)[1]?.text).toBe(`gone (its server answered HTTP 404): ${url("/gone")}`);
    expect(await send("/broken")).toMatchObject([{ kind: "retry", error: expect.stringContaining("500") }]);
    server.close();
    server.closeAllConnections();
    expect(await send("/a/moved.bin")).toMatchObject([{ kind: "retry" }]);
  });

  it("that are not given within their time are not sent yet; at the last attempt the words go without them", async () => {
    const running = await startAdapter({ outgoing: ["127.0.0.1"] });
    const url = await silentServer();
    const file = { type: "file" as const, ref: "", url, mimeType: "text/plain", filename: "a.txt" };
    let ends = 0;
    const fetch = { withinMs: 50, onEnd: () => void ends++ };
    const operation = { ...create(running, { text: "words", attachments: [file] }), fetch };
    const why = expect.stringContaining("did not answer within");
    expect(await running.send(operation)).toMatchObject({ kind: "retry", scope: "file", error: why });
    expect([ends, posted(running).length]).toEqual([0, 0]);
    expect(await running.send({ ...operation, isLastAttempt: true })).toMatchObject({ kind: "sent" });
    expect(ends).toBe(1);
    expect(posted(running)[0]?.text).toMatch(/^words\n\[file: a\.txt could not be fetched: .*\]$/);
  });

  it.each([
    ["silent", { fileSilenceMs: 50 }, "its server sent nothing for 50 ms"],
    ["slow", { config: { upload_timeout: "50ms" } }, "it did not arrive within 50 ms"],
  ])("of Telegram for another platform are asked for again soon when their server is %s", async (_, setup, why) => {
    const { adapter, fake } = await startAdapter(setup);
    const { file_id: ref } = fake.world.addFile({ kind: "document", bytes: Buffer.from("bytes") });
    const file: Attachment = { type: "file", ref, url: "", mimeType: "text/plain" };
    const ask = () => adapter.fetchAttachment?.(file, new AbortController().signal);
    fake.fail({ method: "download", action: { kind: "hang" } });
    await expect(ask()).rejects.toMatchObject({
      retryable: true,
      message: `Telegram does not give the file: ${why}`,
    });
    expect(String(await ask())).toBe("bytes");
  });

  it("that were given up after their fetch are not posted late", async () => {
    const running = await startAdapter();
    const givenUp = new AbortController();
    const attachments: Attachment[] = [{ type: "image", ref: "", url: PNG, mimeType: "image/png" }];
    const fetch = { withinMs: 1000, onEnd: () => givenUp.abort() };
    const late = { ...create(running, { text: "late", attachments }), fetch };
    expect(await running.adapter.send(late, givenUp.signal)).toMatchObject({ kind: "retry" });
    await running.say({ text: "next", attachments });
    expect(posted(running).map(({ caption }) => caption)).toEqual(["next"]);
  });

  it("at an address that is not public are left out with a word, and nothing is asked there", async () => {
    const running = await startAdapter();
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.end("inside");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://2130706433:${(server.address() as AddressInfo).port}/`;
    const file = { type: "file" as const, ref: "", url, mimeType: "text/plain", filename: "x.txt" };
    expect(await running.say({ text: "see **this**", attachments: [file] })).toMatchObject([{ kind: "sent" }]);
    expect(asked).toBe(0);
    expect(posted(running)[0]).toMatchObject({
      text: "see this\nx.txt (may not be fetched)",
      entities: [{ type: "bold", offset: 4, length: 4 }],
    });
  });

  it("that are missing, too large or at a strange address do not lose the message, and give no path away", async () => {
    const running = await startAdapter({ config: { max_file_bytes: 3 } });
    const urls = ["file:///nowhere/x", "data:,four", "ftp://x/y", "data:nothing"];
    for (const url of urls) {
      const file = { type: "file" as const, ref: "", url, mimeType: "text/plain", filename: "f.txt" };
      expect(await running.say({ text: "words", attachments: [file] })).toMatchObject([{ kind: "sent" }]);
    }
    const texts = posted(running).map(({ text }) => text ?? "");
    expect(texts).toHaveLength(urls.length);
    for (const text of texts) expect(text).toMatch(/^words\n\[file: f\.txt could not be fetched: /);
    expect(texts[0]).toContain("ENOENT");
    expect(texts.join()).not.toContain("nowhere");
    expect(running.lines.filter((line) => line.includes("a line of text replaces it"))).toHaveLength(urls.length);
  });

  const attach = (type: Attachment["type"], mimeType: string, url: string, filename: string): OutboundMessage => ({
    text: "**see**",
    attachments: [{ type, ref: "", url, mimeType, filename }],
    buttons: [[{ label: "Ok", token: "t" }]],
  });
  const IMAGE = attach("image", "image/png", PNG, "p.png");
  const badRequest = (why: string): Fault["action"] => ({
    kind: "refuse",
    status: 400,
    description: `Bad Request: ${why}`,
  });

  it("that are refused as what they are go as documents, with their caption and buttons", async () => {
    const running = await startAdapter();
    const refused: [string, OutboundMessage, Fault["action"] | undefined][] = [
      ["sendPhoto", attach("image", "image/png", "data:,not an image", "x.png"), undefined],
      ["sendPhoto", IMAGE, badRequest("not enough rights to send photos to the chat")],
      ["sendPhoto", IMAGE, badRequest("CHAT_SEND_PHOTOS_FORBIDDEN")],
      ["sendPhoto", IMAGE, badRequest("too big for a photo")],
      ["sendPhoto", IMAGE, { kind: "refuse", status: 413, description: "Request Entity Too Large" }],
      ["sendPhoto", IMAGE, { kind: "proxy-error", status: 413 }],
      ["sendVideo", attach("video", "video/mp4", "data:,abc", "v.mp4"), badRequest("VIDEO_CONTENT_TYPE_INVALID")],
    ];
    for (const [method, message, action] of refused) {
      if (action) running.fake.fail({ method, action });
      expect(await running.say(message)).toMatchObject([{ kind: "sent" }]);
    }
    expect(posted(running)).toHaveLength(refused.length);
    for (const [i, message] of posted(running).entries())
      expect(message).toMatchObject({
        caption: "see",
        caption_entities: [{ type: "bold" }],
        document: { file_name: refused[i]?.[1].attachments?.[0]?.filename },
        reply_markup: { inline_keyboard: [[{ text: "Ok" }]] },
      });
  });

  it.each([
    ["no rights to send documents", badRequest("not enough rights to send documents to the chat")],
    ["a person who takes no voice messages", badRequest("VOICE_MESSAGES_FORBIDDEN")],
    ["a person who takes no video messages", badRequest("user restricted receiving of video messages")],
    ["a file too large", { kind: "refuse", status: 413, description: "Request Entity Too Large" }],
    ["a page about a file too large", { kind: "proxy-error", status: 413 }],
  ] as const)("that are refused as documents too (%s) leave their words and a note", async (_, action) => {
    const running = await startAdapter();
    running.fake.fail({ method: "sendDocument|editMessageMedia", times: 9, action });
    running.fake.fail({ method: "sendPhoto", times: 9, action });
    expect(await running.say(attach("file", "text/plain", "data:,abc", "a.txt"))).toMatchObject([{ kind: "sent" }]);
    expect(await running.say(IMAGE)).toMatchObject([{ kind: "sent" }]);
    expect(await running.send(edit(running, "1", { ...IMAGE, text: "later" }))).toMatchObject({ kind: "sent" });
    expect(posted(running)).toMatchObject([
      { text: "later\n[file: p.png could not be attached]", reply_markup: expect.anything() },
      {
        text: "see\n[file: p.png could not be attached]",
        entities: [{ type: "bold" }],
        reply_markup: expect.anything(),
      },
    ]);
  });

  it("of a chat where words are not allowed either are refused for good", async () => {
    const running = await startAdapter();
    running.fake.fail({ method: "send.*", times: 9, action: badRequest("not enough rights to send text messages") });
    expect(await running.say(IMAGE)).toMatchObject([{ kind: "permanent" }]);
    expect(running.fake.contentCalls()).toHaveLength(1);
  });
});

describe("a link that Telegram refuses", () => {
  const row = (...urls: string[]) => [
    [...urls.map((url, i) => ({ label: `Link ${i}`, url })), { label: "Ok", token: "t" }],
  ];

  it("to a host without a dot is a line of text, as a button and in the text", async () => {
    const running = await startAdapter();
    const urls = ["http://localhost:8787/a.b", "http://me@intranet/x", "http://[::1]/", "http://127.0.0.1:8787/"];
    expect(await running.say({ text: "[here](http://intranet/y)", buttons: row(...urls) })).toMatchObject([
      { kind: "sent" },
    ]);
    const [message] = posted(running);
    expect(message?.text).toBe(
      "here (http://intranet/y)\n\nLink 0: http://localhost:8787/a.b\nLink 1: http://me@intranet/x",
    );
    expect(message?.reply_markup).toMatchObject({
      inline_keyboard: [[{ text: "Link 2" }, { text: "Link 3" }, { text: "Ok" }]],
    });
  });

  it.each([10, 4090])("stands in the text of the second form, after %i characters of one part", async (length) => {
    const running = await startAdapter();
    const text = `**${"x".repeat(length)}**`;
    const plain = running.adapter.plainPart?.(part(running, { text, buttons: row("https://example.org/") })) ?? [];
    for (const one of plain)
      expect(await running.send({ kind: "create", address: running.at, part: one, nonce: "n" })).toMatchObject({
        kind: "sent",
      });
    const messages = posted(running);
    expect(messages.map((message) => message.text).join("\n")).toBe(
      `${"x".repeat(length)}\nLink 0: https://example.org/`,
    );
    expect(messages.at(-1)?.reply_markup).toMatchObject({ inline_keyboard: [[{ text: "Ok" }]] });
    expect(plain.map((one) => running.adapter.plainPart?.(one))).toEqual(plain.map(() => undefined));
  });
});

describe("one part of several that Telegram refuses", () => {
  it("is sent without its formatting, with its image, caption and buttons", async () => {
    const running = await startAdapter();
    const attachments: Attachment[] = [{ type: "image", ref: "", url: PNG, mimeType: "image/png", filename: "p.png" }];
    const refused = part(running, { text: "**see**", attachments, buttons: [[{ label: "Ok", token: "t" }]] });
    const [plain] = running.adapter.plainPart?.(refused) ?? [];
    if (!plain) throw new Error("no part");
    await running.send({ kind: "create", address: running.at, part: plain, nonce: "n" });
    expect(posted(running)[0]).toMatchObject({
      caption: "see",
      photo: expect.anything(),
      reply_markup: { inline_keyboard: [[{ text: "Ok" }]] },
    });
    expect(posted(running)[0]).not.toHaveProperty("caption_entities", expect.anything());
    expect(running.adapter.plainPart?.(plain)).toBeUndefined();
  });

  it.each([10, 4080])("shows the addresses of its links, after %i characters", async (length) => {
    const running = await startAdapter();
    const word = "x".repeat(length);
    const text = `${word} [docs](https://example.org/a), [more](https://example.org/b) https://example.org/c`.slice(
      -4200,
    );
    const parts = running.adapter.encode({ text }, running.at, { plain: false });
    const plain = parts.flatMap((one) => running.adapter.plainPart?.(one) ?? [one]);
    for (const one of plain) await running.send({ kind: "create", address: running.at, part: one, nonce: "n" });
    const shown = posted(running).map((message) => message.text ?? "");
    expect(shown.join("\n")).toMatch(
      /docs(: | \()https:\/\/example\.org\/a[\s\S]*more(: | \()https:\/\/example\.org\/b/,
    );
    expect(plain.map((one) => one.text)).toEqual(shown);
    if (length === 10)
      expect(shown).toEqual([
        `${word} docs (https://example.org/a), more (https://example.org/b) https://example.org/c`,
      ]);
  });
});

it("a sticker takes no caption: the words go as a message before it", async () => {
  const running = await startAdapter();
  const { file_id: ref } = running.fake.world.addFile({ kind: "sticker", bytes: Buffer.from("webp") });
  const sticker: Attachment = { type: "image", kind: "sticker", ref, url: "", mimeType: "image/webp" };
  await running.say({ text: "**Ada**: [sticker] 👍", attachments: [sticker] });
  expect(posted(running)).toMatchObject([{ text: "Ada: [sticker] 👍" }, { sticker: expect.anything() }]);
});

it.each(["Bad Request: message caption is too long", "Bad Request: MEDIA_CAPTION_TOO_LONG"])(
  "(%s) leaves the words, with a line for the file",
  async (description) => {
    const running = await startAdapter();
    running.fake.fail({ method: "sendPhoto", action: { kind: "refuse", status: 400, description } });
    const attachments: Attachment[] = [{ type: "image", ref: "", url: PNG, mimeType: "image/png", filename: "p.png" }];
    expect(await running.say({ text: "see", attachments })).toMatchObject([{ kind: "sent" }]);
    expect(posted(running)).toMatchObject([{ text: "see\n[file: p.png could not be attached]" }]);
  },
);

describe("a topic that is closed or gone", () => {
  it.each([
    "Bad Request: TOPIC_CLOSED",
    "Bad Request: message thread not found",
    "Bad Request: invalid message thread identifier specified",
    "Bad Request: Invalid topic identifier specified",
    "Bad Request: MESSAGE_THREAD_ID_INVALID",
    "Bad Request: the chat is not a forum",
    "Bad Request: Chat doesn't have threads",
  ])("(%s) leaves the chat's General to answer in, files included", async (description) => {
    const running = await startAdapter();
    const { forumId, topicId } = running.fake;
    const where = { chatId: String(forumId), threadId: String(topicId) };
    const refuse = (method: string) =>
      running.fake.fail({ method, action: { kind: "refuse", status: 400, description } });
    refuse("sendMessage");
    expect(await running.say({ text: "hello" }, where)).toMatchObject([{ kind: "sent" }]);
    refuse("sendPhoto");
    const attachments: Attachment[] = [{ type: "image", ref: "", url: PNG, mimeType: "image/png" }];
    expect(await running.say({ text: "", attachments }, where)).toMatchObject([{ kind: "sent" }]);
    const messages = [...(running.fake.world.chats.get(forumId)?.messages.values() ?? [])].slice(-2);
    expect(messages).toMatchObject([{ text: "hello" }, { photo: expect.anything() }]);
    for (const message of messages) expect(message.message_thread_id).toBeUndefined();
  });
});

describe("an edit", () => {
  it("changes the text and the keyboard", async () => {
    const running = await startAdapter();
    await running.say({ text: "before", buttons: [[{ label: "Go", token: "t" }]] });
    expect(await running.send(edit(running, "1", { text: "**after**" }))).toEqual({ kind: "sent", messageId: "1" });
    expect(posted(running)[0]).toMatchObject({ text: "after", entities: [{ type: "bold" }] });
    expect(posted(running)[0]?.reply_markup).toBeUndefined();
  });

  it("to the same text is a success", async () => {
    const running = await startAdapter();
    await running.say({ text: "the same" });
    expect(await running.send(edit(running, "1", { text: "the same" }))).toEqual({ kind: "sent", messageId: "1" });
    expect(running.fake.callsOf("editMessageText")[0]?.description).toContain("message is not modified");
  });

  it("works in a topic, in General and in a private chat", async () => {
    const running = await startAdapter();
    const { forumId, topicId, userId } = running.fake;
    running.fake.world.dmWith(userId);
    for (const where of [
      { chatId: String(forumId), threadId: String(topicId) },
      { chatId: String(forumId), threadId: "1" },
      { chatId: String(userId) },
    ]) {
      const [result] = await running.say({ text: "before" }, where);
      if (result?.kind !== "sent") throw new Error("not sent");
      const address = { ...running.at, ...where };
      const after = part(running, { text: "after" });
      expect(await running.send({ kind: "edit", address, messageId: result.messageId, part: after })).toEqual(result);
    }
  });

  it("of a file's caption keeps the file", async () => {
    const running = await startAdapter();
    const attachments: Attachment[] = [{ type: "image", ref: "", url: PNG, mimeType: "image/png" }];
    await running.say({ text: "one", attachments });
    expect(await running.send(edit(running, "1", { text: "two", attachments }))).toEqual({
      kind: "sent",
      messageId: "1",
    });
    expect(posted(running)[0]).toMatchObject({ caption: "two", photo: expect.anything() });
  });

  it("to words alone of what was posted with a photo changes its caption", async () => {
    const running = await startAdapter();
    const attachments: Attachment[] = [{ type: "image", ref: "", url: PNG, mimeType: "image/png" }];
    await running.say({ text: "late", attachments });
    const after = { text: "**done**", buttons: [[{ label: "Ok", token: "t" }]] };
    expect(await running.send(edit(running, "1", after))).toEqual({ kind: "sent", messageId: "1" });
    expect(await running.send(edit(running, "1", after))).toEqual({ kind: "sent", messageId: "1" });
    expect(posted(running)).toMatchObject([
      { caption: "done", photo: expect.anything(), reply_markup: { inline_keyboard: [[{ text: "Ok" }]] } },
    ]);
  });

  it("of what is gone, or has become another kind of message, is reported gone", async () => {
    const running = await startAdapter();
    expect(await running.send(edit(running, "77", { text: "x" }))).toMatchObject({ kind: "gone" });
    await running.say({ text: "", attachments: [{ type: "image", ref: "", url: PNG, mimeType: "image/png" }] });
    expect(await running.send(edit(running, "1", { text: "words ".repeat(300) }))).toMatchObject({ kind: "gone" });
  });

  const photo: Attachment = { type: "image", ref: "", url: PNG, mimeType: "image/png" };
  it.each([
    ["without its file", "words ".repeat(300), []],
    ["and its file", "words ".repeat(300), [photo]],
    ["and a file that is gone", "words ".repeat(170), [{ ...photo, url: "http://10.1.2.3/a.png" }]],
  ])(
    "to words that no caption holds (%s) deletes it, or says that where it is too old",
    async (_, text, attachments) => {
      const running = await startAdapter();
      const before = { text: "old", attachments: [photo] };
      await running.say(before);
      expect(await running.send(edit(running, "1", { text, attachments }))).toMatchObject({ kind: "gone" });
      expect(posted(running)).toEqual([]);
      await running.say(before);
      for (const one of posted(running)) Object.assign(one, { date: one.date - 49 * 3600 });
      for (const _again of [1, 2])
        expect(await running.send(edit(running, "2", { text, attachments }))).toMatchObject({ kind: "gone" });
      expect(posted(running)).toEqual([expect.objectContaining({ caption: "(deleted)", photo: expect.anything() })]);
    },
  );
});

describe("an edit that Telegram does not allow", () => {
  it.each([
    "Bad Request: TOPIC_CLOSED",
    "Forbidden: MESSAGE_AUTHOR_REQUIRED",
    "Bad Request: MESSAGE_EDIT_TIME_EXPIRED",
    "Bad Request: message is too old",
    "Bad Request: have no rights to edit a message",
  ])("(%s) is reported gone", async (why) => {
    const running = await startAdapter();
    await running.say({ text: "before" });
    const status = why.startsWith("Forbidden") ? 403 : 400;
    running.fake.fail({ method: "editMessageText", action: { kind: "refuse", status, description: why } });
    expect(await running.send(edit(running, "1", { text: "after" }))).toMatchObject({ kind: "gone" });
    running.fake.fail({ method: "deleteMessage", action: { kind: "refuse", status, description: why } });
    const remove: SendOperation = { kind: "delete", address: running.at, messageId: "1" };
    expect(await running.send(remove)).toMatchObject({ kind: "permanent" });
  });
});

describe("a delete", () => {
  it("takes the message away, and knows when it was gone", async () => {
    const running = await startAdapter();
    await running.say({ text: "short-lived" });
    const remove: SendOperation = { kind: "delete", address: running.at, messageId: "1" };
    expect(await running.send(remove)).toEqual({ kind: "sent", messageId: "1" });
    expect(posted(running)).toEqual([]);
    expect(await running.send(remove)).toMatchObject({ kind: "gone" });
  });

  it.each([
    ["text", {}, { text: "(deleted)" }],
    ["a file", { text: undefined, caption: "old words" }, { caption: "(deleted)" }],
  ])("of %s that is too old to go puts (deleted) in its place, twice without harm", async (_, kind, shown) => {
    const running = await startAdapter();
    await running.say({ text: "old words" });
    for (const one of posted(running)) Object.assign(one, kind, { date: one.date - 49 * 3600 });
    const remove: SendOperation = { kind: "delete", address: running.at, messageId: "1" };
    for (const _again of [1, 2]) expect(await running.send(remove)).toEqual({ kind: "sent", messageId: "1" });
    expect(posted(running)).toEqual([expect.objectContaining(shown)]);
  });
});

describe("what Telegram calls by the ids of its own servers is handled like what it says in words:", () => {
  const refused = (id: string): Fault["action"] => ({ kind: "refuse", status: 400, description: `Bad Request: ${id}` });

  it.each([
    "MESSAGE_ID_INVALID",
    "MSG_ID_INVALID",
    "REPLY_MESSAGE_ID_INVALID",
    "REPLY_TO_INVALID",
    "REPLY_TO_USER_INVALID",
    "QUOTE_TEXT_INVALID",
  ])("an answer goes without its reference (%s), and in a topic that is refused, too, to General", async (id) => {
    const running = await startAdapter();
    const { forumId, topicId } = running.fake;
    running.fake.fail({ method: "sendMessage", times: 2, action: refused(id) });
    expect(await running.say({ text: "an answer", replyToId: "999" })).toMatchObject([{ kind: "permanent" }]);
    running.fake.fail({ method: "sendMessage", action: refused(id) });
    expect(await running.say({ text: "an answer", replyToId: "999" })).toMatchObject([{ kind: "sent" }]);
    const topic = { chatId: String(forumId), threadId: String(topicId) };
    running.fake.fail({ method: "sendMessage", times: 2, action: refused(id) });
    expect(await running.say({ text: "in General", replyToId: "999" }, topic)).toMatchObject([{ kind: "sent" }]);
    expect(posted(running, String(forumId)).map(({ message_thread_id }) => message_thread_id)).toEqual([undefined]);
  });

  it.each(["MESSAGE_ID_INVALID", "MSG_ID_INVALID"])("a message to edit or to delete is gone (%s)", async (id) => {
    const running = await startAdapter();
    await running.say({ text: "before" });
    running.fake.fail({ method: "editMessageText", action: refused(id) });
    expect(await running.send(edit(running, "1", { text: "after" }))).toMatchObject({ kind: "gone" });
    running.fake.fail({ method: "deleteMessage", action: refused(id) });
    const remove: SendOperation = { kind: "delete", address: running.at, messageId: "1" };
    expect(await running.send(remove)).toMatchObject({ kind: "gone" });
  });

  it("a deletion that is forbidden leaves (deleted)", async () => {
    const running = await startAdapter();
    await running.say({ text: "before" });
    running.fake.fail({ method: "deleteMessage", action: refused("MESSAGE_DELETE_FORBIDDEN") });
    expect(await running.send({ kind: "delete", address: running.at, messageId: "1" })).toMatchObject({ kind: "sent" });
    expect(posted(running)).toEqual([expect.objectContaining({ text: "(deleted)" })]);
  });
});

describe("what a send reports", () => {
  const refuse = (status: number, description: string, parameters?: Record<string, unknown>): Fault["action"] => ({
    kind: "refuse",
    status,
    description,
    parameters,
  });

  it.each<[string, Fault["action"], object]>([
    ["a flood", { kind: "rate-limit", retryAfterS: 600 }, { kind: "retry", afterMs: 600_000, scope: "chat" }],
    ...["abc", -1, null].map((retry_after): [string, Fault["action"], object] => [
      `a flood of no time (${retry_after})`,
      refuse(429, "Too Many Requests", { retry_after }),
      { kind: "retry", afterMs: 5000 },
    ]),
    ["a proxy that calls words too large", { kind: "proxy-error", status: 413 }, { kind: "retry", scope: "chat" }],
    ["bad entities", refuse(400, "Bad Request: can't parse entities: oops"), { kind: "format" }],
    [
      "an entity out of bounds",
      refuse(400, "Bad Request: entity beginning at UTF-16 offset 9 ends after the end"),
      { kind: "format" },
    ],
    ["a bad button", refuse(400, "Bad Request: BUTTON_URL_INVALID"), { kind: "format" }],
    ["buttons that are no buttons", refuse(400, "Bad Request: REPLY_MARKUP_INVALID"), { kind: "format" }],
    ["a long text", refuse(400, "Bad Request: message is too long"), { kind: "format" }],
    ["a long text, in other words", refuse(400, "Bad Request: MESSAGE_TOO_LONG"), { kind: "format" }],
    ["a block", refuse(403, "Forbidden: bot was blocked by the user"), { kind: "permanent" }],
    ["a lost chat", refuse(400, "Bad Request: chat not found"), { kind: "permanent" }],
    ["a closed topic", refuse(400, "Bad Request: TOPIC_CLOSED"), { kind: "permanent" }],
    ["a file too large", refuse(413, "Request Entity Too Large"), { kind: "permanent" }],
    ["one refused token", refuse(401, "Unauthorized"), { kind: "retry", scope: "chat" }],
    ["a method that is not found", refuse(404, "Not Found: method not found"), { kind: "retry", scope: "chat" }],
    ["a flood in Telegram's inner words", refuse(420, "FLOOD_WAIT_7"), { kind: "retry", afterMs: 7_000 }],
    [
      "a flood whose time is in its words",
      refuse(429, "Too Many Requests: retry after 2"),
      { kind: "retry", afterMs: 2_000 },
    ],
    ["trouble at Telegram", refuse(500, "Internal Server Error"), { kind: "ambiguous" }],
    ["a request that timed out", refuse(408, "Request Timeout"), { kind: "ambiguous" }],
    ["a proxy's error page", { kind: "proxy-error", status: 502 }, { kind: "ambiguous" }],
    ["a proxy's page about a request that timed out", { kind: "proxy-error", status: 408 }, { kind: "ambiguous" }],
    ...[400, 403, 404, 407].map((status): [string, Fault["action"], object] => [
      `a proxy's refusal (${status})`,
      { kind: "proxy-error", status },
      { kind: "retry", scope: "chat", error: expect.stringContaining("was not Telegram's") },
    ]),
    ["a drop before processing", { kind: "drop-before" }, { kind: "ambiguous" }],
    ["a drop after processing", { kind: "drop-after" }, { kind: "ambiguous" }],
    ["no answer", { kind: "hang" }, { kind: "ambiguous" }],
    [
      "a success that is a web page",
      { kind: "proxy-error", status: 200, isProcessed: true },
      { kind: "ambiguous", error: "the answer was HTTP 200, but not one of the Bot API" },
    ],
    ["a success that was cut short", { kind: "garble", body: '{"ok":true,"result":{"mess' }, { kind: "ambiguous" }],
    ["a success without content", { kind: "garble", body: "" }, { kind: "ambiguous" }],
    ["a success without a result", { kind: "garble", body: '{"ok":true}' }, { kind: "ambiguous" }],
    [
      "a success that names no message",
      { kind: "garble", body: '{"ok":true,"result":true}' },
      { kind: "ambiguous", error: "the answer names no message" },
    ],
    ["a success that calls itself a failure", { kind: "garble", body: '{"ok":false}' }, { kind: "ambiguous" }],
    [
      "a refusal without a code",
      { kind: "garble", status: 400, body: '{"ok":false}' },
      { kind: "permanent", error: "400 refused without a reason" },
    ],
  ])("%s", async (_, action, expected) => {
    const running = await startAdapter({ config: { request_timeout: "1s" } });
    running.fake.fail({ method: "sendMessage", action });
    expect(await running.send(create(running, { text: "x" }))).toMatchObject(expected);
  });

  it.each<[string, Fault["action"], object]>([
    ["trouble at Telegram", refuse(500, "Internal Server Error"), { kind: "ambiguous" }],
    ["a drop", { kind: "drop-after" }, { kind: "ambiguous" }],
    ["a flood", { kind: "rate-limit", retryAfterS: 3 }, { kind: "retry", afterMs: 3000 }],
  ])("%s on an edit, which may be repeated", async (_, action, expected) => {
    const running = await startAdapter();
    await running.say({ text: "before" });
    running.fake.fail({ method: "editMessageText", action });
    const operation = edit(running, "1", { text: "after" });
    expect(await running.send(operation)).toMatchObject(expected);
    expect(await running.send(operation)).toMatchObject({ kind: "sent" });
  });

  it("a withdrawn token, which Telegram refuses a second time, pauses every chat", async () => {
    const running = await startAdapter();
    running.fake.fail({ method: "sendMessage|getMe", times: 2, action: refuse(401, "Unauthorized") });
    const result = await running.send(create(running, { text: "x" }));
    expect(result).toEqual({ kind: "retry", error: "401 Unauthorized", scope: "bot" });
  });

  it("formatting that is refused goes before the links to press", async () => {
    const running = await startAdapter();
    const message = {
      text: "**late** [docs](https://a.example)",
      buttons: [[{ label: "Open", url: "https://b.example" }]],
    };
    running.fake.fail({ method: "sendMessage", action: refuse(400, "Bad Request: ENTITY_BOUNDS_INVALID") });
    const [sent] = await running.say(message);
    if (sent?.kind !== "sent") throw new Error("not sent");
    const keyboard = { inline_keyboard: [[{ text: "Open", url: "https://b.example" }]] };
    const plain = { text: "late docs (https://a.example)", reply_markup: keyboard };
    const last = running.fake.callsOf("sendMessage").at(-1)?.payload;
    expect(last).toMatchObject(plain);
    expect(last?.entities).toBeUndefined();
    running.fake.fail({ method: "editMessageText", action: refuse(400, "Bad Request: can't parse entities: x") });
    const [part] = running.adapter.encode({ ...message, text: "**now**" }, running.at, { plain: false });
    if (!part) throw new Error("no part");
    const edit = { kind: "edit" as const, address: running.at, messageId: sent.messageId, part };
    expect(await running.send(edit)).toMatchObject({ kind: "sent" });
    expect(running.fake.callsOf("editMessageText").at(-1)?.payload).toMatchObject({
      text: "now",
      reply_markup: keyboard,
    });
  });

  it("a move, with the new chat", async () => {
    const running = await startAdapter();
    const next = running.fake.people.migrates(running.fake.groupId);
    const results = await running.say({ text: "x" }, { chatId: String(running.fake.groupId) });
    expect(results).toEqual([{ kind: "moved", toChatId: String(next) }]);
    expect((await running.events(1))[0]).toMatchObject({ kind: "moved", toChatId: String(next) });
    expect(await running.say({ text: "x" }, { chatId: String(next) })).toMatchObject([{ kind: "sent" }]);
  });

  it.each([
    [30, 90],
    [600, 600],
    [31_536_000, 31_536_000],
  ])("floods of %i s and %i s in two chats are those chats' own", async (first, second) => {
    const running = await startAdapter();
    const other = { chatId: String(running.fake.forumId) };
    running.fake.fail({ method: "sendMessage", action: { kind: "rate-limit", retryAfterS: first } });
    expect(await running.say({ text: "x" })).toMatchObject([{ kind: "retry", scope: "chat" }]);
    running.fake.fail({ method: "sendMessage", action: { kind: "rate-limit", retryAfterS: second } });
    expect(await running.say({ text: "x" }, other)).toMatchObject([{ kind: "retry", scope: "chat" }]);
  });

  it("a flood in a second chat that ends with the first's is the whole account's", async () => {
    const running = await startAdapter();
    running.fake.fail({ method: "sendMessage", times: 2, action: { kind: "rate-limit", retryAfterS: 30 } });
    expect(await running.say({ text: "x" })).toMatchObject([{ kind: "retry", scope: "chat" }]);
    const other = { chatId: String(running.fake.forumId) };
    expect(await running.say({ text: "x" }, other)).toMatchObject([{ kind: "retry", scope: "bot" }]);
  });

  it("a request that was never written may be repeated", async () => {
    const running = await startAdapter();
    await running.fake.stop();
    expect(await running.send(create(running, { text: "x" }))).toMatchObject({ kind: "retry", scope: "bot" });
  });

  it("an abort before writing is a retry, after it ambiguous", async () => {
    const running = await startAdapter();
    const operation = create(running, { text: "x" });
    expect(await running.adapter.send(operation, AbortSignal.abort())).toMatchObject({ kind: "retry" });
    running.fake.fail({ method: "sendMessage", action: { kind: "hang" } });
    const abort = new AbortController();
    const sending = running.adapter.send(operation, abort.signal);
    await expect.poll(() => running.fake.callsOf("sendMessage").length).toBe(1);
    abort.abort();
    expect(await sending).toMatchObject({ kind: "ambiguous" });
  });

  it("is a retry while it does not run", async () => {
    const running = await startAdapter();
    await running.stop();
    expect(await running.send(create(running, { text: "x" }))).toMatchObject({ kind: "retry", scope: "bot" });
  });

  it("a stored part that cannot be read is a permanent failure", async () => {
    const running = await startAdapter();
    const strange = { text: "x", body: { words: 1 } };
    const operation: SendOperation = { kind: "create", address: running.at, part: strange, nonce: "n" };
    expect(await running.send(operation)).toMatchObject({ kind: "permanent" });
  });
});

describe("a topic", () => {
  it("is opened by its name in a forum, and nowhere else", async () => {
    const { adapter, at, fake } = await startAdapter();
    const forum = { ...at, chatId: String(fake.forumId) };
    const opened = await adapter.openTopic?.(forum, "n".repeat(300));
    const topics = fake.world.chats.get(fake.forumId)?.topics;
    expect(opened).toEqual({ ...forum, threadId: expect.any(String) });
    expect(topics?.get(Number(opened?.threadId))).toBe("n".repeat(128));
    expect(await adapter.openTopic?.({ ...at, chatId: String(fake.userId) }, "x")).toBeUndefined();
    await expect(adapter.openTopic?.({ ...at, chatId: String(fake.chatId) }, "x")).rejects.toMatchObject({
      code: "THREAD_REFUSED",
      hint: expect.stringContaining("Switch topics on"),
    });
    await expect(adapter.openTopic?.({ ...at, chatId: "-4711" }, "x")).rejects.toMatchObject({
      code: "THREAD_REFUSED",
      hint: expect.stringContaining("Add the bot to the group"),
    });
    const refusals = [
      [{ status: 400, description: "Bad Request: not enough rights to create a topic" }, "Manage Topics"],
      [{ status: 403, description: "Forbidden: bot was kicked from the supergroup chat" }, "Add the bot to the group"],
      [
        {
          status: 400,
          description: "Bad Request: group chat was upgraded to a supergroup chat",
          parameters: { migrate_to_chat_id: -100123 },
        },
        "new id, -100123",
      ],
    ] as const;
    for (const [refusal, hint] of refusals) {
      fake.fail({ method: "createForumTopic", action: { kind: "refuse", ...refusal } });
      await expect(adapter.openTopic?.(forum, "x")).rejects.toMatchObject({ hint: expect.stringContaining(hint) });
    }
  });

  it("is opened after a limit or a lost answer; else the chat itself has to do", async () => {
    const { adapter, at, fake } = await startAdapter();
    const forum = { ...at, chatId: String(fake.forumId) };
    fake.fail({ method: "createForumTopic", action: { kind: "rate-limit", retryAfterS: 1 } });
    expect(await adapter.openTopic?.(forum, "x")).toMatchObject({ threadId: expect.any(String) });
    fake.fail({ method: "createForumTopic", action: { kind: "drop-before" } });
    expect(await adapter.openTopic?.(forum, "y")).toMatchObject({ threadId: expect.any(String) });
    fake.fail({ method: "createForumTopic", action: { kind: "rate-limit", retryAfterS: 600 } });
    await expect(adapter.openTopic?.(forum, "z")).rejects.toMatchObject({
      code: "THREAD_REFUSED",
      message: expect.stringContaining("Telegram opened no topic: 429"),
    });
  });
});

describe("traits", () => {
  it("tell groups by their id, and where a private answer goes", async () => {
    const { adapter, at, fake } = await startAdapter();
    expect(adapter.traits.isGroup(at.chatId)).toBe(true);
    expect(adapter.traits.isGroup("1001")).toBe(false);
    expect(adapter.traits.privateAddress({ ...at, threadId: "7" }, "1001")).toEqual({
      ...at,
      chatId: String(fake.userId),
    });
    expect(adapter.traits.privateAddress({ ...at, chatId: "1001" }, "1001")).toBeUndefined();
    expect(adapter.traits.limits).toEqual({ perSecond: 30, perChatPerSecond: 1, perGroupPerMinute: 20 });
  });
});
