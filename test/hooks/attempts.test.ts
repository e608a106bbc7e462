/** The count of a dispatch's starts, in the real store. */
import { expect, it } from "vitest";
import { createAttempts } from "../../src/hooks/attempts.js";
import { HookRegistry } from "../../src/hooks/registry.js";
import { silentLogger } from "../../src/lib/logger.js";
import { systemClock } from "../../src/lib/time/clock.js";
import { openTestStore } from "../store/support/open-test-store.js";

it("counts for hooks of that phase that run within the dispatch, goes on in another process, and is forgotten whole", async () => {
  const { keyValue } = await openTestStore();
  const registry = new HookRegistry({ logger: silentLogger });
  const process = () => createAttempts({ keyValue, registry, clock: systemClock, logger: silentLogger });
  const stored = async () => (await keyValue.list("hooks.attempts", "")).map(({ key }) => key);
  const attempts = process();
  registry.registerVoid("file.changed", () => {}, { execution: "background" });
  registry.register({ hook: "task:spawn", phase: "after", handler: () => {} });
  for (let start = 0; start < 2; start++) {
    expect(await attempts.count("file.changed", "f")).toBe(1);
    expect(await attempts.count("task:spawn", "d", { owner: "t_1" })).toBe(1);
  }
  expect(await stored()).toEqual([]);

  expect(await attempts.count("task:spawn", "told", { phase: "after" })).toBe(1);
  registry.register({ hook: "task:spawn", phase: "before", handler: () => {} });
  expect(await attempts.count("task:spawn", "d", { owner: "t_1" })).toBe(1);
  expect(await attempts.count("task:spawn", "e", { owner: "t_1" })).toBe(1);
  const next = process();
  expect(await next.count("task:spawn", "d", { owner: "t_1" })).toBe(2);
  expect(await next.count("task:spawn", "told", { phase: "after" })).toBe(2);
  expect(await stored()).toEqual(["t_1", "told"]);
  await next.forget("t_1");
  await next.forget("told");
  expect(await stored()).toEqual([]);
  expect(await next.count("task:spawn", "e", { owner: "t_1" })).toBe(1);
});

it("notifies hooks of no further change of a series once they crashed at two of them, until it ends", async () => {
  const { keyValue } = await openTestStore();
  const registry = new HookRegistry({ logger: silentLogger });
  // Each in a process of its own, as after a crash.
  const isCalled = async (dispatchId: string, attempt: number, isLast = false) => {
    const attempts = createAttempts({
      keyValue,
      registry,
      clock: systemClock,
      logger: silentLogger,
      maxCrashes: () => 1,
    });
    let called = false;
    await attempts.notify("task:transition", { dispatchId, attempt, stops: 0, series: "t_1", isLast }, async () => {
      called = true;
    });
    return called;
  };
  expect(await isCalled("one", 3)).toBe(false);
  // A first start may have waited for its turn only.
  expect(await isCalled("two", 2)).toBe(true);
  expect(await isCalled("three", 3)).toBe(false);
  expect(await isCalled("four", 3)).toBe(false);
  expect(await isCalled("five", 1)).toBe(false);
  expect(await isCalled("six", 1, true)).toBe(false);
  expect(await isCalled("seven", 1)).toBe(true);
});
