/** The form of a definition, but for its steps and its handler, which bring their own options (parse.ts). */
import { z } from "zod";
import { CONTRIBUTION_KINDS } from "../../hooks/contribution.js";
import { deadline, duration, someDeadline, someDuration } from "../../lib/validation/config-fields.js";
import { EMPTY } from "../../lib/validation/plain-issues.js";
import { fixedChatAddress } from "../outgoing/chat-address.js";
import { triggerOptions } from "../triggers/index.js";
import { NOTIFIED } from "./definition.js";

const ids = z.array(z.string().min(1)).default([]);
const name = z
  .string()
  .min(1)
  .refine((text) => text.trim() === text, "it has a space before or after it, and would never match");
const names = z.array(name).min(1);
const userIds = z
  .array(name.refine((text) => !text.startsWith("@"), "people are matched by their id, which /whoami shows them"))
  .min(1);

const matcher = z.strictObject({
  tools: names.optional().describe("RE2 patterns of tool names."),
  agents: names.optional(),
  crews: names.optional(),
  severities: names.optional(),
  platforms: names
    .optional()
    .describe("web, discord or telegram; what plugins and events bring may be of others, which are not checked."),
  chats: names
    .optional()
    .describe(
      "Chat ids, or platform:id. A thread goes with its parent; for the parent alone, compare its id in `when`.",
    ),
  users: userIds.optional().describe("User ids, or platform:id."),
  hooks: names.optional(),
  watches: names.optional(),
  when: z
    .string()
    .min(1)
    .optional()
    .describe(
      'A CEL expression over `payload`. Ask for an optional field first: `has(payload.message.threadId) && payload.message.threadId != "5"`. For a payload without the field, the condition otherwise has no answer: with `on_failure: closed` or `fallback` that counts as a failure of the hook, else the hook does not run. A payload for which it takes too much work, such as a loop (`exists`, `all`, `map`, …) in a loop over lists of thousands of items, is a failure of every hook.',
    ),
  access: z
    .enum(["allowed", "any"])
    .default("allowed")
    .describe(
      "any: also what was caused by people who are not listened to. Their messages do not reach inbound_claim in any case.",
    ),
});

const retry = z.strictObject({
  attempts: z
    .int()
    .min(2)
    .max(20)
    .describe(
      "How often it is tried in all. What is the same each time is not tried again, such as the HTTP status 404; 408, 425, 429 and 5xx are.",
    ),
  backoff: duration("30s").describe("The pause before the second attempt; it doubles from there."),
  idempotent: z.literal(true).default(true).describe("Always true with `retry`: the hook may run twice for one event."),
});

const notify = z.strictObject({
  on: z
    .array(z.enum(NOTIFIED))
    .min(1)
    .default(["failed", "timed_out", "blocked", "interrupted"])
    .describe(
      "Which outcomes of its runs. failed: also when a model decided nothing and all its tool calls failed. succeeded: it ended without an error, or some tool calls failed, which the notice names; its messages are sent after that, and `/runs ID` shows what became of them. skipped: it was skipped after its steps ran, or a gate refused a run in the background that no person fired; what else a gate refused is listed by /runs only.",
    ),
  to: z
    .array(fixedChatAddress)
    .default([])
    .describe(
      "Addresses, or here: the chat that the event is about; no templates. Without addresses, those of `automations.alerts`; also in place of here when the event names no chat.",
    ),
});

const keep = z.strictObject({
  max_age: someDuration().optional().describe("How long its runs are kept."),
  max_runs: z.int().min(1).max(1_000_000).optional().describe("How many of its runs are kept."),
});

