/** The answers of /api/v1. Times are milliseconds since the epoch; texts of people are masked, secrets are never shown. */
import { z } from "zod";
import { AUTOMATION_RUN_STATUSES } from "../../domain/automation.js";
import { OUTCOMES } from "../../domain/journal.js";

/** A point in time, in queries and answers. */
export const time = z.number().describe("Milliseconds since the epoch.");
const outcome = z.enum(OUTCOMES);

/** The query parameter of lists. */
export const pageNumber = z.coerce.number().int().min(1).optional().describe("Which page, from 1 on.");

/** How many entries a page of a list has. */
export const pageSize = (max: number, usual: number) =>
  z.coerce.number().int().min(1).max(max).default(usual).describe(`How many entries a page has, ${max} at most.`);

export const page = { total: z.number(), page: z.number(), pages: z.number() };

/** The fate of the deliveries that a run handed to the outbox: they are sent after the run has ended. */
const effect = {
  withheld: z
    .array(
      z.object({
        delivery: z.string(),
        status: z.string(),
        reason: z.string().optional(),
        isInDoubt: z.boolean().describe("People may have seen it."),
      }),
    )
    .optional()
    .describe(
      "Messages, edits and replies of the run that were not sent, in any status of the run. For a hook: those of its last run.",
    ),
  toSend: z
    .array(z.string())
    .optional()
    .describe("Deliveries of the run that are not sent yet, and may still be withheld."),
  notKnown: z
    .array(z.string())
    .optional()
    .describe("Deliveries of the run that were deleted after the retention: what became of them is not known."),
};

export const hookRow = z.object({
  ...effect,
  id: z.string(),
  family: z.string(),
  point: z.string(),
  phase: z.string().optional(),
  enabled: z.boolean(),
  priority: z.number(),
  pluginId: z.string().optional(),
  lastFiredAt: time.optional(),
  lastOutcome: outcome.optional(),
  fires: z.number().describe("In the last 24 hours."),
  failures: z.number().describe("In the last 24 hours."),
  p95Ms: z.number().optional(),
  totalFires: z.number(),
  neverFired: z.boolean(),
  unended: z
    .object({
      kind: z.enum(["running", "interrupted"]),
      reason: z.string().optional(),
      before: z.object({ at: time, outcome: outcome.optional() }).optional(),
    })
    .optional()
    .describe("The last firing runs now, or the end of the process cut it off."),
  interrupted: z.number().optional().describe("Runs of the last 24 hours that the end of the process cut off."),
  mayHaveRunFor: z.string().optional(),
  alwaysSkipped: z
    .object({ runs: z.number(), reason: z.string().describe("The reason of the last run.") })
    .optional()
    .describe("It was started, and every run was skipped."),
});

/** Why a definition is not in force. */
export const brokenHook = z.object({
  id: z.string(),
  place: z.string(),
  problems: z.array(z.object({ path: z.string(), message: z.string(), place: z.string() })),
});

/** A hook that is defined in a file. */
const definition = z.object({
  description: z.string().optional(),
  trigger: z.looseObject({ kind: z.string() }),
  place: z.string(),
  steps: z.array(z.string()),
  handler: z.string(),
  execution: z.string(),
  cooldownMs: z.number(),
  concurrency: z.number(),
  maxPerHour: z.number().optional(),
  whenBusy: z.string(),
});

export const hookDetail = hookRow.extend({
  hook: z.string(),
  model: z.string(),
  name: z.string().optional(),
  critical: z.boolean(),
  execution: z.string(),
  failurePolicy: z.string(),
  timeoutMs: z.number(),
  visibility: z.string(),
  sees: z.string().optional(),
  after: z.array(z.string()),
  before: z.array(z.string()),
  match: z.record(z.string(), z.unknown()).optional(),
  switched: z.object({ enabled: z.boolean(), by: z.string(), at: time }).optional(),
  problems: z.array(z.object({ code: z.string(), message: z.string(), ids: z.array(z.string()) })),
  definition: definition.optional().describe("Present for configured hooks."),
  waitingRuns: z.number().optional().describe("How many stored runs wait to be started. Absent: none."),
  stuck: z
    .array(z.object({ hookId: z.string(), message: z.string() }))
    .optional()
    .describe("Why its trigger cannot fire at the moment."),
});

export const switched = z.object({ id: z.string(), enabled: z.boolean(), changed: z.boolean() });

export const run = z.object({
  id: z.string(),
  hookId: z.string(),
  pluginId: z.string().optional(),
  position: z.number(),
  outcome,
  reason: z.string().optional(),
  latencyMs: z.number(),
  attempt: z.number(),
  error: z.string().optional(),
  place: z.string().optional().describe("File, line and column that threw the error; for admins."),
  diff: z.unknown().optional(),
  ...effect,
});

export const dispatch = z.object({
  id: z.string(),
  point: z.string(),
  model: z.string(),
  phase: z.string().optional(),
  at: time,
  latencyMs: z.number(),
  payload: z.unknown(),
  cause: z.object({ kind: z.string(), id: z.string(), depth: z.number() }).optional(),
  attempt: z.number(),
  dryRun: z.boolean(),
  outcome,
  result: z.unknown().optional(),
  provenance: z.record(z.string(), z.string()).optional(),
  conversation: z.string().optional(),
  messageId: z.string().optional(),
  runs: z.array(run),
  redacted: z.boolean().describe("Whether what people wrote is masked."),
});

/** In a list: of two hundred, these could be many megabytes. */
export const listedDispatch = dispatch.omit({ payload: true, result: true });

const step = z.object({
  step: z.string(),
  outcome: z.enum(["passed", "skipping", "failed", "timed_out"]),
  latencyMs: z.number(),
  result: z.unknown().optional(),
  error: z.string().optional(),
});

const attempt = z.object({
  attempt: z.number(),
  startedAt: time,
  endedAt: time.optional(),
  status: z.enum(AUTOMATION_RUN_STATUSES),
  error: z.string().optional(),
  steps: z.array(step),
  rendered: z.string().optional(),
  toolCalls: z.array(z.looseObject({ tool: z.string(), latencyMs: z.number() })).optional(),
  usage: z
    .object({
      model: z.string(),
      inputTokens: z.number().optional(),
      outputTokens: z.number().optional(),
      costUsd: z.number().optional(),
    })
    .optional(),
  output: z.unknown().optional(),
});

/** A run of a configured hook. Only owners see the output of programs. */
export const hookRun = z.object({
  id: z.string(),
  hookId: z.string(),
  trigger: z.string(),
  reason: z.string(),
  event: z.string().optional(),
  cause: z.object({ kind: z.string(), id: z.string(), depth: z.number() }).optional(),
  dispatchId: z.string().optional(),
  conversation: z.string().optional(),
  messageId: z.string().optional(),
  status: z.enum(AUTOMATION_RUN_STATUSES),
  statusReason: z.string().optional(),
  decided: z
    .enum(["pass", "block", "modify", "claim"])
    .optional()
    .describe("What its handler decided. A run by hand only computes the decision, which is not carried out."),
  payload: z.unknown(),
  attempt: z.number(),
  attempts: z.array(attempt),
  createdAt: time,
  startedAt: time.optional(),
  endedAt: time.optional(),
  dueAt: time,
  ...effect,
});

export const listedRun = hookRun.omit({ payload: true });

/** A single run of a configured hook: `kind` distinguishes it from a dispatch. */
export const oneHookRun = hookRun.extend({
  kind: z.literal("run"),
});
