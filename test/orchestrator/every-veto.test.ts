/**
 * Every refusal of a hook at a point of work, through the started product: it is a state that people see, with who refused and why; it
 * is not asked for again by itself, however long it waits; and a person's command asks once more.
 */
import { expect, it } from "vitest";
import type { Mission } from "../../src/domain/orchestrator/mission.js";
import type { Schedule } from "../../src/domain/orchestrator/schedule.js";
import { until } from "../support/until.js";
import { type MissionApp, missionApp } from "./mission-app.js";
import { type Refusal, refuse, WATCH, watched } from "./support/watch-plugin.js";

const HOUR = 3_600_000;
const RUNNERS = {
  build: { shell: { sh: "echo built" }, concurrency: 4 },
  broken: { shell: { sh: "exit 1" } },
  check: { shell: { sh: "[ -e mended ]" } },
};
const one = (more: object = {}) => ({ groups: [{ name: "only", tasks: [{ id: "one", assignTo: "build", ...more }] }] });
const PLANS = {
  plain: one(),
  "plain-for-bob": one({ assignTo: "person:web:2" }),
  judged: one({ expectations: [{ when: "result.exitCode == 0" }] }),
  gated: {
    groups: [
      { name: "first", tasks: [{ id: "one", assignTo: "build" }], gate: { name: "quality" } },
      { name: "second", tasks: [{ id: "two", assignTo: "build" }] },
    ],
  },
  hourly: { schedule: { cron: "0 * * * *", timezone: "UTC" }, ...one() },
};

interface Shown {
  state: string;
  /** Where it was refused. */
  point?: string;
  by?: string;
  reason?: string;
}

interface Veto {
  rule: Omit<Refusal, "reason">;
  /** What is refused then; gives the id of what shows it. */
  begin(app: MissionApp): Promise<string>;
  /** How it stands, where a person looks. */
  look(app: MissionApp, id: string): Promise<Shown>;
  refused: string;
  again: (id: string) => string;
  /** What it becomes when it is asked for again and nobody refuses. */
  after: string;
}

const added = (line: string) => async (app: MissionApp) => {
  const { data, text } = await app.command(line);
  if (typeof data?.id !== "string") throw new Error(text);
  return data.id as string;
};
const task = async (app: MissionApp, id: string): Promise<Shown> => {
  const { data } = await app.command(`/task show ${id}`);
  const { by, reason, point } = data.hold ?? {};
  return { state: data.status, by, reason, point };
};
const mission = async (app: MissionApp, id: string): Promise<Shown> => {
  const { data } = await app.command(`/mission show ${id}`);
  const { by, reason, point } = data.hold ?? {};
  return { state: data.status, by, reason, point };
};
const begun = (plan: string) => (app: MissionApp) => app.run(plan);
const taskOf = (plan: string) => async (app: MissionApp) => {
  const id = await app.run(plan);
  return (await app.command(`/mission show ${id}`)).data.taskIds.one as string;
};

