/** The history is damaged while the gateway runs: its writer cannot start any more. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keepSwept } from "../../src/app/upkeep.js";
import { silentLogger } from "../../src/lib/logger.js";
import { liveApp } from "../automations/support/live-app.js";
import { afterTest } from "../support/clean-up.js";
import { ManualClock } from "../support/manual-clock.js";
import { until } from "../support/until.js";

const MINUTE_MS = 60_000;

test("a stop ends while the history is swept and cannot be written", async () => {
  const clock = new ManualClock(Date.now());
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (_: object, message = "") => void errors.push(message) };
  const live = await liveApp({ "hookgate.yaml": "" }, { clock, logger });
  afterTest(() => live.stop());
  writeFileSync(join(live.folder, "test-journal.db"), Buffer.alloc(20_000, 7), { flag: "r+" });
  // The first sweep starts the writer.
  await clock.advance(MINUTE_MS);
  await until(() => errors.some((error) => error.includes("started again")), "the writer being gone");
  let isStopped = false;
  const stopping = live.stop().then(() => (isStopped = true));
  await until(async () => {
    await clock.advance(1_000);
    return isStopped;
  }, "the stop");
  await stopping;
});

test("a sweep that does not end holds up a stop no longer than one stage of it may take", async () => {
  const clock = new ManualClock();
  const store = { sweep: () => new Promise<never>(() => {}), verify: async () => {} };
  const stop = keepSwept(store, { clock, logger: silentLogger, stopping: { leftMs: 10_000 } });
  await clock.advance(MINUTE_MS);
  let isStopped = false;
  const stopping = stop().then(() => (isStopped = true));
  await clock.advance(9_999);
  expect(isStopped).toBe(false);
  await clock.advance(1);
  await stopping;
});
