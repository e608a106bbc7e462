/** Tasks on disk: written over the version they were made from, found when they are due, and told of until everybody has been. */
import { describe, expect, it } from "vitest";
import type { Task } from "../../src/domain/orchestrator/task.js";
import type { TaskEvent } from "../../src/domain/orchestrator/task-store.js";
import { newMission } from "../../src/orchestrator/missions/new-mission.js";
import { openTestStore } from "./support/open-test-store.js";

const NOW = Date.UTC(2026, 0, 1);
const taskOf = (id: string, changes: Partial<Task> = {}): Task => ({
  id,
  version: 1,
  title: `Task ${id}`,
  description: "",
  assignTo: "a",
  priority: 0,
  retryPolicy: { maxRetries: 0, backoffMs: 0 },
  status: "pending",
  attempt: 0,
  retries: 0,
  createdAt: NOW,
  changedAt: NOW,
  createdBy: "test",
  ...changes,
});
const eventOf = ({ id, version }: Task, changes: Partial<TaskEvent> = {}): TaskEvent => ({
  id: `${id}:${version}`,
  taskId: id,
  at: NOW,
  kind: "created",
  by: "test",
  attempt: 0,
  ...changes,
});
const plenty = () => Number.POSITIVE_INFINITY;

async function filled(...tasks: [Task, number | undefined][]) {
  const store = await openTestStore();
  for (const [task, dueAt] of tasks)
    await store.tasks.insert(task, eventOf(task), dueAt === undefined ? {} : { dueAt });
  return store;
}

describe("a task on disk", () => {
  it("is there once for its id", async () => {
    const { tasks } = await filled([taskOf("t_1"), NOW]);
    expect(await tasks.insert(taskOf("t_1", { title: "Another" }), eventOf(taskOf("t_1")), {})).toBe(false);
    expect((await tasks.get("t_1"))?.title).toBe("Task t_1");
    expect(await tasks.events("t_1", 10)).toHaveLength(1);
  });

  it("is changed over the version that the change was made from, and not over another", async () => {
    const { tasks } = await filled([taskOf("t_1"), NOW]);
    const one = taskOf("t_1", { version: 2, status: "paused" });
    const other = taskOf("t_1", { version: 2, status: "cancelled" });
    expect(await tasks.commit(one, eventOf(one), {})).toBe(true);
    expect(await tasks.commit(other, eventOf(other), {})).toBe(false);
    expect((await tasks.get("t_1"))?.status).toBe("paused");
    expect(await tasks.events("t_1", 10)).toHaveLength(2);
  });

  it("keeps its next time where a change says so, and loses it where a change says nothing", async () => {
    const { tasks } = await filled([taskOf("t_1"), NOW + 5]);
    const noted = taskOf("t_1", { version: 2 });
    await tasks.commit(noted, eventOf(noted), { keepsDue: true });
    expect(await tasks.nextDue(NOW)).toBe(NOW + 5);
    const held = taskOf("t_1", { version: 3, status: "blocked" });
    await tasks.commit(held, eventOf(held), {});
    expect(await tasks.nextDue(NOW)).toBeUndefined();
  });

  it("has a lease that only its own run renews", async () => {
    const { tasks } = await filled([taskOf("t_1"), NOW]);
    const running = taskOf("t_1", {
      version: 2,
      status: "in_progress",
      run: { id: "r_1", startedAt: NOW, owner: "me" },
    });
    await tasks.commit(running, eventOf(running), { leaseUntil: NOW + 10 });
    expect(await tasks.renew("t_1", "r_1", NOW + 20)).toBe(true);
    expect(await tasks.renew("t_1", "r_2", NOW + 20)).toBe(false);
    expect(await tasks.stale("me")).toEqual([]);
    expect((await tasks.stale("another")).map(({ id }) => id)).toEqual(["t_1"]);
    const done = taskOf("t_1", { version: 3, status: "done", endedAt: NOW });
    await tasks.commit(done, eventOf(done), {});
    expect(await tasks.renew("t_1", "r_1", NOW + 30)).toBe(false);
    expect(await tasks.stale("another")).toEqual([]);
  });

  it("goes with its history when it is over for long, and only then", async () => {
    const { tasks } = await filled(
      [taskOf("t_old", { status: "done", endedAt: NOW - 10 }), undefined],
      [taskOf("t_new", { status: "done", endedAt: NOW + 10 }), undefined],
      [taskOf("t_open"), NOW],
    );
    expect(await tasks.sweep(NOW)).toBe(1);
    expect((await tasks.list({ limit: 10 })).map(({ id }) => id)).toEqual(["t_open", "t_new"]);
    expect(await tasks.events("t_old", 10)).toEqual([]);
  });

  it("stays as long as the mission that it belongs to", async () => {
    const { tasks, missions } = await filled([
      taskOf("t_1", { status: "done", endedAt: NOW - 10, missionId: "m_1" }),
      undefined,
    ]);
    const plan = { groups: [{ name: "only", tasks: [{ id: "one", assignTo: "a" }] }] };
    const mission = newMission({ id: "m_1", planId: "p", plan, by: "test", at: NOW });
    await missions.rows.insert({ mission });
    expect(await tasks.sweep(NOW)).toBe(0);
    await missions.rows.commit({ mission: { ...mission, version: 2, status: "done", endedAt: NOW } });
    expect(await tasks.sweep(NOW)).toBe(1);
  });
});

describe("what is due", () => {
  it("is found by priority, then by age, of each assignee as many as there is room for", async () => {
    const { tasks } = await filled(
      [taskOf("t_1"), NOW],
      [taskOf("t_2", { priority: 5 }), NOW],
      [taskOf("t_3", { assignTo: "b", createdAt: NOW + 1 }), NOW],
      [taskOf("t_4", { priority: 9 }), NOW + 1],
      [taskOf("t_5", { status: "review" }), NOW],
      [taskOf("t_6", { status: "paused" }), undefined],
    );
    const due = async (roomFor: (assignTo: string) => number, without: string[] = []) =>
      (await tasks.due(NOW, without, roomFor, 10)).map(({ id }) => id);
    expect(await due(plenty)).toEqual(["t_5", "t_2", "t_1", "t_3"]);
    expect(await due((name) => (name === "a" ? 1 : 0))).toEqual(["t_5", "t_2"]);
    expect(await due(plenty, ["t_2", "t_5"])).toEqual(["t_1", "t_3"]);
    expect(await tasks.nextDue(NOW)).toBe(NOW + 1);
  });
});
