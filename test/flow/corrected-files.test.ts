/** Files in copies, when their message is corrected on Discord: they stay, go or are exchanged, and none is left behind. */
import { describe, expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke, type Stack, startStack } from "./stack.js";

const chatOf = (name: "web" | "discord" | "telegram", { discord, telegram }: Pick<Stack, "discord" | "telegram">) =>
  ({ web: "general", discord: discord.channelId, telegram: String(telegram.chatId) })[name];
const fileOf = ({ apiUrl, world }: Stack["discord"], size: number, content_type = "application/octet-stream") => ({
  id: world.snowflake(),
  filename: "image.png",
  size,
  url: `${apiUrl}/cdn/image.png?ex=fresh&size=${size}`,
  content_type,
});

it("two files of one name are two files, also when the words are corrected while the copy waits", async () => {
  const stack = await startStack({
    withFlow: false,
    config: (around) => ({ gateway: { default_route: { forward: `telegram::${chatOf("telegram", around)}` } } }),
  });
  afterTest(() => stack.stop());
  const { discord, telegram } = stack;
  telegram.fail({ method: "sendDocument", action: { kind: "rate-limit", retryAfterS: 3 } });
  const attachments = [fileOf(discord, 100), fileOf(discord, 200)];
  const message = discord.people.says("two pictures", { dm: true, attachments });
  const sent = () =>
    telegram.callsOf("sendDocument").map(({ payload, files }) => [payload.caption, files[0]?.sizeBytes]);
  await until(() => sent().length === 1, "the first attempt");
  discord.people.edits(message.id, "two pictures, corrected", { channelId: message.channel_id });
  await until(() => sent().length === 3, "both files");
  expect(sent().slice(1)).toEqual([
    [expect.stringContaining("two pictures, corrected"), 102],
    [undefined, 202],
  ]);
});

