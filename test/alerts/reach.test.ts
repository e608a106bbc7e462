/** Whom an escalation notifies, chat by chat: what each message, the card and the alert about it say is what happened. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { formatAddress, parseAddress } from "../../src/domain/chat/address.js";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { until } from "../support/until.js";
import { ADMINS, ANN, HOUR, MINUTE, OPS, ROOM, type Watch, watch } from "./watch.js";

const OTHER = "other:bot:room";
const OTHER_OPS = "other:bot:ops";
const route = (more: Record<string, unknown>) => ({
  routes: { default: { to: [ROOM], remind: { times: 0 }, ...more } },
});
const nights = { nights: { timezone: "UTC", shifts: [{ from: "12:00", to: "06:00", person: "ann" }] } };
const steady = (person: string) => ({
  support: { timezone: "UTC", rotate: { people: [person], from: "2025-12-25T09:00", every: "7d" } },
});

function twoPlatforms() {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  const other = new LoopbackPlatform("other", { idempotentCreate: true });
  other.width = 10_000;
  const inOther = (chatId: string) => other.messages.filter((one) => one.chatId === chatId && !one.isDeleted);
  return { loop, other, inOther };
}

const escalated = (posted: { text: string }[]) => posted.find(({ text }) => text.includes("Escalated: step"))?.text;
/** Texts of bodies that were POSTed. */
async function hook() {
  const taken: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    taken.push((JSON.parse(body) as { text: string }).text);
    response.writeHead(204).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`, taken, close };
}

const refuse = (platform: LoopbackPlatform, ...chats: string[]) => {
  platform.script = ({ address: { chatId } }) =>
    chats.includes(chatId) ? { kind: "permanent", error: "the bot was blocked" } : undefined;
};
const ownAlerts = async (on: Watch) =>
  (await on.alerts.list({ limit: 20 })).filter(({ signal: { labels } }) => labels.kind === "unreached");

it("each step that notifies none of its people is an alert, until that step would or the escalated alert ends", async () => {
  const config = {
    ...route({
      escalate: [
        { after: "5s", mention: ["oncall:nights"] },
        { after: "1m", mention: ["loop:9"] },
      ],
    }),
    fallback: [OPS],
    people: { ann: ["loop:7"] },
  };
  const on = await watch({ ...config, rotas: { nights: { timezone: "UTC" } } });
  await on.raise();
  await on.raise({ fingerprint: "replies:c2", title: "Reply to Cid" });
  await on.advance(2 * MINUTE);
  const states = async () =>
    Object.fromEntries((await ownAlerts(on)).map(({ signal: { title, reason }, state }) => [title, { state, reason }]));
  // The second step of each has notified its person by now: the first step did not.
  expect(on.posted()[0]?.text).toContain("⚠ Escalation step 1 notified none of its people");
  expect(await states()).toMatchObject({
    "Escalation step 1 did not notify rota nights: Reply to Bob": { state: "firing" },
    "Escalation step 1 did not notify rota nights: Reply to Cid": { state: "firing" },
  });
  await on.raise({ state: "resolved", reason: "answered" });
  await on.advance(MINUTE);
  expect(await states()).toMatchObject({
    "Escalation step 1 did not notify rota nights: Reply to Bob": {
      state: "resolved",
      reason: "the alert that was escalated has ended",
    },
    "Escalation step 1 did not notify rota nights: Reply to Cid": { state: "firing" },
  });
  await on.reload({ ...config, rotas: nights });
  await on.advance(MINUTE);
  expect(await states()).toMatchObject({
    "Escalation step 1 did not notify rota nights: Reply to Cid": {
      state: "resolved",
      reason: "this step would notify its people now; it is not posted again",
    },
  });
});

it("who is next is mentioned, and said to be, only in the chats where that person has an account", async () => {
  const { loop, other, inOther } = twoPlatforms();
  const on = await watch(
    {
      ...route({ to: [ROOM, OTHER], escalate: [{ after: "5s", mention: ["oncall:nights"] }] }),
      fallback: [OPS],
      people: { ann: ["loop:7"] },
      rotas: nights,
    },
    { platform: loop, others: [other] },
  );
  await on.raise();
  await on.advance(10_000);
  expect(escalated(on.posted())).toContain(
    "No one is on call in nights; ann is the next person who can be notified, and is mentioned.",
  );
  expect(escalated(inOther("room"))).toContain(
    `No one is on call in nights; ann is the next person who can be notified, and is mentioned in ${ROOM}.`,
  );
  for (const text of [escalated(on.posted()), escalated(inOther("room"))]) expect(text).not.toContain("notifies none");
});

const STAND_IN = "is the next person who can be notified, and is";

it.each([
  [
    "a gap",
    { timezone: "UTC", shifts: [{ from: "12:00", to: "06:00", person: "cid" }] },
    { cid: ["loop:9"] },
    `No one is on call in nights; cid ${STAND_IN} mentioned.`,
  ],
  [
    "a person on call without an account in any chat",
    { timezone: "UTC", rotate: { people: ["ann", "ben", "cid"], from: "2026-01-01T09:00", every: "7d" } },
    { ann: ["other:7"], cid: ["loop:9"] },
    `ann has no loop account; cid ${STAND_IN} mentioned.`,
  ],
])(
  "%s: the next person who can be notified is notified; no copy, no mark and no alert says otherwise",
  async (_, rota, people, text) => {
    const { url, taken, close } = await hook();
    try {
      const on = await watch({
        ...route({
          escalate: [
            { after: "5s", mention: ["oncall:nights"] },
            { after: "40s", mention: ["oncall:nights"], webhook: url },
          ],
        }),
        fallback: [OPS],
        people,
        rotas: { nights: rota },
      });
      const { id } = await on.raise();
      await on.advance(MINUTE);
      const pages = on.posted().filter(({ text: said }) => said.includes("Escalated: step"));
      expect(pages.map(({ body }) => body.mentions)).toEqual([{ users: ["9"] }, { users: ["9"] }]);
      for (const { text: said } of pages) expect(said).toContain(text);
      expect(JSON.stringify(on.platform.messages)).not.toContain("none of its people");
      expect(await ownAlerts(on)).toEqual([]);
      const neutral = text.replace("no loop account", "no account where this alert is posted").slice(0, -1);
      expect(taken).toEqual([
        expect.stringContaining(`(cid, ${new URL(url).host}). ${neutral} in ${ROOM}. This was the last step`),
      ]);
      const history = (await on.alerts.history(id)).filter(({ event }) => event === "escalate");
      for (const { reason } of history) expect(reason).toMatch(/\(cid(, [\d.:]+)?\)\. /);
      for (const { reason } of history) expect(reason).toContain(`${neutral} in ${ROOM}`);
      // The gap is reported there; the escalation is not.
      expect(on.posted(OPS).filter(({ text: said }) => said.includes("Escalat") && said.includes("step"))).toEqual([]);
    } finally {
      close();
    }
  },
);

it("the next person who can be notified has a private chat only: the message in that chat says why, and its loss is corrected", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:nights"] }] }),
      fallback: [OPS],
      people: { ann: ["other:7"] },
      rotas: nights,
    },
    { platform: loop, direct: (ref) => (ref === "other:7" ? parseAddress("loop:bot:dm-ann") : undefined) },
  );
  await on.raise();
  await on.advance(MINUTE);
  const why = `No one is on call in nights; ann ${STAND_IN} notified in a private chat`;
  expect(escalated(on.posted())).toContain(why);
  expect(escalated(on.posted("loop:bot:dm-ann"))).toContain(why);
  expect(escalated(on.posted("loop:bot:dm-ann"))).toContain("Sent to ann in a private chat");
  expect(escalated(on.posted(OPS))).toBeUndefined();
  expect(await ownAlerts(on)).toEqual([]);
  refuse(loop, "dm-ann");
  await on.raise({ fingerprint: "replies:c2", title: "Reply to Cid" });
  await on.advance(MINUTE);
  expect(on.posted().some(({ text }) => text.includes("The private message to ann did not arrive"))).toBe(true);
  const result = /Escalated: step 1 of 1\. This step notifies none.*The private message to ann did not arrive/;
  expect(on.posted(OPS).some(({ text }) => result.test(text))).toBe(true);
});

it("a private page that is lost goes to the next person of the rota, and to the one after that, until one gets it", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  refuse(loop, "dm-ben", "dm-cid");
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:support"] }] }),
      fallback: [OPS],
      people: { ann: ["other:7"], ben: ["other:8"], cid: ["other:9"] },
      rotas: {
        support: { timezone: "UTC", rotate: { people: ["ann", "ben", "cid"], from: "2025-12-25T09:00", every: "7d" } },
      },
    },
    {
      platform: loop,
      direct: (ref) => parseAddress(`loop:bot:dm-${{ "other:7": "ann", "other:8": "ben", "other:9": "cid" }[ref]}`),
    },
  );
  const { id } = await on.raise();
  await on.advance(MINUTE);
  expect(loop.requests.map(({ address: { chatId } }) => chatId)).toEqual(expect.arrayContaining(["dm-ben", "dm-cid"]));
  const called = on.posted("loop:bot:dm-ann");
  expect(called.filter(({ text }) => text.includes("Escalated: step 1 of 1 (ann)"))).toHaveLength(1);
  expect(escalated(called)).toContain("ann is the next person who can be notified, and is notified in a private chat");
  expect(on.posted()[0]?.text).not.toContain("notified none of its people");
  const steps = (await on.alerts.history(id)).filter(({ event }) => event === "escalate");
  expect(steps.map(({ reason }) => /step 1 of 1 \((\w+)\)/.exec(reason ?? "")?.[1])).toEqual(["ben", "cid", "ann"]);
  await on.advance(10 * MINUTE);
  expect(on.posted("loop:bot:dm-ann").filter(({ text }) => text.includes("Escalated"))).toHaveLength(1);
});

/** `ann` was on call until 10:00; the others are from 10:30 on. */
const gap = (...names: string[]) => {
  const from = (index: number) => (index < names.length ? `${11 + index}:30` : "24:00");
  const shifts = names.map((person, index) => ({ from: from(index), to: from(index + 1), person }));
  return { support: { timezone: "UTC", shifts: [{ from: "00:00", to: "10:00", person: "ann" }, ...shifts] } };
};
const inGap = (names: string[], { ann = "loop:7", fallback = OPS, ...step }: Record<string, unknown> = {}) => ({
  ...route({ escalate: [{ after: "5s", mention: ["oncall:support"], ...step }] }),
  fallback: [fallback],
  people: { ann: [ann], ben: ["other:8"], cid: ["other:9"] },
  rotas: gap(...names),
});
function gapOnTwo() {
  const { loop, other } = twoPlatforms();
  refuse(other, "dm-ben", "dm-cid");
  const chats: Record<string, string> = { "other:8": "ben", "other:9": "cid" };
  const more = {
    platform: loop,
    others: [other],
    direct: (ref: string) => (chats[ref] ? parseAddress(`other:bot:dm-${chats[ref]}`) : undefined),
    personOf: ({ chatId }: { chatId: string }) => Object.keys(chats).find((ref) => chatId === `dm-${chats[ref]}`),
  };
  return { other, more };
}
const whomOf = (posted: { body: Record<string, unknown>; text: string }[]) =>
  posted.flatMap(({ body, text }) =>
    text.includes("Escalated: step 1 of 1 (ann)") ? ((body.mentions as { users?: string[] })?.users ?? []) : [],
  );
const stepsOf = async (on: Watch, id: string) =>
  (await on.alerts.history(id)).flatMap(({ event, reason }) =>
    event === "escalate" ? (/step 1 of 1(?: \(([^)]*)\))?/.exec(reason ?? "")?.[1] ?? "no one") : [],
  );

it.each([[["ben"]], [["ben", "cid"]]])(
  "no one is on call, and each private chat refuses (%s): the person of the rota after that is mentioned where the page is",
  async (people) => {
    const { more } = gapOnTwo();
    const on = await watch(inGap(people), more);
    const { id } = await on.raise();
    await on.advance(MINUTE);
    expect(whomOf(on.posted())).toEqual(["7"]);
    expect(await stepsOf(on, id)).toEqual([...people, "ann"]);
    const page = on.posted().find(({ text }) => text.includes("Escalated: step 1 of 1 (ann)"))?.text;
    expect(page).toContain("ann is the next person who can be notified, and is mentioned");
    expect(page).toContain(`The private message to ${people.at(-1)} did not arrive`);
    expect(on.posted()[0]?.text).not.toContain("notified none of its people");
    expect(await ownAlerts(on)).toEqual([]);
    expect((await on.alerts.onCall())[0]?.standIns).toEqual([
      { route: "default", step: 1, person: "ann", isInstead: true },
    ]);
  },
);

it("no one is on call, the private chat refuses, and the next person has an account at the fallback only: mentioned there, once", async () => {
  const { more } = gapOnTwo();
  const third = new LoopbackPlatform("third", { idempotentCreate: true });
  third.width = 10_000;
  const config = inGap(["ben"], { ann: "third:7", fallback: "third:bot:ops" });
  const on = await watch(config, { ...more, others: [...more.others, third] });
  const { id } = await on.raise();
  await on.advance(MINUTE);
  expect(whomOf(third.messages)).toEqual(["7"]);
  expect(await stepsOf(on, id)).toEqual(["ben", "ann"]);
  expect(await ownAlerts(on)).toEqual([]);
});

it("no one is on call, the private chat refuses, and the step has a webhook: that is called once, and the next person is mentioned", async () => {
  const { url, taken, close } = await hook();
  try {
    const { more } = gapOnTwo();
    const on = await watch(inGap(["ben"], { webhook: url }), more);
    await on.raise();
    await on.advance(MINUTE);
    const named = on.posted().filter(({ text }) => /Escalated: step 1 of 1 \(ann, /.test(text));
    expect(named.map(({ body }) => body.mentions)).toEqual([{ users: ["7"] }]);
    expect(taken.filter((text) => text.includes("(ben, "))).toHaveLength(1);
    expect(taken.filter((text) => text.includes("(ann, "))).toHaveLength(1);
  } finally {
    close();
  }
});

it("no one is on call, and the gateway is killed before the private chat refuses: the next person is mentioned after the start", async () => {
  const { other, more } = gapOnTwo();
  const refused = other.script;
  other.script = ({ address: { chatId } }) =>
    chatId === "dm-ben" ? { kind: "retry", scope: "chat", error: "503", afterMs: 10_000 } : undefined;
  const on = await watch(inGap(["ben"]), more);
  const { id } = await on.raise();
  await on.clock.advance(5_000);
  await on.settle({ isAway: true });
  expect(await stepsOf(on, id)).toEqual(["ben"]);
  await on.crash(1_000);
  other.script = refused;
  await on.clock.advance(15_000);
  await on.advance(MINUTE);
  expect(whomOf(on.posted())).toEqual(["7"]);
  expect(await stepsOf(on, id)).toEqual(["ben", "ann"]);
});

it("no one is on call, and no one else of the rota can be notified: card, history and an alert say so, and so does the view of the rota", async () => {
  const { more } = gapOnTwo();
  const on = await watch(inGap(["ben", "cid"], { ann: "gone:7" }), more);
  const { id } = await on.raise();
  await on.advance(MINUTE);
  expect(on.posted()[0]?.text).toContain("Escalation step 1 notified none of its people");
  expect(await stepsOf(on, id)).toEqual(["ben", "cid", "no one"]);
  expect((await ownAlerts(on)).map(({ signal: { title } }) => title)).toEqual([
    expect.stringContaining("Escalation step 1 did not notify rota support"),
  ]);
  expect((await on.alerts.onCall())[0]?.unreached).toMatchObject([{ route: "default", step: 1 }]);
});

it.each([
  ["a step that was taken together with a later one", [["oncall:support"], ["gone"]], "step 1 of 2 (cid)"],
  ["a step that mentions another person", [["oncall:support", "zoe"]], "step 1 of 1 (zoe, cid)"],
  ["a step of two rotas", [["oncall:support", "oncall:second"]], "step 1 of 1 (zoe, cid)"],
])(
  "%s: the next person of the rota is notified when the private chat of the person on call refuses",
  async (_, steps, page) => {
    const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
    refuse(loop, "dm-ben", "dm-gone");
    const rotate = { people: ["ann", "ben", "cid"], from: "2025-12-25T09:00", every: "7d" };
    const chats: Record<string, string> = { "other:7": "ann", "other:8": "ben", "other:9": "cid", "other:6": "gone" };
    const on = await watch(
      {
        ...route({ escalate: steps.map((mention) => ({ after: "5s", mention })) }),
        people: { ann: ["other:7"], ben: ["other:8"], cid: ["other:9"], gone: ["other:6"], zoe: ["loop:5"] },
        rotas: {
          support: { timezone: "UTC", rotate },
          second: { timezone: "UTC", rotate: { ...rotate, people: ["zoe"] } },
        },
      },
      { platform: loop, direct: (ref) => parseAddress(`loop:bot:dm-${chats[ref]}`) },
    );
    await on.raise();
    await on.advance(MINUTE);
    expect(on.posted("loop:bot:dm-cid").filter(({ text }) => text.includes(`Escalated: ${page}`))).toHaveLength(1);
    expect(on.posted("loop:bot:dm-ann")).toEqual([]);
    const said = on.posted().filter(({ text }) => text.includes(`Escalated: ${page}`));
    expect(said.map(({ text }) => text)).toEqual([
      expect.stringContaining("cid is the next person who can be notified, and is notified in a private chat"),
    ]);
  },
);

it("the next person of a rota was called by another step, and the private chat refuses the page that mentions that person: the person after that is notified", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  refuse(loop, "dm-ben", "dm-cid");
  const chats: Record<string, string> = { "other:7": "ann", "other:8": "ben", "other:9": "cid" };
  const on = await watch(
    {
      ...route({
        escalate: [
          { after: "5s", mention: ["oncall:support"] },
          { after: "5s", mention: ["cid"] },
        ],
      }),
      people: { ann: ["other:7"], ben: ["other:8"], cid: ["other:9"] },
      rotas: {
        support: { timezone: "UTC", rotate: { people: ["ann", "ben", "cid"], from: "2025-12-25T09:00", every: "7d" } },
      },
    },
    {
      platform: loop,
      direct: (ref) => parseAddress(`loop:bot:dm-${chats[ref]}`),
      personOf: ({ chatId }) => Object.keys(chats).find((ref) => chatId === `dm-${chats[ref]}`),
    },
  );
  // The chat of cid is not known to refuse before that page is there.
  const take = loop.take.bind(loop);
  loop.take = async (operation, signal) => {
    const isPaged = () => loop.texts("room").some((text) => text.includes("Escalated: step 1 of 2 (cid)"));
    if (operation.address.chatId === "dm-cid") await until(isPaged, "the page in the room");
    return take(operation, signal);
  };
  await on.raise();
  await on.advance(MINUTE);
  const pages = on.posted("loop:bot:dm-ann").filter(({ text }) => text.includes("Escalated: step 1 of 2 (ann)"));
  expect(pages).toHaveLength(1);
  expect(escalated(pages)).toContain("ann is the next person who can be notified, and is notified in a private chat");
});

it("of two steps that were taken together, the first notifies none of its people: its page, its card and an alert say so", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  refuse(loop, "dm-ben");
  const on = await watch(
    {
      ...route({
        escalate: [
          { after: "5s", mention: ["ben"] },
          { after: "5s", mention: ["zoe"] },
        ],
      }),
      people: { ben: ["other:8"], zoe: ["loop:5"] },
    },
    { platform: loop, direct: (ref) => (ref === "other:8" ? parseAddress("loop:bot:dm-ben") : undefined) },
  );
  await on.raise();
  await on.advance(MINUTE);
  expect(
    on
      .posted()
      .map(({ text }) => text)
      .join(),
  ).toMatch(/step 1 of 2\. This step notifies none of its people/);
  expect(on.posted()[0]?.text).toContain("⚠ Escalation step 1 notified none of its people.");
  expect((await on.alerts.list({ open: true, limit: 9 })).map(({ signal: { title } }) => title)).toContain(
    "Escalation step 1 did not notify ben: Reply to Bob",
  );
});

it("a private page of which nobody knows whether it arrived: the next person of the rota reads that, and not that it takes no alerts", async () => {
  const loop = new LoopbackPlatform("loop");
  loop.script = ({ address: { chatId } }) => (chatId === "dm-ben" ? { kind: "lost" } : undefined);
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:support"] }] }),
      fallback: [OPS],
      people: { ann: ["other:7"], ben: ["other:8"] },
      rotas: {
        support: { timezone: "UTC", rotate: { people: ["ann", "ben"], from: "2025-12-25T09:00", every: "7d" } },
      },
    },
    {
      platform: loop,
      direct: (ref) => parseAddress(`loop:bot:dm-${{ "other:7": "ann", "other:8": "ben" }[ref]}`),
      personOf: ({ chatId }) => ({ "dm-ben": "other:8", "dm-ann": "other:7" })[chatId],
    },
  );
  const { id } = await on.raise();
  await on.advance(MINUTE);
  const called = on.posted("loop:bot:dm-ann").filter(({ text }) => text.includes("Escalated: step 1 of 1 (ann)"));
  expect(called).toHaveLength(1);
  expect(called[0]?.text).toContain("(the page in the private chat may not have arrived)");
  expect(called[0]?.text).toContain("ann is the next person who can be notified");
  const reasons = (await on.alerts.history(id)).map(({ reason }) => reason);
  const said = [...on.posted(), ...on.posted(OPS), ...called].map(({ text }) => text);
  expect([...said, ...reasons].join()).not.toContain("takes no alerts now");
});

it("who is mentioned at the fallback after a lost private page is notified: the card says nothing else", async () => {
  const { loop, other, inOther } = twoPlatforms();
  refuse(loop, "dm-ann");
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:support"] }] }),
      fallback: [OTHER_OPS],
      people: { ann: ["other:7"] },
      rotas: steady("ann"),
    },
    { platform: loop, others: [other], direct: () => parseAddress("loop:bot:dm-ann") },
  );
  await on.raise();
  await on.advance(MINUTE);
  expect(loop.requests.some(({ address: { chatId } }) => chatId === "dm-ann")).toBe(true);
  expect(escalated(inOther("ops"))).toContain("it did not arrive at");
  expect(inOther("ops").find(({ text }) => text.includes("Escalated"))?.body.mentions).toEqual({ users: ["7"] });
  expect(on.posted()[0]?.text).not.toContain("notified none of its people");
});

it("a rota without anyone who can be notified: every message says that no one is notified, and where the copy is", async () => {
  const on = await watch({
    ...route({ escalate: [{ after: "5s", mention: ["oncall:nights"] }] }),
    fallback: [OPS],
    people: { ann: ["other:7"] },
    rotas: nights,
  });
  const { id } = await on.raise();
  await on.advance(MINUTE);
  const nobody = "This step notifies none of its people. No one is on call in nights. It is posted";
  expect(escalated(on.posted())).toContain(`${nobody} in ${OPS} as well`);
  expect(escalated(on.posted(OPS))).toContain(`${nobody} here as well`);
  const history = (await on.alerts.history(id)).find(({ event }) => event === "escalate");
  expect(history?.reason).toContain(`${nobody} in ${OPS} as well`);
  expect(on.posted(OPS)[0]?.text).toContain("Some escalation steps notify no one now");
});

it("who has no account in one chat is said to be mentioned in the other", async () => {
  const { loop, other, inOther } = twoPlatforms();
  const on = await watch(
    {
      ...route({ to: [ROOM, OTHER], escalate: [{ after: "5s", mention: ["oncall:support"] }] }),
      fallback: [OPS],
      people: { olaf: ["other:8"] },
      rotas: steady("olaf"),
    },
    { platform: loop, others: [other] },
  );
  await on.raise();
  await on.advance(10_000);
  expect(escalated(on.posted())).toContain(`olaf has no loop account and is mentioned in ${OTHER}`);
  expect(escalated(inOther("room"))).not.toContain("no loop account");
  expect(inOther("room").at(-1)?.body.mentions).toEqual({ users: ["8"] });
  expect(on.posted(OPS)).toEqual([]);
});

it("who is mentioned at the fallback only is notified: neither the card nor an alert says otherwise", async () => {
  const { loop, other, inOther } = twoPlatforms();
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:support"] }] }),
      fallback: [OTHER_OPS],
      people: { olaf: ["other:8"] },
      rotas: steady("olaf"),
    },
    { platform: loop, others: [other] },
  );
  await on.raise();
  await on.advance(MINUTE);
  expect(escalated(on.posted())).toContain(`olaf has no loop account and is mentioned in ${OTHER_OPS}`);
  expect(inOther("ops").find(({ text }) => text.includes("Escalated"))?.body.mentions).toEqual({ users: ["8"] });
  expect([...on.posted(), ...inOther("ops")].map(({ text }) => text).join()).not.toContain("notifies none");
  expect(on.posted()[0]?.text).not.toContain("notified none of its people");
  expect(await ownAlerts(on)).toEqual([]);
});

it.each([
  [["dm-ann"], false],
  [["dm-ann", "dm-ben"], true],
])(
  "two people are notified in private chats, of which %j refuse: the card says so only when both do",
  async (chats, isMarked) => {
    const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
    refuse(loop, ...chats);
    const on = await watch(
      {
        ...route({ escalate: [{ after: "5s", mention: ["ann", "ben"] }] }),
        fallback: [OPS],
        people: { ann: ["other:7"], ben: ["other:8"] },
      },
      { platform: loop, direct: (ref) => parseAddress(ref === "other:7" ? "loop:bot:dm-ann" : "loop:bot:dm-ben") },
    );
    await on.raise();
    await on.advance(MINUTE);
    const said = on.posted().map(({ text }) => text);
    expect(said.filter((text) => text.includes("The private message to ann did not arrive"))).toHaveLength(1);
    expect(said.some((text) => text.includes("The private message to ben did not arrive"))).toBe(isMarked);
    expect(said[0]?.includes("Escalation step 1 notified none of its people")).toBe(isMarked);
  },
);

const calls = (...mention: string[]) => ({ after: "5s", mention });
it.each([
  ["both private messages are refused", ["loop:7"], [calls("ann", "ben")]],
  ["both private messages are refused after the next step was taken", ["loop:7"], [calls("ann", "ben"), calls("cid")]],
  [
    "the chat of the step and the private message to one of them are refused",
    ["other:7", "loop:7"],
    [{ ...calls("ann", "ben"), to: ["other:bot:gone"] }],
  ],
])("a page for two people of which %s: the fallback mentions both", async (_, ann, escalate) => {
  const { loop, other } = twoPlatforms();
  refuse(loop, "dm-ann", "dm-ben");
  refuse(other, "gone");
  const on = await watch(
    { ...route({ to: [OTHER], escalate }), fallback: [OPS], people: { ann, ben: ["loop:8"], cid: ["other:9"] } },
    {
      platform: loop,
      others: [other],
      direct: (ref) => parseAddress(ref.endsWith(":7") ? "loop:bot:dm-ann" : "loop:bot:dm-ben"),
    },
  );
  await on.raise();
  await on.advance(MINUTE);
  const mentioned = on
    .posted(OPS)
    .flatMap(({ body }) => (body.mentions as { users?: string[] } | undefined)?.users ?? []);
  expect([...new Set(mentioned)].sort()).toEqual(["7", "8"]);
});

it("a private page of which the copy is refused, too, goes to the next person of the rota", async () => {
  const { loop, other, inOther } = twoPlatforms();
  refuse(other, "dm-ann", "ops");
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:support"] }] }),
      fallback: [OTHER_OPS],
      people: { ann: ["other:7"], lea: ["other:8"] },
      rotas: {
        support: { timezone: "UTC", rotate: { people: ["ann", "lea"], from: "2025-12-25T09:00", every: "3650d" } },
      },
    },
    {
      platform: loop,
      others: [other],
      direct: (ref) => parseAddress(ref === "other:7" ? "other:bot:dm-ann" : "other:bot:dm-lea"),
    },
  );
  await on.raise();
  await on.advance(MINUTE);
  expect(escalated(inOther("dm-lea"))).toContain("lea");
});

it("one person is mentioned in the chat and another has no account there: the other is notified in a private chat", async () => {
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["ann", "ben"] }] }),
      people: { ann: ["loop:7"], ben: ["other:8"] },
    },
    { direct: (ref) => (ref === "other:8" ? parseAddress("loop:bot:dm-ben") : undefined) },
  );
  await on.raise();
  await on.advance(10_000);
  expect(escalated(on.posted())).toContain("ben has no loop account and is notified in a private chat");
  expect(escalated(on.posted("loop:bot:dm-ben"))).toContain("Sent to ben in a private chat");
});

it("a private chat notifies its person only: another who has an account there is notified in their own", async () => {
  const accounts: Readonly<Record<string, string>> = { "loop:8": "dm-olaf", "loop:77": "dm-eve" };
  const on = await watch(
    {
      ...route({ to: ["loop:bot:dm-olaf"], escalate: [{ after: "5s", mention: ["eve"] }] }),
      people: { eve: ["loop:77"] },
    },
    {
      direct: (ref) => parseAddress(`loop:bot:${accounts[ref]}`),
      personOf: ({ chatId }) => Object.keys(accounts).find((ref) => accounts[ref] === chatId),
    },
  );
  await on.raise();
  await on.advance(10_000);
  expect(escalated(on.posted("loop:bot:dm-olaf"))).toContain(
    "eve is not in this private chat and is notified in a private chat",
  );
  expect(escalated(on.posted("loop:bot:dm-eve"))).toContain("Sent to eve in a private chat");
});

it("a card of many that did not arrive is shown elsewhere with each alert on it, also when one is about another place", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  const on = await watch(
    { ...route({}), fallback: [OPS], destinations: { [OPS]: { per_minute: 1 } } },
    { platform: loop },
  );
  // The fallback has had its message of this minute: what follows shares one card there.
  refuse(loop, "room");
  await on.raise({ fingerprint: "first", title: "Reply to Ann" });
  refuse(loop, "room", "ops");
  await on.raise({ fingerprint: "second", title: "Reply to Bob" });
  await on.advance(30_000);
  const told = on
    .posted(ADMINS)
    .map(({ text }) => text)
    .join();
  expect(told).toContain("Reply to Bob");
  expect(told).toContain(`Alerts do not reach ${OPS}`);
});

it("an alert about an escalation goes to admins when the fallback does not take it", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  refuse(loop, "ops");
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:nights"] }] }),
      fallback: [OPS],
      rotas: nights,
    },
    { platform: loop },
  );
  await on.raise();
  await on.advance(MINUTE);
  const told = on
    .posted(ADMINS)
    .map(({ text }) => text)
    .join();
  expect(told).toContain("Escalation step 1 did not notify rota nights: Reply to Bob");
});

it.each([
  { title: "cannot take yet", status: 503, atOnce: 0 },
  { title: "redirects to where no POST is repeated", status: 302, atOnce: 1 },
])("an escalation that its webhook $title is at the fallback in time, once", async ({ status, atOnce }) => {
  const server = createServer(({ url }, response) => {
    if (url === "/page") response.writeHead(status, { location: "/moved" });
    response.end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const on = await watch({ ...route({ escalate: [{ webhook: `http://${host}/page` }] }), fallback: [OPS] });
    await on.raise();
    await on.advance(4 * MINUTE);
    const copies = () => on.posted(OPS).filter(({ text }) => text.includes(`it did not arrive at ${host}`));
    expect(copies()).toHaveLength(atOnce);
    await on.advance(10 * MINUTE);
    expect(copies()).toHaveLength(1);
    await on.advance(HOUR);
    expect(copies()).toHaveLength(1);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it("a card that a chat refuses is one dead letter, of its newest text", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  refuse(loop, "room");
  const on = await watch({ ...route({}), fallback: [OPS] }, loop);
  const { id } = await on.raise();
  for (const text of ["first", "second", "third"]) {
    await on.alerts.act(id, { kind: "note", text }, ANN);
    await on.advance(MINUTE);
  }
  const dead = () => on.rig.store.outbox.list({ status: "dead", conversation: ROOM, limit: 10 });
  const [letter, ...more] = await dead();
  expect(more).toEqual([]);
  loop.script = () => undefined;
  expect(await on.rig.gateway.release(letter?.id ?? "")).toBe(true);
  await on.settle();
  expect(await dead()).toEqual([]);
  expect(on.posted()).toHaveLength(1);
  expect(on.posted()[0]?.text).toContain("third");
});

