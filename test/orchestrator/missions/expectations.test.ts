/** Work that programs and servers look at, through the started app; conditions, files and models are in the tests beside this one. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { missionApp } from "../mission-app.js";

let folder = "";
const site = createServer((_, response) => {
  const isUp = readFileSync(join(folder, "out"), "utf8").includes("v2");
  response.writeHead(isUp ? 200 : 503).end(isUp ? "all up" : "starting");
});
beforeAll(() => new Promise<void>((done) => site.listen(0, "127.0.0.1", done)));
afterAll(() => void site.close());

it("a program's exit code and output and a server's answer judge work; what they found is told to the next attempt", async () => {
  const { port } = site.address() as AddressInfo;
  const app = await missionApp(
    {
      checked: {
        groups: [
          {
            name: "only",
            tasks: [
              {
                id: "make",
                assignTo: "maker",
                retryPolicy: { maxRetries: 1 },
                expectations: [
                  { name: "tool", command: ["/bin/sh", "check.sh"], exit: 3, contains: "whole" },
                  { name: "words", sh: "cat out", matches: "^v2" },
                  { name: "site", http: `http://127.0.0.1:${port}/health`, contains: "up" },
                ],
              },
            ],
          },
        ],
      },
    },
    {
      runners: {
        maker: { shell: { sh: 'echo "$HOOKGATE_TASK_FEEDBACK" >> told; echo "v$HOOKGATE_TASK_ATTEMPT" > out' } },
      },
    },
  );
  folder = app.folder;
  // The task is on its standard input.
  app.write("check.sh", "cat > task.json; grep -q v2 out || { echo half; exit 4; }; echo whole; exit 3");
  const done = await app.reaches(await app.run("checked"), "done", "failed");
  expect(done).toMatchObject({ status: "done", tasks: [{ attempt: 2, retries: 1 }] });
  expect(app.lines("told")).toEqual([
    'tool: it exited with 4, not with 3; its answer is "half"',
    'words: its output does not match /^v2/; it is "v1"',
    'site: it answered 503, not 2xx; its answer is "starting"',
  ]);
  const { assessment } = (await app.command(`/task show ${done.taskIds.make}`)).data;
  expect(assessment).toMatchObject({ passed: true, globalScore: 1 });
  expect(assessment.checks.map(({ name, kind, passed }: Record<string, unknown>) => [name, kind, passed])).toEqual([
    ["tool", "command", true],
    ["words", "sh", true],
    ["site", "http", true],
  ]);
  expect(JSON.parse(readFileSync(join(folder, "task.json"), "utf8"))).toMatchObject({
    id: done.taskIds.make,
    attempt: 2,
  });
}, 120_000);

it.each([
  {
    passed: false,
    expectation: "true",
    expected: "a hook at assessment:complete set the result to failed (score 100 %)",
  },
  {
    passed: true,
    expectation: "false",
    expected: "a hook at assessment:complete set the result to passed (score 0 %)",
  },
])(
  "a result that a hook sets to $passed is shown as the hook's and not as that of the work",
  async ({ passed, expectation, expected }) => {
    const app = await missionApp(
      {
        changed: {
          groups: [{ name: "only", tasks: [{ id: "make", assignTo: "maker", expectations: [{ when: expectation }] }] }],
        },
      },
      {
        runners: { maker: { shell: { sh: "true" } } },
        plugin: `api.hooks.register({ hook: "assessment:complete", phase: "before", id: "strict", handler: ({ data }) => { data.passed = ${passed}; } });`,
      },
    );
    const { taskIds } = await app.reaches(await app.run("changed"), "done", "failed");
    expect((await app.command(`/task show ${taskIds.make}`)).text).toContain(expected);
  },
);
