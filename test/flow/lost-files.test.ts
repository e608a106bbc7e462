/** Files in copies. One that cannot be passed on: the reader sees why, its author is notified, and it answers no customer. Corrections on Telegram follow. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import type { Speaker } from "./platform.js";
import { invoke, type Stack, startStack } from "./stack.js";

const SLA = { policies: [{ id: "first", for: "conversation", measure: "first_response", target: "8h" }] };
const chatOf = (name: "web" | "discord" | "telegram", { discord, telegram }: Pick<Stack, "discord" | "telegram">) =>
  ({ web: "general", discord: discord.channelId, telegram: String(telegram.chatId) })[name];
const refuseFile = ({ telegram }: Stack) => {
  const action = { kind: "refuse", status: 400, description: "Bad Request: file is too big" } as const;
  telegram.fail({ method: "getFile", action });
  return true;
};
const tooLargeForDiscord = ({ discord }: Stack) => {
  const body = { code: 40005, message: "Request entity too large" };
  discord.fail({ isUpload: true, action: { kind: "status", status: 413, body } });
  return true;
};
const expired = ({ discord }: Stack) => `${discord.apiUrl}/cdn/note.txt?ex=1`;
const gone = ({ discord }: Stack) => `${discord.apiUrl}/cdn/note.txt?status=410`;
const forbidden = () => "http://10.1.2.3/note.txt";

describe.each([
  ["telegram", "discord", "larger than 20 MB", "a smaller file", refuseFile],
  ["telegram", "discord", "too large for Discord", "a smaller file", tooLargeForDiscord],
  ["discord", "telegram", "link has expired, or it was deleted", "send the file again", expired],
  ["discord", "telegram", "may not be fetched", "send the file again", forbidden],
  ["discord", "web", "link has expired, or it was deleted", "send the file again", expired],
  ["discord", "web", "may not be fetched", "send the file again", forbidden],
  ["discord", "telegram", "its server answered HTTP 410", "send the file again", gone],
  ["discord", "web", "its server answered HTTP 410", "send the file again", gone],
] as const)("a file from %s that cannot be passed on to %s (%s)", (name, farName, why, next, spoiled) => {
  it("is no answer to a customer, unlike words beside it, and its author learns that, with or without a role", async () => {
    const stack = await startStack({
      withFlow: false,
      config: (around) => ({ gateway: { default_route: { forward: `${name}::${chatOf(name, around)}` } }, sla: SLA }),
    });
    afterTest(() => stack.stop());
    if (name === "discord") Object.assign(stack.discord.rest, { isCdnEmpty: true });
    const desk = stack.platforms[name];
    const far = stack.platforms[farName];
    const [place, customers] = [{ chatId: chatOf(name, stack) }, far.places[1]];
    const ask = async (line: string) => (await invoke(stack.gateway.url, line)).text.replace(/[\\`*]/g, "");
    const clocks = async () => {
      const { data } = await invoke(stack.gateway.url, "/sla list");
      const { clocks: open } = data as { clocks: { entity: { id: string } }[] };
      return open.filter(({ entity: { id } }) => id.startsWith(farName) && id.includes(customers.chatId)).length;
    };
    const reply = (who: Speaker, text: string, replyToId: string) =>
      desk.say(place, who, text, { replyToId, attachment: spoiled(stack) });
    const question = async (text: string) => {
      await far.say(customers, "guest", text);
      return until(async () => (await desk.seen(place)).find((seen) => seen.text.includes(text)), "the copy");
    };
    const read = async (part: string, count: number) =>
      until(async () => {
        const found = (await far.seen(customers)).filter(({ text }) => text.includes(part));
        return found.length === count && found;
      }, `"${part}" at the customer's, ${count} times`);
    /** Privately, or where that is impossible in the channel. */
    const notes = async (count: number) =>
      until(async () => {
        const all = [await desk.seenPrivately("owner"), await desk.seenPrivately("stranger"), await desk.seen(place)];
        const found = all.flat().filter(({ text }) => /not passed on.*note\.txt/i.test(text));
        return found.length === count && found;
      }, `${count} notes`);

    const { id: copy } = await question("Please send me the manual");
    await until(async () => (await clocks()) === 1, "the clock");
    await reply("owner", "", copy);
    const [shown] = await read("note.txt", 1);
    expect(shown?.text).toContain(why);
    const [note] = await notes(1);
    expect(note?.text).toContain(why);
    expect(note?.text).toMatch(new RegExp(`Send a link to the file, or ${next}\\.$`));
    await reply("stranger", "", copy);
    await read("note.txt", 2);
    await notes(2);
    expect(await ask("/hooks why last")).toMatch(/forwarded to .* · not passed on: note\.txt \(/);

    await question("Is anybody there?");
    expect(await clocks()).toBe(1);
    await reply("owner", "It is on its way", copy);
    await read("It is on its way", 1);
    await until(async () => (await clocks()) === 0, "the end of the clock");
    await notes(3);
  });

  it("is known to the customer who sent it", async () => {
    const stack = await startStack({
      withFlow: false,
      config: (around) => ({ gateway: { default_route: { forward: `${farName}::${chatOf(farName, around)}` } } }),
    });
    afterTest(() => stack.stop());
    if (name === "discord") Object.assign(stack.discord.rest, { isCdnEmpty: true });
    const near = stack.platforms[name];
    const desk = { chatId: chatOf(farName, stack) };
    await near.say(near.places[1], "guest", "This is what I see", { attachment: spoiled(stack) });
    const copy = await until(
      async () => (await stack.platforms[farName].seen(desk)).find(({ text }) => text.includes("This is what I see")),
      "the copy",
    );
    expect(copy.text).toContain(why);
    const note = await until(async () => {
      const all = [...(await near.seenPrivately("guest")), ...(await near.seen(near.places[1], "guest"))];
      return all.find(({ text }) => /not passed on.*note\.txt/i.test(text));
    }, "the note");
    expect(note.text).toContain(next);
  });
});

