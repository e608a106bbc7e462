/** A platform is away while an escalation becomes due: whom it calls is called elsewhere, once, and nobody is paged about the platform when it is back. */
import { describe, expect, it } from "vitest";
import type { Address } from "../../src/domain/chat/address.js";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { until } from "../support/until.js";
import { ANN, MINUTE, ROOM, START, signal, type Watch, watch } from "./watch.js";

const OTHER_OPS = "other:bot:ops";

/** The route leads to `loop` only, the fallback is on `other`. Everyone has accounts on both, unless `people` says otherwise. */
async function twoPlatforms(more: Record<string, unknown> = {}) {
  const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
  const other = new LoopbackPlatform("other", { idempotentCreate: true });
  const third = new LoopbackPlatform("third", { idempotentCreate: true });
  for (const one of [other, third]) one.width = 10_000;
  const on = await watch(
    {
      routes: {
        default: {
          to: [ROOM],
          remind: { times: 0 },
          escalate: [
            { after: "15s", mention: ["ann"] },
            { after: "30s", mention: ["ben"] },
          ],
        },
      },
      fallback: [OTHER_OPS],
      fallback_after: "30s",
      watch_gateway: { offline_after: "20s", undelivered_after: "1d" },
      people: { ann: ["loop:7", "other:7"], ben: ["loop:8", "other:8"] },
      ...more,
    },
    { platform: loop, others: [other, third], direct: directOf, personOf, nameOf },
  );
  return { on, loop, other, third };
}

const nameOf = (ref: string) => (ref === "loop:9" ? "Dr. Cara" : undefined);

function directOf(ref: string): Address {
  const [platform = "", id] = ref.split(":");
  return { platform, botId: "bot", chatId: `dm-${id}` };
}

function personOf(at: Address): string | undefined {
  return at.chatId.startsWith("dm-") ? `${at.platform}:${at.chatId.slice("dm-".length)}` : undefined;
}

function set(on: Watch, phase: "offline" | "online" | "reconnecting" | "connecting"): void {
  on.rig.adapters.find(({ platform }) => platform === "loop")?.context.gateway.state({ phase, botId: "bot" });
}

/** What waits for a platform that is away never ends: only work under way is waited for. */
async function pass(on: Watch, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    await on.clock.advance(1_000);
    await on.settle({ isAway: true });
  }
}

const pages = (platform: LoopbackPlatform, step: number) =>
  platform.messages.filter(
    ({ text }) => text.includes(`Escalated: step ${step} of 2`) && text.includes("Reply to Bob"),
  );
const usersOf = (posted: { body: Record<string, unknown> }[]) =>
  posted.flatMap(({ body }) => (body.mentions as { users?: string[] } | undefined)?.users ?? []);

it("a page that its platform does not take in time is posted at the fallback with its mention, and pages nobody again at recovery", async () => {
  const { on, loop, other } = await twoPlatforms();
  const { id } = await on.raise();
  await on.advance(18_000);
  expect(usersOf(pages(loop, 1))).toEqual(["7"]);
  set(on, "offline");
  await pass(on, 90_000);
  const copies = pages(other, 2);
  expect(copies.map(({ chatId }) => chatId)).toEqual(["ops"]);
  expect(usersOf(copies)).toEqual(["8"]);
  set(on, "online");
  await on.advance(MINUTE);
  expect(pages(other, 2)).toHaveLength(1);
  const late = pages(loop, 2).filter(({ chatId }) => chatId === "room");
  expect(late).toHaveLength(1);
  expect(usersOf(late)).toEqual([]);
  expect(late[0]?.text).toContain(`ben was notified in ${OTHER_OPS}`);
  // What it says of time is not of a time that nobody knows.
  expect(late[0]?.text).toContain("It was due ");
  // The history does not end with a page that its chat has not taken.
  const history = (await on.alerts.history(id)).filter(({ actor }) => actor.id === ROOM);
  expect(history.map(({ event }) => event)).toEqual(["undelivered", "undelivered", "posted"]);
  const due = new Date(START + 30_000).toISOString();
  expect(history.at(-1)?.reason).toBe(`"Escalated: step 2 of 2 (ben)" in ${ROOM}: it was due ${due}`);
});

/** The platform has been away for longer than `offline_after` when the step is due. */
async function dueWhileAway(more: Record<string, unknown> = {}) {
  const rig = await twoPlatforms({
    routes: { default: { to: [ROOM], remind: { times: 0 }, escalate: [{ after: "60s", mention: ["ann"] }] } },
    ...more,
  });
  const { id } = await rig.on.raise();
  await pass(rig.on, 5_000);
  set(rig.on, "offline");
  await pass(rig.on, 2 * MINUTE);
  return { ...rig, id };
}

