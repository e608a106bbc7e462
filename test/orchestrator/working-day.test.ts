/**
 * One day of work through the started product, on a clock that leaps: all that happens to tasks, missions, assessments, gates, schedules
 * and clocks, with hooks at every point. What hooks were told is then held against what is on disk: declared means fired, neither
 * more nor less often than it happened.
 */
import { expect, it } from "vitest";
import type { Mission } from "../../src/domain/orchestrator/mission.js";
import type { Task, TaskStatus } from "../../src/domain/orchestrator/task.js";
import type { TaskEvent } from "../../src/domain/orchestrator/task-store.js";
import { catalogue } from "../../src/hooks/catalogue/index.js";
import { until } from "../support/until.js";
import { type MissionApp, missionApp } from "./mission-app.js";
import { problemsOf, refuse, WATCH, WORK_POINTS, type WorkPoint, watched } from "./support/watch-plugin.js";

const sh = (line: string, more: object = {}) => ({ shell: { sh: line }, concurrency: 4, ...more });
const RUNNERS = {
  build: sh('echo "built $HOOKGATE_TASK_TITLE"'),
  flaky: sh('[ -e "seen-$HOOKGATE_TASK_ID" ] || { touch "seen-$HOOKGATE_TASK_ID"; exit 1; }'),
  broken: sh("exit 3"),
  stuck: sh("echo began >> stuck; sleep 600"),
  check: sh("[ -e mended ]"),
};
const PLANS = {
  release: {
    title: "Release",
    groups: [
      {
        name: "make",
        tasks: [
          { id: "compile", assignTo: "build", expectations: [{ when: "result.exitCode == 0" }] },
          { id: "test", assignTo: "check" },
        ],
        gate: { name: "quality", allPassed: true },
      },
      { name: "ship", tasks: [{ id: "deploy", assignTo: "build" }] },
    ],
  },
  report: {
    title: "Report",
    schedule: { cron: "0 10,11 * * *", timezone: "UTC" },
    groups: [{ name: "only", tasks: [{ id: "write", assignTo: "build" }] }],
  },
};
const SLA = {
  after_start: "0s",
  policies: [
    { id: "promised", for: "task", match: 'entity.facts.group == "promised"', target: "2h", warn_at: ["50%"] },
    { id: "missions", for: "mission", target: "30m", warn_at: ["50%"] },
  ],
};

/** A Monday. */
const today = (hour: number, minute = 0) => Date.UTC(2026, 10, 23, hour, minute);
type Whole = Task & { history: TaskEvent[] };