export const definitionForm = z.strictObject({
  id: z
    .string()
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/, "expected up to 64 letters, digits, dots, dashes and underscores")
    .describe("Its name, unique among all hooks."),
  description: z.string().max(500).optional().describe("What it is for."),
  enabled: z
    .boolean()
    .default(true)
    .describe(
      "Whether the hook is on. The newest word holds: a saved change ends what `/hooks enable` or `/hooks disable` switched, also a change that was saved while the gateway was down. While they differ, `/status`, `/hooks show` and `/hooks why` name who switched it.",
    ),
  on: z.string().min(1).optional().describe("The hook point that starts it. This or `trigger`."),
  trigger: triggerOptions.optional().describe("What else starts it: every, cron, at, event, files, or manual."),
  phase: z.enum(["before", "after"]).optional().describe("Lifecycle points only."),
  match: matcher
    .optional()
    .describe(
      "Which payloads start it. Not for every, cron, at and manual, which start a hook without comparing anything.",
    ),
  context: z.array(z.unknown()).max(20).default([]).describe("Steps that gather something first, in order."),
  skip_when: z
    .enum(["any", "all"])
    .default("any")
    .describe("How many of the steps' `skip_if` must hold to skip the run."),
  run: z.unknown().optional().describe("Exactly one handler."),
  execution: z
    .enum(["blocking", "deadline", "fire_and_record", "background"])
    .optional()
    .describe("Default: blocking where the point can be vetoed, deadline at orchestrator:shutdown, else background."),
  timeout: someDeadline()
    .optional()
    .describe("The deadline of the whole run, with the wait for its turn where execution is not background."),
  on_failure: z.enum(["open", "closed", "fallback"]).default("open"),
  fallback: z
    .unknown()
    .refine((value) => value !== null, EMPTY)
    .optional()
    .describe(
      "With on_failure fallback: the result to use instead, in the point's own fields. Its texts are no templates.",
    ),
  cooldown: duration("0s").describe(
    "The least time between two starts, also by hand. A retry of the same run does not wait for it.",
  ),
  concurrency: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe(
      "How many of its runs may be under way at once. Where the gateway waits for the hook, a run that waits for its turn uses up its timeout: raise both for a slow hook that decides about messages.",
    ),
  max_per_hour: z.int().min(1).optional().describe("How many of its runs may start in an hour."),
  when_busy: z
    .enum(["skip", "queue", "coalesce"])
    .optional()
    .describe(
      "When as many run as may: skip, wait, or run once for the newest waiting event. Under coalesce the events before it are skipped, and their payloads reach no run: use queue where each one counts. Default: skip for every, cron and manual, else queue.",
    ),
  max_queued: z
    .int()
    .min(1)
    .max(10_000)
    .default(10_000)
    .describe(
      "With when_busy queue: how many may wait. One sender may have a tenth of it waiting in the background (at least 20 runs, but at most half of it).",
    ),
  retry: retry.optional().describe("Background only: tries a failed run again."),
  notify: notify.optional().describe("Notifies people of its outcomes, in one message that is edited in place."),
  keep: keep.prefault({}).describe("How much of its history is kept."),
  priority: z.int().optional(),
  after: ids.describe("Ids of hooks at the same point that start before it."),
  before: ids.describe("Ids of hooks at the same point that start after it."),
  sees: z.enum(["original", "merged"]).optional().describe("Modifying points only."),
  capabilities: z.array(z.enum(CONTRIBUTION_KINDS)).optional().describe("Turn points only: what it may contribute."),
  critical: z.boolean().default(false).describe("A start without it is refused."),
});
export type DefinitionForm = z.output<typeof definitionForm>;

/** The options that every context step takes beside its own. */
export const commonStepForm = z.strictObject({
  timeout: deadline("30s").describe("Its deadline."),
  max_bytes: z.int().min(1).max(4_000_000).default(65_536).describe("How much of its result is kept."),
  required: z
    .boolean()
    .optional()
    .describe("Whether its failure ends the run as failed. Default: yes for create_task, else no."),
  skip_if: z.string().min(1).optional().describe("When there is nothing to do: the handler is not run."),
});
export const COMMON_STEP_KEYS = Object.keys(commonStepForm.shape);
