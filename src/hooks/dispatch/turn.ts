/**
 * A phase of a turn: registrations in dependency batches, each batch at once (bounded), their contributions in order of
 * priority, then id. A required or fail-closed hook that fails ends the phase: handlers that still run are abandoned.
 */
import { errorMessage, type HookgateError } from "../../lib/errors.js";
import { type Attributed, applyBudgets } from "../budget.js";
import type { Contribution } from "../contribution.js";
import type { Entry } from "../registration/entry.js";
import { batchEntries, byPriorityThenId } from "../registration/order.js";
import type { Budget } from "../registration/registration.js";
import { checkContributions } from "../results.js";
import { HookRun, type Settled } from "../run.js";
import type { Diagnostic, PhaseResult, TurnRun } from "../signatures.js";
import { Dispatch } from "./dispatch.js";
import { TimedCall } from "./timed-call.js";

export interface PhaseLimits {
  /** How many handlers of a batch run at once. */
  maxParallelism?: number;
  budget?: Budget;
}

const MAX_PARALLELISM = 8;

export class TurnDispatch extends Dispatch {
  readonly #contributions = new Map<Entry, Attributed[]>();
  readonly #diagnostics: Diagnostic[] = [];
  /** Hooks whose failure their dependents should know of. */
  readonly #failed = new Set<string>();
  readonly #calls = new Set<TimedCall>();

  /** `disabled`: ids of this phase's disabled hooks, on which others may depend. */
  async run(limits: PhaseLimits, disabled: ReadonlySet<string>): Promise<PhaseResult> {
    const signal = this.firing?.signal;
    signal?.throwIfAborted();
    const stop = () => {
      this.failure ??= signal?.reason;
      this.#abandonAll(signal?.reason);
    };
    signal?.addEventListener("abort", stop, { once: true });
    try {
      for (const batch of batchEntries(this.entries)) {
        const wanted = batch.filter((entry) => this.isWanted(entry));
        for (const entry of wanted) this.#noteDependencies(entry, disabled);
        await inParallel(wanted, limits.maxParallelism ?? MAX_PARALLELISM, (entry) =>
          this.failure === undefined && this.isWanted(entry) ? this.#start(entry) : undefined,
        );
        if (this.failure !== undefined) break;
      }
    } finally {
      signal?.removeEventListener("abort", stop);
    }
    return this.#conclude(limits);
  }

  override check(entry: Entry, result: unknown): string | undefined {
    checkContributions(result, entry.capabilities, entry.execution);
    return undefined;
  }

  #noteDependencies({ id, options }: Entry, disabled: ReadonlySet<string>): void {
    for (const need of options.after ?? []) {
      if (disabled.has(need)) this.#say("dependency_disabled", id, `"${id}" runs after "${need}", which is disabled`);
      if (this.#failed.has(need)) this.#say("dependency_failed", id, `"${id}" runs after "${need}", which failed`);
    }
  }

  /** Undefined when there is nothing to wait for. */
  #start(entry: Entry): Promise<void> | undefined {
    if (entry.execution === "background") return this.#record(entry);
    const run = new HookRun(this, entry);
    const startedMs = this.kernel.clock.monotonic();
    const isDetached = entry.execution === "fire_and_record";
    const ended = isDetached ? this.detach() : undefined;
    const settled = new Promise<void>((resolve) => {
      const call: TimedCall = TimedCall.start(
        this.kernel.wheel,
        run,
        () => entry.handler(this.view(), run),
        (end) => {
          queueMicrotask(() => this.#calls.delete(call));
          if (isDetached) this.#settleDetached(entry, startedMs, end);
          else this.#settle(entry, startedMs, end);
          ended?.();
          resolve();
        },
        (error) => this.ignoreLate(entry, error),
      );
      if (!isDetached) this.#calls.add(call);
    });
    return isDetached ? undefined : settled;
  }

