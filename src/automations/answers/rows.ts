/** The fields of the rows of each query. `hookgate check` compares templates and conditions with them; the answers have these types. */
import { z } from "zod";
import { ALERT_STATES, SEVERITIES } from "../../domain/alerts/alert.js";
import { AUTOMATION_RUN_STATUSES } from "../../domain/automation.js";
import { FATES } from "../../domain/deliveries/fates.js";
import { OUTCOMES } from "../../domain/journal.js";
import { MISSION_STATUSES } from "../../domain/orchestrator/mission.js";
import { TASK_STATUSES } from "../../domain/orchestrator/task.js";
import { DELIVERY_STATUSES } from "../../domain/store.js";
import { INBOX_STATUSES, type QueryName } from "../queries.js";

const text = z.string();
const textOrNull = z.string().nullable();
const timeOrNull = textOrNull;
const messagesOrNull = z.enum(FATES).nullable();

export const rows = {
  runs: z.object({
    id: text,
    hook: text,
    status: z.enum(AUTOMATION_RUN_STATUSES),
    reason: textOrNull,
    trigger: text,
    event: textOrNull,
    /** The fate of the messages that the run sent. */
    messages: messagesOrNull,
    error: textOrNull,
    attempt: z.number(),
    at: timeOrNull,
    ended_at: timeOrNull,
  }),
  messages: z.object({
    platform: text,
    chat: text,
    user: text,
    name: textOrNull,
    text,
    status: z.enum(INBOX_STATUSES),
    outcome: textOrNull,
    at: timeOrNull,
  }),
  deliveries: z.object({
    id: text,
    platform: text,
    chat: text,
    status: z.enum(DELIVERY_STATUSES),
    reason: textOrNull,
    text: textOrNull,
    attempts: z.number(),
    at: timeOrNull,
  }),
  dispatches: z.object({
    id: text,
    point: text,
    outcome: z.enum(OUTCOMES),
    latency_ms: z.number(),
    at: timeOrNull,
    runs: z.array(z.object({ hook: text, outcome: z.enum(OUTCOMES), reason: textOrNull })),
  }),
  /** The state of the whole gateway; its parts are not declared. */
  status: z.looseObject({}),
  tasks: z.object({
    id: text,
    title: text,
    status: z.enum(TASK_STATUSES),
    assign_to: text,
    group: textOrNull,
    mission: textOrNull,
    reason: textOrNull,
    error: textOrNull,
    attempt: z.number(),
    deadline: timeOrNull,
    at: timeOrNull,
    started_at: timeOrNull,
    ended_at: timeOrNull,
  }),
  missions: z.object({
    id: text,
    plan: text,
    title: text,
    status: z.enum(MISSION_STATUSES),
    at: timeOrNull,
    ended_at: timeOrNull,
  }),
  alerts: z.object({
    id: text,
    state: z.enum(ALERT_STATES),
    severity: z.enum(SEVERITIES),
    title: text,
    reason: text,
    source: text,
    policy: textOrNull,
    assignee: textOrNull,
    at: timeOrNull,
    ended_at: timeOrNull,
  }),
  hooks: z.object({
    id: text,
    point: text,
    enabled: z.boolean(),
    plugin: textOrNull,
    fires: z.number(),
    failures: z.number(),
    last_fired_at: timeOrNull,
    last_outcome: z.enum(OUTCOMES).nullable(),
    last_messages: messagesOrNull,
  }),
} as const satisfies Record<QueryName, z.ZodType>;

export type RowOf<Name extends QueryName> = z.output<(typeof rows)[Name]>;
