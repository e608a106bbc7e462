/** A lifecycle point, as the orchestrator will bring them. */
import { z } from "zod";
import { definePoint } from "../../../src/hooks/point.js";

export const lifecyclePoint = definePoint({
  name: "task:fail",
  model: "lifecycle",
  payload: z.object({ taskId: z.string(), reason: z.string().optional(), agentId: z.string().optional() }),
  summary: "A task failed.",
  example: { taskId: "t1", reason: "timeout" },
});
