/** Has submitted work judged: passed is done, not passed is done again with the feedback, and a hook's veto leaves it to a person. */
import { assessmentId } from "../../domain/orchestrator/assessment.js";
import type { Assessed, Task } from "../../domain/orchestrator/task.js";
import { errorMessage } from "../../lib/errors.js";
import type { StepDeps } from "./step-deps.js";

export async function assess(task: Task, deps: StepDeps): Promise<void> {
  const { store, clock, logger, stopping, transitions, finish } = deps;
  if (deps.assess === undefined || task.hold !== undefined) return store.setDue(task.id, undefined);
  const still = (now: Task) => now.status === "review" && now.attempt === task.attempt;
  const isInReview = async () => {
    const now = await store.get(task.id);
    return now !== undefined && still(now);
  };
  const assessed = await deps.assess(task, stopping, isInReview).catch((error: unknown): Assessed => {
    logger.error({ task: task.id, error: errorMessage(error) }, "an assessment failed");
    return { kind: "held", by: "orchestrator", reason: `it could not be judged: ${errorMessage(error)}` };
  });
  // The end of the gateway cut the assessment off: the next start judges the task again.
  if (stopping.aborted || assessed.kind === "left") return;
  if (assessed.kind === "held") {
    const { by, reason, point = "assessment:run", crashes } = assessed;
    const kind = crashes === undefined ? "veto" : "interruption";
    await transitions.amend(
      task.id,
      { by, reason },
      {
        kind: "refused",
        note: "not judged: it waits for a person",
        still,
        change: () => ({ hold: { kind, by, reason, at: clock.now(), point }, reason }),
        timing: () => ({}),
      },
    );
    await deps.attempts.forget(assessmentId(task));
    return;
  }
  const { assessment } = assessed;
  if (assessment.passed) {
    await transitions.transition(task.id, {
      to: "done",
      actor: { by: "assessment", reason: resultOf(assessment) },
      still,
      change: () => ({ assessment }),
      onVeto: "hold",
    });
    return;
  }
  const feedback = assessment.feedback ?? "";
  await finish.fail(task.id, {
    actor: { by: "assessment" },
    error: `${resultOf(assessment)}${feedback === "" ? "" : `: ${feedback.slice(0, 1_000)}`}`,
    still,
    assessment,
    feedback,
  });
}

/** A result that a hook changed is not shown as the result of the work. */
function resultOf({ passed, globalScore = passed ? 1 : 0, byHook }: NonNullable<Task["assessment"]>): string {
  const result = passed ? "passed" : "failed";
  const score = `score ${Math.round(globalScore * 100)} %`;
  if (byHook) return `a hook at assessment:complete set the result to ${result} (${score})`;
  return passed ? `expectations met (${score})` : `expectations not met (${score})`;
}