it("the chat of the alert takes none: who is on call there is notified in a private chat, and each message says that", async () => {
  const { loop, other, inOther } = twoPlatforms();
  refuse(loop, "room");
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:support"] }] }),
      fallback: [OTHER_OPS],
      people: { ben: ["loop:8"] },
      rotas: steady("ben"),
    },
    {
      platform: loop,
      others: [other],
      direct: (ref) => (ref === "loop:8" ? parseAddress("loop:bot:dm-ben") : undefined),
    },
  );
  await on.raise();
  await on.advance(MINUTE);
  // The alert about the chat escalates, too: either may be posted first.
  const toBen = on.posted("loop:bot:dm-ben").filter(({ text }) => text.includes("Reply to Bob"));
  expect(escalated(toBen)).toContain(
    `ben cannot be notified in ${ROOM} (it takes no alerts now) and is notified in a private chat`,
  );
  // The fallback has the message that the chat did not take.
  const copies = inOther("ops").map(({ text }) => text);
  expect(copies.find((text) => text.includes("Escalated: step"))).toContain("and is notified in a private chat");
  expect(copies.join()).not.toContain("is mentioned");
  expect(await ownAlerts(on)).toEqual([]);
});

it("the private chat of who is on call takes none: the next step notifies the next person, and the chat is not tried again", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  refuse(loop, "dm-ben");
  const on = await watch(
    {
      ...route({
        escalate: [
          { after: "5s", mention: ["oncall:support"] },
          { after: "30s", mention: ["oncall:support"] },
        ],
      }),
      fallback: [OPS],
      people: { ben: ["other:8"], ann: ["other:7"] },
      rotas: {
        support: { timezone: "UTC", rotate: { people: ["ben", "ann"], from: "2025-12-25T09:00", every: "14d" } },
      },
    },
    {
      platform: loop,
      direct: (ref) => parseAddress(ref === "other:8" ? "loop:bot:dm-ben" : "loop:bot:dm-ann"),
      personOf: ({ chatId }) => ({ "dm-ben": "other:8", "dm-ann": "other:7" })[chatId],
    },
  );
  await on.raise();
  await on.advance(MINUTE);
  const why =
    "ben has no loop account (the private chat takes no alerts now); ann is the next person who can be notified, and is notified in a private chat";
  expect(
    on
      .posted("loop:bot:dm-ann")
      .map(({ text }) => text)
      .join(),
  ).toContain("Escalated: step 2 of 2");
  expect(
    on
      .posted()
      .map(({ text }) => text)
      .join(),
  ).toContain(why);
  // The card and the page of the first step.
  expect(loop.requests.filter(({ address }) => address.chatId === "dm-ben")).toHaveLength(2);
});

