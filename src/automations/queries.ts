/**
 * What `db_query` and `journal` may ask: named, read-only, bounded. `app.ts` answers them from the store, so no SQL and no
 * table name ever stands in a definition or a template.
 */
import { z } from "zod";

/** Templates fill in text, so numbers may be written as text. */
const limit = z.coerce.number().int().min(1).max(1000).default(20).describe("How many rows at most, newest first.");
const since = z.string().optional().describe("Not older than this: `1h`, or a time such as 2026-11-21T09:00:00Z.");
const text = z.string().min(1).optional();

export const queries = {
  runs: {
    summary: "Runs of operator-defined hooks.",
    args: z.strictObject({ hook: text, status: text, since, limit }),
  },
  messages: {
    summary: "Messages that came in, as the inbox keeps them.",
    args: z.strictObject({ platform: text, chat: text, user: text, status: text, since, limit }),
  },
  deliveries: {
    summary: "Messages that went out, or wait, or failed.",
    args: z.strictObject({ platform: text, chat: text, status: text, since, limit }),
  },
  dispatches: {
    summary: "Hook points that fired, with the runs of their hooks.",
    args: z.strictObject({ point: text, hook: text, outcome: text, since, limit }),
  },
  status: {
    summary: "How the gateway is: its platforms, and what waits in its queues.",
    args: z.strictObject({}),
  },
  tasks: {
    summary: "Tasks, with their state and how they ended.",
    args: z.strictObject({ status: text, assign_to: text, group: text, mission: text, since, limit }),
  },
  missions: {
    summary: "Missions, with their state.",
    args: z.strictObject({ status: text, plan: text, since, limit }),
  },
  alerts: {
    summary: "Alerts, the open ones unless a state is asked for.",
    args: z.strictObject({ state: text, since, limit }),
  },
  hooks: {
    summary: "Hooks, with how often they fired and failed over the last day.",
    args: z.strictObject({ hook: text, limit }),
  },
} as const satisfies Record<string, { summary: string; args: z.ZodType }>;

export type QueryName = keyof typeof queries;
