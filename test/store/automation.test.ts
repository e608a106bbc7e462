import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { AutomationRun, AutomationStore } from "../../src/domain/automation.js";
import { INGESTED_EVENT } from "../../src/domain/pending.js";
import { systemClock } from "../../src/lib/time/clock.js";
import { createAutomationStore } from "../../src/store/automation/automation.js";
import { type Connection, connect, openDatabase } from "../../src/store/connection.js";
import { createAddPending } from "../../src/store/pending.js";
import { createSchema, GATEWAY_SCHEMA } from "../../src/store/schema.js";
import { openTestStore, temporaryFolder } from "./support/open-test-store.js";

const connections: Connection[] = [];
afterEach(async () => {
  for (const connection of connections.splice(0)) await connection.close();
});

/** One more process on the same file, as far as SQLite can tell. */
async function openBeside(file: string): Promise<AutomationStore> {
  const database = openDatabase(file, { durability: "normal", readonly: false });
  createSchema(database, file, GATEWAY_SCHEMA);
  const connection = connect(file, database, { clock: systemClock, lockWaitMs: 5000 });
  connections.push(connection);
  return createAutomationStore(connection, createAddPending(connection));
}

function run(id: string, changes: Partial<AutomationRun> = {}): AutomationRun {
  return {
    id,
    hookId: "night-watch",
    trigger: "every",
    reason: "every 5m",
    status: "queued",
    payload: { text: "[text]" },
    pendingPayload: { text: "hello" },
    isRepeatable: false,
    attempt: 0,
    attempts: [],
    createdAt: 1000,
    dueAt: 1000,
    ...changes,
  };
}

