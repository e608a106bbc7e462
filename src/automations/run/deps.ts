/** The input of a run: how it was started, and the parts of the product that the pipeline works with. */
import type { AutomationRun, AutomationRunStore, TriggerKind } from "../../domain/automation.js";
import type { Cause } from "../../domain/journal.js";
import type { HookPoint } from "../../hooks/point.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";
import type { Definition } from "../definition/definition.js";
import type { Gates } from "../gates.js";
import type { Decision } from "../handler.js";
import type { Notifier } from "../notify.js";
import type { Reach } from "../run-context.js";
import type { RunOutcome } from "./outcome.js";
import type { Progress } from "./progress.js";

/** How a run was started. */
export interface RunStart {
  readonly definition: Definition;
  readonly point: HookPoint;
  /** The id of its row. */
  readonly id: string;
  readonly trigger: TriggerKind;
  readonly reason: string;
  readonly payload: unknown;
  readonly dispatchId: string;
  /** As `attempt` of hooks/signatures.ts: above 1 when the same work was started before a crash, a stop or a failure. */
  readonly attempt: number;
  readonly cause?: Cause | undefined;
  /** The row that its trigger stored, taken under our lease. */
  readonly stored?: AutomationRun | undefined;
  readonly dryRun: boolean;
  /** Fires at the deadline, when the caller gives up and when the gateway stops. */
  readonly signal: AbortSignal;
  /** See `RunContext`. */
  cutOff?(): void;
  readonly progress?: Progress | undefined;
  /** The run waits for its turn under this setting (`concurrency: 1`); undefined: it waits no longer. */
  waits?(limit: string | undefined): void;
  /**
   * Checks a decision for the dispatch that waits for the run: see `HookContext.check`. Absent when nothing waits for decisions of the
   * hook.
   */
  check?(decision: Decision): string | undefined;
}

export interface RunDeps {
  readonly runs: AutomationRunStore;
  readonly gates: Gates;
  readonly leases: Leases;
  /** Fires when the gateway stops. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
  reachOf(definition: Definition): Reach;
  /** Masks the secrets of the configuration. */
  mask(text: string): string;
  /** Nothing runs until a person gives `resume`. */
  isPaused(): boolean;
  /** Notifies people of the outcome. Never rejects. */
  readonly notify: Notifier["outcome"];
  /** The other side is gone for good. */
  disable(definition: Definition, reason: string): Promise<void>;
  /** The hook was not started because it is part of a loop: admins are notified. Never rejects. */
  loopCut(definition: Definition, reason: string): Promise<void>;
  /** Fires `hook_run_completed`. Never throws. */
  completed(definition: Definition, run: AutomationRun, outcome: RunOutcome): void;
}

/** Under which name this process holds runs. */
export interface Leases {
  readonly owner: string;
  readonly leaseMs: number;
  /** The lease is renewed from now on. */
  hold(runId: string): void;
  drop(runId: string): void;
}
