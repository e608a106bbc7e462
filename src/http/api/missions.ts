/** /api/v1/missions, /gates and /schedules: plans that are carried out, the gates that hold them up, and when they start by themselves. */
import { z } from "zod";
import { gateState, groupState, MISSION_STATUSES, missionReport } from "../../domain/orchestrator/mission.js";
import { TASK_STATUSES } from "../../domain/orchestrator/task.js";
import { page, pageNumber, time } from "./answers.js";
import { endpoint } from "./endpoint.js";

const name = (what: string) => z.string().min(1).max(200).describe(what);
const id = z.object({ id: name("The id of a mission, or a plan for its newest one.") });
const scheduleId = z.object({ id: name("The id of a schedule.") });

const mission = z.object({
  id: z.string(),
  planId: z.string(),
  title: z.string(),
  status: z.enum(MISSION_STATUSES),
  reason: z.string().optional(),
  createdBy: z.string(),
  createdAt: time,
  startedAt: time.optional(),
  endedAt: time.optional(),
  deadline: time.optional(),
  scheduleId: z.string().optional(),
  groups: z.array(groupState),
  gates: z.array(gateState),
  hold: z.looseObject({ by: z.string(), reason: z.string(), point: z.string().optional() }).optional(),
  taskIds: z.record(z.string(), z.string()).describe("By name in the plan."),
});

const task = z.looseObject({
  id: z.string(),
  title: z.string(),
  status: z.enum(TASK_STATUSES),
  group: z.string().optional(),
  assignTo: z.string(),
  attempt: z.number(),
  retries: z.number(),
  score: z.number().optional(),
});

const schedule = z.object({
  id: z.string(),
  planId: z.string(),
  expression: z.string(),
  timezone: z.string(),
  catchUp: z.boolean(),
  source: z.enum(["plan", "chat"]),
  createdBy: z.string(),
  createdAt: time,
  paused: z.object({ by: z.string(), at: time }).optional(),
  nextAt: time.optional(),
  last: z
    .object({
      dueAt: time,
      at: time,
      kind: z.enum(["started", "vetoed", "passed_by", "failed"]),
      missionId: z.string().optional(),
      by: z.string().optional(),
      reason: z.string().optional(),
    })
    .optional(),
});

const gate = gateState.extend({ missionId: z.string(), title: z.string() });

const missionEndpoints = [
  endpoint({
    method: "GET",
    path: "/missions",
    id: "listMissions",
    summary: "Lists missions, newest first.",
    query: z.object({
      filter: z.string().max(200).optional().describe("Only missions with this status or of this plan, or `open`."),
      page: pageNumber,
    }),
    answer: z.object({ missions: z.array(mission), ...page }),
    command: ({ query: { filter, page: number } }) => ({
      name: "mission",
      options: { action: "list", id: filter, page: number },
    }),
  }),
  endpoint({
    method: "POST",
    path: "/missions",
    id: "runMission",
    summary: "Starts a mission that runs a plan.",
    creates: true,
    body: z.strictObject({ plan: name("The plan: a file in `missions/`, or the id in it.") }),
    answer: mission,
    command: ({ body }) => ({ name: "mission", options: { action: "run", id: body.plan } }),
  }),
  endpoint({
    method: "GET",
    path: "/missions/:id",
    id: "showMission",
    summary: "Shows one mission with its tasks.",
    params: id,
    answer: mission.extend({
      tasks: z.array(task),
      link: z.string().optional().describe("Where it can be read in chat."),
    }),
    command: ({ params }) => ({ name: "mission", options: { action: "show", id: params.id } }),
  }),
  endpoint({
    method: "GET",
    path: "/missions/:id/report",
    id: "reportMission",
    summary: "Reports the durations, retries, scores, outcomes and files of a mission, as of now or of its end.",
    params: id,
    answer: missionReport,
    command: ({ params }) => ({ name: "mission", options: { action: "report", id: params.id } }),
  }),
  endpoint({
    method: "POST",
    path: "/missions/:id/cancel",
    id: "cancelMission",
    summary: "Cancels a mission and ends what runs for it.",
    params: id,
    body: z
      .strictObject({
        reason: z.string().max(1_000).optional().describe("The reason, for the history of the mission."),
      })
      .prefault({}),
    answer: mission,
    command: ({ params, body }) => ({
      name: "mission",
      options: { action: "cancel", id: params.id, reason: body.reason },
    }),
  }),
  endpoint({
    method: "POST",
    path: "/missions/:id/retry",
    id: "retryMission",
    summary: "Asks again for the step of a mission that a hook refused.",
    params: id,
    answer: mission,
    command: ({ params }) => ({ name: "mission", options: { action: "retry", id: params.id } }),
  }),
];