const VETOES: Record<string, Veto> = {
  "task:spawn": {
    rule: { hook: "task:spawn", has: "" },
    begin: added("/task add build Do it"),
    look: task,
    refused: "blocked",
    again: (id) => `/task retry ${id}`,
    after: "done",
  },
  "task:spawn of a person": {
    rule: { hook: "task:spawn", has: "" },
    begin: added("/task add person:web:2 Do it"),
    look: task,
    refused: "blocked",
    again: (id) => `/task retry ${id}`,
    after: "assigned",
  },
  "task:transition": {
    rule: { hook: "task:transition", has: '"to":"assigned"' },
    begin: added("/task add build Do it"),
    look: task,
    refused: "blocked",
    again: (id) => `/task retry ${id}`,
    after: "done",
  },
  "task:transition, when what it waited for goes on": {
    rule: { hook: "task:transition", has: '"from":"blocked","to":"pending"' },
    async begin(app) {
      const first = await added("/task add check First")(app);
      const id = await added(`/task add build Next after=${first}`)(app);
      await until(async () => (await task(app, id)).state === "blocked", "it waiting for what failed");
      app.write("mended", "");
      await app.command(`/task retry ${first}`);
      return id;
    },
    look: task,
    refused: "blocked",
    again: (id) => `/task retry ${id}`,
    after: "done",
  },
  "task:transition of a mission's task": {
    rule: { hook: "task:transition", has: '"from":"draft","to":"pending"' },
    begin: begun("plain"),
    look: mission,
    refused: "blocked",
    again: (id) => `/mission retry ${id}`,
    after: "done",
  },
  "task:complete": {
    rule: { hook: "task:complete", has: "" },
    begin: added("/task add build Do it"),
    look: task,
    refused: "blocked",
    again: (id) => `/task retry ${id}`,
    after: "done",
  },
  "task:fail": {
    rule: { hook: "task:fail", has: "" },
    begin: added("/task add broken Do it"),
    look: task,
    refused: "blocked",
    again: (id) => `/task retry ${id}`,
    after: "failed",
  },
  "task:retry": {
    rule: { hook: "task:retry", has: "" },
    begin: added("/task add broken Do it retries=5"),
    async look(app, id) {
      const { data } = await app.command(`/task show ${id}`);
      const [, by, reason] = /: (\S+) refused \((.*)\)$/.exec(data.reason ?? "") ?? [];
      return { state: data.status, ...(by === undefined || reason === undefined ? undefined : { by, reason }) };
    },
    refused: "failed",
    again: (id) => `/task retry ${id}`,
    after: "failed",
  },
  "task:create of a mission": {
    rule: { hook: "task:create", has: "" },
    begin: begun("plain"),
    look: mission,
    refused: "blocked",
    again: (id) => `/mission retry ${id}`,
    after: "done",
  },
  "mission:execute": {
    rule: { hook: "mission:execute", has: "" },
    begin: begun("plain"),
    look: mission,
    refused: "blocked",
    again: (id) => `/mission retry ${id}`,
    after: "done",
  },
  "mission:complete": {
    rule: { hook: "mission:complete", has: "" },
    begin: begun("plain"),
    look: mission,
    refused: "blocked",
    again: (id) => `/mission retry ${id}`,
    after: "done",
  },
  "assessment:run": {
    rule: { hook: "assessment:run", has: "" },
    begin: taskOf("judged"),
    look: task,
    refused: "review",
    again: (id) => `/task retry ${id}`,
    after: "done",
  },
  "assessment:complete": {
    rule: { hook: "assessment:complete", has: "" },
    begin: taskOf("judged"),
    look: task,
    refused: "review",
    again: (id) => `/task retry ${id}`,
    after: "done",
  },
  "quality:gate": {
    rule: { hook: "quality:gate", has: "" },
    begin: begun("gated"),
    async look(app, id) {
      const { data } = await app.command(`/mission show ${id}`);
      const [gate] = (data as Mission).gates;
      return { state: data.status, ...gate?.veto };
    },
    refused: "held",
    again: (id) => `/gate release ${id} quality it is good enough`,
    after: "done",
  },
  "schedule:trigger": {
    rule: { hook: "schedule:trigger", has: "" },
    async begin(app) {
      app.clock.leap(HOUR);
      return "hourly";
    },
    async look(app, id) {
      const { data } = await app.command("/schedule list");
      const last = (data.schedules as Schedule[]).find((schedule) => schedule.id === id)?.last;
      const { kind: state = "", by, reason } = last ?? {};
      return { state, ...(by === undefined || reason === undefined ? undefined : { by, reason }) };
    },
    refused: "vetoed",
    again: (id) => `/schedule run ${id}`,
    after: "started",
  },
};

/** Long enough for whatever would ask again by itself. */
async function waits(app: MissionApp, { leap = true } = {}): Promise<void> {
  if (leap) app.clock.leap(HOUR / 2);
  const before = watched(app.folder, "orchestrator:tick", "before").length;
  await until(() => watched(app.folder, "orchestrator:tick", "before").length >= before + 4, "four ticks");
}

const refusals = (app: MissionApp, { hook }: Pick<Refusal, "hook">) =>
  watched(app.folder, hook, "before").filter(({ isRefused }) => isRefused).length;

const started = (config: object = {}) =>
  missionApp(PLANS, {
    startMs: Date.UTC(2026, 10, 23, 8, 10),
    plugin: WATCH,
    config: { orchestrator: { runners: RUNNERS, tick: "30ms" }, ...config },
  });

