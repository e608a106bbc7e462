/** What missions have to do with the rest of the product: hooks that begin them, clocks that watch them, a stop in the middle. */
import { LLMock } from "@copilotkit/aimock";
import { expect, it } from "vitest";
import { until } from "../../support/until.js";
import { missionApp } from "../mission-app.js";

const NOTE = { shell: { sh: 'echo "$HOOKGATE_TASK_TITLE" >> done; test ! -e bad' } };

it("a hook begins a mission, shown where the event was; a hook that its own missions start again is cut", async () => {
  const app = await missionApp(
    { answer: { title: "An answer", groups: [{ name: "only", tasks: [{ id: "one", assignTo: "note" }] }] } },
    {
      runners: { note: NOTE },
      config: {
        hooks: [
          {
            id: "on-call",
            on: "message_received",
            match: { when: 'payload.message.text == "help"' },
            execution: "background",
            run: { mission: { plan: "answer", at: "here" } },
          },
          {
            id: "again",
            on: "mission:complete",
            phase: "after",
            execution: "background",
            match: {
              when: 'payload.mission.createdBy == "web:1 (Owner)" || payload.mission.createdBy == "hook:again"',
            },
            run: { mission: { plan: "answer" } },
          },
        ],
      },
    },
  );
  await app.say("help");
  const { data } = await until(async () => {
    const list = await app.command("/mission list");
    return list.data.missions[0]?.status === "done" && list;
  }, "the mission being done");
  expect(data.missions).toMatchObject([{ createdBy: "hook:on-call", planId: "answer" }]);
  await until(async () => (await app.room()).some(({ text }) => text.includes("Mission An answer: done")), "its card");

  await app.run("answer");
  const cut = await until(async () => {
    const { data: runs } = await app.command("/runs again");
    return runs.runs?.find(({ status }: { status: string }) => status === "skipped");
  }, "its own mission starting it again");
  expect(cut.statusReason).toContain("loop");
  expect((await app.command("/mission list")).data.total).toBe(3);
});

it("a clock watches a mission by its deadline: warned, violated, and met when it ends in time", async () => {
  const app = await missionApp(
    {
      dated: {
        title: "Dated",
        deadline: "4h",
        groups: [{ name: "a", tasks: [{ id: "one", assignTo: "note" }], gate: { name: "ok" } }],
      },
    },
    {
      runners: { note: NOTE },
      config: { sla: { policies: [{ id: "in-time", for: "mission", warn_at: ["50%"] }] } },
      plugin: `
        const { appendFileSync } = process.getBuiltinModule("node:fs");
        api.hooks.register({ hook: "quality:sla", phase: "after", id: "sees", handler: (ctx) =>
          appendFileSync(new URL("./sla", import.meta.url), [ctx.data.entityType, ctx.data.status].join(" ") + "\\n") });`,
    },
  );
  app.write("bad", "");
  const id = await app.run("dated");
  await app.reaches(id, "held");
  app.clock.leap(2 * 3_600_000 + 60_000);
  await until(() => app.lines("sla").length === 1, "the warning");
  app.clock.leap(2 * 3_600_000);
  await until(() => app.lines("sla").length === 2, "the violation");
  expect(app.lines("sla")).toEqual(["mission warning", "mission violated"]);

  const { rmSync } = await import("node:fs");
  rmSync(`${app.folder}/bad`);
  await app.reaches(await app.run("dated"), "done");
  await until(() => app.lines("sla").length === 3, "the second one being met");
  expect(app.lines("sla")[2]).toBe("mission met");
});

it("a mission goes on after a stop where it was, and one that is held stays held without being asked about again", async () => {
  const app = await missionApp(
    {
      three: {
        groups: ["a", "b", "c"].map((name) => ({
          name,
          tasks: [{ id: name, assignTo: "slow", retryPolicy: { maxRetries: 5 } }],
        })),
      },
      held: { groups: [{ name: "a", tasks: [{ id: "x", assignTo: "note" }], gate: { name: "ok" } }] },
    },
    {
      runners: {
        note: NOTE,
        slow: { shell: { sh: 'echo "$HOOKGATE_TASK_TITLE" >> order; while [ ! -e go ]; do sleep 0.05; done' } },
      },
      plugin: `
        const { appendFileSync } = process.getBuiltinModule("node:fs");
        api.hooks.register({ hook: "quality:gate", phase: "before", id: "sees", handler: () => appendFileSync(new URL("./gates", import.meta.url), "asked\\n") });`,
      orchestrator: { shutdown_timeout: "1s" },
    },
  );
  app.write("bad", "");
  const held = await app.run("held");
  await app.reaches(held, "held");
  const id = await app.run("three");
  await until(() => app.lines("order").length === 1, "the first task");
  await app.stop();
  await app.start();
  await until(() => app.lines("order").length === 2, "the first task once more");
  app.write("go", "");
  expect(await app.reaches(id, "done", "failed")).toMatchObject({ status: "done" });
  expect(app.lines("order")).toEqual(["a", "a", "b", "c"]);
  expect(await app.reaches(held, "held")).toMatchObject({ gates: [{ verdict: "held", changes: 1 }] });
  expect(app.lines("gates")).toEqual(["asked"]);
});