it("a private chat that refused a page is tried again after a while, after a reload, and when its person writes there", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  refuse(loop, "dm-ben");
  const pages = ["5s", "15s", "25s", "35s", "20m", "21m"].map((after) => ({ after, mention: ["ben"] }));
  const config = { ...route({ escalate: pages }), fallback: [OPS], people: { ben: ["loop:8"] } };
  // Ben has left the group and blocked the bot.
  const on = await watch(config, {
    platform: loop,
    direct: (ref) => (ref === "loop:8" ? parseAddress("loop:bot:dm-ben") : undefined),
    personOf: ({ chatId }) => (chatId === "dm-ben" ? "loop:8" : undefined),
    isReader: async (_, userId) => userId !== "8",
  });
  const tried = () => loop.requests.filter(({ address }) => address.chatId === "dm-ben").length;
  await on.raise();
  await on.advance(6_000);
  // The card and the page.
  expect(tried()).toBe(2);
  for (const n of [2, 3, 4]) await on.raise({ fingerprint: `replies:c${n}`, title: `Reply to ${n}` });
  await on.advance(MINUTE);
  expect(tried()).toBe(2);
  expect(
    on
      .posted()
      .map(({ text }) => text)
      .join(),
  ).toContain(`ben cannot read ${ROOM} (the private chat takes no alerts now)`);
  await on.reload(config);
  expect(tried()).toBe(3);
  await on.advance(9 * MINUTE);
  expect(tried()).toBe(3);
  await on.advance(10 * MINUTE);
  expect(tried()).toBeGreaterThan(3);
  // He unblocks the bot: Telegram has him write /start.
  loop.script = () => undefined;
  await on.rig.say("/start", { chatId: "dm-ben", userId: "8", isDm: true });
  await on.settle();
  expect(on.posted("loop:bot:dm-ben").map(({ text }) => text)).toContainEqual(expect.stringContaining("Test message"));
  const [own] = (await on.alerts.list({ limit: 40 })).filter(({ signal: { labels } }) => labels.destination);
  expect(own?.state).toBe("resolved");
  // It was posted at the fallback, and paged nobody: its escalation would notify the person who cannot be.
  expect(on.posted(OPS).some(({ text }) => text.includes("Alerts do not reach loop:bot:dm-ben"))).toBe(true);
  expect((await on.alerts.history(own?.id ?? "")).map(({ event }) => event)).not.toContain("escalate");
});

