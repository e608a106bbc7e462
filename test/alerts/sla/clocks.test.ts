import { describe, expect, it } from "vitest";
import { slaConfig } from "../../../src/alerts/sla/config.js";
import type { AlertSignal } from "../../../src/domain/alerts/alert-signal.js";
import type { SlaNews } from "../../../src/domain/alerts/sla.js";
import type { WatchedEntity } from "../../../src/domain/alerts/watched.js";
import type { HookRegistry } from "../../../src/hooks/registry.js";
import type { LifecycleHandler } from "../../../src/hooks/signatures.js";
import { ManualClock } from "../../support/manual-clock.js";
import { until } from "../../support/until.js";
import { at, HOUR, MINUTE, newFile, type SlaRig, type SlaRigOptions, startSla, task } from "./rig.js";

const OFFICE = {
  office: {
    timezone: "Europe/Berlin",
    hours: { "mon-fri": ["09:00-12:30", "13:30-18:00"] },
    holidays: { country: "DE", state: "BY" },
  },
};
const IN_FOUR_HOURS = {
  calendars: OFFICE,
  policies: [{ id: "four", for: "task", target: "4h", calendar: "office", warn_at: ["50%", "80%", "15m before"] }],
};
const BY_DEADLINE = { policies: [{ id: "on-time", for: "task", warn_at: ["50%", "1h before"] }] };

const deadline = at("2026-11-20T18:00:00Z");

/** Started, and told of a task. */
async function watching(facts: Partial<WatchedEntity>, options: SlaRigOptions): Promise<SlaRig> {
  const rig = await startSla(options);
  await rig.sla.changed(task(facts));
  return rig;
}
const inFourHours = (more: Partial<SlaRigOptions> = {}) => watching({}, { config: IN_FOUR_HOURS, ...more });
const byDeadline = (more: Partial<SlaRigOptions> = {}) => watching({ deadline }, { config: BY_DEADLINE, ...more });
const done = (rig: SlaRig, facts: Partial<WatchedEntity> = {}) =>
  rig.sla.changed(task({ ...facts, status: "done", endedAt: rig.clock.now() }));

/** With a hook that is asked before something is announced. */
const asked = (hook: {
  id?: string;
  failurePolicy?: "fail-closed";
  handler: LifecycleHandler<SlaNews, "quality:sla">;
}) => ({
  hooks: (registry: HookRegistry) => void registry.register({ hook: "quality:sla", phase: "before", ...hook }),
});
/** With one that must not fail, and does. */
const failing = (isBroken: () => boolean) =>
  asked({
    failurePolicy: "fail-closed",
    handler() {
      if (isBroken()) throw new Error("down");
    },
  });

const dueOf = async (rig: SlaRig) => new Date((await onlyClock(rig)).dueAt ?? 0).toISOString();
const onlyClock = async ({ store }: SlaRig) => {
  const [clock] = await store.sla.clocksOf("task", "t_1");
  if (!clock) throw new Error("no clock");
  return clock;
};

