import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.js";

/** Files that need a process of their own, with the reason. All others share one per worker, which loads the product once. */
const OWN = [
  // It replaces modules of the product.
  "test/automations/waiting-turn.test.ts",
  // They count promises, or bytes on the heap, of the whole process.
  "test/gateway/cost.test.ts",
  "test/fast/short-lived.test.ts",
  // It blocks the process to be late, and fails at times where other files ran before: a breaker is not open that should be. To be explained.
  "test/plugins/breaker.test.ts",
];

const common = {
  setupFiles: ["test/support/fast-check.ts", "test/support/each-file.ts"],
  // Bounds for what hangs; generous, because machines are slow and shared.
  testTimeout: 180_000,
  hookTimeout: 180_000,
};

export default defineConfig({
  test: {
    globalSetup: ["test/support/build-once.ts"],
    pool: "forks",
    // Twice as many as there are processors, and one: tests wait for processes, timers and disks for half of the time. Not more, because a
    // container may see more processors than it may use.
    maxWorkers: 2 * Math.min(availableParallelism(), 3) + 1,
    sequence: { sequencer: LongestFirst },
    typecheck: { enabled: false },
    projects: [
      { test: { ...common, name: "own", include: OWN } },
      {
        test: {
          ...common,
          name: "shared",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...OWN],
          isolate: false,
        },
      },
    ],
  },
});
