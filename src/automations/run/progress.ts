/** Progress of a run for the person who started it by hand. Must not throw. */
import type { AutomationRun, StepRecord } from "../../domain/automation.js";

export interface Progress {
  /** Aborts the run. */
  readonly signal?: AbortSignal;
  /** The run's id, as soon as it has one. */
  began?(runId: string): void;
  /** The step of this index starts; `total` steps in all. */
  stepBegan?(index: number, step: string, total: number): void;
  stepEnded?(index: number, record: StepRecord): void;
  handlerBegan?(handler: string): void;
  /** The history as it ends; of a dry run nowhere else. */
  recorded?(run: AutomationRun): void;
}
