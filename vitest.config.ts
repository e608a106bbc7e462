import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/build-once.ts"],
    setupFiles: ["test/support/fast-check.ts"],
    pool: "forks",
    // One more than there are processors: many tests wait for a process, a timer or a disk. Not many more, because a container may
    // see more processors than it may use.
    maxWorkers: Math.min(availableParallelism(), 3) + 1,
    sequence: { sequencer: LongestFirst },
    // Bounds for what hangs; generous, because machines are slow and shared.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    typecheck: { enabled: false },
  },
});
