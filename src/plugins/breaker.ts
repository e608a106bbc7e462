/**
 * The circuit breaker of a plugin's hooks. A hook that gave no answer several times in a row is not called for a while, so that messages
 * do not wait for its deadline each time; then one call tries it. A hook that answers in time, also with an error, closes its breaker.
 */

import { isHandId } from "../domain/journal.js";
import { formatSkipReason } from "../domain/skip-reason.js";
import { HookNotCalledError } from "../hooks/errors.js";
import type { FailurePolicy } from "../hooks/registration/registration.js";
import type { HookRegistry } from "../hooks/registry.js";
import type { HookContext } from "../hooks/signatures.js";

/** Any handler; its input and output types were checked where it was registered. */
export type Handler = (first: never, second: never) => unknown;

/** Counts the failures of hooks; the composition root passes the breaker of configured hooks. */
export interface HookBreaker {
  /** True when the hook's last call failed, or its breaker is open. */
  isWatched(hookId: string): boolean;
  /** Why the hook may not run now; undefined when it may, and then the call counts as the trial of an open breaker. */
  enter(hookId: string): string | undefined;
  /** The hook answered in time, or an operator or a new version gives it another chance. */
  close(hookId: string): void;
}

/** Failures under these policies stop nothing, so a hook that is not called is skipped. */
const OPEN_POLICIES: ReadonlySet<FailurePolicy> = new Set(["fail-open", "best-effort", "skip"]);

export function guarded(hookId: string, handler: Handler, registry: HookRegistry, breaker: HookBreaker): Handler {
  return (first, second) => {
    if (!breaker.isWatched(hookId)) return handler(first, second);
    // A lifecycle handler gets its context only.
    const context: HookContext = second ?? first;
    // A test by a person is always called, and its result shows nothing about real traffic.
    if (isHandId(context.dispatchId)) return handler(first, second);
    const refusal = breaker.enter(hookId);
    if (refusal !== undefined) return refuse(hookId, refusal, context, registry);
    return watch(
      () => handler(first, second),
      context.signal,
      () => breaker.close(hookId),
    );
  };
}

function refuse(hookId: string, reason: string, context: HookContext, registry: HookRegistry): undefined {
  const policy = registry.get(hookId)?.failurePolicy ?? "fail-open";
  const skipped = formatSkipReason({ by: "breaker", reason });
  if (!OPEN_POLICIES.has(policy)) throw new HookNotCalledError(skipped);
  context.state("skipped", skipped);
}

function watch(call: () => unknown, signal: AbortSignal, onAnswer: () => void): unknown {
  // An answer after the deadline came too late. The dispatch shows whether the answer was in time.
  const answered = () =>
    queueMicrotask(() => {
      if (!signal.aborted) onAnswer();
    });
  let value: unknown;
  try {
    value = call();
  } catch (error) {
    answered();
    throw error;
  }
  if (value instanceof Promise) value.then(answered, answered);
  else answered();
  return value;
}
