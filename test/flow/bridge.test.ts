/** The bridge of examples/plugins between a Discord channel and a Telegram topic, through both real clients. */
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { ChannelType } from "../fakes/discord/world.js";
import type { FaultAction } from "../fakes/telegram/faults.js";
import { seenOnDiscord } from "../lib/markdown/discord-viewer.js";
import { until } from "../support/until.js";
import type { FlowPlatform, Place, Seen } from "./platform.js";
import { invoke, type Stack, startStack } from "./stack.js";

const BRIDGE = resolve(import.meta.dirname, "../../dist/examples/plugins/bridge.js");

let stack: Stack;
let discordRoom: Place;
let telegramTopic: Place;
/** Two channels of Discord, joined to each other. */
let discordPair: readonly [Place, Place];
/** A group of Telegram and a room of the web chat. */
let telegramGroup: Place;
const webRoom: Place = { chatId: "general" };
const NOTED = {
  id: "noted",
  on: "message_received",
  match: { when: 'payload.message.text.contains("to the desk") && payload.message.text.contains("__init__.py")' },
  run: { chat: { to: "web:web:second", text: "**Noted**: {{ event.message.text }}, `{{ event.message.text }}`" } },
};

beforeAll(async () => {
  stack = await startStack({
    config: { hooks: [NOTED], gateway: { retry_first: "20ms", inbox_attempts: 3, outbox_attempts: 4 } },
    plugins: ({ discord, telegram }) => {
      discordRoom = discord.places[0];
      telegramTopic = telegram.thread;
      const ends = [`discord::${discordRoom.chatId}`, `telegram::${telegramTopic.chatId}:${telegramTopic.threadId}`];
      discordPair = [discord.places[1], discord.thread];
      const pair = discordPair.map(({ chatId }) => `discord::${chatId}`);
      telegramGroup = telegram.places[1];
      const desk = [`telegram::${telegramGroup.chatId}`, `web::${webRoom.chatId}`];
      return [{ module: BRIDGE, critical: true, config: { pairs: [ends, pair, desk] } }];
    },
  });
});
afterAll(() => stack.stop());

const find = (platform: FlowPlatform, place: Place, part: string): Promise<Seen> =>
  until(
    async () => (await platform.seen(place)).find(({ text }) => text.includes(part)),
    `"${part}" in ${platform.name}`,
  );