it("a model judges by a rubric; what it found missing is told to the next attempt, and its scores are in the report", async () => {
  const judge = new LLMock({ port: 0 });
  await judge.start();
  try {
    const app = await missionApp(
      {
        letter: {
          groups: [
            {
              name: "only",
              tasks: [
                {
                  id: "write",
                  assignTo: "writer",
                  retryPolicy: { maxRetries: 3 },
                  expectations: [{ judge: "Is it polite?" }],
                },
              ],
              gate: { name: "polite", minScore: 0.8 },
            },
          ],
        },
      },
      {
        runners: {
          writer: {
            shell: {
              sh: 'echo "[$HOOKGATE_TASK_FEEDBACK]" >> told; test -n "$HOOKGATE_TASK_FEEDBACK" && echo Dear friend || echo Hey you',
            },
          },
        },
        config: {
          models: {
            available: { judge: { provider: "openai-compatible", url: `${judge.url}/v1`, model: "m", retries: 0 } },
          },
        },
      },
    );
    const scored = (words: RegExp, score: number, reason: string) =>
      judge.on(
        { userMessage: words, predicate: ({ messages }) => !messages.some(({ role }) => role === "tool") },
        { toolCalls: [{ name: "give_score", arguments: { score, reason } }] },
      );
    scored(/Hey you/, 0.2, "Begin with a greeting.");
    scored(/Dear friend/, 0.9, "Good.");
    judge.onMessage(/./, { content: "Done." });
    const id = await app.run("letter");
    expect(await app.reaches(id, "done", "failed", "held")).toMatchObject({
      status: "done",
      gates: [{ avgScore: 0.9 }],
    });
    expect(app.lines("told")).toEqual(["[]", "[judge: 0.20 of 0.70: Begin with a greeting.]"]);
    expect((await app.command(`/mission report ${id}`)).data).toMatchObject({
      avgScore: 0.9,
      retries: 1,
      tasks: [{ score: 0.9, attempts: 2 }],
    });
  } finally {
    await judge.stop();
  }
});

it("a vetoed assessment leaves the work in review and the mission waiting, until a person says done", async () => {
  const app = await missionApp(
    {
      plain: {
        groups: [
          { name: "a", tasks: [{ id: "one", assignTo: "note", expectations: [{ file: "nowhere" }] }] },
          { name: "b", tasks: [{ id: "two", assignTo: "note" }] },
        ],
      },
    },
    {
      runners: { note: NOTE },
      plugin: `
        const { appendFileSync } = process.getBuiltinModule("node:fs");
        api.hooks.register({ hook: "assessment:run", phase: "before", id: "by-hand", handler(ctx) { appendFileSync(new URL("./asked", import.meta.url), "asked\\n"); ctx.cancel("judged by hand today"); } });`,
    },
  );
  const id = await app.run("plain");
  const waiting = await app.reaches(id, "held");
  expect(waiting).toMatchObject({
    reason: "one: judged by hand today",
    tasks: [{ status: "review" }, { status: "draft" }],
  });
  app.clock.leap(60_000);
  await app.reaches(id, "held");
  expect(app.lines("asked")).toEqual(["asked"]);
  expect(await app.command(`/task accept ${waiting.taskIds.one}`)).toMatchObject({ outcome: "done" });
  expect(await app.reaches(id, "done", "failed")).toMatchObject({
    status: "done",
    tasks: [{ status: "done" }, { status: "done" }],
  });
});

it("programs drive missions, gates and schedules over /api/v1, with the roles of the commands", async () => {
  const app = await missionApp(
    { plain: { groups: [{ name: "a", tasks: [{ id: "one", assignTo: "note" }], gate: { name: "ok" } }] } },
    { runners: { note: NOTE } },
  );
  app.write("bad", "");
  const api = app.api;
  const begun = await api("POST", "/missions", { plan: "plain" });
  expect(begun).toMatchObject({ status: 200, body: { planId: "plain", gates: [{ name: "ok" }] } });
  const { id } = begun.body;
  await app.reaches(id, "held");
  expect((await api("GET", "/missions?filter=open")).body).toMatchObject({
    missions: [{ id, status: "held" }],
    total: 1,
  });
  expect((await api("GET", `/missions/${id}`)).body).toMatchObject({ tasks: [{ title: "one", status: "failed" }] });
  expect((await api("GET", "/gates")).body).toMatchObject({ gates: [{ missionId: id, name: "ok", verdict: "held" }] });
  const release = (by: "owner" | "bob") => api("POST", `/missions/${id}/gates/ok/release`, { reason: "it may" }, by);
  expect(await release("bob")).toMatchObject({ status: 403 });
  expect(await release("owner")).toMatchObject({ status: 200, body: { gate: { released: { reason: "it may" } } } });
  await app.reaches(id, "done");
  expect((await api("GET", `/missions/${id}/report`)).body).toMatchObject({ status: "done", counts: { failed: 1 } });
  expect(await api("POST", `/missions/${id}/cancel`)).toMatchObject({ status: 409 });
  expect(await api("GET", "/missions/m_nothing")).toMatchObject({ status: 404 });
  const cron = { plan: "plain", cron: "0 9 * * *", timezone: "UTC" };
  expect(await api("POST", "/schedules", cron)).toMatchObject({ status: 200, body: { id: "plain" } });
  expect((await api("POST", "/schedules/plain/run")).body).toMatchObject({ kind: "started" });
  expect((await api("POST", "/schedules/plain/pause")).body).toMatchObject({ paused: { by: "web:1 (Owner)" } });
  expect((await api("POST", "/schedules/plain/remove")).body).toEqual({ id: "plain", removed: true });
  expect((await api("GET", "/schedules")).body).toEqual({ schedules: [] });
});