describe("a clock", () => {
  it("warns at each share of its working time, over lunch, and is violated when it is used up", async () => {
    // Friday 09:00 in Berlin. 4 h: 09:00–12:30 and 13:30–14:00.
    const rig = await inFourHours();
    await rig.passUntil("2026-11-20T20:00:00Z");
    expect(rig.said()).toEqual([
      "warned 2026-11-20T10:00 2 h of 4 h for completion used (warns at 50%)",
      "warned 2026-11-20T11:12 3 h 12 min of 4 h for completion used (warns at 80%)",
      "warned 2026-11-20T12:45 3 h 45 min of 4 h for completion used (warns at 15m before)",
      "firing 2026-11-20T13:00 no completion within 4 h",
    ]);
    expect(rig.news.map(({ status, percentUsed }) => `${status} ${percentUsed}`)).toEqual([
      "warning 0.5",
      "warning 0.8",
      "warning 0.9375",
      "violated 1",
    ]);
    expect(rig.news[3]).toMatchObject({
      entityId: "t_1",
      entityType: "task",
      deadline: "2026-11-20T13:00:00.000Z",
      policyId: "four",
    });
    expect(new Set(rig.signals.map(({ fingerprint, episode }) => `${fingerprint} ${episode}`)).size).toBe(1);
  });

  it("is met when its task is done in time: hooks are told, and the alert that warned ends", async () => {
    const rig = await inFourHours();
    await rig.passUntil("2026-11-20T10:30:00Z");
    await done(rig);
    await rig.pass(10 * HOUR);
    expect(rig.said().map((line) => line.slice(0, 6))).toEqual(["warned", "resolv"]);
    expect(rig.news.map(({ status }) => status)).toEqual(["warning", "met"]);
    expect(await onlyClock(rig)).toMatchObject({ state: "ended", outcome: "met", usedMs: 2.5 * HOUR });
  });

  it("raises nothing for what was met without a warning, and tells hooks all the same", async () => {
    const rig = await inFourHours();
    await rig.pass(HOUR);
    await done(rig);
    await rig.settled();
    expect([rig.signals, rig.news.map(({ status }) => status)]).toEqual([[], ["met"]]);
  });

  it("stands still while its task waits for somebody else, and moves on by as much working time", async () => {
    const rig = await inFourHours();
    await rig.passUntil("2026-11-20T09:00:00Z");
    await rig.sla.changed(task({ status: "awaiting_approval", pausedFor: "approval" }));
    expect(await onlyClock(rig)).toMatchObject({ state: "paused", pausedFor: "approval" });
    await rig.passUntil("2026-11-23T08:30:00Z");
    expect(rig.signals).toEqual([]);
    await rig.sla.changed(task());
    // One hour was used on Friday; Monday 09:30 in Berlin and three more are 12:30.
    expect(await dueOf(rig)).toBe("2026-11-23T11:30:00.000Z");
    await rig.passUntil("2026-11-23T12:00:00Z");
    expect(rig.said().at(-1)).toContain("firing 2026-11-23T11:30");
  });

  it("pauses only for the states that its policy lists, however they are spelt", async () => {
    const rig = await startSla({
      config: { policies: [{ id: "p", for: "task", target: "4h", pause_when: ["Awaiting approval"] }] },
    });
    await rig.sla.changed(task({ status: "paused", pausedFor: "paused" }));
    expect((await onlyClock(rig)).state).toBe("running");
    await rig.sla.changed(task({ status: "awaiting_approval" }));
    expect((await onlyClock(rig)).state).toBe("paused");
  });

  it("keeps to the clock on the wall when it is set back: the night shift is an hour longer", async () => {
    const clock = new ManualClock(at("2026-10-24T22:00:00Z"));
    const rig = await startSla({
      clock,
      config: {
        calendars: { night: { timezone: "Europe/Berlin", hours: { daily: "00:00-06:00" } } },
        policies: [{ id: "night", for: "task", target: "6h", calendar: "night" }],
      },
    });
    await rig.sla.changed(task({ createdAt: clock.now() }));
    // 00:00 CEST to 05:00 CET are six hours.
    expect(await dueOf(rig)).toBe("2026-10-25T04:00:00.000Z");
  });

  it("is held by the first policy that matches, and by another when the task changes", async () => {
    const rig = await startSla({
      config: {
        policies: [
          { id: "urgent", for: "task", match: "entity.facts.priority >= 5", target: "1h" },
          { id: "usual", for: "task", target: "8h" },
        ],
      },
    });
    await rig.sla.changed(task());
    await rig.sla.changed(task({ facts: { priority: 9 } }));
    const clocks = await rig.store.sla.clocksOf("task", "t_1");
    expect(clocks.map(({ policyId, state }) => `${policyId} ${state}`)).toEqual(["urgent running", "usual ended"]);
  });

  it("takes the same state twice for once", async () => {
    const rig = await inFourHours();
    const before = await onlyClock(rig);
    await rig.pass(MINUTE);
    await rig.sla.changed(task());
    expect(await onlyClock(rig)).toEqual(before);
  });

  it("refuses a bad date where it comes in, and announces nothing for it", async () => {
    const rig = await startSla({ config: BY_DEADLINE });
    for (const deadline of [Number.NaN, Number.POSITIVE_INFINITY, 1_767_225_600])
      await expect(rig.sla.changed(task({ deadline }))).rejects.toMatchObject({ code: "SLA_DATE_INVALID" });
    await rig.pass(HOUR);
    expect([rig.signals, await rig.store.sla.clocksOf("task", "t_1")]).toEqual([[], []]);
  });

  it("that fails delays no other, and is not followed more often than a failed pass is repeated", async () => {
    let asked = 0;
    const current = async (_: string, id: string) => {
      if (id !== "t_1") return undefined;
      asked++;
      throw new Error("its row is damaged");
    };
    const rig = await startSla({ config: { policies: [{ id: "hour", for: "task", target: "1h" }] }, current });
    const start = rig.clock.now();
    const overdueIn = (id: string, ms: number) => rig.sla.changed(task({ id, createdAt: start - HOUR + ms }));
    await overdueIn("t_1", MINUTE);
    await overdueIn("t_2", MINUTE);
    for (let n = 3; n <= 8; n++) await overdueIn(`t_${n}`, 10 * MINUTE + n * 7_000);
    await rig.clock.advance(MINUTE);
    await until(() => rig.signals.length === 1, "the other clock that is due at the same time");
    for (let at = MINUTE; at < 11 * MINUTE; at += 1_000) await rig.clock.advance(1_000);
    const late = rig.signals.map(({ at, clock }) => at - (clock?.dueAt ?? 0));
    expect(rig.signals).toHaveLength(7);
    expect(Math.max(...late)).toBeLessThan(1_000);
    // Half a second, then twice as long each time until it is a minute; and with each of the six others.
    expect(asked).toBeLessThan(27);
  });

  it("is followed although more clocks than a page holds fail before it", async () => {
    const current = async (_: string, id: string) => {
      if (id.startsWith("bad")) throw new Error("its row is damaged");
      return undefined;
    };
    const rig = await startSla({ config: { policies: [{ id: "hour", for: "task", target: "1h" }] }, current });
    for (let n = 0; n < 501; n++) await rig.sla.changed(task({ id: `bad_${n}` }));
    await rig.sla.changed(task({ id: "t_2", createdAt: rig.clock.now() + 1 }));
    await rig.clock.advance(HOUR + 1);
    await until(() => rig.signals.length === 1, "the clock of the other task");
  });

  it("is computed with other policies although that of another task fails", async () => {
    const open = [task({ id: "t_1", createdAt: 0 }), task({ id: "t_2" })];
    const openWork = async function* () {
      yield* open;
    };
    const rig = await startSla({ config: { policies: [{ id: "hour", for: "task", target: "1h" }] }, openWork });
    await until(async () => (await rig.store.sla.clocksOf("task", "t_2")).length === 1, "the clock of the other task");
  });
});

