/**
 * The seam between the pipeline and what starts hooks from outside of it: time, files, events that come in by HTTP.
 *
 * - Time (`every`, `cron`, `at`): `admitDue(definition, …)` gives `{ run, stored }`; `store.triggers.fire(id, expected, state, run)` stores the run and
 *   moves the next time in one transaction. When it gives true, the row is ours, and `stored()` has to be called: it wakes the queue, or
 *   notifies people of a refusal. The holder of the lease runs it. Two processes never both fire one.
 * - Files: `registry.fireVoid("file.changed" | "folder.changed", { …, watchId: definition.id })`. A `files:` hook is registered
 *   there and matches its own watch only.
 * - Events: `registry.fireVoid("event:<name>", payload)`, with a dispatch id derived from the stored event, so that an event
 *   that is fired again starts nothing twice.
 */
import type { AutomationRun, AutomationStore, TimedKind } from "../../domain/automation.js";
import type { NewPending } from "../../domain/pending.js";
import type { KeyValueStore } from "../../domain/store.js";
import type { HookRegistry } from "../../hooks/registry.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";
import type { Pending } from "../../pending/pending.js";
import type { Definition } from "../definition/definition.js";

/** Why a hook starts now. */
export interface DueStart {
  kind: TimedKind;
  /** `cron 0 9 * * * at 2026-11-21T09:00+01:00`. */
  reason: string;
  /** When it was due: after a time of being down, not now. */
  dueAt: number;
}

export interface TriggerDeps {
  store: Pick<AutomationStore, "triggers" | "ingest" | "snapshots" | "runs">;
  registry: HookRegistry;
  keyValue: KeyValueStore;
  pending: Pending;
  /**
   * The row of a run that is to happen at once, with the payload of `DUE_POINT`, ended already when its gates refuse it; nothing is
   * stored yet. `stored` is to be called when it is.
   */
  admitDue(definition: Definition, start: DueStart): Promise<{ run: AutomationRun; stored(): void }>;
  /**
   * Does the same for a time that comes during a pause: the run is ended as skipped. Undefined when this pause is on record for the hook,
   * or is not the reason. The only time of a hook is always recorded.
   */
  draftPaused(definition: Definition, start: DueStart): Promise<{ run: AutomationRun; stored(): void } | undefined>;
  /** A pause that skipped the only time of the hook is on record. */
  wasPaused(definition: Definition, at: number): Promise<boolean>;
  /** Nothing starts the hook until a person lets it run: it seems to start itself through files. */
  held(definition: Definition, reason: string): void;
  /** When its cooldown ends, ms since the epoch; undefined when it has none or it has ended. */
  cooldownUntil(definition: Definition): Promise<number | undefined>;
  /** Switched off, or everything is paused: a time that comes meanwhile passes by. */
  isOff(hookId: string): boolean;
  clock: Clock;
  logger: Logger;
}

/** When a timed hook fires next. */
export interface NextFire {
  hookId: string;
  /** `every 5m`, `cron 0 9 * * * (Europe/Berlin)`, … */
  schedule: string;
  at: number;
  lastAt?: number;
}

/** Why a trigger cannot fire at the moment: a tree that is too big, a time that was past. */
export interface TriggerProblem {
  hookId: string;
  message: string;
  /** Nothing is wrong: the hook waits for a folder that is not there yet. */
  isNote?: true;
}

export interface Triggers {
  /**
   * The hooks that there are now: timers and watches of removed ones end, the others continue. The state of `broken` ids is kept until
   * they are fixed.
   */
  sync(definitions: readonly Definition[], broken?: readonly string[]): Promise<void>;
  /** A hook was switched on: a one-shot whose time came meanwhile fires now. */
  wake(hookId: string): void;
  /** Starts the hook with the changes that were held because it seems to start itself. True when something was held. */
  release(hookId: string): Promise<boolean>;
  /** An event was accepted, with this work. */
  ingested(work: NewPending): void;
  /** How many events of this name were not fired yet. */
  waitingEvents(name: string): number;
  /** The next firings, soonest first. */
  next(): NextFire[];
  problems(): TriggerProblem[];
  /** Nothing fires any more; resolves when everything under way has been fired. */
  stop(): Promise<void>;
}
