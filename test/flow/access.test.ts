/** Who is listened to when the configuration says no more than where: the defaults, on the real clients. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    config: ({ discord, telegram }) => ({
      discord: { access: { guilds: [discord.world.guildId] } },
      telegram: { access: { chats: [String(telegram.chatId)] } },
    }),
  });
});
afterAll(() => stack.stop());

/** How hooks saw the message with these words, and whether one was offered it. */
async function seenAs(words: string): Promise<{ access: string; reason?: string; isOffered: boolean }> {
  const received = await until(
    () => stack.noted("message_received").find(({ payload }) => payload.message.text.includes(words)),
    `"${words}" being received`,
  );
  const { access, reason } = received.payload;
  const isOffered = () => stack.noted("inbound_claim").some(({ text }) => text?.includes(words));
  if (access === "allowed") await until(isOffered, `"${words}" being offered`);
  return { access, reason, isOffered: isOffered() };
}

describe("without a word in the configuration", () => {
  it("a person without a role who mentions the bot in a room is told once what it is: privately, or in the room where only that is possible", async () => {
    const { discord, telegram, platforms } = stack;
    const [place] = platforms.discord.places;
    const group = { chatId: String(telegram.chatId) };
    const introductions = (all: readonly { text: string }[]) => all.filter(({ text }) => text.startsWith("I am "));
    const privately = async () => introductions(await platforms.discord.seenPrivately("guest"));
    const openly = async () => introductions(await platforms.telegram.seen(group));
    for (const words of ["a guest whom nobody answers", "and a second time", "echo a guest at the end"]) {
      await platforms.discord.say(place, "guest", `<@${discord.world.bot.id}> ${words}`);
      await platforms.telegram.say(group, "guest", `@${telegram.world.bot.username} ${words}`);
    }
    for (const [platform, at] of [
      [platforms.discord, place],
      [platforms.telegram, group],
    ] as const)
      await until(
        async () => (await platform.seen(at)).some(({ text }) => text.includes("a guest at the end")),
        "the answer to the last message",
      );
    await until(async () => (await openly()).length > 0, "the introduction in the group");
    expect(await privately()).toEqual([expect.objectContaining({ text: expect.stringContaining("you have none") })]);
    expect(introductions(await platforms.discord.seen(place))).toEqual([]);
    expect(await openly()).toEqual([
      expect.objectContaining({ text: expect.stringContaining("/whoami in a direct message") }),
    ]);
    // On Telegram the private chat is empty so far: the button START is answered, and once.
    const grace = [...telegram.world.users.values()].find(({ first_name }) => first_name === "Grace")?.id as number;
    const atStart = async () => introductions(await platforms.telegram.seenPrivately("guest"));
    telegram.people.says("/start", { dm: true, userId: grace });
    await until(async () => (await atStart()).length > 0, "the answer to START");
    telegram.people.says("is anyone there", { dm: true, userId: grace });
    await seenAs("is anyone there");
    telegram.people.says("and now", { dm: true, userId: grace });
    await seenAs("and now");
    expect(await atStart()).toHaveLength(1);
    // The chat may have been emptied since.
    telegram.people.says("/start", { dm: true, userId: grace });
    await until(async () => (await atStart()).length === 2, "the answer to another START");
  });

  it("direct messages are for operators, on Discord and Telegram", async () => {
    const { discord, telegram } = stack;
    const mallory = [...discord.world.users.values()].find(({ username }) => username === "mallory")?.id as string;
    const grace = [...telegram.world.users.values()].find(({ first_name }) => first_name === "Grace")?.id as number;
    discord.people.says("echo a stranger to Discord", { dm: true, userId: mallory });
    telegram.people.says("echo a stranger to Telegram", { dm: true, userId: grace });
    discord.people.says("echo the owner to Discord", { dm: true, userId: discord.userId });
    telegram.people.says("echo the owner to Telegram", { dm: true, userId: telegram.userId });
    for (const platform of ["Discord", "Telegram"]) {
      expect(await seenAs(`the owner to ${platform}`)).toMatchObject({ access: "allowed" });
      expect(await seenAs(`a stranger to ${platform}`)).toMatchObject({ access: "denied", isOffered: false });
    }
  });

  it("a listed place is listened to when we are addressed, with the mention taken off", async () => {
    const { discord, telegram, platforms } = stack;
    await platforms.discord.say(platforms.discord.places[0], "guest", "echo among people");
    await platforms.telegram.say({ chatId: String(telegram.chatId) }, "guest", "echo among the group");
    await platforms.discord.say(platforms.discord.places[0], "guest", `<@${discord.world.bot.id}> echo to the bot`);
    await platforms.telegram.say(
      { chatId: String(telegram.chatId) },
      "guest",
      `@${telegram.world.bot.username} echo for the bot`,
    );
    for (const words of ["to the bot", "for the bot"]) {
      expect(await seenAs(words)).toMatchObject({ access: "allowed", isOffered: true });
      const claim = stack.noted("inbound_claim").find(({ text }) => text?.includes(words));
      expect(claim?.text).toBe(`echo ${words}`);
    }
    for (const words of ["among people", "among the group"])
      expect(await seenAs(words)).toMatchObject({ access: "denied", reason: "not addressed", isOffered: false });
  });

  it("an owner who mentions the bot in a room and meets silence is told so, privately and once", async () => {
    const { discord, platforms } = stack;
    const mention = `<@${discord.world.bot.id}>`;
    const [place] = platforms.discord.places;
    const told = async () =>
      (await platforms.discord.seenPrivately("owner")).filter(({ text }) =>
        text.includes("No hook answered your message"),
      );
    await platforms.discord.say(place, "owner", `${mention} an owner whom nobody answers`);
    await until(async () => (await told()).length > 0, "the note");
    await platforms.discord.say(place, "owner", `${mention} and once more`);
    await platforms.discord.say(place, "owner", `${mention} echo and this is all`);
    await until(
      async () => (await platforms.discord.seen(place)).some(({ text }) => text.includes("and this is all")),
      "an answer",
    );
    expect(await told()).toHaveLength(1);
    expect((await told())[0]?.text).toMatch(/`\/hooks why m\d+` shows why/);
    expect((await platforms.discord.seen(place)).filter(({ text }) => text.includes("No hook"))).toEqual([]);
  });

  it.each([
    [
      "owner",
      /The answer to your message was given up\.\*\*\n+> Missing Permissions[\s\S]*`\/hooks why m\d+` shows what happened/,
    ],
    ["guest", /^The answer to your message could not be posted\. The operators can see why\.$/],
  ] as const)(
    "the answer of a hook that may not be posted in the room is said to be missing to its %s",
    async (who, text) => {
      const { discord, platforms } = stack;
      const [place] = platforms.discord.places;
      const told = async () => (await platforms.discord.seenPrivately(who)).filter((one) => text.test(one.text));
      const body = { code: 50013, message: "Missing Permissions" };
      discord.fail({
        method: "POST",
        path: `^/channels/${place.chatId}/messages$`,
        action: { kind: "status", status: 403, body },
      });
      await platforms.discord.say(place, who, `<@${discord.world.bot.id}> echo where it may not be posted`);
      await until(async () => (await told()).length > 0, "the note");
      expect(await told()).toHaveLength(1);
    },
  );

  it("a place that is not listed is seen by hooks as denied, and not answered", async () => {
    const { telegram, platforms } = stack;
    await platforms.telegram.say(
      { chatId: String(telegram.groupId) },
      "owner",
      `@${telegram.world.bot.username} echo in an unlisted group`,
    );
    expect(await seenAs("unlisted group")).toMatchObject({ access: "denied", isOffered: false });
    // Its conversation has settled: what is said later elsewhere is answered, and nothing was said there.
    await platforms.telegram.say(
      { chatId: String(telegram.chatId) },
      "owner",
      `@${telegram.world.bot.username} echo in the listed one`,
    );
    await until(
      async () =>
        (await platforms.telegram.seen({ chatId: String(telegram.chatId) })).some(({ text }) =>
          text.includes("in the listed one"),
        ),
      "the answer",
    );
    expect(await platforms.telegram.seen({ chatId: String(telegram.groupId) })).toEqual([]);
  });
});
