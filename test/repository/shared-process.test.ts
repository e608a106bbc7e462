/** What holds while test files share a process (vitest.config.ts). */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

const TESTS = resolve(import.meta.dirname, "..");

it("no helper registers a hook when it is loaded: that happens once for many files, so the hook would run for the first of them only", () => {
  const helpers = readdirSync(TESTS, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !/\.(test|soak)\.ts$/.test(name) && name !== join("support", "each-file.ts"),
  );
  expect(helpers.length).toBeGreaterThan(50);
  const registering = helpers.filter((name) =>
    /^(before|after)(Each|All)\(/m.test(readFileSync(join(TESTS, name), "utf8")),
  );
  // They register what they opened with `afterTest` of test/support/clean-up.ts.
  expect(registering).toEqual([]);
});
