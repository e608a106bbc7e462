/** Collections for what comes and goes with every message: what they hold, and that they keep nothing of what they held. */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bag, type InBag } from "../../src/fast/bag.js";
import { TransientMap } from "../../src/fast/transient-map.js";
import { PerKey } from "../../src/lib/concurrency/per-key.js";

describe("a map for what comes and goes", () => {
  it("holds what a built-in one would, also when keys go and come again in great numbers", () => {
    const step = fc.record({ key: fc.integer({ min: 0, max: 5_000 }), stays: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { minLength: 3_000, maxLength: 9_000 }), (steps) => {
        const map = new TransientMap<string, { key: number }>();
        const model = new Map<string, { key: number }>();
        for (const { key, stays } of steps) {
          const value = { key };
          map.set(`k${key}`, value);
          model.set(`k${key}`, value);
          expect(map.get(`k${key}`)).toBe(value);
          if (stays && model.size < 500) continue;
          expect(map.delete(`k${key}`)).toBe(value);
          model.delete(`k${key}`);
          expect(map.get(`k${key}`)).toBeUndefined();
          expect(map.delete(`k${key}`)).toBeUndefined();
        }
        expect(new Map(map.entries())).toEqual(model);
        for (const [key, value] of model) expect(map.get(key)).toBe(value);
      }),
      { numRuns: 5 },
    );
  });

  it("keeps nothing that was deleted from it, where a built-in one keeps it until a full collection", () => {
    const builtIn = new Map<string, object>();
    const own = new TransientMap<string, object>();
    expect(
      keptBytes(
        (key, value) => builtIn.set(key, value),
        (key) => builtIn.delete(key),
      ),
    ).toBeGreaterThan(MANY_BYTES);
    expect(
      keptBytes(
        (key, value) => own.set(key, value),
        (key) => own.delete(key),
      ),
    ).toBeLessThan(MANY_BYTES / 5);
  });
});

it("forgets keys that do not come again", () => {
  const map = new TransientMap<string, object>();
  const gc = collector();
  gc();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < ONE_TIME_KEYS; i++) {
    map.set(`conversation-${i}`, {});
    map.delete(`conversation-${i}`);
  }
  gc();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(ONE_TIME_KEYS * 10);
  expect(map.entries()).toEqual([]);
});

describe("one object a key", () => {
  const setUp = () =>
    new PerKey<{ inUse: number }>(
      () => ({ inUse: 0 }),
      ({ inUse }) => inUse === 0,
    );

  it("is the same as long as it is in use, whatever else comes and goes", () => {
    const step = fc.record({ key: fc.integer({ min: 0, max: 8_000 }), stays: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { minLength: 4_000, maxLength: 9_000 }), (steps) => {
        const all = setUp();
        const inUse = new Map<string, { inUse: number }>();
        for (const { key, stays } of steps) {
          const name = `k${key}`;
          const one = all.of(name);
          if (inUse.has(name)) expect(one).toBe(inUse.get(name));
          if (!stays || inUse.size > 1_500) continue;
          one.inUse++;
          inUse.set(name, one);
        }
        for (const [name, one] of inUse) expect(all.of(name)).toBe(one);
      }),
      { numRuns: 5 },
    );
  });

  it("keeps nothing of what it held for a while, and forgets keys that do not come again", () => {
    const all = new PerKey<{ held: object[] }>(
      () => ({ held: [] }),
      ({ held }) => held.length === 0,
    );
    const kept = keptBytes(
      (key, value) => all.of(key).held.push(value),
      (key) => all.of(key).held.shift(),
    );
    expect(kept).toBeLessThan(MANY_BYTES / 5);
    const gc = collector();
    gc();
    const before = process.memoryUsage().heapUsed;
    const many = setUp();
    for (let i = 0; i < ONE_TIME_KEYS; i++) many.of(`conversation-${i}`);
    gc();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(ONE_TIME_KEYS * 10);
  });
});

describe("a bag", () => {
  it("holds what a set would", () => {
    const step = fc.record({ id: fc.integer({ min: 0, max: 60 }), comes: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const bag = new Bag<InBag & { id: number }>();
        const all = Array.from({ length: 61 }, (_, id) => ({ id, place: 0 }));
        const model = new Set<number>();
        for (const { id, comes } of steps) {
          const one = all[id] as InBag & { id: number };
          if (comes && !model.has(id)) bag.add(one);
          else if (!comes) bag.delete(one);
          comes ? model.add(id) : model.delete(id);
          expect(new Set(bag.list().map((each) => each.id))).toEqual(model);
        }
        expect(bag.list()).toHaveLength(model.size);
      }),
    );
  });

  it("keeps nothing that was deleted from it", () => {
    const bag = new Bag<InBag & { value: object }>();
    const slots: (InBag & { value: object })[] = [];
    const kept = keptBytes(
      (_, value) => {
        const one = { value, place: 0 };
        slots.push(one);
        bag.add(one);
      },
      () => bag.delete(slots.shift() as InBag & { value: object }),
    );
    expect(kept).toBeLessThan(MANY_BYTES / 5);
  });
});

const ONE_TIME_KEYS = 200_000;
const AT_ONCE = 50;
const CONVERSATIONS = 200;
const TOTAL = 20_000;
/** A fifth of what goes through. */
const MANY_BYTES = TOTAL * 200;

/** Bytes among the old objects after many came and went, with collections of the young ones only. */
function keptBytes(add: (key: string, value: object) => void, remove: (key: string) => void): number {
  const gc = collector();
  gc();
  const before = oldBytes();
  for (let i = 0; i < TOTAL; i++) {
    add(`k${i % CONVERSATIONS}`, { message: Array.from({ length: 100 }, () => i + 0.5) });
    if (i >= AT_ONCE) remove(`k${(i - AT_ONCE) % CONVERSATIONS}`);
    if (i % 400 === 0) gc({ type: "minor" });
  }
  return oldBytes() - before;
}

function collector(): (options?: { type: "minor" }) => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")?.space_used_size ?? Number.NaN;
}