describe("a deadline", () => {
  it("that is moved after it was violated ends that alert and begins another episode", async () => {
    const rig = await byDeadline();
    await rig.passUntil("2026-11-20T19:00:00Z");
    const moved = at("2026-11-21T18:00:00Z");
    await rig.sla.changed(task({ deadline: moved }));
    await rig.passUntil("2026-11-21T20:00:00Z");
    expect(rig.signals.map(({ state, episode }) => `${state} ${episode}`)).toEqual([
      "warned 1",
      "warned 1",
      "firing 1",
      "resolved 1",
      "warned 2",
      "warned 2",
      "firing 2",
    ]);
    expect(rig.signals[3]?.reason).toBe("more time: due 2026-11-21T18:00:00.000Z");
    expect(rig.signals[3]?.clock).toMatchObject({ isPostponed: true });
  });

  it("that is moved within the past stays violated, and is not announced again", async () => {
    const rig = await byDeadline();
    await rig.passUntil("2026-11-20T22:00:00Z");
    const before = rig.signals.length;
    await rig.sla.changed(task({ deadline: deadline + HOUR }));
    await rig.pass(HOUR);
    expect(rig.signals.length).toBe(before);
  });

  it("that is moved after a warning ends the warning; one that is taken back ends everything", async () => {
    const rig = await byDeadline();
    await rig.passUntil("2026-11-20T13:30:00Z");
    await rig.sla.changed(task({ deadline: at("2026-11-22T18:00:00Z") }));
    await rig.settled();
    expect(rig.signals.map(({ state, episode }) => `${state} ${episode}`)).toEqual(["warned 1", "resolved 1"]);
    await rig.sla.changed(task());
    await rig.pass(72 * HOUR);
    expect(rig.signals.length).toBe(2);
    expect(await onlyClock(rig)).toMatchObject({ state: "ended", outcome: "withdrawn" });
  });

  it("that passes while its task is paused is announced when the task goes on", async () => {
    const rig = await byDeadline();
    await rig.sla.changed(task({ deadline, pausedFor: "paused" }));
    await rig.passUntil("2026-11-20T21:00:00Z");
    expect(rig.signals).toEqual([]);
    await rig.sla.changed(task({ deadline }));
    await rig.settled();
    expect(rig.said()).toEqual(["firing 2026-11-20T18:00 the deadline has passed"]);
  });

  it("that was missed by a task which is done late stays missed, and its alert says how late", async () => {
    const rig = await byDeadline();
    await rig.passUntil("2026-11-20T20:00:00Z");
    await done(rig, { deadline });
    await rig.settled();
    expect(rig.said().at(-1)).toBe("resolved 2026-11-20T20:00 done, 2 h late");
    expect(rig.news.map(({ status }) => status)).not.toContain("met");
    expect(await onlyClock(rig)).toMatchObject({ outcome: "late" });
  });

  it("runs on when a task that had failed is tried again", async () => {
    const rig = await byDeadline();
    await rig.sla.changed(task({ deadline, status: "failed", endedAt: rig.clock.now(), abandoned: true }));
    expect(await onlyClock(rig)).toMatchObject({ state: "ended", outcome: "withdrawn" });
    await rig.sla.changed(task({ deadline, status: "pending" }));
    await rig.passUntil("2026-11-20T19:00:00Z");
    expect(rig.signals.at(-1)).toMatchObject({ state: "firing", episode: 2 });
  });
});

