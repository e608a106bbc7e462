/** Tasks and missions on all three platforms through their real clients: cards that are edited in place, buttons, strangers, a restart, replies and threads. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import type { FlowPlatform } from "./platform.js";
import { allOnline, invoke, type Stack, startStack } from "./stack.js";

const NAMES = ["web", "discord", "telegram"] as const;
let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    config: ({ discord, telegram }) => ({
      orchestrator: {
        tick: "500ms",
        runners: {
          pack: {
            shell: {
              sh: 'echo "::progress 40 packing"; echo "file 1 of 3"; while [ ! -e "go-$HOOKGATE_TASK_TITLE" ]; do sleep 0.1; done; echo bye',
            },
            concurrency: 4,
          },
          own: { shell: { sh: 'echo "of-the-owner $HOOKGATE_TASK_TITLE"' }, role: "owner" },
          web: { person: { user: "web:1", at: "web:web:general" } },
          discord: { person: { user: `discord:${discord.userId}`, at: `discord::${discord.channelId}` } },
          telegram: { person: { user: `telegram:${telegram.userId}`, at: `telegram::${telegram.chatId}` } },
        },
      },
    }),
  });
  mkdirSync(join(stack.gateway.folder, "missions"));
  for (const name of NAMES)
    writeFileSync(
      join(stack.gateway.folder, `missions/${name}-release.yaml`),
      JSON.stringify({
        title: `Release on ${name}`,
        groups: [
          {
            name: "build",
            tasks: [
              { id: `first-${name}`, assignTo: "pack", expectations: [{ when: "false" }], title: `first-${name}` },
            ],
            gate: { name: "good", minScore: 0.9 },
          },
          { name: "ship", tasks: [{ id: "then", assignTo: "pack", title: `then-${name}` }] },
        ],
      }),
    );
}, 120_000);
afterAll(() => stack?.stop());

/** Where the card of this platform's person goes. */
function placeOf(platform: FlowPlatform): FlowPlatform["places"][number] {
  if (platform.name === "web") return { chatId: "general" };
  return platform.name === "discord" ? platform.places[0] : platform.places[1];
}

const statusOf = async (id: string) =>
  ((await invoke(stack.gateway.url, `/task show ${id}`)).data as { status: string; lastNote?: { text: string } }) ?? {};

describe.each(NAMES)("a task for a person on %s", (name) => {
  it("is one card that is edited in place, refuses strangers, outlives a restart and takes a reply", async () => {
    const platform = stack.platforms[name];
    const place = placeOf(platform);
    const added = await invoke(stack.gateway.url, `/task add ${name} Water the plants on ${name}`);
    const { id } = added.data as { id: string };
    const card = () =>
      until(
        async () =>
          (await platform.seen(place, "owner")).find(({ text }) => text.includes(`Water the plants on ${name}`)),
        "the card",
      );
    const first = await card();
    expect(first.buttons).toEqual(["Start", "Done", "Decline", "Ask"]);

    const standing = (await platform.seen(place, "owner")).length;
    const isNo = (text: string) => text.includes("You have no role here");
    await refused(name, () => platform.press(place, "stranger", first.id, "Done"));
    await until(async () => (await platform.whispers(place, "stranger")).some(isNo), "the refusal's words");
    // Nor are they asked what they want to say.
    await refused(name, () => platform.press(place, "stranger", first.id, "Ask"));
    await until(
      async () => (await platform.whispers(place, "stranger")).filter(isNo).length === 2,
      "the other refusal",
    );
    expect((await platform.seen(place, "owner")).length).toBe(standing);
    expect((await platform.whispers(place, "owner")).some(isNo)).toBe(false);
    await platform.press(place, "owner", first.id, "Start");
    await until(async () => (await statusOf(id)).status === "in_progress", "the start");
    const started = await until(async () => {
      const now = await card();
      return now.buttons.includes("Start") ? undefined : now;
    }, "the card after the start");
    expect(started.id).toBe(first.id);
    expect(started.text).toContain("in progress");

    await stack.gateway.kill();
    await stack.gateway.start();
    await allOnline(stack.gateway);
    await platform.begin(stack.gateway.url);
    await platform.say(place, "owner", "the roses are done", { replyToId: first.id });
    await until(async () => (await statusOf(id)).lastNote?.text === "the roses are done", "the report");
    await platform.press(place, "owner", (await card()).id, "Done");
    await until(async () => (await statusOf(id)).status === "done", "the end");
    const last = await until(async () => {
      const now = await card();
      return now.text.includes("✅") ? now : undefined;
    }, "the card at the end");
    expect(last.id).toBe(first.id);
    expect(last.buttons).toEqual([]);
    const history = (await invoke(stack.gateway.url, `/task show ${id}`)).data as {
      history: { kind: string; by: string }[];
    };
    expect(history.history.filter(({ kind }) => kind === "transition")).toHaveLength(3);
  }, 120_000);
});