/** All of them in one product, so that it starts twice and not twice for each: first each is refused, then all wait, then all are asked again. */
it.each<[string, Pick<Refusal, "fails">]>([
  ["that refuses", {}],
  ["that must not fail, and does,", { fails: true }],
])(
  "a hook %s is seen at each of them with who and why; it stays so, also over a start, and is asked again by a command only",
  async (_, how) => {
    const app = await started();
    const rules = Object.entries(VETOES).map(([name, { rule }]) => ({ ...rule, ...how, reason: `not today: ${name}` }));
    const stand: { name: string; veto: Veto; id: string; shown: Shown }[] = [];
    for (const [at, [name, veto]] of Object.entries(VETOES).entries()) {
      const { rule, begin, look, refused } = veto;
      const { reason } = rules[at] as Refusal;
      const before = refusals(app, rule);
      refuse(app.folder, rules[at] as Refusal);
      const id = await begin(app);
      const shown = await until(async () => {
        const now = await look(app, id);
        return now.state === refused && now.reason?.includes(reason) && now;
      }, `${name} being refused`).catch(async (error) => {
        throw new Error(`${error.message}; it is ${JSON.stringify(await look(app, id))}`);
      });
      expect(shown.by, name).toContain(`before-${rule.hook.replace(":", "-")}`);
      expect(shown.point ?? rule.hook, name).toBe(rule.hook);
      expect(refusals(app, rule) - before, name).toBe(1);
      stand.push({ name, veto, id, shown });
    }

    refuse(app.folder, ...rules);
    const stands = async () => {
      for (const { name, veto, id, shown } of stand) expect(await veto.look(app, id), name).toEqual(shown);
      expect(watched(app.folder).filter(({ isRefused }) => isRefused)).toHaveLength(rules.length);
    };
    await waits(app);
    await stands();
    // Not even by a start.
    await app.stop();
    await app.start();
    await waits(app, { leap: false });
    await stands();

    refuse(app.folder);
    for (const { name, veto, id } of stand) {
      const asked = await app.command(veto.again(id));
      expect(asked.outcome, `${name}: ${asked.text}`).toBe("done");
      await until(async () => (await veto.look(app, id)).state === veto.after, `${name} being ${veto.after}`).catch(
        async (error) => {
          throw new Error(
            `${error.message}; it is ${JSON.stringify(await veto.look(app, id))} ${(await app.command(`/task show ${id}`)).text}`,
          );
        },
      );
    }
  },
  180_000,
);

it("a task that is refused is not there, and whoever wanted it is told by whom and why", async () => {
  const app = await started();
  refuse(app.folder, { hook: "task:create", has: '"title":"Mine gold"', reason: "not on our machines" });
  const said = await app.command("/task add build Mine gold");
  expect(said.outcome).toBe("failed");
  expect(said.text).toContain("not on our machines");
  expect(said.text).toContain("before-task-create");
  await waits(app);
  expect(refusals(app, { hook: "task:create" })).toBe(1);
  expect((await app.command("/task list all")).data.total).toBe(0);
});

it("a warning and a violation that are refused are said by nobody, once each, and the clock shows by whom and why", async () => {
  const app = await started({
    sla: {
      after_start: "0s",
      policies: [{ id: "calls", for: "task", match: 'entity.title == "Call them"', target: "2h", warn_at: ["50%"] }],
    },
  });
  refuse(app.folder, { hook: "quality:sla", has: "", reason: "we know" });
  const id = await added("/task add person:web:2 Call them")(app);
  const refused = (count: number) => until(() => refusals(app, { hook: "quality:sla" }) === count, `${count} refusals`);
  const shown = async () => (await app.command(`/sla show ${id}`)).data.clocks[0].announcements;
  await until(async () => (await app.command(`/sla show ${id}`)).data.clocks?.length === 1, "its clock");
  app.clock.leap(1.2 * HOUR);
  await refused(1);
  app.clock.leap(HOUR);
  await refused(2);
  await waits(app);
  await refused(2);
  const vetoed = { status: "vetoed", by: expect.stringContaining("before-quality-sla"), reason: "we know" };
  await until(async () => (await shown()).length === 2, "both being kept");
  expect(await shown()).toMatchObject([
    { ...vetoed, news: "warning" },
    { ...vetoed, news: "violated" },
  ]);
  expect((await app.command(`/sla show ${id}`)).text).toContain("we know");
  expect((await app.command("/alerts all")).data.alerts ?? []).toEqual([]);
  expect(watched(app.folder, "quality:sla", "after")).toEqual([]);
});

it("a tick that is refused keeps everything from starting, says so in chat, and is asked anew by the next one; a stop is not refused", async () => {
  const app = await started();
  refuse(
    app.folder,
    { hook: "orchestrator:tick", has: "", reason: "change freeze" },
    { hook: "orchestrator:shutdown", has: "", reason: "I want to live" },
  );
  await waits(app);
  const id = await added("/task add build Do it")(app);
  await waits(app);
  expect((await task(app, id)).state).toBe("pending");
  const { text } = await app.command("/task list");
  expect(text).toContain("change freeze");
  expect(text).toContain("before-orchestrator-tick");
  refuse(app.folder, { hook: "orchestrator:shutdown", has: "", reason: "I want to live" });
  await until(async () => (await task(app, id)).state === "done", "it being done");
  await app.stop();
  expect(watched(app.folder, "orchestrator:shutdown").map(({ phase }) => phase)).toEqual(["before", "after"]);
});

