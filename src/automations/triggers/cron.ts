/** `cron: "0 9 * * MON-FRI"` with a time zone. A fixed time that a clock change skips comes right after it; one that it repeats comes once. */
import { Cron } from "croner";
import { z } from "zod";
import { errorMessage } from "../../lib/errors.js";
import type { TriggerOf } from "../definition/definition.js";
import { catchUp } from "./catch-up.js";
import { localTimezone, timezone } from "./timezone.js";

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
    const problem = problemOf(trigger);
    if (problem === undefined) return trigger;
    context.addIssue({ code: "custom", message: problem, path: ["cron"], input: options.cron });
    return z.NEVER;
  });

function problemOf(trigger: TriggerOf<"cron">): string | undefined {
  try {
    // Any moment does: a pattern that comes at all comes within croner's horizon.
    return nextCron(trigger, 0) === undefined ? `"${trigger.cron}" never comes` : undefined;
  } catch (error) {
    return `"${trigger.cron}" is no cron expression: ${errorMessage(error).replace(/^CronPattern: /, "")}`;
  }
}

/** The first time after `after`; undefined when there is none. */
export function nextCron({ cron, timezone }: TriggerOf<"cron">, after: number): number | undefined {
  // A list or range of hours is as fixed as a single one: only * and / mean "all the time".
  const pattern = new Cron(cron, { paused: true, mode: "5-or-6-parts", timezone, fixedTimeRule: "no-wildcard" });
  return pattern.nextRun(new Date(after))?.getTime();
}
