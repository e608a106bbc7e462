/** What platforms refuse, or answer with errors, on the whole product: what is to be seen all the same. */
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buttonsOf } from "../fakes/telegram/people.js";
import type { FakeChat, FakeMessage } from "../fakes/telegram/world.js";
import { allOnline, invoke, readiness, type Stack, startStack } from "../flow/stack.js";
import { until } from "../support/until.js";

const FILES_PLUGIN = resolve(import.meta.dirname, "../fixtures/plugins/files.mjs");

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ plugins: [{ module: FILES_PLUGIN }] });
});
afterAll(() => stack.stop());

it("an upload that Discord always answers with an error holds up neither slash commands nor later messages", async () => {
  const { discord } = stack;
  discord.fail({ isUpload: true, times: 1_000, action: { kind: "status", status: 500 } });
  discord.people.says("upload");
  const uploads = () => discord.calls.filter(({ files }) => files.length > 0).length;
  await until(() => uploads() > 0, "the upload");
  const { token } = discord.people.slash("status");
  discord.people.says("echo later");
  await until(() => discord.world.interactions.get(token)?.originalId, "the answer to the command");
  expect(uploads()).toBeLessThan(3);
  const texts = () => [...(discord.world.channels.get(discord.channelId)?.messages.values() ?? [])];
  await until(() => texts().some(({ content }) => content.startsWith("later")), "the later message");
  expect(uploads()).toBeLessThan(6);
  discord.faults.clear();
  await until(() => texts().some(({ attachments }) => attachments.length > 0), "the upload, at last");
});

it("one quick error keeps the order, however long the message waited behind others", async () => {
  const { discord } = stack;
  const { id: channelId } = discord.people.opensThread(discord.channelId, "order");
  const send = { method: "POST", path: `/channels/${channelId}/messages$` };
  const channel = discord.world.channels.get(channelId);
  discord.fail({ ...send, action: { kind: "rate-limit", retryAfterS: 6, scope: "user" } });
  discord.fail({ ...send, skip: 1, action: { kind: "status", status: 503 } });
  for (const n of [0, 1, 2, 3]) discord.people.says(`echo ordered ${n}`, { channelId });
  const answers = () =>
    [...(channel?.messages.values() ?? [])].filter(({ author }) => author.id === discord.world.bot.id);
  await until(() => answers().length === 4, "the answers");
  expect(answers().map(({ content }) => /ordered \d/.exec(content)?.[0])).toEqual(
    [0, 1, 2, 3].map((n) => `ordered ${n}`),
  );
}, 120_000);

it("a picture that Telegram refuses after the first goes as a file, in its place", async () => {
  const { telegram } = stack;
  telegram.fail({
    method: "sendPhoto",
    skip: 1,
    action: { kind: "refuse", status: 400, description: "Bad Request: PHOTO_INVALID_DIMENSIONS" },
  });
  telegram.people.says("pictures", { dm: true });
  const sent = () => [...telegram.world.dmWith(telegram.userId).messages.values()].slice(1);
  await until(() => sent().length === 3, "three messages");
  expect(sent()).toMatchObject([
    { caption: expect.stringContaining("three"), photo: expect.anything() },
    { document: { file_name: "p2.png" } },
    { photo: expect.anything() },
  ]);
  expect(sent()[1]).not.toHaveProperty("text", expect.anything());
});

it("where the bot may not read the history of a channel, it answers all the same", async () => {
  const { discord } = stack;
  const channel = discord.world.channels.get(discord.threadId);
  Object.assign(channel ?? {}, { noHistory: true });
  for (const text of ["echo one", "echo two"]) discord.people.says(text, { channelId: discord.threadId });
  const answers = () =>
    [...(channel?.messages.values() ?? [])].filter(({ author }) => author.id === discord.world.bot.id);
  await until(() => answers().length === 2, "both answers");
  expect(answers().map(({ content }) => content)).toEqual([
    expect.stringContaining("one"),
    expect.stringContaining("two"),
  ]);
});

it("a limit that Telegram sets for connecting is kept over a restart, and ends when an operator lifts it", async () => {
  const { gateway, telegram } = stack;
  const asked = () => telegram.callsOf("getMe").length;
  const reason = async () => (await readiness(gateway.url).catch(() => undefined))?.platforms.telegram?.reason ?? "";
  const paused = () => until(async () => (await reason()).includes("retry after 1200"), "the pause");
  await gateway.stop();
  const before = asked();
  telegram.fail({ method: "getMe", action: { kind: "rate-limit", retryAfterS: 1200 } });
  await gateway.start();
  await paused();
  await gateway.stop();
  await gateway.start();
  await paused();
  expect(asked()).toBe(before + 1);
  expect((await invoke(gateway.url, "/pauses")).text).toContain("retry after 1200");
  expect((await invoke(gateway.url, "/pauses lift telegram")).text).toContain("1 pause lifted");
  await allOnline(gateway, 90_000, ["telegram"]);
});