it("a person who left the group and blocked the bot: the alert and `/oncall who` say that, and not that an account is missing", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  refuse(loop, "dm-ben");
  const on = await watch(
    {
      ...route({ escalate: ["5s", "30s"].map((after) => ({ after, mention: ["oncall:support"] })) }),
      fallback: [OPS],
      people: { ben: ["loop:8"] },
      rotas: steady("ben"),
    },
    {
      platform: loop,
      direct: (ref) => (ref === "loop:8" ? parseAddress("loop:bot:dm-ben") : undefined),
      personOf: ({ chatId }) => (chatId === "dm-ben" ? "loop:8" : undefined),
      isReader: async (_, userId) => userId !== "8",
    },
  );
  await on.raise();
  await on.advance(MINUTE);
  const [rota] = await on.alerts.onCall();
  expect(rota?.unreached?.map(({ why }) => why)).toEqual(
    Array(2).fill(`ben cannot read ${ROOM} (the private chat takes no alerts now)`),
  );
  expect((await ownAlerts(on)).map(({ signal: { reason } }) => reason)).toContainEqual(
    expect.stringContaining(
      "None of their accounts can be notified where it was posted, and the private chat of ben takes no alerts.",
    ),
  );
});

it("a question about who reads a chat that got no answer is asked again after five seconds, and not before", async () => {
  let asked = 0;
  const answers = [() => Promise.reject(new Error("not connected")), async () => false];
  const on = await watch(
    {
      ...route({ escalate: ["5s", "7s", "15s"].map((after) => ({ after, mention: ["ben"] })) }),
      people: { ben: ["loop:8"] },
    },
    { isReader: async ({ chatId }) => (chatId === "room" ? (answers[asked++] ?? answers[1])?.() : undefined) },
  );
  await on.raise();
  await on.advance(8_000);
  expect(asked).toBe(1);
  await on.advance(8_000);
  expect(asked).toBe(2);
  const pages = on.posted().filter(({ text }) => text.includes("Escalated: step"));
  expect(pages.map(({ text }) => text.includes(`ben cannot read ${ROOM}`))).toEqual([false, false, true]);
});

