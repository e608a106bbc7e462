/** What every step may say besides its own options. */
import { z } from "zod";
import { duration } from "../../lib/config-fields.js";

export const commonStepOptions = z.strictObject({
  timeout: duration("30s").describe("After this the step has failed, and what it started is ended. Default: 30s."),
  max_bytes: z
    .int()
    .min(100)
    .max(1_000_000)
    .default(64_000)
    .describe("How much of what it brings is kept. Default: 64000."),
  required: z.boolean().default(false).describe("Whether the run ends when it fails or is not ok. Default: no."),
  skip_if: z
    .string()
    .min(1)
    .optional()
    .describe(
      "When the handler need not run: exit_zero, empty, status_ok, or a CEL expression over step, steps and event.",
    ),
});
