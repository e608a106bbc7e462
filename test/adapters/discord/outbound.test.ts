/** What the gateway sends arrives as it should, and every answer of Discord reads as the right result. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { InteractionRef } from "../../../src/domain/chat/event.js";
import type { OutboundMessage } from "../../../src/domain/chat/message.js";
import { parseDestinations } from "../../../src/lib/outgoing/destinations.js";
import { carriesContent } from "../../fakes/discord/calls.js";
import type { FaultAction } from "../../fakes/discord/faults.js";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/server.js";
import type { FakeInteraction } from "../../fakes/discord/world.js";
import { silentServer } from "../../support/silent-server.js";
import { slowLine } from "../../support/slow-line.js";
import { until } from "../../support/until.js";
import { type Rig, startRig } from "./rig.js";

let fake: FakeDiscord;
let rig: Rig;
beforeAll(async () => {
  fake = await startFakeDiscord();
  rig = await startRig(fake, { options: { requestTimeoutMs: 700, outgoing: parseDestinations(["127.0.0.1"]) } });
});
afterAll(async () => {
  await rig.stop();
  await fake.stop();
});
beforeEach(() => {
  fake.faults.clear();
  fake.calls.length = 0;
  fake.limits.perRoute = undefined;
  fake.limits.global = undefined;
});

const address = () => ({ platform: "discord", botId: fake.world.bot.id, chatId: fake.channelId });
const messages = (chatId = fake.channelId) => [...(fake.world.channels.get(chatId)?.messages.values() ?? [])];
const ownTexts = (chatId = fake.channelId) =>
  messages(chatId)
    .filter((m) => m.author.id === fake.world.bot.id)
    .map((m) => m.content);
const part = (message: OutboundMessage) => {
  const [first] = rig.encode(message);
  if (!first) throw new Error("no part");
  return first;
};
const edit = (messageId: string, message: OutboundMessage, interaction?: InteractionRef) =>
  rig.send({
    kind: "edit",
    address: address(),
    messageId,
    part: part(message),
    interaction,
  });

async function sentId(message: OutboundMessage, chatId?: string): Promise<string> {
  const result = await rig.say(message, chatId === undefined ? {} : { chatId });
  if (result.kind !== "sent") throw new Error(JSON.stringify(result));
  return result.messageId;
}

const titleErrors = { name: { _errors: [{ code: "BASE_TYPE_BAD_LENGTH", message: "Must be 1 or more in length" }] } };
const refusedTitles: [string, object][] = [
  ["automatic moderation", { message: "Title was blocked by automatic moderation", code: 200_001 }],
  ["an error of the form", { message: "Invalid Form Body", code: 50_035, errors: titleErrors }],
];

describe("a message", () => {
  it("pings nobody, names what it answers, and may be silent", async () => {
    const asked = fake.people.says("question");
    const id = await sentId({ text: "@everyone answer", replyToId: asked.id, silent: true });
    const call = fake.calls.find((entry) => entry.kind === "send");
    expect(call?.body).toMatchObject({
      allowed_mentions: { parse: [], replied_user: false },
      enforce_nonce: true,
      message_reference: { message_id: asked.id, fail_if_not_exists: false },
      flags: 4096,
    });
    expect(messages().find((message) => message.id === id)?.author.id).toBe(fake.world.bot.id);
  });

  it("that answers a deleted message is sent all the same", async () => {
    expect(await rig.say({ text: "too late", replyToId: fake.world.snowflake() })).toMatchObject({ kind: "sent" });
  });

  it("may ping whom it names", async () => {
    await sentId({ text: "hi", mentions: { users: [fake.userId], everyone: true } });
    expect(fake.calls.at(-1)?.body).toMatchObject({ allowed_mentions: { parse: ["everyone"], users: [fake.userId] } });
  });

  it("of 30,000 characters, with surrogate pairs and a fence, passes Discord's length checks whole", async () => {
    const text = `${"word 👩‍👩‍👧 ".repeat(1200)}\n\n\`\`\`ts\n${"const x = 1;\n".repeat(800)}\`\`\``;
    const parts = rig.encode({ text });
    expect(parts.length).toBeGreaterThan(10);
    for (const [index, each] of parts.entries())
      expect(await rig.send({ kind: "create", address: address(), part: each, nonce: `long-${index}` })).toMatchObject({
        kind: "sent",
      });
  });

  it("with a card and buttons becomes an embed and components", async () => {
    const id = await sentId({
      text: "look",
      card: {
        title: "T",
        text: "**bold**",
        tone: "good",
        fields: [{ name: "a", value: "1", inline: true }],
        footer: "f",
      },
      buttons: [
        [
          { label: "Go", token: "tok", style: "danger" },
          { label: "Docs", url: "https://example.com/" },
        ],
      ],
    });
    const message = messages().find((entry) => entry.id === id);
    expect(message?.embeds).toMatchObject([
      { title: "T", fields: [{ name: "a", value: "1", inline: true }], footer: { text: "f" } },
    ]);
    expect(message?.components).toMatchObject([
      {
        components: [
          { custom_id: "tok", style: 4 },
          { url: "https://example.com/", style: 5 },
        ],
      },
    ]);
  });

  it("takes its time to upload on a slow line, longer than any other request may take", async () => {
    const line = await slowLine(fake.apiUrl, { passes: 1_000_000, stallMs: 3_000 });
    const other = await startRig(fake, {
      options: { apiUrl: line.url, requestTimeoutMs: 700, uploadTimeoutMs: 30_000 },
    });
    try {
      const bytes = Buffer.alloc(7_000_000, "a").toString("base64");
      const file = { type: "file" as const, ref: "1", url: `data:text/plain;base64,${bytes}`, mimeType: "text/plain" };
      expect(await other.say({ text: "slow", attachments: [{ ...file, filename: "large.txt" }] })).toMatchObject({
        kind: "sent",
      });
      expect(ownTexts().filter((text) => text === "slow")).toHaveLength(1);
    } finally {
      await other.stop();
      line.close();
    }
  });

  it("brings files from data:, file: and http, and says which it could not read", async () => {
    const folder = await mkdtemp(join(tmpdir(), "hookgate-discord-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "a.txt"), "from disk");
    const web = createServer(({ url }, response) => response.writeHead(url === "/w" ? 200 : 403).end("from web"));
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    rig.gateway.freshLink = async ({ url }) => (url.endsWith("/old") ? `${base}/w` : undefined);
    const base = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
    const file = (url: string, filename: string) => ({
      type: "file" as const,
      ref: "",
      url,
      mimeType: "text/plain",
      filename,
    });
    await sentId({
      text: "files",
      attachments: [
        file("data:text/plain;base64,aGk=", "d.txt"),
        file(pathToFileURL(join(folder, "a.txt")).href, "a.txt"),
        file(`${base}/w`, "w.txt"),
        { ...file(`${base}/old`, "renewed.txt"), platform: "elsewhere" },
        { ...file(`${base}/lost`, "lost.txt"), platform: "elsewhere" },
        file(pathToFileURL(join(folder, "gone.txt")).href, "gone.txt"),
        file("http://169.254.169.254/latest/meta-data/", "secret.txt"),
      ],
    });
    web.close();
    const call = fake.calls.find((entry) => entry.kind === "send");
    expect(call?.files).toEqual(["d.txt", "a.txt", "w.txt", "renewed.txt"]);
    expect(call?.body).toMatchObject({
      content: expect.stringMatching(
        /\[file: lost\.txt could not be fetched: its link has expired, or it was deleted\]\n\[file: gone\.txt could not be fetched: .*\]\nsecret\.txt \(may not be fetched\)$/,
      ),
      enforce_nonce: true,
    });
    expect(messages().at(-1)?.attachments).toMatchObject([{ size: 2 }, { size: 9 }, { size: 8 }, { size: 8 }]);
    expect(rig.logger.lines.filter((line) => line.includes("a line of text replaces it"))).toHaveLength(3);
  });

  it("whose file is not given within its time is not sent yet; at the last attempt the words go without the file", async () => {
    const channel = fake.world.addChannel({ type: 0 });
    const url = await silentServer();
    const file = { type: "file" as const, ref: "", url, mimeType: "text/plain", filename: "a.txt" };
    const message = part({ text: "words", attachments: [file] });
    let ends = 0;
    const fetch = { withinMs: 50, onEnd: () => void ends++ };
    const at = { ...address(), chatId: channel.id };
    const create = { kind: "create" as const, address: at, part: message, nonce: "silent", fetch };
    const why = expect.stringContaining("did not answer within");
    expect(await rig.send(create)).toMatchObject({ kind: "retry", scope: "file", error: why });
    expect([ends, channel.messages.size]).toEqual([0, 0]);
    expect(await rig.send({ ...create, isLastAttempt: true })).toMatchObject({ kind: "sent" });
    expect(ends).toBe(1);
    expect(ownTexts(channel.id)).toEqual([expect.stringMatching(/^words\n\[file: a\.txt could not be fetched: .*\]$/)]);
  });

  it("with a file that was given up after its fetch is not posted late", async () => {
    const channel = fake.world.addChannel({ type: 0 });
    const givenUp = new AbortController();
    const file = { type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain" };
    const late = part({ text: "late", attachments: [file] });
    const at = { ...address(), chatId: channel.id };
    const fetch = { withinMs: 1000, onEnd: () => givenUp.abort() };
    await rig.adapter.send({ kind: "create", address: at, part: late, nonce: "late", fetch }, givenUp.signal);
    await sentId({ text: "next", attachments: [file] }, channel.id);
    expect(ownTexts(channel.id)).toEqual(["next"]);
  });

  it("to a thread goes to the thread; to a forum it becomes a post that can be edited and deleted", async () => {
    await sentId({ text: "in thread" }, fake.threadId);
    expect(ownTexts(fake.threadId)).toEqual(["in thread"]);
    const id = await sentId({ text: "A title\nand a body" }, fake.forumId);
    expect(fake.world.channels.get(id)).toMatchObject({ parentId: fake.forumId, name: "A title" });
    const forum = { ...address(), chatId: fake.forumId };
    expect(
      await rig.send({ kind: "edit", address: forum, messageId: id, part: part({ text: "changed" }) }),
    ).toMatchObject({ kind: "sent" });
    expect(ownTexts(id)).toEqual(["changed"]);
    expect(await rig.send({ kind: "delete", address: forum, messageId: id })).toMatchObject({ kind: "sent" });
  });

  it("to an address with a thread goes to the thread, and is edited and deleted there", async () => {
    const at = { ...address(), threadId: fake.threadId };
    const sent = await rig.send({ kind: "create", address: at, part: part({ text: "in it" }), nonce: "in-thread" });
    if (sent.kind !== "sent") throw new Error(sent.kind);
    const content = () => fake.world.channels.get(fake.threadId)?.messages.get(sent.messageId)?.content;
    expect(content()).toBe("in it");
    const { messageId } = sent;
    await rig.send({ kind: "edit", address: at, messageId, part: part({ text: "changed" }) });
    expect(content()).toBe("changed");
    await rig.send({ kind: "delete", address: at, messageId });
    expect(content()).toBeUndefined();
  });

  it("to a person opens the DM and says where it is; the next one knows", async () => {
    const bob = fake.world.addUser({ username: "bob" });
    const at = rig.adapter.traits.privateAddress(address(), bob.id);
    expect(at).toBeDefined();
    const result = await rig.say({ text: "psst" }, { chatId: at?.chatId ?? "" });
    if (result.kind !== "moved") throw new Error(result.kind);
    expect(await rig.say({ text: "psst" }, { chatId: result.toChatId })).toMatchObject({ kind: "sent" });
    expect(ownTexts(result.toChatId)).toEqual(["psst"]);
    expect(rig.adapter.traits.privateAddress(address(), bob.id)?.chatId).toBe(result.toChatId);
    expect(rig.adapter.traits.privateAddress({ ...address(), chatId: result.toChatId }, bob.id)).toBeUndefined();
  });
});

describe("edits and deletes", () => {
  it("an edit replaces everything", async () => {
    const id = await sentId({ text: "old", card: { title: "card" }, buttons: [[{ label: "Go", token: "t" }]] });
    expect(await edit(id, { text: "new" })).toEqual({ kind: "sent", messageId: id });
    expect(messages().find((message) => message.id === id)).toMatchObject({
      content: "new",
      embeds: [],
      components: [],
    });
  });

  it("of a message that is gone say so", async () => {
    const id = await sentId({ text: "short-lived" });
    expect(await rig.send({ kind: "delete", address: address(), messageId: id })).toMatchObject({ kind: "sent" });
    expect(await edit(id, { text: "x" })).toMatchObject({ kind: "gone" });
    expect(await rig.send({ kind: "delete", address: address(), messageId: id })).toMatchObject({ kind: "gone" });
  });
});

describe("trouble", () => {
  it("an answer that was lost is ambiguous, and the same nonce then posts nothing twice", async () => {
    const operation = { kind: "create" as const, address: address(), part: part({ text: "once" }), nonce: "once-1" };
    fake.fail({ method: "POST", path: "/messages$", action: { kind: "drop-after" } });
    expect(await rig.send(operation)).toEqual({ kind: "ambiguous", error: expect.any(String) });
    const again = await rig.send(operation);
    expect(again).toMatchObject({ kind: "sent" });
    expect(ownTexts().filter((text) => text === "once")).toHaveLength(1);
    expect(fake.calls.filter((call) => call.kind === "send").map((call) => call.deduplicated)).toEqual([
      undefined,
      true,
    ]);
  });

  it.each([
    ["cut short", '{"content":"x","id', undefined],
    ["empty", "", undefined],
    ["a web page", "<html></html>", "text/html"],
    ["another object", '{"type":0}', undefined],
  ])(
    "a success whose answer is %s is ambiguous, of text, of a file, of a private word, of an edit",
    async (_, body, contentType) => {
      const garble = (method: string, path: string) =>
        fake.fail({ method, path, action: { kind: "garble", body, contentType: contentType || undefined } });
      const unreadable = { kind: "ambiguous", error: expect.stringMatching(/^Discord's answer cannot be read$/) };
      garble("POST", "/messages$");
      expect(await rig.say({ text: "x" })).toMatchObject(unreadable);
      garble("POST", "/messages$");
      const file = { type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain" };
      expect(await rig.say({ text: "x", attachments: [file] })).toMatchObject(unreadable);
      const id = await sentId({ text: "y" });
      garble("PATCH", `/messages/${id}$`);
      expect(await edit(id, { text: "z" })).toMatchObject(unreadable);
    },
  );

  it("an answer that takes too long is ambiguous too", async () => {
    fake.fail({ method: "POST", path: "/messages$", action: { kind: "slow", delayMs: 2000 } });
    expect(await rig.say({ text: "slow" })).toMatchObject({ kind: "ambiguous" });
  });

  it("an edit whose answer was lost is ambiguous, and may be tried again", async () => {
    const id = await sentId({ text: "v1" });
    fake.fail({ method: "PATCH", action: { kind: "drop-after" } });
    expect(await edit(id, { text: "v2" })).toEqual({ kind: "ambiguous", error: expect.any(String) });
  });

  it("a 429 is a retry with its time and scope, without waiting inside", async () => {
    fake.fail({
      method: "POST",
      path: "/messages$",
      action: { kind: "rate-limit", retryAfterS: 600, scope: "shared" },
    });
    const began = Date.now();
    const other = fake.world.addChannel({ type: 0 }).id;
    expect(await rig.say({ text: "x" }, { chatId: other })).toMatchObject({
      kind: "retry",
      afterMs: expect.closeTo(600_000, -4),
      scope: "chat",
    });
    expect(Date.now() - began).toBeLessThan(20_000);
  });

  it("a known limit is not run into: the next request is held back here", async () => {
    const channel = fake.world.addChannel({ type: 0 }).id;
    fake.limits.perRoute = { limit: 2, windowMs: 400 };
    const results = [];
    for (let i = 0; i < 4; i++) results.push(await rig.say({ text: `m${i}` }, { chatId: channel }));
    expect(results.map((result) => result.kind)).toEqual(["sent", "sent", "retry", "retry"]);
    expect(fake.limits.hits).toBe(0);
    const { afterMs } = results[3] as { afterMs: number };
    await new Promise((resolve) => setTimeout(resolve, afterMs + 20));
    expect(await rig.say({ text: "later" }, { chatId: channel })).toMatchObject({ kind: "sent" });
  });

  it("a channel that takes no message takes no file either, and a pause of the whole account holds edits back", async () => {
    const id = await sentId({ text: "y" });
    const channel = fake.world.addChannel({ type: 0 }).id;
    const limited = (scope: "user" | "global") =>
      fake.fail({ method: "POST", path: "/messages$", action: { kind: "rate-limit", retryAfterS: 0.3, scope } });
    limited("user");
    expect(await rig.say({ text: "x" }, { chatId: channel })).toMatchObject({ kind: "retry", scope: "chat" });
    const file = {
      type: "file" as const,
      ref: "",
      url: "data:text/plain,hi",
      filename: "hi.txt",
      mimeType: "text/plain",
    };
    const asked = fake.calls.length;
    expect(await rig.say({ text: "z", attachments: [file] }, { chatId: channel })).toMatchObject({ kind: "retry" });
    limited("global");
    expect(await rig.say({ text: "x" })).toMatchObject({ kind: "retry", scope: "bot" });
    const paused = await edit(id, { text: "z" });
    expect(paused).toMatchObject({ kind: "retry", scope: "bot" });
    expect(fake.calls.length).toBe(asked + 1);
    await new Promise((resolve) => setTimeout(resolve, (paused as { afterMs: number }).afterMs + 20));
    expect(await rig.say({ text: "later" }, { chatId: channel })).toMatchObject({ kind: "sent" });
  });

  it("a ban by Discord's network stops every request, of any channel and kind, for as long as it says", async () => {
    const banned = await startFakeDiscord();
    const other = await startRig(banned);
    onTestFinished(async () => {
      await other.stop();
      await banned.stop();
    });
    banned.fail({
      method: "POST",
      path: "/messages$",
      action: { kind: "page", status: 429, headers: { "retry-after": "600" } },
    });
    const pause = {
      kind: "retry",
      scope: "bot",
      afterMs: expect.closeTo(600_000, -4),
      error: expect.stringContaining("Cloudflare"),
    };
    expect(await other.say({ text: "x" }, { chatId: banned.channelId })).toMatchObject(pause);
    const asked = banned.calls.length;
    expect(await other.say({ text: "y" }, { chatId: banned.threadId })).toMatchObject(pause);
    const file = { type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain" };
    expect(await other.say({ text: "z", attachments: [file] }, { chatId: banned.threadId })).toMatchObject(pause);
    banned.people.slash("status");
    await until(() => other.gateway.stored.length === 1, "the command");
    await until(() => other.logger.lines.join().includes("could not be acknowledged"), "it being given up");
    expect(banned.calls.length).toBe(asked);
  });

  it.each([
    ["text", []],
    ["an upload", [{ type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain" }]],
  ])("a limit of Discord's own that names no scope is its channel's, and no ban: %s", async (_, attachments) => {
    const limited = fake.world.addChannel({ type: 0 }).id;
    const body = { message: "The write action hit the write rate limit", code: 20028, retry_after: 2 };
    const action = { kind: "status", status: 429, body, headers: { "retry-after": "2" } } as const;
    fake.fail({ method: "POST", path: `/${limited}/messages$`, action });
    expect(await rig.say({ text: "x", attachments }, { chatId: limited })).toMatchObject({
      kind: "retry",
      scope: "chat",
      afterMs: expect.closeTo(2000, -3),
    });
    expect(await rig.say({ text: "elsewhere" })).toMatchObject({ kind: "sent" });
  });

  it("a ban met by an upload is known as one, too; without a time it lasts a minute", async () => {
    const banned = await startFakeDiscord();
    const other = await startRig(banned);
    onTestFinished(async () => {
      await other.stop();
      await banned.stop();
    });
    banned.fail({ method: "POST", path: "/messages$", action: { kind: "page", status: 429 } });
    const file = { type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain" };
    expect(await other.say({ text: "x", attachments: [file] }, { chatId: banned.channelId })).toMatchObject({
      kind: "retry",
      scope: "bot",
      afterMs: expect.closeTo(60_000, -4),
    });
  });

  it("a limit beyond reason is met again after an hour at most, of text and of uploads", async () => {
    const channel = fake.world.addChannel({ type: 0 }).id;
    const file = { type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain" };
    const limit = () =>
      fake.fail({
        method: "POST",
        path: "/messages$",
        action: { kind: "rate-limit", retryAfterS: 31_536_000, scope: "user" },
      });
    limit();
    expect(await rig.say({ text: "x", attachments: [file] }, { chatId: channel })).toMatchObject({
      kind: "retry",
      afterMs: 31_536_000_000,
    });
    expect(rig.logger.lines.join()).toContain("beyond reason");
    const other = fake.world.addChannel({ type: 0 }).id;
    limit();
    expect(await rig.say({ text: "x" }, { chatId: other })).toMatchObject({ kind: "retry", scope: "chat" });
    const next = await rig.say({ text: "x" }, { chatId: other });
    expect(next).toMatchObject({ afterMs: expect.closeTo(3_600_000, -4) });
    // Nothing was asked of Discord now, so nothing is to be cut.
    expect(next.kind === "retry" && next.afterMs).toBeLessThanOrEqual(3_600_000);
  });

  it("a web page that refuses an upload reads as what it is", async () => {
    fake.fail({ method: "POST", path: "/messages$", action: { kind: "page", status: 413 } });
    const file = { type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain" };
    await sentId({ text: "the report", attachments: [file] });
    expect(ownTexts().at(-1)).toBe(
      "the report\n[file: file-1.plain could not be attached: it is too large for Discord]",
    );
  });

  it("a web page that refuses a text as too large is no refusal of Discord: it is sent again", async () => {
    fake.fail({ method: "POST", path: "/messages$", action: { kind: "page", status: 413 } });
    expect(await rig.say({ text: "short" })).toMatchObject({ kind: "retry", error: expect.stringContaining("413") });
  });

  it("the files of an edit take the place of those before", async () => {
    const file = (filename: string) => ({
      type: "file" as const,
      ref: "",
      url: "data:text/plain,hi",
      mimeType: "text/plain",
      filename,
    });
    const id = await sentId({ text: "before", attachments: [file("a.txt"), file("b.txt")] });
    await edit(id, { text: "after", attachments: [file("c.txt"), file("d.txt")] });
    expect(messages().find((one) => one.id === id)).toMatchObject({
      content: "after",
      attachments: [{ filename: "c.txt" }, { filename: "d.txt" }],
    });
  });

  describe("files that Discord refuses", () => {
    const attachments = [
      { type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain", filename: "a.txt" },
    ];
    const permission = "[file: a.txt could not be attached: the bot needs the permission Attach Files]";

    it("for want of a permission are named, and the words and the card go out", async () => {
      const channel = fake.world.addChannel({ type: 0, noFiles: true });
      await sentId({ text: "the report", attachments }, channel.id);
      await sentId({ text: "a card", card: { title: "T" }, attachments }, channel.id);
      const sent = [...channel.messages.values()];
      expect(sent.map(({ content }) => content)).toEqual([`the report\n${permission}`, `a card\n${permission}`]);
      expect(sent[1]?.embeds).toMatchObject([{ title: "T" }]);
      const id = await sentId({ text: "before" }, channel.id);
      const change = { kind: "edit" as const, address: { ...address(), chatId: channel.id }, messageId: id };
      expect(await rig.send({ ...change, part: part({ text: "after", attachments }) })).toMatchObject({ kind: "sent" });
      expect(channel.messages.get(id)?.content).toBe(`after\n${permission}`);
    });

    it.each([
      [413, 40005],
      [400, 50045],
    ])("as too large (%i, %i) are named, and the words go out", async (status, code) => {
      const channel = fake.world.addChannel({ type: 0 });
      const body = { message: "too large", code };
      fake.fail({ method: "POST", path: "/messages$", isUpload: true, action: { kind: "status", status, body } });
      await sentId({ text: "the report", attachments }, channel.id);
      expect([...channel.messages.values()].map(({ content }) => content)).toEqual([
        "the report\n[file: a.txt could not be attached: it is too large for Discord]",
      ]);
    });

    it("in a server where uploads are limited are named, in a message and in an edit, and the words and the card go out", async () => {
      const channel = fake.world.addChannel({ type: 0 });
      const body = { code: 400001, message: "Access to file uploads has been limited for this guild" };
      fake.fail({ isUpload: true, times: 2, action: { kind: "status", status: 403, body } });
      const id = await sentId({ text: "the report", card: { title: "T" }, attachments }, channel.id);
      const note = "[file: a.txt could not be attached: Discord limits uploads of files in this server]";
      expect(channel.messages.get(id)).toMatchObject({ content: `the report\n${note}`, embeds: [{ title: "T" }] });
      const change = { kind: "edit" as const, address: { ...address(), chatId: channel.id }, messageId: id };
      expect(await rig.send({ ...change, part: part({ text: "after", attachments }) })).toMatchObject({ kind: "sent" });
      expect(channel.messages.get(id)?.content).toBe(`after\n${note}`);
    });

    const form = {
      attachments: { 0: { filename: { _errors: [{ code: "BASE_TYPE_BAD_LENGTH", message: "too long" }] } } },
    };
    it.each([
      ["an invalid file", { message: "Invalid file uploaded", code: 50046 }],
      ["explicit content", { message: "Explicit content cannot be sent to the desired recipient(s)", code: 20009 }],
      ["too many attachments", { message: "Maximum number of attachments in a message reached (10)", code: 30015 }],
      ["an upload that is not found", { message: "Uploaded file not found", code: 50146 }],
      ["a file without a duration", { message: "The provided file does not have a valid duration", code: 50192 }],
      ["a file that cannot be processed", { message: "The provided file is invalid", code: 50110 }],
      ["a name that is refused", { message: "Invalid Form Body", code: 50035, errors: form }],
    ])("as %s are named, and the words go out", async (_, body) => {
      const channel = fake.world.addChannel({ type: 0 });
      fake.fail({ method: "POST", path: "/messages$", isUpload: true, action: { kind: "status", status: 400, body } });
      await sentId({ text: "the report", attachments }, channel.id);
      expect([...channel.messages.values()].map(({ content }) => content)).toEqual([
        "the report\n[file: a.txt could not be attached: Discord does not accept it]",
      ]);
    });
  });

  it("a card that Discord refused is text at once for ten minutes, new or edited", async () => {
    const channel = fake.world.addChannel({ type: 0, noEmbeds: true });
    const id = await sentId({ text: "plain" }, channel.id);
    const at = { ...address(), chatId: channel.id };
    const card = part({ text: "", card: { title: "T" } });
    const create = { kind: "create" as const, address: at, part: card };
    expect(await rig.send({ ...create, nonce: "card-1" })).toMatchObject({ kind: "format" });
    const asked = fake.calls.length;
    expect(await rig.send({ ...create, nonce: "card-2" })).toMatchObject({ kind: "format" });
    expect(await rig.send({ kind: "edit", address: at, messageId: id, part: card })).toMatchObject({ kind: "format" });
    expect(fake.calls.length).toBe(asked);
  });

  it.each([40333, 40004, 40006, 110001, 20016, 20022, 20028, 30046, 40003, 40062, 160006])(
    "a trouble that Discord says passes (%i) is a retry",
    async (code) => {
      const body = { message: "for a while", code };
      fake.fail({ method: "POST", path: "/messages$", action: { kind: "status", status: 403, body } });
      expect(await rig.say({ text: "x" })).toMatchObject({ kind: "retry", scope: "chat" });
    },
  );

  it("a limit of edits holds back that edit alone", async () => {
    const id = await sentId({ text: "card" });
    fake.fail({
      method: "PATCH",
      path: "/messages/",
      action: { kind: "rate-limit", retryAfterS: 25, scope: "shared" },
    });
    expect(await edit(id, { text: "card 2" })).toMatchObject({ kind: "retry", scope: "delivery" });
  });

  it("an edit of what the bot did not write asks for a new message", async () => {
    expect(await edit(fake.people.says("mine", { isSilent: true }).id, { text: "x" })).toMatchObject({ kind: "gone" });
  });

  it("without the permission to read history a reply goes without its reference, and the next one knows", async () => {
    const channel = fake.world.addChannel({ type: 0, noHistory: true });
    const question = fake.people.says("?", { channelId: channel.id, isSilent: true });
    expect(await rig.say({ text: "one", replyToId: question.id }, { chatId: channel.id })).toMatchObject({
      kind: "sent",
    });
    expect(await rig.say({ text: "two", replyToId: question.id }, { chatId: channel.id })).toMatchObject({
      kind: "sent",
    });
    const file = { type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain" };
    await rig.say({ text: "three", replyToId: question.id, attachments: [file] }, { chatId: channel.id });
    expect([...channel.messages.values()].map(({ content }) => content)).toEqual(["?", "one", "two", "three"]);
    expect(fake.calls.filter(({ status }) => status === 403)).toHaveLength(1);
  });

  it("a reply to what cannot be replied to goes without its reference", async () => {
    const refusal = { message: "Invalid Form Body", code: 50035, errors: { message_reference: { _errors: [] } } };
    fake.fail({ method: "POST", path: "/messages$", action: { kind: "status", status: 400, body: refusal } });
    const question = fake.people.says("?", { isSilent: true });
    expect(await rig.say({ text: "x", replyToId: question.id })).toMatchObject({ kind: "sent" });
  });

  it("without the permission for embeds a card is to go as text, with its buttons", async () => {
    const channel = fake.world.addChannel({ type: 0, noEmbeds: true });
    const card = { text: "", card: { title: "Late", text: "by an hour" }, buttons: [[{ label: "Ok", token: "t" }]] };
    expect(await rig.say(card, { chatId: channel.id })).toMatchObject({ kind: "format" });
    const [plain] = rig.encode(card, true);
    if (!plain) throw new Error("no part");
    const at = { ...address(), chatId: channel.id };
    expect(await rig.send({ kind: "create", address: at, part: plain, nonce: "card-1" })).toMatchObject({
      kind: "sent",
    });
    expect([...channel.messages.values()]).toMatchObject([
      { content: expect.stringContaining("by an hour"), components: [expect.anything()] },
    ]);
  });

  it("an archived thread is reopened for an edit or a deletion; one that is locked asks for a new message", async () => {
    const thread = fake.world.addChannel({ type: 11, parentId: fake.channelId });
    const at = { ...address(), chatId: thread.id };
    const [first, second] = [
      await rig.say({ text: "v1" }, { chatId: thread.id }),
      await rig.say({ text: "x" }, { chatId: thread.id }),
    ];
    const ids = [first, second].map((result) => (result.kind === "sent" ? result.messageId : ""));
    thread.isArchived = true;
    const editIt = { kind: "edit" as const, address: at, messageId: ids[0] ?? "", part: part({ text: "v2" }) };
    expect(await rig.send(editIt)).toMatchObject({ kind: "sent" });
    expect(thread).toMatchObject({ isArchived: false });
    expect(thread.messages.get(ids[0] ?? "")?.content).toBe("v2");

    const locked = fake.world.addChannel({ type: 11, parentId: fake.channelId });
    const posted = await rig.say({ text: "v1" }, { chatId: locked.id });
    Object.assign(locked, { isArchived: true, isLocked: true });
    const messageId = posted.kind === "sent" ? posted.messageId : "";
    const there = { ...address(), chatId: locked.id };
    expect(await rig.send({ ...editIt, address: there, messageId })).toMatchObject({ kind: "gone", isLeft: true });
    const refused = { kind: "permanent", error: expect.stringContaining("(50083): it is locked") };
    expect(await rig.say({ text: "new" }, { chatId: locked.id })).toMatchObject(refused);
    expect(await rig.send({ kind: "delete", address: there, messageId })).toMatchObject(refused);
  });

  it("a thread that is archived again at once is reopened again, once for each request", async () => {
    const thread = fake.world.addChannel({ type: 11, parentId: fake.channelId });
    const posted = await rig.say({ text: "v1" }, { chatId: thread.id });
    const target = {
      address: { ...address(), chatId: thread.id },
      messageId: posted.kind === "sent" ? posted.messageId : "",
    };
    for (const text of ["v2", "v3"]) {
      thread.isArchived = true;
      expect(await rig.send({ ...target, kind: "edit", part: part({ text }) })).toMatchObject({ kind: "sent" });
    }
    thread.isArchived = true;
    expect(await rig.send({ ...target, kind: "delete" })).toMatchObject({ kind: "sent" });
    const body = { message: "Thread is archived", code: 50083 };
    fake.fail({ method: "DELETE", times: 9, action: { kind: "status", status: 400, body } });
    const before = fake.calls.length;
    const refusal = { kind: "permanent", error: "Thread is archived (50083)" };
    expect(await rig.send({ ...target, kind: "delete" })).toEqual(refusal);
    expect(fake.calls.slice(before).map(({ method }) => method)).toEqual(["DELETE", "PATCH", "DELETE"]);
  });

  it("an archived thread that Discord cannot reopen now is tried again: nothing was posted", async () => {
    const thread = fake.world.addChannel({ type: 11, parentId: fake.channelId });
    const posted = await rig.say({ text: "v1" }, { chatId: thread.id });
    const messageId = posted.kind === "sent" ? posted.messageId : "";
    const target = { address: { ...address(), chatId: thread.id }, messageId };
    const reopening = { method: "PATCH", path: `/channels/${thread.id}$` };
    for (const action of [
      { kind: "status", status: 500 },
      { kind: "page", status: 403 },
    ] as const) {
      fake.fail({ ...reopening, times: 3, action });
      Object.assign(thread, { isArchived: true, isLocked: true });
      expect(await rig.say({ text: "v2" }, { chatId: thread.id })).toMatchObject({ kind: "retry" });
      expect(await rig.send({ ...target, kind: "edit", part: part({ text: "v2" }) })).toMatchObject({ kind: "retry" });
      expect(await rig.send({ ...target, kind: "delete" })).toMatchObject({ kind: "retry" });
    }
    thread.isLocked = false;
    expect(await rig.send({ ...target, kind: "delete" })).toMatchObject({ kind: "sent" });
    expect(thread.messages.size).toBe(0);
  });

  it.each<[string, FaultAction, "retry" | "ambiguous"]>([
    ["redirect", { kind: "page", status: 302 }, "retry"],
    ["redirect in the form of Discord's refusals", { kind: "status", status: 302 }, "retry"],
    ["login page", { kind: "page", status: 200 }, "ambiguous"],
  ])("a proxy's %s is no success of a deletion or an edit", async (_, action, kind) => {
    const posted = await rig.say({ text: "to go" });
    const target = { address: address(), messageId: posted.kind === "sent" ? posted.messageId : "" };
    fake.fail({ times: 2, action });
    expect(await rig.send({ ...target, kind: "edit", part: part({ text: "changed" }) })).toMatchObject({ kind });
    expect(await rig.send({ ...target, kind: "delete" })).toMatchObject({ kind: "retry" });
    expect(await rig.send({ ...target, kind: "delete" })).toMatchObject({ kind: "sent" });
    expect(await rig.send({ ...target, kind: "delete" })).toMatchObject({ kind: "gone" });
  });

  it("a message that is refused because its thread is archived reopens the thread and is posted, once", async () => {
    const thread = fake.world.addChannel({ type: 11, parentId: fake.channelId, isArchived: true });
    const body = { message: "Thread is archived", code: 50083 };
    const path = `/channels/${thread.id}/messages$`;
    fake.fail({ method: "POST", path, action: { kind: "status", status: 400, body } });
    expect(await rig.say({ text: "back" }, { chatId: thread.id })).toMatchObject({ kind: "sent" });
    expect(fake.calls.filter(({ method }) => method === "PATCH")).toMatchObject([{ body: { archived: false } }]);
    expect([...thread.messages.values()].map(({ content }) => content)).toEqual(["back"]);
  });

  it("a forum that wants a tag gets the first one that may be set", async () => {
    const forum = fake.world.addChannel({
      type: 15,
      requiredTags: [
        { id: "71", name: "official", moderated: true },
        { id: "72", name: "news" },
      ],
    });
    expect(await rig.say({ text: "A post" }, { chatId: forum.id })).toMatchObject({ kind: "sent" });
    const starts = fake.calls.filter(({ kind }) => kind === "thread-start");
    expect(starts.at(-1)).toMatchObject({ status: 201, body: { applied_tags: ["72"] } });
  });

  const lastPost = () => fake.calls.filter(({ kind }) => kind === "thread-start").at(-1);

  it.each<[string, OutboundMessage]>([
    ["Orders of Ann wait", { text: "", card: { title: "Orders of Ann wait", text: "since 10:00" } }],
    ["🔶 Person 9101 in a direct message", { text: "<@1576658655531499527> 🔶 **Person 9101** in a direct message" }],
    ["Orders wait", { text: "<@1576658655531499527>", card: { title: "Orders wait" } }],
    ["Person 9101: forum_ok 1", { text: "**Person 9101**: forum\\_ok 1\nmore" }],
    ["New message", { text: "…" }],
    [`Grace ${"waits for a ".repeat(7)}first…`, { text: `Grace ${"waits for a ".repeat(7)}first response` }],
    [`${"🔶".repeat(49)}a…`, { text: `${"🔶".repeat(49)}${"a".repeat(9)}` }],
  ])("to a forum is listed as %s", async (name, message) => {
    expect(await rig.say(message, { chatId: fake.forumId })).toMatchObject({ kind: "sent" });
    expect(lastPost()).toMatchObject({ status: 201, body: { name } });
  });

  it.each(refusedTitles)("to a forum whose title is refused by %s is listed under a neutral one", async (_, body) => {
    fake.fail({ path: "threads$", times: 1, action: { kind: "status", status: 400, body } });
    expect(await rig.say({ text: "A blocked title" }, { chatId: fake.forumId })).toMatchObject({ kind: "sent" });
    expect(lastPost()).toMatchObject({ status: 201, body: { name: "New message" } });
    expect(ownTexts(String(lastPost()?.messageId))).toEqual(["A blocked title"]);
  });

  it("without formatting has its links as words, since an address may be what was refused", () => {
    const message = {
      text: "look",
      buttons: [
        [
          { label: "Ok", token: "t" },
          { label: "Docs", url: "https://a.example" },
        ],
        [{ label: "Log", url: "https://b.example" }],
      ],
    };
    const wanted = [
      {
        body: {
          content: "look\nDocs: https://a.example\nLog: https://b.example",
          components: [{ components: [{ label: "Ok" }] }],
        },
      },
    ];
    const [whole] = rig.encode(message);
    expect(whole && rig.adapter.plainPart?.(whole)).toMatchObject(wanted);
    const again = rig.encode(message, true);
    const content = again.map(({ body }) => body.content).join("\n");
    expect(content).toContain("Docs: https://a.example");
    expect(JSON.stringify(again.map(({ body }) => body.components))).not.toContain("example");
  });

  it("one part without its formatting keeps its words, files and buttons", () => {
    const [whole] = rig.encode({
      text: "look",
      card: { title: "Late", fields: [{ name: "by", value: "an hour" }] },
      buttons: [[{ label: "Ok", token: "t" }]],
      attachments: [
        { type: "image", ref: "", url: "data:image/png;base64,AA==", filename: "p.png", mimeType: "image/png" },
      ],
    });
    if (!whole) throw new Error("no part");
    const plain = rig.adapter.plainPart?.(whole);
    expect(plain).toMatchObject([
      {
        hasFile: true,
        body: {
          content: "look\nLate\nby: an hour",
          components: whole.body.components,
          attachments: [{ filename: "p.png" }],
        },
      },
    ]);
    expect(plain?.[0] && rig.adapter.plainPart?.(plain[0])).toBeUndefined();
  });

  it("a refusal without Discord's message and code waits, as a proxy's page does", async () => {
    fake.fail({ method: "POST", action: { kind: "status", status: 403, body: {} } });
    expect(await rig.say({ text: "x" })).toMatchObject({ kind: "retry", error: expect.stringContaining("403") });
  });

  it("a 5xx on a create or an edit is ambiguous", async () => {
    fake.fail({ method: "POST", action: { kind: "status", status: 502 } });
    expect(await rig.say({ text: "x" })).toMatchObject({ kind: "ambiguous" });
    const id = await sentId({ text: "y" });
    fake.fail({ method: "PATCH", action: { kind: "status", status: 500 } });
    expect(await edit(id, { text: "z" })).toMatchObject({ kind: "ambiguous" });
  });

  it("refused formatting asks for plain text, once; what is plain is refused for good", async () => {
    const refusal = {
      message: "Invalid Form Body",
      code: 50035,
      errors: { embeds: { _errors: [{ code: "X", message: "y" }] } },
    };
    fake.fail({ method: "POST", times: 2, action: { kind: "status", status: 400, body: refusal } });
    expect(await rig.say({ text: "x", card: { title: "t" } })).toMatchObject({ kind: "format" });
    const [plain] = rig.encode({ text: "x", card: { title: "t" } }, true);
    if (!plain) throw new Error("no part");
    expect(await rig.send({ kind: "create", address: address(), part: plain, nonce: "plain-1" })).toMatchObject({
      kind: "permanent",
    });
    expect(plain.body.embeds).toBeUndefined();
  });

  it("buttons that are refused go, with a note, and the words and the card stay", async () => {
    const twice = [
      [
        { label: "Ok", token: "t" },
        { label: "Again", token: "t" },
      ],
    ];
    const note = "[the buttons could not be attached]";
    const result = await rig.say({ text: "look", card: { title: "Late" }, buttons: twice });
    if (result.kind !== "sent") throw new Error("not sent");
    const posted = () => messages().find(({ id }) => id === result.messageId);
    expect(posted()).toMatchObject({ content: `look\n${note}`, embeds: [{ title: "Late" }] });
    expect(await edit(result.messageId, { text: "now", buttons: twice })).toMatchObject({ kind: "sent" });
    expect(posted()).toMatchObject({ content: `now\n${note}` });
    const forum = fake.world.addChannel({ type: 15 });
    expect(await rig.say({ text: "A post", buttons: twice }, { chatId: forum.id })).toMatchObject({ kind: "sent" });
  });

  it("a hidden or unknown channel and a closed DM are permanent", async () => {
    const hidden = fake.world.addChannel({ type: 0, isHidden: true }).id;
    expect(await rig.say({ text: "x" }, { chatId: hidden })).toMatchObject({ kind: "permanent" });
    expect(await rig.say({ text: "x" }, { chatId: fake.world.snowflake() })).toMatchObject({ kind: "permanent" });
  });

  it("a server that is away is a retry: nothing was written", async () => {
    const away = await startFakeDiscord();
    const other = await startRig(away);
    const chatId = away.channelId;
    await away.stop();
    expect(await other.say({ text: "x" }, { chatId })).toMatchObject({ kind: "retry", scope: "bot" });
    await other.stop();
  });

  it("after too many refusals nothing is asked for a while, far below Discord's ban", async () => {
    const wall = await startFakeDiscord();
    const careful = await startRig(wall, { options: { maxInvalidRequests: 10 } });
    const hidden = Array.from({ length: 12 }, () => wall.world.addChannel({ type: 0, isHidden: true }).id);
    const results = [];
    for (const chatId of hidden) results.push(await careful.say({ text: "x" }, { chatId }));
    expect(results.map(({ kind }) => kind)).toEqual([...Array(10).fill("permanent"), "retry", "retry"]);
    const why = expect.stringContaining("too many refused requests in ten minutes");
    expect(results.at(-1)).toMatchObject({ scope: "bot", isUntried: true, error: why });
    expect(wall.calls.filter((call) => call.status === 403)).toHaveLength(10);
    await careful.stop();
    await wall.stop();
  });

  const REFUSED = { kind: "status", status: 401, body: { message: "401: Unauthorized", code: 0 } } as const;

  it("one refused send does not end the run while Discord takes the token elsewhere", async () => {
    const own = await startFakeDiscord();
    const other = await startRig(own);
    onTestFinished(async () => {
      await other.stop();
      await own.stop();
    });
    own.fail({ method: "POST", path: "/messages$", action: REFUSED });
    expect(await other.say({ text: "x" }, { chatId: own.channelId })).toMatchObject({
      kind: "retry",
      scope: "chat",
      isGrowing: true,
    });
    await until(() => own.calls.some(({ path }) => path.endsWith("/users/@me")), "the token being checked");
    expect(await other.say({ text: "x" }, { chatId: own.channelId })).toMatchObject({ kind: "sent" });
  });

  it.each([400, 401, 403, 404, 407])(
    "a web page with status %i is no answer of Discord's: the message waits, and the token is kept",
    async (status) => {
      const own = await startFakeDiscord();
      const other = await startRig(own);
      onTestFinished(async () => {
        await other.stop();
        await own.stop();
      });
      const waits = { kind: "retry", scope: "chat", error: expect.stringContaining("was not Discord's") };
      const file = { type: "file" as const, ref: "", url: "data:text/plain,hi", mimeType: "text/plain" };
      own.fail({ method: "POST", path: "/messages$", times: 2, action: { kind: "page", status } });
      expect(await other.say({ text: "x" }, { chatId: own.channelId })).toMatchObject(waits);
      expect(await other.say({ text: "x", attachments: [file] }, { chatId: own.channelId })).toMatchObject(waits);
      expect(await other.say({ text: "x", attachments: [file] }, { chatId: own.channelId })).toMatchObject({
        kind: "sent",
      });
    },
  );

  it("a token that was revoked ends the run for good", async () => {
    const own = await startFakeDiscord();
    const revoked = await startRig(own);
    own.fail({
      method: "POST",
      path: "/messages$",
      action: REFUSED,
    });
    own.fail({ method: "GET", path: "^/users/@me$", action: REFUSED });
    expect(await revoked.say({ text: "x" }, { chatId: own.channelId })).toMatchObject({ kind: "retry", scope: "chat" });
    expect((await revoked.ended).error).toMatchObject({ code: "DISCORD_TOKEN", retryable: false });
    await own.stop();
  });
});

describe("interactions", () => {
  const ref = (interaction: FakeInteraction, isPrivate: boolean): InteractionRef => ({
    id: interaction.id,
    token: interaction.token,
    expiresAt: Date.now() + 60_000,
    isPrivate,
  });

  async function deferred(isPrivate: boolean): Promise<{ interaction: FakeInteraction; reply: InteractionRef }> {
    rig.gateway.acknowledge = () => ({ kind: "defer", isPrivate });
    const interaction = fake.people.slash("status");
    expect(await fake.people.answerTo(interaction.token)).toMatchObject({
      type: 5,
      data: isPrivate ? { flags: 64 } : {},
    });
    return { interaction, reply: ref(interaction, isPrivate) };
  }

  it("is acknowledged only after it is on disk, and within 3 seconds", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    rig.gateway.acknowledge = () => ({ kind: "defer", isPrivate: true });
    rig.gateway.beforeStore = () => held;
    const count = rig.gateway.handedOver;
    const interaction = fake.people.slash("status");
    await until(() => rig.gateway.handedOver > count);
    await rig.say({ text: "something else meanwhile" });
    expect(interaction.acknowledged).toBeUndefined();
    release();
    await until(() => interaction.acknowledged);
    rig.gateway.beforeStore = () => undefined;
    expect(interaction.acknowledged?.at).toBeLessThan(interaction.createdAt + 3000);
  });

  it("the first answer is edited in, a private follow-up goes through the webhook, a public one to the channel", async () => {
    const secret = await deferred(true);
    expect(await rig.say({ text: "first" }, { interaction: { ...secret.reply, first: true } })).toMatchObject({
      kind: "sent",
    });
    expect(await rig.say({ text: "second" }, { interaction: { ...secret.reply, first: false } })).toMatchObject({
      kind: "sent",
    });
    expect(fake.calls.filter(carriesContent).map((call) => call.kind)).toEqual(["original-edit", "follow-up"]);
    expect(fake.calls.at(-1)?.body).toMatchObject({ flags: 64 });
    const open = await deferred(false);
    await rig.say({ text: "first" }, { interaction: { ...open.reply, first: true } });
    await rig.say({ text: "public second" }, { interaction: { ...open.reply, first: false } });
    expect(
      fake.calls
        .filter(carriesContent)
        .slice(2)
        .map((call) => call.kind),
    ).toEqual(["original-edit", "send"]);
    expect(fake.calls.at(-1)?.body).toMatchObject({ enforce_nonce: true });
  });

  it("in a thread that was archived meanwhile reopens it", async () => {
    const thread = fake.world.addChannel({ type: 11, parentId: fake.channelId, isArchived: true });
    const { reply } = await deferred(false);
    const body = { message: "Thread is archived", code: 50083 };
    fake.fail({ method: "PATCH", path: "original$", action: { kind: "status", status: 400, body } });
    const said = await rig.say({ text: "late" }, { chatId: thread.id, interaction: { ...reply, first: true } });
    expect(said).toMatchObject({ kind: "sent" });
    expect(thread.isArchived).toBe(false);
  });

  it("a private answer can be edited through its interaction", async () => {
    const { reply } = await deferred(true);
    const first = await rig.say({ text: "working" }, { interaction: { ...reply, first: true } });
    if (first.kind !== "sent") throw new Error(first.kind);
    expect(await edit(first.messageId, { text: "done" }, reply)).toEqual({ kind: "sent", messageId: first.messageId });
    expect(messages().find((message) => message.id === first.messageId)?.content).toBe("done");
  });

  it("a lost answer to the first is repeated, to a private follow-up it is not", async () => {
    const { reply } = await deferred(true);
    fake.fail({ method: "PATCH", action: { kind: "drop-after" } });
    const lost = await rig.say({ text: "a" }, { interaction: { ...reply, first: true } });
    expect(lost).toEqual({ kind: "ambiguous", error: expect.any(String) });
    expect(await rig.say({ text: "a" }, { interaction: { ...reply, first: true } })).toMatchObject({ kind: "sent" });
    fake.fail({ method: "POST", action: { kind: "drop-after" } });
    expect(await rig.say({ text: "b" }, { interaction: { ...reply, first: false } })).toMatchObject({
      kind: "ambiguous",
      mayRepeat: false,
    });
  });

  it("an expired or unknown token closes the interaction", async () => {
    const { interaction, reply } = await deferred(false);
    interaction.createdAt -= 16 * 60_000;
    expect(await rig.say({ text: "late" }, { interaction: { ...reply, first: true } })).toMatchObject({
      kind: "interaction-closed",
    });
    const unknown = { ...reply, token: "unknown", first: true };
    expect(await rig.say({ text: "x" }, { interaction: unknown })).toMatchObject({ kind: "interaction-closed" });
  });

  it("too many follow-ups close the interaction, so that the rest is posted in the channel", async () => {
    const { reply } = await deferred(false);
    fake.fail({
      method: "POST",
      action: { kind: "status", status: 400, body: { code: 40094, message: "Max follow ups" } },
    });
    expect(await rig.say({ text: "b" }, { interaction: { ...reply, isPrivate: true, first: false } })).toMatchObject({
      kind: "interaction-closed",
    });
  });

  it("an answer whose place was deleted closes the interaction", async () => {
    rig.gateway.acknowledge = () => ({ kind: "defer-update" });
    const id = await sentId({ text: "card", buttons: [[{ label: "Go", token: "tok-8" }]] });
    const press = fake.people.presses(id, "tok-8");
    await fake.people.answerTo(press.token);
    fake.world.channels.get(fake.channelId)?.messages.delete(id);
    expect(await rig.say({ text: "x" }, { interaction: { ...ref(press, false), first: true } })).toMatchObject({
      kind: "interaction-closed",
    });
  });

  it("a press is acknowledged in place, and its answer replaces the message of the button", async () => {
    rig.gateway.acknowledge = () => ({ kind: "defer-update" });
    const id = await sentId({ text: "card", buttons: [[{ label: "Go", token: "tok-9" }]] });
    const press = fake.people.presses(id, "tok-9");
    expect(await fake.people.answerTo(press.token)).toMatchObject({ type: 6 });
    const result = await rig.say({ text: "pressed" }, { interaction: { ...ref(press, false), first: true } });
    expect(result).toEqual({ kind: "sent", messageId: id });
    expect(messages().find((message) => message.id === id)).toMatchObject({ content: "pressed", components: [] });
  });

  it("a button may open a form", async () => {
    rig.gateway.acknowledge = () => ({
      kind: "form",
      token: "tok-form",
      form: { title: "Why?", fields: [{ id: "reason", label: "Reason", required: true, long: true }] },
    });
    const id = await sentId({ text: "card", buttons: [[{ label: "Ask", token: "tok-10" }]] });
    const press = fake.people.presses(id, "Ask");
    expect(await fake.people.answerTo(press.token)).toMatchObject({
      type: 9,
      data: {
        custom_id: "tok-form",
        title: "Why?",
        components: [{ components: [{ custom_id: "reason", style: 2, required: true }] }],
      },
    });
  });

  it("a second acknowledgement (a replay) is quietly refused by Discord", async () => {
    const { interaction } = await deferred(false);
    fake.gateway.repeatLast(1);
    expect(interaction.acknowledged).toBeDefined();
  });

  it("an acknowledgement whose connection dropped is tried again in time", async () => {
    rig.gateway.acknowledge = () => ({ kind: "defer", isPrivate: false });
    fake.fail({ path: "/callback", action: { kind: "drop-before" } });
    const interaction = fake.people.slash("status");
    expect(await fake.people.answerTo(interaction.token)).toMatchObject({ type: 5 });
  });

  it.each([
    ["trouble", { kind: "status", status: 503 }, 200],
    ["a limit", { kind: "rate-limit", retryAfterS: 0.7, scope: "user" }, 650],
  ] as const)("an acknowledgement refused for %s is tried again after a pause", async (_, action, atLeastMs) => {
    rig.gateway.acknowledge = () => ({ kind: "defer", isPrivate: false });
    fake.fail({ path: "/callback", action });
    const interaction = fake.people.slash("status");
    expect(await fake.people.answerTo(interaction.token)).toMatchObject({ type: 5 });
    const [first, second] = fake.calls.filter(({ path }) => path.endsWith("/callback")).slice(-2);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(atLeastMs);
  });

  it("an acknowledgement that Discord wants later than it may come is given up, and not tried meanwhile", async () => {
    rig.gateway.acknowledge = () => ({ kind: "defer", isPrivate: false });
    fake.fail({ path: "/callback", times: 3, action: { kind: "rate-limit", retryAfterS: 60, scope: "user" } });
    const before = fake.calls.length;
    const said = rig.logger.lines.length;
    fake.people.slash("status");
    await until(() => rig.logger.lines.slice(said).join().includes("could not be acknowledged"), "it being given up");
    expect(fake.calls.slice(before).filter(({ path }) => path.endsWith("/callback"))).toHaveLength(1);
    fake.faults.clear();
  });

  it("completion is answered live, with at most 25 choices, and never stored", async () => {
    const stored = rig.gateway.stored.length;
    rig.gateway.choices = Array.from({ length: 40 }, (_, i) => ({
      name: `hook ${i}`.padEnd(120, "x"),
      value: `h${i}`,
    }));
    const choices = await fake.people.completes("hooks", "id", "gre");
    expect(choices).toHaveLength(25);
    expect(rig.gateway.completions.at(-1)).toMatchObject({
      command: "hooks",
      option: "id",
      typed: "gre",
      operator: { platform: "discord", userId: fake.userId, roleIds: fake.world.users.get(fake.userId)?.roleIds },
    });
    expect(rig.gateway.stored).toHaveLength(stored);
  });

  it("completion that fails shows nothing rather than an error", async () => {
    const complete = rig.gateway.complete;
    rig.gateway.complete = () => Promise.reject(new Error("no"));
    expect(await fake.people.completes("hooks", "id", "x")).toEqual([]);
    rig.gateway.complete = complete;
  });
});

describe("threads", () => {
  it("are opened under a message once, with a name that Discord takes", async () => {
    const messageId = await sentId({ text: "the night watch begins" });
    const thread = await rig.adapter.openThread?.(address(), messageId, "n".repeat(300));
    expect(thread).toEqual({ ...address(), chatId: messageId });
    expect(fake.world.channels.get(messageId)).toMatchObject({ name: "n".repeat(100), parentId: fake.channelId });
    expect(await rig.adapter.openThread?.(address(), messageId, "again")).toEqual(thread);
    await sentId({ text: "all is quiet" }, messageId);
    expect(ownTexts(messageId)).toEqual(["all is quiet"]);
  });

  it.each([
    ["was refused for trouble", { kind: "status", status: 503 }],
    ["was opened and not confirmed", { kind: "drop-after" }],
  ] as const)("are found by a second try when the first %s", async (_, action) => {
    const messageId = await sentId({ text: "the night watch begins" });
    fake.fail({ path: "/threads$", action });
    expect(await rig.adapter.openThread?.(address(), messageId, "x")).toEqual({ ...address(), chatId: messageId });
    expect(fake.world.channels.get(messageId)).toMatchObject({ parentId: fake.channelId });
  });

  it.each(refusedTitles)("whose title is refused by %s have a neutral one", async (_, body) => {
    const messageId = await sentId({ text: "the night watch begins" });
    fake.fail({ path: "/threads$", action: { kind: "status", status: 400, body } });
    expect(await rig.adapter.openThread?.(address(), messageId, "x")).toEqual({ ...address(), chatId: messageId });
    expect(fake.world.channels.get(messageId)).toMatchObject({ name: "New message", parentId: fake.channelId });
  });

  it("are not opened where there are none", async () => {
    const dm = fake.world.dmWith(fake.userId).id;
    await sentId({ text: "hello" }, dm);
    const messageId = [...(fake.world.channels.get(dm)?.messages.keys() ?? [])].at(-1) as string;
    expect(await rig.adapter.openThread?.({ ...address(), chatId: dm }, messageId, "x")).toBeUndefined();
    await expect(rig.adapter.openThread?.(address(), "1", "x")).rejects.toMatchObject({ code: "THREAD_REFUSED" });
  });
});