it("a working day: every point of work fires where it says, as often as it happened, with payloads as the catalogue has them", async () => {
  const app = await missionApp(PLANS, {
    startMs: today(8),
    plugin: WATCH,
    config: { sla: SLA, orchestrator: { runners: RUNNERS, shutdown_timeout: "200ms", tick: "1s" } },
  });
  const work = new Map<string, string>();
  const add = async (name: string, line: string) => work.set(name, await added(app, line));
  const id = (name: string) => work.get(name) as string;
  const becomes = (name: string, ...states: TaskStatus[]) => taskIs(app, id(name), ...states);

  // Eight o'clock: work that is done, fails, is tried again, waits for people.
  await add("passes", "/task add build Passes");
  await add("tried again", "/task add flaky Again retries=2");
  await add("fails", "/task add broken Fails retries=1");
  await add("too long", "/task add stuck Sleeps timeout=10m");
  await add("follows", `/task add build Follows after=${id("passes")}`);
  await add("waits for ever", `/task add build Waits after=${id("fails")}`);
  await add("approved", "/task add build Approved approve=true");
  await add("not approved", "/task add build Unapproved approve=true");
  await add("by a person", "/task add person:web:2 Call them");
  await add("not by a person", "/task add person:web:2 Lift the piano");
  await add("given up", "/task add person:web:2 Never mind");
  await add("in time", "/task add person:web:2 InTime group=promised");
  await add("late", "/task add person:web:2 Late group=promised");
  await add("silently late", "/task add person:web:2 Unsaid group=promised");
  refuse(
    app.folder,
    { hook: "task:spawn", has: '"title":"Passes later"', reason: "not before lunch" },
    {
      hook: "quality:sla",
      has: id("silently late"),
      reason: "we know",
    },
  );
  await add("held", "/task add build Passes later");
  for (const name of ["passes", "tried again", "follows"]) await becomes(name, "done");
  await becomes("fails", "failed");
  for (const name of ["waits for ever", "held"]) await becomes(name, "blocked");
  for (const name of ["approved", "not approved"]) await becomes(name, "awaiting_approval");
  await app.command(`/task approve ${id("approved")}`);
  await app.command(`/task refuse ${id("not approved")} no budget`);
  for (const name of ["by a person", "not by a person", "given up", "in time", "late", "silently late"])
    await becomes(name, "assigned");
  await app.command(`/task start ${id("by a person")}`, "bob");
  await app.command(`/task done ${id("by a person")} they are happy`, "bob");
  await app.command(`/task decline ${id("not by a person")} my back hurts`, "bob");
  await app.command(`/task cancel ${id("given up")}`);
  await until(() => app.lines("stuck").length === 1, "the program that takes too long running");

  // A quarter past: its time is over, and a mission stands before a shut gate.
  app.clock.leapTo(today(8, 15));
  expect((await becomes("too long", "failed")).reason).toContain("timeout");
  const release = await app.run("release");
  await app.reaches(release, "held");
  await app.command(`/task done ${id("in time")}`, "bob");

  // Five past nine: half of two hours is gone.
  app.clock.leapTo(today(9, 5));
  await told(app, "quality:sla", (data) => data.entityId === id("late") && data.status === "warning");
  await told(app, "quality:sla", (data) => data.entityId === release && data.status === "violated");
  app.write("mended", "");
  const { test } = (await app.command(`/mission show ${release}`)).data.taskIds;
  await app.command(`/task retry ${test}`);
  await app.reaches(release, "done");

  // Ten: a schedule comes, and a promise is broken.
  app.clock.leapTo(today(10, 5));
  await told(app, "schedule:trigger", () => true);
  await told(app, "quality:sla", (data) => data.entityId === id("late") && data.status === "violated");
  await app.command(`/task done ${id("late")}`, "bob");
  refuse(app.folder);
  await app.command(`/task retry ${id("held")}`);
  await becomes("held", "done");

  // Half past ten: the gateway is stopped while something runs, and the next day half begins with what was missed.
  await add("cut off", "/task add stuck Sleeps again");
  await until(() => app.lines("stuck").length === 2, "the other program running");
  const first = await missionsOf(app, "report", 1);
  await app.reaches(first[0]?.id as string, "done");
  await app.stop();
  app.clock.leapTo(today(11, 30));
  await app.start();
  for (const { id: mission } of await missionsOf(app, "report", 2)) await app.reaches(mission, "done");
  await until(() => app.lines("stuck").length === 3, "what was cut off running once more");
  await app.command(`/task cancel ${id("cut off")}`);
  await becomes("cut off", "cancelled");

  const tasks = await allTasks(app);
  const missions = (await app.command("/mission list")).data.missions as Mission[];
  const clocks = await Promise.all(["in time", "late", "silently late"].map(async (name) => saidOf(app, id(name))));
  await app.stop();

  // What hooks were told.
  const calls = watched(app.folder);
  expect(calls.flatMap(problemsOf)).toEqual([]);
  for (const hook of WORK_POINTS) {
    expect(catalogue.map(({ name }) => name)).toContain(hook);
    for (const phase of ["before", "after"] as const)
      expect(
        calls.some((call) => call.hook === hook && call.phase === phase),
        `${phase} ${hook}`,
      ).toBe(true);
  }
  const twice = calls.filter(({ hook, phase, dispatchId }, at) =>
    calls.some(
      (other, later) => later > at && other.hook === hook && other.phase === phase && other.dispatchId === dispatchId,
    ),
  );
  expect(twice).toEqual([]);

  // Against what is on disk.
  const after = (hook: WorkPoint) => calls.filter((call) => call.hook === hook && call.phase === "after");
  const letGo = (hook: WorkPoint) =>
    calls.filter((call) => call.hook === hook && call.phase === "before" && !call.isRefused);
  const steps = tasks.flatMap(({ id: task, history }) =>
    history
      .filter(({ kind }) => kind === "transition")
      .map(({ from, to, points }) => ({ task, from, to, points: points ?? [] })),
  );
  const way = (task: string, from: unknown, to: unknown) => `${task} ${from}>${to}`;
  const ways = steps.map(({ task, from, to }) => way(task, from, to)).sort();
  expect(
    after("task:transition")
      .map(({ data }) => way(data.taskId, data.from, data.to))
      .sort(),
  ).toEqual(ways);
  // A step into `blocked` that follows from a veto is told only.
  const vetoed = calls
    .filter(({ isRefused, data }) => isRefused && data.task !== undefined)
    .map(({ data }) => data.task.id);
  const asked = ways.filter((one) => !vetoed.some((task) => one.startsWith(task) && one.endsWith(">blocked")));
  expect(
    letGo("task:transition")
      .map(({ data }) => way(data.taskId, data.from, data.to))
      .sort(),
  ).toEqual(asked);
  for (const [hook, to] of [
    ["task:complete", "done"],
    ["task:fail", "failed"],
  ] as const) {
    const ended = steps
      .filter((step) => step.to === to)
      .map(({ task }) => task)
      .sort();
    expect(
      after(hook)
        .map(({ data }) => data.taskId)
        .sort(),
      hook,
    ).toEqual(ended);
    expect(
      letGo(hook)
        .map(({ data }) => data.taskId)
        .sort(),
      hook,
    ).toEqual(ended);
  }
  for (const hook of ["task:spawn", "task:retry"] as const) {
    const begun = steps
      .filter(({ points }) => points.includes(hook))
      .map(({ task }) => task)
      .sort();
    expect(begun.length, hook).toBeGreaterThan(1);
    expect(
      after(hook)
        .map(({ data }) => data.task.id)
        .sort(),
      hook,
    ).toEqual(begun);
    expect(
      letGo(hook)
        .map(({ data }) => data.task.id)
        .sort(),
      hook,
    ).toEqual(begun);
  }
  const created = tasks.map((task) => task.id).sort();
  for (const told of [letGo("task:create"), after("task:create")])
    expect(told.map(({ data }) => data.id).sort()).toEqual(created);

  const missionIds = missions.map((mission) => mission.id).sort();
  expect(missionIds).toHaveLength(3);
  for (const hook of ["mission:execute", "mission:complete"] as const)
    for (const told of [letGo(hook), after(hook)])
      expect(told.map(({ data }) => data.missionId).sort(), hook).toEqual(missionIds);
  expect(after("mission:complete").every(({ data }) => data.allPassed && data.report.status === "done")).toBe(true);
  for (const told of [letGo("quality:gate"), after("quality:gate")])
    expect(told.map(({ data }) => `${data.gateName} ${data.verdict}`)).toEqual(["quality held", "quality passed"]);
  const compile = tasks.find(({ title }) => title === "compile")?.id;
  for (const hook of ["assessment:run", "assessment:complete"] as const)
    for (const told of [letGo(hook), after(hook)])
      expect(
        told.map(({ data }) => data.taskId),
        hook,
      ).toEqual([compile]);
  for (const told of [letGo("schedule:trigger"), after("schedule:trigger")])
    expect(told.map(({ data }) => `${data.scheduleId} ${new Date(data.dueAt).toISOString().slice(11, 16)}`)).toEqual([
      "report 10:00",
      "report 11:00",
    ]);
  for (const told of [letGo("orchestrator:shutdown"), after("orchestrator:shutdown")]) expect(told).toHaveLength(2);

  const news = (entity: string) =>
    after("quality:sla")
      .filter(({ data }) => data.entityId === entity)
      .map(({ data }) => `${data.status} ${data.policyId}`);
  expect(news(id("in time"))).toEqual(["met promised"]);
  expect(news(id("late"))).toEqual(["warning promised", "violated promised"]);
  expect(news(id("silently late"))).toEqual([]);
  // What had come and gone before the clock was looked at is not warned of.
  expect(news(release)).toEqual(["violated missions"]);
  const late = after("quality:sla").filter(({ data }) => data.entityId === id("late"));
  expect(late[0]?.data.percentUsed).toBeGreaterThanOrEqual(0.5);
  expect(late[0]?.data.percentUsed).toBeLessThan(1);
  expect(late[1]?.data.percentUsed).toBeGreaterThanOrEqual(1);
  expect(late[1]?.data.percentUsed).toBeLessThan(2);
  expect(late[0]?.data.deadline.slice(0, 13)).toBe("2026-11-23T10");
  expect(clocks[2]?.map(({ status, by, reason }) => ({ status, isOurs: by?.includes("quality-sla"), reason }))).toEqual(
    Array.from({ length: clocks[2]?.length ?? 0 }, () => ({ status: "vetoed", isOurs: true, reason: "we know" })),
  );
  expect(clocks[2]?.length).toBeGreaterThan(0);
}, 180_000);