it("carries words both ways with their author, answers the counterpart, and follows edits and deletions", async () => {
  const { discord, telegram } = stack.platforms;

  const asked = await discord.say(discordRoom, "guest", "who has the key?");
  const copy = await find(telegram, telegramTopic, "who has the key?");
  expect(copy.text).toMatch(/^grace in #general on discord: /);

  // A reply to the copy becomes a reply to the original.
  const answered = await telegram.say(telegramTopic, "guest", "it is with me", { replyToId: copy.id });
  const back = await find(discord, discordRoom, "it is with me");
  expect(back.text).toMatch(/Grace\*\* in .+ on telegram: /);
  const posted = stack.discord.world.channels.get(discordRoom.chatId)?.messages.get(back.id);
  expect(posted?.message_reference?.message_id).toBe(asked);

  // And a reply to that copy becomes a reply to what was written in Telegram.
  await discord.say(discordRoom, "guest", "thank you", { replyToId: back.id });
  const thanks = await find(telegram, telegramTopic, "thank you");
  const sent = stack.telegram.world.chats.get(Number(telegramTopic.chatId))?.messages.get(Number(thanks.id));
  expect(String(sent?.reply_to_message?.message_id)).toBe(answered);

  await discord.edit(discordRoom, "guest", asked, "who has the red key?");
  await until(
    async () => (await telegram.seen(telegramTopic)).find(({ id, text }) => id === copy.id && text.includes("red key")),
    "the edit of the copy on Telegram",
  );
  await telegram.edit(telegramTopic, "guest", answered, "it is with me, come");
  await until(
    async () => (await discord.seen(discordRoom)).find(({ id, text }) => id === back.id && text.includes("come")),
    "the edit of the copy on Discord",
  );
  await discord.remove?.(discordRoom, "guest", asked);
  await until(
    async () => !(await telegram.seen(telegramTopic)).some(({ id }) => id === copy.id),
    "the deletion of the copy",
  );
});

it("brings back what is written in the thread that was opened on a copy", async () => {
  const { discord, telegram } = stack.platforms;
  const asked = await telegram.say(telegramTopic, "guest", "is there tea?");
  const copy = await find(discord, discordRoom, "is there tea?");
  stack.discord.world.addChannel({
    id: copy.id,
    type: ChannelType.publicThread,
    parentId: discordRoom.chatId,
    name: "tea",
  });
  await discord.say({ chatId: copy.id }, "guest", "in the kitchen");
  const back = await find(telegram, telegramTopic, "in the kitchen");
  const sent = stack.telegram.world.chats.get(Number(telegramTopic.chatId))?.messages.get(Number(back.id));
  expect(String(sent?.reply_to_message?.message_id)).toBe(asked);
});

it("shows where the links of a stranger lead, and code as it was written", async () => {
  const { discord, telegram } = stack.platforms;
  const words = "[bank.com](https://evil.example/1), [your account](https://evil.example/2) and `a[0](b)`";
  const shown = "bank.com (https://evil.example/1), your account (https://evil.example/2) and ";
  // Telegram shows this as it was typed.
  await telegram.say(telegramTopic, "guest", words);
  expect(seenOnDiscord((await find(discord, discordRoom, "bank.com")).text).text).toContain(words);
  await discord.say(discordRoom, "guest", words);
  const copy = await find(telegram, telegramTopic, `${shown}a[0](b)`);
  const sent = stack.telegram.world.chats.get(Number(telegramTopic.chatId))?.messages.get(Number(copy.id));
  expect(sent?.entities?.map(({ type }) => type)).toEqual(["bold", "code"]);
});

const PLAIN =
  "5*3*2 = 30, see __init__.py, \\\\server\\share, C:\\*.txt and D:\\_x\\_y, `a`, ~b~ ||c|| [d](https://e.example/f_g_h)";

it("shows what is plain on Telegram letter by letter elsewhere, also after an edit; hooks see it as it was written", async () => {
  const { discord, telegram, web } = stack.platforms;
  const id = await telegram.say(telegramTopic, "guest", `ask ${PLAIN}`);
  const copy = await find(discord, discordRoom, "= 30");
  expect(seenOnDiscord(copy.text).text).toContain(`ask ${PLAIN}`);
  const lines = `say\n${PLAIN}\n- x\n24. Mai\n26. Mai\n    indented_a_b\n# y\n===`;
  await telegram.edit(telegramTopic, "guest", id, lines);
  const edited = await find(discord, discordRoom, "say");
  expect(edited.id).toBe(copy.id);
  for (const line of lines.split("\n")) expect(seenOnDiscord(edited.text).text).toContain(line.trim());
  expect(stack.noted().map(({ text }) => text)).toContainEqual(`ask ${PLAIN}`);

  // In the web chat, by the bridge and by a hook that quotes it in Markdown of its own; and back, where the page's text is Markdown.
  await telegram.say(telegramGroup, "guest", `to the desk: ${PLAIN}`);
  const onPage = await find(web, webRoom, `to the desk: ${PLAIN}`);
  await find(web, { chatId: "second" }, `Noted: to the desk: ${PLAIN}, to the desk: ${PLAIN}`);
  await web.say(webRoom, "guest", "*yes*, `5*3*2`", { replyToId: onPage.id });
  await find(telegram, telegramGroup, "yes, 5*3*2");
});

it("carries every word to the other platform: behind a fence, beyond the head of a table, in references, and numbers of lines", async () => {
  const { discord, telegram } = stack.platforms;
  await discord.say(discordRoom, "guest", "Run this:\n```npm install hookgate --save\nnpm start\n```\nthen tell me");
  expect((await find(telegram, telegramTopic, "then tell me")).text).toContain(
    "npm install hookgate --save\nnpm start",
  );
  await discord.say(discordRoom, "guest", "|a|b|\n|-|-|\n|c|[d](https://d.example)|third cell|\n\n24. Mai\n26. Mai");
  const { text } = await find(telegram, telegramTopic, "24. Mai");
  expect(text).toContain("d (https://d.example) | third cell");
  expect(text).toContain("26. Mai");
  await discord.say(discordRoom, "guest", 'the [manual][1] is\n\n[1]: https://m.example "old"');
  expect((await find(telegram, telegramTopic, "manual")).text).toContain('[1]: https://m.example "old"');
});

it("shows names in place of Discord's ids, also after an edit, and a poll with its answers; hooks see the ids", async () => {
  const { discord, telegram } = stack.platforms;
  const { world, people } = stack.discord;
  const ada = [...world.users.values()].find(({ globalName }) => globalName !== undefined);
  const words = (start: string) =>
    `${start} <@${ada?.id}> in <#${discordRoom.chatId}> <:party_cat:123456789012345678> <a:wave:123456789012345679> <#1>`;
  const shown = `@${ada?.globalName} in #general :party_cat: :wave: <#1>`;
  const id = await discord.say(discordRoom, "guest", words("ask"));
  const copy = await find(telegram, telegramTopic, `ask ${shown}`);
  await discord.edit(discordRoom, "guest", id, words("do ask"));
  expect((await find(telegram, telegramTopic, `do ask ${shown}`)).id).toBe(copy.id);
  const answers = ["Pizza", "Pasta"].map((text, n) => ({ answer_id: n, poll_media: { text, emoji: { name: "🍕" } } }));
  people.says("", { channelId: discordRoom.chatId, extra: { poll: { question: { text: "Lunch?" }, answers } } });
  const { text } = await find(telegram, telegramTopic, "Lunch?");
  expect(text).toMatch(/\[poll\] Lunch\?\n+• 🍕 Pizza\n• 🍕 Pasta/);
  expect(stack.noted().map(({ text }) => text)).toContainEqual(expect.stringContaining(words("ask")));
});

it("carries a file whose bytes only Telegram can give to Discord, bytes and all", async () => {
  const { discord, telegram } = stack.platforms;
  await telegram.say(telegramTopic, "guest", "the plan", { attachment: true });
  await find(discord, discordRoom, "the plan");
  const call = stack.discord.calls.find(
    ({ body, method }) => method === "POST" && JSON.stringify(body)?.includes("the plan"),
  );
  expect(call?.files).toEqual(["note.txt"]);
});

const upload = (part: string) =>
  until(
    () => stack.discord.calls.find(({ body, method }) => method === "POST" && JSON.stringify(body)?.includes(part)),
    `"${part}" on Discord`,
  );

const refuse = (description: string, status = 400): FaultAction => ({ kind: "refuse", status, description });

it.each<[string, FaultAction]>([
  ["a 502 page", { kind: "proxy-error", status: 502 }],
  ["a dropped connection", { kind: "drop-before" }],
  ["a refused token", refuse("Unauthorized", 401)],
  ["a file that is not available yet", refuse("Bad Request: wrong file_id or the file is temporarily unavailable")],
])("asks Telegram again for a file after one answer of %s", async (name, action) => {
  stack.telegram.fail({ method: "getFile", action });
  await stack.platforms.telegram.say(telegramTopic, "guest", `after ${name}`, { attachment: true });
  expect((await upload(`after ${name}`)).files).toEqual(["note.txt"]);
});

it("waits as long as Telegram asks before it asks for the file again", async () => {
  stack.telegram.fail({ method: "getFile", action: { kind: "rate-limit", retryAfterS: 1 } });
  const before = stack.telegram.callsOf("getFile").length;
  await stack.platforms.telegram.say(telegramTopic, "guest", "after a flood", { attachment: true });
  expect((await upload("after a flood")).files).toEqual(["note.txt"]);
  const [first, second] = stack.telegram.callsOf("getFile").slice(before);
  // Two clocks: a timer may fire a moment before the wall clock agrees.
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(900);
});

it.each<[string, number, FaultAction, string]>([
  ["is too big", 1, refuse("Bad Request: file is too big"), "larger than 20 MB]"],
  [
    "never becomes available",
    3,
    refuse("Bad Request: wrong file_id or the file is temporarily unavailable"),
    "Telegram does not give the file",
  ],
])("names a file that %s in the text, after %i question(s)", async (name, times, action, why) => {
  stack.telegram.fail({ method: "getFile", times, action });
  const before = stack.telegram.callsOf("getFile").length;
  await stack.platforms.telegram.say(telegramTopic, "guest", `a file that ${name}`, { attachment: true });
  const { files, body } = await upload(`a file that ${name}`);
  expect(files).toEqual([]);
  expect(JSON.stringify(body)).toContain(`[file: note.txt was not passed on: ${why}`);
  expect(stack.telegram.callsOf("getFile")).toHaveLength(before + times);
});

/** As a message that waited longer than the links in it are good. */
const sayWithExpiredLink = (text: string) => sayWithLink(text, "1");

const sayWithLink = (text: string, ex: string, { chatId } = discordRoom) => {
  const { apiUrl, people, world } = stack.discord;
  const url = `${apiUrl}/cdn/report.txt?ex=${ex}`;
  const file = { id: world.snowflake(), filename: "report.txt", size: 10, url, content_type: "text/plain" };
  people.says(text, { channelId: chatId, attachments: [file] });
};

it("carries a file of Discord whose link has expired, by a fresh link", async () => {
  sayWithExpiredLink("the report");
  const { id } = await find(stack.platforms.telegram, telegramTopic, "the report");
  const sent = stack.telegram.world.chats.get(Number(telegramTopic.chatId))?.messages.get(Number(id));
  expect(sent).toMatchObject({ document: { file_name: "report.txt" } });
  expect(stack.discord.calls.filter(({ path }) => path === "/attachments/refresh-urls")).toHaveLength(1);
});

it.each([
  [
    "Discord gives no other link",
    () => stack.discord.fail({ path: "refresh-urls", action: { kind: "status", status: 403 } }),
  ],
  ["its fresh link leads nowhere, either", () => Object.assign(stack.discord.rest, { isCdnEmpty: true })],
])("names a file whose link has expired when %s, and shows no dead link", async (name, fail) => {
  fail();
  onTestFinished(() => void Object.assign(stack.discord.rest, { isCdnEmpty: false }));
  sayWithExpiredLink(name);
  const { text } = await find(stack.platforms.telegram, telegramTopic, name);
  expect(text).toContain("[file: report.txt could not be fetched: its link has expired, or it was deleted]");
  expect(text).not.toContain("ex=");
});

const limited = (headers = {}) => ({ kind: "status", status: 429, headers }) as const;
const callsTo = (path: string) => stack.discord.calls.filter((call) => call.path.startsWith(path));

it.each([
  ["Telegram", () => discordRoom, () => telegramTopic, "telegram"],
  ["Discord", () => discordPair[0], () => discordPair[1], "discord"],
] as const)(
  "carries a file to %s whose server answers 429 twice, after the pause that it asks for",
  async (name, from, to, platform) => {
    const before = callsTo("/cdn/").length;
    const words = `busy on the way to ${name}`;
    stack.discord.fail({ path: "/cdn/", action: limited({ "retry-after": "1" }) });
    stack.discord.fail({ path: "/cdn/", action: limited() });
    sayWithLink(words, "fresh", from());
    const { id } = await find(stack.platforms[platform], to(), words);
    const sent =
      platform === "telegram"
        ? stack.telegram.world.chats.get(Number(to().chatId))?.messages.get(Number(id))
        : stack.discord.world.channels.get(to().chatId)?.messages.get(id);
    expect(JSON.stringify(sent)).toMatch(/"file_?name":"report\.txt"/);
    const asked = callsTo("/cdn/").slice(before);
    expect(asked.map(({ status }) => status)).toEqual([429, 429, 200]);
    // Two clocks: a timer may fire a moment before the wall clock agrees.
    expect((asked[1]?.at ?? 0) - (asked[0]?.at ?? 0)).toBeGreaterThan(900);
    expect((await invoke(stack.gateway.url, "/pauses")).text).toContain("Nothing is paused");
  },
);

it.each([
  ["a busy server, to Telegram", 429, () => discordRoom, () => telegramTopic, "telegram"],
  ["a broken server, to Telegram", 503, () => discordRoom, () => telegramTopic, "telegram"],
  ["a busy server, to Discord", 429, () => discordPair[0], () => discordPair[1], "discord"],
] as const)(
  "names a file that cannot be had from %s, at the last attempt",
  async (name, status, from, to, platform) => {
    const before = callsTo("/cdn/").length;
    stack.discord.fail({ path: "/cdn/", times: 4, action: { kind: "status", status } });
    sayWithLink(name, "fresh", from());
    const { text } = await find(stack.platforms[platform], to(), name);
    expect(text).toContain(`[file: report.txt could not be fetched: its server answered HTTP ${status}]`);
    expect(callsTo("/cdn/").slice(before)).toHaveLength(4);
  },
);

it.each([
  ["limits them", limited({ "retry-after": "1" })],
  ["is in trouble", { kind: "status", status: 502 } as const],
])("asks again for a fresh link when Discord %s", async (name, action) => {
  stack.discord.fail({ path: "refresh-urls", action });
  sayWithExpiredLink(name);
  const { id, text } = await find(stack.platforms.telegram, telegramTopic, name);
  expect(text).not.toContain("could not be fetched");
  const sent = stack.telegram.world.chats.get(Number(telegramTopic.chatId))?.messages.get(Number(id));
  expect(sent).toMatchObject({ document: { file_name: "report.txt" } });
});

it.each([
  ["and it is not there: it is not sent either", "ID", "false", 0, "is not sent: its author deleted the message"],
  ["and none is there: they are not sent either", "all", "false", 0, "1 message is not sent: `/outbox list cancelled`"],
  ["and it is there: that it has to be deleted by hand is on record", "ID", "true", 1, "counts as sent"],
] as const)(
  "a copy in doubt whose original is deleted waits for a person, %s",
  async (_, which, confirmed, copies, said) => {
    const { discord, telegram } = stack.platforms;
    const words = `the secret, ${which} confirmed ${confirmed}`;
    const chatId = Number(telegramTopic.chatId);
    const isProcessed = copies > 0;
    stack.telegram.fail({ method: "sendMessage", chatId, action: { kind: "proxy-error", status: 502, isProcessed } });
    const original = await discord.say(discordRoom, "guest", words);
    const lettersOf = async (list: string) =>
      ((await invoke(stack.gateway.url, `/outbox list ${list}`)).data as { letters: { id: string; reason: string }[] })
        .letters;
    const inDoubt = await until(
      async () => (await lettersOf("held")).find(({ reason }) => reason.includes("may or may not have arrived")),
      "the copy in doubt",
    );
    await discord.remove?.(discordRoom, "guest", original);
    const deletion = await until(
      async () => (await lettersOf("held")).find(({ reason }) => reason === `what it changes is held: ${inDoubt.id}`),
      "the deletion, which waits with it",
    );
    expect((await lettersOf("held")).map(({ id }) => id)).toContain(inDoubt.id);
    const { text } = await invoke(
      stack.gateway.url,
      `/outbox release ${which.replace("ID", inDoubt.id)} confirmed=${confirmed}`,
    );
    expect(text).toContain(said);
    expect(text).not.toContain("on the way again");
    const end = async () => (await invoke(stack.gateway.url, `/outbox show ${deletion.id}`)).text;
    await until(
      async () => (await end()).includes(copies > 0 ? "delete it in the chat by hand" : "there was nothing to delete"),
      "the end of the deletion",
    );
    expect((await telegram.seen(telegramTopic)).filter((seen) => seen.text.includes(words))).toHaveLength(copies);
    if (copies === 0) return;
    // It can never be made, so it is not tried again.
    const ask = (line: string) => invoke(stack.gateway.url, line);
    const shown = await ask(`/outbox show ${deletion.id}`);
    expect(JSON.stringify(shown)).not.toMatch(/outbox (retry|release)/);
    for (const verb of ["retry", "release"])
      expect((await ask(`/outbox ${verb} ${deletion.id}`)).text).toContain("cannot be tried again");
    const retried = await ask("/outbox retry all");
    expect(retried.text).toContain(`1 message left out: it cannot be tried again (\`${deletion.id}\`).`);
    expect(retried.data).toMatchObject({ retried: [] });
    const why = (await ask(`/hooks why message=${deletion.id}`)).text;
    expect(why.match(/delete it in the chat by hand/g)).toHaveLength(1);
    expect(why).toContain(`\`/outbox purge ${deletion.id}\` then deletes this from the outbox`);
  },
);

it("sets off no echo: every message has one copy, and other places none", async () => {
  const { discord, telegram } = stack.platforms;
  await Promise.all([
    discord.say(discordRoom, "guest", "from this side"),
    telegram.say(telegramTopic, "guest", "from that side"),
    telegram.say(telegram.places[1], "guest", "not joined"),
  ]);
  await find(telegram, telegramTopic, "from this side");
  await find(discord, discordRoom, "from that side");
  const count = async (platform: FlowPlatform, place: Place, part: string) =>
    (await platform.seen(place)).filter(({ text }) => text.includes(part)).length;
  expect(await count(telegram, telegramTopic, "from this side")).toBe(1);
  expect(await count(discord, discordRoom, "from that side")).toBe(1);
  expect(await count(discord, discordRoom, "from this side")).toBe(0);
  expect(await count(telegram, telegramTopic, "from that side")).toBe(0);
  expect(await count(discord, discordRoom, "not joined")).toBe(0);
});