describe("runs", () => {
  test("a run comes back as it was stored, once per id", async () => {
    const { runs } = (await openTestStore()).automation;
    const whole = run("r1", {
      event: "task:fail",
      cause: { kind: "hook", id: "r0", depth: 2 },
      dispatchId: "x1",
      phase: "after",
      conversation: "web:web:lobby",
      messageId: "42",
      statusReason: "cooldown, 42 min left",
      decision: { kind: "block", reason: "no" },
      isRepeatable: true,
      startedAt: 1001,
      endedAt: 1002,
      attempts: [
        { attempt: 1, startedAt: 1001, status: "failed", steps: [{ step: "shell", outcome: "passed", latencyMs: 3 }] },
      ],
    });
    expect(await runs.insert(whole)).toBe(true);
    expect(await runs.insert({ ...whole, reason: "another" })).toBe(false);
    expect(await runs.get("r1")).toEqual(whole);
    expect(await runs.get("r2")).toBeUndefined();
  });

  test("of two processes one takes a run, and the oldest due one first", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const [one, two] = [await openBeside(file), await openBeside(file)];
    const ids = Array.from({ length: 40 }, (_, i) => `r${i}`);
    for (const [index, id] of ids.entries()) await one.runs.insert(run(id, { dueAt: 1000 - index }));
    await one.runs.insert(run("later", { dueAt: 9000 }));
    const taken: string[] = [];
    const takeAll = async ({ runs }: AutomationStore, owner: string) => {
      for (let next = await runs.take(owner, 2000, 500); next; next = await runs.take(owner, 2000, 500)) {
        expect(next).toMatchObject({ isTakenOver: false, run: { status: "running", attempt: 1, leaseOwner: owner } });
        taken.push(next.run.id);
      }
    };
    await Promise.all([takeAll(one, "a"), takeAll(two, "b")]);
    expect([...taken].sort()).toEqual([...ids].sort());
    expect(taken[0]).toBe("r39");
    expect(await one.runs.nextDue()).toBe(2500);
  });

  test("a lease is renewed by its owner only, and an expired one is taken over by one other", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const [one, two, three] = [await openBeside(file), await openBeside(file), await openBeside(file)];
    await one.runs.insert(run("r1"));
    await one.runs.take("a", 2000, 500);
    expect(await two.runs.take("b", 2400, 500)).toBeUndefined();
    expect(await one.runs.renew("r1", "a", 3000)).toBe(true);
    expect(await two.runs.renew("r1", "b", 9000)).toBe(false);
    expect(await two.runs.take("b", 2600, 500)).toBeUndefined();
    const takers = await Promise.all([two.runs.take("b", 3000, 500), three.runs.take("c", 3000, 500)]);
    expect(takers.filter(Boolean)).toMatchObject([{ isTakenOver: true, run: { id: "r1", attempt: 1 } }]);
    expect(await one.runs.renew("r1", "a", 9000)).toBe(false);
    const stale = run("r1", { status: "succeeded", endedAt: 3100 });
    expect(await one.runs.update(stale, "a")).toBe(false);
    expect((await two.runs.get("r1"))?.status).toBe("running");
  });

  test("a process that is alone ends the leases of the one before it", async () => {
    const { runs } = (await openTestStore()).automation;
    await runs.insert(run("r1"));
    await runs.insert(run("r2"));
    await runs.take("before", 2000, 60_000);
    await runs.take("now", 2000, 60_000);
    expect(await runs.expireOthers("now", 2001)).toBe(1);
    expect(await runs.take("now", 2001, 500)).toMatchObject({ isTakenOver: true, run: { id: "r1" } });
    expect(await runs.take("now", 2002, 500)).toBeUndefined();
  });

  test("hooks without room are passed over, when taking and when asking for the next", async () => {
    const { runs } = (await openTestStore()).automation;
    await runs.insert(run("r1", { hookId: "busy", dueAt: 10 }));
    await runs.insert(run("r2", { hookId: "free", dueAt: 20 }));
    expect(await runs.nextDue({ busy: ["busy"], absent: [], unread: [], keptSince: 0 })).toBe(20);
    expect((await runs.take("a", 100, 500, { busy: ["busy"], absent: [], unread: [], keptSince: 0 }))?.run.id).toBe(
      "r2",
    );
    expect(await runs.take("a", 100, 500, { busy: ["busy"], absent: [], unread: [], keptSince: 0 })).toBeUndefined();
    expect(await runs.waiting()).toEqual(new Map([["busy", 1]]));
    expect((await runs.newestWaiting("busy"))?.id).toBe("r1");
  });

  test("runs of hooks that are not in force are left, but for those that were created too long ago", async () => {
    const { runs } = (await openTestStore()).automation;
    await runs.insert(run("r1", { hookId: "absent", createdAt: 10, dueAt: 10 }));
    await runs.insert(run("r2", { hookId: "absent", createdAt: 20, dueAt: 20 }));
    await runs.take("before", 15, 10);
    expect((await runs.unfinished()).toSorted()).toEqual(["absent"]);
    const left = (keptSince: number) => ({ busy: [], absent: ["absent"], unread: ["absent"], keptSince });
    expect(await runs.nextDue(left(10))).toBeUndefined();
    expect(await runs.take("a", 100, 500, left(10))).toBeUndefined();
    expect(await runs.nextDue(left(11))).toBe(25);
    expect(await runs.take("a", 100, 500, left(11))).toMatchObject({ isTakenOver: true, run: { id: "r1" } });
    expect(await runs.take("a", 100, 500, left(11))).toBeUndefined();
    expect((await runs.take("a", 100, 500))?.run.id).toBe("r2");
  });

  test("lines of a hook take turns, each keeps its order, and what waits to be tried again holds up no other", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const { runs } = await openBeside(file);
    const add = (id: string, at: number, line?: string) => runs.insert(run(id, { createdAt: at, dueAt: at }), line);
    for (let n = 1; n <= 6; n++) await add(`e${n}`, n, "eve");
    await add("timer", 10);
    for (let n = 1; n <= 2; n++) await add(`b${n}`, 10 + n, "bob");
    expect(await runs.waitingInLine("night-watch", "eve")).toBe(6);
    let now = 20;
    const next = async (from = runs) => (await from.take("a", now++, 1000))?.run.id;
    expect([await next(), await next(), await next(), await next()]).toEqual(["e1", "timer", "b1", "e2"]);
    // Cut off by the end of its process: the next one goes on from the rows.
    const after = (await openBeside(file)).runs;
    expect(await next(after)).toBe("b2");
    await after.update(run("e1", { attempt: 1, createdAt: 1, dueAt: 40 }), "a");
    await after.insert(run("b3", { createdAt: 24, dueAt: 24 }), "bob");
    expect([await next(after), await next(after)]).toEqual(["e3", "b3"]);
    now = 50;
    await after.insert(run("b4", { createdAt: 50, dueAt: 50 }), "bob");
    await after.insert(run("e7", { createdAt: 50, dueAt: 50 }), "eve");
    const rest: (string | undefined)[] = [];
    while ((await after.waiting()).size > 0) rest.push(await next(after));
    expect(rest).toEqual(["e4", "b4", "e5", "e6", "e1", "e7"]);
    expect(await after.nextDue()).toBe(1021);
  });

  test("history is listed newest first, by hook and status, page by page", async () => {
    const { runs } = (await openTestStore()).automation;
    for (let i = 0; i < 6; i++)
      await runs.insert(run(`r${i}`, { hookId: i % 2 ? "odd" : "even", status: i < 3 ? "failed" : "succeeded" }));
    const ids = async (filter: Parameters<typeof runs.list>[0]) => (await runs.list(filter)).map(({ id }) => id);
    expect(await ids({ limit: 2 })).toEqual(["r5", "r4"]);
    expect(await ids({ limit: 2, before: "r4" })).toEqual(["r3", "r2"]);
    expect(await ids({ limit: 9, hookId: "odd", status: "failed" })).toEqual(["r1"]);
    expect(await ids({ limit: 9, status: ["failed", "skipped"] })).toEqual(["r2", "r1", "r0"]);
  });

  test("the gates learn after a restart when a hook started", async () => {
    const { runs } = (await openTestStore()).automation;
    await runs.insert(run("r1", { startedAt: 100, status: "succeeded" }));
    await runs.insert(run("r2", { startedAt: 300, status: "failed" }));
    await runs.insert(run("r3", { status: "skipped" }));
    expect(await runs.started("night-watch", 200)).toEqual({ at: [300], lastStartedAt: 300 });
    expect(await runs.started("night-watch", 400)).toEqual({ at: [], lastStartedAt: 300 });
    expect(await runs.started("other", 0)).toEqual({ at: [] });
  });

  test("each hook keeps as much history as it is allowed; what has not ended stays", async () => {
    const { runs } = (await openTestStore()).automation;
    for (let i = 0; i < 8; i++)
      await runs.insert(run(`loud${i}`, { hookId: "loud", status: "succeeded", createdAt: i }));
    await runs.insert(run("waits", { hookId: "quiet", createdAt: 1 }));
    await runs.insert(run("old", { hookId: "quiet", status: "failed", createdAt: 1 }));
    await runs.insert(run("young", { hookId: "quiet", status: "failed", createdAt: 990 }));
    const keep = (hookId: string) =>
      hookId === "loud" ? { maxAgeMs: 1e9, maxRuns: 3 } : { maxAgeMs: 100, maxRuns: 100 };
    expect(await runs.sweep(1000, keep)).toBe(6);
    expect((await runs.list({ limit: 99 })).map(({ id }) => id)).toEqual(["young", "waits", "loud7", "loud6", "loud5"]);
  });
});

