/** `npm run bench`: the benchmarks that need nothing else, one after the other, each a process of its own. docs/measurements.md lists the others, too. Ratios are measured in one run; absolute figures depend on the machine. */
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
const BENCHMARKS = [
  "bench/dispatch.ts",
  "bench/store.ts",
  "bench/fast.ts",
  "bench/start.ts",
  "bench/gateway.ts",
  "bench/many-hooks.ts",
  "bench/scale.ts",
];

for (const file of BENCHMARKS) {
  console.log(`\n── ${file}`);
  const { status } = spawnSync(process.execPath, ["--import", "tsx", file], { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
