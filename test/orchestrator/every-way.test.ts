/** Every way on which a task comes to be done or failed, through the started product: hooks at that point are asked and told of it, once. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Task } from "../../src/domain/orchestrator/task.js";
import type { TaskEvent } from "../../src/domain/orchestrator/task-store.js";
import { gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { type MissionApp, missionApp } from "./mission-app.js";
import { problemsOf, type Refusal, refuse, WATCH, watched } from "./support/watch-plugin.js";

const HOUR = 3_600_000;
const RUNNERS = {
  build: { shell: { sh: "echo built" }, concurrency: 4 },
  broken: { shell: { sh: "echo no >&2; exit 3" } },
  killed: { shell: { sh: "kill -9 $$" } },
  stuck: { shell: { sh: "echo began >> began; sleep 600" }, on_interrupt: "fail" },
  nowhere: { person: { user: "telegram:5" } },
};
const judged = (when: string) => ({
  groups: [{ name: "only", tasks: [{ id: "one", assignTo: "build", expectations: [{ when }] }] }],
});
const PLANS = {
  good: judged("result.exitCode == 0"),
  bad: judged("result.exitCode == 7"),
};
const SLA = {
  after_start: "0s",
  policies: [{ id: "strict", for: "task", match: 'entity.facts.group == "strict"', target: "1h", on_violated: "fail" }],
};

interface Way {
  /** What brings it there; gives its id. */
  go(app: MissionApp): Promise<string>;
  /** Who is said to have brought it there. */
  by: RegExp;
  why?: RegExp;
}

const add = async (app: MissionApp, line: string) => {
  const { data, text } = await app.command(`/task add ${line}`);
  if (typeof data?.id !== "string") throw new Error(text);
  return data.id as string;
};
const say = async (app: MissionApp, line: string, by?: "bob") => {
  const said = await app.command(line, by);
  if (said.outcome !== "done") throw new Error(said.text);
};
const show = async (app: MissionApp, id: string) =>
  (await app.command(`/task show ${id}`)).data as Task & { history: TaskEvent[] };
const is = (app: MissionApp, id: string, status: string) =>
  until(async () => {
    const task = await show(app, id);
    return task.status === status && (status !== "review" || task.hold !== undefined) && task;
  }, `the task being ${status}`);
const taskOf = async (app: MissionApp, plan: string) => {
  const id = await app.run(plan);
  return until(
    async () => (await app.command(`/mission show ${id}`)).data.taskIds?.one as string | undefined,
    "its task",
  );
};
const refuseAll = (app: MissionApp, hook: Refusal["hook"]) => refuse(app.folder, { hook, has: "", reason: "no" });
const given = async (app: MissionApp, line: string) => {
  const id = await add(app, `person:web:2 ${line}`);
  await is(app, id, "assigned");
  return id;
};

const TO_DONE: Record<string, Way> = {
  "its program ended well": { go: (app) => add(app, "build Do it"), by: /^runner:build$/ },
  "its person says so": {
    async go(app) {
      const id = await given(app, "Do it");
      await say(app, `/task done ${id} it is done`, "bob");
      return id;
    },
    by: /^web:2/,
  },
  "an operator says so while nobody has begun": {
    async go(app) {
      const id = await given(app, "Do it");
      await say(app, `/task done ${id} done elsewhere`);
      return id;
    },
    by: /^web:1/,
  },
  "a hook had refused that, and lets it now": {
    async go(app) {
      refuse(app.folder, { hook: "task:transition", has: '"to":"done"', reason: "no" });
      const id = await add(app, "build Do it");
      await is(app, id, "blocked");
      refuse(app.folder);
      await say(app, `/task retry ${id}`);
      return id;
    },
    by: /^web:1/,
  },
  "it was let go, and done": {
    async go(app) {
      const id = await add(app, "build Do it approve=true");
      await is(app, id, "awaiting_approval");
      await say(app, `/task approve ${id}`);
      return id;
    },
    by: /^runner:build$/,
  },
  "what was handed in is as expected": { go: (app) => taskOf(app, "good"), by: /^assessment$/ },
  "a person accepts what was not judged": {
    async go(app) {
      refuseAll(app, "assessment:run");
      const id = await taskOf(app, "bad");
      await is(app, id, "review");
      await say(app, `/task accept ${id}`, "bob");
      return id;
    },
    by: /^web:2/,
  },
  "it was done while it was paused": {
    async go(app) {
      const id = await given(app, "Do it");
      await say(app, `/task pause ${id}`);
      await say(app, `/task done ${id} elsewhere`);
      return id;
    },
    by: /^web:1/,
  },
};