describe("a file from discord", () => {
  it.each(["web", "discord"] as const)(
    "opens in the web chat when its link has expired (the desk is on %s)",
    async (desk) => {
      const stack = await startStack({
        withFlow: false,
        config: (around) => ({ gateway: { default_route: { forward: `${desk}::${chatOf(desk, around)}` } } }),
      });
      afterTest(() => stack.stop());
      const { web, discord } = stack.platforms;
      const at = { chatId: stack.discord.channelId };
      const sent = { attachment: expired(stack), replyToId: "" };
      if (desk === "discord") {
        await web.say(web.places[1], "guest", "Please send me the manual");
        const isCopy = ({ text }: { text: string }) => text.includes("Please send me the manual");
        sent.replyToId = (await until(async () => (await discord.seen(at)).find(isCopy), "the copy")).id;
      }
      await discord.say(desk === "discord" ? at : discord.places[1], "owner", "Here it is", sent);
      const room = desk === "discord" ? web.places[1] : { chatId: "general" };
      await until(
        async () => (await web.seen(room)).find(({ text }) => text.includes("Here it is")),
        "it in the web chat",
      );
      Object.assign(stack.discord.rest, { isCdnEmpty: true });
      const get = (path: string) =>
        fetch(new URL(path, stack.gateway.url), { headers: { authorization: `Bearer ${TOKEN}` }, redirect: "manual" });
      const { messages } = (await (await get(`/api/rooms/${room.chatId}/messages`)).json()) as {
        messages: { attachments?: { filename: string; url: string }[] }[];
      };
      const [file] = messages.flatMap(({ attachments = [] }) => attachments);
      expect(file?.filename).toBe("note.txt");
      const opened = await get(file?.url ?? "");
      expect([opened.status, await opened.text()]).toEqual([200, JSON.stringify("the file")]);
    },
  );

  it("is a link with the reason in the web chat when it is above the limit, and its author learns that", async () => {
    const stack = await startStack({
      withFlow: false,
      config: { gateway: { default_route: { forward: "web::general" } }, http: { max_upload_mb: 1 } },
    });
    afterTest(() => stack.stop());
    const { web, discord } = stack.platforms;
    const attachment = `${stack.discord.apiUrl}/cdn/note.txt?ex=fresh&size=1100000`;
    await discord.say(discord.places[1], "guest", "Here it is", { attachment });
    const copy = await until(
      async () => (await web.seen({ chatId: "general" })).find(({ text }) => text.includes("Here it is")),
      "it in the web chat",
    );
    expect(copy.text).toContain(`note.txt (larger than 1 MB): ${attachment}`);
    const note = await until(
      async () => (await discord.seenPrivately("guest")).find(({ text }) => text.includes("not passed on")),
      "the note",
    );
    expect(note.text).toMatch(/note\.txt \(larger than 1 MB\)\.\n.*Send a link to the file, or a smaller file\.$/);
  });

  it("is named in the web chat when the gateway cannot keep it, without a path", async () => {
    const stack = await startStack({
      withFlow: false,
      config: { gateway: { default_route: { forward: "web::general" }, outbox_attempts: 1 } },
    });
    afterTest(() => stack.stop());
    const { web, discord } = stack.platforms;
    writeFileSync(join(stack.gateway.folder, "data", "uploads"), "in the folder's place");
    await discord.say(discord.places[1], "guest", "Here it is", { attachment: expired(stack) });
    const copy = await until(
      async () => (await web.seen({ chatId: "general" })).find(({ text }) => text.includes("Here it is")),
      "it in the web chat",
    );
    expect(copy.text).toMatch(
      /\[file: note\.txt could not be fetched: the gateway cannot use its folder of files[^/]*\]$/,
    );
  });
});

