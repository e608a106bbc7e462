/** Every way on which a task is created, started, and started again: hooks at those points are asked and told of it, once each. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Task } from "../../src/domain/orchestrator/task.js";
import type { TaskEvent } from "../../src/domain/orchestrator/task-store.js";
import { until } from "../support/until.js";
import { type MissionApp, missionApp } from "./mission-app.js";
import { problemsOf, WATCH, type WorkPoint, watched } from "./support/watch-plugin.js";

const HOUR = 3_600_000;
const PERSON = "person:web:2";
const RUNNERS = {
  good: { shell: { sh: "echo good" }, concurrency: 4 },
  bad: { shell: { sh: "exit 1" }, concurrency: 4 },
  long: { shell: { sh: 'echo "$HOOKGATE_TASK_ID" >> began; sleep 600' }, concurrency: 50 },
};
const PLAN = (title: string, more = {}) => ({
  ...more,
  groups: [{ name: "only", tasks: [{ id: "one", title, assignTo: "good" }] }],
});
const PLANS = {
  plain: PLAN("of a mission"),
  timed: PLAN("of a schedule", { schedule: { cron: "0 * * * *", timezone: "UTC" } }),
  hooked: PLAN("of a mission of a hook"),
};
const HOOKS = [
  {
    id: "asks",
    on: "message_received",
    match: { when: 'payload.message.text == "please"' },
    context: [{ create_task: { title: "of a hook", to: "good" } }],
    run: { mission: { plan: "hooked" } },
  },
];

let app: MissionApp;
beforeAll(async () => {
  app = await missionApp(PLANS, {
    plugin: WATCH,
    startMs: Date.UTC(2026, 10, 23, 8, 10),
    config: {
      hooks: HOOKS,
      orchestrator: { runners: RUNNERS, tick: "1s", shutdown_timeout: "100ms", max_running: 100 },
    },
    keep: true,
  });
}, 120_000);
afterAll(() => app.remove());

type Shown = Task & { history: TaskEvent[] };
const show = async (id: string) => (await app.command(`/task show ${id}`)).data as Shown;
const is = (id: string, status: string, attempt = 0) =>
  until(async () => {
    const task = await show(id);
    return task.status === status && task.attempt >= attempt && task;
  }, `${id} being ${status}`);
const add = async (line: string) => {
  const { data, text } = await app.command(`/task add ${line}`);
  if (typeof data?.id !== "string") throw new Error(text);
  return data.id as string;
};
const stands = async (status: string, line: string) => (await is(await add(line), status)).id;
async function say(action: string, id: string, by?: "bob"): Promise<string> {
  const said = await app.command(`/task ${action} ${id}`.trim(), by);
  if (said.outcome !== "done") throw new Error(said.text);
  return id;
}
const called = (hook: WorkPoint, is: (data: Record<string, unknown>) => boolean) =>
  watched(app.folder, hook).filter(({ data }) => is(data));

const CREATED: Record<string, () => Promise<unknown>> = {
  "by a command": () => add("good by a command"),
  "by the short command": () => app.command("/add-task by the short command"),
  "of a mission": () => app.run("plain"),
  "of a schedule": async () => app.clock.leap(HOUR),
  "of a hook": () => app.say("please"),
  // Begun by the same message.
  "of a mission of a hook": async () => {},
};

it.each(Object.entries(CREATED))("task:create: %s", async (title, create) => {
  await create();
  const about = () => called("task:create", (data) => data.title === title);
  await until(() => about().length === 2, "both phases");
  expect(about().map(({ phase }) => phase)).toEqual(["before", "after"]);
  expect(about().flatMap(problemsOf)).toEqual([]);
  expect(new Set(about().map(({ data }) => data.id)).size).toBe(1);
});

/** Gives the task, and how often it was started by the end of it. */
const SPAWNED: Record<string, { go(): Promise<string>; times: number }> = {
  "there is room": { go: () => stands("done", "good Do it"), times: 1 },
  "it is given to a person": { go: () => stands("assigned", `${PERSON} Do it`), times: 1 },
  "it is given to somebody else": {
    async go() {
      const id = await stands("assigned", `${PERSON} Do it`);
      await app.command(`/task assign ${id} good`);
      return (await is(id, "done")).id;
    },
    times: 2,
  },
  "it was approved": {
    async go() {
      const id = await say("approve", await stands("awaiting_approval", "good Do it approve=true"));
      return (await is(id, "done")).id;
    },
    times: 1,
  },
  "it is tried again": { go: () => stands("failed", "bad Do it retries=2"), times: 3 },
  "its pause is over": {
    async go() {
      const id = await say("pause", await stands("in_progress", "long Do it"));
      await say("resume", id);
      return (await is(id, "in_progress", 2)).id;
    },
    times: 2,
  },
};

it.each(Object.entries(SPAWNED))("task:spawn: %s", async (_, { go, times }) => {
  const id = await go();
  const about = (phase: string) =>
    called("task:spawn", (data) => (data.task as Task).id === id).filter((one) => one.phase === phase);
  await until(() => about("after").length === times, "all being told");
  expect(about("before")).toHaveLength(times);
  expect([...about("before"), ...about("after")].flatMap(problemsOf)).toEqual([]);
  await app.command(`/task cancel ${id}`);
});

const RETRIED: Record<string, () => Promise<string>> = {
  "its program ended badly": () => stands("failed", "bad Do it retries=1"),
  "its program took too long": async () => {
    const id = await add("long Do it timeout=10m retries=1");
    await until(() => app.lines("began").includes(id), "the program running");
    app.clock.leap(HOUR);
    return (await is(id, "in_progress", 2)).id;
  },
  "its person took too long": async () => {
    const id = await say("start", await stands("assigned", `${PERSON} Do it timeout=10m retries=1`), "bob");
    app.clock.leap(HOUR);
    return (await is(id, "assigned", 1)).id;
  },
  "what was handed in is not as expected": () =>
    stands("failed", "good Do it retries=1 expect=\"when: result.output == 'none'\""),
  "a person wants what failed": async () => {
    const id = await say("retry", await stands("failed", "bad Do it"));
    return (await is(id, "failed", 2)).id;
  },
  "a person wants what was cancelled": async () => {
    const id = await say("cancel", await stands("in_progress", "long Do it"));
    await say("retry", id);
    return (await is(id, "in_progress", 2)).id;
  },
  "the gateway was stopped": async () => {
    const id = await add("long Do it");
    await until(() => app.lines("began").includes(id), "the program running");
    await app.stop();
    await app.start();
    return (await is(id, "in_progress", 2)).id;
  },
};

it.each(Object.entries(RETRIED))("task:retry: %s", async (_, go) => {
  const id = await go();
  const about = () => called("task:retry", (data) => data.taskId === id);
  await until(() => about().length >= 2, "it being told");
  expect(about().map(({ phase }) => phase)).toEqual(["before", "after"]);
  expect(about().flatMap(problemsOf)).toEqual([]);
  await app.command(`/task cancel ${id}`);
});