it("one refused token on each of Telegram's methods costs neither the connection nor a message", async () => {
  const { telegram, gateway } = stack;
  const action = { kind: "refuse", status: 401, description: "Unauthorized" } as const;
  const answers = () => [...telegram.world.dmWith(telegram.userId).messages.values()].map(({ text }) => text ?? "");
  telegram.fail({ method: "sendMessage", action });
  telegram.people.says("echo after a refused send", { dm: true });
  await until(() => telegram.callsOf("sendMessage").some(({ status }) => status === 401), "the refusal");
  const pauses = await invoke(gateway.url, "/pauses");
  expect(pauses.text).not.toMatch(/telegram/i);
  await until(() => answers().some((text) => text.startsWith("after a refused send")), "the answer");
  telegram.fail({ method: "getUpdates", action });
  telegram.people.says("echo while the poll is refused", { dm: true });
  await until(() => answers().some((text) => text.startsWith("while the poll is refused")), "the first answer");
  await until(() => telegram.callsOf("getUpdates").some(({ status }) => status === 401), "the refused poll");
  telegram.people.says("echo after a refused poll", { dm: true });
  await until(() => answers().some((text) => text.startsWith("after a refused poll")), "the second answer");
});

/** What the bot posted in a new group of Telegram in answer to this. */
async function answerTo(text: string, prepare: (chat: FakeChat) => void): Promise<FakeMessage[]> {
  const { world, people } = stack.telegram;
  const chat = world.chats.get(stack.telegram.chatId);
  if (!chat) throw new Error("no chat");
  prepare(chat);
  const before = chat.messages.size;
  people.says(text, { chatId: chat.id });
  const count = text === "pictures" ? 3 : 1;
  const answers = () => [...chat.messages.values()].slice(before + 1);
  await until(() => answers().length === count, `the answer to ${text}`);
  delete chat.noRightsTo;
  return answers();
}

it("where Telegram allows no photos they go as documents; where it allows no files, the words and a note go", async () => {
  const documents = await answerTo("pictures", (chat) => {
    chat.noRightsTo = ["photo"];
  });
  expect(documents.map(({ document }) => document)).toMatchObject([1, 2, 3].map((n) => ({ file_name: `p${n}.png` })));
  expect(documents[0]?.caption).toContain("three");
  const notes = await answerTo("pictures", (chat) => {
    chat.noRightsTo = ["photo", "document"];
  });
  expect(notes.map(({ text }) => text)).toEqual([
    expect.stringMatching(/^three[\s\S]*\n\[file: p1\.png could not be attached\]$/),
    "[file: p2.png could not be attached]",
    "[file: p3.png could not be attached]",
  ]);
});

it("a link that Telegram refuses as a button stands in the text, and the other buttons stay", async () => {
  const [first] = await answerTo("links", () => {});
  expect(first?.text).toContain("Here: http://localhost:8787/x");
  expect(buttonsOf(first as FakeMessage).map(({ text }) => text)).toEqual(["There", "Say"]);
  const refuse = (description: string, times: number) =>
    stack.telegram.fail({ method: "sendMessage", times, action: { kind: "refuse", status: 400, description } });
  const [second] = await answerTo("links", () => refuse("Bad Request: BUTTON_URL_INVALID", 1));
  expect(second?.text).toMatch(
    /^some links[\s\S]*\nHere: http:\/\/localhost:8787\/x\nThere: https:\/\/example\.org\/$/,
  );
  expect(buttonsOf(second as FakeMessage).map(({ text }) => text)).toEqual(["Say"]);
  const [third] = await answerTo("links", () => refuse("Bad Request: REPLY_MARKUP_TOO_LONG", 2));
  expect(third?.text).toMatch(/There: https:\/\/example\.org\/\n\[the buttons could not be attached\]$/);
  expect(third?.reply_markup).toBeUndefined();
});

it("an answer to a message that Telegram does not find goes without the reference", async () => {
  const [answer] = await answerTo("links", () =>
    stack.telegram.fail({
      method: "sendMessage",
      action: { kind: "refuse", status: 400, description: "Bad Request: message to be replied not found" },
    }),
  );
  expect(answer?.text).toContain("some links");
  expect(answer?.reply_to_message).toBeUndefined();
});
