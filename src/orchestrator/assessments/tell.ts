/**
 * Tells hooks (`after`) of assessments that they let go. What is to be told is on disk before it is, and marked afterwards: what a
 * crash left unmarked is told again at the next start, under the same dispatch id.
 */
import { type AssessmentStore, type AssessmentTelling, assessmentId } from "../../domain/assessment.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import { firedFor } from "../tasks/ask-hooks.js";

export interface AssessmentTellings {
  /** It is on disk when this resolves; hooks are told beside that, once. */
  owe(telling: AssessmentTelling): Promise<void>;
  /** What a crash left untold. */
  resume(): Promise<void>;
  drained(): Promise<void>;
}

interface Parts {
  store: Pick<AssessmentStore, "owe" | "untold" | "telling" | "told">;
  registry: Pick<HookRegistry, "dispatch">;
  now(): number;
  logger: Logger;
}

/** More were not under way at one moment. */
const MOST_UNTOLD = 10_000;

export function createAssessmentTellings({ store, registry, now, logger }: Parts): AssessmentTellings {
  const open = new Map<string, Promise<void>>();

  function tell(one: AssessmentTelling): void {
    const id = assessmentId({ id: one.taskId, attempt: one.attempt });
    const dispatchId = `${id}_${one.point === "assessment:run" ? "run" : "complete"}_told`;
    if (open.has(dispatchId)) return;
    const told = fire(one, dispatchId)
      .then(() => store.told(one))
      // It stays untold, and the next start tells it.
      .catch((error: unknown) =>
        logger.error({ task: one.taskId, error: errorMessage(error) }, `${one.point} hooks could not be notified`),
      )
      .finally(() => open.delete(dispatchId));
    open.set(dispatchId, told);
  }

  async function fire(one: AssessmentTelling, dispatchId: string): Promise<void> {
    const attempt = await store.telling(one);
    const of = firedFor(one.payload.task, {});
    await registry.dispatch(one.point, one.payload, { phase: "after", dispatchId, attempt, ...of });
  }

  return {
    async owe(one) {
      await store.owe(one, now());
      tell(one);
    },
    async resume() {
      for (const one of await store.untold(MOST_UNTOLD)) tell(one);
    },
    async drained() {
      while (open.size > 0) await Promise.all(open.values());
    },
  };
}