describe.each(NAMES)("whoever cannot do a task on %s", (name) => {
  it("asks by a button where it came from, and says why not by another", async () => {
    const platform = stack.platforms[name];
    const place = placeOf(platform);
    const title = `piano-${name}`;
    const origin = name === "telegram" ? platform.places[0] : platform.places[1];
    await platform.command(origin, "owner", `/task add ${name} ${title}`);
    const card = await until(
      async () =>
        (await platform.seen(place, "owner")).find(
          ({ text, buttons }) => plain(text).includes(title) && buttons.includes("Ask"),
        ),
      "the card",
    );
    await platform.fill(place, "owner", card.id, "Ask", { text: "Which floor?" });
    await until(
      async () =>
        (await platform.seen(origin, "owner")).find(
          ({ text }) => plain(text).includes(title) && text.startsWith("❓") && text.includes("Which floor?"),
        ),
      "the question",
    );
    const { tasks } = (await invoke(stack.gateway.url, `/task list ${title}`)).data as { tasks: { id: string }[] };
    const id = tasks[0]?.id ?? "none";
    expect((await statusOf(id)).lastNote?.text).toBe("Which floor?");
    await platform.fill(place, "owner", card.id, "Decline", { text: "the stairs are too narrow" });
    const over = await until(async () => {
      const now = (await platform.seen(place, "owner")).find(({ id: one }) => one === card.id);
      return now?.text.includes("❌") ? now : undefined;
    }, "the card at the end");
    expect(plain(over.text)).toContain("the stairs are too narrow");
    expect(await statusOf(id)).toMatchObject({ status: "failed", reason: "the stairs are too narrow" });
  }, 120_000);
});

/** Somebody is told privately that they may not, and nothing else happens. */
async function refused(name: (typeof NAMES)[number], press: () => Promise<void>): Promise<void> {
  const all = () =>
    stack
      .noted("command_invoked")
      .filter(({ payload }) => payload.operator.platform === name && payload.outcome === "refused");
  const before = all().length;
  await press();
  await until(() => all().length > before, "the refusal");
}

const go = (title: string) => writeFileSync(join(stack.gateway.folder, `go-${title}`), "");

/** The only message there that says all this. */
async function only(name: (typeof NAMES)[number], at: FlowPlatform["places"][number], ...parts: string[]) {
  const fitting = async () =>
    (await stack.platforms[name].seen(at, "owner")).filter(({ text }) =>
      parts.every((part) => plain(text).includes(part)),
    );
  const [found] = await until(
    async () => ((await fitting()).length > 0 ? fitting() : undefined),
    `"${parts.join(" … ")}" on ${name}`,
  );
  expect(await fitting(), `messages with ${parts[0]}`).toHaveLength(1);
  if (found === undefined) throw new Error("gone again");
  return found;
}

/** What Markdown escapes away is shown. */
const plain = (text: string) => text.replaceAll(/[\\*]/g, "");

