/** Whether a plan can be carried out: its form, and the meaning of its names. Reports all problems at once, also when the form is wrong. */
import { z } from "zod";
import type { Role } from "../../domain/chat/identity.js";
import { expectation } from "../../domain/orchestrator/expectation.js";
import { gateSpec, type Plan, plan, planGroup, planTask } from "../../domain/orchestrator/plan.js";
import { errorMessage } from "../../lib/errors.js";
import { shellMarkProblems } from "../../lib/process/argument-list.js";
import { cronProblem } from "../../lib/time/cron.js";
import { localTimezone } from "../../lib/time/timezone.js";
import { PLAIN } from "../../lib/validation/plain-issues.js";
import { type Issue, issuesOf, suggestion } from "../../lib/validation/schema-issues.js";
import { compileExpectation } from "../assessments/checks/compile-when.js";
import { judgeProblem } from "../assessments/problem.js";
import { compileGate } from "../quality-gates/compile-gate.js";
import { cycleIn } from "./cycle.js";

/** The names that plans may use. */
export interface PlanSurroundings {
  /** Why this name cannot be given work; undefined when it can. */
  assigneeProblem(assignTo: string): string | undefined;
  /** The role that may give work to this assignee and read its output. */
  roleFor(assignTo: string): Role;
  models: readonly string[];
}

export type CheckedPlan = { plan: Plan } | { issues: Issue[] };

export function checkPlan(value: unknown, around: PlanSurroundings): CheckedPlan {
  const form = plan.safeParse(value, PLAIN);
  const issues = form.success ? [] : issuesOf(form.error, [], keysAt);
  const seen = loose.parse(value);
  issues.push(...nameIssues(seen), ...orderIssues(seen), ...conditionIssues(seen), ...assigneeIssues(seen, around));
  issues.push(...modelIssues(seen, around), ...scheduleIssues(seen));
  return form.success && issues.length === 0 ? { plan: form.data } : { issues };
}

/* ── what can be read of a plan whose form may be wrong ────────────────────────────────────────────────────────── */

const word = z.string().optional().catch(undefined);
const words = z.array(z.string()).optional().catch(undefined);
const looseTask = z
  .object({ id: word, assignTo: word, dependsOn: words, expectations: z.array(z.unknown()).catch([]).default([]) })
  .catch({ expectations: [] });
const looseGroup = z
  .object({
    name: word,
    after: words,
    tasks: z.array(looseTask).catch([]).default([]),
    gate: z.object({ name: word, when: word }).optional().catch(undefined),
  })
  .catch({ tasks: [] });
const loose = z
  .object({
    schedule: z
      .union([z.string(), z.object({ cron: z.string(), timezone: word })])
      .optional()
      .catch(undefined),
    defaults: z.object({ assignTo: word }).optional().catch(undefined),
    groups: z.array(looseGroup).catch([]).default([]),
  })
  .catch({ groups: [] });
type Seen = z.output<typeof loose>;

const keysOf = (schema: z.ZodObject) => Object.keys(schema.shape);

function keysAt(path: readonly (string | number)[]): string[] {
  const at = path.filter((step) => typeof step === "string").join(".");
  if (at === "") return keysOf(plan);
  if (at === "groups") return keysOf(planGroup);
  if (at === "groups.gate") return keysOf(gateSpec);
  return at === "groups.tasks" ? keysOf(planTask) : [];
}

const allTasks = ({ groups }: Seen) =>
  groups.flatMap((group, g) =>
    group.tasks.map((task, t) => ({ task, group, path: ["groups", g, "tasks", t] as const })),
  );

function nameIssues(seen: Seen): Issue[] {
  const groups = seen.groups.map(({ name }, g) => ({ name, path: ["groups", g, "name"] }));
  const gates = seen.groups.map(({ gate }, g) => ({ name: gate?.name, path: ["groups", g, "gate", "name"] }));
  const tasks = allTasks(seen).map(({ task, path }) => ({ name: task.id, path: [...path, "id"] }));
  return [...twice("group", groups), ...twice("gate", gates), ...twice("task", tasks)];
}

function twice(what: string, named: readonly { name: string | undefined; path: (string | number)[] }[]): Issue[] {
  const taken = new Set<string>();
  return named.flatMap(({ name, path }) => {
    if (name === undefined || !taken.has(name)) {
      if (name !== undefined) taken.add(name);
      return [];
    }
    return [{ path, message: `there is another ${what} "${name}"` }];
  });
}

/* ── order ─────────────────────────────────────────────────────────────────────────────────────────────────────── */

