/** Idempotency-Key at all that creates something: the same request is answered by what it created, another one with its key is refused. */
import { expect, it } from "vitest";
import { createIdempotencyKeys } from "../../src/http/idempotency.js";
import { type LiveApp, liveApp, TOKEN } from "../automations/support/live-app.js";
import { openTestStore } from "../store/support/open-test-store.js";
import { ManualClock } from "../support/manual-clock.js";

const plan = (title: string) =>
  JSON.stringify({ title, groups: [{ name: "all", tasks: [{ id: "do", title, assignTo: "person:web:1" }] }] });
const start = () =>
  liveApp({
    "hookgate.yaml": "automations: { watch: false }\n",
    "missions/one.yaml": plan("One"),
    "missions/two.yaml": plan("Two"),
  });

async function post(live: LiveApp, path: string, key: string, body?: unknown) {
  const answer = await fetch(`${live.app.url}/api/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", "idempotency-key": key },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
const refused = { status: 422, body: { code: "IDEMPOTENCY_KEY_REUSED" } };

it("refuses another task with a key that was used, also after a restart, and creates none", async () => {
  const live = await start();
  const add = (body: unknown, key = "order-7") => post(live, "/tasks", key, body);
  const first = await add({ title: "Pack it", assignTo: "me", priority: 3 });
  expect(first.status).toBe(200);
  // However it is written down.
  expect((await add({ priority: 3, assignTo: "me", title: " Pack it" })).body.id).toBe(first.body.id);
  expect(await add({ title: "Pack it", assignTo: "me", priority: 4 })).toMatchObject({
    ...refused,
    body: { ...refused.body, detail: expect.stringMatching(/was used for another request at \S+Z/) },
  });
  await live.stop();
  await live.start();
  expect(await add({ title: "Pack that", assignTo: "me" })).toMatchObject(refused);
  expect((await add({ title: "Pack it", assignTo: "me", priority: 3 })).body.id).toBe(first.body.id);
  expect((await live.get("/api/v1/tasks")).total).toBe(1);
}, 120_000);

it("lets a request that could not be met be put right with the same key, and takes one of two at once", async () => {
  const live = await start();
  expect((await post(live, "/tasks", "k", { title: "Call", assignTo: "nobody" })).body.code).toBe("TASK_ASSIGNEE");
  expect((await post(live, "/tasks", "k", { title: "Call", assignTo: "me" })).status).toBe(200);
  expect(await post(live, "/tasks", "k", { title: "Call", assignTo: "nobody" })).toMatchObject(refused);
  const both = await Promise.all(
    ["Left", "Right"].map((title) => post(live, "/tasks", "l", { title, assignTo: "me" })),
  );
  expect(both.map(({ status }) => status).sort()).toEqual([200, 422]);
  expect((await live.get("/api/v1/tasks")).total).toBe(2);
}, 120_000);

it("holds for missions and schedules as for tasks", async () => {
  const live = await start();
  const cron = "0 3 1 1 *";
  for (const [path, request, other] of [
    ["/missions", { plan: "one" }, { plan: "two" }],
    ["/schedules", { plan: "one", cron, name: "yearly" }, { plan: "one", cron, name: "weekly" }],
  ] as const) {
    const made = await post(live, path, "k", request);
    expect(made.status, path).toBe(200);
    expect((await post(live, path, "k", request)).body.id, path).toBe(made.body.id);
    expect(await post(live, path, "k", other), path).toMatchObject(refused);
  }
  expect((await post(live, "/schedules", "l", { plan: "two", cron, name: "other" })).status).toBe(200);
  // What it is about stands in the address.
  const run = await post(live, "/schedules/yearly/run", "k");
  expect(run.body.kind).toBe("started");
  expect((await post(live, "/schedules/yearly/run", "k")).body.missionId).toBe(run.body.missionId);
  expect(await post(live, "/schedules/other/run", "k")).toMatchObject(refused);
  expect((await live.get("/api/v1/missions")).total).toBe(2);
}, 120_000);

it("forgets what was requested long ago, and nothing else", async () => {
  const clock = new ManualClock();
  const store = await openTestStore({ clock });
  const idempotencyKeys = createIdempotencyKeys(store.keyValue, clock);
  const { signal } = new AbortController();
  const once = (key: string, request: string) => idempotencyKeys.once(key, request, async () => request);
  await once("0a", "old");
  await clock.advance(1_000);
  await once("ff", "new");
  await idempotencyKeys.sweep(clock.now(), signal);
  expect(await once("0a", "other")).toBe("other");
  await expect(once("ff", "other")).rejects.toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
  // Nobody knows what a request that failed for our own reasons has left.
  const broken = () => Promise.reject(new Error("the disk is gone"));
  await expect(idempotencyKeys.once("1b", "this", broken)).rejects.toThrow("the disk is gone");
  await expect(once("1b", "that")).rejects.toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
  expect(await once("1b", "this")).toBe("this");
});
