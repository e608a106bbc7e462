/** Who calls the gateway where the copies are, and gives it nothing for a customer, is notified each time; no customer gets anything. */
import { describe, expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import type { FlowPlatform } from "./platform.js";
import { invoke, type Stack, startStack } from "./stack.js";

const SLA = { policies: [{ id: "first", for: "conversation", measure: "first_response", target: "8h" }] };
const EMPTY =
  "Your message was not sent to anyone: it has no text and no file that Hookgate can read. To answer a customer, reply to the copy of the customer's message.";
const NO_COPY =
  "Your message was not sent to anyone. To answer a customer, reply to the copy of the customer's message.";

describe.each(["discord", "telegram", "web"] as const)("where the copies are on %s", (name) => {
  const chatOf = ({ discord, telegram }: Pick<Stack, "discord" | "telegram">) =>
    ({ discord: discord.channelId, telegram: String(telegram.chatId), web: "general" })[name];

  async function start() {
    const stack = await startStack({
      withFlow: false,
      config: (around) => ({ gateway: { default_route: { forward: `${name}::${chatOf(around)}` } }, sla: SLA }),
    });
    afterTest(() => stack.stop());
    const { gateway, platforms, telegram } = stack;
    const desk: FlowPlatform = platforms[name];
    const place = { chatId: chatOf(stack) };
    const customers: FlowPlatform = platforms[name === "telegram" ? "discord" : "telegram"];
    const mentionOn = (platform: FlowPlatform) =>
      ({ discord: `<@${platform.botId()}>`, telegram: `@${telegram.world.bot.username}`, web: "@Hookgate" })[
        platform.name
      ];
    const posted = async (part: string) => (await desk.seen(place)).filter(({ text }) => text.includes(part));
    const isWaiting = async () => (await invoke(gateway.url, "/sla list")).text.includes(`on ${customers.name}`);
    await customers.say(customers.places[1], "guest", "Where is my invoice?");
    const copy = await until(async () => (await posted("Where is my invoice?"))[0], "the copy");
    await until(isWaiting, "the clock");
    const reached = async (part: string) =>
      (await customers.seen(customers.places[1])).filter(({ text }) => text.includes(part));
    return { desk, place, customers, mentionOn, posted, isWaiting, copy, reached };
  }

  it("a reply to a copy with nothing but a mention reaches no customer and ends no clock", async () => {
    const { desk, place, customers, mentionOn, posted, isWaiting, copy, reached } = await start();
    for (const who of ["owner", "stranger", "owner"] as const)
      await desk.say(place, who, mentionOn(desk), { replyToId: copy.id });
    await until(async () => (await posted(EMPTY)).length === 3, "a note for each reply");
    expect(await isWaiting()).toBe(true);
    const answer = await desk.say(place, "owner", "In the mail", { replyToId: copy.id });
    await until(async () => (await reached("In the mail"))[0], "the answer");
    expect(await reached("")).toHaveLength(1);
    await desk.edit(place, "owner", answer, mentionOn(desk));
    await until(async () => (await posted("Your correction was not passed on: it has no text"))[0], "the note");
    expect((await reached("")).map(({ text }) => text.includes("In the mail"))).toEqual([true]);
    await desk.edit(place, "owner", answer, "In the mail today");
    await until(async () => (await reached("In the mail today"))[0], "the correction");
    // What calls for people without a word is shown to them as that.
    await customers.say(customers.places[1], "guest", mentionOn(customers));
    const [call] = await until(async () => {
      const found = await posted("mentioned the bot");
      return found.length > 0 && found;
    }, "the copy of the call");
    expect(call?.text).toMatch(/^\W*Grace\W* in .*: \(mentioned the bot without a text\)$/i);
  });

  it("a mention in a reply to a colleague is answered each time, openly, and sent to no one", async () => {
    const { desk, place, mentionOn, posted, copy, reached } = await start();
    const answer = await desk.say(place, "owner", "At ten", { replyToId: copy.id });
    await until(async () => (await reached("At ten"))[0], "the answer");
    for (const who of ["stranger", "owner", "stranger", "owner"] as const)
      await desk.say(place, who, `${mentionOn(desk)} tell them ten thirty`, { replyToId: answer });
    await until(async () => (await posted(NO_COPY)).length === 2, "a note for each of the colleague's");
    // What its author replies to an own answer is more of it.
    await until(async () => (await reached("ten thirty")).length === 2, "the author's own replies");
    expect((await desk.seen(place)).filter(({ text }) => text.includes("automatic account"))).toEqual([]);
    if (name !== "web")
      for (const who of ["stranger", "owner"] as const) expect(await desk.seenPrivately(who)).toEqual([]);
  });
});