const TO_FAILED: Record<string, Way> = {
  "its program ended badly": { go: (app) => add(app, "broken Do it"), by: /^runner:broken$/, why: /exited with 3/ },
  "its program was killed": { go: (app) => add(app, "killed Do it"), by: /^runner:killed$/, why: /SIGKILL/ },
  "its program took too long": {
    async go(app) {
      const id = await add(app, "stuck Do it timeout=10m");
      await until(() => app.lines("began").length === 1, "the program running");
      app.clock.leap(HOUR);
      return id;
    },
    by: /^runner:stuck$/,
    why: /^timeout/,
  },
  "its person cannot": {
    async go(app) {
      const id = await given(app, "Do it");
      await say(app, `/task decline ${id} my back hurts`, "bob");
      return id;
    },
    by: /^web:2/,
    why: /my back hurts/,
  },
  "its person took too long": {
    async go(app) {
      const id = await given(app, "Do it timeout=30m");
      await say(app, `/task start ${id}`, "bob");
      app.clock.leap(HOUR);
      return id;
    },
    by: /^orchestrator$/,
    why: /^timeout/,
  },
  "its person cannot be reached": {
    go: (app) => add(app, "nowhere Do it"),
    by: /^orchestrator$/,
    why: /cannot be reached/,
  },
  "its promise was broken": {
    async go(app) {
      const id = await given(app, "Do it group=strict");
      await until(async () => (await app.command(`/sla show ${id}`)).data.clocks?.length === 1, "its clock");
      app.clock.leap(1.1 * HOUR);
      return id;
    },
    by: /^sla:strict$/,
    why: /^sla: /,
  },
  "its approval was refused": {
    async go(app) {
      const id = await add(app, "build Do it approve=true");
      await is(app, id, "awaiting_approval");
      await say(app, `/task refuse ${id} no budget`);
      return id;
    },
    by: /^web:1/,
    why: /no budget/,
  },
  "what was handed in is not as expected": {
    go: (app) => taskOf(app, "bad"),
    by: /^assessment$/,
    why: /expectations not met \(score 0 %\)/,
  },
  "a person does not accept what was handed in": {
    async go(app) {
      refuseAll(app, "assessment:run");
      const id = await taskOf(app, "good");
      await is(app, id, "review");
      await say(app, `/task refuse ${id} it is ugly`);
      return id;
    },
    by: /^web:1/,
    why: /it is ugly/,
  },
  "a hook does not let it be tried again": {
    async go(app) {
      refuseAll(app, "task:retry");
      return add(app, "broken Do it retries=5");
    },
    by: /^runner:broken$/,
    why: /not done again/,
  },
  "the gateway was stopped, and its runner counts that as a failure": {
    async go(app) {
      const id = await add(app, "stuck Do it");
      await until(() => app.lines("began").length === 1, "the program running");
      await app.stop();
      await app.start();
      return id;
    },
    by: /^runner:stuck$/,
    why: /^interrupted/,
  },
};

const started = () =>
  missionApp(PLANS, {
    startMs: Date.UTC(2026, 10, 23, 8, 10),
    plugin: WATCH,
    config: { sla: SLA, orchestrator: { runners: RUNNERS, shutdown_timeout: "100ms", tick: "1s" } },
  });

