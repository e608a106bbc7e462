/** `at: 2026-12-24T18:00:00+01:00`: once. Without an offset it is local time of `timezone`. */
import { z } from "zod";
import { parseInstant, skippedTo } from "../../lib/time/instant.js";
import { localTimezone, timezone } from "../../lib/time/timezone.js";
import type { TriggerOf } from "../definition/definition.js";
import { catchUp } from "./catch-up.js";

export const atOptions = z
  .strictObject({
    at: z.string().describe("A date and time: 2026-12-24T18:00, with an offset (+01:00, Z) or in the time zone."),
    timezone: timezone.optional().describe("The zone of a time without an offset. Default: the machine's."),
    catch_up: catchUp,
  })
  .transform((options, context): TriggerOf<"at"> => {
    if (options.timezone !== undefined && /(Z|[+-]\d\d:?\d\d)$/i.test(options.at.trim()))
      context.addIssue({
        code: "custom",
        message: "`at` has an offset, so the time zone has no effect: remove one of them",
        path: ["timezone"],
        input: options.timezone,
      });
    const zone = options.timezone ?? localTimezone();
    const at = parseInstant(options.at.trim(), zone);
    const next = skippedTo(options.at.trim(), zone);
    if (next !== undefined)
      context.addIssue({
        code: "custom",
        message: `the clocks of ${zone} skip this time: write ${next}, or give an offset`,
        path: ["at"],
        input: options.at,
      });
    if (at !== undefined) return { kind: "at", at, catchUp: options.catch_up };
    context.addIssue({
      code: "custom",
      message: `expected a date and time such as 2026-12-24T18:00:00+01:00, got "${options.at}"`,
      path: ["at"],
      input: options.at,
    });
    return z.NEVER;
  });