it("a platform that keeps trying to connect is away since it was online last", async () => {
  const { on, other } = await twoPlatforms();
  await pass(on, 5_000);
  for (let tries = 0; tries < 4; tries++) {
    set(on, "reconnecting");
    await pass(on, 6_000);
    set(on, "connecting");
    await pass(on, 6_000);
  }
  expect(other.messages.some(({ text }) => text.includes("loop is away"))).toBe(true);
});

it("the outage of a platform goes on over moments online, until it was online for a minute", async () => {
  const { on } = await twoPlatforms();
  const isOpen = async () => (await on.alerts.list({ limit: 5 })).some(({ state }) => state !== "resolved");
  await pass(on, MINUTE);
  set(on, "reconnecting");
  await pass(on, 12_000);
  set(on, "online");
  await pass(on, 15_000);
  set(on, "reconnecting");
  await pass(on, 12_000);
  expect(await isOpen()).toBe(true);
  set(on, "online");
  await pass(on, 75_000);
  expect(await isOpen()).toBe(false);
  set(on, "reconnecting");
  await pass(on, 12_000);
  expect(await isOpen()).toBe(false);
});

it.each([
  [["loop:7"], [], "This step notifies none of its people"],
  [["loop:7", "third:7"], ["dm-7"], "ann has no other account and is notified in a private chat"],
])(
  "a step that was due just before its platform was known to be away: %j are called elsewhere once that is known (%j), once, and the text says so",
  async (accounts, direct, says) => {
    const { on, loop, other, third } = await twoPlatforms({ ...oneStep(), people: { ann: accounts } });
    const aboutBob = (posted: LoopbackPlatform["messages"]) =>
      posted.filter(({ text }) => text.includes("Reply to Bob"));
    const { id } = await on.raise();
    await pass(on, 5_000);
    set(on, "offline");
    await pass(on, 2 * MINUTE);
    expect(aboutBob(page(third, "dm-7")).map(({ chatId }) => chatId)).toEqual(direct);
    const history = (await on.alerts.history(id)).map(({ reason }) => reason).join("\n");
    expect(history).toMatch(/step 1 of 1[^\n]*(notifies none of its people|is notified in a private chat)/);
    const inOps = aboutBob(page(other, "ops")).map(({ text }) => text);
    expect(inOps.join("\n")).toContain(says);
    set(on, "online");
    await on.advance(MINUTE);
    expect(aboutBob(page(third, "dm-7"))).toHaveLength(direct.length);
    const mentioned = usersOf([...aboutBob(page(loop, "room")), ...aboutBob(page(loop, "admins"))]);
    expect(mentioned).toEqual(direct.length > 0 ? [] : ["7"]);
  },
);

it("a step whose people have accounts only on the platform that is away says that it notifies none of them", async () => {
  const { on, loop, other, id } = await dueWhileAway({ people: { ann: ["loop:7"] } });
  const said = (await on.alerts.history(id)).flatMap(({ event, reason = "" }) =>
    event === "escalate" ? [reason] : [],
  );
  expect(said).toEqual([expect.stringContaining("This step notifies none of its people")]);
  expect(said[0]).not.toContain("is notified in a private chat");
  const copies = page(other, "ops").flatMap(({ text }) => (text.includes("Reply to Bob") ? [text] : []));
  expect(copies).toEqual([expect.stringContaining("This step notifies none of its people")]);
  expect(copies[0]).not.toContain("did not arrive");
  set(on, "online");
  await on.advance(MINUTE);
  expect(page(loop, "room")).toHaveLength(1);
});

it("a person with an account on another platform is called there at once, and once", async () => {
  const { on, loop, other } = await dueWhileAway();
  const inOps = () => page(other, "ops").filter(({ text }) => text.includes("Reply to Bob"));
  expect(page(other, "dm-7")).toHaveLength(1);
  expect(usersOf(inOps())).toEqual([]);
  expect(inOps().map(({ text }) => text)).toEqual([expect.stringContaining(`it waits at ${ROOM}`)]);
  set(on, "online");
  await on.advance(MINUTE);
  expect(usersOf(page(loop, "room"))).toEqual([]);
  expect(page(other, "dm-7")).toHaveLength(1);
  expect(page(loop, "dm-7")).toEqual([]);
});

it("a person without an account where the fallback is gets such a page in a private chat of another platform", async () => {
  const { on, loop, other, third } = await twoPlatforms({ people: { ann: ["loop:7"], ben: ["loop:8", "third:8"] } });
  await on.raise();
  await on.advance(18_000);
  set(on, "offline");
  await pass(on, 90_000);
  expect(pages(third, 2).map(({ chatId }) => chatId)).toEqual(["dm-8"]);
  expect(usersOf(pages(other, 2))).toEqual([]);
  set(on, "online");
  await on.advance(MINUTE);
  expect(pages(third, 2)).toHaveLength(1);
  expect(usersOf(pages(loop, 2))).toEqual([]);
});