describe("after a restart", () => {
  it("announces what broke meanwhile once, without the warnings that nobody can use any more, and nothing again", async () => {
    const file = newFile();
    const signals: AlertSignal[] = [];
    const first = await byDeadline({ file, signals });
    await first.crash();
    const clock = new ManualClock(at("2026-11-27T18:00:00Z")); // a week later
    const second = await byDeadline({ file, clock, signals });
    await second.pass(MINUTE);
    expect(second.said()).toEqual(["firing 2026-11-20T18:00 the deadline has passed"]);
    await second.crash();
    const third = await byDeadline({ file, clock, signals });
    await third.pass(HOUR);
    expect(signals.length).toBe(1);
  });

  it("asks the owner of the work before it announces: what was done and not told is not overdue", async () => {
    const file = newFile();
    const first = await byDeadline({ file });
    await first.crash();
    const endedAt = at("2026-11-20T17:00:00Z");
    const rig = await startSla({
      config: BY_DEADLINE,
      file,
      clock: new ManualClock(at("2026-11-21T08:00:00Z")),
      current: async () => task({ deadline, status: "done", endedAt }),
    });
    await rig.pass(HOUR);
    expect(rig.signals).toEqual([]);
    expect(await onlyClock(rig)).toMatchObject({ outcome: "met" });
  });

  it("waits a little with announcements, for what platforms bring of the time when nobody listened", async () => {
    const file = newFile();
    const first = await byDeadline({ file });
    await first.crash();
    const clock = new ManualClock(at("2026-11-21T08:00:00Z"));
    const rig = await startSla({ config: { ...BY_DEADLINE, after_start: "30s" }, file, clock });
    await clock.advance(29_000);
    expect(rig.signals).toEqual([]);
    await clock.advance(2_000);
    await rig.settled();
    expect(rig.signals.length).toBe(1);
  });

  it("reckons clocks anew when their policy or calendar has changed", async () => {
    const file = newFile();
    const first = await inFourHours({ file });
    await first.crash();
    const clock = new ManualClock(at("2026-11-20T09:00:00Z"));
    const longer = {
      ...IN_FOUR_HOURS,
      calendars: { office: { ...OFFICE.office, closed: ["2026-11-20 09:30-24:00"] } },
    };
    const rig = await startSla({ config: longer, file, clock });
    await rig.pass(MINUTE);
    // Half an hour on Friday, the rest on Monday: 12:30.
    expect(await dueOf(rig)).toBe("2026-11-23T11:30:00.000Z");
    await rig.crash();
    const none = await startSla({ config: {}, file, clock });
    await none.pass(MINUTE);
    expect(await onlyClock(none)).toMatchObject({ state: "ended", outcome: "withdrawn" });
  });
});

