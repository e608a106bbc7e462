/** A page that waits calls who is on call when it is posted. */
import { expect, it } from "vitest";
import { parseAddress } from "../../src/domain/chat/address.js";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { ADMINS, ANN, HOUR, MINUTE, OPS, ROOM, START, type Watch, watch } from "./watch.js";

const PRIVATE: Readonly<Record<string, string>> = { "dm-ann": "loop:7", "dm-ben": "loop:8" };
const DM_ANN = "loop:bot:dm-ann";
const DM_BEN = "loop:bot:dm-ben";

const shifts = (handover: string) => [
  { from: "00:00", to: handover, person: "ann" },
  { from: handover, to: "24:00", person: "ben" },
];
const settings = (handover: string, quiet: Record<string, string> = {}) => ({
  routes: { default: { to: [ROOM], remind: { times: 0 }, escalate: [{ after: "15s", mention: ["oncall:r"] }] } },
  destinations: Object.fromEntries(
    Object.entries(quiet).map(([chat, to]) => [chat, { quiet: { from: "09:00", to, timezone: "UTC" } }]),
  ),
  people: { ann: ["loop:7"], ben: ["loop:8"] },
  rotas: { r: { timezone: "UTC", shifts: shifts(handover) } },
  fallback_after: "5m",
});

const start = (config: Record<string, unknown>, reads: readonly string[] = ["7", "8"]) =>
  watch(config, {
    direct: (ref) => parseAddress(`loop:bot:${Object.entries(PRIVATE).find(([, one]) => one === ref)?.[0]}`),
    personOf: ({ chatId }) => PRIVATE[chatId],
    isReader: async (_, userId) => reads.includes(userId),
  });

const pages = (on: Watch, chat = ROOM) => on.posted(chat).filter(({ text }) => text.includes("Escalated: step"));
const whom = (on: Watch, chat = ROOM) => pages(on, chat).map(({ text }) => text.match(/<@\d[^>]*>/g)?.join() ?? "");

it.each(["11:00", "11:01"])("quiet hours that end at %s, and a rota that hands over at 11:00", async (end) => {
  const on = await start(settings("11:00", { [ROOM]: end }));
  const { id } = await on.raise();
  await on.advance(HOUR + 2 * MINUTE);
  expect(whom(on)).toEqual(["<@8|ben>"]);
  expect(pages(on)[0]?.text).toContain(
    "Escalated: step 1 of 1 (ben). The people of this step have changed: it notifies ben now. It waited because of quiet hours. This was the last step.",
  );
  // Its id is random.
  expect(pages(on)[0]?.text.replaceAll(id, "")).not.toContain("ann");
  const history = (await on.alerts.history(id)).map(({ reason = "" }) => reason);
  expect(history.filter((one) => one.includes("it notifies ben now"))).toHaveLength(1);
});

it("the same people are called in the same words", async () => {
  const on = await start(settings("18:00", { [ROOM]: "11:00" }));
  const { id } = await on.raise();
  await on.advance(HOUR + 10_000);
  expect(whom(on)).toEqual(["<@7|ann>"]);
  expect(pages(on)[0]?.text).not.toContain("have changed");
  const posted = (await on.alerts.history(id)).filter(({ event }) => event === "posted");
  const due = new Date(START + 15_000).toISOString();
  expect(posted.map(({ reason }) => reason)).toEqual([expect.stringMatching(`it was due ${due}; it mentions ann`)]);
});

it("a rota that is corrected in the quiet hours", async () => {
  const on = await start(settings("18:00", { [ROOM]: "11:00" }));
  await on.raise();
  await on.advance(30 * MINUTE);
  await on.reload(settings("10:05", { [ROOM]: "11:00" }));
  await on.advance(32 * MINUTE);
  expect(whom(on)).toEqual(["<@8|ben>"]);
});

it("a gateway that was stopped over the end of the quiet hours and the handover", async () => {
  const on = await start(settings("11:00", { [ROOM]: "11:00" }));
  await on.raise();
  await on.advance(30 * MINUTE);
  await on.crash(HOUR);
  await on.settle();
  expect(whom(on)).toEqual(["<@8|ben>"]);
});

it("a page that an operator held back", async () => {
  const on = await start(settings("11:00", { [ROOM]: "10:30" }));
  const { id } = await on.raise();
  await on.advance(20 * MINUTE);
  await on.alerts.act(id, { kind: "ack", untilAt: on.clock.now() + HOUR }, ANN);
  await on.advance(2 * HOUR);
  expect(whom(on)).toEqual(["<@8|ben>"]);
});