it("that a platform is away is not said on it when it is back", async () => {
  const { on, loop, other } = await twoPlatforms();
  await on.raise();
  await on.advance(18_000);
  set(on, "offline");
  await pass(on, 3 * MINUTE);
  set(on, "online");
  await pass(on, MINUTE);
  // Edits show later that it has ended.
  const pagesOn = ({ requests }: LoopbackPlatform) =>
    requests.filter((one) => one.kind === "create" && /\*\*loop is away\*\*[\s\S]*Escalated/.test(one.part.text));
  expect(pagesOn(other).length).toBeGreaterThan(0);
  expect(pagesOn(loop)).toEqual([]);
});

it("when a platform is back, the alerts about its chats page nobody and end", async () => {
  const { on, loop, other } = await twoPlatforms();
  await on.raise();
  await on.advance(18_000);
  set(on, "offline");
  await pass(on, 90_000);
  const about = async () =>
    (await on.alerts.list({ limit: 50 })).filter(({ signal: { labels } }) => labels.destination !== undefined);
  expect((await about()).map(({ state }) => state)).toContain("inhibited");
  // The platform is back before the chat takes a message.
  loop.script = () => ({ kind: "retry", error: "try again", scope: "chat" });
  set(on, "online");
  await pass(on, MINUTE);
  loop.script = () => undefined;
  await pass(on, 3 * MINUTE);
  const escalated = [...loop.messages, ...other.messages].filter(
    ({ text }) => text.includes("Escalated") && text.includes("do not reach"),
  );
  expect(escalated.map(({ text }) => text)).toEqual([]);
  const states = (await about()).map(({ state }) => state);
  expect(states.length).toBeGreaterThan(0);
  expect(new Set(states)).toEqual(new Set(["resolved"]));
});

it("after a pause of its chat, what waited is posted in its order, and no one is mentioned who was at the fallback", async () => {
  const { on, loop, other } = await twoPlatforms({
    routes: {
      default: {
        to: [ROOM],
        remind: { every: "20s", times: 3 },
        escalate: [
          { after: "15s", mention: ["ann"] },
          { after: "55s", mention: ["ben"] },
        ],
      },
    },
  });
  let isPaused = false;
  loop.script = (operation) => {
    if (isPaused || operation.kind !== "create" || !operation.part.text.includes("Escalated")) return undefined;
    isPaused = true;
    return { kind: "retry", error: "429", afterMs: 65_000, scope: "chat" };
  };
  await on.raise();
  await pass(on, 75_000);
  expect(isPaused).toBe(true);
  for (const [step, user] of [
    ["1", "7"],
    ["2", "8"],
  ] as const)
    expect(usersOf(pages(other, Number(step)))).toEqual([user]);
  await pass(on, 30_000);
  const inRoom = loop.messages
    .filter(({ chatId, text }) => chatId === "room" && text.includes("Reply to Bob"))
    .slice(1);
  const said = (what: RegExp) => inRoom.flatMap(({ text }) => text.match(what) ?? []);
  expect(said(/step \d of 2/g)).toEqual(["step 1 of 2", "step 2 of 2"]);
  expect(said(/reminder \d of 3/g)).toEqual(["reminder 3 of 3"]);
  expect(usersOf(inRoom)).toEqual([]);
  const texts = inRoom.map(({ text }) => text).join("\n");
  expect(texts).toContain(`ann was notified in ${OTHER_OPS}`);
  expect(texts).toContain(`ben could not be notified in ${ROOM} when this step was due (it took no alerts)`);
  expect(texts).toContain("It was due ");
  await pass(on, MINUTE);
  for (const step of [1, 2]) expect(pages(other, step)).toHaveLength(1);
});

it("a platform that is back soon after the fallback was used: who was notified there is not mentioned again", async () => {
  const { on, loop, other } = await twoPlatforms(oneStep());
  await on.raise();
  await pass(on, 10_000);
  set(on, "offline");
  await pass(on, 40_000);
  expect(usersOf(page(other, "ops"))).toEqual(["7"]);
  set(on, "online");
  await pass(on, 10_000);
  expect(page(loop, "room").map(({ text }) => text)).toEqual([
    expect.stringContaining(`ann was notified in ${OTHER_OPS}`),
  ]);
  expect(usersOf(page(loop, "room"))).toEqual([]);
});

