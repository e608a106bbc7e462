/** `/sla policies`: the policies with their targets. */
import type { PolicyView } from "../../src/alerts/sla/desk-views.js";
import { SLA_MEASURE_NAMES } from "../../src/domain/alerts/sla.js";
import type { CommandAnswer } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, count, plain } from "../show/text.js";
import { muteOf, muteText } from "./mute.js";
import { deskOf } from "./texts.js";

export async function listPolicies(deps: CommandDeps): Promise<CommandAnswer> {
  const policies = await deskOf(deps).policies();
  const { alerts, clock } = deps;
  const muted = new Map(
    policies.flatMap(({ id }) => {
      const silence = alerts && muteOf(alerts, id, clock.now());
      return silence === undefined ? [] : [[id, silence] as const];
    }),
  );
  const mute = ({ id }: PolicyView) => {
    const silence = muted.get(id);
    return silence && muteText(silence, alerts?.timezone() ?? "UTC");
  };
  return answer({
    text: [
      policies.length === 0
        ? `**There are no SLA policies.** Add them under ${code("sla:")} in the configuration.`
        : `**${count(policies.length, "policy", "policies")}**; of each measure the first that matches holds.`,
      ...policies.map((policy) => describe(policy, mute(policy))),
    ],
    data: {
      policies: policies.map((policy) => {
        const silence = muted.get(policy.id);
        return silence === undefined
          ? policy
          : { ...policy, muted: { until: silence.until, by: silence.by.id, comment: silence.comment } };
      }),
    },
    buttons: [
      [commandButton("Clocks", "/sla list"), commandButton("Report", "/sla report")],
      [...muted.keys()].slice(0, 4).map((id) => commandButton(`Unmute ${id}`.slice(0, 40), `/sla unmute ${word(id)}`)),
    ],
  });
}

function describe(policy: PolicyView, muted: string | undefined): string {
  const { calendar, timezone, warnAt, match, unanswered, pauseWhen, severity, routes } = policy;
  const target = policy.targetMs === undefined ? "its own deadline" : formatDuration(policy.targetMs);
  return [
    `${code(policy.id)} · ${policy.for}: ${SLA_MEASURE_NAMES[policy.measure]} within ${target}, ${calendar === "always" ? "round the clock" : `calendar ${plain(calendar)}${timezone ? ` (${timezone})` : ""}`}`,
    match && `  when ${code(match)}`,
    unanswered && `  ⚠️ its match had no answer for the ${plain(unanswered)}`,
    `  warns ${warnAt.length > 0 ? `at ${warnAt.join(", ")}` : "never"} · ${severity.violated}${routes ? ` · to ${plain(routes.join(", "))}` : ""}${pauseWhen ? ` · pauses when ${plain(pauseWhen.join(", "))}` : ""}`,
    `  ${policy.open} open, ${policy.overdue} overdue`,
    muted && `  🔇 muted ${muted}`,
  ]
    .filter(Boolean)
    .join("\n");
}
