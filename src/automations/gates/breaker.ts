/**
 * A circuit breaker per hook: after failures in a row it refuses every run for a while, then lets one through; that one closes it again
 * or opens it for twice as long. (cockatiel's reads the time by itself and makes callers wait for the trial run; here a message must never
 * wait for another's.) The breaker counts rows: a restart closes none, and causes no second notification.
 */
import { z } from "zod";
import type { KeyValueStore } from "../../domain/store.js";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import { doubledMs } from "../../lib/time/backoff.js";
import type { Clock } from "../../lib/time/clock.js";
import { formatDuration } from "../../lib/time/duration.js";
import { type RunOutcome, reasonOf } from "../run/outcome.js";
import type { Refusal } from "./refusal.js";

export interface BreakersOptions {
  readonly breaker: { failures: number; pauseMs: number };
  keyValue: Pick<KeyValueStore, "list" | "set" | "setNow" | "delete">;
  /** A hook that is in force, and has a version. */
  definition(hookId: string): WatchedHook | undefined;
  clock: Clock;
  logger: Logger;
  onBreak(hookId: string, pauseMs: number): void;
}

/** A hook that is not run because it failed again and again. */
export interface OpenBreaker {
  readonly hookId: string;
  /** Failures in a row. */
  readonly failures: number;
  /** When one run tries it again (ms since the epoch). */
  readonly openUntil: number;
}

/** `version` changes with the hook's behaviour; without a version, the caller that knows of a change closes the breaker. */
export interface WatchedHook {
  readonly id: string;
  version?(): string;
}

interface State {
  /** Failures in a row. */
  failures: number;
  openUntil: number;
  /** How often it opened without having been closed. */
  openings: number;
  isTrying: boolean;
  /** The version of the hook when it failed. */
  version?: string | undefined;
  /** The breaker opened while the process ended: the next start notifies admins. */
  isUnreported?: boolean | undefined;
}

const MAX_OPEN_MS = 3_600_000;
const SCOPE = "automations.breaker";
const stored = z.object({
  failures: z.number(),
  openUntil: z.number(),
  openings: z.number(),
  version: z.string().optional(),
  isUnreported: z.boolean().optional(),
});

/** For how long a breaker is open that opens for the nth time without having been closed. */
const pauseAt = (openings: number, pauseMs: number) => doubledMs({ firstMs: pauseMs, maxMs: MAX_OPEN_MS }, openings);