describe("hooks at quality:sla", () => {
  it("may veto an announcement, which stays unsaid with its reason, is not asked again, and stops nothing else", async () => {
    let asks = 0;
    const rig = await byDeadline(
      asked({
        id: "no-warnings",
        handler(context) {
          asks++;
          if (context.data.status === "warning") context.cancel("we know");
        },
      }),
    );
    await rig.passUntil("2026-11-20T20:00:00Z");
    expect(rig.signals.map(({ state }) => state)).toEqual(["firing"]);
    expect(rig.news.map(({ status }) => status)).toEqual(["violated"]);
    expect(asks).toBe(3);
    const said = await rig.store.sla.announcements((await onlyClock(rig)).id);
    expect(said[0]).toMatchObject({ status: "vetoed", reason: "we know", by: "no-warnings" });
  });

  it("do not keep an alert alive by a veto of its end, and raise none that was never raised", async () => {
    for (const [status, states] of [
      ["met", ["warned", "resolved"]],
      ["warning", []],
    ] as const) {
      const rig = await byDeadline(
        asked({ handler: (context) => (context.data.status === status ? context.cancel() : undefined) }),
      );
      await rig.passUntil("2026-11-20T14:00:00Z");
      await done(rig, { deadline });
      await rig.settled();
      expect(rig.signals.map(({ state }) => state)).toEqual(states);
    }
  });

  it("that must not fail hold an announcement back, in order, until they succeed", async () => {
    let isBroken = true;
    const rig = await byDeadline(failing(() => isBroken));
    await rig.passUntil("2026-11-20T13:00:00Z");
    expect(rig.signals).toEqual([]);
    isBroken = false;
    await rig.pass(MINUTE);
    expect(rig.signals.map(({ state }) => state)).toEqual(["warned"]);
  });

  it("that must not fail and go on failing are an alert themselves, until they decide", async () => {
    let isBroken = true;
    const rig = await byDeadline(failing(() => isBroken));
    await rig.passUntil("2026-11-20T13:00:00Z");
    for (let n = 0; n < 8; n++) await rig.pass(8_000);
    const own = rig.signals.map(({ state, title }) => `${state} ${title}`);
    expect(new Set(own)).toEqual(new Set(["firing Not announced, because a hook fails: Ship it: due soon"]));
    expect(rig.signals[0]?.reason).toMatch(/fail-closed: down$/);
    isBroken = false;
    await rig.pass(2 * MINUTE);
    expect(rig.signals.slice(own.length).map(({ state, source }) => `${state} ${source.kind}`)).toEqual([
      "warned sla",
      "resolved alerts",
    ]);
  });

  it("that must not fail and do so at an end keep no alert alive", async () => {
    let isBroken = false;
    const rig = await byDeadline(failing(() => isBroken));
    await rig.passUntil("2026-11-20T13:00:00Z");
    isBroken = true;
    await done(rig, { deadline });
    for (let n = 0; n < 12; n++) await rig.pass(6 * MINUTE);
    const ofClock = rig.signals.filter(({ source }) => source.kind === "sla").map(({ state }) => state);
    expect(ofClock).toEqual(["warned", "resolved"]);
    expect(rig.news.map(({ status }) => status)).toEqual(["warning"]);
  });
});