it("a chat that refuses every message leaves one dead letter for its reminders, and none for tests of it", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  const on = await watch({ ...route({ remind: { every: "1m", times: 9 } }), fallback: [OPS] }, loop);
  await on.raise();
  await on.settle();
  // The card stays, new messages are refused.
  loop.script = ({ address: { chatId }, kind }) =>
    chatId === "room" && kind === "create" ? { kind: "permanent", error: "the bot may not post" } : undefined;
  await on.advance(5 * MINUTE);
  const [own] = (await on.alerts.list({ limit: 20 })).filter(({ signal: { labels } }) => labels.kind === "unsaid");
  expect(own?.state).toBe("firing");
  const tried = () => loop.requests.filter(({ address, kind }) => address.chatId === "room" && kind === "create");
  expect(tried().length).toBeGreaterThan(3);
  for (const _ of [1, 2, 3]) {
    expect(await on.alerts.test(own?.id ?? "")).toBe(ROOM);
    await on.settle();
  }
  expect(await on.rig.store.outbox.list({ status: "dead", conversation: ROOM, limit: 10 })).toHaveLength(1);
  // Its changes are refused, too: another alert says more, and this one ends without a sign that all is well.
  refuse(loop, "room");
  await on.advance(10 * MINUTE);
  expect((await on.alerts.get(own?.id ?? ""))?.state).toBe("resolved");
  const ended = on.posted(OPS).find(({ text }) => text.includes("no alert arrives there at all"));
  expect(ended?.text).toContain(`🔶 Reminders and escalations do not reach ${ROOM}`);
});

it("a page that its person and the admins refuse is posted where the alert is, and so is that they refuse", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  refuse(loop, "dm-ben", "admins");
  const on = await watch(
    {
      ...route({ escalate: [{ after: "20s", to: ["loop:bot:dm-ben"], mention: ["ben"] }] }),
      people: { ben: ["loop:8"] },
    },
    { platform: loop, personOf: ({ chatId }) => (chatId === "dm-ben" ? "loop:8" : undefined) },
  );
  await on.raise();
  await on.advance(2 * MINUTE);
  const posted = on.posted();
  const pages = posted.filter(({ text }) => text.includes("Escalated: step 1 of 1"));
  expect(pages.map(({ text }) => text)).toEqual([expect.stringMatching(/Reply to Bob[\s\S]*it did not arrive at/)]);
  expect(pages[0]?.text).toContain("<@8|ben>");
  expect(posted.filter(({ text }) => /do not reach loop:bot:dm-ben/.test(text)).length).toBeGreaterThan(0);
});

it("an alert about a chat that the settings do not use any more ends at a reload", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  refuse(loop, "room");
  const on = await watch({ ...route({}), fallback: [OPS] }, loop);
  await on.raise();
  await on.settle();
  const own = async () =>
    (await on.alerts.list({ limit: 20 })).find(({ signal: { labels } }) => labels.kind === "undelivered");
  await on.reload({ ...route({}), fallback: [OPS] });
  expect((await own())?.state).toBe("firing");
  await on.reload({ ...route({ to: [OPS] }), fallback: [OPS] });
  expect(await own()).toMatchObject({ state: "resolved", signal: { reason: "the settings send no alerts there" } });
});

it("a page that waits for the end of quiet hours is not said to be sent: history and card say until when", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  const dm = "loop:bot:dm-ben";
  const on = await watch(
    {
      ...route({ escalate: [{ after: "20s", to: [dm], mention: ["ben"] }] }),
      people: { ben: ["loop:8"] },
      destinations: { [dm]: { quiet: { from: "09:00", to: "12:30", timezone: "UTC" } } },
    },
    { platform: loop, personOf: ({ chatId }) => (chatId === "dm-ben" ? "loop:8" : undefined) },
  );
  const { id } = await on.raise();
  await on.advance(MINUTE);
  expect(on.posted(dm)).toEqual([]);
  const escalation = (await on.alerts.history(id)).find(({ event }) => event === "escalate");
  expect(escalation?.reason).toContain("It waits in loop:bot:dm-ben until its quiet hours end");
  expect(on.posted()[0]?.text).toMatch(/Escalation step 1 waits until <t:1767270600:\w>: quiet hours/);
  await on.advance(3 * HOUR);
  expect(on.posted(dm).some(({ text }) => text.includes("Escalated: step 1 of 1"))).toBe(true);
  expect(on.posted()[0]?.text).not.toContain("quiet hours");
});

it("a chat that does not notify a person names the chat that did, not one where the page still waits", async () => {
  const on = await watch(
    {
      ...route({ to: [ROOM, OPS, ADMINS], escalate: [{ after: "20s", mention: ["ben"] }] }),
      people: { ben: ["loop:8"] },
      destinations: { [ROOM]: { quiet: { from: "09:00", to: "12:30", timezone: "UTC" } } },
    },
    { isReader: async ({ chatId }) => chatId !== "admins" },
  );
  const { id } = await on.raise();
  await on.advance(MINUTE);
  const [page] = on.posted(ADMINS).filter(({ text }) => text.includes("Escalated: step 1"));
  expect(page?.text).toContain(`ben cannot read ${ADMINS} and is mentioned in ${OPS}. This`);
  expect(page?.text).toContain(`Step 1 waits in ${ROOM} until its quiet hours end`);
  const escalation = (await on.alerts.history(id)).find(({ event }) => event === "escalate");
  expect(escalation?.reason).not.toContain(`mentioned in ${ROOM}`);
});

