/**
 * `cron: "0 9 * * MON-FRI"` with a time zone. A fixed time that a clock change skips comes right after it; one that it repeats comes
 * once.
 */
import { z } from "zod";
import { cronProblem } from "../../lib/time/cron.js";
import { localTimezone, timezone } from "../../lib/time/timezone.js";
import type { TriggerOf } from "../definition/definition.js";
import { catchUp } from "./catch-up.js";

export const cronOptions = z
  .strictObject({
    cron: z
      .string()
      .describe("Five fields (minute hour day month weekday), six with seconds first, or @daily and the like."),
    timezone: timezone.optional().describe("A zone such as Europe/Berlin. Default: the machine's."),
    catch_up: catchUp,
  })
  .transform((options, context): TriggerOf<"cron"> => {
    const trigger: TriggerOf<"cron"> = {
      kind: "cron",
      cron: options.cron.trim(),
      timezone: options.timezone ?? localTimezone(),
      catchUp: options.catch_up,
    };
    const problem = cronProblem(trigger);
    if (problem === undefined) return trigger;
    context.addIssue({ code: "custom", message: problem, path: ["cron"], input: options.cron });
    return z.NEVER;
  });
