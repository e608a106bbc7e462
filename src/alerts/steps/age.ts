/** The effects of time on an alert: snoozes end, acknowledgements lapse, an alert that its source forgot expires. */
import { type Alert, isOpen } from "../../domain/alerts/alert.js";
import type { Alerting } from "../alerting.js";
import { CLOCK, type Plan } from "../plan.js";
import { remindAnew, restart, resumeAfterSnooze } from "../urging.js";

export function age(plan: Plan, { config }: Alerting): void {
  const { alert, now } = plan;
  if (!isOpen(alert.state)) return;
  takeBack(alert, now);
  const expiresAt = alert.confirmedAt + config.expire_after;
  if (now >= expiresAt) {
    plan.move("expire", CLOCK, "its source has not spoken of it for long");
    alert.endedAt = now;
    return;
  }
  plan.lookAgainAt(expiresAt);
  if (alert.snooze && now >= alert.snooze.until) {
    resumeAfterSnooze(alert, now);
    const { by, byId } = alert.snooze;
    delete alert.snooze;
    if (plan.move("wake", CLOCK, "the snooze ended")) {
      alert.woken = { by, byId };
      remindAnew(alert);
    }
  }
  plan.lookAgainAt(alert.snooze?.until);
  if (alert.ack?.until !== undefined && now >= alert.ack.until) {
    const { by } = alert.ack;
    delete alert.ack;
    alert.lapsedAt = now;
    if (plan.move("lapse", CLOCK, `${by} acknowledged it, and it is not over`)) {
      alert.escalateFrom = now;
      restart(alert);
    }
  }
  plan.lookAgainAt(alert.ack?.until);
}

/** The clock was ahead and is right again: times that seem to be in the future become now, and durations stay. */
function takeBack(alert: Alert, now: number): void {
  for (const field of ["raisedAt", "since", "firedAt", "confirmedAt", "escalateFrom", "lapsedAt"] as const)
    if ((alert[field] ?? now) > now) alert[field] = now;
  if (alert.called && alert.called.at > now) alert.called.at = now;
  for (const hold of [alert.snooze, alert.ack]) {
    if (hold === undefined || hold.at <= now) continue;
    if (hold.until !== undefined) hold.until -= hold.at - now;
    hold.at = now;
  }
  for (const urging of Object.values(alert.urged ?? {}))
    if (urging.since !== undefined && urging.since > now) urging.since = now;
}
