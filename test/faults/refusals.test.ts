/** What platforms refuse, or answer with errors, on the whole product: what is to be seen all the same. */
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { invoke, type Stack, startStack } from "../flow/stack.js";
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
  expect(sent()[1]).not.toHaveProperty("text");
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
