/** The one runner of work that follows a commit, on a real store: order, further tries, what an earlier process left, and the stop. */
import { expect, it } from "vitest";
import type { Task } from "../../src/domain/orchestrator/task.js";
import type { NewPending, PendingItem } from "../../src/domain/pending.js";
import type { Store } from "../../src/domain/store.js";
import { silentLogger } from "../../src/lib/logger.js";
import { Pending } from "../../src/pending/pending.js";
import { openTestStore } from "../store/support/open-test-store.js";
import { ManualClock } from "../support/manual-clock.js";
import { until } from "../support/until.js";

const KINDS = ["mail"];
let serial = 0;

/** Writes work with the change of some task, as all callers do. */
async function written(store: Store, ...items: NewPending[]): Promise<NewPending[]> {
  const id = `t_${++serial}`;
  const task = { id, version: 1, title: "one", assignTo: "agent:a", status: "done", priority: 0 } as Task;
  const event = { id: `${id}:1`, taskId: id, at: 0, kind: "created", by: "web:1", attempt: 0 } as const;
  await store.tasks.insert(task, event, {}, items);
  return items;
}

function runner(store: Store, clock: ManualClock, work: (item: PendingItem) => Promise<void>): Pending {
  const pending = new Pending({ store: store.pending, clock, logger: silentLogger });
  pending.handle("mail", work);
  return pending;
}

const mail = (id: string, key = id, dueAt = 0): NewPending => ({ id, kind: "mail", key, dueAt, payload: {} });
const left = async (store: Store) => (await store.pending.list(KINDS)).map(({ id }) => id);

it("does work of one key in order, and that of others beside it", async () => {
  const store = await openTestStore();
  const ends: string[] = [];
  let release = () => {};
  const held = new Promise<void>((done) => {
    release = done;
  });
  const pending = runner(store, new ManualClock(0), async ({ id }) => {
    if (id === "one") await held;
    ends.push(id);
  });
  pending.added(await written(store, mail("one", "k"), mail("two", "k"), mail("other")));
  await until(() => ends.length === 1, "the other key's work");
  expect(ends).toEqual(["other"]);
  release();
  await pending.drained(KINDS);
  expect(ends).toEqual(["other", "one", "two"]);
  expect(await left(store)).toEqual([]);
});

it("tries again what failed, later each time and with the next attempt, and does what comes after it meanwhile", async () => {
  const store = await openTestStore();
  const clock = new ManualClock(0);
  const tries: [string, number, number][] = [];
  const pending = runner(store, clock, async ({ id, attempt }) => {
    tries.push([id, attempt, clock.now()]);
    if (id === "one" && attempt < 4) throw new Error("not yet");
  });
  pending.added(await written(store, mail("one", "k"), mail("two", "k")));
  await pending.drained(KINDS);
  expect(await left(store)).toEqual(["one"]);
  for (let second = 0; second < 8; second++) {
    await clock.advance(1_000);
    await store.check();
    await pending.drained(KINDS);
  }
  await until(async () => (await left(store)).length === 0, "the last try");
  expect(tries).toEqual([
    ["one", 1, 0],
    ["two", 1, 0],
    ["one", 2, 1_000],
    ["one", 3, 3_000],
    ["one", 4, 7_000],
  ]);
});

it("does what an earlier process left, as another attempt; and what is not due yet at its time", async () => {
  const store = await openTestStore();
  const clock = new ManualClock(0);
  const never = runner(store, clock, () => new Promise(() => {}));
  never.added(await written(store, mail("cut off"), mail("later", "later", 5_000)));
  never.stop();
  const done: [string, number, number][] = [];
  const next = runner(store, clock, async ({ id, attempt }) => void done.push([id, attempt, clock.now()]));
  await next.resume(KINDS);
  await next.drained(KINDS);
  await clock.advance(5_000);
  await next.drained(KINDS);
  expect(done).toEqual([
    ["cut off", 2, 0],
    ["later", 1, 5_000],
  ]);
  expect(await left(store)).toEqual([]);
});

it("keeps work on disk that nothing does, and starts none after the stop", async () => {
  const store = await openTestStore();
  const clock = new ManualClock(0);
  const pending = new Pending({ store: store.pending, clock, logger: silentLogger });
  pending.added(await written(store, mail("one")));
  await pending.drained(KINDS);
  pending.stop();
  await clock.advance(60_000);
  expect(await store.pending.list(KINDS)).toMatchObject([{ id: "one", attempt: 1 }]);
});
