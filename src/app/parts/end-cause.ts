/**
 * An operator resolves an alert about an SLA clock. The clock of a warning runs on, and a breach opens the alert again. An overdue
 * conversation ends with its alert; an overdue task or mission ends by its own commands.
 */

import type { SlaDesk } from "../../alerts/sla/desk.js";
import type { ClockView } from "../../alerts/sla/desk-views.js";
import type { Actor, Alert, CauseEnd } from "../../domain/alerts/alert.js";
import { HookgateError } from "../../lib/errors.js";
import { writeMoment } from "../../lib/markdown/tokens.js";
import { formatDuration } from "../../lib/time/duration.js";

/**
 * Throws ALERT_CAUSE_OPEN where resolving the alert would hide a task, mission or conversation that is still late. Undefined where no open
 * clock is behind the alert.
 */
export async function endCause(
  { id, condition, signal }: Alert,
  by: Actor,
  reason: string | undefined,
  sla: Pick<SlaDesk, "find" | "close">,
): Promise<CauseEnd | undefined> {
  if (signal.source.kind !== "sla") return undefined;
  const [view] = await sla.find(signal.source.id);
  if (view === undefined || view.clock.id !== signal.source.id || view.clock.state === "ended") return undefined;
  if (condition === "warned") return runsOn(view, reason);
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
  if (!(await sla.close(entity.id, reason === undefined ? by.name : `${by.name}: ${reason}`))) return undefined;
  const end = entity.status === "waiting" ? "is closed without an answer" : "is resolved";
  return {
    isEnded: true,
    reason: withReason(reason, `the conversation ${end}`),
    note: `The conversation ${end}, with all its clocks.`,
  };
}

/** The alert's card stays as it is when the clock ends in time, so this text describes the state when the warning was resolved. */
function runsOn({ clock, timezone }: ClockView, reason: string | undefined): CauseEnd {
  const { id, entity, dueAt } = clock;
  const isConversation = entity.type === "conversation";
  const who = isConversation ? (entity.status === "waiting" ? "customer" : "conversation") : entity.type;
  const [was, is] = {
    customer: ["still waited", "still waits"],
    conversation: ["went on", "goes on"],
    task: ["was not done", "is not done"],
    mission: ["was not done", "is not done"],
  }[who] as [string, string];
  const due = dueAt === undefined ? "" : `, due ${new Date(dueAt).toISOString()}`;
  const when = dueAt === undefined ? "" : ` at ${writeMoment({ kind: "moment", atMs: dueAt, style: "f", timezone })}`;
  return {
    isEnded: false,
    reason: withReason(reason, `the ${who} ${was}${due}`),
    note: [
      `The ${who} ${is}: the clock runs on, and the alert fires again when it is overdue${when}.`,
      isConversation && `\`/sla close ${id} REASON\` ends the conversation.`,
    ]
      .filter(Boolean)
      .join(" "),
  };
}

const withReason = (reason: string | undefined, what: string) => (reason === undefined ? what : `${reason}; ${what}`);
