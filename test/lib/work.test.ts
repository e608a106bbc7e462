import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ProcessDue, Work } from "../../src/domain/work.js";
import { createWork, type WorkOptions } from "../../src/lib/concurrency/work.js";
import { silentLogger } from "../../src/lib/logger.js";
import { ManualClock } from "../support/manual-clock.js";

/** A look that ends when it is told to. */
interface OpenPass {
  key: string;
  end(againAt?: number): void;
  fail(error: Error): void;
}

function setUp(changes: Partial<WorkOptions> = {}) {
  const clock = new ManualClock(1_000_000);
  const begun: string[] = [];
  const open: OpenPass[] = [];
  const errors: object[] = [];
  const processDue: ProcessDue = (key) =>
    new Promise((resolve, reject) => {
      begun.push(key);
      open.push({ key, end: resolve, fail: reject });
    });
  const work: Work = createWork({
    processDue,
    maxParallel: 10,
    clock,
    logger: { ...silentLogger, error: (facts) => void errors.push(facts) },
    backoff: { firstMs: 1000, maxMs: 8000 },
    ...changes,
  });
  /** Ends the oldest look of the key. */
  const end = async (key: string, againAt?: number): Promise<void> => {
    const at = open.findIndex((look) => look.key === key);
    open.splice(at, 1)[0]?.end(againAt);
    await clock.advance(0);
  };
  return { clock, work, begun, open, end, errors };
}

