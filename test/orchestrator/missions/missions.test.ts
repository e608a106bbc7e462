/** Missions through the started app: plans from files, programs that really run, gates, vetoes, reports; commands as people give them. */
import { expect, it } from "vitest";
import { until } from "../../support/until.js";
import { type MissionApp, missionApp } from "../mission-app.js";

/** Notes who began and who ended; fails while there is a file of that name. */
const NOTE = {
  shell: {
    sh: 'echo "+$HOOKGATE_TASK_TITLE" >> order; sleep 0.1; echo "-$HOOKGATE_TASK_TITLE" >> order; echo "::file out/$HOOKGATE_TASK_TITLE"; test ! -e "bad-$HOOKGATE_TASK_TITLE"',
  },
  concurrency: 4,
};
const task = (id: string, more: object = {}) => ({ id, assignTo: "note", ...more });
const LOG = `
import("node:fs").then(() => {});
const { appendFileSync } = process.getBuiltinModule("node:fs");
const log = (line) => appendFileSync(new URL("./hooks.log", import.meta.url), line + "\\n");
const both = (hook, say) => { for (const phase of ["before", "after"]) api.hooks.register({ hook, phase, id: hook.replace(":", "-") + "-" + phase, handler: (ctx) => log([hook, phase, say(ctx.data)].join(" ")) }); };
both("mission:execute", (data) => data.taskCount);
both("mission:complete", (data) => data.allPassed + " " + data.report.status);
both("quality:gate", (data) => data.gateName + " " + data.verdict);
both("assessment:run", (data) => data.task.title);
both("assessment:complete", (data) => data.task.title + " " + data.passed);
`;
const told = (app: MissionApp, point: string) => app.lines("hooks.log").filter((line) => line.startsWith(point));

it("groups go one after the other and tasks by what they wait for; the report says how it went, and hooks hear of it", async () => {
  const app = await missionApp(
    {
      nightly: {
        title: "Nightly build",
        groups: [
          {
            name: "make",
            tasks: [
              task("compile", { expectations: [{ when: "result.exitCode == 0" }] }),
              task("test", { dependsOn: ["compile"] }),
            ],
            gate: { name: "quality", minScore: 0.9 },
          },
          { name: "ship", tasks: [task("deploy")] },
        ],
      },
    },
    { runners: { note: NOTE }, plugin: LOG },
  );
  const { data } = await app.command("/mission plans");
  expect(data.plans).toEqual([{ id: "nightly", title: "Nightly build" }]);
  const id = await app.run("nightly");
  const done = await app.reaches(id, "done", "failed");
  expect(done).toMatchObject({
    status: "done",
    groups: [
      { name: "make", status: "passed" },
      { name: "ship", status: "passed" },
    ],
    gates: [{ name: "quality", verdict: "passed", changes: 1, avgScore: 1, allPassed: true }],
  });
  expect(app.lines("order")).toEqual(["+compile", "-compile", "+test", "-test", "+deploy", "-deploy"]);

  const { data: report, text } = await app.command(`/mission report ${id}`);
  expect(report).toMatchObject({
    status: "done",
    allPassed: true,
    avgScore: 1,
    retries: 0,
    counts: { done: 3 },
    files: ["out/compile", "out/test", "out/deploy"],
    tasks: [
      { name: "compile", group: "make", status: "done", attempts: 1, score: 1 },
      { name: "test", group: "make", status: "done", attempts: 1 },
      { name: "deploy", group: "ship", status: "done", attempts: 1 },
    ],
  });
  expect(report.workMs).toBeGreaterThan(200);
  expect(report.durationMs).toBeGreaterThanOrEqual(report.workMs - 1);
  expect(text).toContain("score 1.00");
  await until(() => told(app, "mission:complete").length === 2, "the completion being told");
  expect(app.lines("hooks.log").filter((line) => line.includes(" before "))).toEqual([
    "mission:execute before 3",
    "assessment:run before compile",
    "assessment:complete before compile true",
    "quality:gate before quality passed",
    "mission:complete before true done",
  ]);
  expect(app.lines("hooks.log").filter((line) => line.includes(" after "))).toHaveLength(5);
});

