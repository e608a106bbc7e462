/** When somebody comes on duty, and what they are told then. */
import { describe, expect, it } from "vitest";
import { alertsConfig, type RotaConfig } from "../../src/alerts/config.js";
import { onCall } from "../../src/alerts/rota/people.js";
import { dutyEnds, gapsOf, nextShift } from "../../src/alerts/rota/shifts.js";
import { parseAddress } from "../../src/domain/chat/address.js";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { until } from "../support/until.js";
import { ADMINS, ANN, HOUR, MINUTE, OPS, ROOM, START, signal, watch } from "./watch.js";

const rotaOf = (rota: unknown) => alertsConfig.parse({ rotas: { one: rota } }).rotas.one as RotaConfig;

function starts(rota: RotaConfig, from: string, count: number): string[] {
  const found: string[] = [];
  for (let at: number | undefined = Date.parse(from); found.length < count && at !== undefined; ) {
    at = nextShift(rota, at);
    found.push(at === undefined ? "never" : new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

describe("somebody is on duty", () => {
  const ends = (rota: RotaConfig, at: string) => {
    const end = dutyEnds(rota, Date.parse(at));
    return end === undefined ? "never" : new Date(end).toISOString().slice(0, 16);
  };

  it("until somebody else is, over shifts and turns that follow each other; nobody is until somebody is", () => {
    const nights = rotaOf({
      timezone: "UTC",
      rotate: { people: ["ann", "ben"], from: "2026-01-05T09:00", every: "7d" },
      shifts: [{ days: ["wed"], from: "22:00", to: "06:00", person: "cid" }],
    });
    expect(ends(nights, "2026-01-05T10:00Z")).toBe("2026-01-07T22:00");
    expect(ends(nights, "2026-01-08T05:00Z")).toBe("2026-01-08T06:00");
    expect(ends(nights, "2026-01-08T06:00Z")).toBe("2026-01-12T09:00");
    const days = rotaOf({
      timezone: "UTC",
      shifts: [
        { days: ["mon"], from: "08:00", to: "12:00", person: "ann" },
        { days: ["mon"], from: "12:00", to: "20:00", person: "ann" },
      ],
    });
    expect(ends(days, "2026-01-05T09:00Z")).toBe("2026-01-05T20:00");
    expect(ends(days, "2026-01-06T09:00Z")).toBe("2026-01-12T08:00");
    expect(
      ends(
        rotaOf({ timezone: "UTC", rotate: { people: ["ann"], from: "2026-01-05T00:00", every: "7d" } }),
        "2026-02-01T00:00Z",
      ),
    ).toBe("never");
  });
});

it("a shift may end at 24:00, the end of its day; quiet hours too", async () => {
  const rota = (to: string) =>
    rotaOf({ timezone: "UTC", shifts: [{ days: ["thu"], from: "18:00", to, person: "ann" }] });
  const at = (time: string) => onCall(rota("24:00"), Date.parse(time));
  expect([at("2026-01-01T17:59Z"), at("2026-01-01T18:00Z"), at("2026-01-01T23:59Z"), at("2026-01-02T00:00Z")]).toEqual([
    undefined,
    "ann",
    "ann",
    undefined,
  ]);
  expect(new Date(dutyEnds(rota("24:00"), Date.parse("2026-01-01T20:00Z")) ?? 0).toISOString()).toBe(
    "2026-01-02T00:00:00.000Z",
  );
  const day = rotaOf({ timezone: "UTC", shifts: [{ from: "00:00", to: "24:00", person: "ann" }] });
  expect(gapsOf(day, START)).toEqual([]);
  expect(() => rota("24:01")).toThrow(/24:00 for the end of the day/);

  const on = await watch({
    destinations: { [ROOM]: { quiet: { from: "09:00", to: "24:00", timezone: "UTC" } } },
    ...TO_ROOM,
  });
  await on.raise();
  await on.settle();
  expect(on.posted(ROOM)).toEqual([]);
  await on.advance(14 * HOUR + MINUTE);
  expect(on.posted(ROOM)).toHaveLength(1);
});

const TO_ROOM = { routes: { default: { to: [ROOM] } } };

describe("turns of whole days", () => {
  it("begin at the same time of day in the rota's zone, over both changes of the clocks", () => {
    const weeks = rotaOf({
      timezone: "Europe/Berlin",
      rotate: { people: ["ann", "ben"], from: "2026-03-16T09:00", every: "7d" },
    });
    expect(starts(weeks, "2026-03-16T00:00Z", 4)).toEqual([
      "2026-03-16T08:00",
      "2026-03-23T08:00",
      "2026-03-30T07:00",
      "2026-04-06T07:00",
    ]);
    expect(starts(weeks, "2026-10-18T00:00Z", 3)).toEqual(["2026-10-19T07:00", "2026-10-26T08:00", "2026-11-02T08:00"]);
    const at = (time: string) => onCall(weeks, Date.parse(time));
    expect([at("2026-03-30T06:59Z"), at("2026-03-30T07:00Z")]).toEqual(["ben", "ann"]);
    expect([at("2026-10-26T07:59Z"), at("2026-10-26T08:00Z")]).toEqual(["ben", "ann"]);
    expect(at("2026-03-16T07:59Z")).toBeUndefined();
  });

  it("of some hours have a fixed length", () => {
    const hours = rotaOf({
      timezone: "Europe/Berlin",
      rotate: { people: ["ann", "ben"], from: "2026-03-28T20:00", every: "12h" },
    });
    expect(starts(hours, "2026-03-28T20:00Z", 2)).toEqual(["2026-03-29T07:00", "2026-03-29T19:00"]);
  });
});

describe("a rota", () => {
  it("is refused where its first turn has no such date, or a turn has no length", () => {
    const problems = (rotate: Record<string, unknown>) =>
      alertsConfig
        .safeParse({ rotas: { one: { timezone: "UTC", rotate: { people: ["ann"], ...rotate } } } })
        .error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    expect(problems({ from: "2026-02-31T09:00", every: "0s" })).toEqual([
      'rotas.one.rotate.from: expected a date and time that exist, such as 2026-01-05T09:00, got "2026-02-31T09:00"',
      "rotas.one.rotate.every: expected a turn of at least 1m, such as 7d",
    ]);
    expect(problems({ from: "2026-02-28T09:00", every: "7d" })).toBeUndefined();
  });

  it("shows the stretches in which it has no one on call, and none where turns follow each other", () => {
    const gaps = (rota: RotaConfig, now: string) =>
      gapsOf(rota, Date.parse(now)).map(({ from, to }) =>
        [from, to].map((at) => (at === undefined ? "open" : new Date(at).toISOString().slice(0, 16))).join(" "),
      );
    const turns = { people: ["ann"], from: "2026-01-19T09:00", every: "7d" };
    expect(gaps(rotaOf({ timezone: "UTC", rotate: turns }), "2026-01-05T09:00Z")).toEqual([
      "2026-01-05T09:00 2026-01-19T09:00",
    ]);
    expect(gaps(rotaOf({ timezone: "UTC", rotate: turns }), "2026-01-20T09:00Z")).toEqual([]);
    const week = { days: ["mon", "tue", "wed", "thu", "fri"], from: "09:00", to: "09:00", person: "ann" };
    expect(gaps(rotaOf({ timezone: "UTC", shifts: [week] }), "2026-01-05T10:00Z")).toEqual([
      "2026-01-10T09:00 2026-01-12T09:00",
    ]);
    expect(gaps(rotaOf({ timezone: "UTC" }), "2026-01-05T10:00Z")).toEqual(["2026-01-05T10:00 open"]);
  });
});

describe("a shift begins", () => {
  it("when its time comes on its days, as the clock on the wall shows it; not when it ends and nobody follows", () => {
    const days = rotaOf({
      timezone: "Europe/Berlin",
      shifts: [{ days: ["fri", "sat", "mon"], from: "09:00", to: "17:00", person: "ann" }],
    });
    // The clocks change on the 29th.
    expect(starts(days, "2026-03-26T00:00Z", 4)).toEqual([
      "2026-03-27T08:00",
      "2026-03-28T08:00",
      "2026-03-30T07:00",
      "2026-04-03T07:00",
    ]);
  });

  it("with each turn, also of one who goes on; and when a fixed shift hands back to whose turn it is", () => {
    const both = rotaOf({
      timezone: "UTC",
      rotate: { people: ["ann", "ben"], from: "2026-01-05T09:00", every: "7d" },
      shifts: [{ days: ["wed"], from: "22:00", to: "06:00", person: "cid" }],
    });
    expect(starts(both, "2026-01-05T09:00Z", 4)).toEqual([
      "2026-01-07T22:00",
      "2026-01-08T06:00",
      "2026-01-12T09:00",
      "2026-01-14T22:00",
    ]);
    const alone = rotaOf({ timezone: "UTC", rotate: { people: ["ann"], from: "2026-01-05T09:00", every: "1d" } });
    expect(starts(alone, "2026-01-01T00:00Z", 2)).toEqual(["2026-01-05T09:00", "2026-01-06T09:00"]);
    expect(starts(rotaOf({ shifts: [] }), "2026-01-01T00:00Z", 1)).toEqual(["never"]);
  });
});

describe("the start of a gap of a rota that an escalation mentions", () => {
  const shift = (from: string, to: string, person: string) => ({ from, to, person });
  const config = (shifts: unknown[], mention = "oncall:support") => ({
    people: { ann: ["loop:7"], ben: ["other:8"] },
    rotas: { support: { timezone: "UTC", shifts }, unused: { timezone: "UTC" } },
    routes: { default: { to: [ROOM], escalate: [{ after: "5m", mention: [mention] }] } },
    fallback: [OPS],
  });
  const days = [shift("09:00", "11:00", "ann"), shift("13:00", "15:00", "ben")];
  const seconds = (at: number) => Math.floor(at / 1000);

  it("is reported once at the fallback, with its end and who is next, also across a restart; the next gap is reported anew", async () => {
    const on = await watch(config(days));
    await on.advance(30 * MINUTE);
    expect(on.posted(OPS)).toEqual([]);
    await on.advance(31 * MINUTE);
    const [gap] = on.posted(OPS);
    expect(gap?.text).toContain("No one is on call: rota support");
    expect(gap?.text).toContain(
      `No one is on call until <t:${seconds(START + 3 * HOUR)}:f>. ben is next. Escalations that mention this rota notify ann instead.`,
    );
    await on.crash(MINUTE);
    await on.advance(20 * MINUTE);
    expect(on.posted(OPS)).toHaveLength(1);
    await on.advance(START + 3 * HOUR + MINUTE - on.clock.now());
    expect(on.posted(OPS)).toHaveLength(1);
    // The next look is a minute after the last one ended, and that one may have ended just now.
    await until(async () => {
      await on.advance(1_000);
      return on.posted(OPS)[0]?.text.includes("ben is on call");
    }, "the end of the gap on the card");
    // The gap from 15:00 on starts and ends while the gateway is stopped; so does the shift after it.
    await on.crash(START + 25 * HOUR + 5 * MINUTE - on.clock.now());
    await on.advance(MINUTE);
    expect(on.posted(OPS).map(({ text }) => /until <t:(\d+)/.exec(text)?.[1])).toEqual([
      undefined,
      String(seconds(START + 27 * HOUR)),
    ]);
    expect(on.posted(ROOM)).toEqual([]);
  });

  it("stays reported once when an operator resolves the alert; it ends when no escalation mentions the rota", async () => {
    const on = await watch(config(days));
    await on.advance(HOUR + MINUTE);
    const open = async () => (await on.alerts.list({ open: true, limit: 10 })).map(({ signal }) => signal.title);
    expect(await open()).toEqual(["No one is on call: rota support"]);
    const [alert] = await on.alerts.list({ open: true, limit: 1 });
    await on.alerts.act(alert?.id ?? "", { kind: "resolve" }, ANN);
    await on.advance(10 * MINUTE);
    expect(await open()).toEqual([]);
    await on.reload(config([shift("09:00", "10:00", "ann")]));
    await on.advance(MINUTE);
    expect(await open()).toEqual(["No one is on call: rota support"]);
    await on.reload(config([shift("09:00", "10:00", "ann")], "ann"));
    await on.advance(MINUTE);
    expect(await open()).toEqual([]);
  });
});

describe("a digest at the start of a shift", () => {
  const people = { ann: ["loop:7"], ben: ["other:8"] };
  const shift = (from: string, to: string, person: string) => ({ from, to, person });
  const config = (shifts: unknown[]) => ({
    people,
    rotas: { support: { timezone: "UTC", shifts } },
    digests: [{ rota: "support", to: [OPS], title: "Handover" }],
  });

  it("calls who comes on duty and says what is open, once each, also after a crash; a changed rota holds at once", async () => {
    const on = await watch(config([shift("11:00", "13:00", "ann"), shift("13:00", "20:00", "ben")]));
    await on.raise();
    await on.advance(HOUR + MINUTE);
    expect(on.posted(OPS)).toHaveLength(1);
    expect(on.posted(OPS)[0]?.text).toMatch(
      /<@7\|ann> is on duty now \(support\)[\s\S]*Handover: 1 open[\s\S]*Reply to Bob/,
    );
    expect(on.posted(OPS)[0]?.body.mentions).toEqual({ users: ["7"] });
    await on.crash();
    await on.advance(2 * HOUR);
    expect(on.posted(OPS).map(({ text }) => /(\w+)>? is on duty/.exec(text)?.[1])).toEqual(["ann", "ben"]);
    await on.raise({ fingerprint: "late" });
    await on.raise({ fingerprint: "late", state: "resolved", reason: "answered" });
    await on.advance(MINUTE);
    await on.reload(config([shift("13:30", "20:00", "ann")]));
    await on.advance(HOUR);
    expect(on.posted(OPS)).toHaveLength(3);
    expect(on.posted(OPS)[2]?.text).toContain(": 1 raised, 1 ended.");
  });

  it("notifies in a private chat who has no account where it is posted; without one it says that it notifies no one", async () => {
    const shifts = [shift("11:00", "13:00", "ben"), shift("13:00", "15:00", "cid"), shift("15:00", "20:00", "dan")];
    const given = { ...config(shifts), people: { ben: ["other:8"], cid: ["other:9"] } };
    const direct = (ref: string) => (ref === "other:8" ? parseAddress("loop:bot:dm-ben") : undefined);
    const on = await watch(given, { direct });
    await on.advance(HOUR + MINUTE);
    const [toAll] = on.posted(OPS);
    expect(toAll?.text).toContain("ben is on duty now (support). ben has no loop account and is notified in a private");
    const private_ = on.posted("loop:bot:dm-ben").map(({ text }) => text);
    expect(private_).toEqual([
      expect.stringMatching(/^You are on duty now \(support\)[\s\S]*Handover: nothing is open/),
    ]);
    await on.advance(2 * HOUR);
    expect(on.posted(OPS)[1]?.text).toContain("This message notifies no one: cid has no loop account.");
    await on.advance(2 * HOUR);
    expect(on.posted(OPS)[2]?.text).toContain("This message notifies no one: dan has no account in `alerts.people`.");
    expect(on.posted("loop:bot:dm-ben")).toHaveLength(1);
  });

  it("says in its chat that the person is not notified: after the private chat refuses it, and at once when that is known", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    platform.script = ({ address: { chatId } }) =>
      chatId === "dm-ben" ? { kind: "permanent", error: "the bot was blocked" } : undefined;
    const on = await watch(config([shift("11:00", "13:00", "ben"), shift("14:00", "15:00", "ben")]), {
      platform,
      direct: (ref) => (ref === "other:8" ? parseAddress("loop:bot:dm-ben") : undefined),
    });
    await on.advance(HOUR + MINUTE);
    const why = "This message notifies no one: ben has no loop account, and the private chat takes no alerts now.";
    const said = () => on.posted(OPS).map(({ text, edits }) => [edits, text.split(" Handover")[0]]);
    const text = expect.stringMatching(`^ben is on duty now \\(support\\)\\. ⚠ ${why}`);
    expect(said()).toEqual([[1, text]]);
    expect(on.posted(OPS)[0]?.text).toContain("Handover: nothing is open");
    expect(on.posted(ADMINS).some((one) => one.text.includes(`${why} This digest did not arrive at`))).toBe(true);
    await on.advance(3 * HOUR);
    expect(said()).toEqual([
      [1, text],
      [0, text],
    ]);
  });

  it("calls the people of a rota of account ids by their names, as /oncall does", async () => {
    const shifts = [shift("11:00", "13:00", "loop:7"), shift("13:00", "15:00", "other:8")];
    const on = await watch(config(shifts));
    await on.advance(HOUR + MINUTE);
    expect(on.posted(OPS)[0]?.text).toContain("<@7|ann> is on duty now (support)");
    expect(await on.alerts.onCall()).toMatchObject([{ person: "ann", next: { person: "ben" } }]);
    await on.advance(2 * HOUR);
    expect(on.posted(OPS)[1]?.text).toMatch(
      /^ben is on duty now.* This message notifies no one: ben has no loop account/,
    );
  });

  it("goes to the fallback, with who is on duty, when its chat refuses it; also after a crash, and once", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    platform.script = (operation) =>
      operation.address.chatId === "ops" ? { kind: "permanent", error: "the bot was removed" } : undefined;
    const on = await watch(
      config([shift("11:00", "13:00", "ann"), shift("13:00", "20:00", "ben"), shift("20:00", "23:00", "ann")]),
      platform,
    );
    await on.raise();
    const handovers = () =>
      on.posted(ADMINS).filter(({ text }) => /is on duty now[\s\S]*did not arrive at `loop:bot:ops`/.test(text));
    await on.advance(HOUR + MINUTE);
    expect(handovers().map(({ text }) => text)).toEqual([expect.stringContaining("<@7|ann> is on duty now (support)")]);
    expect(handovers()[0]?.body.mentions).toEqual({ users: ["7"] });
    expect(on.posted(ADMINS).some(({ text }) => text.includes("Alerts do not reach loop:bot:ops"))).toBe(true);
    await on.advance(HOUR + 58 * MINUTE);
    // The next one ends while no part of the alerts runs, and nothing hears of it.
    const dead = async () => (await on.rig.store.outbox.list({ status: "dead", limit: 10 })).length;
    const before = await dead();
    let isOver = false;
    platform.script = (operation) => {
      if (operation.address.chatId !== "ops") return undefined;
      return isOver
        ? { kind: "permanent", error: "the bot was removed" }
        : { kind: "retry", error: "try again", scope: "chat" };
    };
    const tried = platform.requests.length;
    await until(async () => {
      await on.clock.advance(5_000);
      return platform.requests.slice(tried).some(({ address }) => address.chatId === "ops");
    }, "the digest being tried");
    await on.alerts.stop();
    isOver = true;
    await until(async () => {
      await on.clock.advance(1_000);
      return (await dead()) > before;
    }, "the digest being given up");
    await on.crash();
    await on.advance(10_000);
    expect(handovers().map(({ text }) => /(\w+)>? is on duty/.exec(text)?.[1])).toEqual(["ann", "ben"]);
  });

  it("goes to the person on duty, too, when its chat refuses it and the fallback is the private chat of another", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    platform.script = (operation) =>
      operation.address.chatId === "ops" ? { kind: "permanent", error: "the bot was removed" } : undefined;
    const on = await watch(config([shift("11:00", "13:00", "ann"), shift("13:00", "15:00", "ann")]), {
      platform,
      direct: (ref) => (ref === "loop:7" ? parseAddress("loop:bot:dm-7") : undefined),
      personOf: ({ chatId }) => (chatId === parseAddress(ADMINS)?.chatId ? "loop:1" : undefined),
    });
    const handovers = (chat: string) => on.posted(chat).filter(({ text }) => /on duty now/.test(text));
    await on.advance(HOUR + MINUTE);
    expect(handovers("loop:bot:dm-7").map(({ text }) => text)).toEqual([
      expect.stringMatching(/^You are on duty now \(support\)\. This digest did not arrive at `loop:bot:ops`\./),
    ]);
    expect(handovers(ADMINS)[0]?.text).toContain("ann is not in this private chat and is notified in a private chat.");
    await on.crash();
    await on.advance(2 * HOUR);
    expect([handovers(ADMINS).length, handovers("loop:bot:dm-7").length]).toEqual([2, 2]);
  });

  it("lists no alert that has ended: not the gap before the shift, nor at the fallback what ended while its chat took nothing", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    const on = await watch(
      {
        ...config([shift("11:00", "13:00", "ann"), shift("13:00", "20:00", "ben")]),
        routes: { default: { to: [ROOM], escalate: [{ after: "1d", mention: ["oncall:support"] }] } },
      },
      platform,
    );
    await on.advance(MINUTE);
    expect((await on.alerts.list({ open: true, limit: 5 })).map(({ signal }) => signal.title)).toEqual([
      "No one is on call: rota support",
    ]);
    await on.raise();
    await on.advance(HOUR);
    const handovers = (place: string) => on.posted(place).filter(({ text }) => text.includes("is on duty now"));
    expect(handovers(OPS).map(({ text }) => /Handover: (\d) open/.exec(text)?.[1])).toEqual(["1"]);
    expect(handovers(OPS)[0]?.text).not.toContain("No one is on call");

    const tried = platform.requests.length;
    platform.script = ({ address: { chatId } }) =>
      chatId === "ops" ? { kind: "retry", error: "429", afterMs: HOUR, scope: "chat" } : undefined;
    await on.clock.advance(START + 3 * HOUR + 1_000 - on.clock.now());
    await until(async () => {
      await on.clock.advance(0);
      return platform.requests.slice(tried).some(({ address }) => address.chatId === "ops");
    }, "the second hand-over being tried");
    await on.alerts.raise(signal({ state: "resolved", reason: "answered", at: on.clock.now() }));
    await until(async () => {
      await on.clock.advance(MINUTE);
      return handovers(ADMINS).length > 0;
    }, "the second hand-over at the fallback");
    expect(handovers(ADMINS)[0]?.text).toMatch(/^ben is on duty now[\s\S]*did not arrive at/);
    expect(handovers(ADMINS)[0]?.text).not.toContain("Reply to Bob");
  });

  it("that was missed comes late to who is on duty, and not at all when nobody is", async () => {
    const on = await watch(config([shift("11:00", "13:00", "ann"), shift("15:00", "16:00", "ben")]));
    await on.settle();
    await on.crash(2 * HOUR);
    await on.advance(MINUTE);
    expect(on.posted(OPS).map(({ text }) => /(\w+)>? is on duty/.exec(text)?.[1])).toEqual(["ann"]);
    await on.crash(START + 7 * HOUR - on.clock.now());
    await on.advance(MINUTE);
    expect(on.posted(OPS)).toHaveLength(1);
  });
});
