/** SLA clocks by the hundred; `bench/scale.ts` has the figures for very many. */
import { expect, it } from "vitest";
import { ManualClock } from "../../support/manual-clock.js";
import { at, newFile, startSla, task } from "./rig.js";

const deadline = at("2026-11-20T18:00:00Z");

it("announces each of hundreds that broke meanwhile once", async () => {
  const file = newFile();
  const first = await startSla({ config: { policies: [{ id: "on-time", for: "task" }] }, file });
  // More than the pages in which the product reads them.
  const count = 600;
  await Promise.all(
    Array.from({ length: count }, (_, i) => first.sla.changed(task({ id: `t_${i}`, deadline: deadline + i }))),
  );
  await first.crash();
  const clock = new ManualClock(at("2026-11-27T18:00:00Z"));
  const rig = await startSla({ config: { policies: [{ id: "on-time", for: "task" }] }, file, clock });
  await rig.settled(100_000);
  expect(rig.signals.map(({ state }) => state)).toEqual(Array.from({ length: count }, () => "firing"));
  expect(new Set(rig.signals.map(({ fingerprint }) => fingerprint)).size).toBe(count);
}, 120_000);
