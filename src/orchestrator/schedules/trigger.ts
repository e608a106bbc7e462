/**
 * A schedule's time came: `schedule:trigger`, then the mission and the next time in one transaction. The next time comes in any case,
 * also after a veto or with a plan that cannot be run.
 */
import type { Schedule, ScheduleOutcome, StartedMission } from "../../domain/orchestrator/schedule.js";
import { errorMessage } from "../../lib/errors.js";
import { isMissed } from "../../lib/time/cron.js";
import { formatDuration } from "../../lib/time/duration.js";
import { notification } from "../missions/notify-hooks.js";
import { failedClosed } from "../tasks/ask-hooks.js";
import type { ScheduleDeps } from "./deps.js";
import { dispatchIdOf, missionIdOf, nextTime, withNext } from "./times.js";

/** `startedAt`: the start of this process. */
export async function trigger(
  schedule: Schedule,
  dueAt: number,
  startedAt: number,
  deps: ScheduleDeps,
): Promise<ScheduleOutcome> {
  const now = deps.clock.now();
  const { outcome, started } =
    !schedule.catchUp && isMissed(dueAt, now, startedAt)
      ? { outcome: passedBy(dueAt, now), started: undefined }
      : await startMission(schedule, dueAt, deps);
  const next = withNext({ ...schedule, last: outcome }, nextTime(schedule, Math.max(dueAt, now)));
  const dispatchId = dispatchIdOf(schedule.id, dueAt);
  const [isStarted] = await Promise.all([deps.store.fire(next, dueAt, started), deps.attempts.forget(dispatchId)]);
  if (isStarted && started !== undefined) deps.missions.started(started);
  return outcome;
}

/** The result to store, if the hooks and the plan allow it. `hand`: a person does not wait for the schedule's time. */
export function startMission(schedule: Schedule, dueAt: number, deps: ScheduleDeps, hand?: ByHand): Promise<Beginning> {
  const ask = () => askHooks(schedule, dueAt, deps, hand);
  if (hand) return ask();
  const dispatchId = dispatchIdOf(schedule.id, dueAt);
  return deps.attempts.inTurn([{ point: "schedule:trigger", dispatchId }], dispatchId, ask);
}

interface ByHand {
  by: string;
  once: string;
  attempt: number | undefined;
}

interface Beginning {
  outcome: ScheduleOutcome;
  started?: StartedMission;
}

async function askHooks(
  schedule: Schedule,
  dueAt: number,
  deps: ScheduleDeps,
  hand: ByHand | undefined,
): Promise<Beginning> {
  const { id: scheduleId, planId, expression, address } = schedule;
  const start = hand?.once ?? dueAt;
  const missionId = missionIdOf(scheduleId, start);
  const facts = { dueAt, at: deps.clock.now() };
  const payload = { scheduleId, missionId, expression, planId, dueAt };
  const dispatchId = dispatchIdOf(scheduleId, start);
  try {
    const own = hand?.attempt === undefined ? await deps.attempts.count("schedule:trigger", dispatchId) : undefined;
    const given = own === undefined ? undefined : await deps.attempts.tooMany("schedule:trigger", dispatchId, own);
    if (given !== undefined) return { outcome: { ...facts, kind: "vetoed", by: "hookgate", reason: given.reason } };
    const asked = await deps.registry
      .runBefore("schedule:trigger", payload, { dispatchId, attempt: hand?.attempt ?? own })
      .catch(failedClosed);
    if (asked.cancelled) {
      const { cancelReason: reason = "schedule:trigger was vetoed", cancelledBy = "a hook" } = asked;
      return { outcome: { ...facts, kind: "vetoed", by: cancelledBy, reason } };
    }
    const mission = deps.missions.draft({
      id: missionId,
      planId,
      by: hand?.by ?? `schedule:${scheduleId}`,
      scheduleId,
      address,
    });
    const notice = { point: "schedule:trigger" as const, dispatchId: `${dispatchId}_told`, payload };
    const pending = [notification(mission, notice)];
    return { outcome: { ...facts, kind: "started", missionId }, started: { mission, pending } };
  } catch (error) {
    // A broken plan, or a guard that failed closed: the error is reported where it is seen, and the schedule goes on.
    deps.logger.error({ schedule: scheduleId, error: errorMessage(error) }, "a schedule could not start its mission");
    return { outcome: { ...facts, kind: "failed", reason: errorMessage(error) } };
  }
}

function passedBy(dueAt: number, now: number): ScheduleOutcome {
  return { dueAt, at: now, kind: "passed_by", reason: `it was missed by ${formatDuration(now - dueAt)}` };
}