it("work that is not as expected is done again with what was found, up to maxRetries", async () => {
  const app = await missionApp(
    {
      careful: {
        groups: [
          {
            name: "only",
            tasks: [
              task("write", {
                assignTo: "writer",
                retryPolicy: { maxRetries: 2 },
                expectations: [{ file: "text", contains: "third" }],
              }),
            ],
          },
        ],
      },
      careless: {
        groups: [
          {
            name: "only",
            tasks: [
              task("write", {
                assignTo: "writer",
                retryPolicy: { maxRetries: 1 },
                expectations: [{ file: "nothing" }],
              }),
            ],
          },
        ],
      },
    },
    {
      runners: {
        writer: {
          shell: {
            sh: 'echo "[$HOOKGATE_TASK_FEEDBACK]" >> feedback; case $HOOKGATE_TASK_ATTEMPT in 1) echo first;; 2) echo second;; *) echo third;; esac > text',
          },
        },
      },
    },
  );
  const good = await app.reaches(await app.run("careful"), "done", "failed");
  expect(good).toMatchObject({ status: "done", tasks: [{ status: "done", attempt: 3, retries: 2 }] });
  expect(app.lines("feedback")).toEqual([
    "[]",
    '[file text: text does not contain "third"; it is "first"]',
    '[file text: text does not contain "third"; it is "second"]',
  ]);
  const id = await app.run("careless");
  const bad = await app.reaches(id, "done", "failed");
  expect(bad).toMatchObject({ status: "failed", tasks: [{ status: "failed", attempt: 2, retries: 1 }] });
  const { data: report, text } = await app.command(`/mission report ${id}`);
  expect(report).toMatchObject({ allPassed: false, retries: 1, avgScore: 0, counts: { failed: 1 } });
  expect(text).toContain("nothing is not there");
});

it("a gate that holds is asked about once; a retried task opens it, and the verdict's change is told", async () => {
  const app = await missionApp(
    {
      gated: {
        groups: [
          { name: "make", tasks: [task("one"), task("two")], gate: { name: "all", allPassed: true } },
          { name: "ship", tasks: [task("deploy")] },
        ],
      },
    },
    { runners: { note: NOTE }, plugin: LOG },
  );
  app.write("bad-two", "");
  const id = await app.run("gated");
  const held = await app.reaches(id, "held", "done", "failed");
  expect(held).toMatchObject({
    status: "held",
    gates: [{ verdict: "held", changes: 1, reason: "not done: two (failed)" }],
  });
  app.clock.leap(60_000);
  const { data: shut, text } = await app.command("/gate list");
  expect(shut.gates).toMatchObject([{ missionId: id, name: "all", verdict: "held" }]);
  expect(text).toContain("not done: two");

  app.write("bad-two", "");
  await app.command(`/task retry ${held.taskIds.two}`);
  // Its last line comes before its end.
  await until(async () => {
    const { attempt, status } = (await app.command(`/task show ${held.taskIds.two}`)).data;
    return attempt === 2 && status === "failed";
  }, "the second try");
  await app.reaches(id, "held");
  expect(told(app, "quality:gate before")).toEqual(["quality:gate before all held"]);

  const { rmSync } = await import("node:fs");
  rmSync(`${app.folder}/bad-two`);
  await app.command(`/task retry ${held.taskIds.two}`);
  expect(await app.reaches(id, "done", "failed")).toMatchObject({
    status: "done",
    gates: [{ verdict: "passed", changes: 2 }],
  });
  expect(told(app, "quality:gate before")).toEqual(["quality:gate before all held", "quality:gate before all passed"]);
});

it("an admin lets a held gate open with a reason; an operator may not, and nobody without a reason", async () => {
  const app = await missionApp(
    {
      gated: {
        groups: [
          { name: "make", tasks: [task("one")], gate: { name: "all" } },
          { name: "ship", tasks: [task("deploy")] },
        ],
      },
    },
    { runners: { note: NOTE } },
  );
  app.write("bad-one", "");
  const id = await app.run("gated");
  const { deploy } = (await app.reaches(id, "held")).taskIds;
  // There is no way around it: what is behind it is not begun by hand.
  expect((await app.command(`/task start ${deploy}`)).text).toContain('the group "ship" is not open');
  expect(app.lines("order")).not.toContain("+deploy");
  expect(await app.command(`/gate release ${id} all it is late`, "bob")).toMatchObject({ outcome: "refused" });
  expect((await app.command(`/gate release ${id} all`)).text).toContain("Missing: why it may open");
  expect((await app.command(`/gate release ${id} al because`)).text).toContain('Did you mean "all"');
  const released = await app.command(`/gate release ${id} all the customer waits`);
  expect(released).toMatchObject({
    outcome: "done",
    data: { gate: { released: { by: "web:1 (Owner)", reason: "the customer waits" } } },
  });
  expect(await app.reaches(id, "done", "failed")).toMatchObject({ status: "done" });
  const { data: report } = await app.command(`/mission report ${id}`);
  expect(report).toMatchObject({
    allPassed: false,
    counts: { failed: 1, done: 1 },
    gates: [{ released: { reason: "the customer waits" } }],
  });
  expect((await app.command(`/gate release ${id} all again`)).text).toContain("is done.");

  // Nor when its mission is over, and it never had its turn.
  const other = await app.run("gated");
  const { deploy: never } = (await app.reaches(other, "held")).taskIds;
  await app.command(`/mission cancel ${other}`);
  await app.reaches(other, "cancelled");
  expect((await app.command(`/task retry ${never}`)).text).toContain('the group "ship" is not open');
  expect(app.lines("order").filter((line) => line === "+deploy")).toHaveLength(1);
});

