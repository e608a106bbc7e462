/** Mission plans as people write them: what is wrong is told all at once, with its lines. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import { cycleIn } from "../../../src/orchestrator/missions/cycle.js";
import { createPlans, type PlanFile, parsePlan } from "../../../src/orchestrator/missions/plans.js";

const AROUND = {
  assigneeProblem: (name: string) =>
    ["build", "person:web:1"].includes(name) ? undefined : `there is nobody "${name}"`,
  roleFor: () => "operator" as const,
  models: ["small"],
};
const read = (text: string) => parsePlan(text, "/plans/nightly.yaml", AROUND);
const problems = (file: PlanFile) =>
  "problems" in file ? file.problems.map(({ line, message }) => [line, message]) : [];

const GOOD = `
title: Nightly
deadline: 4h
schedule: { cron: "0 3 * * *", timezone: Europe/Berlin }
defaults: { assignTo: build, maxDuration: 10m, retryPolicy: { maxRetries: 2, backoff: 5s } }
groups:
  - name: make
    tasks:
      - { id: compile, expectations: [{ file: dist/app.js, minBytes: 1 }, { when: "result.exitCode == 0" }] }
      - { id: lint, dependsOn: [compile], expectations: [{ judge: Is it clean?, model: small }] }
    gate: { name: quality, minScore: 0.8, when: "gate.avgScore > 0.5 && gate.tasks.size() == 2" }
  - name: ship
    tasks: [{ id: deploy, dependsOn: [lint], assignTo: "person:web:1" }]
`;

it("a plan that is right is read whole, from YAML and from JSON alike", () => {
  const yaml = read(GOOD);
  expect(problems(yaml)).toEqual([]);
  if (!("plan" in yaml)) throw new Error("unreachable");
  expect(yaml.plan.groups.map(({ tasks }) => tasks.map(({ id }) => id))).toEqual([["compile", "lint"], ["deploy"]]);
  const json = parsePlan(JSON.stringify(yaml.plan, null, 2), "/plans/nightly.json", AROUND);
  expect(json).toMatchObject({ id: "nightly", plan: yaml.plan });
});

it("a deadline that no clock takes is refused", () => {
  const withDeadline = (deadline: string) => read(GOOD.replace("deadline: 4h", `deadline: "${deadline}"`));
  const refusal = [[3, expect.stringContaining("of at most 36525d, or a time before the year 2200")]];
  for (const late of ["36526d", "2200-01-02T00:00:00Z"]) expect(problems(withDeadline(late))).toEqual(refusal);
  for (const last of ["36525d", "2199-12-31T00:00:00Z"]) expect(problems(withDeadline(last))).toEqual([]);
});

it("everything that is wrong is told at once, each with its line, as one reads the file", () => {
  const file = read(`titel: Nightly
schedule: "99 * * * *"
groups:
  - name: make
    tasks:
      - { id: compile, assignTo: biuld }
      - { id: compile, assignTo: build, dependsOn: [lnt] }
      - id: lint
        assignTo: build
        depends_on: [compile]
        expectations:
          - { when: "result.exitCode ==" }
          - { judge: Is it clean?, model: big }
          - { file: a, http: "http://example.com" }
          - { command: [npm, test, "|", tee, log] }
    gate: { name: quality, minScore: 2, when: "gate.avgScore + 1" }
  - name: ship
    after: [mak]
    tasks:
      - { id: deploy, maxDuration: 30 minutes }
`);
  expect(problems(file)).toEqual([
    [1, 'unknown setting "titel" (did you mean "title"?)'],
    [2, expect.stringContaining('"99 * * * *" is no cron expression')],
    [6, 'there is nobody "biuld"'],
    [7, 'there is another task "compile"'],
    [7, 'there is no task "lnt" (did you mean "lint"?)'],
    [10, 'unknown setting "depends_on" (did you mean "dependsOn"?)'],
    [12, expect.stringContaining("when:")],
    [13, 'there is no model "big" (there is small)'],
    [14, expect.stringContaining("expected exactly one of")],
    [15, expect.stringContaining('write ["/bin/sh", "-c", "npm test | tee log"]')],
    [16, "expected at most 1, got 2"],
    [16, expect.stringContaining("not yes or no")],
    [18, 'there is no group "mak" (did you mean "make"?)'],
    [20, expect.stringContaining("it has no assignee")],
    [20, expect.stringContaining('expected a duration such as 10s, 5m or 1h30m, got "30 minutes": write "30m"')],
  ]);
});

it("work that waits for itself, or for what comes after it, is refused", () => {
  const plan = (groups: string) =>
    problems(read(`defaults: { assignTo: build }\ngroups:\n${groups}`)).map(([, text]) => text);
  expect(
    plan("  - { name: a, tasks: [{ id: x, dependsOn: [y] }, { id: y, dependsOn: [z] }, { id: z, dependsOn: [x] }] }"),
  ).toEqual(["these tasks wait for each other: x → y → z → x"]);
  expect(
    plan("  - { name: a, after: [b], tasks: [{ id: x }] }\n  - { name: b, after: [a], tasks: [{ id: y }] }"),
  ).toEqual(["these groups wait for each other: a → b → a"]);
  expect(plan("  - { name: a, tasks: [{ id: x, dependsOn: [y] }] }\n  - { name: b, tasks: [{ id: y }] }")).toEqual([
    '"y" is in the group "b", which is not before "a": it may never be done in time',
  ]);
  expect(
    plan("  - { name: a, tasks: [{ id: x }] }\n  - { name: b, after: [], tasks: [{ id: y, dependsOn: [x] }] }"),
  ).toHaveLength(1);
});

it("a cycle is found exactly when there is one", () => {
  const graph = fc.array(fc.tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 7 })), { maxLength: 14 });
  fc.assert(
    fc.property(graph, (edges) => {
      const names = Array.from({ length: 8 }, (_, i) => String(i));
      const needs = new Map(
        names.map((name, i) => [name, edges.filter(([from]) => from === i).map(([, to]) => String(to))]),
      );
      // Taking away what waits for nothing that is left, until nothing can be taken, leaves something only if there is a cycle.
      const left = new Set(names);
      for (let taken = true; taken; ) {
        const free = [...left].filter((name) => (needs.get(name) ?? []).every((other) => !left.has(other)));
        taken = free.length > 0;
        for (const name of free) left.delete(name);
      }
      const cycle = cycleIn(needs);
      expect(cycle !== undefined).toBe(left.size > 0);
      for (const [i, name] of (cycle ?? []).slice(0, -1).entries()) expect(needs.get(name)).toContain(cycle?.[i + 1]);
    }),
  );
});

let folder: string | undefined;
afterEach(() => folder && rmSync(folder, { recursive: true, force: true }));

it("plans are the files of a folder: one that is broken stops no other, and two of one id are said", () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-plans-"));
  mkdirSync(join(folder, "not-a-plan"));
  const good = "groups: [{ name: a, tasks: [{ id: x, assignTo: build }] }]";
  for (const [name, text] of Object.entries({
    "a.yaml": `id: first\n${good}`,
    "b.yaml": `id: first\n${good}`,
    "c.yml": "groups: [",
    "d.json": '{"groups":[{"name":"a","tasks":[{"id":"x","assignTo":"build"}]}]}',
    "notes.txt": "no plan",
  }))
    writeFileSync(join(folder, name), text);
  const plans = createPlans(folder, AROUND);
  expect(plans.list().map((file) => [file.id, "plan" in file])).toEqual([
    ["first", true],
    ["b.yaml", false],
    ["c", false],
    ["d", true],
  ]);
  expect(plans.need("d").groups).toHaveLength(1);
  expect(() => plans.need("frist")).toThrow('There is no plan "frist" (did you mean "first"?)');
  expect(() => plans.need("c")).toThrow(/c\.yml:\d+:\d+ /);
  expect(createPlans(join(folder, "nowhere"), AROUND).list()).toEqual([]);
});
