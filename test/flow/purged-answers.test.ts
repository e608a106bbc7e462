/** Answers that an operator deleted from the outbox: their authors learn that corrections of them are not passed on. */
import { expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { invoke, startStack } from "./stack.js";

const GUARDS = [
  {
    id: "in-guard",
    on: "inbound_claim",
    match: { when: 'payload.message.text.contains("poison")' },
    on_failure: "closed",
    run: { shell: { sh: "exit 1" } },
  },
  {
    id: "out-guard",
    on: "message_sending",
    match: { when: 'payload.message.text.contains("secret")' },
    run: { shell: { sh: "echo no secrets please >&2; exit 2" } },
  },
];

/** A customer on Telegram has written, and the copy is in a channel of Discord. */
async function startDesk() {
  const stack = await startStack({
    withFlow: false,
    config: ({ discord }) => ({
      gateway: { default_route: { forward: `discord::${discord.channelId}` }, inbox_attempts: 1 },
      hooks: GUARDS,
    }),
  });
  afterTest(() => stack.stop());
  const { gateway, platforms } = stack;
  const lose = () => stack.telegram.fail({ method: "sendMessage", action: { kind: "drop-after" } });
  const { discord, telegram } = platforms;
  const [desk] = discord.places;
  await telegram.say(telegram.places[1], "guest", "help");
  const copy = await until(
    async () => (await discord.seen(desk)).find(({ text }) => text.includes("help")),
    "the copy at the desk",
  );
  const ask = async (line: string) => (await invoke(gateway.url, line)).text.replace(/[\\`*]/g, "");
  return {
    ask,
    lose,
    ofCustomer: {
      say: (text: string) => telegram.say(telegram.places[1], "guest", text),
      correct: (id: string, text: string) => telegram.edit(telegram.places[1], "guest", id, text),
    },
    answer: (text: string, replyToId = copy.id) => discord.say(desk, "owner", text, { replyToId }),
    correct: (id: string, text: string) => discord.edit(desk, "owner", id, text),
    remove: (id: string) => discord.remove?.(desk, "owner", id),
    desk: async () => (await discord.seen(desk)).map(({ text }) => text),
    customer: async () => (await telegram.seen(telegram.places[1])).map(({ text }) => text),
    notice: (part: string, count = 1) =>
      until(async () => {
        const found = (await discord.seenPrivately("owner")).filter(({ text }) => text.includes(part));
        return found.length === count;
      }, `${count} of "${part}"`),
  };
}

it("a correction after the purge is not dropped silently: of an answer that was vetoed, or given up in the inbox", async () => {
  const { ask, answer, correct, customer, notice } = await startDesk();
  const dead = await answer("poison answer");
  await notice("Your message was not handled: it was given up");
  const vetoed = await answer("secret answer");
  await notice("it was cancelled.");
  expect(await ask("/outbox purge all yes=true")).toContain("2 messages deleted (1 cancelled, 1 dead in the inbox).");
  await notice("Your message was not handled: an operator deleted it from the outbox.");
  await notice("an operator deleted it from the outbox.", 2);
  for (const [count, id] of [dead, vetoed].entries()) {
    await correct(id, "a fine answer");
    await notice("The correction of your message was not passed on: an operator deleted the message", count + 1);
  }
  expect(await customer()).toEqual([]);
  const path = await ask(`/hooks why ${vetoed}`);
  expect(path).toMatch(/edited \(m\d+\)[\s\S]*d_m\d+u \(a notice that the correction was not passed on\) sen/);
});

it("what its author replies to a dead or purged answer is an answer to the same customer, and gets a note when none is known", async () => {
  const { ask, answer, customer, notice, desk } = await startDesk();
  const dead = await answer("poison answer");
  await notice("Your message was not handled: it was given up");
  const vetoed = await answer("secret answer");
  await notice("it was cancelled.");
  const arrived = await answer("a clear answer");
  await until(async () => (await customer()).length === 1, "the answer");
  await answer("after a dead one", dead);
  expect(await ask("/outbox purge all yes=true")).toContain("2 messages deleted");
  await answer("after a purged one", vetoed);
  await answer("after one that arrived", arrived);
  await until(async () => (await customer()).length === 4, "three replies");
  expect((await customer()).slice(1)).toEqual([
    expect.stringContaining("after a dead one"),
    expect.stringContaining("after a purged one"),
    expect.stringContaining("after one that arrived"),
  ]);
  const lost = await answer("after one whose row is gone", dead);
  await until(
    async () => (await desk()).some((text) => text.includes("Your message was not sent to anyone")),
    "the note",
  );
  expect(await ask(`/hooks why ${lost}`)).not.toContain("Nothing was sent in answer");
});

it("the purge of an answer in doubt takes its held correction along, and no text offers to release either", async () => {
  const { ask, answer, correct, customer, notice, lose } = await startDesk();
  lose();
  const id = await answer("a lost answer");
  await notice("It is not known whether your message was posted");
  await correct(id, "a better answer");
  await notice("decides about that message, and this follows");
  const [, doubted] = /what it changes is held: (d_m\d+f)/.exec(await ask("/outbox")) ?? [];
  expect(await ask(`/outbox purge ${doubted}`)).toMatch(
    /, and 1 change of it that is held with it\? It is held: it may/,
  );
  expect(await ask(`/outbox purge ${doubted} yes=true`)).toBe(
    `2 messages deleted; ${doubted} may have arrived: look in the chat.`,
  );
  await notice("The correction of your message is not shown in ");
  await notice("an operator deleted it from the outbox.", 2);
  await notice("/outbox release", 0);
  expect(await ask("/outbox")).toMatch(/^(Nothing|No) /);
  const path = await ask(`/hooks why ${id}`);
  expect(path).toMatch(/what it changes is held[\s\S]*purged by/);
  expect(path).not.toMatch(/\/outbox release|follows/);
  expect(await customer()).toEqual([expect.stringContaining("a lost answer")]);
});

it("the release of an answer in doubt reports what the operator said, and not that it was sent again when it was not", async () => {
  const { ask, answer, correct, remove, customer, notice, lose } = await startDesk();
  const released = async (text: string, change: (id: string) => Promise<void> | undefined) => {
    lose();
    const id = await answer(text);
    await notice("It is not known whether your message was posted");
    await change(id);
    await notice("decides about that message, and this follows");
    const [, doubted] = /what it changes is held: (d_m\d+f)/.exec(await ask("/outbox")) ?? [];
    return { id, said: await ask(`/outbox release ${doubted} confirmed=false`) };
  };
  const refused = await released("a lost answer", (id) => correct(id, "a secret answer"));
  expect(refused.said).toMatch(
    /^(d_m\d+f is on its way\. Hooks decide first, and may hold or cancel it|d_m\d+f is not sent)/,
  );
  await notice("it was cancelled.", 2);
  const deleted = await released("another lost answer", (id) => remove(id));
  expect(deleted.said).toContain("is not sent: its author deleted the message.");
  for (const { id } of [refused, deleted]) {
    const path = await ask(`/hooks why ${id}`);
    expect(path).toContain("Owner reported that it had not arrived");
    expect(path).not.toContain("sent again");
  }
  expect(await customer()).toHaveLength(2);
});

it("why and run have what became of a correction and of a deletion, by each id of the message, before and after a purge", async () => {
  const { ask, answer, correct, remove, customer, notice } = await startDesk();
  const id = await answer("secret answer");
  await notice("it was cancelled.");
  await correct(id, "clean answer");
  await notice("Your corrected message is shown");
  expect(await customer()).toEqual([expect.stringContaining("clean answer")]);
  const [row] = /m\d+/.exec(await ask(`/hooks why ${id}`)) ?? [];
  const [edit] = /m\d+(?=\))/.exec(await ask(`/hooks why ${id}`)) ?? [];
  const ids = [id, row, edit, `d_${row}f`, `d_${edit}e0`];
  for (const one of ids)
    for (const line of [`/hooks why message=${one}`, `/run ${one}`])
      expect(await ask(line), line).toMatch(new RegExp(`d_${edit}e0,? (sent as|which the gateway sent|.*: \\*?sent)`));

  await ask("/outbox purge all yes=true");
  for (const one of ids) {
    const path = await ask(`/hooks why message=${one}`);
    expect(path, one).toContain(`edit d_${edit}e0 sent as`);
    expect(path, one).not.toContain("nothing more of it is sent");
  }
  expect(await ask(`/hooks why ${id}`)).toMatch(
    /edited \(m\d+\)[\s\S]*\d\d:\d\d:\d\d d_m\d+f was cancelled by out-guard: no secrets please, and purged by .*\. Its correction d_m\d+e0 is sent\./,
  );
  expect(await ask(`/outbox show d_${row}f`)).toContain(`Its correction d_${edit}e0 is sent.`);

  await correct(id, "a better answer");
  await until(async () => (await customer()).some((text) => text.includes("a better answer")), "the second correction");
  await remove(id);
  await until(async () => (await customer()).length === 0, "the deletion");
  await until(
    async () => /deleted \(m\d+\)[\s\S]*delete d_m\d+x0 sent/.test(await ask(`/hooks why ${id}`)),
    "the deletion on record as sent",
  );
});

it("why has, by the id of a customer's correction, that an operator had deleted the message", async () => {
  const { ask, ofCustomer } = await startDesk();
  const id = await ofCustomer.say("a secret question");
  const row = await until(
    async () => /What happened to (m\d+)[\s\S]*cancelled by out-guard/.exec(await ask("/hooks why last"))?.[1],
    "the copy that the guard cancelled",
  );
  // With the note to the customer, whom the bot cannot write to.
  expect(await ask("/outbox purge all yes=true")).toMatch(/^[12] messages? deleted/);
  await ofCustomer.correct(id, "a fine question");
  const edit = await until(async () => /edited \((m\d+)\)/.exec(await ask(`/hooks why ${row}`))?.[1], "the correction");
  const path = await ask(`/hooks why ${edit}`);
  expect(path).toContain(
    `It is not passed on, because an operator deleted ${row} from the outbox: /hooks why ${row} shows what became of it.`,
  );
  expect(path).not.toContain("Nothing was sent in answer");
});
