/** The cost of many SLA clocks and many alerts at once: `npx tsx bench/scale.ts`. Exits 1 when looking for due clocks gets slower with their number. */
import { at, newFile, startSla, task } from "../test/alerts/sla/rig.js";
import { ANN, MINUTE, OPS, ROOM, signal, watch } from "../test/alerts/watch.js";
import { cleanUp } from "../test/support/clean-up.js";
import { ManualClock } from "../test/support/manual-clock.js";

const CLOCKS = 100_000;
const OVERDUE = 4_000;
const ALERTS = 10_000;

const ms = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};
const round = (value: number) => Math.round(value).toLocaleString("en");

await dueClocks();
await overdueAfterRestart();
await manyAlerts();

/** The next due time and a page of due clocks, with a hundred open clocks and with very many. */
async function dueClocks(): Promise<void> {
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
  const best = async () => {
    let shortest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 40; i++)
      shortest = Math.min(shortest, await ms(() => Promise.all([sla.nextDue(), sla.due(rig.clock.now(), 500)])));
    return shortest;
  };
  await create(0, 100);
  const few = await best();
  await create(100, CLOCKS);
  const many = await best();
  await cleanUp();
  console.log(
    `due clocks: ${few.toFixed(3)} ms with 100 open clocks, ${many.toFixed(3)} ms with ${CLOCKS.toLocaleString("en")}`,
  );
  if (many > few * 10 + 0.5) {
    console.log("This must cost the same with any number of clocks.");
    process.exitCode = 1;
  }
}

async function overdueAfterRestart(): Promise<void> {
  const config = { policies: [{ id: "on-time", for: "task" }] };
  const deadline = at("2026-11-20T18:00:00Z");
  const file = newFile();
  const first = await startSla({ config, file });
  await Promise.all(
    Array.from({ length: OVERDUE }, (_, i) => first.sla.changed(task({ id: `t_${i}`, deadline: deadline + i }))),
  );
  await first.crash();
  const clock = new ManualClock(at("2026-11-27T18:00:00Z"));
  const took = await ms(async () => {
    const rig = await startSla({ config, file, clock });
    await rig.settled(100_000);
  });
  await cleanUp();
  console.log(`overdue after a restart: ${round(OVERDUE)} announced in ${round(took)} ms`);
}

async function manyAlerts(): Promise<void> {
  const config = (to: string) => ({
    routes: { default: { to: [to], remind: { every: "10m", times: 2 } } },
    destinations: { [to]: { per_minute: 6 } },
  });
  const on = await watch(config(ROOM));
  const raise = (n: number) =>
    on.alerts.raise(
      signal({
        fingerprint: `storm:${n}`,
        title: `Fault ${n}`,
        severity: n % 100 === 0 ? "critical" : "high",
        source: { kind: "sla", id: `clock${n}`, policyId: `policy${n % 40}` },
      }),
    );
  const raised = await ms(() => Promise.all(Array.from({ length: ALERTS }, (_, n) => raise(n))));
  const shown = await ms(async () => {
    await on.settle();
    await on.advance(10_000);
  });
  const cards = on.posted();
  const reminded = await ms(() => on.advance(12 * MINUTE));
  const rest = /"\/ack (ac_\w+)"/.exec(JSON.stringify(cards.map(({ body }) => body.buttons)))?.[1] as string;
  const acknowledged = await ms(() => on.alerts.act(rest, { kind: "ack" }, ANN));
  await on.advance(10_000);
  const reloaded = await ms(() => on.reload(config(ROOM)));
  const moved = await ms(async () => {
    await on.reload(config(OPS));
    await on.advance(70_000);
  });
  await cleanUp();
  console.log(
    `${round(ALERTS)} alerts: raised in ${round(raised)} ms, on ${cards.length} cards after ${round(shown)} ms more, reminders in ${round(reminded)} ms, ` +
      `one press acknowledged them in ${round(acknowledged)} ms, a reload in ${round(reloaded)} ms, another route in ${round(moved)} ms`,
  );
}
