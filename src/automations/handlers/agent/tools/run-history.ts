/** `run_history`: the latest runs of hooks. */
import { z } from "zod";
import { AUTOMATION_RUN_STATUSES } from "../../../../domain/automation.js";
import type { ModelTool } from "../../../../domain/model.js";
import type { RunContext } from "../../../run-context.js";

const args = z.strictObject({
  hook: z.string().min(1).max(200).optional().describe("Only this hook's runs."),
  status: z.enum(AUTOMATION_RUN_STATUSES).optional().describe("Only runs that ended so."),
  limit: z.int().min(1).max(100).default(20),
});

export function runHistory(_options: unknown, { reach }: RunContext): ModelTool<z.output<typeof args>> {
  return {
    name: "run_history",
    description:
      "The latest runs of hooks, newest first: when, why, how they ended, with which error, and what became of what they sent.",
    args,
    run: ({ hook, status, limit }) =>
      reach.query("runs", {
        limit,
        hook,
        status,
      }),
  };
}