describe("a report", () => {
  const policies = [{ id: "on-time", for: "task" }];
  const at3 = at("2026-11-20T15:00:00Z");
  const reported = async (rig: SlaRig) => (await rig.sla.desk.report(0, rig.clock.now() + 1))[0];

  it("keeps the breach of what got more time afterwards, and shows the extension", async () => {
    const rig = await startSla({ config: { policies } });
    await rig.sla.changed(task({ deadline: at("2026-11-20T09:00:00Z") }));
    await rig.passUntil("2026-11-20T10:00:00Z");
    await rig.sla.changed(task({ deadline: at3 }));
    await rig.settled();
    expect(await reported(rig)).toMatchObject({ late: 0, missedOpen: 1, overdue: 0, attained: 0 });
    await rig.sla.changed(task({ deadline: at3, status: "done", endedAt: rig.clock.now() }));
    await rig.settled();
    expect(await reported(rig)).toMatchObject({ met: 0, late: 1, missedOpen: 0, extended: 1, withdrawn: 0 });
    expect((await rig.sla.desk.list({ state: "ended", limit: 1 })).clocks[0]?.clock.outcome).toBe("late");
  });

  it("and so does the alert of what is done within that time", async () => {
    const rig = await startSla({
      config: { policies: [{ id: "quick", for: "task", target: "1h", warn_at: ["80%"] }] },
    });
    const createdAt = rig.clock.now();
    await rig.sla.changed(task({ createdAt }));
    await rig.pass(90 * MINUTE);
    const [view] = (await rig.sla.desk.list({ state: "open", limit: 1 })).clocks;
    const by = { id: "web:1", name: "Olga", source: "web" };
    await rig.sla.desk.extend(view?.clock.id ?? "", { byMs: 30 * MINUTE, by });
    await rig.pass(25 * MINUTE);
    await rig.sla.changed(task({ createdAt, status: "done", endedAt: rig.clock.now() }));
    await rig.settled();
    const reason = "completion in 1 h 55 min of 2 h, after it was overdue and got more time";
    expect(rig.signals.map(({ state }) => state)).toEqual(["warned", "firing", "resolved", "warned", "resolved"]);
    expect(rig.signals.at(-1)?.reason).toBe(reason);
  });

  it("counts apart what was met only because people had given more time before", async () => {
    const rig = await startSla({ config: { policies: [{ id: "quick", for: "task", target: "1h" }] } });
    const olga = { id: "web:1", name: "Olga", source: "web" };
    for (const [id, minutes] of [
      ["t_1", 40],
      ["t_2", 75],
      ["t_3", 95],
    ] as const) {
      const createdAt = rig.clock.now();
      await rig.sla.changed(task({ id, createdAt }));
      await rig.settled();
      const [view] = (await rig.sla.desk.list({ state: "open", limit: 1 })).clocks;
      await rig.sla.desk.extend(view?.clock.id ?? "", { byMs: 20 * MINUTE, by: olga });
      await rig.sla.desk.extend(view?.clock.id ?? "", { byMs: 10 * MINUTE, by: olga });
      await rig.pass(minutes * MINUTE);
      await rig.sla.changed(task({ id, createdAt, status: "done", endedAt: rig.clock.now() }));
      await rig.settled();
      const [ended] = await rig.sla.desk.find(id);
      expect(ended?.clock).toMatchObject({ addedMs: 30 * MINUTE, targetMs: 90 * MINUTE, extendedBy: ["Olga"] });
    }
    expect(await reported(rig)).toMatchObject({
      ...{ met: 1, metExtended: 1, late: 1, extended: 3, attained: 1 / 3 },
      days: [{ met: 1, metExtended: 1, late: 1 }],
    });
  });

  it.each(["cancelled", "failed"])("counts a late task that was %s as late, and not as done", async (status) => {
    const rig = await startSla({ config: { policies } });
    const deadline = at("2026-11-20T09:00:00Z");
    await rig.sla.changed(task({ deadline }));
    await rig.passUntil("2026-11-20T10:00:00Z");
    await rig.sla.changed(task({ deadline, status, endedAt: rig.clock.now(), abandoned: true }));
    await rig.settled();
    const report = await reported(rig);
    expect(report).toMatchObject({ met: 0, late: 1, withdrawn: 0, attained: 0, ended: [] });
    expect(report?.medianMs).toBeUndefined();
    expect(rig.said().at(-1)).toBe(`resolved 2026-11-20T10:00 ${status}`);
  });

  it.each([
    ["the same target", "1h", { overdue: 1, medianMs: 90 * MINUTE }],
    ["a longer target, also when it is met", "8h", { overdue: 0, medianMs: 90 * MINUTE }],
  ])(
    "counts a breach once when its policy gets another name and %s, and back",
    async (_, target, { overdue, medianMs }) => {
      const named = (id: string, given: string) => ({ policies: [{ id, for: "task", target: given }] });
      const rig = await startSla({ config: named("old", "1h") });
      const rename = async (id: string, given: string) => {
        (await rig.sla.prepare(slaConfig.parse({ after_start: "0s", ...named(id, given) })))();
        await until(
          async () => (await rig.store.sla.count({ policyId: id, state: "open" })) === 1,
          `the clock of ${id}`,
        );
        await rig.settled();
      };
      const sums = async () => {
        const all = await rig.sla.desk.report(0, rig.clock.now() + 1);
        return all.map(({ policyId, met, late, missedOpen }) => ({ policyId, met, late, missedOpen }));
      };
      await rig.sla.changed(task());
      await rig.pass(90 * MINUTE);
      await rename("new", target);
      const none = { met: 0, late: 0, missedOpen: 0 };
      expect(await sums()).toEqual([
        { policyId: "new", ...none, missedOpen: 1 },
        { policyId: "old", ...none },
      ]);
      expect((await rig.sla.desk.list({ state: "overdue", limit: 1 })).total).toBe(overdue);
      await rename("old", target);
      await rename("new", target);
      await rig.sla.changed(task({ status: "done", endedAt: rig.clock.now() }));
      await rig.settled();
      expect(await sums()).toEqual([
        { policyId: "new", ...none, late: 1 },
        { policyId: "old", ...none },
      ]);
      expect((await reported(rig))?.medianMs).toBe(medianMs);
    },
  );

  it("keeps the breach of a clock whose policy is gone", async () => {
    const rig = await startSla({ config: { policies } });
    await rig.sla.changed(task({ deadline: at("2026-11-20T09:00:00Z") }));
    await rig.sla.changed(task({ id: "t_2", deadline: at3 }));
    await rig.passUntil("2026-11-20T10:00:00Z");
    (await rig.sla.prepare(slaConfig.parse({ after_start: "0s" })))();
    await until(async () => (await rig.store.sla.count({ state: "open" })) === 0, "the clocks being withdrawn");
    const report = await reported(rig);
    expect(report).toMatchObject({ met: 0, late: 1, withdrawn: 1 });
    // Withdrawn work, late or not, is no answer: it has no time.
    expect(report?.ended).toEqual([]);
    expect(report?.medianMs).toBeUndefined();
  });
});

