/** Counts per minute: many keys of one sender reset nobody's count. */
import { describe, expect, it } from "vitest";
import { createPerMinute } from "../../src/lib/concurrency/per-minute.js";
import { ManualClock } from "../support/manual-clock.js";

const MAX_KEYS = 10_000;

describe("counts per minute", () => {
  it("survive a flood of other keys, which drops only the oldest ones", () => {
    const counts = createPerMinute(new ManualClock());
    counts.add("first");
    for (let i = 0; i < MAX_KEYS / 2; i++) counts.add(`before ${i}`);
    counts.add("limited");
    counts.add("limited");
    for (let i = 0; i < MAX_KEYS - 1; i++) counts.add(`after ${i}`);
    expect(counts.count("first")).toBe(0);
    expect(counts.count("limited")).toBe(2);
    expect(counts.count("after 0")).toBe(1);
  });

  it("end after a minute, and a key that starts anew counts as new", async () => {
    const clock = new ManualClock();
    const counts = createPerMinute(clock);
    counts.add("old");
    await clock.advance(30_000);
    counts.add("young");
    await clock.advance(31_000);
    expect([counts.count("old"), counts.count("young")]).toEqual([0, 1]);
    counts.add("old");
    for (let i = 0; i < MAX_KEYS - 1; i++) counts.add(`more ${i}`);
    expect([counts.count("old"), counts.count("young")]).toEqual([1, 0]);
  });

  it("are not held back by a clock that was set back", () => {
    const clock = new ManualClock();
    const counts = createPerMinute(clock);
    counts.add("person");
    clock.set(-3_600_000);
    expect(counts.count("person")).toBe(0);
    expect(counts.add("person")).toBe(1);
  });
});
