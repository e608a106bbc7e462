/** /api/v1/alerts: alerts about late or broken things, and the actions on them. */
import { z } from "zod";
import { ALERT_STATES, SEVERITIES } from "../../domain/alerts/alert.js";
import { page, pageNumber, pageSize, time } from "./answers.js";
import { endpoint } from "./endpoint.js";

const id = z.object({ id: z.string().min(1).max(200).describe("The id of an alert, or of a card of many.") });
const state = z.enum(ALERT_STATES);

const alert = z.object({
  id: z.string(),
  fingerprint: z.string(),
  episode: z.number(),
  state,
  condition: z
    .enum(["warned", "firing"])
    .describe("The state that its source reports, regardless of acknowledgements, snoozes and silences."),
  severity: z.enum(SEVERITIES),
  title: z.string(),
  reason: z.string(),
  source: z.object({ kind: z.string(), id: z.string(), policyId: z.string().optional() }),
  labels: z.record(z.string(), z.string()),
  raisedAt: time,
  since: time.describe("When it came into its state."),
  endedAt: time.optional(),
  entity: z.object({ type: z.string(), id: z.string(), title: z.string() }).optional(),
  dueAt: time.optional(),
  ack: z.object({ by: z.string(), at: time, until: time.optional() }).optional(),
  snooze: z.object({ by: z.string(), at: time, until: time }).optional(),
  assignee: z.object({ id: z.string(), name: z.string() }).optional(),
  quietBy: z.string().optional().describe("The silence, window or alert that keeps it quiet."),
  nextAt: time.optional().describe("When it is due again."),
  reminders: z.number(),
  steps: z.number().describe("Escalation steps done."),
});

const event = z.object({
  at: time,
  event: z.string(),
  from: state.optional(),
  to: state,
  actor: z.object({ id: z.string(), name: z.string(), source: z.string() }),
  reason: z.string().optional(),
});

const coming = z.object({
  kind: z.enum(["reminder", "step"]),
  route: z.string(),
  step: z.number().optional().describe("The place of the escalation step in its route, from 1."),
  at: time.optional(),
  reminders: z.number().optional().describe("The step comes after so many reminders, not at a time."),
});

const detail = alert.extend({
  coming: z.array(coming).describe("Reminders and escalation steps that come by themselves, the first one first."),
  notes: z.array(z.object({ by: z.string(), at: time, text: z.string() })),
  history: z.array(event),
});
const done = z.object({ changed: z.number().describe("How many it changed."), alerts: z.array(alert) });
const length = z.string().max(40).describe("For how long, such as 15m, 2h or 1d.");

export const alertEndpoints = [
  endpoint({
    method: "GET",
    path: "/alerts",
    id: "listAlerts",
    summary: "Lists alerts, the most severe first.",
    query: z.object({
      which: z
        .enum(["open", "mine", "all"])
        .default("open")
        .describe("Open alerts, those that the caller took, or all."),
      page: pageNumber,
      limit: pageSize(500, 100),
    }),
    answer: z.object({ alerts: z.array(alert), counts: z.record(z.string(), z.number()), ...page }),
    command: ({ query: { which, ...paging } }) => ({ name: "alerts", options: { action: which, ...paging } }),
  }),
  endpoint({
    method: "GET",
    path: "/alerts/:id",
    id: "showAlert",
    summary: "Shows one alert with its history.",
    params: id,
    answer: detail,
    command: ({ params }) => ({ name: "alerts", options: { action: "show", id: params.id } }),
  }),
  endpoint({
    method: "POST",
    path: "/alerts/:id/ack",
    id: "ackAlert",
    summary: "Acknowledges an alert: reminders and escalations stop.",
    params: id,
    body: z
      .strictObject({
        for: length.optional(),
        assign: z.boolean().optional().describe("Whether the caller takes the alert as well."),
      })
      .prefault({}),
    answer: done,
    command: ({ params, body }) => ({ name: "ack", options: { id: params.id, ...body } }),
  }),
  endpoint({
    method: "POST",
    path: "/alerts/:id/snooze",
    id: "snoozeAlert",
    summary: "Snoozes an alert; `business`: until the next business hour, `off`: ends the snooze.",
    params: id,
    body: z.strictObject({ for: length.default("1h") }).prefault({}),
    answer: done,
    command: ({ params, body }) => ({ name: "snooze", options: { id: params.id, ...body } }),
  }),
  endpoint({
    method: "POST",
    path: "/alerts/:id/resolve",
    id: "resolveAlert",
    summary:
      "Closes an alert. A warning: its clock runs on, and a breach opens the alert again. An overdue conversation: ends it, with its clocks.",
    params: id,
    body: z
      .strictObject({
        reason: z.string().min(1).max(1_000).optional().describe("The reason, for the history of the alert."),
      })
      .prefault({}),
    answer: done,
    command: ({ params, body }) => ({
      name: "alerts",
      options: { action: "resolve", id: params.id, text: body.reason },
    }),
  }),
];