it("a step of which no private message arrives is reported with its result: nothing comes in the quiet hours, and its page has the reasons", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  const people: Record<string, string> = { "dm-ben": "other:8", "dm-cid": "loop:9", admins: "loop:20" };
  loop.script = ({ address: { chatId } }) =>
    chatId.startsWith("dm-") ? { kind: "permanent", error: `403 no ${chatId}` } : undefined;
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:support"] }] }),
      people: { ben: ["other:8"], cid: ["loop:9"] },
      rotas: {
        support: { timezone: "UTC", rotate: { people: ["ben", "cid"], from: "2025-12-25T09:00", every: "7d" } },
      },
      destinations: { [ROOM]: { quiet: { from: "09:00", to: "12:30", timezone: "UTC" } } },
    },
    {
      platform: loop,
      direct: (ref) => parseAddress(`loop:bot:${Object.entries(people).find(([, one]) => one === ref)?.[0]}`),
      personOf: ({ chatId }) => people[chatId],
      isReader: async () => false,
    },
  );
  await on.raise();
  await on.advance(MINUTE);
  expect(on.posted()).toEqual([]);
  const atAdmins = on.posted(ADMINS).filter(({ text }) => text.includes("Reply to Bob"));
  // No one but the admin reads it.
  expect(atAdmins.filter(({ text }) => text.includes("<@"))).toEqual([]);
  for (const { text } of atAdmins) expect(text.split("Escalated: step").length).toBeLessThan(3);
  expect((await ownAlerts(on)).map(({ signal: { reason } }) => reason)).toEqual([
    expect.stringContaining("and the private chat of cid, ben takes no alerts"),
  ]);
  await on.advance(3 * HOUR);
  const pages = on.posted().filter(({ text }) => text.includes("Escalated"));
  expect(pages.map(({ text }) => text)).toEqual([
    expect.stringContaining(
      [
        "Escalated: step 1 of 1",
        "This step notifies none of its people",
        `cid cannot read ${ROOM} (the private chat takes no alerts now)`,
        `It is posted in ${ADMINS} as well`,
        "It waited because of quiet hours",
        "This was the last step",
        "The private message to cid did not arrive: 403 no dm-cid",
        "The private message to ben did not arrive: 403 no dm-ben",
      ].join(". "),
    ),
  ]);
});

