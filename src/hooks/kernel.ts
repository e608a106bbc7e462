/** The state and the dependencies that every dispatch of a registry shares. */
import type { JournalPort } from "../domain/journal.js";
import type { DeadlineWheel } from "../fast/deadline-wheel.js";
import type { Waits } from "../fast/waits.js";
import type { InFlight } from "../lib/concurrency/in-flight.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import type { BackgroundPort } from "./background.js";
import type { Entry } from "./registration/entry.js";
import type { HookRun } from "./run.js";

/** Asked by `explain`; an answer changes nothing. */
export interface PluginLimits {
  /** Why a plugin's hook is not called now, in a sentence; undefined when it is. */
  refusal(hookId: string): string | undefined;
  /** All lists of allowed plugins, by the place that they hold for. */
  allowedPlugins(): Readonly<Record<string, readonly string[]>>;
}

export interface Kernel {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wheel: DeadlineWheel;
  readonly journal: JournalPort | undefined;
  readonly background: BackgroundPort;
  readonly waits: Waits<HookRun, Entry>;
  /** Runs that go on beside their callers (`fire_and_record`). */
  readonly detached: InFlight;
  /** Which plugins' hooks may run for a conversation (a formatted address); undefined: all. */
  readonly allowedPlugins: ((conversation: string) => readonly string[] | undefined) | undefined;
  /** Other limits that keep plugins' hooks from being called, for explanations. */
  readonly limits: PluginLimits | undefined;
  /** Called with the id of a plugin's hook that gave no answer before its deadline. */
  readonly onTimeout: ((hookId: string, isOfStranger: boolean) => void) | undefined;
  /** The gateway is stopping: a run that a signal or an abort ends now has not failed. */
  isStopping: boolean;
}