  #settle(entry: Entry, startedMs: number, end: Settled): void {
    if (end.kind !== "passed") {
      this.#failRun(entry, startedMs, end.error, end.kind === "timed_out" ? "timed_out" : "failed");
      return;
    }
    try {
      const contributions = checkContributions(end.value, entry.capabilities, entry.execution);
      this.#keep(entry, contributions);
      this.note(entry, startedMs, {
        outcome: "passed",
        diff: contributions.length === 0 ? undefined : contributions,
      });
    } catch (error) {
      this.#failRun(entry, startedMs, error, "failed");
    }
  }

  #settleDetached(entry: Entry, startedMs: number, ended: Settled): void {
    const end = this.judged(ended);
    if (end.kind === "passed") this.note(entry, startedMs, { outcome: "passed" });
    else this.reportDetached(entry, startedMs, end.error, end.kind);
  }

  protected override failUncalled(entry: Entry, error: HookgateError): void {
    this.#failRun(entry, undefined, error, "failed");
  }

  #failRun(entry: Entry, startedMs: number | undefined, error: unknown, outcome: "failed" | "timed_out"): void {
    this.fail(entry, startedMs, error, outcome);
    if (entry.failurePolicy === "skip") return; // as if it had not been subscribed
    this.#failed.add(entry.id);
    this.#say(outcome, entry.id, errorMessage(error));
    if (entry.closing === "fallback") {
      this.#keep(entry, checkContributions(entry.options.fallback, entry.capabilities, entry.execution));
      this.#say("fallback", entry.id, `the fallback of "${entry.id}" is used instead`);
    }
    if (this.failure !== undefined) this.#abandonAll(this.failure);
  }

  #keep(entry: Entry, contributions: readonly Contribution[]): void {
    this.#contributions.set(
      entry,
      contributions.map((one) => ({ ...one, from: entry.id })),
    );
  }

  #record(entry: Entry): Promise<void> | undefined {
    const startedMs = this.kernel.clock.monotonic();
    const done = () => {
      this.note(entry, startedMs, { outcome: this.dryRun ? "dry_run" : "backgrounded" });
      this.#say("backgrounded", entry.id, `"${entry.id}" was recorded and runs in the background`);
    };
    if (this.dryRun) {
      done();
      return undefined;
    }
    try {
      const recorded = this.enqueue(entry);
      if (recorded !== undefined)
        return recorded.then(done, (error) => this.#failRun(entry, startedMs, error, "failed"));
      done();
    } catch (error) {
      this.#failRun(entry, startedMs, error, "failed");
    }
    return undefined;
  }

  #abandonAll(reason: unknown): void {
    for (const call of [...this.#calls]) call.abandon(reason);
  }

  #say(code: Diagnostic["code"], hookId: string, message: string): void {
    this.#diagnostics.push({ code, hookId, message });
  }

  #conclude(limits: PhaseLimits): PhaseResult {
    if (this.failure !== undefined) {
      this.recording?.end(this, { outcome: "failed" });
      throw this.failure;
    }
    const entries = [...this.#contributions.keys()].sort(byPriorityThenId);
    const fitted = applyBudgets(
      entries.flatMap((entry) => this.#contributions.get(entry) ?? []),
      limits.budget ?? {},
      (id) => entries.find((entry) => entry.id === id)?.options.budget,
    );
    const runs = (this.recording?.runs ?? []).map(turnRun);
    this.recording?.end(this, {
      outcome: undefined,
      result: fitted.contributions.length === 0 ? undefined : fitted.contributions,
    });
    return { contributions: fitted.contributions, diagnostics: [...this.#diagnostics, ...fitted.diagnostics], runs };
  }
}

function turnRun({ id, hookId, outcome, reason, latencyMs, attempt, error }: TurnRun): TurnRun {
  return {
    id,
    hookId,
    outcome,
    reason,
    latencyMs,
    attempt,
    error,
  };
}

/** Starts them in order, at most `limit` at once, and waits for all. */
async function inParallel(
  entries: readonly Entry[],
  limit: number,
  start: (entry: Entry) => Promise<void> | undefined,
): Promise<void> {
  let at = 0;
  const lane = async () => {
    while (at < entries.length) {
      const entry = entries[at++] as Entry;
      await start(entry);
    }
  };
  await Promise.all(Array.from({ length: Math.min(Math.max(1, limit), entries.length) }, lane));
}
