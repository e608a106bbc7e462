import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DispatchRecord, RunRecord } from "../../src/domain/journal.js";
import { silentLogger } from "../../src/lib/logger.js";
import { openJournalDatabase } from "../../src/store/journal/database.js";
import { openJournal, type StoredJournal } from "../../src/store/journal/journal.js";
import { openStore } from "../../src/store/open.js";
import { ManualClock } from "../support/manual-clock.js";
import { until } from "../support/until.js";
import { openTestStore, retentionOf, storeOptions, temporaryFolder } from "./support/open-test-store.js";

/** The same writer, without the thread, which takes a while to start from source. */
const IN_THIS_THREAD = ":memory:";
const NOW = Date.UTC(2026, 0, 1, 12, 30);

function run(hookId: string, changes: Partial<RunRecord> & { dispatch: string }): RunRecord {
  const { dispatch, ...rest } = changes;
  const position = rest.position ?? 1;
  return { id: `${dispatch}/${position}`, hookId, position, outcome: "passed", latencyMs: 1, attempt: 1, ...rest };
}

function dispatch(id: string, changes: Partial<DispatchRecord> = {}): DispatchRecord {
  return {
    id,
    point: "message_received",
    model: "void",
    at: NOW,
    latencyMs: 2,
    payload: { text: "hi" },
    attempt: 1,
    dryRun: false,
    outcome: "passed",
    runs: [run("greeter", { dispatch: id })],
    ...changes,
  };
}

