/** The count of a dispatch's starts, in the real store. */
import { expect, it } from "vitest";
import { createAttempts } from "../../src/hooks/attempts.js";
import { HookRegistry } from "../../src/hooks/registry.js";
import { silentLogger } from "../../src/lib/logger.js";
import { openTestStore } from "../store/support/open-test-store.js";

it("counts for hooks of that phase that run within the dispatch, goes on in another process, and is forgotten whole", async () => {
  const { keyValue } = await openTestStore();
  const registry = new HookRegistry({ logger: silentLogger });
  const process = () => createAttempts({ keyValue, registry, logger: silentLogger });
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