describe("a clock that broke while the system clock was ahead", () => {
  it.each([
    [
      "while it runs",
      async (rig: SlaRig) => {
        rig.clock.set(-11 * HOUR);
        return rig;
      },
    ],
    [
      "while it is stopped",
      async (rig: SlaRig, options: SlaRigOptions) => {
        await rig.crash();
        rig.clock.set(-11 * HOUR, false);
        return startSla(options);
      },
    ],
  ])("is not overdue when that is set right %s: its alert ends, and comes at the right time", async (_, setRight) => {
    const clock = new ManualClock(at("2026-11-20T08:00:00Z"));
    const options: SlaRigOptions = { config: BY_DEADLINE, file: newFile(), clock, signals: [] };
    clock.set(11 * HOUR);
    const ahead = await watching({ deadline }, options);
    await ahead.settled();
    expect(ahead.signals.map(({ state }) => state)).toEqual(["firing"]);

    const rig = await setRight(ahead, options);
    await until(async () => rig.signals.length > 1, "the end of the alert");
    expect(rig.signals[1]).toMatchObject({ state: "resolved", reason: "the system clock was ahead" });
    expect(await onlyClock(rig)).toMatchObject({ state: "running" });
    expect((await rig.sla.desk.list({ state: "overdue", limit: 10 })).total).toBe(0);
    const { breachedAt, violatedAt } = await onlyClock(rig);
    expect([breachedAt, violatedAt]).toEqual([undefined, undefined]);

    await rig.passUntil("2026-11-20T18:00:00Z");
    await until(async () => rig.signals.at(-1)?.state === "firing", "the alert at its time");
    expect(rig.signals.slice(2).map(({ state }) => state)).toEqual(["warned", "warned", "firing"]);
    expect((await onlyClock(rig)).violatedAt).toBe(deadline);
  });
});
