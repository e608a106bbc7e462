/** The SLA point of the orchestration family. */
import { z } from "zod";
import { ownPoint } from "../point.js";

export const qualitySla = ownPoint({
  name: "quality:sla",
  model: "lifecycle",
  mutable: [],
  payload: z.object({
    entityId: z.string(),
    entityType: z.enum(["task", "mission", "conversation"]),
    /** ISO time at which it is due. */
    deadline: z.string(),
    status: z.enum(["warning", "violated", "met"]),
    /** A fraction of the working time allowed: 0.8 = 80 %. */
    percentUsed: z.number(),
    policyId: z.string(),
  }),
  summary:
    "Fires when an SLA clock warns, is violated or was met; once each. `percentUsed` is a fraction: 0.8 is 80 %. `before` may veto the announcement, `after` runs when the alert is raised.",
  example: {
    entityId: "t_1",
    entityType: "task",
    deadline: "2026-11-23T17:00:00.000Z",
    status: "warning",
    percentUsed: 0.8,
    policyId: "tasks-on-time",
  },
});

export const slaPoints = [qualitySla] as const;
