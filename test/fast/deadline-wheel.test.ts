import { describe, expect, it } from "vitest";
import { Armed, DeadlineWheel, ticksOf } from "../../src/fast/deadline-wheel.js";
import { ManualClock } from "../support/manual-clock.js";

describe("the wheel", () => {
  class Item extends Armed {
    readonly fired: number[] = [];
    constructor(
      readonly clock: ManualClock,
      readonly onFire: () => void = () => {},
    ) {
      super();
    }
    override expire(): void {
      this.fired.push(this.clock.now());
      this.onFire();
    }
  }

  it("fires each once, in time, also beyond one turn of the wheel", async () => {
    const clock = new ManualClock(0);
    const wheel = new DeadlineWheel(clock);
    const items = [10, 15, 500, 5_000, 30_000, 300_000].map((ms) => {
      const item = new Item(clock);
      wheel.arm(item, ticksOf(ms));
      return { item, ms };
    });
    await clock.advance(400_000);
    for (const { item, ms } of items) {
      expect(item.fired).toHaveLength(1);
      expect(item.fired[0]).toBeGreaterThanOrEqual(ms);
      expect(item.fired[0]).toBeLessThanOrEqual(ms + 10);
    }
  });

  it("moves a deadline both ways, and forgets one that rests or is disarmed", async () => {
    const clock = new ManualClock();
    const wheel = new DeadlineWheel(clock);
    const [later, sooner, resting, disarmed] = [new Item(clock), new Item(clock), new Item(clock), new Item(clock)];
    for (const item of [later, sooner, resting, disarmed]) wheel.arm(item, ticksOf(5_000));
    wheel.arm(later, ticksOf(8_000));
    wheel.arm(sooner, ticksOf(100));
    wheel.rest(resting);
    wheel.disarm(disarmed);
    await clock.advance(200);
    expect(sooner.fired).toHaveLength(1);
    await clock.advance(7_000);
    expect(later.fired).toHaveLength(0);
    await clock.advance(1_000);
    expect([later, resting, disarmed].map(({ fired }) => fired.length)).toEqual([1, 0, 0]);
  });

  it("lets one that fires arm, move and disarm others that are due with it", async () => {
    const clock = new ManualClock();
    const wheel = new DeadlineWheel(clock);
    const [moved, disarmed, again] = [new Item(clock), new Item(clock), new Item(clock)];
    const first = new Item(clock, () => {
      wheel.arm(moved, ticksOf(1_000));
      wheel.disarm(disarmed);
      if (again.fired.length === 0) wheel.arm(again, ticksOf(50));
    });
    for (const item of [first, moved, disarmed]) wheel.arm(item, ticksOf(100));
    await clock.advance(500);
    expect([first, moved, disarmed, again].map(({ fired }) => fired.length)).toEqual([1, 0, 0, 1]);
    await clock.advance(1_000);
    expect(moved.fired).toHaveLength(1);
  });

  it("does not charge handlers for time in which the process was blocked", async () => {
    let nowMs = 0;
    const clock = new ManualClock();
    const wheel = new DeadlineWheel({
      now: () => nowMs,
      monotonic: () => nowMs,
      after: (ms, fn) => clock.after(ms, fn),
    });
    const item = new Item(clock);
    wheel.arm(item, ticksOf(1_000));
    nowMs += 60_000; // nothing could run
    await clock.advance(20);
    expect(item.fired).toHaveLength(0);
  });

  it("stops turning when nothing has been armed for a while", async () => {
    const clock = new ManualClock();
    let ticks = 0;
    const wheel = new DeadlineWheel({
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms, fn) => {
        ticks++;
        return clock.after(ms, fn);
      },
    });
    const item = new Item(clock);
    wheel.arm(item, ticksOf(50));
    await clock.advance(5_000);
    const before = ticks;
    await clock.advance(5_000);
    expect(ticks).toBe(before);
    wheel.arm(item, ticksOf(50));
    await clock.advance(100);
    expect(item.fired).toHaveLength(2);
  });
});
