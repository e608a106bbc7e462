/** `/sla policies`: what may take how long. */
import type { PolicyView } from "../../src/alerts/sla/desk-views.js";
import { SLA_MEASURE_NAMES } from "../../src/domain/sla.js";
import type { CommandAnswer } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/duration.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, count, plain } from "../text.js";
import { deskOf } from "./texts.js";

export async function listPolicies(deps: CommandDeps): Promise<CommandAnswer> {
  const policies = await deskOf(deps).policies();
  return answer({
    text: [
      policies.length === 0
        ? `**There are no SLA policies.** They stand under ${code("sla:")} in the configuration.`
        : `**${count(policies.length, "policy", "policies")}**; of each measure the first that matches holds.`,
      ...policies.map(describe),
    ],
    data: { policies },
    buttons: [[commandButton("Clocks", "/sla list"), commandButton("Report", "/sla report")]],
  });
}

function describe(policy: PolicyView): string {
  const { calendar, timezone, warnAt, match, pauseWhen, severity, routes } = policy;
  const target = policy.targetMs === undefined ? "its own deadline" : formatDuration(policy.targetMs);
  return [
    `${code(policy.id)} · ${policy.for}: ${SLA_MEASURE_NAMES[policy.measure]} within ${target}, ${calendar === "always" ? "round the clock" : `calendar ${plain(calendar)}${timezone ? ` (${timezone})` : ""}`}`,
    match && `  when ${code(match)}`,
    `  warns ${warnAt.length > 0 ? `at ${warnAt.join(", ")}` : "never"} · ${severity.violated}${routes ? ` · to ${plain(routes.join(", "))}` : ""}${pauseWhen ? ` · pauses when ${plain(pauseWhen.join(", "))}` : ""}`,
    `  ${policy.open} open, ${policy.overdue} overdue`,
  ]
    .filter(Boolean)
    .join("\n");
}
