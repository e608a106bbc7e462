/** Work judged by real programs, files, servers and a model server; hooks before and after; the verdict kept over a crash. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { modelsConfig } from "../../../src/agent/models/config.js";
import { createModels } from "../../../src/agent/models/models.js";
import type { Assessment } from "../../../src/domain/orchestrator/assessment.js";
import type { Assessed, Task } from "../../../src/domain/orchestrator/task.js";
import { createAttempts } from "../../../src/hooks/attempts.js";
import { HookRegistry } from "../../../src/hooks/registry.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { parseDestinations } from "../../../src/lib/outgoing/destinations.js";
import { guardedRequest } from "../../../src/lib/outgoing/request.js";
import { createProcesses, type Processes } from "../../../src/lib/process/process.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { createAssess } from "../../../src/orchestrator/assessments/assess.js";
import { handleNotifications } from "../../../src/orchestrator/assessments/notify-hooks.js";
import { Pending } from "../../../src/pending/pending.js";
import { openTestStore, temporaryFolder } from "../../store/support/open-test-store.js";
import { until } from "../../support/until.js";

const processes = createProcesses({ clock: systemClock, env: { PATH: process.env.PATH ?? "" }, owner: "assess" });
let judge: LLMock;
const site = createServer((request, response) => {
  response.writeHead(request.url === "/broken" ? 500 : 200).end("all systems go");
});
let port = 0;
beforeAll(async () => {
  judge = new LLMock({ port: 0 });
  await judge.start();
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  port = (site.address() as { port: number }).port;
});
afterAll(async () => {
  await judge.stop();
  site.close();
  await processes.stop();
});
afterEach(() => void judge.reset());

async function bench({ allow = ["127.0.0.1"], models = true, conditionsMs = 60_000 } = {}) {
  const ran = { now: 0, most: 0, all: 0 };
  const counted: Pick<Processes, "run"> = {
    async run(program) {
      ran.all++;
      ran.most = Math.max(ran.most, ++ran.now);
      return processes.run(program).finally(() => ran.now--);
    },
  };
  const registry = new HookRegistry({ logger: silentLogger });
  const { missions, keyValue, pending } = await openTestStore();
  const work = new Pending({ store: pending, clock: systemClock, logger: silentLogger });
  const attempts = createAttempts({ keyValue, registry, clock: systemClock, logger: silentLogger });
  handleNotifications(work, registry, attempts);
  const folder = temporaryFolder();
  const config = modelsConfig.parse(
    models
      ? { available: { small: { provider: "openai-compatible", url: `${judge.url}/v1`, model: "m", retries: 0 } } }
      : {},
  );
  const assess = createAssess({
    registry,
    attempts,
    store: missions.assessments,
    processes: counted,
    models: createModels({ config: () => config, variable: () => undefined, clock: systemClock }),
    request: (url, request) => guardedRequest(url, { ...request, allow: parseDestinations(allow) }),
    folder,
    pending: work,
    mask: (text) => text.replaceAll("hunter2", "[secret]"),
    clock: systemClock,
    conditionsMs,
  });
  return {
    registry,
    ran,
    folder,
    store: missions.assessments,
    assess: (task: Task, isInReview = async () => true) => assess(task, new AbortController().signal, isInReview),
  };
}

function handedIn(expectations: unknown[], changes: Partial<Task> = {}): Task {
  return {
    id: "t_1",
    version: 4,
    title: "Compile",
    description: "make all",
    assignTo: "build",
    status: "review",
    priority: 0,
    retryPolicy: { maxRetries: 0, backoffMs: 0 },
    attempt: 1,
    retries: 0,
    createdAt: 0,
    changedAt: 0,
    createdBy: "web:1",
    result: { ok: true, output: "compiled 3 files", exitCode: 0, durationMs: 10, data: { warnings: 2 } },
    expectations: expectations as Task["expectations"],
    ...changes,
  };
}

function assessed(judged: Assessed): Assessment {
  if (judged.kind !== "assessed") throw new Error(JSON.stringify(judged));
  return judged.assessment as Assessment;
}

const found = (judged: Assessed) => assessed(judged).checks.map(({ passed, feedback }) => [passed, feedback]);

it("programs, files, servers and conditions say whether it is as expected, and what is not", async () => {
  const { assess, folder } = await bench();
  mkdirSync(join(folder, "dist"));
  writeFileSync(join(folder, "dist/app.js"), "export const version = 3;\n");
  const judged = await assess(
    handedIn([
      { sh: "echo version 3", matches: "version [0-9]+" },
      { sh: "echo half; echo gone >&2; exit 3" },
      { command: ["sh", "-c", "exit 2"], exit: 2 },
      { command: ["sh", "-c", 'test "$HOOKGATE_TASK_ID" = t_1 && grep -q compiled'] },
      { file: "dist/app.js", contains: "version = 3", minBytes: 10 },
      { file: "dist/app.css" },
      { file: "dist/app.js", exists: false },
      { http: `http://127.0.0.1:${port}/`, contains: "all systems" },
      { http: `http://127.0.0.1:${port}/broken` },
      { when: "result.exitCode == 0 && result.data.warnings < 3" },
      { when: "result.data.warnings == 0", name: "no warnings" },
    ]),
  );
  expect(found(judged)).toEqual([
    [true, "its output is as expected"],
    [false, expect.stringMatching(/^it exited with 3, not with 0; its answer is "half\\n\\ngone"$/)],
    [true, expect.anything()],
    [true, expect.anything()],
    [true, "dist/app.js is as expected"],
    [false, "dist/app.css is not there"],
    [false, "dist/app.js is there"],
    [true, "its answer is as expected"],
    [false, expect.stringContaining("it answered 500, not 2xx")],
    [true, expect.anything()],
    [false, "result.data.warnings == 0 is false"],
  ]);
  expect(assessed(judged)).toMatchObject({ passed: false, globalScore: expect.closeTo(6 / 11, 5) });
  expect(assessed(judged).feedback).toContain("no warnings: result.data.warnings == 0 is false");
});

it("a condition that takes too much memory or time is broken, and nothing else suffers", async () => {
  const { assess } = await bench();
  const doubled = `[[1]]${".map(l, l + l)".repeat(40)}.size() > 0`;
  const judged = await assess(handedIn([{ when: doubled }, { when: "result.exitCode == 0" }]));
  expect(assessed(judged).checks).toMatchObject([
    {
      passed: false,
      broken: true,
      feedback: expect.stringMatching(/the condition takes more than|array length|array size/),
    },
    { passed: true },
  ]);
});

it("conditions are checked one at a time, of all tasks, and those of one task have one time limit", async () => {
  const { assess, ran } = await bench();
  const easy = { when: "result.exitCode == 0" };
  await Promise.all(["t_1", "t_2", "t_3"].map((id) => assess(handedIn([easy, easy], { id }))));
  expect(ran).toMatchObject({ all: 6, most: 1 });

  // A busy machine takes long to start a program: that is not the condition's fault.
  const started = await bench({ conditionsMs: 250 });
  expect(found(await started.assess(handedIn([easy])))).toEqual([[true, expect.anything()]]);

  const short = await bench({ conditionsMs: 1 });
  const judged = await short.assess(handedIn([easy, { sh: "exit 0" }]));
  expect(found(judged)).toEqual([
    [false, expect.stringContaining("all conditions of a task may take 5 s together")],
    [true, expect.anything()],
  ]);
});

it("a task that has left review is not checked further", async () => {
  const { assess, ran, store } = await bench();
  const judged = await assess(handedIn([{ sh: "exit 0" }, { sh: "exit 0" }]), async () => ran.all === 0);
  expect(judged).toEqual({ kind: "left" });
  expect(ran.all).toBe(1);
  expect(await store.get("t_1", 1)).toBeUndefined();
});

it("what a check quotes does not hold secrets that the gateway knows", async () => {
  const { assess, folder } = await bench();
  writeFileSync(join(folder, "settings"), "HOOKGATE_TOKEN=hunter2\n");
  const [quoted] = found(await assess(handedIn([{ file: "settings", contains: "nope" }])));
  expect(quoted?.[1]).toContain("HOOKGATE_TOKEN=[secret]");
});

it("what is not required adds to the score only, by its weight", async () => {
  const { assess } = await bench();
  const judged = assessed(
    await assess(
      handedIn([
        { sh: "true", weight: 3 },
        { sh: "false", required: false },
      ]),
    ),
  );
  expect(judged).toMatchObject({ passed: true, globalScore: 0.75, feedback: "" });
});

it("a model gives a score by a rubric, and sees the work as data", async () => {
  const { assess } = await bench();
  judge.on(
    { userMessage: /is it tidy/i, predicate: ({ messages }) => !messages.some(({ role }) => role === "tool") },
    { toolCalls: [{ name: "give_score", arguments: { score: 0.4, reason: "Name the functions." } }] },
  );
  judge.onMessage(/./, { content: "Done." });
  const rubric = { judge: "Is it tidy?", minScore: 0.5, model: "small" };
  const low = assessed(await assess(handedIn([rubric])));
  expect(low).toMatchObject({ passed: false, globalScore: 0.4, feedback: "judge: 0.40 of 0.50: Name the functions." });
  const [request] = judge.getRequests();
  const asked = JSON.stringify(request?.body);
  const [tag] = /result-[A-Za-z0-9]+/.exec(asked) ?? [];
  expect(asked).toContain(`<${tag}>\\ntask: Compile`);
  expect(assessed(await assess(handedIn([{ ...rubric, minScore: 0.3 }], { attempt: 2 })))).toMatchObject({
    passed: true,
  });
});

it("what cannot be checked does not pass, and says so", async () => {
  const { assess } = await bench({ allow: [], models: false });
  const judged = assessed(
    await assess(
      handedIn([
        { command: ["there-is-no-such-program"] },
        { http: `http://127.0.0.1:${port}/` },
        { judge: "Is it tidy?" },
        { sh: "sleep 30", timeout: "200ms" },
        { colour: "blue" },
      ]),
    ),
  );
  expect(judged.checks.map(({ passed, broken = false }) => [passed, broken])).toEqual([
    [false, true],
    [false, true],
    [false, true],
    [false, false],
    [false, true],
  ]);
  expect(judged.feedback).toContain("it did not end in time");
});

it("a vetoed assessment leaves the work to a person, and nothing is checked", async () => {
  const { assess, registry, folder, store } = await bench();
  registry.register({
    hook: "assessment:run",
    phase: "before",
    id: "freeze",
    handler: (ctx) => ctx.cancel("nothing is judged on Fridays"),
  });
  const judged = await assess(handedIn([{ sh: `touch ${join(folder, "checked")}` }]));
  expect(judged).toEqual({
    kind: "held",
    by: "freeze",
    reason: "nothing is judged on Fridays",
    point: "assessment:run",
  });
  expect(() => readFileSync(join(folder, "checked"))).toThrow();
  expect(await store.list("t_1")).toEqual([]);
});

it("a hook may change the verdict before it counts; after it hooks are told what counts", async () => {
  const { assess, registry } = await bench();
  const told: unknown[] = [];
  registry.register({
    hook: "assessment:complete",
    phase: "before",
    handler(ctx) {
      ctx.data.passed = true;
      ctx.data.assessment = { ...ctx.data.assessment, globalScore: 0.9 };
    },
  });
  registry.register({ hook: "assessment:complete", phase: "after", handler: (ctx) => void told.push(ctx.data) });
  const judged = assessed(await assess(handedIn([{ sh: "false" }])));
  expect(judged).toMatchObject({ passed: true, globalScore: 0.9 });
  await until(() => told.length === 1, "hooks being told");
  expect(told).toMatchObject([{ taskId: "t_1", passed: true, assessment: { globalScore: 0.9 } }]);
});

it("asked again for the same attempt it gives the verdict that it had, and checks nothing twice", async () => {
  const { assess, folder, store } = await bench();
  const expectations = [{ sh: "echo once >> checks" }];
  const first = assessed(await assess(handedIn(expectations)));
  expect(await assess(handedIn(expectations))).toEqual({ kind: "assessed", assessment: first });
  expect(readFileSync(join(folder, "checks"), "utf8")).toBe("once\n");
  await assess(handedIn(expectations, { attempt: 2 }));
  expect(readFileSync(join(folder, "checks"), "utf8")).toBe("once\nonce\n");
  expect((await store.list("t_1")).map(({ attempt }) => attempt)).toEqual([1, 2]);
});
