/** Work that must be done once after a commit is written with it, counted at each start, and gone when it is done. */
import { expect, it } from "vitest";
import type { Task } from "../../src/domain/orchestrator/task.js";
import type { NewPending } from "../../src/domain/pending.js";
import { openTestStore } from "./support/open-test-store.js";

const work = (id: string, kind = "a"): NewPending => ({ id, kind, key: id, dueAt: 1, payload: { of: id } });

async function opened() {
  const store = await openTestStore();
  const task = { id: "t_1", version: 1, title: "one", assignTo: "agent:a", status: "done", priority: 0 } as Task;
  const event = (version: number) =>
    ({ id: `t_1:${version}`, taskId: "t_1", at: 0, kind: "created", by: "web:1", attempt: 0 }) as const;
  return { ...store, task, event };
}

it("is written with the change that it belongs to, once, or not at all", async () => {
  const { tasks, pending, task, event } = await opened();
  await tasks.insert(task, event(1), {}, [work("one"), work("two"), work("other", "b")]);
  await tasks.insert(task, event(1), {}, [work("of a task that is there")]);
  await tasks.commit({ ...task, version: 7 }, event(7), {}, [work("of a version that is not")]);
  await tasks.commit({ ...task, version: 2 }, event(2), {}, [work("one"), work("three")]);
  expect(await pending.list(["a"])).toEqual([
    { ...work("one"), attempt: 1 },
    { ...work("two"), attempt: 1 },
    { ...work("three"), attempt: 1 },
  ]);
  expect((await pending.list(["a", "b"])).map(({ id }) => id)).toEqual(["one", "two", "other", "three"]);
});

it("counts each start until it is done", async () => {
  const { tasks, pending, task, event } = await opened();
  await tasks.insert(task, event(1), {}, [work("one"), work("two")]);
  expect([await pending.started("one"), await pending.started("one")]).toEqual([2, 3]);
  await pending.done(["two"]);
  expect(await pending.list(["a"])).toEqual([{ ...work("one"), attempt: 3 }]);
});

it("becomes its pieces, which nothing was tried of yet", async () => {
  const { tasks, pending, task, event } = await opened();
  await tasks.insert(task, event(1), {}, [work("one"), work("two")]);
  await pending.started("one");
  await pending.replace("one", [work("one:a"), work("one:b")]);
  expect(await pending.list(["a"])).toEqual([
    { ...work("two"), attempt: 1 },
    { ...work("one:a"), attempt: 1 },
    { ...work("one:b"), attempt: 1 },
  ]);
});
