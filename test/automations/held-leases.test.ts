/** The leases of runs under way, on a real store. */
import { expect, test } from "vitest";
import { createHeldLeases } from "../../src/automations/queue/held-leases.js";
import type { AutomationRun } from "../../src/domain/automation.js";
import type { Logger } from "../../src/lib/logger.js";
import { silentLogger } from "../../src/lib/logger.js";
import { openTestStore } from "../store/support/open-test-store.js";
import { ManualClock } from "../support/manual-clock.js";
import { until } from "../support/until.js";

const OWNER = "this-process";
const run: AutomationRun = {
  id: "r1",
  hookId: "night-watch",
  trigger: "every",
  reason: "every 5m",
  status: "queued",
  payload: {},
  isRepeatable: false,
  attempt: 0,
  attempts: [],
  createdAt: 0,
  dueAt: 0,
};

async function holding() {
  const { runs } = (await openTestStore()).automation;
  const clock = new ManualClock();
  const warned: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_: object, text: string) => void warned.push(text) };
  const leases = createHeldLeases({ runs, owner: OWNER, leaseMs: 3_000, clock, logger });
  await runs.insert(run);
  await runs.takeOne("r1", OWNER, clock.now(), 3_000);
  leases.hold("r1");
  leases.start();
  return { runs, clock, warned, leases };
}

test("the lease of a run that ends while it is renewed was not lost", async () => {
  const { runs, clock, warned, leases } = await holding();
  const stored = await runs.get("r1");
  const write = async () => {
    try {
      await (async () => await runs.update({ ...(stored as AutomationRun), status: "succeeded", endedAt: 1 }, OWNER))();
    } finally {
      leases.drop("r1");
    }
  };
  const written = write();
  await clock.advance(1_000);
  await written;
  await runs.get("r1");
  await clock.advance(1_000);
  expect([warned, leases.isHeld("r1")]).toEqual([[], false]);
});

test("a run whose row was ended by another process is no longer held, and the log tells it", async () => {
  const { runs, clock, warned, leases } = await holding();
  await runs.update({ ...((await runs.get("r1")) as AutomationRun), status: "failed", endedAt: 1 }, OWNER);
  await clock.advance(1_000);
  await until(async () => !leases.isHeld("r1"), "the end");
  expect(warned).toEqual([expect.stringContaining("the lease of a run was lost")]);
});