it("a voice message of a customer reaches a desk on telegram as one, and so does the answer by voice", async () => {
  const stack = await startStack({
    withFlow: false,
    config: (around) => ({ gateway: { default_route: { forward: `telegram::${chatOf("telegram", around)}` } } }),
  });
  afterTest(() => stack.stop());
  const { chatId, people, userId, world } = stack.telegram;
  const customer = world.addUser({ firstName: "Grace" }).id;
  const voiceIn = (chat: number) =>
    until(
      () =>
        [...(world.chats.get(chat)?.messages.values() ?? [])].find(
          ({ from, voice }) => from?.id === world.bot.id && voice,
        ),
      `a voice message in ${chat}`,
    );
  people.says("", { dm: true, userId: customer, file: { kind: "voice" } });
  const copy = await voiceIn(chatId);
  expect(copy.caption).toBe("Grace:");
  people.says("", { chatId, userId, replyTo: copy.message_id, file: { kind: "voice" } });
  await voiceIn(customer);
});

describe.each(["web", "discord"] as const)("a corrected file from telegram, with its copy on %s", (desk) => {
  /** What is shown of the copy: its text, and the sizes of its files. */
  const start = async () => {
    const stack = await startStack({
      withFlow: false,
      config: (around) => ({ gateway: { default_route: { forward: `${desk}::${chatOf(desk, around)}` } } }),
    });
    afterTest(() => stack.stop());
    const { discord, telegram, gateway } = stack;
    const inWeb = async () => {
      const answer = await fetch(`${gateway.url}/api/rooms/general/messages`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      const { messages } = (await answer.json()) as {
        messages: { text: string; attachments?: { sizeBytes: number }[] }[];
      };
      return messages.map(({ text, attachments = [] }) => [text, attachments.map(({ sizeBytes }) => sizeBytes)]);
    };
    const onDiscord = async () =>
      [...(discord.world.channels.get(discord.channelId)?.messages.values() ?? [])].map(({ content, attachments }) => [
        content,
        attachments.map(({ size }) => size),
      ]);
    const shown = (part: string, ...sizes: number[]) =>
      until(
        async () =>
          (await (desk === "web" ? inWeb() : onDiscord())).find(
            ([text, of]) => String(text).includes(part) && String(of) === String(sizes),
          ),
        `"${part}" with files of ${sizes} bytes`,
      );
    const file = (kind: string, size: number) => ({ kind, name: `${kind}-${size}.bin`, content: "x".repeat(size) });
    return { stack, telegram, people: telegram.people, shown, file };
  };

  it("keeps it when the words are corrected, and is exchanged when the file is", async () => {
    const { telegram, people, shown, file } = await start();
    for (const kind of ["photo", "document"]) {
      const { message_id: id } = people.says(`a ${kind} wiht a typo`, { dm: true, file: file(kind, 7) });
      await shown(`a ${kind} wiht a typo`, 7);
      const where = { chatId: telegram.userId };
      const asked = telegram.callsOf("getFile").length;
      people.edits(id, `a ${kind} without a typo`, where);
      const [text] = await shown(`a ${kind} without a typo`, 7);
      expect(text).not.toContain("[");
      expect(telegram.callsOf("getFile")).toHaveLength(asked);
      people.edits(id, `another ${kind}`, { ...where, file: file(kind, 11) });
      await shown(`another ${kind}`, 11);
      people.edits(id, `a file instead of the ${kind}`, { ...where, file: file("document", 13) });
      await shown(`a file instead of the ${kind}`, 13);
    }
  });

  it("is named when the new one is too large, and its author learns that once", async () => {
    const { stack, telegram, people, shown, file } = await start();
    const { message_id: id } = people.says("the plan", { dm: true, file: file("document", 7) });
    await shown("the plan", 7);
    refuseFile(stack);
    const where = { chatId: telegram.userId };
    people.edits(id, "the large plan", { ...where, file: file("document", 11) });
    const [text] = await shown("the large plan");
    expect(text).toContain("[file: document-11.bin was not passed on: larger than 20 MB]");
    people.edits(id, "the very large plan", where);
    await shown("the very large plan");
    people.edits(id, "the small plan", { ...where, file: file("document", 13) });
    await shown("the small plan", 13);
    const notes = (await stack.platforms.telegram.seenPrivately("owner")).filter(({ text }) =>
      text.includes("not passed on"),
    );
    expect(notes.map(({ text }) => text)).toEqual([expect.stringContaining("document-11.bin (larger than 20 MB)")]);
  });
});