function orderIssues(seen: Seen): Issue[] {
  const before = new Map(
    seen.groups.flatMap(({ name, after }, g) => {
      const previous = seen.groups[g - 1]?.name;
      return name === undefined ? [] : [[name, after ?? (previous === undefined ? [] : [previous])] as const];
    }),
  );
  const unknownGroups = seen.groups.flatMap(({ after = [] }, g) =>
    after.flatMap((name, i) =>
      before.has(name)
        ? []
        : [
            {
              path: ["groups", g, "after", i],
              message: `there is no group "${name}"${suggestion(name, [...before.keys()])}`,
            },
          ],
    ),
  );
  const groupCycle = cycleIn(before);
  const cycles = groupCycle
    ? [{ path: ["groups"], message: `these groups wait for each other: ${groupCycle.join(" → ")}` }]
    : [];
  return [...unknownGroups, ...cycles, ...dependencyIssues(seen, groupCycle ? undefined : before)];
}

/** `before`: the order of groups; absent when they have none. */
function dependencyIssues(seen: Seen, before: ReadonlyMap<string, readonly string[]> | undefined): Issue[] {
  const tasks = allTasks(seen);
  const groupOf = new Map(
    tasks.flatMap(({ task, group }) => (task.id === undefined ? [] : [[task.id, group.name] as const])),
  );
  const needs = new Map(
    tasks.flatMap(({ task }) => (task.id === undefined ? [] : [[task.id, task.dependsOn ?? []] as const])),
  );
  const issues = tasks.flatMap(({ task, group, path }) =>
    (task.dependsOn ?? []).flatMap((name, i): Issue[] => {
      const at = [...path, "dependsOn", i];
      if (!needs.has(name))
        return [{ path: at, message: `there is no task "${name}"${suggestion(name, [...needs.keys()])}` }];
      const other = groupOf.get(name);
      if (before === undefined || other === undefined || group.name === undefined || other === group.name) return [];
      if (isBehind(group.name, other, before)) return [];
      return [
        {
          path: at,
          message: `"${name}" is in the group "${other}", which is not before "${group.name}": it may never be done in time`,
        },
      ];
    }),
  );
  const cycle = cycleIn(needs);
  if (cycle) issues.push({ path: ["groups"], message: `these tasks wait for each other: ${cycle.join(" → ")}` });
  return issues;
}

function isBehind(group: string, other: string, before: ReadonlyMap<string, readonly string[]>): boolean {
  return (before.get(group) ?? []).some((name) => name === other || isBehind(name, other, before));
}

/* ── what is named ─────────────────────────────────────────────────────────────────────────────────────────────── */

function conditionIssues(seen: Seen): Issue[] {
  const gates = seen.groups.flatMap(({ gate }, g) =>
    gate?.when === undefined ? [] : refusal(() => compileGate(gate.when as string), ["groups", g, "gate", "when"]),
  );
  const expected = allTasks(seen).flatMap(({ task, path }) =>
    task.expectations.flatMap((one, e) => {
      const { data } = expectation.safeParse(one);
      if (data !== undefined && "command" in data)
        return shellMarkProblems(data.command, "command").map(
          ({ index, message }): Issue => ({ path: [...path, "expectations", e, "command", index], message }),
        );
      if (data === undefined || !("when" in data)) return [];
      return refusal(() => compileExpectation(data.when), [...path, "expectations", e, "when"]);
    }),
  );
  return [...gates, ...expected];
}

function refusal(compile: () => unknown, path: (string | number)[]): Issue[] {
  try {
    compile();
    return [];
  } catch (error) {
    return [{ path, message: errorMessage(error) }];
  }
}

function assigneeIssues(seen: Seen, { assigneeProblem }: PlanSurroundings): Issue[] {
  const usual = seen.defaults?.assignTo;
  const ofDefault = usual === undefined ? undefined : assigneeProblem(usual);
  const issues = allTasks(seen).flatMap(({ task, path }): Issue[] => {
    if (task.assignTo === undefined)
      return usual === undefined
        ? [{ path: [...path], message: "it has no assignee: give it assignTo, or the plan defaults.assignTo" }]
        : [];
    const problem = assigneeProblem(task.assignTo);
    return problem === undefined ? [] : [{ path: [...path, "assignTo"], message: problem }];
  });
  return ofDefault === undefined ? issues : [{ path: ["defaults", "assignTo"], message: ofDefault }, ...issues];
}

function modelIssues(seen: Seen, { models }: PlanSurroundings): Issue[] {
  return allTasks(seen).flatMap(({ task, path }) =>
    task.expectations.flatMap((one, e): Issue[] => {
      const { data } = expectation.safeParse(one);
      if (data === undefined || !("judge" in data)) return [];
      const message = judgeProblem(data.model, models);
      return message === undefined ? [] : [{ path: [...path, "expectations", e], message }];
    }),
  );
}

function scheduleIssues({ schedule }: Seen): Issue[] {
  if (schedule === undefined) return [];
  const cron = typeof schedule === "string" ? schedule : schedule.cron;
  const timezone = (typeof schedule === "string" ? undefined : schedule.timezone) ?? localTimezone();
  const problem = cronProblem({ cron: cron.trim(), timezone });
  return problem === undefined ? [] : [{ path: ["schedule"], message: problem }];
}
