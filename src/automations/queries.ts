/**
 * The queries of `db_query` and `journal`: named, read-only, bounded. `answers.ts` answers them from the store, so no SQL and no table
 * name is ever in a definition or a template.
 */
import { z } from "zod";
import { ALERT_STATES } from "../domain/alerts/alert.js";
import { AUTOMATION_RUN_STATUSES } from "../domain/automation.js";
import { platformProblem } from "../domain/chat/platform.js";
import { OUTCOMES } from "../domain/journal.js";
import { MISSION_STATUSES } from "../domain/orchestrator/mission.js";
import { TASK_STATUSES } from "../domain/orchestrator/task.js";
import { DELIVERY_STATUSES, type InboxStatus } from "../domain/store.js";
import { catalogue } from "../hooks/catalogue/index.js";
import { resolveAlias } from "../hooks/registration/aliases.js";
import { parseDuration } from "../lib/time/duration.js";
import { nearest } from "../lib/validation/nearest.js";

export const INBOX_STATUSES = [
  "waiting",
  "running",
  "deferred",
  "done",
  "dead",
] as const satisfies readonly InboxStatus[];

/** Templates fill in text, so numbers may be written as text. */
const limit = z
  .union([z.int(), z.string().regex(/^\d+$/, "expected a whole number from 1 to 1000").transform(Number)])
  .pipe(z.int().min(1).max(1000))
  .default(20)
  .describe("How many rows at most, newest first.");
export const since = z
  .string()
  .refine((text) => parseDuration(text) !== undefined || !Number.isNaN(Date.parse(text)), {
    error: ({ input }) => `expected 1h or a time such as 2026-11-21T09:00:00Z, got "${String(input)}"`,
  })
  .optional()
  .describe("Not older than this: `1h`, or a time such as 2026-11-21T09:00:00Z.");
const text = z.string().min(1).optional();
const platform = z
  .string()
  .superRefine((name, context) => {
    const message = platformProblem(name);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .optional();
/** An id that is no number belongs to no person. */
const user = z
  .string()
  .regex(/^-?\d+$/, { error: ({ input }) => `expected a number, as platforms identify users, got "${String(input)}"` })
  .optional();
const KNOWN_POINTS = catalogue.map(({ name }) => name);
/** Points of plugins and events are not known here. */
const point = z
  .string()
  .superRefine((name, context) => {
    const { hook } = resolveAlias(name);
    if (/^(plugin|event):/.test(name) || KNOWN_POINTS.some((known) => known === name)) return;
    const unknown = `there is no hook point "${name}"${nearestOf(name)}`;
    const message = hook === name ? unknown : `dispatches name this point ${hook}: write "${hook}"`;
    context.addIssue({ code: "custom", message });
  })
  .optional();
const nearestOf = (name: string) => {
  const near = nearest(name, KNOWN_POINTS);
  return near === undefined ? "; `npx hookgate points` lists them" : ` (did you mean "${near}"?)`;
};
const oneOf = <T extends string>(known: readonly T[]) => z.enum(known).optional();

export const queries = {
  runs: {
    summary:
      "Runs of configured hooks. `messages` is the worst that became of what a run sent: `withheld`, `in_doubt`, `not_known` (deleted after the retention), `waiting`, `sent`; null when it sent nothing. Reasons and errors are `[text]` where they may quote a runner with the `role` admin or owner, or the answer to a command.",
    args: z.strictObject({ hook: text, status: oneOf(AUTOMATION_RUN_STATUSES), since, limit }),
  },
  messages: {
    summary: "Messages that came in, as the inbox keeps them.",
    args: z.strictObject({ platform, chat: text, user, status: oneOf(INBOX_STATUSES), since, limit }),
  },
  deliveries: {
    summary:
      "Messages that were sent, wait, or failed. The output of a runner with the `role` admin or owner, and the answer to a command, is `[text]`, and so is the reason of such a message.",
    args: z.strictObject({ platform, chat: text, status: oneOf(DELIVERY_STATUSES), since, limit }),
  },
  dispatches: {
    summary: "Hook points that fired, with the runs of their hooks. Their reasons are `[text]` as those of `runs`.",
    args: z.strictObject({ point, hook: text, outcome: oneOf(OUTCOMES), since, limit }),
  },
  status: {
    summary: "How the gateway is: its platforms, and what waits in its queues.",
    args: z.strictObject({}),
  },
  tasks: {
    summary:
      "Tasks, with their state and how they ended. Where the runner's `role` is admin or owner, reasons and errors are `[text]`.",
    args: z.strictObject({ status: oneOf(TASK_STATUSES), assign_to: text, group: text, mission: text, since, limit }),
  },
  missions: {
    summary: "Missions, with their state.",
    args: z.strictObject({ status: oneOf(MISSION_STATUSES), plan: text, since, limit }),
  },
  alerts: {
    summary: "Alerts, the open ones unless a state is asked for.",
    args: z.strictObject({ state: oneOf(ALERT_STATES), since, limit }),
  },
  hooks: {
    summary:
      "Hooks, with how often they fired and failed over the last day. `last_messages` is what became of what the last run sent, as `messages` of `runs`.",
    args: z.strictObject({ hook: text, limit }),
  },
} as const satisfies Record<string, { summary: string; args: z.ZodType }>;

export type QueryName = keyof typeof queries;