const hasChanged = (hook: WatchedHook, { version }: State) => version !== hook.version?.();

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
      if (data !== undefined && isThere(hookId)) this.#states.set(hookId, this.#bounded({ ...data, isTrying: false }));
      else await this.#options.keyValue.delete(SCOPE, hookId);
    }
    this.closeChanged();
    for (const [hookId, state] of this.#states) {
      if (!state.isUnreported) continue;
      state.isUnreported = undefined;
      this.#options.onBreak(hookId, Math.max(0, state.openUntil - this.#options.clock.now()));
      await this.#keep(hookId);
    }
  }

  /** A pause is at most as long as it was at its start: one that ends later was set under a clock that was ahead. */
  #bounded(state: State): State {
    const { breaker, clock } = this.#options;
    const longest = pauseAt(state.openings, breaker.pauseMs);
    return { ...state, openUntil: Math.min(state.openUntil, clock.now() + longest) };
  }

  /** The clock was set: pauses keep their length. */
  shift(stepMs: number): void {
    for (const [hookId, state] of this.#states) {
      state.openUntil += stepMs;
      void this.#keep(hookId);
    }
  }

  /**
   * The refusal of a run; undefined when nothing refuses the run, or when the run would try the hook. A run that a person fires by hand
   * is neither refused nor a trial.
   */
  check(hook: WatchedHook, isManual: boolean, now: number): Refusal | undefined {
    const state = this.#states.get(hook.id);
    if (state === undefined || state.openings === 0 || isManual || hasChanged(hook, state)) return undefined;
    const refuse = (reason: string): Refusal => ({ kind: "refused", gate: "breaker", reason });
    if (state.isTrying) return refuse("it failed again and again; one run is under way to try it");
    // A time that is further off was set under another clock.
    if (state.openUntil > now && state.openUntil - now <= MAX_OPEN_MS)
      return refuse(
        `it failed ${state.failures} times in a row; the hook is paused until ${new Date(state.openUntil).toISOString().slice(11, 19)} UTC`,
      );
    return undefined;
  }

  /** Why the hook does not run now, for people; undefined when it does. */
  explain(hook: WatchedHook, now: number): string | undefined {
    if (this.check(hook, false, now) === undefined) return undefined;
    const { failures = 0, openUntil = 0, isTrying } = this.#states.get(hook.id) ?? {};
    const closes = `/hooks enable ${hook.id} closes its breaker.`;
    if (isTrying) return `It is not called until the call that tries it ends: ${failures} failures in a row. ${closes}`;
    const time = new Date(openUntil).toISOString().slice(11, 16);
    return `It is not called until ${time} UTC (in ${formatDuration(openUntil - now)}): ${failures} failures in a row. ${closes}`;
  }

  /** The trial run has started: until it has ended, no other run is let through. */
  started(hookId: string): void {
    const state = this.#states.get(hookId);
    if (state !== undefined && state.openings > 0) state.isTrying = true;
  }

  /** Resolves when the state is on disk. Never rejects. */
  async note(hook: WatchedHook, outcome: RunOutcome | undefined, now: number): Promise<void> {
    const isToRunAgain = outcome?.status === "queued" && !outcome.wasStopped;
    if (outcome?.status === "succeeded" || outcome?.status === "blocked") await this.close(hook.id);
    else if (outcome?.status === "failed" || outcome?.status === "timed_out" || isToRunAgain)
      await this.failed(hook, reasonOf(outcome) ?? "", now);
    else {
      const state = this.#states.get(hook.id);
      if (state !== undefined) state.isTrying = false;
    }
  }

  /** Resolves when the state is on disk. Never rejects. */
  failed(hook: WatchedHook, error: string, now: number): Promise<void> {
    const pauseMs = this.#failed(hook, error, now);
    if (pauseMs !== undefined) this.#options.onBreak(hook.id, pauseMs);
    return this.#keep(hook.id);
  }

  /** The hook ended the process, which ends now: the failure is written before this returns. Throws when it cannot be written. */
  endedProcess(hook: WatchedHook, now: number): void {
    const hasOpened = this.#failed(hook, "It ended the gateway with process.exit.", now) !== undefined;
    const state = this.#states.get(hook.id);
    this.#options.keyValue.setNow(SCOPE, hook.id, stored.parse({ ...state, isUnreported: hasOpened }));
  }

  /** The hook works again, or an operator gives it another chance. Resolves with whether its breaker was open. Never rejects. */
  async close(hookId: string): Promise<boolean> {
    const state = this.#states.get(hookId);
    if (state === undefined) return false;
    this.#states.delete(hookId);
    const wasOpen = state.openings > 0;
    if (wasOpen) this.#options.logger.info({ hook: hookId }, `The breaker of hook "${hookId}" is closed.`);
    await this.#keep(hookId);
    return wasOpen;
  }

  /** The hook failed last time, or is paused for a while. */
  isWatched(hookId: string): boolean {
    return this.#states.size > 0 && this.#states.has(hookId);
  }

  /** Closes the breakers of hooks that have another version by now: the old version failed. */
  closeChanged(): void {
    for (const [hookId, state] of [...this.#states]) {
      const hook = this.#options.definition(hookId);
      if (hook !== undefined && state.openings > 0 && hasChanged(hook, state)) void this.close(hookId);
    }
  }

  /** Breakers that are open, the longest first. */
  open(): OpenBreaker[] {
    this.closeChanged();
    return [...this.#states]
      .filter(([, { openings }]) => openings > 0)
      .map(([hookId, { failures, openUntil }]) => ({ hookId, failures, openUntil }))
      .sort((a, b) => b.openUntil - a.openUntil);
  }

  async #keep(hookId: string): Promise<void> {
    const { keyValue, logger } = this.#options;
    const state = this.#states.get(hookId);
    try {
      if (state === undefined) await keyValue.delete(SCOPE, hookId);
      else await keyValue.set(SCOPE, hookId, stored.parse(state));
    } catch (error) {
      // The state holds in this process all the same.
      logger.warn({ hook: hookId, error: errorMessage(error) }, "the state of a breaker could not be stored");
    }
  }

  /** For how long the hook is paused (ms), when that is news: its breaker was closed until now. */
  #failed(hook: WatchedHook, error: string, now: number): number | undefined {
    const { failures: most, pauseMs } = this.#options.breaker;
    const version = hook.version?.();
    const fresh: State = { failures: 0, openUntil: 0, openings: 0, isTrying: false, version };
    const known = this.#states.get(hook.id) ?? fresh;
    const state = known.version === version ? known : fresh;
    this.#states.set(hook.id, state);
    state.failures++;
    const isTrial = state.openings > 0 && state.isTrying;
    state.isTrying = false;
    if (state.failures < most || (state.openings > 0 && !isTrial)) return undefined;
    state.openings++;
    const pause = pauseAt(state.openings, pauseMs);
    state.openUntil = now + pause;
    this.#logOpen(hook.id, state, error, pause);
    return state.openings === 1 ? pause : undefined;
  }

  /** A warning once; that it stays open is no news. */
  #logOpen(hook: string, { failures, openUntil, openings }: State, error: string, pauseMs: number): void {
    const { logger } = this.#options;
    const facts = { hook, failures, error, triedAgainAt: new Date(openUntil).toISOString() };
    const next = `One run tries it in ${formatDuration(pauseMs)}; /hooks enable ${hook} runs it at once`;
    if (openings === 1)
      logger.warn(
        facts,
        `Hook "${hook}" failed ${failures} times in a row and is not run for now. ${next}. The last error: ${error}`,
      );
    else logger.info(facts, `Hook "${hook}" failed again when it was tried, and is still not run. ${next}.`);
  }
}
