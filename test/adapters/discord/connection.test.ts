/** Nothing is lost and nothing comes twice, whatever happens to the connection. */
import { type AddressInfo, createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { HookgateError } from "../../../src/lib/errors.js";
import { type Clock, systemClock } from "../../../src/lib/time/clock.js";
import type { FaultAction } from "../../fakes/discord/faults.js";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/server.js";
import { ManualClock } from "../../support/manual-clock.js";
import { MemoryCursors } from "../../support/memory-cursors.js";
import { until } from "../../support/until.js";
import { RecordingGateway, type Rig, type RigOptions, startRig } from "./rig.js";

let fake: FakeDiscord;
const rigs: Rig[] = [];
beforeEach(async () => {
  fake = await startFakeDiscord();
});
afterEach(async () => {
  await Promise.all(rigs.splice(0).map((rig) => rig.stop()));
  await fake.stop();
});

async function start(options: RigOptions = {}): Promise<Rig> {
  const rig = await startRig(fake, options);
  rigs.push(rig);
  return rig;
}

const identified = () => fake.gateway.log.filter((entry) => entry.kind === "identify").length;
const resumed = () => fake.gateway.log.filter((entry) => entry.kind === "resumed").length;

it("an acknowledgement whose answer is lost is not reported as missing", async () => {
  const { gateway, logger } = await start();
  gateway.acknowledge = () => ({ kind: "defer", isPrivate: false });
  fake.fail({ path: "/callback", times: 10, action: { kind: "drop-after" } });
  fake.people.slash("status");
  await until(() => logger.lines.join().includes("not known whether an interaction was acknowledged"), "the report");
  expect(logger.lines.join()).not.toContain("could not be acknowledged");
});

it("a stop waits for an event on its way to the disk and its acknowledgement, and for all completions", async () => {
  const gateway = new RecordingGateway();
  const gates = new Map<string, () => void>();
  const held = (what: string) => new Promise<void>((open) => gates.set(what, open));
  gateway.beforeStore = (event) => (event.kind === "command" ? held("command") : undefined);
  gateway.complete = async (query) => {
    await held(query.typed);
    return [{ name: query.typed, value: query.typed }];
  };
  const rig = await start({ gateway });
  const completions = ["one", "two"].map((typed) => fake.people.completes("status", "id", typed));
  const { token } = fake.people.slash("status");
  await until(() => gates.size === 3, "all three under way");
  let hasStopped = false;
  const stopped = rig.stop().then(() => {
    hasStopped = true;
  });
  // Each ends a turn of the network later than the one before it.
  for (const what of ["command", "one", "two"]) {
    await (await fetch(fake.apiUrl)).text();
    expect(hasStopped).toBe(false);
    gates.get(what)?.();
  }
  await stopped;
  expect(gateway.stored.map(({ kind }) => kind)).toEqual(["command"]);
  expect(await fake.people.answerTo(token, 0)).toMatchObject({ type: 5 });
  expect(await Promise.all(completions)).toEqual([
    [expect.objectContaining({ value: "one" })],
    [expect.objectContaining({ value: "two" })],
  ]);
});

describe("a broken connection", () => {
  it("is resumed, and what was said meanwhile arrives once, in order", async () => {
    const rig = await start();
    fake.people.says("one");
    await until(() => rig.gateway.texts.length === 1);
    fake.gateway.drop();
    fake.people.says("two");
    fake.people.says("three");
    await until(() => rig.gateway.texts.length === 3);
    expect(rig.gateway.texts).toEqual(["one", "two", "three"]);
    expect([identified(), resumed()]).toEqual([1, 1]);
    expect(rig.gateway.states.map((state) => state.phase)).toEqual(["connecting", "online", "reconnecting", "online"]);
  });

  it.each([
    ["op 7", () => fake.gateway.askReconnect()],
    ["op 9 true", () => fake.gateway.invalidate(true)],
    ["close 4000", () => fake.gateway.closeAll(4000)],
  ])("%s: resumed without a new session", async (_name, act) => {
    const rig = await start();
    fake.people.says("before");
    await until(() => rig.gateway.texts.length === 1);
    act();
    for (let i = 0; i < 50; i++) fake.people.says(`during ${i}`);
    await until(() => rig.gateway.texts.length === 51);
    expect(rig.gateway.duplicates).toBe(0);
    expect(identified()).toBe(1);
  });

  it("repeated frames are dropped by their sequence number", async () => {
    const rig = await start();
    for (let i = 0; i < 5; i++) fake.people.says(`m${i}`);
    await until(() => rig.gateway.texts.length === 5);
    fake.gateway.repeatLast(5);
    fake.people.says("end");
    await until(() => rig.gateway.texts.includes("end"));
    expect(rig.gateway.handedOver).toBe(6);
  });

  it("names only what is on disk when it resumes, and takes no event twice into the inbox", async () => {
    const gateway = new RecordingGateway();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    gateway.beforeStore = (event) => (event.kind === "message" && event.message.text === "slow" ? held : undefined);
    const rig = await start({ gateway });
    fake.people.says("slow");
    fake.people.says("quick");
    await until(() => gateway.texts.includes("quick"));
    fake.gateway.drop();
    await until(() => resumed() === 1);
    // READY 1, GUILD_CREATE 2; "slow" 3 is not on disk, so 2 is named and 3 and 4 are replayed.
    expect(fake.gateway.log.find((entry) => entry.kind === "resumed")).toMatchObject({ seq: 2, replayed: 2 });
    release();
    await until(() => gateway.texts.length === 2);
    expect([rig.gateway.handedOver, gateway.duplicates]).toEqual([2, 0]);
  });
});

describe("a restarted process", () => {
  it("resumes its session and misses nothing", async () => {
    const gateway = new RecordingGateway();
    const cursors = new MemoryCursors();
    const first = await start({ gateway, cursors });
    fake.people.says("before");
    await until(() => gateway.texts.length === 1);
    await first.stop();
    const missed = fake.people.says("while away");
    fake.people.edits(missed.id, "while away, edited");
    const interaction = fake.people.slash("status");
    await start({ gateway, cursors });
    await until(() => gateway.stored.length === 4);
    // The command overtakes the messages: it must be acknowledged in 3 s, and they ask for their channel first.
    expect(gateway.stored.map((event) => event.kind).sort()).toEqual(["command", "edited", "message", "message"]);
    expect(gateway.texts).toEqual(["before", "while away"]);
    expect([identified(), resumed()]).toEqual([1, 1]);
    expect(await fake.people.answerTo(interaction.token)).toMatchObject({ type: 5 });
  });

  it("that was killed resumes from an older sequence, and the inbox drops the duplicates", async () => {
    const gateway = new RecordingGateway();
    const cursors = new MemoryCursors();
    const first = await start({ gateway, cursors });
    fake.people.says("a");
    await until(() => cursors.map.has("session:0"));
    const atKill = new Map(cursors.map);
    for (const text of ["b", "c", "d"]) fake.people.says(text);
    await until(() => gateway.texts.length === 4);
    await first.stop();
    cursors.map.clear();
    for (const [key, value] of atKill) cursors.map.set(key, value);
    fake.people.says("e");
    await start({ gateway, cursors });
    await until(() => gateway.texts.includes("e"));
    expect(gateway.texts).toEqual(["a", "b", "c", "d", "e"]);
    expect(gateway.duplicates).toBeGreaterThanOrEqual(3);
    expect(identified()).toBe(1);
  });

  it("does not report a second time that an interaction of before comes too late to be acknowledged", async () => {
    const gateway = new RecordingGateway();
    const cursors = new MemoryCursors();
    const first = await start({ gateway, cursors });
    fake.people.says("a");
    await until(() => cursors.map.has("session:0"));
    const before = new Map(cursors.map);
    const body = { code: 10062, message: "Unknown interaction" };
    fake.fail({ path: "/callback", times: 10, action: { kind: "status", status: 404, body } });
    fake.people.slash("status");
    const reported = "could not be acknowledged";
    await until(() => first.logger.lines.join().includes(reported), "the report");
    await first.stop();
    cursors.map.clear();
    for (const [key, value] of before) cursors.map.set(key, value);
    const { logger } = await start({ gateway, cursors });
    await until(
      () => logger.lines.join().includes("was acknowledged before"),
      "the interaction being handed over again",
    );
    expect(logger.lines.join()).not.toContain(reported);
  });

  it("knows the parent of a thread it was never told about", async () => {
    const gateway = new RecordingGateway();
    const cursors = new MemoryCursors();
    await (await start({ gateway, cursors })).stop();
    await start({ gateway, cursors });
    fake.people.says("in the thread", { channelId: fake.threadId });
    await until(() => gateway.texts.length === 1);
    expect(gateway.stored[0]).toMatchObject({ message: { parentChatId: fake.channelId } });
  });

  it("does not end the session when it stops", async () => {
    const rig = await start();
    await rig.stop();
    expect(fake.gateway.sessions.size).toBe(1);
    const closes = fake.gateway.log.filter((entry) => entry.kind === "close");
    expect(closes).toMatchObject([{ code: 4000 }]);
  });
});

/** A process saw "first" and is gone; Discord has forgotten its session. */
async function afterLostSession() {
  const cursors = new MemoryCursors();
  const gateway = new RecordingGateway();
  const first = await start({ cursors, gateway });
  fake.people.says("first");
  await until(() => gateway.texts.length === 1);
  await first.stop();
  fake.gateway.forgetSessions();
  return { cursors, gateway };
}

it("after a resumed session, channels and people have their names", async () => {
  const cursors = new MemoryCursors();
  const gateway = new RecordingGateway();
  const first = await start({ cursors, gateway });
  fake.people.says("hello", { dm: true });
  await until(() => gateway.texts.length === 1);
  const dm = { platform: "discord", botId: "", chatId: fake.world.dmWith(fake.userId).id };
  const room = { ...dm, chatId: fake.channelId };
  const names = ({ adapter }: typeof first) => [adapter.traits.placeName?.(room), adapter.traits.placeName?.(dm)];
  const before = names(first);
  expect(before).toEqual([expect.stringMatching(/^#/), expect.stringMatching(/^direct messages with /)]);
  await first.stop();
  // While Discord is away, alerts name its chats.
  expect(names(first)).toEqual(before);
  const second = await start({ cursors, gateway });
  expect(resumed()).toBe(1);
  expect(names(second)).toEqual(before);
});

it("a direct conversation that is opened has the name of its person", async () => {
  const rig = await start();
  const { id } = fake.world.addUser({ username: "vera" });
  const result = await rig.say({ text: "x" }, { chatId: `dm:${id}` });
  const chatId = "toChatId" in result ? result.toChatId : "";
  const name = rig.adapter.traits.placeName?.({ platform: "discord", botId: "", chatId });
  expect(name).toBe("direct messages with vera");
});

describe("a lost session", () => {
  it("after op 9 false: what was missed is read over REST, per channel and DM, with roles and parents", async () => {
    const rig = await start();
    fake.people.says("seen", {});
    fake.people.says("seen in DM", { dm: true });
    await until(() => rig.gateway.texts.length === 2);
    fake.gateway.behaviour.refuse = true;
    fake.gateway.drop();
    fake.gateway.forgetSessions();
    fake.people.says("missed");
    fake.people.says("missed in DM", { dm: true });
    fake.people.says("missed in a thread", { channelId: fake.threadId });
    fake.gateway.behaviour.refuse = false;
    await until(() => rig.gateway.texts.length === 5, "five messages");
    expect(new Set(rig.gateway.texts.slice(2))).toEqual(new Set(["missed", "missed in DM", "missed in a thread"]));
    const inThread = rig.gateway.stored.find(
      (event) => event.kind === "message" && event.message.text === "missed in a thread",
    );
    expect(inThread).toMatchObject({
      message: {
        guildId: fake.world.guildId,
        parentChatId: fake.channelId,
        userRoleIds: fake.world.users.get(fake.userId)?.roleIds,
      },
    });
    expect(rig.gateway.duplicates).toBe(0);
    await until(() => rig.logger.lines.some((line) => line.includes("caught up")));
    expect(rig.logger.lines.join()).toContain("could not resume the session");
    await until(() => rig.cursors.list("owed:").length === 0, "nothing owed");
  });

  it("hundreds in one channel come page by page, oldest first, before what is said after", async () => {
    const { cursors, gateway } = await afterLostSession();
    for (let i = 0; i < 250; i++) fake.people.says(`m${i}`, { isSilent: true });
    fake.fail({ method: "GET", path: "/messages", times: 1, action: { kind: "slow", delayMs: 100 } });
    await start({ cursors, gateway });
    fake.people.says("live");
    await until(() => gateway.texts.includes("live"));
    expect(gateway.texts).toEqual(["first", ...Array.from({ length: 250 }, (_, i) => `m${i}`), "live"]);
    const pages = fake.calls.filter((call) => call.method === "GET" && call.path.endsWith("/messages"));
    expect(pages).toHaveLength(3);
  });

  it("comes in the order in which it was said, whatever the order of the page", async () => {
    const { cursors, gateway } = await afterLostSession();
    const missed = ["m0", "m1", "m2"].map((text) => fake.people.says(text, { isSilent: true }));
    const [m0, m1, m2] = missed;
    const page = { kind: "status", status: 200, body: [m1, m2, m0] } as const;
    fake.fail({ method: "GET", path: `/channels/${fake.channelId}/messages`, action: page });
    await start({ cursors, gateway });
    await until(() => gateway.texts.length === 4);
    expect(gateway.texts).toEqual(["first", "m0", "m1", "m2"]);
  });

  it("comes although a proxy answers first, and although the channel cannot be read for a while", async () => {
    const { cursors, gateway } = await afterLostSession();
    fake.people.says("missed", { isSilent: true });
    const at = { method: "GET", path: `/channels/${fake.channelId}/messages` };
    fake.fail({ ...at, action: { kind: "page", status: 403 } });
    fake.fail({ ...at, action: { kind: "page", status: 302 } });
    fake.fail({ ...at, times: 3, action: { kind: "status", status: 500 } });
    // Waits of a catch-up pass quickly; those of the connection do not.
    const isOfCatchUp = (ms: number) => ms === 60_000 || (ms >= 1000 && ms <= 8000);
    const clock: Clock = {
      ...systemClock,
      after: (ms, fn) => systemClock.after(isOfCatchUp(ms) ? ms / 100 : ms, fn),
    };
    const rig = await start({ cursors, gateway, clock, options: { connectTimeoutMs: 100_000 } });
    await until(() => gateway.texts.includes("missed"), "what was missed");
    expect(rig.logger.lines.join()).toContain("it is tried again every minute");
    expect(rig.logger.lines.join()).toContain("Discord answered 500");
    await until(() => cursors.list("owed:").length === 0, "nothing owed");
  });

  it.each<[string, FaultAction, string, boolean?]>([
    [
      "answered with nothing",
      { kind: "garble", body: "" },
      "the answer cannot be read: a proxy may be in between",
      false,
    ],
    [
      "refused",
      { kind: "status", status: 403, body: { code: 50013, message: "Missing Permissions" } },
      "Missing Permissions",
    ],
    ["hidden", { kind: "status", status: 403, body: { code: 50001, message: "Missing Access" } }, "Missing Access"],
    [
      "gone",
      { kind: "status", status: 404, body: { code: 10003, message: "Unknown Channel" } },
      "reports that the channel is gone",
    ],
    ["shown empty", { kind: "status", status: 200, body: [] }, "may lack Read Message History"],
  ])(
    "comes although the channel is %s at first, which the state tells meanwhile",
    async (_, action, reason, isOfPermissions = true) => {
      const { cursors, gateway } = await afterLostSession();
      fake.people.says("missed", { isSilent: true });
      fake.fail({
        method: "GET",
        path: `/channels/${fake.channelId}/messages`,
        action,
      });
      let goOn = () => {};
      const clock: Clock = {
        ...systemClock,
        after: (ms, fn) => {
          if (ms !== 60_000) return systemClock.after(ms, fn);
          goOn = fn;
          return { cancel() {} };
        },
      };
      const rig = await start({ cursors, gateway, clock });
      await until(() => gateway.states.some((state) => state.reason?.includes(reason)), "the reason");
      expect(gateway.states.at(-1)).toMatchObject({
        phase: "online",
        reason: expect.stringContaining("what was missed in #"),
      });
      expect(gateway.states.at(-1)?.hint?.includes("Read Message History")).toBe(isOfPermissions);
      fake.people.says("meanwhile");
      await until(() => gateway.texts.includes("meanwhile"));
      expect(rig.logger.lines.filter((line) => line.includes("could not read"))).toHaveLength(1);
      goOn();
      await until(() => gateway.texts.includes("missed"), "what was missed");
      await until(() => gateway.states.at(-1)?.reason === undefined, "an end of the remark");
    },
  );

  it("names the channels whose history is not readable", async () => {
    const silent = fake.world.addChannel({ type: 0, name: "no-history", noHistory: true });
    const { cursors, gateway } = await afterLostSession();
    fake.people.says("missed", { channelId: silent.id, isSilent: true });
    const rig = await start({ cursors, gateway });
    await until(() => rig.logger.lines.some((line) => line.includes("lacks Read Message History")));
    expect(rig.logger.lines.join()).toContain("no-history");
  });

  it("comes from threads that were closed meanwhile, older before newer", async () => {
    const { cursors, gateway } = await afterLostSession();
    const closed = (name: string, parentId: string, archivedAt = Date.now()) =>
      fake.world.addChannel({ type: 11, name, parentId, isArchived: true, archivedAt });
    const known = closed("known", fake.channelId);
    const post = closed("a post", fake.forumId);
    // So many were closed after it that it is on the second page.
    for (let i = 1; i <= 100; i++) closed(`quiet ${i}`, fake.channelId, Date.now() + i);
    fake.people.says("asked in a thread", { channelId: known.id, isSilent: true });
    fake.people.says("asked in a post", { channelId: post.id, isSilent: true });
    fake.fail({ method: "GET", path: "/threads/archived/public", action: { kind: "slow", delayMs: 200 } });
    const starting = start({ cursors, gateway });
    await until(() => fake.calls.some(({ path }) => path.includes("/threads/archived/public")), "the closed threads");
    known.isArchived = false;
    fake.people.says("and again", { channelId: known.id });
    await starting;
    await until(() => gateway.texts.includes("and again") && gateway.texts.includes("asked in a post"));
    const said = gateway.texts.filter((text) => /asked in a thread|and again/.test(text));
    expect(said).toEqual(["asked in a thread", "and again"]);
    await until(() => cursors.list("owed:").length === 0, "nothing owed");
    const read = fake.calls.filter((call) => call.method === "GET" && call.path.endsWith("/messages"));
    expect(read.map(({ path }) => path).sort()).toEqual(
      [known, post].map(({ id }) => `/channels/${id}/messages`).sort(),
    );
  });

  it("comes although somebody writes before the guild has told its channels", async () => {
    const { cursors, gateway } = await afterLostSession();
    fake.people.says("missed", { isSilent: true });
    fake.gateway.behaviour.lateGuild = true;
    await start({ cursors, gateway });
    fake.people.says("meanwhile");
    await until(() => gateway.texts.includes("meanwhile"));
    fake.gateway.tellGuild();
    expect(gateway.texts.slice(-2)).toEqual(["missed", "meanwhile"]);
  });

  it("is bounded by count and by age, and says so", async () => {
    const { cursors, gateway } = await afterLostSession();
    for (let i = 0; i < 30; i++) fake.people.says(`m${i}`, { isSilent: true });
    const rig = await start({ cursors, gateway, options: { catchUp: { maxAgeMs: 3_600_000, maxMessages: 10 } } });
    await until(() => rig.logger.lines.some((line) => line.includes("caught up")));
    expect(gateway.texts).toHaveLength(11);
    expect(rig.logger.lines.join()).toContain("more was missed");
    await rig.stop();

    fake.gateway.forgetSessions();
    const old = fake.world.snowflake(Date.now() - 2 * 3_600_000);
    cursors.map.set(`seen:${fake.threadId}`, fake.world.snowflake(Date.now() - 3 * 3_600_000));
    fake.people.says("two hours old", { id: old, channelId: fake.threadId, isSilent: true });
    fake.people.says("fresh", { channelId: fake.threadId, isSilent: true });
    const second = await start({ cursors, gateway, options: { catchUp: { maxAgeMs: 3_600_000, maxMessages: 10 } } });
    await until(() => second.logger.lines.some((line) => line.includes("caught up")));
    expect(gateway.texts).toContain("fresh");
    expect(gateway.texts).not.toContain("two hours old");
  });

  it("does not ask for channels that we may not read, nor for those without news", async () => {
    const hidden = fake.world.addChannel({ type: 0, name: "secret", isHidden: true });
    const { cursors, gateway } = await afterLostSession();
    fake.people.says("not for us", { channelId: hidden.id, isSilent: true });
    fake.people.says("for us", { channelId: fake.threadId, isSilent: true });
    await start({ cursors, gateway });
    await until(() => gateway.texts.includes("for us"));
    const asked = fake.calls
      .filter((call) => call.method === "GET" && call.path.endsWith("/messages"))
      .map((call) => call.path);
    expect(asked).toEqual([`/channels/${fake.threadId}/messages`]);
  });

  it("a catch-up that was cut off is finished by the next process", async () => {
    const { cursors, gateway } = await afterLostSession();
    for (let i = 0; i < 150; i++) fake.people.says(`m${i}`, { isSilent: true });
    fake.fail({ method: "GET", path: "/messages", skip: 1, times: 1000, action: { kind: "status", status: 500 } });
    const cut = await start({ cursors, gateway });
    await until(() => gateway.texts.length === 101);
    await cut.stop();
    expect(cursors.list("owed:")).toHaveLength(1);
    fake.faults.clear();
    await start({ cursors, gateway });
    await until(() => gateway.texts.length === 151);
    expect(gateway.texts.slice(1)).toEqual(Array.from({ length: 150 }, (_, i) => `m${i}`));
    expect(resumed()).toBe(1);
  });

  it("what is said after the page that an earlier process owed, and before the new session, is read, too", async () => {
    const { cursors, gateway } = await afterLostSession();
    const owed = { after: cursors.map.get(`seen:${fake.channelId}`), guildId: fake.world.guildId };
    cursors.map.set(`owed:${fake.channelId}`, JSON.stringify(owed));
    fake.people.says("left over", { isSilent: true });
    fake.gateway.behaviour.refuse = true;
    let store = () => {};
    const storing = new Promise<void>((resolve) => {
      store = resolve;
    });
    gateway.beforeStore = () => storing;
    const starting = start({ cursors, gateway });
    await until(() => gateway.handedOver === 2, "the page being read");
    fake.people.says("between", { isSilent: true });
    fake.gateway.behaviour.refuse = false;
    await starting;
    fake.people.says("elsewhere", { channelId: fake.threadId });
    await until(() => gateway.handedOver === 3, "the new session being heard");
    store();
    await until(() => gateway.texts.includes("between"), "what was said in between");
    expect(new Set(gateway.texts)).toEqual(new Set(["first", "left over", "elsewhere", "between"]));
  });

  it("the first start ever answers no history", async () => {
    fake.people.says("ancient", { isSilent: true });
    const rig = await start();
    fake.people.says("now");
    await until(() => rig.gateway.texts.length === 1);
    expect(rig.gateway.texts).toEqual(["now"]);
  });
});

describe("the watch", () => {
  const failureOf = async (rig: Rig) => (await rig.ended).error as HookgateError;

  it("no session start being left ends the run, to be tried again after a minute", async () => {
    const session_start_limit = { total: 1000, remaining: 0, reset_after: 3_600_000, max_concurrency: 1 };
    const body = { url: "ws://127.0.0.1:1", shards: 1, session_start_limit };
    fake.fail({ path: "^/gateway/bot$", times: 10, action: { kind: "status", status: 200, body } });
    const rig = await start({ isOnlineAwaited: false });
    expect(await failureOf(rig)).toMatchObject({ code: "DISCORD_SESSIONS", retryable: true, retryAfterMs: 60_000 });
  });

  it("a HELLO that never comes ends the run, to be tried again", async () => {
    fake.gateway.behaviour.noHello = true;
    const clock = new ManualClock(Date.now());
    const rig = await start({ clock, isOnlineAwaited: false });
    const ended = failureOf(rig);
    await until(() => fake.calls.some((call) => call.path === "/gateway/bot"));
    await clock.advance(10_000);
    expect(await ended).toMatchObject({ code: "DISCORD_TIMEOUT", retryable: true });
  });

  it("connections that close again and again soon after they were made end the run, to be tried again after a pause", async () => {
    const rig = await start();
    const ended = failureOf(rig);
    let isEnded = false;
    void ended.then(() => {
      isEnded = true;
    });
    for (let i = 0; i < 5; i++) {
      fake.gateway.closeAll(4000);
      await until(() => isEnded || resumed() === i + 1);
    }
    expect(await ended).toMatchObject({ code: "DISCORD_UNSTEADY", retryable: true });
    expect(identified()).toBe(1);
  });

  it("a RESUME that the greeting server never answers is given up while the API answers; a new session begins and nothing is lost", async () => {
    const gateway = new RecordingGateway();
    const cursors = new MemoryCursors();
    const options = { connectTimeoutMs: 2_000 };
    const first = await start({ gateway, cursors });
    fake.people.says("before");
    await until(() => gateway.texts.length === 1);
    await first.stop();
    fake.people.says("missed");
    fake.gateway.behaviour.noResumed = true;
    const hung = await start({ gateway, cursors, options, isOnlineAwaited: false });
    expect(await failureOf(hung)).toMatchObject({ code: "DISCORD_RESUME", retryable: true });
    expect(identified()).toBe(1);
    await start({ gateway, cursors, options: { connectTimeoutMs: 5000 } });
    await until(() => gateway.texts.length === 2);
    expect(gateway.texts).toEqual(["before", "missed"]);
    expect(identified()).toBe(2);
  });

  it.each(["refuses connections", "accepts them and never answers"])(
    "a session whose server %s is given up while the API answers; the next run starts a new one and loses nothing",
    async (how) => {
      const gone = createServer(() => {}); // says nothing
      await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
      fake.gateway.resumeUrl = `ws://127.0.0.1:${(gone.address() as AddressInfo).port}/gateway`;
      if (how === "refuses connections") gone.close();
      onTestFinished(() => void gone.close());
      const gateway = new RecordingGateway();
      const cursors = new MemoryCursors();
      const first = await start({ gateway, cursors });
      fake.people.says("before");
      await until(() => gateway.texts.length === 1);
      await first.stop();
      fake.people.says("missed");
      const options = { connectTimeoutMs: 900 };
      const second = await start({ gateway, cursors, options, isOnlineAwaited: false });
      expect(await failureOf(second)).toMatchObject({ code: "DISCORD_RESUME", retryable: true });
      await start({ gateway, cursors });
      await until(() => gateway.texts.length === 2, "the missed message");
      expect(gateway.texts).toEqual(["before", "missed"]);
      expect(identified()).toBe(2);
    },
  );

  it("keeps a session while Discord's API does not answer either: then the network is down", async () => {
    fake.gateway.resumeUrl = "ws://127.0.0.1:9/gateway";
    const gateway = new RecordingGateway();
    const cursors = new MemoryCursors();
    const first = await start({ gateway, cursors });
    fake.people.says("before");
    await until(() => gateway.texts.length === 1);
    await first.stop();
    const answers = fake.calls.filter((call) => call.path === "/gateway/bot").length;
    fake.fail({ path: "/gateway/bot", skip: answers, times: 1000, action: { kind: "status", status: 503 } });
    const second = await start({ gateway, cursors, options: { connectTimeoutMs: 600 }, isOnlineAwaited: false });
    expect(await failureOf(second)).toMatchObject({ code: "DISCORD_TIMEOUT", retryable: true });
    expect(JSON.parse(cursors.map.get("session:0") ?? "{}")).toMatchObject({ isGivenUp: false });
  });

  it.each(["token", "server"])("another %s starts a new session: no token reaches another server", async (what) => {
    const cursors = new MemoryCursors();
    const gateway = new RecordingGateway();
    const first = await start({ gateway, cursors });
    fake.people.says("before");
    await until(() => gateway.texts.length === 1);
    await first.stop();
    const token = what === "token" ? "another-token-0123456789" : fake.token;
    const other = await startFakeDiscord({ token });
    onTestFinished(() => other.stop());
    const { apiUrl } = what === "server" ? other : fake;
    const log = [...fake.gateway.log];
    const next = await start({ cursors, options: { token, apiUrl }, isOnlineAwaited: false });
    if (what === "server") {
      await until(() => next.gateway.phase === "online", "the other server's session");
      expect(other.gateway.log.map(({ kind }) => kind)).toContain("identify");
    } else expect(await failureOf(next)).toMatchObject({ code: "DISCORD_TOKEN" });
    expect(fake.gateway.log).toEqual(log);
  });

  it("an unreachable server is a retryable failure with a hint", async () => {
    const gone = await startFakeDiscord();
    const { apiUrl } = gone;
    await gone.stop();
    const rig = await start({ isOnlineAwaited: false, options: { apiUrl } });
    expect(await failureOf(rig)).toMatchObject({ code: "DISCORD_UNREACHABLE", retryable: true });
  });

  const REFUSED = { kind: "status", status: 401, body: { message: "401: Unauthorized", code: 0 } } as const;

  it("a wrong token is final, whether REST or the gateway says so", async () => {
    const rest = await start({ isOnlineAwaited: false, options: { token: "wrong" } });
    expect(await failureOf(rest)).toMatchObject({ code: "DISCORD_TOKEN", retryable: false });
    const rig = await start();
    fake.fail({ path: "/users/@me", action: REFUSED });
    fake.gateway.closeAll(4004);
    expect(await failureOf(rig)).toMatchObject({ code: "DISCORD_TOKEN", retryable: false });
  });

  it("a connection that is closed as with a wrong token is tried again soon when REST takes the token", async () => {
    const rig = await start();
    fake.gateway.closeAll(4004);
    expect(await failureOf(rig)).toMatchObject({
      code: "DISCORD_REFUSED_ONCE",
      message: expect.stringContaining("close code 4004"),
      retryable: true,
    });
  });

  it("one refused start is tried again soon; a token refused twice is tried again after a minute", async () => {
    fake.fail({ path: "/gateway/bot", action: REFUSED });
    const once = await start({ isOnlineAwaited: false });
    expect(await failureOf(once)).toMatchObject({ code: "DISCORD_REFUSED_ONCE", retryable: true });
    expect(fake.calls.map(({ path }) => path)).toContain("/users/@me");
    const wrong = await start({ isOnlineAwaited: false, options: { token: "wrong" } });
    expect(await failureOf(wrong)).toMatchObject({ code: "DISCORD_TOKEN", retryable: false, retryAfterMs: 60_000 });
  });

  it.each([
    ["an answer without its fields", { kind: "garble", body: "{}" }, "cannot be read"],
    ["a login page", { kind: "page", status: 403 }, "was not Discord's (HTTP 403)"],
  ] as const)("%s instead of the gateway's address is named as what it is", async (_, action, why) => {
    fake.fail({ path: "/gateway/bot", action });
    const rig = await start({ isOnlineAwaited: false });
    const error = await failureOf(rig);
    expect(error).toMatchObject({ code: "DISCORD_UNREACHABLE", retryable: true });
    expect(error.message).toContain(why);
  });

  it("a missing privileged intent says what to switch on, and is asked for again every five minutes", async () => {
    fake.gateway.behaviour.messageContentAllowed = false;
    const rig = await start({ isOnlineAwaited: false });
    const error = await failureOf(rig);
    expect(error).toMatchObject({ code: "DISCORD_INTENT", retryable: false, retryAfterMs: 300_000 });
    expect(error.hint).toContain("Message Content Intent");
    const without = await start({ options: { isMessageContentWanted: false } });
    expect(without.gateway.phase).toBe("online");
  });

  it.each([4010, 4011, 4012, 4013])(
    "close code %i takes the platform offline with its reason, and is tried again every five minutes",
    async (code) => {
      const rig = await start();
      fake.gateway.closeAll(code);
      const error = await failureOf(rig);
      expect(error).toMatchObject({ code: "DISCORD_REFUSED", retryable: false, retryAfterMs: 300_000 });
      expect(error.message).toContain(`close code ${code}`);
      expect(error.hint).toContain("every 5 minutes");
    },
  );

  it("an inbox that refuses ends the run, and the next one gets the event again", async () => {
    const gateway = new RecordingGateway();
    const cursors = new MemoryCursors();
    gateway.beforeStore = () =>
      Promise.reject(new HookgateError({ code: "STORE_FULL", message: "disk full", retryable: true }));
    const rig = await start({ gateway, cursors });
    fake.people.says("precious");
    expect(await failureOf(rig)).toMatchObject({ code: "STORE_FULL", retryable: true });
    gateway.beforeStore = () => undefined;
    await start({ gateway, cursors });
    await until(() => gateway.texts.length === 1);
    expect(gateway.texts).toEqual(["precious"]);
  });

  it("missed heartbeat acknowledgements lead to a resume", async () => {
    await Promise.all(rigs.splice(0).map((rig) => rig.stop()));
    await fake.stop();
    fake = await startFakeDiscord({ heartbeatIntervalMs: 80 });
    const rig = await start();
    fake.gateway.behaviour.noAck = true;
    await until(() => resumed() >= 1);
    fake.gateway.behaviour.noAck = false;
    fake.people.says("still here");
    await until(() => rig.gateway.texts.includes("still here"));
  });

  it("acknowledgements that are missed on five connections in a row are no sign of another program", async () => {
    await Promise.all(rigs.splice(0).map((rig) => rig.stop()));
    await fake.stop();
    fake = await startFakeDiscord({ heartbeatIntervalMs: 80 });
    const rig = await start();
    fake.gateway.behaviour.noAck = true;
    const { code, message, hint } = await failureOf(rig);
    expect(code).toBe("DISCORD_UNSTEADY");
    expect(message).toContain("did not answer heartbeats");
    expect(hint).not.toContain("another program");
  });

  it("stopping while a connection is half open ends the run and leaves no connection behind", async () => {
    fake.gateway.behaviour.noHello = true;
    const rig = await start({ isOnlineAwaited: false });
    await until(() => fake.calls.some((call) => call.path === "/gateway/bot"));
    await rig.stop();
    fake.gateway.behaviour.noHello = false;
    expect(await rig.ended).toEqual({});
    expect(identified()).toBe(0);
  });
});

describe("secrets", () => {
  it("the token and interaction tokens never reach the log", async () => {
    const rig = await start();
    const interaction = fake.people.slash("status");
    fake.fail({ path: "/callback", times: 3, action: { kind: "status", status: 500 } });
    fake.gateway.drop();
    fake.people.says("x");
    await until(() => rig.gateway.texts.length === 1);
    await rig.stop();
    const log = rig.logger.lines.join("\n") + JSON.stringify(rig.gateway.states);
    expect(log).not.toContain(fake.token);
    expect(log).not.toContain(fake.token.slice(-20));
    expect(log).not.toContain(interaction.token);
  });
});
