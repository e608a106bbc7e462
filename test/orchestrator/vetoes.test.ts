/** Hooks at every point of a task: what they are told, what they refuse, and that a refusal is seen and not asked for again and again. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { catalogue } from "../../src/hooks/catalogue/index.js";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";
import { calls, GUARD_PLUGIN, rule } from "./support/guard-plugin.js";
import { type TaskedApp, taskedApp, waysOf } from "./support/tasked-app.js";

const guarded = (runners: Record<string, unknown>, more: Record<string, unknown> = {}) =>
  taskedApp({ plugin: GUARD_PLUGIN, orchestrator: { tick: "50ms", runners, ...more } });
const sh = (line: string) => ({ shell: { sh: line } });
const of = (app: TaskedApp, hook: string, phase: "before" | "after") =>
  calls(app.folder).filter((call) => call.hook === hook && call.phase === phase);
const ticks = (app: TaskedApp) => of(app, "orchestrator:tick", "before").length;
/** Long enough for anything that would be asked again. */
const threeTicks = async (app: TaskedApp) => {
  const now = ticks(app);
  await until(() => ticks(app) >= now + 3, "three ticks");
};

describe("hooks at the points of a task", () => {
  it("are told of every step, with payloads as the catalogue has them", async () => {
    const app = await guarded({ flaky: sh("[ -e may ] || { touch may; exit 1; }") });
    const id = await app.add("/task add flaky Try retries=1");
    await app.becomes(id, "done");
    await until(() => of(app, "task:complete", "after").length === 1, "task:complete being told");
    await app.stop();
    const all = calls(app.folder);
    const count = (hook: string, phase: string) =>
      all.filter((call) => call.hook === hook && call.phase === phase).length;
    expect(count("task:create", "before")).toBe(1);
    expect(count("task:create", "after")).toBe(1);
    expect(count("task:spawn", "before")).toBe(2);
    expect(count("task:spawn", "after")).toBe(2);
    expect(count("task:retry", "before")).toBe(1);
    expect(count("task:retry", "after")).toBe(1);
    expect(count("task:transition", "before")).toBe(6);
    expect(count("task:transition", "after")).toBe(6);
    expect(count("task:complete", "before")).toBe(1);
    expect(count("task:fail", "after")).toBe(0);
    expect(count("orchestrator:shutdown", "before")).toBe(1);
    expect(count("orchestrator:shutdown", "after")).toBe(1);
    expect(new Set(all.map(({ dispatchId, phase, hook }) => `${hook} ${phase} ${dispatchId}`)).size).toBe(all.length);
    for (const { hook, data } of all) {
      const point = catalogue.find(({ name }) => name === hook);
      expect(point?.payload.safeParse(data).error, hook).toBeUndefined();
    }
    expect(of(app, "task:retry", "before")[0]?.data).toMatchObject({ attempt: 1, maxRetries: 1 });
  });

  it("may change what is created, and stop it", async () => {
    const app = await guarded({ a: sh("true"), b: sh("true") });
    rule(app.folder, { "task:create": { assignTo: "b", title: "Renamed" } });
    const id = await app.add("/task add a Something");
    expect(await app.becomes(id, "done")).toMatchObject({ title: "Renamed", assignTo: "b" });
    rule(app.folder, { "task:create": "too short" });
    const said = await app.command("/task add a Something");
    expect(said.outcome).toBe("failed");
    expect(said.text).toMatch(/guard.*refused \(too short\)/);
    expect((await app.command("/task list all")).data.total).toBe(1);
  });

  it.each([
    [{ deadline: "yesterday" }, /deadline: .*expected a time/],
    [{ deadline: 1_000 }, /deadline: 1970-01-01T00:00:01.000Z is in the past/],
    [{ assignTo: "nobody-here" }, /assignTo: There is no runner or person "nobody-here"/],
    [{ retryPolicy: { maxRetris: 2, backoffMs: 100 } }, /retryPolicy: unknown field "maxRetris"/],
    [{ expectations: [{ fil: "dist/app.js" }] }, /expectations\.0: expected exactly one of command, sh, file/],
    [{ expectations: [{ file: "a", minByte: 1 }] }, /expectations\.0: unknown field "minByte"/],
    [{ dependsOn: ["t_m999"] }, /dependsOn: there is no task "t\\_m999"/],
  ])(
    "have failed when they make the task %j: it is created without that, and the hook's run says why",
    async (change, why) => {
      const app = await guarded({ a: sh("true") });
      rule(app.folder, { "task:create": { title: "Renamed", ...change } });
      const id = await app.add("/task add a Something");
      expect(await app.becomes(id, "done")).toMatchObject({ title: "Something", assignTo: "a" });
      // The journal may show it a moment later.
      await until(
        async () => /✗ failed.* · `guard\.before-task-c/.test((await app.command("/runs task:create")).text),
        "the run in the list",
      );
      const run = (await app.command(`/run ${id}:task:create`)).text;
      expect(run).toContain("guard.before-task-create");
      expect(run).toMatch(why);
      expect((await app.command("/hooks show guard.before-task-create")).text).toContain("1 failure");
    },
  );

  it("have failed when they give a result a field that it does not have: the task keeps the runner's", async () => {
    const app = await guarded({ a: sh("echo fine") });
    const changed = { ok: true, output: "rewritten", outptu: "rewritten", exitCode: 0, durationMs: 1 };
    rule(app.folder, { "task:complete": { result: changed } });
    const id = await app.add("/task add a Something");
    expect((await app.becomes(id, "done")).result).toMatchObject({ output: "fine\n" });
    expect((await app.command("/hooks show guard.before-task-complete")).text).toContain("1 failure");
  });

  it("stop the task that a fail-closed one or its fallback made invalid, and are named", async () => {
    const app = await taskedApp({
      orchestrator: { runners: { a: sh("true") } },
      plugin: `export default { id: "strict", setup({ hooks }) {
        hooks.register({ hook: "task:create", phase: "before", id: "closed", failurePolicy: "fail-closed", handler({ data }) {
          if (data.title === "closed") data.assignTo = "nobody-here";
          if (data.title === "stores") data.input = { keep: 1, parts: new Map([["a", 1]]) };
          if (data.title === "expects") data.expectations = [{ fil: "dist/app.js" }];
        } });
        hooks.register({ hook: "task:create", phase: "before", id: "falls", failurePolicy: "fallback", fallback: { dependsOn: ["t_m999"] },
          handler({ data }) { if (data.title === "falls") throw new Error("it broke"); } });
      } };`,
    });
    expect((await app.command("/task add a closed")).text).toMatch(
      /not created: strict\.closed refused .*assignTo: There is no runner or person "nobody-here"/,
    );
    expect((await app.command("/task add a expects")).text).toMatch(
      /not created: strict\.closed refused .*expectations\.0: expected exactly one of command, sh, file/,
    );
    expect((await app.command("/task add a stores")).text).toMatch(
      /not created: strict\.closed refused .*input\.parts: expected a plain object, got a Map/,
    );
    expect((await app.command("/task add a falls")).text).toMatch(
      /not created: strict\.falls refused .*fallback was refused.*there is no task "t_m999"/,
    );
    expect((await app.command("/task list all")).data.total).toBe(0);
  });

  it("have failed, where they are configured, when the change that they ask for makes no task", async () => {
    const app = await taskedApp({
      orchestrator: { runners: { a: sh("true") } },
      config: {
        hooks: [
          {
            id: "to-nobody",
            on: "task:create",
            phase: "before",
            run: { shell: { sh: `echo '{"decision":"modify","patch":{"assignTo":"nobody-here"}}'` } },
          },
        ],
      },
    });
    const id = await app.add("/task add a Something");
    expect(await app.becomes(id, "done")).toMatchObject({ assignTo: "a" });
    expect((await app.command("/runs to-nobody")).text).toContain("failed");
    await until(
      async () =>
        /to-nobody.*no runner or person "nobody-here"/.test((await app.command(`/run ${id}:task:create`)).text),
      "the dispatch in the journal",
    );
  });

  it.each([
    ["task:spawn", "assigned", "in_progress"],
    ["task:transition>assigned", "pending", "assigned"],
    ["task:transition>done", "in_progress", "done"],
    ["task:complete", "in_progress", "done"],
    ["task:fail", "in_progress", "failed"],
  ])(
    "refuse at %s: the task is blocked, and is not asked again until a person wants it",
    async (point, from, wanted) => {
      const app = await guarded({ work: sh(`echo run >> runs; ${wanted === "failed" ? "exit 1" : "true"}`) });
      rule(app.folder, { [point]: "not today" });
      const id = await app.add("/task add work Do it");
      const task = await app.becomes(id, "blocked");
      expect(task.hold).toMatchObject({
        kind: "veto",
        reason: "not today",
        wanted,
        by: expect.stringContaining("guard"),
      });
      expect(waysOf(task).at(-1)).toBe(`${from}>blocked`);
      const { text } = await app.command(`/task show ${id}`);
      if (point === "task:spawn") expect(text).toContain("attempt 1, not started");
      else expect(text).not.toContain("not started");
      const hook = point.split(">")[0] as string;
      const asked = of(app, hook, "before").length;
      await threeTicks(app);
      expect(of(app, hook, "before").length).toBe(asked);
      expect((await app.task(id)).status).toBe("blocked");

      // Asked for again, refused again: it stays, and whoever asked is told.
      if (hook === "task:complete" || hook === "task:fail") {
        const again = await app.command(`/task retry ${id}`);
        expect(again.outcome).toBe("failed");
        expect(again.text).toContain("not today");
        expect((await app.task(id)).status).toBe("blocked");
      }
      rule(app.folder, {});
      expect((await app.command(`/task retry ${id}`)).outcome).toBe("done");
      await app.becomes(id, wanted === "failed" ? "failed" : "done");
      // What had run was not run again for the sake of a signature.
      expect(linesOf(join(app.folder, "runs"))).toHaveLength(1);
    },
  );

  it("that refuse a retry make it fail, with who and why", async () => {
    const app = await guarded({ work: sh("echo run >> runs; exit 1") });
    rule(app.folder, { "task:retry": "no money" });
    const id = await app.add("/task add work Do it retries=3");
    const task = await app.becomes(id, "failed");
    expect(task.reason).toMatch(/^the program exited with 1; not done again: .*guard.* refused \(no money\)$/);
    await threeTicks(app);
    expect(linesOf(join(app.folder, "runs"))).toHaveLength(1);
    const again = await app.command(`/task retry ${id}`);
    expect(again).toMatchObject({ outcome: "failed" });
    expect(again.text).toContain("no money");
  });

  it("refuse a person's request: the task stays as it is, and the refusal is in its history", async () => {
    const app = await guarded({});
    rule(app.folder, { "task:transition>cancelled": "it was promised" });
    const id = await app.add("/add-task Call the customer");
    await app.becomes(id, "assigned");
    const said = await app.command(`/task cancel ${id}`);
    expect(said.outcome).toBe("failed");
    expect(said.text).toContain("it was promised");
    const task = await app.task(id);
    expect(task.status).toBe("assigned");
    expect(task.history.at(-1)).toMatchObject({ kind: "refused", reason: "it was promised" });
  });

  it("may change what a task is done with, and why it failed", async () => {
    const app = await guarded({ yes: sh("echo plain"), no: sh("exit 1") });
    rule(app.folder, {
      "task:complete": { result: { ok: true, output: "signed", durationMs: 1 } },
      "task:fail": { reason: "in other words" },
    });
    const yes = await app.add("/task add yes Do it");
    const no = await app.add("/task add no Do it");
    expect((await app.becomes(yes, "done")).result).toMatchObject({ output: "signed" });
    expect((await app.becomes(no, "failed")).reason).toBe("in other words");
  });

  it("at the tick keep everything from starting, and /task list says so", async () => {
    const app = await guarded({ work: sh("touch ran") });
    rule(app.folder, { "orchestrator:tick": "change freeze" });
    await threeTicks(app);
    const id = await app.add("/task add work Do it");
    await threeTicks(app);
    expect((await app.task(id)).status).toBe("pending");
    expect((await app.command("/task list")).text).toContain("change freeze");
    expect(existsSync(join(app.folder, "ran"))).toBe(false);
    rule(app.folder, {});
    await app.becomes(id, "done");
    await until(() => of(app, "orchestrator:tick", "before").at(-1)?.data.done === 1, "the tick counting it");
  });

  it("are told of what a stop cuts off, before anything is closed; the next start starts it again, as the same run", async () => {
    const work = sh("echo $HOOKGATE_RUN_ID >> runs; [ -e go ] || sleep 60");
    const app = await guarded({ work }, { shutdown_timeout: "100ms" });
    const id = await app.add("/task add work Do it");
    const runs = () => linesOf(join(app.folder, "runs"));
    await until(() => runs().length === 1, "the program running");
    await app.stop();
    expect(of(app, "task:retry", "after").map(({ data }) => data.taskId)).toEqual([id]);
    const order = calls(app.folder).map(({ hook, phase }) => `${hook} ${phase}`);
    expect(order.indexOf("orchestrator:shutdown before")).toBeLessThan(order.indexOf("task:retry before"));
    expect(order.at(-1)).toBe("orchestrator:shutdown after");
    writeFileSync(join(app.folder, "go"), "");
    await app.start();
    const task = await app.becomes(id, "done");
    expect(task).toMatchObject({ attempt: 2, retries: 0 });
    expect(task.history.find(({ from, to }) => from === "in_progress" && to === "pending")).toMatchObject({
      by: "runner:work",
      reason: "interrupted: the gateway stopped while it ran; it is started again",
    });
    expect(runs()).toHaveLength(2);
    expect(new Set(runs()).size).toBe(1);
    expect(of(app, "task:fail", "before")).toEqual([]);
  });

  it("that do not let what a stop cut off be started again leave it blocked, with who and why", async () => {
    const app = await guarded({ work: sh("touch began; [ -e go ] || sleep 60") }, { shutdown_timeout: "100ms" });
    const id = await app.add("/task add work Do it");
    await until(() => existsSync(join(app.folder, "began")), "the program running");
    rule(app.folder, { "task:retry": "it may have half a table in it" });
    await app.stop();
    writeFileSync(join(app.folder, "go"), "");
    await app.start();
    const hold = { kind: "veto", point: "task:retry", reason: "it may have half a table in it", wanted: "pending" };
    expect(await app.task(id)).toMatchObject({ status: "blocked", hold });
    rule(app.folder, {});
    await app.command(`/task retry ${id}`);
    await app.becomes(id, "done");
  });

  it("may be told by its runner that what a stop cuts off waits for a person", async () => {
    const pay = { ...sh("touch began; sleep 60"), on_interrupt: "hold" };
    const app = await guarded({ pay }, { shutdown_timeout: "100ms" });
    const id = await app.add("/task add pay Do it retries=3");
    await until(() => existsSync(join(app.folder, "began")), "the program running");
    await app.stop();
    await app.start();
    await threeTicks(app);
    const task = await app.task(id);
    expect(task).toMatchObject({ status: "blocked", attempt: 1, hold: { kind: "interruption" } });
    expect(task.reason).toMatch(/^interrupted: the gateway stopped while it ran, and pay does nothing twice/);
    expect((await app.command(`/task done ${id} it was paid`)).outcome).toBe("done");
    expect((await app.task(id)).status).toBe("done");
  });
});
