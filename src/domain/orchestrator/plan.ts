/**
 * A mission's plan as it is written in YAML or JSON: groups of tasks, one after the other unless `after` sets another order, and gates that
 * must open behind a group. The written form is the stored form. src/orchestrator/missions/check-plan.ts checks the meaning of names (of
 * groups, tasks, gates).
 */
import { z } from "zod";
import { parseDuration } from "../../lib/time/duration.js";
import { LATEST_TIME, parseInstant } from "../../lib/time/instant.js";
import { localTimezone, timezone } from "../../lib/time/timezone.js";
import { writtenDeadline, writtenDuration } from "../../lib/validation/config-fields.js";
import { expectation } from "./expectation.js";
import { title } from "./title.js";

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, "expected a name of letters, digits, - _ and . (64 at most)");

/** A hundred years. */
const LONGEST_MS = 36_525 * 86_400_000;
/** `4h` after the start, or a date and time. */
const deadline = z
  .string()
  .refine(
    (text) =>
      (parseDuration(text) ?? LONGEST_MS + 1) <= LONGEST_MS ||
      (parseInstant(text, localTimezone()) ?? Infinity) <= LATEST_TIME,
    "expected a duration such as 4h of at most 36525d, or a time before the year 2200 such as 2026-12-24T18:00:00+01:00",
  );

const retryPolicy = z.strictObject({
  maxRetries: z
    .int()
    .min(0)
    .max(100)
    .describe("How often a failed attempt, or one that was not as expected, is repeated."),
  backoff: writtenDuration().optional().describe("Before the first repetition; it doubles."),
});

const defaults = z.strictObject({
  assignTo: z.string().min(1).optional(),
  maxDuration: writtenDeadline().optional(),
  retryPolicy: retryPolicy.optional(),
  priority: z.int().optional(),
});

export const planTask = z.strictObject({
  id: name.describe("Its name in this plan; others depend on it by this."),
  title: title.optional().describe("The id when absent."),
  description: z.string().max(20_000).optional(),
  assignTo: z.string().min(1).optional().describe("A runner of orchestrator.runners, or person:<platform>:<user id>."),
  expectations: z.array(expectation).max(50).optional(),
  dependsOn: z.array(name).optional().describe("Tasks of this plan that must be done first."),
  maxDuration: writtenDeadline().optional(),
  retryPolicy: retryPolicy.optional(),
  deadline: deadline.optional(),
  priority: z.int().optional(),
  needsApproval: z.boolean().optional(),
  input: z.record(z.string(), z.unknown()).optional(),
});
export type PlanTask = z.output<typeof planTask>;

export const gateSpec = z.strictObject({
  name: name.describe("How it is called in chat and in quality:gate."),
  minScore: z.number().min(0).max(1).optional().describe("What the assessed tasks of the group must reach on average."),
  allPassed: z.boolean().optional().describe("Every task of the group must be done; true when nothing else is asked."),
  when: z.string().min(1).optional().describe("CEL over `gate` (avgScore, allPassed, tasks) that must hold."),
});
export type GateSpec = z.output<typeof gateSpec>;

const MAX_GROUPS = 100;
const MAX_TASKS_OF_GROUP = 500;
/** The most tasks of a mission. */
export const MAX_TASKS_OF_MISSION = MAX_GROUPS * MAX_TASKS_OF_GROUP;

export const planGroup = z.strictObject({
  name,
  after: z
    .array(name)
    .optional()
    .describe("Groups that must be through first; the one above when absent, [] for none."),
  tasks: z.array(planTask).min(1).max(MAX_TASKS_OF_GROUP),
  gate: gateSpec.optional().describe("What must be true before the groups after this one start."),
});
export type PlanGroup = z.output<typeof planGroup>;

export const plan = z.strictObject({
  id: name.optional().describe("The file's name when absent."),
  title: title.optional(),
  description: z.string().max(20_000).optional(),
  deadline: deadline.optional().describe("For the mission as a whole."),
  schedule: z
    .union([
      z.string().min(1),
      z.strictObject({ cron: z.string().min(1), timezone: timezone.optional(), catchUp: z.boolean().optional() }),
    ])
    .optional()
    .describe("A cron expression: when it runs by itself."),
  defaults: defaults.optional().describe("The longest time of one attempt, for tasks that set none."),
  groups: z.array(planGroup).min(1).max(MAX_GROUPS),
});
export type Plan = z.output<typeof plan>;

/** ms since the epoch of a deadline as it is written, for something that starts at `from`. */
export function deadlineAt(text: string, from: number): number | undefined {
  const afterMs = parseDuration(text);
  return afterMs === undefined ? parseInstant(text, localTimezone()) : from + afterMs;
}

/** All tasks with their group, in the order in which they are written. */
export function planTasks({ groups }: Plan): { group: PlanGroup; task: PlanTask }[] {
  return groups.flatMap((group) => group.tasks.map((task) => ({ group, task })));
}

/** The groups that must be passed before this one. */
export function groupsBefore({ groups }: Plan, group: PlanGroup): string[] {
  if (group.after !== undefined) return group.after;
  const previous = groups[groups.indexOf(group) - 1];
  return previous === undefined ? [] : [previous.name];
}
