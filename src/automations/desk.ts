/** Configured hooks as the commands use them: they look, fire and pause; definitions are changed in files only. */
import type { AutomationRun, AutomationRunStore, StepRecord } from "../domain/automation.js";
import type { Cause } from "../domain/journal.js";
import type { Definition, Place } from "./definition/definition.js";
import type { OpenBreaker } from "./gates/breaker.js";
import type { NextFire, TriggerProblem } from "./triggers/trigger.js";

/** A definition that is not in force, and everything that is wrong with it. */
export interface BrokenHook {
  readonly id: string;
  readonly place: Place;
  readonly critical: boolean;
  /** The file, or the folder, cannot be read at all: `id` names it. */
  readonly isWholeFile?: boolean;
  /** The entry may be, or hold, more than one hook. */
  readonly isSeveral?: boolean;
  readonly problems: readonly (Place & { path: string; message: string })[];
}

export interface HandFiring {
  readonly hookId: string;
  /** Stays the same when a command is repeated after a crash: the run that it started then is reported, and not started a second time. */
  readonly runId?: string;
  /** The payload of the hook's point; for a hook that a time or a person starts, the value that its templates see as `event.input`. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** Steps gather, the handler is not called. Nothing is stored. */
  readonly dryRun: boolean;
  /** `fired by Ann`. */
  readonly reason: string;
  readonly cause: Cause;
  /** Aborts the run. */
  readonly signal: AbortSignal;
  /** The run's id, as soon as it has one. Must not throw. */
  began?(runId: string): void;
  stepBegan?(index: number, step: string, total: number): void;
  stepEnded?(index: number, record: StepRecord): void;
  handlerBegan?(handler: string): void;
}

export interface AutomationDesk {
  get(hookId: string): Definition | undefined;
  list(): readonly Definition[];
  broken(): readonly BrokenHook[];
  /** How many stored runs wait to be started, by hook. */
  waitingRuns(): ReadonlyMap<string, number>;
  /** A crash or a stop cut the run off, and the hook runs again when its dispatch fires again. */
  runsAgain(run: AutomationRun): boolean;
  /** The hook is not in force and may come back, as a broken file or entry may hold it: its runs wait. */
  isAwaited(hookId: string): boolean;
  /** When timed hooks fire next, soonest first. */
  next(): readonly NextFire[];
  /** Triggers that cannot fire at the moment. */
  problems(): readonly TriggerProblem[];
  readonly runs: Pick<AutomationRunStore, "get" | "ledTo" | "list" | "brief" | "started" | "newestWaiting">;
  /**
   * Runs a hook now, and resolves with its row when it has ended; skipped where its cooldown or its hourly rate refuses it. Rejects with
   * HOOK_RUNNING when it has no room, HOOK_OFF when it is switched off, HOOK_PAYLOAD_INVALID for a payload that its point does not take.
   */
  fire(firing: HandFiring): Promise<AutomationRun>;
  /** Which hooks hold all places for stored runs; undefined while one is free. */
  noPlace(): string | undefined;
  /** Which hooks hold all places, where a run that is due waits for one. */
  heldUp(): Promise<string | undefined>;
  /**
   * Which gate would refuse the hook now, or make it wait for its turn; undefined when none would. A hook that is in no file: a
   * background one.
   */
  gate(hookId: string): Promise<{ gate: string; reason: string; waits: boolean } | undefined>;
  /** Hooks, also of plugins, that are not run because they failed again and again. */
  breakers(): readonly OpenBreaker[];
  /** The hook runs again at once. Resolves with false when its breaker was not open. */
  closeBreaker(hookId: string): Promise<boolean>;
  /** A hook that was held because it seems to start itself through files runs again. Resolves with false when it was not held. */
  releaseFiles(hookId: string): Promise<boolean>;
  paused(): { by: string; at: number } | undefined;
  /** No hook of a file runs until `resume`, unless a person fires it. Outlives a restart. */
  pause(by: string): Promise<void>;
  resume(): Promise<void>;
}