it("a lost private message is corrected once, with its own reason, also when its copy is lost as well", async () => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  loop.script = ({ address: { chatId } }) =>
    chatId === "dm-ann" || chatId === "admins" ? { kind: "permanent", error: `no ${chatId}` } : undefined;
  const on = await watch(
    { ...route({ escalate: [{ after: "20s", mention: ["ann"] }] }), people: { ann: ["other:7"] } },
    { platform: loop, direct: () => parseAddress("loop:bot:dm-ann") },
  );
  await on.raise();
  await on.advance(2 * MINUTE);
  const corrections = on.posted().filter(({ text }) => text.includes("did not arrive:"));
  expect(corrections.map(({ text }) => /did not arrive: [^.`]*/.exec(text)?.[0].trim())).toEqual([
    "did not arrive: no dm-ann",
  ]);
});

it("a step that nobody could read stays an alert over a restart, until its people are known to read the chat", async () => {
  const config = {
    ...route({ escalate: [{ after: "5s", mention: ["ben"] }] }),
    fallback: [OPS],
    people: { ben: ["loop:8"] },
  };
  let reads: () => Promise<boolean> = async () => false;
  const on = await watch(config, { isReader: () => reads() });
  await on.raise();
  await on.advance(MINUTE);
  const state = async () => (await ownAlerts(on))[0]?.state;
  expect(await state()).toBe("firing");
  // The platform is not connected yet.
  reads = () => Promise.reject(new Error("not connected"));
  await on.crash();
  await on.advance(2 * MINUTE);
  expect(await state()).toBe("firing");
  reads = async () => false;
  await on.advance(2 * MINUTE);
  expect(await state()).toBe("firing");
  reads = async () => true;
  await on.advance(2 * MINUTE);
  expect(await state()).toBe("resolved");
});

/** The bot is removed from the chat after the card was posted. The fallback is where no one of the rota has an account. */
async function removedFromRoom(chats: Record<string, string>, refusing: string[] = [], unread: string[] = []) {
  return pagedIn(chats, (loop) => refuse(loop, "room", ...refusing), unread);
}

/** What becomes of the page in the chat is decided after the card was posted. */
async function pagedIn(chats: Record<string, string>, decide: (loop: LoopbackPlatform) => void, unread: string[] = []) {
  const { other, inOther } = twoPlatforms();
  const loop = new LoopbackPlatform("loop");
  const on = await watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:support"] }] }),
      fallback: [OTHER_OPS],
      people: { ann: ["loop:7"], ben: ["loop:8"] },
      rotas: {
        support: { timezone: "UTC", rotate: { people: ["ben", "ann"], from: "2026-01-01T09:00", every: "7d" } },
      },
    },
    {
      platform: loop,
      others: [other],
      direct: (ref) => (chats[ref] === undefined ? undefined : parseAddress(`loop:bot:${chats[ref]}`)),
      isReader: async ({ chatId }) => !unread.includes(chatId),
    },
  );
  const { id } = await on.raise();
  decide(loop);
  await on.advance(MINUTE);
  const atOps = inOther("ops").filter(({ text }) => text.includes("Reply to Bob") && text.includes("Escalated: step"));
  const steps = (await on.alerts.history(id)).filter(({ event }) => event === "escalate");
  return { on, id, atOps: atOps.map(({ text }) => text), steps: steps.map(({ reason }) => reason ?? "") };
}
const CHAT_OF = { "loop:8": "dm-ben", "loop:7": "dm-ann" };

it("a page that a group refuses goes to the private chat of its person, and the fallback says so in the same message", async () => {
  const { on, atOps, steps } = await removedFromRoom(CHAT_OF);
  const called = on.posted("loop:bot:dm-ben").filter(({ text }) => text.includes("Escalated: step 1 of 1 (ben)"));
  expect(called).toHaveLength(1);
  expect(on.posted("loop:bot:dm-ann")).toEqual([]);
  expect(atOps).toEqual([
    expect.stringContaining(
      `Escalated: step 1 of 1 (ben). This was the last step (it did not arrive at ${ROOM}). ben has no other account and is notified in a private chat.`,
    ),
  ]);
  expect(steps).toHaveLength(2);
  await on.advance(10 * MINUTE);
  expect(on.posted("loop:bot:dm-ben").filter(({ text }) => text.includes("Escalated"))).toHaveLength(1);
});

it.each([
  [OTHER_OPS, "ben has no other account"],
  ["loop:bot:dm-olaf", "ben is not in this private chat"],
])(
  "a copy in %s of a page for another group than that of the alert says who is notified in a private chat",
  async (fallback, why) => {
    const { loop, other, inOther } = twoPlatforms();
    refuse(loop, "small");
    const on = await watch(
      {
        ...route({ escalate: [{ after: "5s", to: ["loop:bot:small"], mention: ["ben"] }] }),
        fallback: [fallback],
        people: { ben: ["loop:8"] },
      },
      {
        platform: loop,
        others: [other],
        direct: (ref) => (ref === "loop:8" ? parseAddress("loop:bot:dm-ben") : undefined),
        personOf: ({ chatId }) => ({ "dm-ben": "loop:8", "dm-olaf": "loop:20" })[chatId],
      },
    );
    await on.raise();
    await on.advance(MINUTE);
    expect(escalated(on.posted("loop:bot:dm-ben"))).toContain("Sent to ben in a private chat");
    const copies = [...inOther("ops"), ...on.posted("loop:bot:dm-olaf")];
    expect(escalated(copies)).toContain(
      `(it did not arrive at loop:bot:small). ${why} and is notified in a private chat. `,
    );
  },
);

it("a page that a group and the private chat of its person refuse goes to the next person of the rota", async () => {
  const { on, atOps } = await removedFromRoom(CHAT_OF, ["dm-ben"]);
  const called = on.posted("loop:bot:dm-ann").filter(({ text }) => text.includes("Escalated: step 1 of 1 (ann)"));
  expect(called).toHaveLength(1);
  expect(atOps.join()).toContain("ann is the next person who can be notified, and is notified in a private chat");
});

it.each([
  ["once", "the group takes the next message, which mentions the person"],
  ["always", "no one is notified, which an alert says"],
])("a page that a group refuses %s and the private chat of its person refuses: %s", async (often) => {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  const people: Record<string, string> = { "dm-ben": "loop:8", admins: "loop:20" };
  const on = await watch(
    { ...route({ escalate: [{ after: "5s", mention: ["ben"] }] }), people: { ben: ["loop:8"] } },
    {
      platform: loop,
      direct: (ref) => (ref === "loop:8" ? parseAddress("loop:bot:dm-ben") : undefined),
      personOf: ({ chatId }) => people[chatId],
    },
  );
  const { id } = await on.raise();
  let refusals = often === "once" ? 1 : Number.POSITIVE_INFINITY;
  loop.script = ({ kind, address: { chatId } }) => {
    if (chatId === "dm-ben") return { kind: "permanent", error: "Cannot send messages to this user" };
    if (chatId !== "room" || kind !== "create" || refusals === 0) return undefined;
    refusals--;
    return { kind: "permanent", error: "Missing Permissions" };
  };
  await on.advance(MINUTE);
  const pages = on.posted().filter(({ text }) => text.includes("Reply to Bob") && text.includes("Escalated: step"));
  expect(pages.map(({ body }) => body.mentions)).toEqual(often === "once" ? [{ users: ["8"] }] : []);
  const copies = on.posted(ADMINS).filter(({ text }) => text.includes("Reply to Bob"));
  expect(copies.map(({ text }) => text).join()).toContain("This step notifies none of its people");
  expect((await on.alerts.history(id)).map(({ reason }) => reason).join()).toContain("notifies none of its people");
  expect((await ownAlerts(on)).map(({ signal: { title } }) => title)).toEqual([
    "Escalation step 1 did not notify ben: Reply to Bob",
  ]);
});

it("a page that a group refuses, and that no one else gets, is said to notify no one: at the fallback, by the card and by an alert", async () => {
  const { on, id, atOps } = await removedFromRoom({}, [], ["admins"]);
  expect(atOps).toEqual([
    expect.stringMatching(/it did not arrive at loop:bot:room\)\..*This step notifies none of its people/),
  ]);
  const admins = on.posted(ADMINS).filter(({ text }) => text.includes("Reply to Bob"));
  expect(admins.some(({ text }) => text.includes("Escalation step 1 notified none of its people"))).toBe(true);
  expect((await on.alerts.get(id))?.urged?.default?.taken?.at(-1)?.isUnreached).toBe(true);
  expect((await ownAlerts(on)).map(({ signal: { title, reason } }) => `${title} · ${reason}`)).toEqual([
    "Escalation step 1 did not notify rota support: Reply to Bob · Step 1 of route default notified none of its people. None of their accounts can be notified where it was posted.",
  ]);
});

/** Nobody knows whether the page arrived: its connection was lost while it was being sent. */
const loseInRoom = (loop: LoopbackPlatform) => {
  loop.script = (operation) =>
    operation.address.chatId === "room" && operation.kind === "create" && operation.part.text.includes("Escalated")
      ? { kind: "ambiguous", error: "502 Bad Gateway" }
      : undefined;
};

it("a page of which nobody knows whether a group got it goes to the private chat of its person, and says why", async () => {
  const { on, id, atOps } = await pagedIn(CHAT_OF, loseInRoom);
  const called = () => on.posted("loop:bot:dm-ben").filter(({ text }) => text.includes("Escalated"));
  expect(called().map(({ text }) => text)).toEqual([
    expect.stringContaining(
      `ben may not be notified (the page in ${ROOM} may not have arrived) and is notified in a private chat. This was the last step. Sent to ben in a private chat: not notified for certain where this alert is posted`,
    ),
  ]);
  expect(on.posted("loop:bot:dm-ann")).toEqual([]);
  expect(atOps).toEqual([
    expect.stringContaining(
      `(it may not have arrived at ${ROOM}). ben has no other account and is notified in a private chat.`,
    ),
  ]);
  await on.advance(10 * MINUTE);
  expect(called()).toHaveLength(1);
  const reasons = (await on.alerts.history(id)).map(({ reason }) => reason);
  const { card } = await on.alerts.details(id, ROOM);
  const history = card?.fields?.find(({ name }) => name === "History")?.value;
  expect(history).toContain("may not have arrived) and is notified in a private chat");
  expect(history?.length).toBeLessThan(1_024);
  const said = [...on.posted(), ...called()].map(({ text }) => text);
  expect([...said, ...atOps, ...reasons].join()).not.toMatch(/did not arrive|takes no alerts|notifies none/);
});

it("and when that private chat refuses it, the next person of the rota gets it", async () => {
  const { on, id } = await pagedIn(CHAT_OF, (loop) => {
    loseInRoom(loop);
    const inRoom = loop.script;
    loop.script = (operation, n) =>
      operation.address.chatId === "dm-ben"
        ? { kind: "permanent", error: "403 Forbidden: bot was blocked by the user" }
        : inRoom(operation, n);
  });
  const called = on.posted("loop:bot:dm-ann").filter(({ text }) => text.includes("Escalated: step 1 of 1 (ann)"));
  expect(called.map(({ text }) => text)).toEqual([
    expect.stringContaining("ann is the next person who can be notified, and is notified in a private chat"),
  ]);
  expect((await on.alerts.get(id))?.urged?.default?.taken?.at(-1)?.isUnreached).toBeUndefined();
});

it("a page of which nobody knows whether a group got it, and that no one else gets: its copy says that no one was notified for certain", async () => {
  const { on, id, atOps } = await pagedIn({}, loseInRoom, ["admins"]);
  expect(atOps).toEqual([
    expect.stringContaining(
      `(it may not have arrived at ${ROOM}). It is not certain that this step notified any of its people. ben has no other account`,
    ),
  ]);
  expect((await on.alerts.get(id))?.urged?.default?.taken?.at(-1)?.isUnreached).toBeUndefined();
  const own = (await ownAlerts(on)).map(({ signal: { title } }) => title);
  expect(own.join()).not.toContain("did not notify");
});

type Fate = "in doubt" | "refused";
const ANSWERS = {
  "in doubt": { kind: "ambiguous", error: "502 Bad Gateway" },
  refused: { kind: "permanent", error: "403 Forbidden: bot was kicked" },
} as const;

/** Everyone has an account where the fallback is, and the private chat of the admins has another person. */
function oneFallback(loop: LoopbackPlatform, chats: Record<string, string> = CHAT_OF) {
  const people: Record<string, string> = { "dm-ben": "loop:8", "dm-ann": "loop:7", admins: "loop:20" };
  return watch(
    {
      ...route({ escalate: [{ after: "5s", mention: ["oncall:support"] }] }),
      fallback: [OPS],
      people: { ann: ["loop:7"], ben: ["loop:8"] },
      rotas: {
        support: { timezone: "UTC", rotate: { people: ["ben", "ann"], from: "2026-01-01T09:00", every: "7d" } },
      },
    },
    {
      platform: loop,
      direct: (ref) => (chats[ref] === undefined ? undefined : parseAddress(`loop:bot:${chats[ref]}`)),
      personOf: ({ chatId }) => people[chatId],
    },
  );
}

/** New pages in these chats have these fates. */
async function pagedAndCopied(fates: Record<string, Fate>, chats?: Record<string, string>) {
  const loop = new LoopbackPlatform("loop");
  const on = await oneFallback(loop, chats);
  const { id } = await on.raise();
  loop.script = (operation) => {
    const fate = fates[operation.address.chatId];
    const isPage = operation.kind === "create" && operation.part.text.includes("Escalated");
    return fate !== undefined && isPage ? ANSWERS[fate] : undefined;
  };
  await on.advance(10 * MINUTE);
  const pagesIn = (chat: string) =>
    on
      .posted(`loop:bot:${chat}`)
      .filter(({ text }) => text.includes("Reply to Bob") && text.includes("Escalated: step"))
      .map(({ text }) => text);
  const asked = (chat: string) =>
    loop.requests.filter(
      (one) => one.address.chatId === chat && one.kind === "create" && /Escalated/.test(one.part.text),
    );
  return { on, id, pagesIn, asked };
}

it.each([
  ["in doubt", "in doubt"],
  ["in doubt", "refused"],
  ["refused", "in doubt"],
  ["refused", "refused"],
] as const)(
  "a page that is %s in its group, and %s at the fallback, goes to the private chat of its person, once",
  async (room, ops) => {
    const { on, id, pagesIn, asked } = await pagedAndCopied({ room, ops });
    expect(pagesIn("dm-ben")).toEqual([expect.stringContaining("Escalated: step 1 of 1 (ben). ben ")]);
    expect(pagesIn("dm-ann")).toEqual([]);
    expect(asked("room")).toHaveLength(1);
    const [copy, ...more] = pagesIn("admins");
    expect(more).toEqual([]);
    expect(copy).toContain("ben is not in this private chat and is notified in a private chat");
    if (ops === "in doubt") expect(copy).toContain(`(it may not have arrived at ${OPS})`);
    expect((await on.alerts.get(id))?.urged?.default?.taken?.at(-1)?.isUnreached).toBeUndefined();
  },
);

it("a page of which nobody knows whether its group or the fallback got it, and that its person refuses, goes to the next person", async () => {
  const { pagesIn } = await pagedAndCopied({ room: "in doubt", ops: "in doubt", "dm-ben": "refused" });
  expect(pagesIn("dm-ann")).toEqual([
    expect.stringContaining("ann is the next person who can be notified, and is notified in a private chat"),
  ]);
});

it("a page that its group and its person refuse, and of which nobody knows whether the fallback got it, mentions them there once", async () => {
  const { pagesIn, asked } = await pagedAndCopied({ room: "refused", ops: "in doubt", "dm-ben": "refused" });
  expect(pagesIn("dm-ann")).toHaveLength(1);
  const texts = asked("ops").map((one) => (one.kind === "create" ? one.part.text : ""));
  expect(texts.map((text) => text.includes("<@8|ben>"))).toEqual([true, false]);
  expect(texts[1]).toContain(
    `ben could not be notified in ${ROOM} when this step was due (it took no alerts; the private chat takes no alerts now); ann is the next person`,
  );
});

it("a page of which nobody knows whether its group or the fallback got it, and that no one else gets: the copy that arrived says so", async () => {
  const { on, id, pagesIn } = await pagedAndCopied({ room: "in doubt", ops: "in doubt" }, {});
  expect(pagesIn("admins")).toEqual([
    expect.stringContaining(
      `(it may not have arrived at ${ROOM}) (it may not have arrived at ${OPS}). It is not certain that this step notified any of its people. ben is not in this private chat`,
    ),
  ]);
  expect((await on.alerts.get(id))?.urged?.default?.taken?.at(-1)?.isUnreached).toBeUndefined();
  expect((await ownAlerts(on)).map(({ signal: { title } }) => title)).toEqual([]);
});

it("a page that its group, the fallback and its person refuse is in the private chat of the next person once", async () => {
  const loop = new LoopbackPlatform("loop");
  const on = await oneFallback(loop);
  await on.raise();
  refuse(loop, "room", "ops", "dm-ben");
  // The card that changes finds out that the group and the fallback refuse, before the page is due.
  await on.raise({ reason: "200 % of 1 h passed" });
  await on.advance(10 * MINUTE);
  const said = on.posted("loop:bot:dm-ann").slice(1);
  expect(said.map(({ text }) => text)).toEqual([expect.stringContaining("Sent to ann in a private chat")]);
});

/**
 * A page waits for its chat, which answers with errors until it is given up; `change` comes before that. Ann has an account in that chat, and
 * Ben on another platform, where the fallback is.
 */
async function changedWhileItWaits(
  change: (on: Watch, config: Record<string, unknown>) => Promise<void>,
  {
    chats = DIRECT,
    duty = ["ann"],
    unread = ["ops"],
  }: { chats?: Record<string, string>; duty?: string[]; unread?: string[] } = {},
) {
  const { loop, other, inOther } = twoPlatforms();
  const config = {
    ...route({ escalate: [{ after: "5s", mention: ["oncall:duty"] }] }),
    fallback: [OTHER_OPS],
    fallback_after: "60s",
    people: { ann: ["loop:7"], ben: ["other:8"] },
    rotas: { duty: { timezone: "UTC", rotate: { people: duty, from: "2026-01-01T09:59", every: "90s" } } },
  };
  const on = await watch(config, {
    platform: loop,
    others: [other],
    direct: (ref) => parseAddress(chats[ref] ?? ""),
    personOf: (at) => Object.keys(chats).find((ref) => chats[ref] === formatAddress(at)),
    isReader: async ({ chatId }) => !unread.includes(chatId),
  });
  const { id } = await on.raise();
  let tries = 0;
  loop.script = ({ kind, address: { chatId } }) => {
    if (kind !== "create" || chatId !== "room") return undefined;
    tries++;
    return { kind: "ambiguous", error: "500" };
  };
  // What is on its way is not waited for.
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds; n++) {
      await on.clock.advance(1_000);
      await on.settle({ isAway: true });
    }
  };
  await pass(8);
  expect(tries).toBeGreaterThan(0);
  await change(on, config);
  await pass(90);
  const about = <T extends { text: string }>(posted: T[]) =>
    posted.filter(({ text }) => text.includes("Reply to Bob") && text.includes("Escalated: step"));
  const texts = (posted: { text: string }[]) => about(posted).map(({ text }) => text);
  return {
    on,
    id,
    atAnn: texts(on.posted("loop:bot:dm-ann")),
    atBen: texts(inOther("dm-ben")),
    atOps: texts(inOther("ops")),
    atSupport: about(on.posted("loop:bot:support")),
  };
}
const DIRECT = { "loop:7": "loop:bot:dm-ann", "other:8": "other:bot:dm-ben" };
const rotaOf = (person: string) => ({
  duty: { timezone: "UTC", rotate: { people: [person], from: "2026-01-01T09:59", every: "90s" } },
});

it.each([
  ["another turn of the rota starts", ["ann", "ben"], async () => undefined],
  [
    "the rota is edited",
    ["ann"],
    (on: Watch, config: Record<string, unknown>) => on.reload({ ...config, rotas: rotaOf("ben") }, { isAway: true }),
  ],
])(
  "a page waits for its chat, and %s before it is given up: the person on call now gets it, and the copy says so",
  async (_, duty, change) => {
    const { atAnn, atBen, atOps } = await changedWhileItWaits(change, { duty });
    expect(atBen).toEqual([
      expect.stringContaining(
        `Escalated: step 1 of 1 (ben). ben cannot read ${OTHER_OPS} and is notified in a private chat.`,
      ),
    ]);
    expect(atAnn).toEqual([]);
    expect(atOps).toEqual([
      expect.stringContaining(
        `Escalated: step 1 of 1 (ann). This was the last step (it may not have arrived at ${ROOM}). The people of this step have changed: it notifies ben now`,
      ),
    ]);
  },
);

it("a page waits for its chat, and another turn of the rota starts before it is given up: who is on call now is mentioned at the fallback", async () => {
  const { on, atBen, atOps } = await changedWhileItWaits(async () => undefined, { duty: ["ann", "ben"], unread: [] });
  expect(atBen).toEqual([]);
  expect(atOps).toEqual([expect.stringMatching(/^<@8\|ben> .*it notifies ben now/s)]);
  expect((await ownAlerts(on)).map(({ signal: { title } }) => title)).toEqual([]);
});

it("a page waits for its chat, and its alert moves to another one before it is given up: the page is posted there", async () => {
  const { on, id, atAnn, atSupport, atOps } = await changedWhileItWaits((on, config) =>
    on.reload(
      { ...config, ...route({ to: ["loop:bot:support"], escalate: [{ after: "5s", mention: ["oncall:duty"] }] }) },
      { isAway: true },
    ),
  );
  expect(atSupport.map(({ text }) => text)).toEqual([
    expect.stringContaining(`Escalated: step 1 of 1 (ann). The page in ${ROOM} may not have arrived.`),
  ]);
  expect(atSupport[0]?.body.mentions).toEqual({ users: ["7"] });
  expect(atAnn).toEqual([]);
  expect(atOps).toEqual([expect.stringContaining("ann has no other account and is mentioned in loop:bot:support")]);
  expect((await on.alerts.history(id)).map(({ reason }) => reason).join()).not.toContain("cannot be notified");
});

it("a page waits for its chat, and its step is removed before it is given up: the people whom it called get it", async () => {
  const { atAnn, atOps } = await changedWhileItWaits((on, config) =>
    on.reload({ ...config, ...route({}) }, { isAway: true }),
  );
  expect(atAnn).toEqual([expect.stringContaining("Escalated: step 1 of 1 (ann).")]);
  expect(atOps.join()).toContain("ann has no other account and is notified in a private chat");
});

it("a page waits for its chat, and the next person on call cannot be notified: an alert says that the step notified no one", async () => {
  const { on, atOps } = await changedWhileItWaits(async () => undefined, {
    duty: ["ann", "ben"],
    chats: {},
    unread: ["ops", "admins"],
  });
  expect(atOps.join()).toContain("This step notifies none of its people");
  expect((await ownAlerts(on)).map(({ signal: { title } }) => title)).toEqual([
    "Escalation step 1 did not notify rota duty: Reply to Bob",
  ]);
});

it.each([
  [
    "at a fallback that can",
    [OPS],
    "everyone cannot be mentioned on telegram and is mentioned in loop:bot:ops",
    { everyone: true },
  ],
  [
    "nowhere",
    ["telegram:bot:ops"],
    "This step notifies none of its people. everyone cannot be mentioned on telegram",
    undefined,
  ],
  [
    "in no private chat of an admin, where it is posted as well",
    [],
    `This step notifies none of its people. everyone cannot be mentioned on telegram. It is posted in ${ADMINS} as well`,
    undefined,
  ],
])("everyone, where the platform has no such mention, is notified %s", async (_, fallback, text, mentions) => {
  const telegram = new LoopbackPlatform("telegram", { idempotentCreate: true });
  telegram.width = 10_000;
  const on = await watch(
    {
      ...route({ to: ["telegram:bot:room"], escalate: [{ after: "5s", mention: ["everyone"] }] }),
      fallback,
    },
    { others: [telegram], personOf: ({ chatId }) => (chatId === "admins" ? "loop:1" : undefined) },
  );
  await on.raise();
  await on.advance(MINUTE);
  const pageIn = (chatId: string) =>
    [...telegram.messages, ...on.posted(OPS), ...on.posted(ADMINS)].find(
      (one) => one.chatId === chatId && one.text.includes("Escalated:"),
    );
  expect(pageIn("room")?.text).toContain(text);
  expect(pageIn("room")?.text).not.toContain("@everyone");
  const copy = pageIn(fallback.length > 0 ? "ops" : "admins");
  expect(copy).toBeDefined();
  expect([pageIn("room")?.body.mentions, copy?.body.mentions]).toEqual([undefined, mentions]);
  expect(await ownAlerts(on)).toHaveLength(mentions ? 0 : 1);
});