describe.each(NAMES)("work for a program on %s", (name) => {
  it("shows on one card what it is at and in one message of its thread what it prints; a reply there is a report", async () => {
    const platform = stack.platforms[name];
    const room = platform.places[0];
    const title = `pack-${name}`;
    await platform.command(room, "owner", `/task add pack ${title}`);
    const card = await only(name, room, title, "40 %", "packing");
    // Telegram has no threads under messages: there the card shows it.
    const printed = name === "telegram" ? room : threadUnder(name, room, card.id);
    const output = await only(name, printed, "file 1 of 3");
    expect(output.id === card.id).toBe(name === "telegram");

    if (name === "telegram") await platform.say(room, "owner", "looks good", { replyToId: card.id });
    else await platform.say(printed, "owner", "looks good");
    const { tasks } = (await invoke(stack.gateway.url, `/task list ${title}`)).data as { tasks: { id: string }[] };
    const id = tasks[0]?.id ?? "none";
    const { link } = (await invoke(stack.gateway.url, `/task show ${id}`)).data as { link?: string };
    expect(link).toBe(linkTo(name, room.chatId, card.id));
    await until(async () => (await statusOf(id)).lastNote?.text === "looks good", "the report");

    go(title);
    await until(async () => (await statusOf(id)).status === "done", "the end");
    expect((await only(name, room, title, "✅", "done")).id).toBe(card.id);
    const end = await until(
      async () => (await platform.seen(printed, "owner")).find(({ text }) => text.includes("bye")),
      "the output to its end",
    );
    expect(end.id).toBe(output.id);
  }, 120_000);

  it("fills up one card of a mission, with what runs now; its gate is opened there, by nobody who may not", async () => {
    const platform = stack.platforms[name];
    const room = platform.places[0];
    await platform.command(room, "owner", `/mission run ${name}-release`);
    const card = await only(name, room, `Mission Release on ${name}`, "0 of 2", `Now: first-${name}`);
    go(`first-${name}`);
    const shut = await only(name, room, `Mission Release on ${name}`, "1 of 2", "good is shut");
    expect(shut.id).toBe(card.id);
    // Of what is behind the gate there is no card yet.
    const standing = (await platform.seen(room, "owner")).map(({ text }) => plain(text));
    expect(standing.some((text) => text.includes(`first-${name}`))).toBe(true);
    expect(standing.filter((text) => text.includes(`then-${name}`))).toEqual([]);
    await refused(name, () => platform.press(room, "stranger", card.id, "Release good"));
    await release(name, card.id);
    expect((await only(name, room, `Mission Release on ${name}`, "1 of 2", `Now: then-${name}`)).id).toBe(card.id);
    go(`then-${name}`);
    expect((await only(name, room, `Mission Release on ${name}`, "2 of 2")).id).toBe(card.id);
  }, 120_000);

  it("asks which task is meant when none is named, and goes on with the one that is pressed", async () => {
    const platform = stack.platforms[name];
    const room = platform.places[1];
    const { data } = await invoke(stack.gateway.url, `/task add pack choose-${name}`);
    const { id } = data as { id: string };
    await platform.command(room, "owner", "/task cancel");
    const which = await only(name, room, "Which one?", `choose-${name}`);
    const label = which.buttons.find((one) => one.startsWith(`choose-${name} · `));
    await platform.press(room, "owner", which.id, label ?? "none");
    await until(async () => (await statusOf(id)).status === "cancelled", "the end");
  }, 120_000);
});

