/** What /api/v1 answers. Times are milliseconds since the epoch; what people wrote is masked, secrets are never shown. */
import { z } from "zod";
import { OUTCOMES } from "../../domain/journal.js";

const time = z.number().describe("Milliseconds since the epoch.");
const outcome = z.enum(OUTCOMES);

export const page = { total: z.number(), page: z.number(), pages: z.number() };

export const hookRow = z.object({
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
  diff: z.unknown().optional(),
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
