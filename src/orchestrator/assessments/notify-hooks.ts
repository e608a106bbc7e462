/** Hooks (`after`) are notified of assessments that they let pass. */
import { assessmentId, type PassedAssessment } from "../../domain/orchestrator/assessment.js";
import type { NewPending } from "../../domain/pending.js";
import type { Attempts } from "../../hooks/attempts.js";
import type { HookRegistry } from "../../hooks/registry.js";
import type { Pending } from "../../pending/pending.js";
import { firedFor } from "../tasks/ask-hooks.js";

const HOOKS = "assessment.hooks";
export const ASSESSMENT_KINDS = [HOOKS] as const;

/** Written with the assessment that hooks let pass. */
export function notificationOf(passed: PassedAssessment): NewPending {
  const step = passed.point === "assessment:run" ? "run" : "complete";
  const id = `${assessmentId({ id: passed.taskId, attempt: passed.attempt })}_${step}_told`;
  return { id, kind: HOOKS, key: id, dueAt: 0, payload: passed };
}

export function handleNotifications(
  pending: Pick<Pending, "handle">,
  registry: Pick<HookRegistry, "dispatch">,
  attempts: Pick<Attempts, "notify">,
): void {
  pending.handle(
    HOOKS,
    async ({ id: dispatchId, attempt, stops, payload: item }) => {
      const { point, payload } = item as PassedAssessment;
      const fired = firedFor(payload.task, {});
      await attempts.notify(point, { dispatchId, attempt, stops }, async () => {
        await registry.dispatch(point, payload, { phase: "after", dispatchId, attempt, ...fired });
      });
    },
    { callsHooks: true },
  );
}
