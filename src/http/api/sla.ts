/** /api/v1/sla: due times, and how well targets are met. */
import { z } from "zod";
import { SLA_MEASURES } from "../../domain/alerts/sla.js";
import { page, pageNumber, pageSize, time } from "./answers.js";
import { endpoint } from "./endpoint.js";

const length = z.number().describe("Working time in milliseconds.");
const measure = z.enum(SLA_MEASURES);
const id = z.object({ id: z.string().min(1).max(300).describe("The id of a clock, or of what it watches.") });

const clock = z.object({
  id: z.string(),
  policyId: z.string(),
  measure,
  state: z.enum(["running", "paused", "ended"]),
  outcome: z.enum(["met", "late", "unanswered", "withdrawn"]).optional(),
  startedAt: time,
  endedAt: time.optional(),
  dueAt: time.optional(),
  violatedAt: time.optional(),
  pausedFor: z.string().optional(),
  episode: z.number(),
  targetMs: length,
  extendedMs: length,
  addedMs: length.optional().describe("What people added, as part of `targetMs`."),
  extendedBy: z.array(z.string()).optional().describe("Names of the people who gave more time."),
  usedMs: length,
  isByHook: z.boolean().optional().describe("A hook gave the answer that ended it."),
  leftMs: length.describe("Working time left; negative when it is overdue."),
  resumesAt: time.optional().describe("Outside working hours: when it runs again."),
  percentUsed: z.number().describe("A fraction: 0.8 = 80 %."),
  entity: z.object({
    type: z.string(),
    id: z.string(),
    title: z.string(),
    status: z.string(),
    link: z.string().optional(),
  }),
  timezone: z.string().optional(),
});

const announcement = z.object({
  id: z.string(),
  at: time,
  episode: z.number(),
  status: z.string().describe("How far it got; `vetoed` by a hook, with the reason."),
  reason: z.string().optional(),
  by: z.string().optional(),
  news: z.enum(["warning", "violated", "met"]).optional(),
  says: z.string(),
});

const policy = z.object({
  id: z.string(),
  for: z.string(),
  measure,
  match: z.string().optional(),
  unanswered: z.string().optional().describe("The first entity for which `match` had no answer, and why."),
  targetMs: length.optional(),
  calendar: z.string(),
  timezone: z.string().optional(),
  warnAt: z.array(z.string()),
  pauseWhen: z.array(z.string()).optional(),
  severity: z.object({ warning: z.string(), violated: z.string() }),
  routes: z.array(z.string()).optional(),
  runbook: z.string().optional(),
  open: z.number(),
  overdue: z.number(),
  muted: z
    .object({ until: time, by: z.string(), comment: z.string() })
    .optional()
    .describe("How long the policy stays muted."),
});

const attainment = z.object({
  policyId: z.string(),
  measure,
  met: z.number().describe("Within the target of the policy."),
  metExtended: z.number().describe("Met only because people gave more time."),
  metByHook: z
    .number()
    .describe("Answered by a hook within the target; not in `met`, `attained`, `days` and the times."),
  late: z.number().describe("Ended after the target had passed."),
  missedOpen: z.number().describe("Missed and still open; `attained` and `days` count them as missed."),
  unanswered: z.number().describe("Closed without an answer; those past their target are in `late` too."),
  withdrawn: z.number(),
  open: z.number(),
  overdue: z.number(),
  attained: z
    .number()
    .optional()
    .describe(
      "The fraction within the target of the policy, of those that ended and those that are missed and still open.",
    ),
  medianMs: length.optional(),
  p90Ms: length.optional(),
  maxMs: length.optional(),
  days: z.array(z.object({ day: z.string(), met: z.number(), metExtended: z.number(), late: z.number() })),
});

