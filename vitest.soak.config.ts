/** A part of `npm run soak`: rounds of kills at random moments, which are too long for every run of the tests. The product is built. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.soak.ts"],
    setupFiles: ["test/support/each-file.ts"],
    pool: "forks",
    maxWorkers: 2,
    typecheck: { enabled: false },
  },
});
