/** A hook cancels the copy of a customer's message, or of a correction: the customer and the team learn it. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { until } from "../support/until.js";
import type { FlowPlatform, Place } from "./platform.js";
import { invoke, type Stack, startStack } from "./stack.js";

const NO_KEYS = parse(readFileSync(resolve(import.meta.dirname, "../../examples/hooks/no-keys.yaml"), "utf8"));
const DOWN = {
  id: "down",
  on: "message_sending",
  match: { when: 'payload.message.text.contains("wait")' },
  run: { shell: { sh: "exit 1" } },
  on_failure: "closed",
};
const KEY = "AKIAABCDEFGHIJKLMNOP";
const SLA = { policies: [{ id: "first", for: "conversation", measure: "first_response", target: "8h" }] };

describe.each([
  ["discord", "telegram"],
  ["telegram", "discord"],
] as const)("with the copies on %s and a customer in a direct message on %s", (name, farName) => {
  let stack: Stack;
  let team: FlowPlatform;
  let far: FlowPlatform;
  let desk: Place;
  let customer: ReturnType<typeof customerOf>;

  beforeAll(async () => {
    stack = await startStack({
      withFlow: false,
      config: ({ discord, telegram }) => ({
        gateway: {
          default_route: { forward: `${name}::${name === "discord" ? discord.channelId : telegram.chatId}` },
        },
        hooks: [NO_KEYS, DOWN],
        sla: SLA,
      }),
    });
    team = stack.platforms[name];
    far = stack.platforms[farName];
    desk = { chatId: name === "discord" ? stack.discord.channelId : String(stack.telegram.chatId) };
    customer = customerOf(stack, farName);
  });
  afterAll(() => stack.stop());

  const shown = async (part: string, count: number, of = () => team.seen(desk).then((all) => all.map((o) => o.text))) =>
    until(async () => {
      const found = (await of()).filter((text) => text.includes(part));
      return found.length === count && found;
    }, `${count} of "${part}"`);
  const ask = async (line: string) => (await invoke(stack.gateway.url, line)).text.replace(/[\\`*]/g, "");

  it("both learn that a message was withheld, once, without its words and the reason, and its clock runs on", async () => {
    customer.say(`my key ${KEY} does not work`);
    const [note] = await shown("Your message was not passed on", 1, customer.read);
    expect(note?.replace(/\*/g, "")).toBe(
      "Your message was not passed on to the operators: a rule withheld it.\nIf it contains a password, a key or something else that must stay private, write it again without that.",
    );
    const [line] = await shown("was not shown here", 1);
    const [, id, row] =
      /^A message of Nina was not shown here: a hook withheld it\. \W*\/outbox show (d_(m\d+)f)\W* has the details\.$/.exec(
        line ?? "",
      ) ?? [];
    await until(async () => (await ask(`/outbox show ${id}`)).includes("cancelled by no-keys"), "the reason");
    const path = await ask(`/hooks why ${row}`);
    expect(path).toMatch(
      /a notice that the copy was withheld\) sent as[\s\S]*a notice that the copy was withheld\) sent as/,
    );
    expect(await ask("/sla list")).toContain("first");
    customer.say("it is the key of the shop");
    await shown("key of the shop", 1);
    expect(await shown("was not shown here", 1)).toHaveLength(1);
    expect((await customer.read()).join()).not.toContain("cloud key");
    expect((await team.seen(desk)).map(({ text }) => text).join()).not.toMatch(/AKIA|cloud key/);
  });

  it("both learn that a correction was withheld", async () => {
    const id = customer.say("how do I pay?");
    await shown("how do I pay?", 1);
    customer.edit(id, `how do I pay with ${KEY}?`);
    const [note] = await shown("The correction of your message was not passed on", 1, customer.read);
    expect(note).toContain("The text before the correction may still be shown to them. If it contains");
    await shown("A correction of Nina was not shown here: a hook withheld it.", 1);
    customer.edit(id, "how do I pay by card?");
    await shown("how do I pay by card?", 1);
  });

  it("the path of an answer that was withheld shows that its author was notified", async () => {
    customer.say("which key is it?");
    await shown("which key is it?", 1);
    const copy = (await team.seen(desk)).find(({ text }) => text.includes("which key is it?"));
    const answer = await team.say(desk, "owner", `it is ${KEY}`, { replyToId: copy?.id as string });
    const path = () => ask(`/hooks why ${answer}`);
    await until(async () => /\(a notice to the author\) sent as/.test(await path()), "the line about the notice");
  });

  it("a copy that is held for an operator is not reported", async () => {
    customer.say("please wait for me");
    await until(async () => (await ask("/outbox list held")).includes("d_m"), "the held copy");
    customer.say("hello again");
    await shown("hello again", 1);
    expect(await shown("was not shown here", 2)).toHaveLength(1 + 1);
    expect((await customer.read()).filter((text) => text.includes("not passed on"))).toHaveLength(2);
  });

  it("a message in a listed room is reported beside it, or privately", async () => {
    await far.say(far.places[1], "guest", `the ${KEY} of the room`);
    await until(
      async () =>
        [...(await far.seenPrivately("guest")), ...(await far.seen(far.places[1]))].some(({ text }) =>
          /(Your|This) message was not passed on to the operators: a rule withheld it/.test(text),
        ),
      "the notice",
    );
    const lines = await shown("was not shown here", 3);
    expect(lines.at(-1)).toMatch(/^A message of [Gg]race in .+ was not shown here/);
  });

  it("the hook that withheld a correction and its reason stay in the path of the message after later corrections", async () => {
    const id = customer.say("where is my parcel?");
    await shown("where is my parcel?", 1);
    const row = /What happened to (m\d+)/.exec(await ask("/hooks why last"))?.[1] ?? "";
    const notes = await shown("A correction of Nina was not shown here", 1);
    customer.edit(id, `where is my parcel ${KEY}?`);
    await shown("A correction of Nina was not shown here", notes.length + 1);
    for (const text of ["where is my red parcel?", "where is my blue parcel?", "where is my green parcel?"]) {
      customer.edit(id, text);
      await shown(text, 1);
    }
    customer.remove(id);
    for (const line of [`/hooks why ${row}`, `/run ${row}`, `/hooks why d_${row}f`])
      await until(async () => /edit d_m\d+e0 cancelled by no-keys: /.test(await ask(line)), `the veto in ${line}`);
    expect(await ask(`/hooks why no-keys ${row}`)).toMatch(/It ran, ⊘ cancelled, .*\n.* · for the edit d_m\d+e0$/m);
  });
});

/** A person who writes to the bot directly. */
function customerOf({ discord, telegram }: Stack, name: "discord" | "telegram") {
  if (name === "discord") {
    const { id: userId } = discord.world.addUser({ username: "Nina" });
    const { id: channelId, messages } = discord.world.dmWith(userId);
    return {
      say: (text: string) => discord.people.says(text, { dm: true, userId }).id,
      edit: (id: string, text: string) => void discord.people.edits(id, text, { channelId }),
      remove: (id: string) => discord.people.deletes(id),
      read: async () =>
        [...messages.values()].filter(({ author }) => author.id !== userId).map(({ content }) => content),
    };
  }
  const { id: userId } = telegram.world.addUser({ firstName: "Nina" });
  const { messages } = telegram.world.dmWith(userId);
  return {
    say: (text: string) => String(telegram.people.says(text, { dm: true, userId }).message_id),
    edit: (id: string, text: string) => void telegram.people.edits(Number(id), text, { chatId: userId }),
    // A bot on Telegram does not learn of deletions.
    remove: () => {},
    read: async () => [...messages.values()].filter(({ from }) => from?.id !== userId).map(({ text }) => text ?? ""),
  };
}
