/** An operator resolves an alert about an SLA clock: the conversation ends with it, and a task or a mission ends by its own commands. */
import type { SlaDesk } from "../alerts/sla/desk.js";
import type { Actor, Alert } from "../domain/alert.js";
import { formatDuration } from "../lib/duration.js";
import { HookgateError } from "../lib/errors.js";

/** Throws ALERT_CAUSE_OPEN where that would hide what is still late. False where no clock is behind the alert. */
export async function endCause(
  { id, signal }: Alert,
  by: Actor,
  reason: string | undefined,
  sla: Pick<SlaDesk, "find" | "close">,
): Promise<boolean> {
  if (signal.source.kind !== "sla") return false;
  const [view] = await sla.find(signal.source.id);
  if (view === undefined || view.clock.id !== signal.source.id || view.clock.state === "ended") return false;
  const { entity } = view.clock;
  if (entity.type !== "conversation")
    throw new HookgateError({
      code: "ALERT_CAUSE_OPEN",
      message: `The ${entity.type} "${entity.title}" is not done, so its alert cannot be resolved.`,
      hint:
        entity.type === "task"
          ? `\`/task done ${entity.id}\` or \`/task cancel ${entity.id}\` ends it, \`/sla extend ${view.clock.id} 2h\` gives it more time, \`/snooze ${id} 1h\` puts the alert off.`
          : `\`/mission show ${entity.id}\` shows it, \`/sla extend ${view.clock.id} 2h\` gives it more time, \`/snooze ${id} 1h\` puts the alert off.`,
    });
  if (entity.status === "waiting" && reason === undefined)
    throw new HookgateError({
      code: "ALERT_CAUSE_OPEN",
      message: `${entity.title} still waits for an answer (${formatDuration(view.usedMs)}). Resolving the alert ends the conversation and all its clocks.`,
      hint: `If that is right, give the reason: \`/alerts resolve ${id} called back by phone\`. \`/snooze ${id} 1h\` only puts the alert off.`,
    });
  return sla.close(entity.id, reason === undefined ? by.name : `${by.name}: ${reason}`);
}
