/** Thousands of missions that wait for somebody cost nothing until something of theirs changes. */
import { expect, it } from "vitest";
import type { Task } from "../../../src/domain/orchestrator/task.js";
import { createAttempts } from "../../../src/hooks/attempts.js";
import { HookRegistry } from "../../../src/hooks/registry.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { createMissions } from "../../../src/orchestrator/missions/missions.js";
import { newMission } from "../../../src/orchestrator/missions/new-mission.js";
import { createPlans } from "../../../src/orchestrator/missions/plans.js";
import { Pending } from "../../../src/pending/pending.js";
import { openTestStore } from "../../store/support/open-test-store.js";
import { ManualClock } from "../../support/manual-clock.js";
import { until } from "../../support/until.js";

const OPEN = 2_000;
const PLAN = { groups: [{ name: "only", tasks: [{ id: "one", assignTo: "person:web:2" }] }] };

it("only the mission whose task changed is looked at, and none because time goes by", async () => {
  const store = await openTestStore();
  const clock = new ManualClock();
  const around = { assigneeProblem: () => undefined, roleFor: () => "operator" as const, models: [] };
  let reads = 0;
  const registry = new HookRegistry({ logger: silentLogger });
  const missions = createMissions({
    registry,
    attempts: createAttempts({ keyValue: store.keyValue, registry, clock: systemClock, logger: silentLogger }),
    pending: new Pending({ store: store.pending, clock, logger: silentLogger }),
    store: {
      ...store.missions.rows,
      get(id) {
        reads++;
        return store.missions.rows.get(id);
      },
    },
    tasks: {
      create: async () => ({ kind: "created" }),
      transition: async () => ({ kind: "done" }),
      ofMission: (missionId) => store.tasks.list({ missionId, limit: 10 }),
    },
    plans: createPlans("nowhere", around),
    around,
    gateway: { send: async () => {}, edit: async () => {}, isThere: async () => true, wasPurged: async () => false },
    changed: async () => {},
    clock,
    logger: silentLogger,
  });
  const task = (id: string, missionId: string): Task => ({
    ...{ id, missionId, version: 1, title: "one", description: "", assignTo: "person:web:2", status: "assigned" },
    ...{ priority: 0, retryPolicy: { maxRetries: 0, backoffMs: 0 }, attempt: 0, retries: 0, group: "only" },
    ...{ createdAt: 0, changedAt: 0, createdBy: "web:1" },
  });
  const event = (id: string, version: number) =>
    ({ id: `${id}:${version}`, taskId: id, at: 0, kind: "created", by: "web:1", attempt: 0 }) as const;
  const ids: string[] = [];
  const inserted: Promise<unknown>[] = [];
  for (let n = 0; n < OPEN; n++) {
    const mission = newMission({ planId: "p", plan: PLAN, by: "web:1", at: clock.now() });
    const groups = [{ name: "only", status: "open" as const, openedAt: 0 }];
    const running = { ...mission, groups, status: "running" as const, startedAt: 0, tasksCreated: true };
    ids.push(mission.id);
    inserted.push(store.missions.rows.insert({ mission: running }));
    const id = mission.taskIds.one as string;
    inserted.push(store.tasks.insert(task(id, mission.id), event(id, 1), {}));
  }
  await Promise.all(inserted);

  await missions.start();
  await until(() => reads >= 2 * OPEN, "a first look at each");
  await clock.advance(2_000);
  const before = reads;
  await clock.advance(3_600_000);
  expect(reads).toBe(before);

  const [one] = await store.tasks.list({ missionId: ids[7] as string, limit: 1 });
  if (one === undefined) throw new Error("it has no task");
  const begun: Task = { ...one, version: 2, status: "in_progress" };
  await store.tasks.commit(begun, event(one.id, 2), {});
  await missions.taskChanged(begun);
  await clock.advance(1_000);
  await until(() => reads > before, "a look at its mission");
  expect(reads - before).toBeLessThan(4);
  const done: Task = { ...begun, version: 3, status: "done", endedAt: clock.now() };
  await store.tasks.commit(done, event(one.id, 3), {});
  await missions.taskChanged(done);
  await until(async () => (await store.missions.rows.get(ids[7] as string))?.mission.status === "done", "its end");
  await clock.advance(60_000);
  expect(reads - before).toBeLessThan(20);
  await missions.stop();
}, 120_000);