const gateEndpoints = [
  endpoint({
    method: "GET",
    path: "/gates",
    id: "listGates",
    summary: "Lists the gates that are shut, or all gates of one mission.",
    query: z.object({ mission: name("The id of a mission, or a plan for its newest mission.").optional() }),
    answer: z.object({ gates: z.array(gate) }),
    command: ({ query }) => ({ name: "gate", options: { action: "list", mission: query.mission } }),
  }),
  endpoint({
    method: "POST",
    path: "/missions/:id/gates/:gate/release",
    id: "releaseGate",
    summary: "Opens a shut gate by hand; for admins, with a reason.",
    params: id.extend({ gate: name("The name of the gate.") }),
    body: z.strictObject({ reason: z.string().min(1).max(1_000).describe("Why the gate may open; it is recorded.") }),
    answer: z.object({ missionId: z.string(), gate: gateState }),
    command: ({ params, body }) => ({
      name: "gate",
      options: { action: "release", mission: params.id, gate: params.gate, reason: body.reason },
    }),
  }),
];

const scheduleEndpoints = [
  endpoint({
    method: "GET",
    path: "/schedules",
    id: "listSchedules",
    summary: "Lists the schedules that start missions.",
    answer: z.object({ schedules: z.array(schedule) }),
    command: () => ({ name: "schedule", options: { action: "list" } }),
  }),
  endpoint({
    method: "POST",
    path: "/schedules",
    id: "addSchedule",
    summary: "Adds a schedule that starts a mission; for admins.",
    creates: true,
    body: z.strictObject({
      plan: name("The plan that the schedule runs."),
      cron: name("When it runs, as a cron expression."),
      timezone: z
        .string()
        .max(64)
        .optional()
        .describe("The time zone of the expression, such as Europe/Berlin; that of the machine when absent."),
      name: z.string().max(64).optional().describe("The id of the schedule; that of the plan when absent."),
    }),
    answer: schedule,
    command: ({ body: { plan, ...rest } }) => ({ name: "schedule", options: { action: "add", id: plan, ...rest } }),
  }),
  ...(["pause", "resume"] as const).map((action) =>
    endpoint({
      method: "POST",
      path: `/schedules/:id/${action}`,
      id: `${action}Schedule`,
      summary:
        action === "pause"
          ? "Pauses a schedule: its times pass without a mission."
          : "Continues a schedule that was paused.",
      params: scheduleId,
      answer: schedule,
      command: ({ params }) => ({ name: "schedule", options: { action, id: params.id } }),
    }),
  ),
  endpoint({
    method: "POST",
    path: "/schedules/:id/run",
    id: "runSchedule",
    summary: "Starts the mission of a schedule now; the next times of the schedule do not change.",
    creates: true,
    params: scheduleId,
    answer: schedule.shape.last.unwrap(),
    command: ({ params }) => ({ name: "schedule", options: { action: "run", id: params.id } }),
  }),
  endpoint({
    method: "POST",
    path: "/schedules/:id/remove",
    id: "removeSchedule",
    summary: "Removes a schedule that was added; for admins.",
    params: scheduleId,
    answer: z.object({ id: z.string(), removed: z.boolean() }),
    command: ({ params }) => ({ name: "schedule", options: { action: "remove", id: params.id } }),
  }),
];

export const missionApi = [...missionEndpoints, ...gateEndpoints, ...scheduleEndpoints];