describe("journal", () => {
  test("what was recorded can be read after a flush, exactly as it was", async () => {
    const { journal } = await openTestStore({ url: IN_THIS_THREAD });
    const record = dispatch("m1:message_sending", {
      point: "message_sending",
      model: "modifying",
      phase: "before",
      payload: { message: { text: 'a "quoted" \u{1f600} {"text":"json"}' }, empty: "", zero: 0, no: false, nil: null },
      cause: { kind: "message", id: "1", depth: 0 },
      outcome: "modified",
      result: { text: "x" },
      provenance: { text: "greeter" },
      conversation: "web:web:room",
      messageId: "5",
      runs: [
        run("greeter", { dispatch: "m1:message_sending", outcome: "modified", diff: { text: "x" }, pluginId: "p" }),
        run("other", { dispatch: "m1:message_sending", position: 2, outcome: "failed", error: "broke", reason: "r" }),
      ],
    });
    journal.record(record);
    await journal.flush();
    expect(await journal.get(record.id)).toEqual(record);
    expect(await journal.getByRun("m1:message_sending/2")).toEqual(record);
    expect(await journal.getByRun("m1:message_sending/3")).toBeUndefined();
    expect(await journal.get("other")).toBeUndefined();
  });

  test("a record is what it was when it was recorded, whatever becomes of the payload", async () => {
    const { journal } = await openTestStore({ url: IN_THIS_THREAD });
    const payload = { text: "before" };
    journal.record(dispatch("x1", { payload }));
    payload.text = "after";
    await journal.flush();
    expect((await journal.get("x1"))?.payload).toEqual({ text: "before" });
  });

  test("platforms' raw payloads are not recorded, and the caller's payload keeps its own", async () => {
    const { journal } = await openTestStore({ url: IN_THIS_THREAD });
    const payload = {
      raw: { a: 1 },
      text: "x",
      message: { raw: { b: 1 }, text: "y" },
      event: { message: { raw: 1, z: 2 } },
    };
    journal.record(dispatch("x1", { payload }));
    await journal.flush();
    expect((await journal.get("x1"))?.payload).toEqual({
      text: "x",
      message: { text: "y" },
      event: { message: { z: 2 } },
    });
    expect(payload.message.raw).toEqual({ b: 1 });
  });

  test("secrets do not reach the disk, wherever they stand and whatever characters they have", async () => {
    const secrets = ["hunter2-token", 'with"quote', "back\\slash", "12345678"];
    const { journal } = await openTestStore({ url: IN_THIS_THREAD, secrets });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...secrets), fc.string(), fc.string(), async (secret, before, after) => {
        const text = before + secret + after;
        journal.record(
          dispatch("x1", {
            payload: { text, list: [text], [`key ${secret}`]: 1 },
            result: text,
            runs: [run("h", { dispatch: "x1", error: text, diff: { deep: { text } } })],
          }),
        );
        await journal.flush();
        const stored = await journal.get("x1");
        const texts: unknown[] = [];
        JSON.stringify(stored, (key, value) => {
          texts.push(key, value);
          return value;
        });
        expect(texts.filter((text) => typeof text === "string" && text.includes(secret))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  test("a number that happens to look like a secret does not break the record", async () => {
    const { journal } = await openTestStore({ url: IN_THIS_THREAD, secrets: ["12345678"] });
    journal.record(dispatch("x1", { payload: { number: 12345678, text: "12345678" } }));
    await journal.flush();
    expect((await journal.get("x1"))?.payload).toEqual({ number: 12345678, text: "[secret]" });
  });

  test("a payload that is no JSON costs its payload, not the record, and never throws", async () => {
    const { journal } = await openTestStore({ url: IN_THIS_THREAD });
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    journal.record(dispatch("x1", { payload: cycle }));
    journal.record(dispatch("x2", { payload: { big: 1n } }));
    await journal.flush();
    expect((await journal.get("x1"))?.payload).toMatch(/^not recorded: /);
    expect((await journal.get("x2"))?.runs).toHaveLength(1);
  });

  test("a very long text is cut, and said to be", async () => {
    const { journal } = await openTestStore({ url: IN_THIS_THREAD });
    journal.record(dispatch("x1", { payload: { text: "y".repeat(1_000_000), short: "kept" } }));
    await journal.flush();
    const payload = (await journal.get("x1"))?.payload;
    expect(payload).toMatchObject({ short: "kept", text: expect.stringMatching(/y… \(\d+ more characters\)$/) });
    expect(JSON.stringify(payload).length).toBeLessThan(10_000);
  });

  test("a dispatch that is run again is recorded again, and the newest is what is found", async () => {
    const { journal } = await openTestStore({ url: IN_THIS_THREAD });
    journal.record(dispatch("m1:p", { outcome: "failed" }));
    journal.record(dispatch("m1:p", { attempt: 2 }));
    await journal.flush();
    expect(await journal.get("m1:p")).toMatchObject({ attempt: 2 });
    expect(await journal.getByRun("m1:p/1")).toMatchObject({ attempt: 2 });
    expect(await journal.list({ limit: 9 })).toMatchObject([{ attempt: 2 }, { attempt: 1 }]);
  });

  test("runs whose ids do not say which dispatch they belong to are found too", async () => {
    const { journal } = await openTestStore({ url: IN_THIS_THREAD });
    journal.record(
      dispatch("x1", { runs: [run("h", { dispatch: "x1", id: "r_abc" }), run("h", { dispatch: "x1", id: "x1/a/b" })] }),
    );
    await journal.flush();
    expect((await journal.getByRun("r_abc"))?.id).toBe("x1");
    expect((await journal.getByRun("x1/a/b"))?.id).toBe("x1");
  });

  test("dispatches are listed newest first by any mix of filters", async () => {
    const { journal } = await openTestStore({ url: IN_THIS_THREAD });
    for (let i = 0; i < 40; i++) {
      const id = `x${i}`;
      const outcome = i % 5 === 0 ? "failed" : i % 2 === 0 ? "modified" : "passed";
      journal.record(
        dispatch(id, {
          point: i % 2 === 0 ? "message_sending" : "message_received",
          conversation: `c${i % 3}`,
          messageId: String(i >> 2),
          outcome: i % 5 === 0 ? "passed" : outcome,
          runs: [
            run("always", { dispatch: id, outcome: i % 5 === 0 ? "timed_out" : "passed" }),
            ...(i % 4 === 0 ? [run("sometimes", { dispatch: id, position: 2, outcome: "skipped" })] : []),
          ],
        }),
      );
    }
    await journal.flush();
    const ids = async (filter: Partial<Parameters<typeof journal.list>[0]>) =>
      (await journal.list({ limit: 99, ...filter })).map(({ id }) => Number(id.slice(1)));
    const expected = (keep: (i: number) => boolean) => Array.from({ length: 40 }, (_, i) => 39 - i).filter(keep);
    expect(await ids({ limit: 3 })).toEqual([39, 38, 37]);
    expect(await ids({ hookId: "sometimes" })).toEqual(expected((i) => i % 4 === 0));
    expect(await ids({ hookId: "sometimes", messageId: "2" })).toEqual([8]);
    expect(await ids({ point: "message_sending", conversation: "c1" })).toEqual(
      expected((i) => i % 2 === 0 && i % 3 === 1),
    );
    expect(await ids({ messageId: "2" })).toEqual([11, 10, 9, 8]);
    expect(await ids({ failed: true })).toEqual(expected((i) => i % 5 === 0));
    expect(await ids({ failed: true, hookId: "sometimes" })).toEqual(expected((i) => i % 20 === 0));
    expect(await ids({ outcome: "modified" })).toEqual(expected((i) => i % 2 === 0 && i % 5 !== 0));
    expect(await ids({ outcome: "passed", limit: 2 })).toEqual([39, 37]);
    expect(await ids({ before: "x10", limit: 2 })).toEqual([9, 8]);
    expect(await ids({ before: "x10", hookId: "sometimes" })).toEqual([8, 4, 0]);
    expect(await ids({ before: "unknown" })).toEqual([]);
    expect(await ids({ hookId: "unknown" })).toEqual([]);
  });
});

describe("statistics of hooks", () => {
  const open = async (clock: ManualClock, changes = {}) => openTestStore({ clock, ...changes });
  const fire = (id: string, at: number, changes: Partial<RunRecord> = {}, dryRun = false) =>
    dispatch(id, { at, dryRun, runs: [run("h", { dispatch: id, ...changes })] });

  test("count fires and failures of the last day, and fires ever", async () => {
    const { journal } = await open(new ManualClock(NOW), { url: IN_THIS_THREAD });
    journal.record(fire("x1", NOW - 40 * 3_600_000, { outcome: "failed" }));
    journal.record(fire("x2", NOW - 3_600_000, { outcome: "timed_out" }));
    journal.record(fire("x3", NOW - 10, { outcome: "claimed" }));
    await journal.flush();
    expect((await journal.stats()).get("h")).toMatchObject({
      hookId: "h",
      fires: 2,
      failures: 1,
      totalFires: 3,
      lastFiredAt: NOW - 10,
      lastOutcome: "claimed",
    });
  });

  test("skipped runs and dry runs are no fires", async () => {
    const { journal } = await open(new ManualClock(NOW), { url: IN_THIS_THREAD });
    journal.record(fire("x1", NOW, { outcome: "skipped" }));
    journal.record(fire("x2", NOW, { outcome: "dry_run" }, true));
    await journal.flush();
    expect((await journal.stats()).get("h")).toBeUndefined();
  });

  test("the p95 is right to within five per cent, whatever the latencies", async () => {
    const { journal } = await open(new ManualClock(NOW), { url: IN_THIS_THREAD });
    let hooks = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0.002, max: 120_000, noNaN: true }), { minLength: 1, maxLength: 200 }),
        async (latencies) => {
          const hook = `h${hooks++}`;
          latencies.forEach((latencyMs, i) => {
            const id = `${hook}.${i}`;
            journal.record(dispatch(id, { runs: [run(hook, { dispatch: id, latencyMs })] }));
          });
          await journal.flush();
          const exact = [...latencies].sort((a, b) => a - b)[Math.ceil(latencies.length * 0.95) - 1] as number;
          const p95 = (await journal.stats()).get(hook)?.p95Ms as number;
          expect(Math.abs(p95 / exact - 1)).toBeLessThan(0.05);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("outlive the dispatches that retention removes, and a restart", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const clock = new ManualClock(NOW);
    const retention = retentionOf({ journal_rows: 10 });
    const first = await openStore(storeOptions(file, { clock, retention }));
    for (let i = 0; i < 2500; i++) first.journal.record(fire(`x${i}`, NOW, { latencyMs: 5 }));
    await first.journal.flush();
    expect(await first.sweep(NOW)).toMatchObject({ dispatches: 2490 });
    expect((await first.journal.list({ limit: 99 })).map(({ id }) => id)[9]).toBe("x2490");
    expect(await first.journal.list({ hookId: "h", limit: 99 })).toHaveLength(10);
    await first.close();
    const { journal } = await open(clock, { file, retention });
    journal.record(fire("later", NOW, { latencyMs: 5 }));
    await journal.flush();
    expect((await journal.stats()).get("h")).toMatchObject({ fires: 2501, totalFires: 2501 });
    await clock.advance(48 * 3_600_000);
    const stats = (await journal.stats()).get("h");
    expect(stats).toMatchObject({ fires: 0, totalFires: 2501, lastFiredAt: NOW });
    expect(stats?.p95Ms).toBeUndefined();
  });

  test("dispatches that are too old go, with what points at them", async () => {
    const { journal, sweep } = await openTestStore({
      url: IN_THIS_THREAD,
      retention: retentionOf({ journal_for: 1000 }),
    });
    const record = dispatch("x1", { at: NOW - 5000, runs: [run("h", { dispatch: "x1", id: "r_1" })] });
    journal.record(record);
    journal.record(dispatch("x2", { at: NOW }));
    await journal.flush();
    expect(await sweep(NOW)).toMatchObject({ dispatches: 1 });
    expect(await journal.getByRun("r_1")).toBeUndefined();
    expect(await journal.list({ hookId: "h", limit: 9 })).toEqual([]);
    expect((await journal.list({ limit: 9 })).map(({ id }) => id)).toEqual(["x2"]);
  });
});

describe("the journal under load", () => {
  test("nothing is lost at a pace that the writer keeps, and it can be read meanwhile", async () => {
    const { journal } = await openTestStore();
    journal.record(dispatch("x0"));
    await journal.flush();
    let recorded = 1;
    let isReadMeanwhile = false;
    // Until the writer, which shares the machine with other tests, was seen to keep up.
    while (recorded < 10_000 || (!isReadMeanwhile && recorded < 500_000)) {
      journal.record(dispatch(`x${recorded++}`));
      if (recorded % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      if (recorded % 1000 !== 0) continue;
      const [newest] = await journal.list({ limit: 1 });
      isReadMeanwhile ||= newest !== undefined && newest.id !== "x0";
      if (recorded >= 10_000) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await journal.flush();
    expect(isReadMeanwhile).toBe(true);
    expect((await journal.stats()).get("greeter")?.totalFires).toBe(recorded);
    expect((await journal.list({ limit: recorded })).map(({ id }) => id)).toEqual(
      Array.from({ length: recorded }, (_, i) => `x${recorded - 1 - i}`),
    );
  });

  test("at a pace that it cannot keep, old records that did not fail are dropped, counted and reported; failures stay", async () => {
    const warnings: object[] = [];
    const journal = await open({
      maxPending: 1000,
      logger: { ...silentLogger, warn: (facts) => void warnings.push(facts) },
    });
    for (let i = 0; i < 10_000; i++)
      journal.record(dispatch(`x${i}`, { outcome: i % 100 === 0 ? "failed" : "passed" }));
    await journal.flush();
    const kept = await journal.list({ limit: 20_000 });
    expect(kept).toHaveLength(10_000 - journal.lost);
    expect(kept[0]?.id).toBe("x9999");
    expect(kept.length).toBeLessThanOrEqual(1100);
    expect(await journal.list({ failed: true, limit: 999 })).toHaveLength(100);
    expect(warnings.length).toBeGreaterThan(0);
    await journal.close();
  });

  test("closing writes what was recorded up to then; what comes later is ignored", async () => {
    const file = join(temporaryFolder(), "j.db");
    const first = await open({ file });
    for (let i = 0; i < 3000; i++) first.record(dispatch(`x${i}`));
    await first.close();
    first.record(dispatch("late"));
    const again = await open({ file });
    expect(await again.list({ limit: 9999 })).toHaveLength(3000);
    expect(await again.get("late")).toBeUndefined();
    await again.close();
  });

  test("a writer that dies is replaced, and every record is written exactly once", async () => {
    const errors: string[] = [];
    const workers = new Set<Worker>();
    const journal = await open({
      logger: { ...silentLogger, error: (_facts, message) => void errors.push(message ?? "") },
      onWorker: (worker) => void workers.add(worker),
    });
    let recorded = 0;
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 1500; i++) journal.record(dispatch(`x${recorded++}`));
      await until(() => workers.size > round, "a writer");
      const newest = [...workers].at(-1) as Worker;
      await new Promise((resolve) => setTimeout(resolve, round * 15));
      await newest.terminate();
    }
    await journal.flush();
    const ids = (await journal.list({ limit: 99_999 })).map(({ id }) => id).reverse();
    expect(ids).toEqual(Array.from({ length: recorded }, (_, i) => `x${i}`));
    expect((await journal.stats()).get("greeter")?.totalFires).toBe(recorded);
    expect(errors.filter((error) => error.includes("started again"))).toHaveLength(4);
    await journal.close();
  });

  test("a history that is damaged meanwhile holds up neither a sweep nor the end", async () => {
    const clock = new ManualClock(NOW);
    const file = join(temporaryFolder(), "journal.db");
    let deaths = 0;
    const journal = await open({ file, clock, onWorker: (worker) => void worker.on("exit", () => deaths++) });
    writeFileSync(file, Buffer.alloc(20_000, 7), { flag: "r+" });
    expect(await journal.sweep(NOW, 10)).toEqual({});
    journal.record(dispatch("x1"));
    // In the pause before the next writer, the second one was asked for more.
    const sweeping = journal.sweep(NOW, 10);
    await clock.advance(100);
    expect(await sweeping).toEqual({});
    expect(deaths).toBe(2);
    let isClosed = false;
    const closing = journal.close().then(() => (isClosed = true));
    await clock.advance(5_000);
    await closing;
    expect(isClosed).toBe(true);
  });

  async function open(changes: Partial<Parameters<typeof openJournal>[0]> = {}): Promise<StoredJournal> {
    const { clock } = storeOptions("");
    const file = join(temporaryFolder(), "journal.db");
    return openJournal({ file, clock, logger: silentLogger, readonly: false, inProcess: false, ...changes });
  }
});

describe("the segments of the journal", () => {
  test("a quiet gateway's small batches are joined, and nothing in them moves or is lost", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const { journal, close } = await openStore(storeOptions(file));
    for (let i = 0; i < 150; i++) {
      journal.record(dispatch(`x${i}`, { conversation: `c${i % 7}` }));
      await journal.flush();
    }
    const ids = (await journal.list({ limit: 999 })).map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 150 }, (_, i) => `x${149 - i}`));
    expect(await journal.list({ conversation: "c3", limit: 999 })).toHaveLength(21);
    expect(await journal.get("x5")).toMatchObject({ id: "x5" });
    await close();
    const database = openJournalDatabase(file.replace(".db", "-journal.db"), "reader");
    const { segments } = database.prepare("SELECT count(*) AS segments FROM segments").get() as { segments: number };
    expect(segments).toBeLessThan(40);
    database.close();
  });

  test("retention removes records one by one where a segment holds both old and new ones", async () => {
    const { journal, sweep } = await openTestStore({ retention: retentionOf({ journal_for: 1000, journal_rows: 5 }) });
    for (let i = 0; i < 20; i++) journal.record(dispatch(`x${i}`, { at: i < 3 ? NOW - 5000 : NOW }));
    await journal.flush();
    expect(await sweep(NOW)).toMatchObject({ dispatches: 15 });
    expect((await journal.list({ limit: 99 })).map(({ id }) => id)).toEqual(["x19", "x18", "x17", "x16", "x15"]);
    expect(await journal.get("x3")).toBeUndefined();
  });

  test("a search finds what is there, whatever stands beside it", async () => {
    const { journal } = await openTestStore({ url: IN_THIS_THREAD });
    let n = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 60 }), async (words) => {
        const ids = words.map((word) => `${n++}:${word}`);
        for (const [i, id] of ids.entries())
          journal.record(dispatch(id, { messageId: words[i] ?? "", runs: [run(`h ${words[i]}`, { dispatch: id })] }));
        await journal.flush();
        for (const [i, id] of ids.entries()) {
          expect((await journal.get(id))?.id).toBe(id);
          expect((await journal.getByRun(`${id}/1`))?.id).toBe(id);
          const found = await journal.list({ messageId: words[i] ?? "", hookId: `h ${words[i]}`, limit: 9999 });
          expect(found.map((one) => one.id)).toContain(id);
        }
      }),
      { numRuns: 20 },
    );
  });

  test("secrets that become known while the writer runs do not reach the disk either", async () => {
    const secrets: string[] = [];
    const { journal } = await openTestStore({ secrets });
    journal.record(dispatch("x1", { payload: { text: "late-secret" } }));
    await journal.flush();
    secrets.push("late-secret");
    journal.record(dispatch("x2", { payload: { text: "late-secret" } }));
    await journal.flush();
    expect((await journal.get("x2"))?.payload).toEqual({ text: "[secret]" });
  });
});

test("damage of the journal that a read meets: the hint is to delete it, and that is enough", async () => {
  const file = join(temporaryFolder(), "hookgate.db");
  const journal = file.replace(".db", "-journal.db");
  const store = await openStore(storeOptions(file));
  store.journal.record(dispatch("x1"));
  await store.journal.flush();
  for (const name of [journal, `${journal}-wal`]) writeFileSync(name, "garbage ".repeat(8_192), { flag: "r+" });
  const error = await store.journal.list({ limit: 10 }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: "STORE_CORRUPT",
    message: expect.stringContaining(`the history ${journal} is damaged`),
    hint: expect.stringContaining(`delete ${journal} and ${journal}-wal`),
  });
  expect(Object(error).hint).not.toContain("restore");
  await store.close();
  for (const suffix of ["", "-wal"]) rmSync(journal + suffix, { force: true });
  const again = await openTestStore({ file });
  expect(await again.journal.list({ limit: 10 })).toEqual([]);
  expect(again.health()).toEqual({ problem: undefined, remarks: [] });
});
