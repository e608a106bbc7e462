/** A message that ends the process, among others, with a supervisor that starts it again: the real product as a process. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, it } from "vitest";
import { FAKE_TOKEN, FakeTelegram } from "../fakes/telegram/server.js";
import { invoke } from "../flow/stack.js";
import { type GatewayProcess, gatewayProcess } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { type Letters, lettersOf, ROOMS, say, supervise, textsOf } from "./supervised.js";

const PLUGIN = resolve(import.meta.dirname, "../fixtures/plugins/poison.mjs");

const folders: string[] = [];
const processes: GatewayProcess[] = [];
const platforms: FakeTelegram[] = [];
afterEach(async () => {
  for (const one of processes.splice(0)) await one.kill();
  for (const one of platforms.splice(0)) await one.stop();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function startGateway(flags: string[] = []): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-poison-"));
  folders.push(folder);
  const gateway = await gatewayProcess({
    folder,
    config: {
      operators: { owner: ["web:1"] },
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        rooms: ROOMS.map((id) => ({ id, name: id })),
      },
      plugins: [{ module: PLUGIN, critical: true }],
    },
    flags,
  });
  processes.push(gateway);
  await gateway.start();
  return gateway;
}

it.each([1, 6])(
  "only messages that crash the process become dead letters: %i of them among 120 others",
  async (poisons) => {
    const gateway = await startGateway();
    await gateway.ready();
    let isOver = false;
    const innocents = ROOMS.map((room) => Array.from({ length: 5 }, (_, n) => ({ room, text: `${room} number ${n}` })));
    const supervised = supervise(gateway, () => isOver);
    const saying = innocents.map(async (messages, n) => {
      const at = messages.findIndex(({ text }) => text.endsWith(String(n % 5)));
      for (const [index, { room, text }] of messages.entries()) {
        if (n < poisons && index === at) await say(gateway, room, `poison ${n}`, () => isOver);
        await say(gateway, room, text, () => isOver);
      }
    });
    try {
      await Promise.all(saying);
      await until(
        async () => {
          const { inbox } = (await lettersOf(gateway)) ?? { inbox: { waiting: 1 } as Record<string, number> };
          return !inbox.waiting && !inbox.running && !inbox.deferred;
        },
        "every message being settled",
        180_000,
      );
      const { letters } = (await lettersOf(gateway)) as Letters;
      expect(letters.filter(({ box }) => box === "inbox")).toHaveLength(poisons);
      for (const messages of innocents) {
        const { room } = messages[0] as { room: string };
        const answers = await until(async () => {
          const texts = (await textsOf(gateway, room)).filter((text) => text.startsWith("answer to"));
          return texts.length >= messages.length && texts;
        }, `the answers in ${room}`);
        expect(answers).toEqual(messages.map(({ text }) => `answer to ${text}`));
      }
    } finally {
      isOver = true;
    }
    expect(await supervised).toBeGreaterThanOrEqual(5);
  },
  300_000,
);

const GROUPS = 4;

it("messages that crash the process cut no answer off on Telegram, which could not recognise it again", async () => {
  const telegram = await new FakeTelegram().start();
  platforms.push(telegram);
  telegram.fail({ method: "sendMessage", times: 10_000, action: { kind: "slow", delayMs: 400 } });
  const folder = mkdtempSync(join(tmpdir(), "hookgate-poison-"));
  folders.push(folder);
  const gateway = await gatewayProcess({
    folder,
    config: {
      gateway: { inbox_attempts: 3 },
      operators: { owner: ["web:1"] },
      telegram: {
        access: { dms: "everyone" },
        limits: { per_second: 1000, per_chat_per_second: 1000, per_group_per_minute: 60_000 },
        poll_timeout: "5s",
      },
      plugins: [{ module: PLUGIN, critical: true }],
    },
    env: { TELEGRAM_TOKEN: FAKE_TOKEN, TELEGRAM_API_URL: telegram.apiUrl },
  });
  processes.push(gateway);
  // All come with the first poll, so that all are under way when the first one ends the process.
  const says = (text: string) => {
    const { id: userId } = telegram.world.addUser({ firstName: text.slice(0, 20) });
    telegram.people.says(text, { dm: true, userId });
    return { userId, text };
  };
  // Of each group, the first is handled until Telegram is online, and the answers of the next three are under way when the last one is.
  const innocents = Array.from({ length: GROUPS }, (_, n) => {
    const group = [`work ${n}`, `number ${n}`, `number ${n} again`, `long ${n} ${"x".repeat(4_080)}`].map(says);
    says(`poison quickly ${n}`);
    return group;
  }).flat();
  const answersTo = (userId: number) =>
    [...telegram.world.dmWith(userId).messages.values()].filter(({ from }) => from?.is_bot).map(({ text }) => text);
  let isOver = false;
  await gateway.start();
  const supervised = supervise(gateway, () => isOver);
  try {
    const boxes = await until(
      async () => {
        const answer = await invoke(gateway.url, "/outbox list").catch(() => undefined);
        const data = answer?.data as { inbox: Record<string, number>; outbox: Record<string, number> } | undefined;
        const isQuiet =
          data?.inbox.dead === GROUPS && !data.inbox.waiting && !data.inbox.running && !data.inbox.deferred;
        return isQuiet && !data.outbox.waiting && !data.outbox.sending && data;
      },
      "every message being settled",
      180_000,
    );
    expect(boxes.outbox).toMatchObject({ held: 0, dead: 0 });
    for (const { userId, text } of innocents) expect(answersTo(userId).join("")).toBe(`answer to ${text}`);
  } finally {
    isOver = true;
  }
  expect(await supervised).toBeGreaterThanOrEqual(2 * GROUPS);
}, 300_000);

it.each([
  ["at once", "poison.message_sending", 8],
  ["later", "poison.message_sending", 9],
] as const)(
  "an answer whose hook ends the process (%s) is held, the others are sent, and the log names the hook",
  async (when, hookId, code) => {
    const gateway = await startGateway();
    await gateway.ready();
    let isOver = false;
    const supervised = supervise(gateway, () => isOver);
    try {
      const rooms = ROOMS.slice(0, 6);
      await Promise.all([
        say(gateway, ROOMS[6] as string, `leave ${when}`, () => isOver),
        ...rooms.map((room) => say(gateway, room, `in ${room}`, () => isOver)),
      ]);
      const reason = await until(
        async () => {
          const answer = await invoke(gateway.url, "/outbox list held").catch(() => undefined);
          const held = (answer?.data as { letters?: { reason?: string }[] } | undefined)?.letters ?? [];
          return held.length > 0 && held.map((letter) => letter.reason).join();
        },
        "the answer being held",
        180_000,
      );
      expect(reason).toBe("the gateway ended 3 times while hooks decided about it: they may crash the gateway");
      for (const room of rooms)
        await until(
          async () => (await textsOf(gateway, room)).includes(`answer to in ${room}`),
          `the answer in ${room}`,
        );
      expect(gateway.output()).toContain(`"plugin":"poison","hook":"${hookId}","code":${code}`);
      expect(gateway.output()).toMatch(
        /the plugin \\"poison\\" ended the gateway with code \d+, in its hook poison\.message_sending/,
      );
      expect(gateway.output()).toMatch(/"place":".*poison\.mjs.*:\d+:\d+\)?"/);
    } finally {
      isOver = true;
    }
    expect(await supervised).toBe(3);
  },
  300_000,
);

it("answers whose hook ends the process cost no attempt of a message that takes its time", async () => {
  const gateway = await startGateway();
  await gateway.ready();
  let isOver = false;
  const supervised = supervise(gateway, () => isOver);
  try {
    await Promise.all([
      ...[0, 1, 2].map((n) => say(gateway, ROOMS[n] as string, `leave slowly ${n}`, () => isOver)),
      say(gateway, ROOMS[3] as string, "work", () => isOver),
    ]);
    const texts = async () => textsOf(gateway, ROOMS[3] as string).catch((): string[] => []);
    await until(
      async () => (await texts()).includes("answer to work") || ((await lettersOf(gateway))?.inbox.dead ?? 0) > 0,
      "the work being done, or given up",
      180_000,
    );
    expect(await texts()).toEqual(["work", "answer to work"]);
  } finally {
    isOver = true;
  }
  await supervised;
}, 300_000);

it("a message that failed before it ended the process is left out of /outbox retry all, and its reason has both", async () => {
  const gateway = await startGateway();
  await gateway.ready();
  let isOver = false;
  const supervised = supervise(gateway, () => isOver);
  try {
    await say(gateway, ROOMS[0] as string, "fail then end the process", () => isOver);
    const [letter] = await until(
      async () => {
        const { letters = [] } = (await lettersOf(gateway)) ?? {};
        return letters.length > 0 && letters;
      },
      "the dead letter",
      180_000,
    );
    const { data, text } = await invoke(gateway.url, "/outbox retry all");
    expect(data).toMatchObject({ retried: [], leftOut: [letter?.id] });
    expect(text).toContain("1 message left out: handling it may crash the gateway");
    expect((letter as { reason?: string }).reason).toMatch(
      /^its last attempt was cut off: handling it may crash the gateway; an earlier attempt failed: .*the first try failed/,
    );
  } finally {
    isOver = true;
  }
  await supervised;
}, 300_000);

it("a hook that ends the process when it is notified of a sent message is not notified for ever", async () => {
  const gateway = await startGateway();
  await gateway.ready();
  let isOver = false;
  const supervised = supervise(gateway, () => isOver);
  try {
    await say(gateway, ROOMS[0] as string, "leave when sent", () => isOver);
    await until(
      () => gateway.output().includes("they are not notified of it again"),
      "the end of the notices",
      180_000,
    );
    await say(gateway, ROOMS[1] as string, "after it", () => isOver);
    const answered = async () => (await textsOf(gateway, ROOMS[1] as string)).includes("answer to after it");
    await until(answered, "the answer after it");
    expect(await textsOf(gateway, ROOMS[0] as string)).toEqual(["leave when sent", "answer to leave when sent"]);
    expect(gateway.output()).toContain('"hook":"poison.message_sent","code":10');
  } finally {
    isOver = true;
  }
  await supervised;
}, 300_000);

it("in a terminal, too, the log names the plugin that ends the process right after lines of its own", async () => {
  const gateway = await startGateway(["--import", "data:text/javascript,process.stdout.isTTY=true"]);
  await gateway.ready();
  await say(gateway, ROOMS[0] as string, "leave at once", () => !gateway.running());
  expect(await gateway.ending()).toBe(8);
  expect(gateway.output()).toMatch(/about to leave.*the plugin "poison" ended the gateway with code 8/s);
});
