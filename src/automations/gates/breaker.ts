/**
 * A circuit breaker per hook: after failures in a row it refuses every run for a while, then lets one through; that one closes it
 * again or opens it for twice as long. (cockatiel's reads the time by itself and makes callers wait for the trial run; here a
 * message must never wait for another's.) What it counts are rows: a restart closes none, and tells nobody anew.
 */
import { z } from "zod";
import type { KeyValueStore } from "../../domain/store.js";
import type { Clock } from "../../lib/clock.js";
import { formatDuration } from "../../lib/duration.js";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import type { Definition } from "../definition/definition.js";
import { type RunOutcome, reasonOf } from "../run/outcome.js";
import type { Refusal } from "./refusal.js";

export interface BreakersOptions {
  readonly breaker: { failures: number; pauseMs: number };
  keyValue: Pick<KeyValueStore, "list" | "set" | "delete">;
  clock: Clock;
  logger: Logger;
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
const SCOPE = "automations.breaker";
const stored = z.object({ failures: z.number(), openUntil: z.number(), openings: z.number() });

export class Breakers {
  readonly #options: BreakersOptions;
  readonly #states = new Map<string, State>();

  constructor(options: BreakersOptions) {
    this.#options = options;
  }

  /** Reads the rows, at the start; those of hooks that are gone are forgotten. */
  async learn(isThere: (hookId: string) => boolean): Promise<void> {
    for (const { key: hookId, value } of await this.#options.keyValue.list(SCOPE, "")) {
      const { data } = stored.safeParse(value);
      if (data !== undefined && isThere(hookId)) this.#states.set(hookId, { ...data, isTrying: false });
      else await this.#options.keyValue.delete(SCOPE, hookId);
    }
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

  /** Resolves when it is on disk. Never rejects. */
  async note(definition: Definition, outcome: RunOutcome | undefined, now: number): Promise<void> {
    const { id } = definition;
    if (outcome?.status === "succeeded" || outcome?.status === "blocked") {
      if (this.#states.delete(id)) await this.#keep(id);
    } else if (outcome?.status === "failed" || outcome?.status === "timed_out" || outcome?.status === "queued") {
      this.#failed(definition, reasonOf(outcome) ?? "", now);
      await this.#keep(id);
    } else {
      const state = this.#states.get(id);
      if (state !== undefined) state.isTrying = false;
    }
  }

  async #keep(hookId: string): Promise<void> {
    const { keyValue, logger } = this.#options;
    const state = this.#states.get(hookId);
    try {
      if (state === undefined) await keyValue.delete(SCOPE, hookId);
      else await keyValue.set(SCOPE, hookId, stored.parse(state));
    } catch (error) {
      // It holds in this process all the same.
      logger.warn({ hook: hookId, error: errorMessage(error) }, "the state of a breaker could not be stored");
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
