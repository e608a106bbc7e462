/** `sla:` in hookgate.yaml: business calendars, policies, and the definition of a conversation. */
import { z } from "zod";
import { WATCHED, WATCHED_TYPES, type WatchedType } from "../../domain/alerts/watched.js";
import { ROLES } from "../../domain/chat/identity.js";
import { duration, someDuration } from "../../lib/validation/config-fields.js";
import { BUTTONS } from "../config.js";
import { calendarConfig } from "./calendars/config.js";
import { matchProblems } from "./policies/match.js";
import { parseThreshold } from "./policies/threshold.js";

const severity = z.enum(["info", "warning", "high", "critical"]);

const threshold = z.string().transform((text, context) => {
  const parsed = parseThreshold(text);
  if (parsed !== undefined) return parsed;
  context.addIssue({
    code: "custom",
    message: `expected a share such as 80% or a time such as 15m before, got "${text}"`,
    input: text,
  });
  return z.NEVER;
});

/** `assignTo (its runner, or …), priority (…), …`. */
function factsOf(type: WatchedType): string {
  const facts = Object.entries<z.ZodType>(WATCHED[type].shape.facts.shape);
  return facts.map(([name, { description }]) => (description ? `${name} (${description})` : name)).join(", ");
}

const fieldsOf = (type: WatchedType) => Object.keys(WATCHED[type].shape).filter((name) => name !== "facts");

const policyConfig = z
  .strictObject({
    id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/i, "expected letters, digits, dots, dashes and underscores")
      .describe("The name of the policy, in alerts and in `/sla`."),
    for: z.enum(WATCHED_TYPES).describe("Whether the policy is for tasks, missions or conversations."),
    measure: z
      .enum(["first_response", "next_response", "resolution"])
      .optional()
      .describe(
        "For conversations: what must happen within the target. Each message waits under one of the first two: `first_response` until a person has answered for the first time, `next_response` from then on. When a hook answers first, the `first_response` clock ends, and runs again from the next message that waits for people; reports count it once, by how it ends last (a target that was missed stays late).",
      ),
    from: z
      .enum(["created", "started"])
      .default("created")
      .describe("For tasks and missions with a target: when the clock starts."),
    match: z
      .string()
      .optional()
      .describe(
        `CEL over \`entity\` (${[...new Set(WATCHED_TYPES.flatMap(fieldsOf))].join(", ")}, facts): \`entity.facts.priority >= 5\`. ${WATCHED_TYPES.map((type) => `Facts of a ${type}: ${factsOf(type)}.`).join(" ")} An entity without the field does not match; ask for the field first where it should: \`!has(entity.facts.group) || entity.facts.group != "night"\`. The first policy that matches holds, for each measure.`,
      ),
    target: someDuration()
      .optional()
      .describe("Working time allowed. Without it, tasks and missions are held against their own deadline."),
    calendar: z.string().default("always").describe("One of `sla.calendars`; `always` is round the clock."),
    warn_at: z
      .array(threshold)
      .default([])
      .describe("When to warn: shares of the working time allowed (80%), or working time before the end (15m before)."),
    pause_when: z
      .array(z.string())
      .optional()
      .describe(
        "States in which the clock does not run: paused, awaiting_approval, pending_customer, … Default: every state in which the work waits for another person.",
      ),
    severity: z
      .union([
        severity,
        z.strictObject({
          warning: severity.default("warning").describe("Severity of a warning."),
          violated: severity.default("high").describe("Severity of a violation."),
        }),
      ])
      .default("high")
      .describe("Severity of a violation; or `{ warning, violated }`. A change holds for open alerts too."),
    on_violated: z
      .literal("fail")
      .optional()
      .describe("For tasks: `fail` ends an overdue task as failed; it is not retried by itself."),
    remind: z
      .strictObject({
        every: someDuration().optional().describe("The time between two reminders."),
        times: z.int().min(0).max(100).optional().describe("How many reminders are sent at most; 0 for none."),
        at_least: severity.optional().describe("The lowest severity for which reminders are sent."),
      })
      .optional()
      .describe("Reminders of overdue items of this policy; they replace those of the routes."),
    routes: z.array(z.string()).optional().describe("Where alerts go (`alerts.routes`); the default route otherwise."),
    buttons: z
      .array(z.enum(BUTTONS))
      .optional()
      .describe("Which buttons the cards have; they replace those of the routes."),
    runbook: z.url().optional().describe("The web address of a page with instructions; the card links to it."),
  })
  .superRefine((policy, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    const isConversation = policy.for === "conversation";
    if (isConversation && policy.measure === undefined)
      refuse("measure", "a policy for conversations needs a measure: first_response, next_response or resolution");
    if (!isConversation && policy.measure !== undefined)
      refuse("measure", `only conversations have one; a ${policy.for} is measured by its deadline or a target`);
    if (isConversation && policy.target === undefined) refuse("target", "a policy for conversations needs a target");
    if (policy.for !== "task" && policy.on_violated !== undefined)
      refuse("on_violated", `only tasks are ended by it; a ${policy.for} goes on`);
    // Without its match the policy would apply to every entity.
    for (const message of policy.match === undefined ? [] : matchProblems(policy.match, policy.for))
      context.addIssue({ code: "custom", path: ["match"], message, params: { withParent: true } });
    if (policy.target !== undefined && policy.target <= 0) refuse("target", "expected more than no time");
  });
