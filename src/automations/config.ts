/** Settings of configured hooks as a whole: `automations:` in hookgate.yaml. The hooks themselves are under `hooks:`. */
import { z } from "zod";
import { addressField } from "../domain/chat/address.js";
import { duration } from "../lib/validation/config-fields.js";

export const automationsConfig = z.strictObject({
  max_running: z.int().min(1).max(1_000).default(32).describe("How many hooks run at once, all together."),
  alerts: z
    .array(addressField)
    .default([])
    .describe(
      "Where admins are notified of reloads that were rejected or applied in part, of settings that need a restart, and of hooks that trigger themselves, failed too often or switched themselves off. Default: direct messages to the admins who are listed by id.",
    ),
  breaker: z
    .strictObject({
      failures: z
        .int()
        .min(1)
        .default(5)
        .describe(
          "How many failures in a row stop a hook for a while; each attempt of a background retry counts, and each time that its module ends the process with `process.exit`.",
        ),
      pause: duration("5m").describe("How long a hook is stopped the first time; it doubles up to an hour."),
    })
    .prefault({})
    .describe("When the circuit breaker of a hook stops it."),
  keep: z
    .strictObject({
      max_age: duration("30d").describe(
        "How long runs are kept, and how long a stored run waits for a hook that is broken.",
      ),
      max_runs: z.int().min(1).default(1_000).describe("How many runs of each hook are kept."),
    })
    .prefault({})
    .describe("How much history is kept, for hooks without a `keep` of their own."),
  lease: duration("30s").describe(
    "The lease of a run: another worker may take the run after this long without a heartbeat.",
  ),
  watch: z.boolean().default(true).describe("Apply changes of the configuration and of `hooks/` when they are saved."),
});
export type AutomationsConfig = z.output<typeof automationsConfig>;