it("every veto of a mission is a state that people see, is asked once, and is asked again by command", async () => {
  const app = await missionApp(
    {
      plain: {
        groups: [
          { name: "only", tasks: [task("one")], gate: { name: "all" } },
          { name: "then", tasks: [task("two")] },
        ],
      },
    },
    {
      runners: { note: NOTE },
      plugin: `
        const { appendFileSync, existsSync } = process.getBuiltinModule("node:fs");
        const here = (name) => new URL("./" + name, import.meta.url);
        for (const hook of ["mission:execute", "task:create", "quality:gate", "mission:complete"])
          api.hooks.register({ hook, phase: "before", id: "no-" + hook.replace(":", "-"), handler: (ctx) => {
            appendFileSync(here("asked"), hook + "\\n");
            if (existsSync(here("no-" + hook))) ctx.cancel("not now: " + hook);
          } });
        api.hooks.register({ hook: "quality:gate", phase: "after", id: "gates", handler: () => appendFileSync(here("told"), "gate\\n") });`,
    },
  );
  const points = ["mission:execute", "task:create", "quality:gate", "mission:complete"];
  for (const point of points) app.write(`no-${point}`, "");
  const { rmSync } = await import("node:fs");
  const allow = (point: string) => rmSync(`${app.folder}/no-${point}`);
  const asked = (point: string) => app.lines("asked").filter((line) => line === point).length;

  const started = await app.command("/mission run plain");
  const id = started.data.id;
  expect(started.text).toMatch(
    /does not start: `of-the-test\.no-mission-execute` vetoed `mission:execute` \(not now: mission:execute\)/,
  );
  expect(await app.reaches(id, "blocked")).toMatchObject({
    hold: { point: "mission:execute", by: "of-the-test.no-mission-execute", reason: "not now: mission:execute" },
  });
  app.clock.leap(120_000);
  await app.reaches(id, "blocked");
  expect(asked("mission:execute")).toBe(1);
  expect((await app.command(`/mission show ${id}`)).text).toContain("not now: mission:execute");

  allow("mission:execute");
  await app.command(`/mission retry ${id}`);
  await until(async () => (await app.reaches(id, "blocked")).hold.point === "task:create", "the next veto");
  expect((await app.reaches(id, "blocked")).hold).toMatchObject({
    by: "of-the-test.no-task-create",
    reason: "one: not now: task:create",
  });
  allow("task:create");
  await app.command(`/mission retry ${id}`);
  expect(await app.reaches(id, "held")).toMatchObject({
    gates: [{ verdict: "passed", veto: { by: "of-the-test.no-quality-gate", reason: "not now: quality:gate" } }],
  });
  app.clock.leap(120_000);
  await app.reaches(id, "held");
  expect(asked("quality:gate")).toBe(1);
  await app.command(`/gate release ${id} all checked by hand`);
  expect(await app.reaches(id, "blocked")).toMatchObject({ hold: { point: "mission:complete" } });
  allow("mission:complete");
  await app.command(`/mission retry ${id}`);
  expect(await app.reaches(id, "done", "failed")).toMatchObject({ status: "done" });
  expect((await app.command(`/mission retry ${id}`)).text).toContain("is done.");
  // That the gate opened by its verdict is told to nobody: a hook kept it shut, and a person let it open.
  expect(app.lines("told")).toEqual([]);
});

it("what an owner's runner said is for owners, also when its task has gone to somebody else", async () => {
  const app = await missionApp(
    { plain: { groups: [{ name: "a", tasks: [task("one", { assignTo: "owners" })] }] } },
    {
      runners: {
        note: NOTE,
        owners: { shell: { sh: "echo ::file theirs.zip; echo theirs >&2; exit 3" }, role: "owner" },
      },
    },
  );
  const id = await app.run("plain");
  const { taskIds } = await app.reaches(id, "failed");
  await app.command(`/task assign ${taskIds.one} note`);
  for (const what of ["show", "report"]) {
    expect(JSON.stringify(await app.command(`/mission ${what} ${id}`))).toContain("theirs");
    const toBob = await app.command(`/mission ${what} ${id}`, "bob");
    expect(toBob.outcome).toBe("done");
    expect(JSON.stringify(toBob)).not.toContain("theirs");
  }
});