/** A desk on this platform, where the copies are. */
async function start(desk: "web" | "discord" | "telegram") {
  const stack = await startStack({
    withFlow: false,
    config: (around) => ({ gateway: { default_route: { forward: `${desk}::${chatOf(desk, around)}` } } }),
  });
  afterTest(() => stack.stop());
  const { discord, telegram, gateway } = stack;
  /** How many files each message has that says this. */
  const filesOf = {
    web: async () => {
      const answer = await fetch(`${gateway.url}/api/rooms/general/messages`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      const { messages } = (await answer.json()) as { messages: { text: string; attachments?: object[] }[] };
      return messages.map(({ text, attachments }) => [text, attachments?.length ?? 0] as const);
    },
    discord: async () =>
      [...(discord.world.channels.get(discord.channelId)?.messages.values() ?? [])].map(
        ({ content, attachments }) => [content, attachments.length] as const,
      ),
    telegram: async () =>
      [...(telegram.world.chats.get(telegram.chatId)?.messages.values() ?? [])].map(
        ({ text, caption, document, photo }) => [text ?? caption ?? "", document || photo ? 1 : 0] as const,
      ),
  }[desk];
  const shown = (part: string, files: number) =>
    until(
      async () => (await filesOf()).find(([text, count]) => text.includes(part) && count === files)?.[0],
      `"${part}" with ${files} files`,
    );
  const say = (text: string, ...attachments: object[]) =>
    discord.people.says(text, { dm: true, attachments: attachments as Record<string, unknown>[] });
  const edit = ({ id, channel_id }: { id: string; channel_id: string }, text: string, attachments?: object[]) =>
    discord.people.edits(id, text, {
      channelId: channel_id,
      attachments: attachments as Record<string, unknown>[] | undefined,
    });
  return { stack, filesOf, shown, say, edit };
}

describe.each(["web", "discord", "telegram"] as const)("a corrected file from discord, with its copy on %s", (desk) => {
  it("stays without a remark when its link is gone by then", async () => {
    const { stack, shown, say, edit } = await start(desk);
    const message = say("the picture", fileOf(stack.discord, 100));
    await shown("the picture", 1);
    Object.assign(stack.discord.rest, { isCdnEmpty: true });
    edit(message, "the corrected picture");
    expect(await shown("the corrected picture", 1)).not.toContain("[");
  });

  it("goes when it is taken out of the message", async () => {
    const { stack, filesOf, shown, say, edit } = await start(desk);
    const message = say("the wrong picture", fileOf(stack.discord, 100));
    await shown("the wrong picture", 1);
    edit(message, "no picture", []);
    await shown("no picture", 0);
    expect((await filesOf()).filter(([text]) => /picture/.test(text))).toHaveLength(1);
    edit(message, "no picture at all", []);
    await shown("no picture at all", 0);
    expect((await filesOf()).filter(([text]) => /picture/.test(text))).toHaveLength(1);
  });
});

it.each(["discord", "telegram"] as const)(
  "a corrected file from discord, with its copy on %s, is named when it would have to be fetched again and is gone, and its author learns that",
  async (desk) => {
    const { stack, shown, say, edit } = await start(desk);
    const left = fileOf(stack.discord, 200);
    const message = say("two pictures", fileOf(stack.discord, 100), left);
    await shown("two pictures", desk === "telegram" ? 1 : 2);
    Object.assign(stack.discord.rest, { isCdnEmpty: true });
    edit(message, "one picture", [left]);
    const text = await shown("one picture", desk === "telegram" ? 1 : 0);
    expect(text).toContain("[file: image.png could not be fetched: its link has expired, or it was deleted]");
    await until(
      async () =>
        (await stack.platforms.discord.seenPrivately("owner")).find(({ text: note }) => note.includes("not passed on")),
      "the note",
    );
  },
);

describe("a corrected file from discord, with its copy on telegram", () => {
  it.each(["editMessageText", "deleteMessage"])(
    "goes when it is taken out of the message, also when the answer to %s is lost",
    async (method) => {
      const { stack, filesOf, shown, say, edit } = await start("telegram");
      const message = say("the wrong picture", fileOf(stack.discord, 100));
      await shown("the wrong picture", 1);
      stack.telegram.fail({ method, action: { kind: "drop-after" } });
      edit(message, "no picture", []);
      await shown("no picture", 0);
      expect((await filesOf()).filter(([text]) => /picture/.test(text))).toHaveLength(1);
    },
  );

  it("is said not to count where it cannot go", async () => {
    const { stack, shown, say, edit } = await start("telegram");
    const message = say("the wrong picture", fileOf(stack.discord, 100));
    await shown("the wrong picture", 1);
    const description = "Bad Request: message can't be deleted for everyone";
    stack.telegram.fail({ method: "deleteMessage", action: { kind: "refuse", status: 400, description } });
    edit(message, "no picture", []);
    expect(await shown("no picture", 1)).toContain("[this file was removed from the message]");
  });

  it.each(["image/png", "application/pdf"])(
    "is there once when no caption holds the words, and goes with its message (%s)",
    async (type) => {
      const { stack, filesOf, shown, say, edit } = await start("telegram");
      const files = async () => (await filesOf()).filter(([text, count]) => count > 0 || text.includes("story"));
      const message = say("the story", fileOf(stack.discord, 100, type));
      await shown("the story", 1);
      edit(message, `the story ${"goes on and on ".repeat(80)}`);
      await until(async () => (await files()).length === 2, "the words and the file");
      await shown("goes on", 0);
      await until(async () => (await files()).some(([, count]) => count === 1), "the file");
      expect((await files()).map(([text]) => text.slice(0, 24))).not.toContain("grace: the story");
      edit(message, "the story is short again");
      await shown("short again", 1);
      await until(async () => (await files()).length === 1, "one message");
      stack.discord.people.deletes(message.id, { channelId: message.channel_id });
      await until(async () => (await files()).length === 0, "nothing left");
      const path = async () => (await invoke(stack.gateway.url, `/hooks why ${message.id}`)).text;
      await until(async () => /delete .*sent/.test(await path()), "the deletion in the path of the message");
    },
  );
});