it("a mission that is cancelled says which of its tasks a hook does not let go of; nobody asks again", async () => {
  const app = await started();
  await app.say("/mission run plain-for-bob");
  const id = await until(async () => (await app.command("/mission list")).data.missions[0]?.id, "the mission");
  const { one } = (await app.command(`/mission show ${id}`)).data.taskIds;
  await until(async () => (await task(app, one)).state === "assigned", "it being given to somebody");
  refuse(app.folder, { hook: "task:transition", has: '"to":"cancelled"', reason: "it was promised" });
  await app.command(`/mission cancel ${id} no budget`);
  const { data, text } = await until(async () => {
    const shown = await app.command(`/mission show ${id}`);
    return shown.data.status === "cancelled" && shown;
  }, "it being cancelled");
  expect(data.reason).toMatch(
    /^cancelled by .*: no budget; one goes on: .*before-task-transition refused \(it was promised\)$/,
  );
  expect(text).toContain("it was promised");
  const room = async () => JSON.stringify(await app.room());
  await until(async () => (await room()).includes("Some of its tasks go on"), "the card");
  expect(await room()).not.toContain("it was promised");
  await waits(app);
  expect(refusals(app, { hook: "task:transition" })).toBe(1);
  expect((await task(app, one)).state).toBe("assigned");
  expect((await app.command(`/task done ${one}`, "bob")).outcome).toBe("done");
}, 120_000);

it.each(["mission:execute", "task:create", "task:transition"])(
  "a run of a hook whose mission is refused at %s has failed with who and why, and notifies; a schedule shows it, too",
  async (point) => {
    const guard = {
      id: "no-fridays",
      on: point,
      phase: "before",
      execution: "blocking",
      match: point === "task:transition" ? { when: 'payload.to == "pending"' } : undefined,
      run: { shell: { sh: "echo 'never on a Friday' >&2; exit 2" } },
    };
    const nightly = {
      id: "nightly",
      trigger: "manual",
      run: { mission: { plan: "hourly" } },
      notify: { to: ["web:web:general"] },
    };
    const app = await started({ hooks: [guard, nightly] });
    await app.command("/fire-hook nightly live=true");
    const run = await until(async () => {
      const { data } = await app.command("/runs nightly");
      return (data.runs as { id: string; status: string }[]).find(({ status }) => status !== "running");
    }, "the run having ended");
    const { data, text } = await app.command(`/run ${run.id}`);
    expect(data).toMatchObject({ status: "failed" });
    expect(text).toContain("no-fridays refused");
    expect(text).toContain("never on a Friday");
    await until(
      async () => (await app.room()).some((message) => /nightly failed[\s\S]*never on a Friday/.test(message.text)),
      "the room being notified",
    );
    app.clock.leap(HOUR);
    await until(
      async () => /blocked.*no-fridays refused.*never on a Friday/.test((await app.command("/schedule list")).text),
      "the schedule showing it",
    );
  },
  60_000,
);

it("a run of a hook whose task is refused has failed with who and why, and its handler is not run", async () => {
  const make = { create_task: { title: "Mine gold", to: "build" } };
  const maker = (id: string, step: object) => ({
    id,
    trigger: "manual",
    context: [step],
    run: { chat: { to: "web:web:general", text: `${id} made {{ steps[0].id }}` } },
    notify: { to: ["web:web:general"] },
  });
  const app = await started({
    hooks: [maker("strict", make), maker("lenient", { create_task: { ...make.create_task, required: false } })],
  });
  refuse(app.folder, { hook: "task:create", has: "Mine gold", reason: "not on our machines" });
  await app.command("/fire-hook lenient live=true");
  await app.command("/fire-hook strict live=true");
  const notified = async () => (await app.room()).find(({ text }) => text.includes("strict failed"));
  const { text } = await until(notified, "the room being notified");
  expect(text).toContain("not on our machines");
  const said = () => app.room().then((room) => room.map((message) => message.text));
  await until(async () => (await said()).some((one) => one.startsWith("lenient made")), "the lenient hook going on");
  expect((await said()).some((one) => one.startsWith("strict made"))).toBe(false);
});