export type PolicyConfig = z.output<typeof policyConfig>;

const conversationsConfig = z.strictObject({
  staff: z
    .strictObject({
      role: z
        .enum(ROLES)
        .or(z.literal("none"))
        .default("operator")
        .describe("People with this role or a higher one answer for you; `none`: only the people listed."),
      people: z
        .array(z.string().regex(/^[a-z]+:.+$/, "expected platform:user id"))
        .default([])
        .describe("More people who answer for you, without a role: discord:123456789."),
    })
    .prefault({})
    .describe("The people whose messages count as answers to customers."),
  claims: z
    .enum(["answered", "ignored"])
    .default("answered")
    .describe(
      "A message that a hook claimed: taken care of, or answered by its reply once that is sent (reports count such answers apart); or as if no hook had been there. What the customer wrote besides, before or after, and no hook claimed, still waits for people.",
    ),
  hooks: z
    .enum(["answered", "ignored"])
    .default("ignored")
    .describe(
      "Whether a message that a hook sends on its own, not as the reply of a claim (a slow agent), counts as an answer (`answered`) or not, like an automatic receipt (`ignored`).",
    ),
  resolved_after: duration("24h").describe(
    "A conversation ends when the customer is silent for this long after your last message.",
  ),
  resolved_by: z
    .array(z.string())
    .default(["✅", "🫡"])
    .describe(
      "Reactions by which one of your people ends a conversation, on a message of a room. Telegram has no ✅ among its reactions: there it is 🫡. A reaction to a forwarded copy ends nothing: use `/sla close`, or End conversation on the card.",
    ),
});
export type ConversationsConfig = z.output<typeof conversationsConfig>;

export const slaConfig = z
  .strictObject({
    calendars: z
      .record(z.string(), calendarConfig)
      .default({})
      .describe("Business calendars by name, for policies and snoozes."),
    policies: z
      .array(policyConfig)
      .default([])
      .describe("SLA policies: how long work and answers may take. Without any, nothing is watched."),
    conversations: conversationsConfig.prefault({}).describe("When customers wait for us, and when we have answered."),
    goal: z
      .string()
      .regex(/^(100|[1-9]?\d)(\.\d+)? ?%$/, "expected a share such as 95%")
      .default("95%")
      .describe("The share of targets that you want to meet: the line in the picture of `/sla report`."),
    after_start: duration("5s").describe(
      "After a start: how long to wait for messages sent while the gateway was down, before overdue work is announced.",
    ),
    keep: duration("400d").describe("How long clocks that ended are kept, for reports."),
  })
  .superRefine(({ calendars, policies }, context) => {
    const refuse = (path: (string | number)[], message: string) => context.addIssue({ code: "custom", path, message });
    if ("always" in calendars) refuse(["calendars", "always"], "the calendar `always` is there already");
    const ids = new Set<string>();
    policies.forEach(({ id, calendar }, index) => {
      if (ids.has(id)) refuse(["policies", index, "id"], `there are two policies "${id}"`);
      ids.add(id);
      if (calendar !== "always" && !(calendar in calendars))
        refuse(
          ["policies", index, "calendar"],
          `there is no calendar "${calendar}"; known: ${["always", ...Object.keys(calendars)].join(", ")}`,
        );
    });
  });
export type SlaConfig = z.output<typeof slaConfig>;