it("a copy says whom it does not notify, also before the platform is known to be away", async () => {
  const { on, id, other, third } = await lostFor(["ben", "cara", "dan"], "1d");
  const copies = page(other, "ops");
  expect(usersOf(copies)).toEqual(["8"]);
  expect(copies.map(({ text }) => text)).toEqual([
    expect.stringContaining(
      `(it waits at ${ROOM}). cara has no other account and cannot be notified now. dan has no other account and is notified in a private chat.`,
    ),
  ]);
  expect(page(third, "dm-5")).toHaveLength(1);
  const history = (await on.alerts.history(id)).map(({ reason }) => reason);
  expect(history.at(-1)).toMatch(/has not taken "Escalated: step 1 of 1 .*\. cara cannot be notified now$/);
});

it("a copy says whom it does not notify when it notifies all others, with the platform known to be away", async () => {
  const { on, id, other } = await lostFor(["ben", "cara"], "20s");
  const copies = page(other, "ops");
  expect(usersOf(copies)).toEqual(["8"]);
  expect(copies.map(({ text }) => text)).toEqual([
    expect.stringContaining(`(it waits at ${ROOM}). cara has no other account (the private chat takes no alerts now).`),
  ]);
  const history = (await on.alerts.history(id)).map(({ reason }) => reason);
  expect(history.at(-1)).toMatch(/has not taken "Escalated: step 1 of 1 .*\. cara cannot be notified now$/);
});

it("a copy that waited itself does not say that someone cannot be notified now", async () => {
  const { on, loop } = await twoPlatforms({
    ...oneStep({ escalate: [{ after: "15s", mention: ["ann"] }] }),
    people: { ann: ["loop:7"] },
    fallback: ["loop:bot:dm-9"],
    watch_gateway: { offline_after: "1d", undelivered_after: "1d" },
  });
  await on.raise();
  await pass(on, 10_000);
  set(on, "offline");
  await pass(on, 100_000);
  set(on, "online");
  await pass(on, 60_000);
  expect(usersOf(page(loop, "room"))).toEqual(["7"]);
  const copies = page(loop, "dm-9").map(({ text }) => text);
  expect(copies).toEqual([
    expect.stringMatching(
      /ann is not in this private chat and could not be notified when this step was due|ann was notified in/,
    ),
  ]);
  expect(copies[0]).not.toContain("cannot be notified");
});

it("who was mentioned in another chat of the route is not called again when the page of a platform that is away is lost", async () => {
  const { on, other, third } = await twoPlatforms({
    ...oneStep({ to: [ROOM, "third:bot:room"], escalate: [{ after: "15s", mention: ["ann"] }] }),
    people: { ann: ["loop:7", "third:7"] },
    watch_gateway: { offline_after: "1d", undelivered_after: "1d" },
  });
  await on.raise();
  await pass(on, 10_000);
  set(on, "offline");
  await pass(on, 60_000);
  const ofReply = ({ text }: { text: string }) => text.includes("Reply to Bob");
  expect(usersOf(page(third, "room").filter(ofReply))).toEqual(["7"]);
  expect(page(third, "dm-7").filter(ofReply)).toEqual([]);
  const copies = page(other, "ops").filter(ofReply);
  expect(copies.map(({ text }) => text)).toEqual([expect.stringContaining("ann was notified in third:bot:room")]);
});

it("a page that waits for its platform shows when it was due, and the history when it was posted", async () => {
  const { on, loop } = await twoPlatforms({
    ...oneStep({ escalate: [{ after: "60s", mention: ["ann"] }] }),
    fallback_after: "10m",
  });
  const { id } = await on.raise();
  await pass(on, 5_000);
  set(on, "offline");
  await pass(on, 3 * MINUTE);
  set(on, "online");
  await pass(on, 30_000);
  const due = new Date(START + MINUTE).toISOString();
  expect(page(loop, "room").map(({ text }) => text)).toEqual([
    expect.stringMatching(/It was due \S+, when this chat could not be reached; its times are those of /),
  ]);
  expect((await on.alerts.history(id)).at(-1)).toMatchObject({
    event: "posted",
    reason: expect.stringContaining(`"Escalated: step 1 of 1 (ann)" in ${ROOM}: it was due ${due}`),
  });
});

it("a page whose request gets no answer until its alert has ended is in doubt in the history", async () => {
  const loop = new LoopbackPlatform("loop");
  loop.script = (operation) =>
    operation.kind === "create" && operation.part.text.includes("Escalated: step") ? { kind: "hang" } : undefined;
  const routes = { default: { to: [ROOM], remind: { times: 0 }, escalate: [{ after: "10s", mention: ["ann"] }] } };
  const on = await watch({ routes, people: { ann: ["loop:7"] } }, { platform: loop });
  const { id } = await on.raise();
  await pass(on, 9_000);
  // Work under way is not waited for: the request hangs.
  await until(async () => {
    await on.clock.advance(200);
    return loop.requests.some(({ kind }, index) => kind === "create" && index > 0);
  }, "the request of the page");
  await on.alerts.raise(signal({ state: "resolved", reason: "answered", at: on.clock.now() }));
  await until(async () => {
    await on.clock.advance(5_000);
    return (await on.rig.store.outbox.list({ status: "held", limit: 1 })).length > 0;
  }, "the page being held");
  await pass(on, 30_000);
  const events = (await on.alerts.history(id)).map(({ event, reason }) => `${event} ${reason}`);
  expect(events.at(-2)).toContain("answered");
  expect(events.at(-1)).toMatch(/^in_doubt .* may not have taken "Escalated: step 1 of 1 \(ann\)/);
});

/** A step for these people is due while its platform is away, and its page is lost before or after that is known. */
async function lostFor(mention: string[], offline_after: string) {
  const rig = await twoPlatforms({
    ...oneStep({ escalate: [{ after: "15s", mention }] }),
    people: { ann: ["loop:7"], ben: ["loop:8", "other:8"], cara: ["loop:9"], dan: ["loop:5", "third:5"] },
    watch_gateway: { offline_after, undelivered_after: "1d" },
  });
  const { id } = await rig.on.raise();
  await pass(rig.on, 10_000);
  set(rig.on, "offline");
  await pass(rig.on, 40_000);
  return { ...rig, id };
}

/** While its platform is away a step is due for ben, who is notified in a private chat of another platform, and for a person with a full stop in the name, who is not. */
async function dueForTwo(more: Record<string, unknown> = {}) {
  const rig = await twoPlatforms({
    ...oneStep({ escalate: [{ after: "60s", mention: ["ben", "loop:9"] }] }),
    people: { ann: ["loop:7"], ben: ["loop:8", "other:8"] },
    ...more,
  });
  const { id } = await rig.on.raise();
  await pass(rig.on, 5_000);
  set(rig.on, "offline");
  await pass(rig.on, 65_000);
  return { ...rig, id };
}

it.each([0, 40_000])(
  "a late page mentions whom no one could notify, and says so, %i ms after the step was taken",
  async (ms) => {
    const { on, id, loop, other } = await dueForTwo();
    expect(page(other, "dm-8")).toHaveLength(1);
    await pass(on, ms);
    set(on, "online");
    await pass(on, 10_000);
    const late = page(loop, "room");
    expect(usersOf(late)).toEqual(["9"]);
    expect(late.map(({ text }) => text)).toEqual([
      expect.stringContaining("Dr. Cara could not be notified when this step was due, and is notified now"),
    ]);
    expect(late[0]?.text).toMatch(/ben (was notified in other:bot:dm-8|.* and is notified in a private chat)\. /);
    expect(usersOf(page(other, "ops"))).toEqual([]);
    expect(late[0]?.text).not.toContain("Cara could not be notified in");
    const history = (await on.alerts.history(id)).map(({ reason }) => reason);
    if (ms > 0) expect(history.at(-1)).toContain("; it mentions Dr. Cara");
  },
);

it("after an acknowledgement, a late page mentions again who was called in a private chat before it", async () => {
  const { on, id, loop, other } = await dueForTwo();
  const direct = () => other.messages.filter(({ chatId }) => chatId === "dm-8");
  expect(direct()).toHaveLength(2);
  await on.alerts.act(id, { kind: "ack", untilAt: on.clock.now() + 25_000 }, ANN);
  set(on, "online");
  await pass(on, 40_000);
  const late = page(loop, "room");
  expect(usersOf(late)).toEqual(["8", "9"]);
  expect(late.map(({ text }) => text)).toEqual([
    expect.stringContaining(
      "ben was notified in other:bot:dm-8 before, and is notified again because the alert needs an operator again",
    ),
  ]);
  expect(late[0]?.text).not.toContain("private chat");
  expect(direct()).toHaveLength(2);
});

it("a late page of a step that notified no one does not say so: it mentions them", async () => {
  const { on, loop, other } = await dueForTwo({
    routes: {
      default: {
        to: [ROOM],
        remind: { times: 0 },
        escalate: [
          { after: "15s", mention: ["ann"] },
          { after: "60s", mention: ["ben", "loop:9"] },
        ],
      },
    },
    people: { ann: ["loop:7"], ben: ["loop:8"] },
    fallback: [OTHER_OPS, "loop:bot:dm-7"],
  });
  expect(pages(other, 2).map(({ text }) => text)).toEqual([
    expect.stringContaining("This step notifies none of its people"),
  ]);
  set(on, "online");
  await pass(on, MINUTE);
  const late = pages(loop, 2);
  const inRoom = late.filter(({ chatId }) => chatId === "room");
  // In the private chat it is true until the page in the room has arrived, and either may be written first.
  for (const { text } of inRoom) expect(text).not.toContain("notifies none");
  expect(inRoom[0]?.text).toContain("ben, Dr. Cara could not be notified when this step was due, and are notified now");
  expect(usersOf(inRoom)).toEqual(["8", "9"]);
  const inPrivate = [...pages(loop, 1), ...late].filter(({ chatId }) => chatId === "dm-7");
  const steps = loop.messages.flatMap((one) =>
    inPrivate.includes(one) ? (one.text.match(/step \d of 2/g) ?? []) : [],
  );
  expect(steps).toEqual(["step 1 of 2", "step 2 of 2"]);
});

/** Something else in the room is answered with a pause of so long, before the page is due. */
async function pauseRoom(on: Watch, loop: LoopbackPlatform, afterMs: number): Promise<void> {
  let isPaused = false;
  loop.script = ({ address }) => {
    if (isPaused || address.chatId !== "room") return undefined;
    isPaused = true;
    return { kind: "retry", error: "429 Too Many Requests", afterMs, scope: "chat" };
  };
  const cause = { kind: "alert" as const, id: "elsewhere", depth: 0 };
  await on.rig.gateway.send({ platform: "loop", botId: "bot", chatId: "room" }, { text: "a reply" }, { cause });
  await pass(on, 1_000);
  expect(isPaused).toBe(true);
}

/** One step, after 15 s. */
const oneStep = (more: Record<string, unknown> = {}) => ({
  routes: {
    default: { to: [ROOM], remind: { times: 0 }, escalate: [{ after: "15s", mention: ["ann"] }], ...more },
  },
  business_hours: { timezone: "UTC" },
});
const page = (platform: LoopbackPlatform, chatId: string) =>
  platform.messages.filter((one) => one.chatId === chatId && one.text.includes("Escalated: step 1 of 1"));

it("a page that was due while the gateway was stopped says so from a minute on", async () => {
  for (const [downMs, says] of [
    [70_000, [expect.stringContaining("This message is 1 min 7 s late: the gateway was not running when it was due")]],
    [30_000, [expect.not.stringContaining("late:")]],
  ] as const) {
    const { on, loop } = await twoPlatforms(oneStep());
    await on.raise();
    await pass(on, 12_000);
    await on.crash(downMs);
    await pass(on, 5_000);
    expect(page(loop, "room").map(({ text }) => text)).toEqual(says);
  }
});

describe("a chat that its platform paused before a page is due", () => {
  it.each([
    ["", async () => {}],
    [", also over a crash", async (on: Watch) => on.crash(2_000)],
  ])(
    "for long: the page is at the fallback at once, says until when, and pages no one again in the chat%s",
    async (_, meanwhile) => {
      const { on, loop, other } = await twoPlatforms(oneStep());
      const { id } = await on.raise();
      await pauseRoom(on, loop, 3 * MINUTE);
      await meanwhile(on);
      await pass(on, 18_000);
      const copies = page(other, "ops");
      expect(usersOf(copies)).toEqual(["7"]);
      expect(copies[0]?.text).toContain(
        `(it waits at ${ROOM}; sending there is paused until 10:03: 429 Too Many Requests)`,
      );
      await meanwhile(on);
      await pass(on, 2 * MINUTE);
      expect(page(loop, "room")).toEqual([]);
      await pass(on, MINUTE);
      const late = page(loop, "room");
      expect(usersOf(late)).toEqual([]);
      expect(late.map(({ text }) => text)).toEqual([expect.stringContaining(`ann was notified in ${OTHER_OPS}`)]);
      expect(late[0]?.text).toMatch(/It was due <t:\d+:T:UTC>; sending to this chat was paused until <t:\d+:T:UTC>/);
      expect(page(other, "ops")).toHaveLength(1);
      const said = [...other.messages, ...loop.messages].map(({ text }) => text);
      const history = (await on.alerts.history(id)).map(({ reason }) => reason);
      expect([...said, ...history].join()).not.toMatch(/did not arrive|not sent in time|waits for its platform/);
    },
  );

  it("and whose alert an operator had meanwhile: the late page calls its person again, and says so", async () => {
    const { on, loop, other } = await twoPlatforms(oneStep());
    const { id } = await on.raise();
    await pauseRoom(on, loop, 3 * MINUTE);
    await pass(on, 18_000);
    expect(usersOf(page(other, "ops"))).toEqual(["7"]);
    await on.alerts.act(id, { kind: "ack", untilAt: on.clock.now() + 20_000 }, ANN);
    await pass(on, 3 * MINUTE);
    const late = page(loop, "room");
    expect(usersOf(late)).toEqual(["7"]);
    expect(late.map(({ text }) => text)).toEqual([
      expect.stringContaining(
        `ann was notified in ${OTHER_OPS} before, and is notified again because the alert needs an operator again`,
      ),
    ]);
  });

  it("for a short time: the page goes late with its mention, says so, and of the reminders there is the newest", async () => {
    const { on, loop, other } = await twoPlatforms({
      ...oneStep({ remind: { every: "10s", times: 9 } }),
      fallback_after: "5m",
    });
    await on.raise();
    await pauseRoom(on, loop, MINUTE);
    await pass(on, 58_000);
    expect(page(loop, "room")).toEqual([]);
    await pass(on, 4_000);
    const late = page(loop, "room");
    expect(usersOf(late)).toEqual(["7"]);
    expect(late.map(({ text }) => text)).toEqual([
      expect.stringMatching(
        /It was due <t:1767261615:T:UTC>; sending to this chat was paused until <t:1767261661:T:UTC>/,
      ),
    ]);
    const reminders = loop.messages.flatMap(({ text }) => text.match(/reminder \d of 9/g) ?? []);
    expect(reminders).toHaveLength(1);
    expect(other.messages).toEqual([]);
  });

  it.each([30_000, 12_000])(
    "a page that is refused for %i ms is posted once, and says that it is late",
    async (afterMs) => {
      const { on, loop, other } = await twoPlatforms({ ...oneStep(), fallback_after: "5m" });
      await on.raise();
      let isPaused = false;
      loop.script = (operation) => {
        if (isPaused || operation.kind !== "create" || !operation.part.text.includes("Escalated")) return undefined;
        isPaused = true;
        return { kind: "retry", error: "429 Too Many Requests", afterMs, scope: "chat" };
      };
      await pass(on, 20_000 + afterMs);
      expect(isPaused).toBe(true);
      const late = page(loop, "room");
      expect(usersOf(late)).toEqual(["7"]);
      expect(late.map(({ text }) => text)).toEqual([
        expect.stringMatching(/It was due <t:\d+:T:UTC>; sending to this chat was paused until <t:\d+:T:UTC>/),
      ]);
      expect(other.messages).toEqual([]);
    },
  );

  it.each(["5m", "30s"])(
    "the details of its alert say that the page waits, and until when (fallback after %s)",
    async (after) => {
      const { on, loop } = await twoPlatforms({ ...oneStep(), fallback_after: after });
      const { id } = await on.raise();
      await pauseRoom(on, loop, MINUTE);
      await pass(on, 20_000);
      expect(page(loop, "room")).toEqual([]);
      const waits = async () =>
        (await on.alerts.details(id, ROOM)).card?.fields?.find(({ name }) => name === "Not posted yet")?.value;
      expect(await waits()).toMatch(
        /^The page in loop:bot:room waits until <t:1767261661:T.*>: sending there is paused\.$/,
      );
      await pass(on, MINUTE);
      expect(page(loop, "room")).toHaveLength(1);
      expect(await waits()).toBeUndefined();
    },
  );

  it("an operator who asks for an escalation reads whom it notifies, and that the page waits", async () => {
    const { on, loop } = await twoPlatforms({
      ...oneStep({ escalate: [{ after: "5h", mention: ["ann"] }] }),
      fallback_after: "5m",
    });
    const { id } = await on.raise();
    await pauseRoom(on, loop, MINUTE);
    const { note } = await on.alerts.act(id, { kind: "escalate" }, ANN);
    expect(note).toBe(
      `Step 1 of 1 (ann). This was the last step. The page in ${ROOM} waits: sending there is paused until 10:01: 429 Too Many Requests.`,
    );
  });

  it("a page that waits for the end of the pause does not say how long the customer had waited before", async () => {
    const { on, loop } = await twoPlatforms({ ...oneStep(), fallback_after: "5m" });
    const clock = { name: "first response", dueAt: START, targetMs: MINUTE, elapsedMs: MINUTE, percentUsed: 1 };
    await on.raise({ clock });
    await pauseRoom(on, loop, MINUTE);
    await pass(on, MINUTE);
    const [late] = page(loop, "room");
    expect(late?.text).toContain("**Reply to Bob**");
    expect(late?.text).not.toContain("waits");
  });

  it("a page that may have arrived, and is refused with a pause when it is tried again, is not posted twice", async () => {
    const { on, loop } = await twoPlatforms({ ...oneStep(), fallback_after: "5m" });
    await on.raise();
    let tries = 0;
    loop.script = (operation) => {
      if (operation.kind !== "create" || !operation.part.text.includes("Escalated")) return undefined;
      tries++;
      if (tries === 1) return { kind: "lost" };
      return tries === 2
        ? { kind: "retry", error: "429 Too Many Requests", afterMs: 30_000, scope: "chat" }
        : undefined;
    };
    await pass(on, MINUTE + 20_000);
    expect(tries).toBeGreaterThan(2);
    expect(page(loop, "room")).toHaveLength(1);
  });

  it("a page that may have arrived before its platform went away is said to be in doubt", async () => {
    const { on, loop, other } = await twoPlatforms({ ...oneStep(), fallback_after: "30s" });
    await on.raise();
    loop.script = (operation) => {
      if (operation.kind !== "create" || !operation.part.text.includes("Escalated")) return undefined;
      set(on, "offline");
      return { kind: "lost" };
    };
    await pass(on, 2 * MINUTE);
    expect(page(loop, "room")).toHaveLength(1);
    const copies = page(other, "ops").flatMap(({ text }) => (text.includes("Reply to Bob") ? [text] : []));
    expect(copies).toEqual([expect.stringContaining("it may not have arrived at")]);
  });

  it("a page that may have arrived, and expires before it can be tried again, is not written anew", async () => {
    const { on, loop, other } = await twoPlatforms({ ...oneStep(), fallback_after: "30s" });
    await on.raise();
    let tries = 0;
    loop.script = (operation) => {
      if (operation.kind !== "create" || !operation.part.text.includes("Escalated")) return undefined;
      tries++;
      return tries === 1 ? { kind: "lost" } : { kind: "retry", error: "502", afterMs: 20_000, scope: "delivery" };
    };
    await pass(on, 5 * MINUTE);
    expect(tries).toBeGreaterThan(1);
    expect(page(loop, "room")).toHaveLength(1);
    expect(page(other, "ops").map(({ text }) => text)).toEqual([expect.stringContaining("may not have arrived")]);
  });

  it("a page that the chat gives up because of its pause calls its person in a private chat when the fallback does not", async () => {
    const { on, loop, other } = await twoPlatforms({ ...oneStep(), people: { ann: ["loop:7"] } });
    await on.raise();
    let isPaused = false;
    loop.script = (operation) => {
      if (isPaused || operation.kind !== "create" || !operation.part.text.includes("Escalated")) return undefined;
      isPaused = true;
      return { kind: "retry", error: "429 Too Many Requests", afterMs: 3 * MINUTE, scope: "chat" };
    };
    await pass(on, 20_000);
    expect(isPaused).toBe(true);
    expect(page(loop, "dm-7")).toHaveLength(1);
    expect(page(other, "ops")[0]?.text).toMatch(
      /it waits at .*ann has no other account and is notified in a private chat/,
    );
    await pass(on, 4 * MINUTE);
    expect(page(loop, "dm-7")).toHaveLength(1);
    expect(usersOf(page(loop, "room"))).toEqual([]);
    expect(page(loop, "room").map(({ text }) => text)).toEqual([
      expect.stringContaining("ann was notified in loop:bot:dm-7"),
    ]);
  });

  it("and that opens after an operator took the alert gets no page, and no alert says any more that nothing reaches it", async () => {
    const { on, loop, other } = await twoPlatforms(oneStep());
    const { id } = await on.raise();
    await pauseRoom(on, loop, 47_000);
    await pass(on, 17_000);
    expect(page(other, "ops")).toHaveLength(1);
    const own = async () =>
      (await on.alerts.list({ limit: 20 })).find(({ signal: { labels } }) => labels.kind === "unsaid");
    expect((await own())?.signal.reason).toContain("sending there is paused until 10:00");
    await pass(on, 19_000);
    await on.alerts.act(id, { kind: "ack" }, ANN);
    await pass(on, MINUTE);
    expect(page(loop, "room")).toEqual([]);
    expect(await own()).toMatchObject({ state: "resolved", signal: { reason: "the pause of that chat has ended" } });
  });

  it("and that pauses the page itself: when an operator lifts that soon after the fallback was used, no one is mentioned again", async () => {
    const { on, loop, other } = await twoPlatforms(oneStep());
    await on.raise();
    let isPaused = false;
    loop.script = (operation) => {
      if (isPaused || operation.kind !== "create" || !operation.part.text.includes("Escalated")) return undefined;
      isPaused = true;
      return { kind: "retry", error: "429 Too Many Requests", afterMs: 3 * MINUTE, scope: "chat" };
    };
    await pass(on, 22_000);
    expect(usersOf(page(other, "ops"))).toEqual(["7"]);
    await on.rig.gateway.liftPauses();
    await pass(on, 20_000);
    expect(page(loop, "room")).toHaveLength(1);
    expect(usersOf(page(loop, "room"))).toEqual([]);
  });

  it("and whose pause an operator lifts: the page comes then, without whom the fallback called", async () => {
    const { on, loop } = await twoPlatforms(oneStep());
    await on.raise();
    await pauseRoom(on, loop, 30 * MINUTE);
    await pass(on, 30_000);
    await on.rig.gateway.liftPauses();
    await pass(on, 20_000);
    expect(page(loop, "room")).toHaveLength(1);
    expect(usersOf(page(loop, "room"))).toEqual([]);
  });
});