async function added(app: MissionApp, line: string): Promise<string> {
  const { data, text } = await app.command(line);
  if (typeof data?.id !== "string") throw new Error(`no task was added: ${text}`);
  return data.id;
}

async function taskIs(app: MissionApp, id: string, ...states: TaskStatus[]): Promise<Whole> {
  let last: Whole | undefined;
  return until(
    async () => {
      last = (await app.command(`/task show ${id}`)).data as Whole;
      return states.includes(last.status) && last;
    },
    `the task ${id} being ${states.join(" or ")}`,
    40_000,
  ).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${last?.title}, ${last?.status}: ${last?.reason}`);
  });
}

async function allTasks(app: MissionApp): Promise<Whole[]> {
  const tasks = await app.app.orchestrator.store.list({ limit: 1_000 });
  return Promise.all(
    tasks.map(async (task) => ({ ...task, history: [...(await app.app.orchestrator.store.events(task.id, 1_000))] })),
  );
}

const missionsOf = (app: MissionApp, plan: string, count: number) =>
  until(async () => {
    const found = ((await app.command("/mission list")).data.missions as Mission[]).filter(
      ({ planId }) => planId === plan,
    );
    return found.length === count && found;
  }, `${count} missions of ${plan}`);

const told = (app: MissionApp, hook: WorkPoint, is: (data: { entityId?: string; status?: string }) => boolean) =>
  until(() => watched(app.folder, hook, "after").some(({ data }) => is(data)), `${hook} being told`);

async function saidOf(app: MissionApp, id: string): Promise<{ status: string; by?: string; reason?: string }[]> {
  const { data } = await app.command(`/sla show ${id}`);
  return data.clocks.flatMap((clock: { announcements: [] }) => clock.announcements);
}
