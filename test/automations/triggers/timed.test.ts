/** Hooks that time starts, on a clock that is moved by hand and a store on disk. */
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Definition, Trigger } from "../../../src/automations/definition/definition.js";
import { triggerOptions } from "../../../src/automations/triggers/index.js";
import { createTimed } from "../../../src/automations/triggers/timed.js";
import type { DueStart } from "../../../src/automations/triggers/trigger.js";
import type { AutomationRun, AutomationStore } from "../../../src/domain/automation.js";
import { newId } from "../../../src/lib/id.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { createAutomationStore } from "../../../src/store/automation/automation.js";
import { connect, openDatabase } from "../../../src/store/connection.js";
import { createAddPending } from "../../../src/store/pending.js";
import { createSchema, GATEWAY_SCHEMA } from "../../../src/store/schema.js";
import { temporaryFolder } from "../../store/support/open-test-store.js";
import { ManualClock } from "../../support/manual-clock.js";
import { until } from "../../support/until.js";
import { definition } from "./support/definition.js";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** One process on the file, as far as SQLite can tell. */
async function openStore(file: string): Promise<AutomationStore> {
  const database = openDatabase(file, { durability: "none", readonly: false });
  createSchema(database, file, GATEWAY_SCHEMA);
  const connection = connect(file, database, { clock: systemClock, lockWaitMs: 10_000 });
  closers.push(() => connection.close());
  return createAutomationStore(connection, createAddPending(connection));
}

const hook = (id: string, trigger: unknown): Definition => definition(id, triggerOptions.parse(trigger) as Trigger);

interface Started {
  store: AutomationStore;
  timed: ReturnType<typeof createTimed>;
  off: Set<string>;
  /** Moves the clock from due time to due time until `at`. */
  goTo(at: number): Promise<void>;
  stop(): Promise<void>;
}

async function start(file: string, clock: ManualClock, hooks: readonly Definition[]): Promise<Started> {
  const store = await openStore(file);
  const off = new Set<string>();
  const timed = createTimed({
    store: store.triggers,
    clock,
    logger: silentLogger,
    isOff: (id) => off.has(id),
    admitDue: async ({ id }, started) => ({ run: draft(id, started, clock.now()), stored() {} }),
    draftPaused: async () => undefined,
    wasPaused: async () => false,
    cooldownUntil: async () => undefined,
  });
  await timed.sync(hooks);
  const settled = () =>
    until(() => timed.next().every((next) => next.at > clock.now() || off.has(next.hookId)), "all that is due");
  await settled();
  closers.push(() => timed.stop());
  return {
    store,
    timed,
    off,
    stop: () => timed.stop(),
    async goTo(at) {
      for (let due = timed.next()[0]; due && due.at <= at; due = timed.next()[0]) {
        await clock.advance(due.at - clock.now());
        await settled();
      }
      await clock.advance(at - clock.now());
    },
  };
}

function draft(hookId: string, { kind, reason, dueAt }: DueStart, now: number): AutomationRun {
  return {
    id: newId("r", now),
    hookId,
    trigger: kind,
    reason,
    status: "queued",
    payload: { dueAt },
    isRepeatable: false,
    attempt: 0,
    attempts: [],
    createdAt: now,
    dueAt: now,
  };
}

/** Oldest first. */
async function runsOf({ store }: Started, hookId?: string): Promise<AutomationRun[]> {
  const runs = await store.runs.list({ limit: 1000, hookId });
  return runs.reverse();
}

const times = (runs: AutomationRun[]) => runs.map((run) => new Date(run.createdAt).toISOString());
const file = () => join(temporaryFolder(), "hookgate.db");

