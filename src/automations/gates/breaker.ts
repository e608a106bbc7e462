/**
 * A circuit breaker per hook: after failures in a row it refuses every run for a while, then lets one through; that one closes it
 * again or opens it for twice as long. (cockatiel's reads the time by itself and makes callers wait for the trial run; here a
 * message must never wait for another's.)
 */
import type { Clock } from "../../lib/clock.js";
import { formatDuration } from "../../lib/duration.js";
import type { Definition } from "../definition/definition.js";
import { type RunOutcome, reasonOf } from "../run/outcome.js";
import type { Refusal } from "./refusal.js";

export interface BreakersOptions {
  breaker: { failures: number; pauseMs: number };
  clock: Clock;
  onBreak(definition: Definition, error: string, pauseMs: number): void;
}

interface State {
  /** Failures in a row. */
  failures: number;
  openUntil: number;
  /** How often it opened without having been closed. */
  openings: number;
  isTrying: boolean;
}

const MAX_PAUSE_MS = 3_600_000;

export class Breakers {
  readonly #options: BreakersOptions;
  readonly #states = new Map<string, State>();

  constructor(options: BreakersOptions) {
    this.#options = options;
  }

  /** A person who fires by hand is the trial run. Lets the trial run through, and from then on nobody until it has ended. */
  check({ definition, isManual }: { definition: Definition; isManual: boolean }, now: number): Refusal | undefined {
    const state = this.#states.get(definition.id);
    if (state === undefined || state.openings === 0) return undefined;
    const refuse = (reason: string): Refusal => ({ kind: "refused", gate: "breaker", reason });
    if (state.isTrying && !isManual) return refuse("it failed again and again; one run is under way to try it");
    if (state.openUntil > now && !isManual)
      return refuse(
        `it failed ${state.failures} times in a row; tried again in ${formatDuration(state.openUntil - now)}`,
      );
    return undefined;
  }

  /** The run that was let through has begun. */
  begin(definition: Definition): void {
    const state = this.#states.get(definition.id);
    if (state !== undefined && state.openings > 0) state.isTrying = true;
  }

  note(definition: Definition, outcome: RunOutcome | undefined, now: number): void {
    if (outcome?.status === "succeeded" || outcome?.status === "blocked") this.#states.delete(definition.id);
    else if (outcome?.status === "failed" || outcome?.status === "timed_out" || outcome?.status === "queued")
      this.#failed(definition, reasonOf(outcome) ?? "", now);
    else {
      const state = this.#states.get(definition.id);
      if (state !== undefined) state.isTrying = false;
    }
  }

  #failed(definition: Definition, error: string, now: number): void {
    const { failures: most, pauseMs } = this.#options.breaker;
    const state = this.#states.get(definition.id) ?? { failures: 0, openUntil: 0, openings: 0, isTrying: false };
    this.#states.set(definition.id, state);
    state.failures++;
    const isTrial = state.openings > 0 && state.isTrying;
    state.isTrying = false;
    if (state.failures < most || (state.openings > 0 && !isTrial)) return;
    const pause = Math.min(MAX_PAUSE_MS, pauseMs * 2 ** state.openings);
    state.openings++;
    state.openUntil = now + pause;
    if (state.openings === 1) this.#options.onBreak(definition, error, pause);
  }
}