describe.each(NAMES)("what a runner for owners says on %s", (name) => {
  const words = `of-the-owner keys-${name}`;

  it("is in no answer that others read, typed or pressed; a private answer has it", async () => {
    const platform = stack.platforms[name];
    const room = platform.places[0];
    // Typed: the answer to a slash command of Discord is private.
    await platform.say(room, "owner", `/task add own keys-${name}`);
    const added = await only(name, room, "✓ Added", `keys-${name}`);
    const id = /t_\w+/.exec(plain(added.text))?.[0] ?? "none";
    await until(async () => (await statusOf(id)).status === "done", "the end");
    await platform.press(room, "owner", added.id, "Show");
    await platform.say(room, "owner", `/task show ${id}`);
    const shown = await until(async () => {
      const found = (await platform.seen(room, "owner")).filter(
        ({ text }) => text.includes("History") && plain(text).includes(`keys-${name}`),
      );
      return found.length === 2 ? found : undefined;
    }, "both answers");
    const isPrivate = name === "web";
    for (const { text } of shown) {
      expect(plain(text).includes(words), text).toBe(isPrivate);
      expect(plain(text).includes("in a direct chat with the bot"), text).toBe(!isPrivate);
    }
    for (const { text } of await platform.seen(room, "stranger")) expect(plain(text)).not.toContain(words);

    if (name === "discord") await platform.command(room, "owner", `/task show ${id}`);
    if (name === "telegram")
      stack.telegram.people.says(`/task show ${id}`, { chatId: stack.telegram.world.dmWith(stack.telegram.userId).id });
    if (!isPrivate)
      await until(
        async () =>
          [...(await platform.seenPrivately("owner")), ...(await platform.seen(room, "owner"))].some(({ text }) =>
            plain(text).includes(words),
          ),
        "the private answer",
      );
    for (const { text } of await platform.seen(room, "stranger")) expect(plain(text)).not.toContain(words);
  }, 120_000);
});

it("completes what a command is about on Discord, by what is to be done", async () => {
  const place = { channelId: stack.discord.channelId, userId: stack.discord.userId };
  const complete = async (command: string, option: string, typed: string, given: Record<string, string>) =>
    ((await stack.discord.people.completes(command, option, typed, { ...place, given })) as { value: string }[]).map(
      ({ value }) => value,
    );
  expect(await complete("task", "id", "", { action: "add" })).toEqual([
    "me",
    "pack",
    "own",
    "web",
    "discord",
    "telegram",
  ]);
  expect(await complete("mission", "id", "tele", { action: "run" })).toEqual(["telegram-release"]);
  const { data } = await invoke(stack.gateway.url, "/mission list");
  const known = (data as { missions: { id: string; planId: string }[] }).missions.find(
    ({ planId }) => planId === "web-release",
  );
  expect(await complete("mission", "id", "on web", { action: "show" })).toEqual([known?.id]);
});

function linkTo(name: (typeof NAMES)[number], chatId: string, messageId: string): string {
  if (name === "web") return `${stack.gateway.url}/#${chatId}/${messageId}`;
  if (name === "discord") return `https://discord.com/channels/${stack.discord.world.guildId}/${chatId}/${messageId}`;
  return `https://t.me/c/${chatId.replace(/^-100/, "")}/${messageId}`;
}

/** Where words under a message stand. */
function threadUnder(name: string, room: FlowPlatform["places"][number], messageId: string) {
  return name === "discord" ? { chatId: messageId } : { ...room, threadId: messageId };
}

/** The reason is asked for in each platform's own way. */
async function release(name: (typeof NAMES)[number], cardId: string): Promise<void> {
  const platform = stack.platforms[name];
  const room = platform.places[0];
  const { data } = await invoke(stack.gateway.url, "/gate list");
  const { gates } = data as { gates: { missionId: string; name: string }[] };
  expect(gates.map(({ name: gate }) => gate)).toEqual(["good"]);
  if (name === "discord") {
    const pressed = stack.discord.people.presses(cardId, "Release good", {
      channelId: room.chatId,
      userId: stack.discord.userId,
    });
    const form = await stack.discord.people.answerTo(pressed.token);
    const { custom_id: token } = (form?.data ?? {}) as { custom_id: string };
    stack.discord.people.submits(
      token,
      { reason: "good enough" },
      {
        channelId: room.chatId,
        userId: stack.discord.userId,
        messageId: cardId,
      },
    );
    return;
  }
  await platform.press(room, "owner", cardId, "Release good");
  if (name === "telegram") {
    const question = await until(
      async () => (await platform.seen(room, "owner")).find(({ text }) => text.includes("Why it may open")),
      "the question",
    );
    await platform.say(room, "owner", "good enough", { replyToId: question.id });
    return;
  }
  await invoke(stack.gateway.url, `/gate release ${gates[0]?.missionId} good good enough`);
}