describe("cron over a change of the clocks", () => {
  // Spring forward and back again, each with the hour (in Lord Howe: the half hour) that is left out or comes twice.
  const zones = [
    {
      zone: "Europe/Berlin",
      spring: "2026-03-28T12:00:00Z", // 02:00 → 03:00 on the 29th, at 01:00Z
      skipped: { cron: "30 2 * * *", runs: ["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"] },
      autumn: "2026-10-24T12:00:00Z", // 03:00 → 02:00 on the 25th, at 01:00Z
      repeated: { cron: "30 2 * * *", runs: ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"] },
    },
    {
      zone: "America/New_York",
      spring: "2026-03-07T17:00:00Z", // 02:00 → 03:00 on the 8th, at 07:00Z
      skipped: { cron: "15 2 * * *", runs: ["2026-03-08T07:00:00.000Z", "2026-03-09T06:15:00.000Z"] },
      autumn: "2026-10-31T17:00:00Z", // 02:00 → 01:00 on 1 November, at 06:00Z
      repeated: { cron: "15 1 * * *", runs: ["2026-11-01T05:15:00.000Z", "2026-11-02T06:15:00.000Z"] },
    },
    {
      zone: "Australia/Lord_Howe",
      spring: "2026-10-03T02:00:00Z", // 02:00 → 02:30 on the 4th, at 15:30Z on the 3rd
      skipped: { cron: "10 2 * * *", runs: ["2026-10-03T15:30:00.000Z", "2026-10-04T15:10:00.000Z"] },
      autumn: "2026-04-04T02:00:00Z", // 02:00 → 01:30 on the 5th, at 15:00Z on the 4th
      repeated: { cron: "45 1 * * *", runs: ["2026-04-04T14:45:00.000Z", "2026-04-05T15:15:00.000Z"] },
    },
  ];

  for (const { zone, spring, skipped, autumn, repeated } of zones) {
    it(`in ${zone} runs a skipped time right after, and a repeated one once`, async () => {
      for (const [from, { cron, runs }] of [
        [spring, skipped],
        [autumn, repeated],
      ] as const) {
        const clock = new ManualClock(Date.parse(from));
        const started = await start(file(), clock, [hook("daily", { cron, timezone: zone })]);
        await started.goTo(clock.now() + 46 * HOUR);
        expect(times(await runsOf(started))).toEqual(runs);
      }
    });

    it(`in ${zone} runs every half hour, as it passes, whatever the clocks show`, async () => {
      const clock = new ManualClock(Date.parse(spring));
      const started = await start(file(), clock, [hook("often", { cron: "*/30 * * * *", timezone: zone })]);
      await started.goTo(clock.now() + 24 * HOUR);
      const at = (await runsOf(started)).map((run) => run.createdAt);
      const gaps = new Set(at.slice(1).map((one, i) => one - (at[i] as number)));
      expect([...gaps]).toEqual([30 * MINUTE]);
      expect(at.length).toBe(48);
    });
  }

  it("treats a list of hours like fixed times", async () => {
    const clock = new ManualClock(Date.parse("2026-03-28T23:30:00Z"));
    const trigger = { cron: "30 2,14 * * *", timezone: "Europe/Berlin" };
    const started = await start(file(), clock, [hook("twice", trigger)]);
    await started.goTo(clock.now() + 24 * HOUR);
    expect(times(await runsOf(started))).toEqual(["2026-03-29T01:00:00.000Z", "2026-03-29T12:30:00.000Z"]);
  });
});

describe("a hook that time starts", () => {
  it("keeps its rhythm, and its reason says when it was due", async () => {
    const clock = new ManualClock(Date.parse("2026-06-01T07:58:30Z"));
    const started = await start(file(), clock, [
      hook("steady", { every: "20m" }),
      hook("morning", { cron: "0 10 * * *", timezone: "Europe/Berlin" }),
    ]);
    await started.goTo(clock.now() + HOUR);
    expect(times(await runsOf(started, "steady"))).toEqual([
      "2026-06-01T08:18:30.000Z",
      "2026-06-01T08:38:30.000Z",
      "2026-06-01T08:58:30.000Z",
    ]);
    const [morning] = await runsOf(started, "morning");
    expect(morning).toMatchObject({
      trigger: "cron",
      reason: "cron 0 10 * * * (Europe/Berlin) at 2026-06-01T10:00:00+02:00",
    });
    expect((await runsOf(started, "steady"))[1]?.payload).toEqual({
      dueAt: Date.parse("2026-06-01T08:38:30Z"),
    });
  });

  it("makes good once, at once, what was missed while nobody was there, and goes on from there", async () => {
    const path = file();
    const clock = new ManualClock(Date.parse("2026-06-01T08:00:00Z"));
    const hooks = [
      hook("every", { every: "10m" }),
      hook("cron", { cron: "0 * * * *", timezone: "UTC" }),
      hook("once", { at: "2026-06-01T09:30Z" }),
      hook("not-late", { cron: "30 * * * *", timezone: "UTC", catch_up: false }),
      hook("not-late-once", { at: "2026-06-01T09:30Z", catch_up: false }),
    ];
    const first = await start(path, clock, hooks);
    await first.goTo(clock.now() + 15 * MINUTE);
    expect((await runsOf(first)).map((run) => run.hookId)).toEqual(["every"]);
    await first.stop();

    await clock.advance(3 * HOUR);
    const second = await start(path, clock, hooks);
    const caughtUp = (await runsOf(second)).filter((run) => run.createdAt === clock.now());
    expect(caughtUp.map((run) => run.hookId).sort()).toEqual(["cron", "every", "once"]);
    expect(caughtUp.find((run) => run.hookId === "cron")?.reason).toBe(
      "cron 0 * * * * (UTC) at 2026-06-01T09:00:00+00:00, caught up 2 h 15 min later",
    );
    const next = Object.fromEntries(second.timed.next().map(({ hookId, at }) => [hookId, new Date(at).toISOString()]));
    expect(next).toEqual({
      every: "2026-06-01T11:25:00.000Z",
      "not-late": "2026-06-01T11:30:00.000Z",
      cron: "2026-06-01T12:00:00.000Z",
    });
  });

  it("neither fires everything at a restart nor forgets what is to come", async () => {
    const path = file();
    const clock = new ManualClock();
    const hooks = Array.from({ length: 20 }, (_, i) => hook(`h${i}`, { every: `${30 + i}m` }));
    const first = await start(path, clock, hooks);
    const planned = first.timed.next();
    for (let restarts = 0; restarts < 3; restarts++) {
      await clock.advance(MINUTE);
      const again = await start(path, clock, hooks);
      expect(again.timed.next()).toEqual(planned);
      await again.stop();
    }
    expect(await runsOf(first)).toEqual([]);
  });

  it("is reckoned anew when its schedule changes, and not when anything else does", async () => {
    const clock = new ManualClock(Date.parse("2026-06-01T08:00:00Z"));
    const started = await start(file(), clock, [hook("a", { every: "1h" }), hook("b", { every: "1h" })]);
    await started.goTo(clock.now() + 30 * MINUTE);
    await started.timed.sync([hook("a", { every: "1h", catch_up: false }), hook("b", { every: "2h" })]);
    const next = Object.fromEntries(started.timed.next().map(({ hookId, at }) => [hookId, new Date(at).toISOString()]));
    expect(next).toEqual({ a: "2026-06-01T09:00:00.000Z", b: "2026-06-01T10:30:00.000Z" });
    await started.goTo(clock.now() + HOUR);
    expect((await runsOf(started)).map((run) => run.hookId)).toEqual(["a"]);
  });

  it("is forgotten when it is gone, and kept while it is broken", async () => {
    const clock = new ManualClock();
    const hooks = [hook("gone", { every: "1h" }), hook("broken", { every: "1h" })];
    const started = await start(file(), clock, hooks);
    await started.timed.sync([], ["broken"]);
    await started.goTo(clock.now() + 2 * HOUR);
    expect((await started.store.triggers.list()).map(({ hookId }) => hookId)).toEqual(["broken"]);
    expect(await runsOf(started)).toEqual([]);
    await started.timed.sync(hooks);
    await until(async () => (await runsOf(started)).length === 1, "the broken one caught up");
    expect((await runsOf(started)).map((run) => run.hookId)).toEqual(["broken"]);
  });

  it("lets its time pass while it is off; a one-shot waits until it is on", async () => {
    const clock = new ManualClock(Date.parse("2026-06-01T08:00:00Z"));
    const started = await start(file(), clock, [
      hook("every", { every: "1h" }),
      hook("once", { at: "2026-06-01T09:00Z" }),
    ]);
    started.off.add("every").add("once");
    await clock.advance(150 * MINUTE);
    await until(
      () => started.timed.next().every(({ hookId, at }) => hookId === "once" || at > clock.now()),
      "passing by",
    );
    started.off.clear();
    started.timed.wake("every");
    started.timed.wake("once");
    await until(async () => (await runsOf(started)).length > 0, "the one-shot");
    expect((await runsOf(started)).map((run) => run.hookId)).toEqual(["once"]);
    expect(started.timed.next().map(({ hookId }) => hookId)).toEqual(["every"]);
  });

  it("fires a one-shot once, and says of one that was long past that it never fires", async () => {
    const path = file();
    const clock = new ManualClock(Date.parse("2026-06-01T08:00:00Z"));
    const hooks = [hook("once", { at: "2026-06-01T09:00Z" }), hook("past", { at: "2026-05-01T09:00Z" })];
    for (let restarts = 0; restarts < 2; restarts++) {
      const started = await start(path, clock, hooks);
      await started.goTo(clock.now() + 2 * HOUR);
      expect((await runsOf(started)).map((run) => run.hookId)).toEqual(["once"]);
      expect(started.timed.problems()).toEqual([
        { hookId: "past", message: "its time, 2026-05-01T09:00:00.000Z, was past: it never fires" },
      ]);
      await started.stop();
    }
  });

  it("does not wait for a clock that was set back", async () => {
    const path = file();
    const ahead = await start(path, new ManualClock(Date.parse("2030-01-01T00:00:00Z")), [
      hook("every", { every: "5m" }),
    ]);
    await ahead.stop();
    const clock = new ManualClock(Date.parse("2026-06-01T08:00:00Z"));
    const started = await start(path, clock, [hook("every", { every: "5m" })]);
    expect(started.timed.next()[0]?.at).toBe(clock.now() + 5 * MINUTE);
  });

  it("is fired by one of two processes only", async () => {
    const path = file();
    const clock = new ManualClock();
    const hooks = Array.from({ length: 10 }, (_, i) => hook(`h${i}`, { cron: `*/${i + 1} * * * *`, timezone: "UTC" }));
    const one = await start(path, clock, hooks);
    const other = await start(path, clock, hooks);
    for (let minute = 1; minute <= 30; minute++) {
      await clock.advance(MINUTE);
      await until(
        () => [...one.timed.next(), ...other.timed.next()].every(({ at }) => at > clock.now()),
        "both having looked",
      );
    }
    const runs = await runsOf(one);
    const fired = runs.map((run) => `${run.hookId} ${run.createdAt}`);
    expect(new Set(fired).size).toBe(fired.length);
    expect(fired.length).toBe(hooks.reduce((sum, _, i) => sum + Math.floor(30 / (i + 1)), 0));
  });
});