async function comes(status: "done" | "failed", { go, by, why }: Way): Promise<void> {
  const [hook, other] =
    status === "done" ? (["task:complete", "task:fail"] as const) : (["task:fail", "task:complete"] as const);
  const app = await started();
  const id = await go(app);
  const task = await is(app, id, status);
  await until(() => watched(app.folder, hook, "after").length > 0, `${hook} being told`);
  const last = task.history.at(-1);
  expect(last).toMatchObject({ kind: "transition", to: status, by: expect.stringMatching(by) });
  if (why !== undefined) expect(last?.reason).toMatch(why);
  await app.stop();
  const calls = watched(app.folder, hook);
  expect(calls.map(({ phase, data }) => `${phase} ${data.taskId}`)).toEqual([`before ${id}`, `after ${id}`]);
  expect(calls.flatMap(problemsOf)).toEqual([]);
  if (why !== undefined) expect(calls[1]?.data.reason).toMatch(why);
  expect(watched(app.folder, other)).toEqual([]);
}

it.each(Object.entries(TO_DONE))("task:complete: %s", (_, way) => comes("done", way), 120_000);
it.each(Object.entries(TO_FAILED))("task:fail: %s", (_, way) => comes("failed", way), 120_000);

it("task:fail: the gateway was killed while it ran, which its runner counts as a failure", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-ways-"));
  writeFileSync(join(folder, "watch.mjs"), `export default { id: "watch", async setup(api) {\n${WATCH}\n} };\n`);
  const config = { plugins: ["./watch.mjs"], orchestrator: { runners: { stuck: RUNNERS.stuck } } };
  const gateway = await gatewayProcess({ folder, config });
  const command = async (line: string) => {
    const answer = await fetch(`${gateway.url}/api/command`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ line }),
    });
    return ((await answer.json()) as { data: Task }).data;
  };
  try {
    await gateway.start();
    await gateway.ready();
    const { id } = await command("/task add stuck Do it");
    await until(async () => (await command(`/task show ${id}`)).status === "in_progress", "it running");
    await gateway.kill();
    await gateway.start();
    await gateway.ready();
    const task = await until(async () => {
      const now = await command(`/task show ${id}`);
      return now.status === "failed" && now;
    }, "it having failed");
    expect(task.reason).toMatch(/^interrupted: the gateway ended/);
    await until(() => watched(folder, "task:fail", "after").length === 1, "its failure being told");
    expect(watched(folder, "task:fail").map(({ phase, data }) => `${phase} ${data.taskId}`)).toEqual([
      `before ${id}`,
      `after ${id}`,
    ]);
    await gateway.stop();
  } finally {
    await gateway.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);

it("a stop ends a mission's work and has everybody told of all that follows, once", async () => {
  const app = await missionApp(
    {
      long: {
        groups: [
          { name: "first", tasks: [{ id: "stuck", assignTo: "stuck" }] },
          { name: "second", tasks: Array.from({ length: 20 }, (_, at) => ({ id: `then-${at}`, assignTo: "build" })) },
        ],
      },
    },
    {
      plugin: `${WATCH}
        api.hooks.register({ hook: "task:transition", phase: "after", id: "slow", handler: () => new Promise((done) => setTimeout(done, 500)) });`,
      config: { orchestrator: { runners: RUNNERS, shutdown_timeout: "100ms" } },
    },
  );
  const id = await app.run("long");
  await until(() => app.lines("began").length === 1, "the program running");
  await app.stop();
  await app.start();
  await app.reaches(id, "failed");
  await until(() => watched(app.folder, "mission:complete", "after").length > 0, "its end being told");
  await app.stop();
  const told = watched(app.folder).filter(({ phase }) => phase === "after");
  expect(told.filter(({ attempt }) => attempt > 1)).toEqual([]);
  const ends = told.filter(({ hook, data }) => hook === "task:transition" && data.to === "cancelled");
  expect(ends).toHaveLength(20);
}, 120_000);