it("what is behind an owner's check begins when it has passed or an owner says so, not on an admin's word", async () => {
  const owners = (id: string) => task(id, { assignTo: id });
  const app = await missionApp(
    {
      guarded: {
        groups: [
          { name: "before", tasks: [owners("check")], gate: { name: "checked" } },
          { name: "after", tasks: [owners("deploy")] },
        ],
      },
      open: {
        groups: [
          { name: "before", tasks: [task("bad")], gate: { name: "checked" } },
          { name: "after", tasks: [owners("deploy")] },
        ],
      },
      staged: {
        groups: [
          { name: "before", tasks: [task("bad")], gate: { name: "checked" } },
          { name: "between", tasks: [task("bad2", { title: "bad" })], gate: { name: "staged" } },
          { name: "after", tasks: [owners("deploy")] },
        ],
      },
    },
    {
      runners: {
        note: NOTE,
        check: { shell: { sh: "exit 3" }, role: "owner" },
        deploy: { shell: { sh: "echo deployed >> order" }, role: "owner" },
      },
      config: { operators: { admin: ["web:2"] } },
    },
  );
  const id = await app.run("guarded");
  const { check, deploy } = (await app.reaches(id, "held")).taskIds;
  for (const line of [
    `/gate release ${id} checked looks fine`,
    `/task retry ${check}`,
    `/task assign ${check} note`,
    `/task assign ${deploy} note`,
    `/task start ${deploy}`,
  ])
    expect([line, await app.command(line, "bob")]).toMatchObject([
      line,
      { outcome: "refused", text: expect.stringContaining("That needs the role owner; yours is admin.") },
    ]);
  const released = await app.api("POST", `/missions/${id}/gates/checked/release`, { reason: "looks fine" }, "bob");
  expect(released.status).toBe(403);
  expect((await app.reaches(id, "held")).gates).toMatchObject([{ verdict: "held" }]);
  expect(app.lines("order")).toEqual([]);
  await app.command(`/gate release ${id} checked looks fine`);
  await app.reaches(id, "done", "failed");
  expect(app.lines("order")).toEqual(["deployed"]);

  // Their word starts no program of an owner behind the gate of others' work.
  app.write("bad-bad", "");
  const other = await app.run("open");
  await app.reaches(other, "held");
  expect(await app.command(`/gate release ${other} checked looks fine`, "bob")).toMatchObject({
    outcome: "refused",
    text: expect.stringContaining("That needs the role owner; yours is admin."),
  });
  // A gate between work that admins may give is theirs to open.
  const staged = await app.run("staged");
  await app.reaches(staged, "held");
  expect((await app.command(`/gate release ${staged} checked looks fine`, "bob")).outcome).toBe("done");
  expect(app.lines("order").filter((line) => line === "deployed")).toHaveLength(1);
});

it("a cancelled mission ends what runs of it, leaves nothing behind, and reports", async () => {
  const app = await missionApp(
    {
      long: {
        groups: [
          { name: "a", tasks: [task("sleep", { assignTo: "sleeper" })] },
          { name: "b", tasks: [task("never")] },
        ],
      },
    },
    {
      runners: { note: NOTE, sleeper: { shell: { sh: "echo began >> began; sleep 120; echo ended >> ended" } } },
      orchestrator: { shutdown_timeout: "5m" },
      plugin: LOG,
    },
  );
  const id = await app.run("long");
  await until(() => app.lines("began").length === 1, "the program having begun");
  expect(await app.command(`/mission cancel ${id} no longer wanted`)).toMatchObject({ outcome: "done" });
  expect(await app.reaches(id, "cancelled")).toMatchObject({
    reason: "cancelled by web:1 (Owner): no longer wanted",
    tasks: [{ status: "cancelled" }, { status: "cancelled" }],
  });
  expect((await app.command(`/mission report ${id}`)).data).toMatchObject({
    status: "cancelled",
    counts: { cancelled: 2 },
  });
  await until(() => told(app, "mission:complete after").length === 1, "the end being told");
  expect(told(app, "mission:complete before")).toEqual([]);
  const before = Date.now();
  await app.stop();
  // Well below the minutes that a stop would let runs end: nothing runs any more.
  expect(Date.now() - before).toBeLessThan(40_000);
  expect(app.lines("ended")).toEqual([]);
});

