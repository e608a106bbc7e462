/** Answers of the team to copies, where hooks claim messages by their words. */
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import type { FlowPlatform, Place } from "./platform.js";
import { invoke, type Stack, startStack } from "./stack.js";

const example = (name: string) => resolve(import.meta.dirname, `../../dist/examples/plugins/${name}.js`);

const claims = (id: string, word: string, result: object) => ({
  id,
  on: "inbound_claim",
  match: { when: `payload.message.text.contains("${word}")` },
  run: { shell: { command: ["echo", JSON.stringify({ decision: "claim", ...result })] } },
});

describe.each([
  ["discord", "telegram"],
  ["telegram", "discord"],
] as const)("with the copies on %s and the customers on %s", (name, farName) => {
  let stack: Stack;
  let team: FlowPlatform;
  let far: FlowPlatform;
  let desk: Place;
  let elsewhere: Place;
  let bridged: readonly [Place, Place];

  beforeAll(async () => {
    stack = await startStack({
      withFlow: false,
      plugins: (platforms) => {
        elsewhere = { chatId: "second" };
        bridged = [{ chatId: "general" }, platforms[farName].thread];
        const ends = [
          "web::general",
          `${farName}::${[bridged[1].chatId, bridged[1].threadId].filter(Boolean).join(":")}`,
        ];
        const rules = [
          { words: ["hello"], alone: true, reply: "Hello! A hook answered you." },
          { words: ["price"], reply: "Our price list" },
          { words: ["parcel"], route_to: "web::second" },
        ];
        return [
          { module: example("keyword-router"), critical: true, config: { rules } },
          { module: example("bridge"), critical: true, config: { pairs: [ends] } },
        ];
      },
      config: ({ discord, telegram }) => ({
        gateway: {
          default_route: { forward: `${name}::${name === "discord" ? discord.channelId : telegram.chatId}` },
        },
        hooks: [claims("grabber", "grab this", { reply: "Grabbed." })],
      }),
    });
    team = stack.platforms[name];
    far = stack.platforms[farName];
    desk = { chatId: name === "discord" ? stack.discord.channelId : String(stack.telegram.chatId) };
  });
  afterAll(() => stack.stop());

  const shown = (platform: FlowPlatform, place: Place, part: string) =>
    until(
      async () => (await platform.seen(place)).find(({ text }) => text.includes(part)),
      `"${part}" on ${platform.name}`,
    );
  const texts = async () => (await team.seen(desk)).map(({ text }) => text);
  const asked = async (text: string) => {
    await far.say(far.places[1], "guest", text);
    return (await shown(team, desk, text)).id;
  };
  /** Privately, or where that is impossible in the channel. */
  const notes = async (part = "Your reply was not posted") =>
    [await team.seenPrivately("owner"), await team.seenPrivately("stranger"), await team.seen(desk)]
      .flat()
      .map(({ text }) => text)
      .filter((text) => text.includes(part));
  const why = async (id: string) => (await invoke(stack.gateway.url, `/hooks why ${id}`)).text.replace(/[\\`*]/g, "");

  it("an answer reaches the customer with words of the rules of keyword-router in it, also in a thread on the copy", async () => {
    await far.say(far.places[1], "guest", "what is the price?");
    await shown(far, far.places[1], "Our price list");

    const copy = await asked("how do I pay?");
    const answers = ["Hello!", "The price is 5 euros", "Your parcel left us today"];
    for (const text of answers) await team.say(desk, "owner", text, { replyToId: copy });
    await team.say(desk, "stranger", "The parcel has a number", { replyToId: copy });
    for (const text of [...answers, "The parcel has a number"]) await shown(far, far.places[1], text);
    if (name === "discord") {
      stack.discord.world.addChannel({ id: copy, type: 11, parentId: desk.chatId, name: "paying" });
      await team.say({ chatId: copy }, "owner", "The price in the thread");
      await shown(far, far.places[1], "The price in the thread");
    }
    expect((await texts()).filter((text) => /A hook answered|price list/.test(text))).toEqual([]);
    expect(await stack.platforms.web.seen(elsewhere)).toEqual([]);
    expect(await notes()).toEqual([]);
  });

  it("an answer that a hook claims is no answer to the customer, and its author gets one note, with or without a role", async () => {
    const copy = await asked("are you there?");
    const answer = await team.say(desk, "owner", "grab this please", { replyToId: copy });
    await shown(team, desk, "Grabbed.");
    const [first] = await until(async () => {
      const found = await notes();
      return found.length > 0 && found;
    }, "the note");
    expect(first).toMatch(/^\W*Your reply was not posted in .+: the hook \W*grabber\W* claimed it\./);
    const [, row] = /\/hooks why (m\d+)/.exec(first ?? "") ?? [];
    const path = await why(`${row}`);
    expect(path).toContain("claimed by grabber");
    expect(path).toMatch(/\(a note\)|\(a note, in the room/);

    const other = await team.say(desk, "stranger", "grab this, too", { replyToId: copy });
    await until(async () => (await notes()).length === 2, "the second note");
    expect((await notes()).find((text) => text !== first)).toMatch(
      /: a hook claimed it\.\W+The operators can see why\. Ask one of them before you write again\.$/,
    );
    await team.say(desk, "owner", "the last answer", { replyToId: copy });
    await shown(far, far.places[1], "the last answer");
    await team.edit(desk, "owner", answer, "in other words");
    await team.edit(desk, "stranger", other, "in other words, too");
    const corrected = await until(async () => {
      const found = await notes("The correction of your message was not passed on");
      return found.length === 2 && found;
    }, "a note for each correction");
    expect(corrected.find((text) => text.includes("/hooks why"))).toMatch(
      new RegExp(
        `: the hook \\W*grabber\\W* claimed the message\\.\\W+/hooks why ${row}\\W+shows what happened\\. To answer, write another message in other words\\.$`,
      ),
    );
    expect(corrected.find((text) => !text.includes("/hooks why"))).toMatch(
      /: a hook claimed the message\.\W+The operators can see why\. Ask one of them before you write again\.$/,
    );
    const whole = await why(answer);
    const [, edit] = /edited \((m\d+)\)/.exec(whole) ?? [];
    for (const path of [await why(`${row}`), await why(`${edit}`)]) {
      expect(path).toMatch(
        new RegExp(
          `${edit}\\b[\\s\\S]*d_${edit}u \\(a notice that the correction was not passed on\\) (sent|cancelled)`,
        ),
      );
      expect(path).not.toContain("nothing was posted in the room");
    }
    expect((await far.seen(far.places[1])).filter(({ text }) => /grab this|other words/.test(text))).toEqual([]);
    expect(await notes()).toHaveLength(2);
  });

  it("what its author replies to a claimed answer is an answer to the same customer, and a reply to a command is none", async () => {
    const copy = await asked("when do you open?");
    const before = (await notes()).length;
    let answer = await team.say(desk, "owner", "grab this once more", { replyToId: copy });
    answer = await team.say(desk, "owner", "grab this again", { replyToId: answer });
    await until(async () => (await notes()).length === before + 2, "a note for each");
    // A word of the rules for what is no answer.
    await team.say(desk, "owner", "The price list opens at two", { replyToId: answer });
    await shown(far, far.places[1], "opens at two");
    expect(await why("last")).toContain("returned · inbound_claim");

    await team.say(desk, "stranger", "talk of a colleague", { replyToId: answer });
    const command = await team.say(desk, "owner", "/whoami", { replyToId: copy });
    await team.say(desk, "owner", "talk about a command", { replyToId: command });
    await team.say(desk, "owner", "the end of it", { replyToId: copy });
    await shown(far, far.places[1], "the end of it");
    expect((await far.seen(far.places[1])).filter(({ text }) => /this|talk/.test(text))).toEqual([]);
  });

  it("an answer that the bridge carries to where it belongs gets no note", async () => {
    const [room, other] = bridged;
    const { web } = stack.platforms;
    await far.say(other, "guest", "who has the key?");
    const copy = await shown(web, room, "who has the key?");
    await web.say(room, "owner", "hello", { replyToId: copy.id });
    await shown(far, other, "hello");
    const { text: path } = await invoke(stack.gateway.url, "/hooks why last");
    expect(path).toContain("bridge.both-ways");
    expect(path).not.toContain("(a note");
  });
});