describe("work", () => {
  test("a key is looked at once for several calls before it began", async () => {
    const { work, begun, clock } = setUp();
    work.wake("a");
    work.wake("a");
    work.wake("a", clock.now() + 5000);
    expect(begun).toEqual([]);
    await clock.advance(0);
    expect(begun).toEqual(["a"]);
    expect(work.depth).toEqual({ active: 1, waiting: 0 });
  });

  test("a key is under way once at a time, and is looked at again right after when that was asked for meanwhile", async () => {
    const { work, begun, clock, end } = setUp();
    work.wake("a");
    await clock.advance(0);
    work.wake("a");
    work.wake("a");
    await clock.advance(1000);
    expect(begun).toEqual(["a"]);
    await end("a");
    expect(begun).toEqual(["a", "a"]);
    await end("a");
    expect(begun).toEqual(["a", "a"]);
    expect(work.depth).toEqual({ active: 0, waiting: 0 });
  });

  test("no more keys than allowed are under way, and those waiting begin in the order they came", async () => {
    const { work, begun, clock, end } = setUp({ maxParallel: 2 });
    for (const key of ["a", "b", "c", "d"]) work.wake(key);
    await clock.advance(0);
    expect(begun).toEqual(["a", "b"]);
    expect(work.depth).toEqual({ active: 2, waiting: 2 });
    work.wake("a");
    await end("a");
    await end("b");
    await end("c");
    expect(begun).toEqual(["a", "b", "c", "d", "a"]);
  });

  test("a key that always has more to do does not keep the others out", async () => {
    const { work, begun, clock, end } = setUp({ maxParallel: 1 });
    work.wake("busy");
    await clock.advance(0);
    for (const key of ["b", "c"]) work.wake(key);
    work.wake("busy");
    await end("busy", 0);
    await end("b");
    await end("c");
    expect(begun).toEqual(["busy", "b", "c", "busy"]);
  });

  test("a key is looked at when it falls due, the earliest time asked for counting", async () => {
    const { work, begun, clock } = setUp();
    const start = clock.now();
    work.wake("late", start + 5000);
    work.wake("early", start + 2000);
    work.wake("late", start + 3000);
    work.wake("late", start + 9000);
    await clock.advance(1999);
    expect(begun).toEqual([]);
    await clock.advance(1);
    expect(begun).toEqual(["early"]);
    await clock.advance(1000);
    expect(begun).toEqual(["early", "late"]);
    await clock.advance(60_000);
    expect(begun).toEqual(["early", "late"]);
  });

  test("a plain look brings a key forward that was due later, and it is not looked at a second time then", async () => {
    const { work, begun, clock, end } = setUp();
    work.wake("a", clock.now() + 5000);
    work.wake("a");
    await clock.advance(0);
    expect(begun).toEqual(["a"]);
    await end("a");
    await clock.advance(10_000);
    expect(begun).toEqual(["a"]);
  });

  test("what a look returns is when the key is looked at next", async () => {
    const { work, begun, clock, end } = setUp();
    work.wake("a");
    await clock.advance(0);
    await end("a", clock.now() + 700);
    await clock.advance(699);
    expect(begun).toEqual(["a"]);
    await clock.advance(1);
    expect(begun).toEqual(["a", "a"]);
  });

  test("a look asked for while the key is under way wins over a later time that the look returns", async () => {
    const { work, begun, clock, end } = setUp();
    work.wake("a");
    await clock.advance(0);
    work.wake("a", clock.now() + 100);
    await end("a", clock.now() + 9000);
    await clock.advance(100);
    expect(begun).toEqual(["a", "a"]);
  });

  test("a look that throws is reported and done again, later each time, until it works", async () => {
    const { work, begun, clock, open, end, errors } = setUp();
    work.wake("a");
    await clock.advance(0);
    for (const ceilingMs of [1000, 2000, 4000, 8000, 8000]) {
      const before = begun.length;
      open.splice(0)[0]?.fail(new Error("broken"));
      await clock.advance(ceilingMs / 2 - 1);
      expect(begun.length).toBe(before);
      await clock.advance(ceilingMs / 2 + 1);
      expect(begun.length).toBe(before + 1);
    }
    expect(errors).toHaveLength(5);
    await end("a", clock.now() + 1);
    await clock.advance(1);
    open.splice(0)[0]?.fail(new Error("broken again"));
    await clock.advance(1000);
    expect(begun).toHaveLength(8);
  });

  test("a look that throws before it returns a promise is no different", async () => {
    const errors: object[] = [];
    const { work, clock } = setUp({
      processDue: () => {
        throw new Error("at once");
      },
      logger: { ...silentLogger, error: (facts) => void errors.push(facts) },
    });
    work.wake("a");
    await clock.advance(0);
    expect(errors).toHaveLength(1);
    expect(work.depth).toEqual({ active: 0, waiting: 0 });
  });

  test("stopping begins nothing more and waits for what is under way", async () => {
    const { work, begun, clock, end } = setUp({ maxParallel: 1 });
    for (const key of ["a", "b"]) work.wake(key);
    work.wake("c", clock.now() + 10);
    await clock.advance(0);
    let isStopped = false;
    const stopping = work.stop().then(() => {
      isStopped = true;
    });
    work.wake("d");
    await clock.advance(1000);
    expect([begun, isStopped]).toEqual([["a"], false]);
    await end("a", 0);
    await stopping;
    await clock.advance(1000);
    expect(begun).toEqual(["a"]);
    await work.stop();
  });

  test("a hundred thousand keys that are due later cost one timer and are all looked at", async () => {
    let looks = 0;
    let timers = 0;
    const clock = new ManualClock(0);
    const work = createWork({
      processDue: async () => {
        looks++;
        return undefined;
      },
      maxParallel: 64,
      clock: {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        after: (delayMs, fn) => {
          timers++;
          return clock.after(delayMs, fn);
        },
      },
      logger: silentLogger,
    });
    const startedAt = performance.now();
    for (let i = 0; i < 100_000; i++) work.wake(`key${i}`, 1000 + ((i * 7919) % 100_000));
    expect(timers).toBeLessThan(100);
    for (let i = 0; i < 100_000; i++) work.wake(`key${i}`, 500);
    await clock.advance(500);
    for (let i = 0; i < 2000 && looks < 100_000; i++) await clock.advance(0);
    expect(looks).toBe(100_000);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  test("whatever is asked for in whatever order: never two at once for a key, never more than the bound, nothing forgotten", async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant("look" as const),
        key: fc.nat(4),
        inMs: fc.option(fc.nat(50), { nil: undefined }),
      }),
      fc.record({ kind: fc.constant("advance" as const), ms: fc.nat(40) }),
      fc.record({
        kind: fc.constant("end" as const),
        which: fc.nat(10),
        againInMs: fc.option(fc.nat(50), { nil: undefined }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, maxParallel) => {
          const { clock, work, open, begun } = setUp({ maxParallel });
          /** Per key: the earliest time at which a look is still owed. */
          const owed = new Map<string, number>();
          const owe = (key: string, at: number) => owed.set(key, Math.min(at, owed.get(key) ?? at));
          let seen = 0;
          const check = () => {
            expect(new Set(open.map((look) => look.key)).size).toBe(open.length);
            expect(open.length).toBeLessThanOrEqual(maxParallel);
            for (; seen < begun.length; seen++) owed.delete(begun[seen] as string);
          };
          for (const next of steps) {
            if (next.kind === "look") {
              owe(`k${next.key}`, clock.now() + (next.inMs ?? 0));
              work.wake(`k${next.key}`, next.inMs === undefined ? undefined : clock.now() + next.inMs);
            } else if (next.kind === "advance") await clock.advance(next.ms);
            else {
              const look = open.splice(next.which % Math.max(1, open.length), 1)[0];
              if (look && next.againInMs !== undefined) owe(look.key, clock.now() + next.againInMs);
              look?.end(next.againInMs === undefined ? undefined : clock.now() + next.againInMs);
              await clock.advance(0);
            }
            await clock.advance(0);
            check();
          }
          for (let i = 0; i < 60; i++) {
            for (const look of open.splice(0)) look.end();
            await clock.advance(60);
            check();
          }
          expect([...owed]).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });
});