it("a failed group without a gate ends the mission, and what waited for it never begins", async () => {
  const app = await missionApp(
    {
      chain: {
        groups: [
          { name: "a", tasks: [task("one"), task("two", { dependsOn: ["one"] })] },
          { name: "b", tasks: [task("three")] },
          { name: "beside", after: [], tasks: [task("four")] },
        ],
      },
    },
    { runners: { note: NOTE } },
  );
  app.write("bad-one", "");
  const failed = await app.reaches(await app.run("chain"), "done", "failed");
  expect(failed).toMatchObject({
    status: "failed",
    groups: [{ status: "failed" }, { status: "failed" }, { status: "passed" }],
  });
  expect(
    Object.fromEntries(failed.tasks.map(({ title, status }: { title: string; status: string }) => [title, status])),
  ).toEqual({
    one: "failed",
    two: "cancelled",
    three: "cancelled",
    four: "done",
  });
  expect(app.lines("order")).not.toContain("+three");
});

it("a hook may change the plan before it begins; a plan that cannot be carried out is refused", async () => {
  const app = await missionApp(
    { plain: { groups: [{ name: "only", tasks: [task("one")] }] } },
    {
      runners: { note: NOTE },
      plugin: `
        api.hooks.register({ hook: "mission:execute", phase: "before", id: "adds", handler: (ctx) => {
          ctx.data.mission.title = "Changed";
          ctx.data.mission.plan.groups.push({ name: "more", tasks: [{ id: "two", assignTo: process.getBuiltinModule("node:fs").existsSync(new URL("./bad", import.meta.url)) ? "nobody" : "note" }] });
        } });`,
    },
  );
  expect(await app.reaches(await app.run("plain"), "done", "failed")).toMatchObject({
    status: "done",
    title: "Changed",
    tasks: [{ title: "one" }, { title: "two" }],
  });
  app.write("bad", "");
  const blocked = await app.reaches(await app.run("plain"), "blocked");
  expect(blocked.hold).toMatchObject({ point: "mission:execute", reason: expect.stringContaining('"nobody"') });
});

it("a plan that is broken begins nothing, and its problems are told with their lines", async () => {
  const app = await missionApp({}, { runners: { note: NOTE } });
  app.write(
    "missions/broken.yaml",
    "groups:\n  - name: a\n    tasks:\n      - { id: x, assignTo: noet }\n      - { id: y, assignTo: note, dependsOn: [z] }\n",
  );
  const refused = await app.command("/mission run broken");
  expect(refused.text).toContain("broken.yaml:4:28");
  expect(refused.text).toContain("broken.yaml:5:46");
  expect((await app.command("/mission list")).data).toMatchObject({ missions: [] });
  expect((await app.command("/mission plans")).text).toContain("**broken**");
});

it("a mission that a person begins in a room is one card there that is edited until it is over", async () => {
  const app = await missionApp(
    { plain: { title: "Small thing", groups: [{ name: "only", tasks: [task("one")] }] } },
    { runners: { note: NOTE } },
  );
  await app.say("/mission run plain");
  const card = () => app.room().then((messages) => messages.filter(({ text }) => text.includes("Mission Small thing")));
  await until(async () => (await card()).some(({ text }) => text.includes("Small thing: done")), "the card being done");
  expect(await card()).toHaveLength(1);
  expect((await card())[0]?.text).toContain("1 of 1");
});

it("a mission's card that an operator purged is not sent again, by a change or by a restart", async () => {
  const app = await missionApp(
    { plain: { title: "Small thing", groups: [{ name: "only", tasks: [task("one", { assignTo: "person:web:1" })] }] } },
    {
      plugin: `
        const { existsSync } = process.getBuiltinModule("node:fs");
        api.hooks.registerModifying("message_sending", ({ message }) =>
          JSON.stringify(message).includes("Mission Small thing") && !existsSync(new URL("./open", import.meta.url)) ? { cancel: true } : null);`,
    },
  );
  await app.say("/mission run plain");
  const id = await until(async () => (await app.command("/mission list")).data.missions[0]?.id, "the mission");
  const shown = () => app.command(`/outbox show d_mission_${id}`);
  await until(async () => (await shown()).text.includes("cancelled"), "its card being cancelled");
  await app.command(`/outbox purge d_mission_${id} yes=true`);
  app.write("open", "");
  await app.stop();
  await app.start();
  await app.command(`/mission cancel ${id}`);
  await app.reaches(id, "cancelled");
  await app.stop();
  await app.start();
  expect((await app.room()).filter(({ text }) => text.includes("Mission Small thing"))).toEqual([]);
  expect((await shown()).text).toContain(`d_mission_${id} was purged by`);
}, 120_000);