it("the private message goes to the person on call now, also where the room could mention the other", async () => {
  for (const [reads, quiet] of [
    [[], { [ROOM]: "11:00", [DM_ANN]: "11:00" }],
    [["7"], { [ROOM]: "11:00" }],
  ] as const) {
    const on = await start(settings("11:00", quiet), reads);
    const { id } = await on.raise();
    await on.advance(HOUR + 2 * MINUTE);
    expect(pages(on, DM_ANN)).toEqual([]);
    expect(pages(on, DM_BEN)).toHaveLength(1);
    const history = (await on.alerts.history(id)).filter(({ reason }) => reason?.includes("it notifies ben"));
    expect(history).toHaveLength(1);
    expect(pages(on).map(({ text }) => text)).toEqual([
      expect.stringContaining(`ben cannot read ${ROOM} and is notified in a private chat`),
    ]);
  }
});

it("a private message that is lost while the page waits: its copy keeps no one from being mentioned where the page is", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  loop.script = ({ address: { chatId } }) =>
    chatId === "dm-ann" ? { kind: "permanent", scope: "chat", error: "blocked by the person" } : undefined;
  const on = await watch(
    { ...settings("11:00", { [ROOM]: "11:00" }), fallback: [ROOM] },
    {
      platform: loop,
      direct: (ref) => parseAddress(`loop:bot:${Object.entries(PRIVATE).find(([, one]) => one === ref)?.[0]}`),
      personOf: ({ chatId }) => PRIVATE[chatId],
      isReader: async (_, userId) => userId === "8",
    },
  );
  await on.raise();
  await on.advance(HOUR + 2 * MINUTE);
  expect(whom(on)).toEqual(["<@7|ann>", "<@8|ben>"]);
});

it("a chat that got the page in time gets it again only where no other message notifies the new person", async () => {
  const config = settings("11:00", { [OPS]: "11:00" });
  Object.assign(config.routes.default, { escalate: [{ after: "15s", to: [ROOM, OPS], mention: ["oncall:r"] }] });
  const on = await start(config);
  await on.raise();
  await on.advance(HOUR + 2 * MINUTE);
  expect([whom(on), whom(on, OPS)]).toEqual([["<@7|ann>"], ["<@8|ben>"]]);
});

it("a gap of the rota: the next person is called, and the page says why", async () => {
  const config = settings("11:00", { [ROOM]: "11:00" });
  Object.assign(config.rotas.r, {
    shifts: [
      { from: "00:00", to: "11:00", person: "ann" },
      { from: "12:00", to: "18:00", person: "ben" },
    ],
  });
  const on = await start(config);
  await on.raise();
  await on.advance(HOUR + 2 * MINUTE);
  expect(whom(on)).toEqual(["<@8|ben>"]);
  expect(pages(on)[0]?.text).toContain("No one is on call in r; ben is the next person who can be notified");
  expect(pages(on, ADMINS)).toEqual([]);
});

it("the substitute in a gap who was on call when the page was due is no other person", async () => {
  const config = settings("11:00", { [ROOM]: "11:00" });
  Object.assign(config.rotas.r, {
    shifts: [
      { from: "00:00", to: "10:30", person: "ann" },
      { from: "12:00", to: "18:00", person: "ann" },
    ],
  });
  const on = await start(config);
  const { id } = await on.raise();
  await on.advance(HOUR + 2 * MINUTE);
  expect(whom(on)).toEqual(["<@7|ann>"]);
  expect(pages(on)[0]?.text).toContain("Escalated: step 1 of 1 (ann). No one is on call in r");
  expect((await on.alerts.history(id)).filter(({ event }) => event === "escalate")).toHaveLength(1);
});

it("a page that waits in the outbox for the end of a pause of its chat", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  const on = await watch(settings("10:01"), loop);
  await on.raise();
  let isPaused = false;
  loop.script = ({ address }) => {
    if (isPaused || address.chatId !== "room") return undefined;
    isPaused = true;
    return { kind: "retry", error: "429 Too Many Requests", afterMs: 80_000, scope: "chat" };
  };
  const cause = { kind: "alert" as const, id: "elsewhere", depth: 0 };
  await on.rig.gateway.send({ platform: "loop", botId: "bot", chatId: "room" }, { text: "a reply" }, { cause });
  for (let i = 0; i < 100; i++) {
    await on.clock.advance(1_000);
    await on.settle({ isAway: true });
  }
  expect(whom(on)).toEqual(["<@8|ben>"]);
  expect(pages(on)[0]?.text).toMatch(/It was due <t:1767261615:T.*>; sending to this chat was paused until/);
});