export const slaEndpoints = [
  endpoint({
    method: "GET",
    path: "/sla/clocks",
    id: "listSlaClocks",
    summary: "Lists SLA clocks, the most urgent first.",
    query: z.object({
      which: z
        .string()
        .max(100)
        .optional()
        .describe("Only clocks that are open (default), overdue, running, paused or ended, or those of a policy."),
      page: pageNumber,
      limit: pageSize(200, 100),
    }),
    answer: z.object({ clocks: z.array(clock), ...page }),
    command: ({ query: { which, ...paging } }) => ({ name: "sla", options: { action: "list", id: which, ...paging } }),
  }),
  endpoint({
    method: "GET",
    path: "/sla/clocks/:id",
    id: "showSlaClock",
    summary: "Shows one clock, or all clocks of a task, mission or conversation, with what was announced.",
    params: id,
    answer: z.object({ clocks: z.array(clock.extend({ announcements: z.array(announcement) })) }),
    command: ({ params }) => ({ name: "sla", options: { action: "show", id: params.id } }),
  }),
  endpoint({
    method: "POST",
    path: "/sla/clocks/:id/extend",
    id: "extendSlaClock",
    summary: "Gives a clock more time: moves the deadline of its task or mission, else adds working time.",
    params: id,
    body: z.strictObject({
      by: z.string().max(80).describe("How long, or until when: 2h, tomorrow 17:00, 2026-12-24T18:00, business."),
      reason: z.string().min(1).max(1_000).optional().describe("The reason, for the history."),
    }),
    answer: z.object({ clock }),
    command: ({ params, body }) => ({ name: "sla", options: { action: "extend", id: params.id, ...body } }),
  }),
  endpoint({
    method: "POST",
    path: "/sla/conversations/:id/close",
    id: "closeSlaConversation",
    summary: "Closes a conversation and ends its clocks; it needs a reason while the customer still waits.",
    params: id,
    body: z
      .strictObject({ reason: z.string().min(1).max(1_000).optional().describe("The reason, for the history.") })
      .optional(),
    answer: z.object({ closed: z.string() }),
    command: ({ params, body }) => ({
      name: "sla",
      options: { action: "close", id: params.id, reason: body?.reason },
    }),
  }),
  endpoint({
    method: "GET",
    path: "/sla/policies",
    id: "listSlaPolicies",
    summary: "Lists the SLA policies, with which of them are muted.",
    answer: z.object({ policies: z.array(policy) }),
    command: () => ({ name: "sla", options: { action: "policies" } }),
  }),
  endpoint({
    method: "POST",
    path: "/sla/policies/:id/mute",
    id: "muteSlaPolicy",
    summary: "Mutes a policy for a while: its alerts are not sent.",
    params: id,
    body: z.strictObject({
      for: z.string().max(80).describe("How long, or until when, such as 2h or tomorrow 17:00."),
      reason: z.string().min(1).max(1_000).optional().describe("The reason, for the history."),
    }),
    answer: z.object({
      policy: z.string(),
      muted: z.boolean(),
      changed: z.boolean(),
      until: time,
      by: z.string(),
      silence: z.string(),
    }),
    command: ({ params, body: { for: by, reason } }) => ({
      name: "sla",
      options: { action: "mute", id: params.id, by, reason },
    }),
  }),
  endpoint({
    method: "POST",
    path: "/sla/policies/:id/unmute",
    id: "unmuteSlaPolicy",
    summary: "Ends the mute of a policy.",
    params: id,
    answer: z.object({ policy: z.string(), muted: z.boolean() }),
    command: ({ params }) => ({ name: "sla", options: { action: "unmute", id: params.id } }),
  }),
  endpoint({
    method: "GET",
    path: "/sla/report",
    id: "reportSla",
    summary: "Reports how many targets were met, and how long answers and work took.",
    query: z.object({
      days: z.coerce.number().int().min(1).max(400).default(30).describe("How many days back the report goes."),
    }),
    answer: z.object({ from: time, to: time, days: z.number(), policies: z.array(attainment) }),
    command: ({ query }) => ({ name: "sla", options: { action: "report", id: String(query.days) } }),
  }),
];
