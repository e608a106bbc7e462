/** SLA clocks by the thousand; the figures are printed. */
import { expect, it } from "vitest";
import { ManualClock } from "../../support/manual-clock.js";
import { at, newFile, startSla, task } from "./rig.js";

const deadline = at("2026-11-20T18:00:00Z");

it("announces each of thousands that broke meanwhile once, and is done in seconds", async () => {
  const file = newFile();
  const first = await startSla({ config: { policies: [{ id: "on-time", for: "task" }] }, file });
  const count = 4_000;
  await Promise.all(
    Array.from({ length: count }, (_, i) => first.sla.changed(task({ id: `t_${i}`, deadline: deadline + i }))),
  );
  await first.crash();
  const clock = new ManualClock(at("2026-11-27T18:00:00Z"));
  const begun = performance.now();
  const rig = await startSla({ config: { policies: [{ id: "on-time", for: "task" }] }, file, clock });
  await rig.settled(100_000);
  console.log(`${count} overdue after a restart: announced in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  expect(rig.signals.map(({ state }) => state)).toEqual(Array.from({ length: count }, () => "firing"));
  expect(new Set(rig.signals.map(({ fingerprint }) => fingerprint)).size).toBe(count);
}, 120_000);

it("finds the next due of 100,000 open clocks at once, and a look at them costs the same as with a hundred", async () => {
  const rig = await startSla({ config: { policies: [{ id: "p", for: "task", target: "30d" }] } });
  const { sla } = rig.store;
  const create = async (from: number, to: number) => {
    for (let start = from; start < to; start += 2_000)
      await Promise.all(
        Array.from({ length: Math.min(2_000, to - start) }, (_, i) =>
          rig.sla.changed(task({ id: `t_${start + i}`, createdAt: rig.clock.now() + (start + i) * 1_000 })),
        ),
      );
  };
  const best = async (look: () => Promise<unknown>) => {
    let shortest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 40; i++) {
      const begun = performance.now();
      await look();
      shortest = Math.min(shortest, performance.now() - begun);
    }
    return shortest;
  };
  const tick = async () => [await sla.nextDue(), (await sla.due(rig.clock.now(), 500)).length];
  await create(0, 100);
  const few = await best(tick);
  await create(100, 100_000);
  const many = await best(tick);
  expect(await sla.count({ state: "open" })).toBe(100_000);
  console.log(`next due: ${few.toFixed(3)} ms with 100 open clocks, ${many.toFixed(3)} ms with 100,000`);
  expect(many).toBeLessThan(5);
  expect(many).toBeLessThan(few * 10 + 0.5);
}, 240_000);