describe("timed triggers", () => {
  test("of two processes one fires a time, with its run", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const [one, two] = [await openBeside(file), await openBeside(file)];
    await one.triggers.set({ hookId: "h", schedule: "every 5m", nextAt: 5000 });
    const next = { hookId: "h", schedule: "every 5m", lastAt: 5000, nextAt: 10_000 };
    const fired = await Promise.all([
      one.triggers.fire("h", 5000, next, run("by-one")),
      two.triggers.fire("h", 5000, next, run("by-two")),
    ]);
    expect(fired.filter(Boolean)).toHaveLength(1);
    expect(await two.runs.list({ limit: 9 })).toHaveLength(1);
    expect(await one.triggers.get("h")).toEqual(next);
    await one.triggers.forget("h");
    expect(await two.triggers.list()).toEqual([]);
  });
});

describe("events from outside", () => {
  test("are taken once per id, and forgotten only when they were handled and are old", async () => {
    const { automation, pending } = await openTestStore();
    const { ingest } = automation;
    const event = { id: "e1", name: "deploy", payload: { ok: true }, receivedAt: 100 };
    const work = { id: "w1", kind: INGESTED_EVENT, key: "deploy", dueAt: 0, payload: { event: "e1" } };
    expect(await ingest.accept(event, [work])).toBe("new");
    expect(await ingest.accept({ ...event, payload: {} }, [{ ...work, id: "w2" }])).toBe("reused");
    expect(await ingest.get("e1")).toEqual(event);
    expect(await pending.list([INGESTED_EVENT])).toEqual([{ ...work, attempt: 1 }]);
    expect(await ingest.sweep(200)).toBe(0);
    await pending.done(["w1"]);
    expect(await ingest.accept(event, [work])).toBe("repeated");
    expect(await pending.list([INGESTED_EVENT])).toEqual([]);
    expect(await ingest.sweep(200)).toBe(1);
  });
});

describe("snapshots of files", () => {
  test("an empty folder that was seen is not one that was never looked at", async () => {
    const { snapshots } = (await openTestStore()).automation;
    expect(await snapshots.get("w")).toBeUndefined();
    await snapshots.update("w", [], []);
    expect(await snapshots.get("w")).toEqual([]);
    await snapshots.update(
      "w",
      [
        { path: "/a", sizeBytes: 1, mtimeMs: 1.5, ctimeMs: 7 },
        { path: "/b", sizeBytes: 1, mtimeMs: 2, ctimeMs: 7 },
      ],
      [],
    );
    await snapshots.update("w", [{ path: "/a", sizeBytes: 2, mtimeMs: 3, ctimeMs: 7 }], ["/b"]);
    expect(await snapshots.get("w")).toEqual([{ path: "/a", sizeBytes: 2, mtimeMs: 3, ctimeMs: 7 }]);
    expect(await snapshots.watches()).toEqual(["w"]);
    await snapshots.forget("w");
    expect(await snapshots.get("w")).toBeUndefined();
  });
});
