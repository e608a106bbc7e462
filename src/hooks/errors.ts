/** The kernel's own errors. */
import { errorMessage, HookgateError, lookable } from "../lib/errors.js";
import { nearest } from "../lib/validation/nearest.js";

/** The breaker of a hook, or a limit of its runs, refused the call: the handler did not run, and its failure policy holds all the same. */
export class HookNotCalledError extends HookgateError {
  /** `reason`: with the check that refused it first, `breaker: it failed 5 times in a row`. */
  constructor(reason: string) {
    super({ code: "HOOK_NOT_CALLED", message: reason });
    this.name = "HookNotCalledError";
  }
}

/** The condition of the hook has no answer for the payload: the handler was not called, and that counts as its failure. */
export class HookConditionError extends HookgateError {
  constructor(message: string) {
    super({ code: "HOOK_CONDITION_FAILED", message });
    this.name = "HookConditionError";
  }
}

/** The run of the handler was ended before it was done: it has decided nothing. */
export class HookInterruptedError extends HookgateError {
  constructor(reason: string) {
    super({ code: "HOOK_INTERRUPTED", message: reason });
    this.name = "HookInterruptedError";
  }
}

const MAX_CAUSES = 5;

/**
 * Whether the error of a handler shows that something from outside ended the work that it waited for: its run, its program, its request.
 */
export function wasEnded(thrown: unknown): boolean {
  let error = lookable(thrown);
  for (let depth = 0; depth < MAX_CAUSES && error instanceof Error; depth++) {
    if (error instanceof HookInterruptedError || error.name === "AbortError") return true;
    // In this way child_process and libraries on top of it name the signal that ended a program.
    if ("signal" in error && typeof error.signal === "string") return true;
    error = error.cause;
  }
  return false;
}

/** A fail-closed handler failed, or the fallback of a failed one was refused: the operation must not go on. */
export class HookFailedError extends HookgateError {
  readonly hook: string;
  readonly id: string;
  /** `and is fail-closed`: why the failure is that of the dispatch. */
  readonly why: string;

  /** `isOfFallback`: `cause` is why the fallback was refused, else the error of the handler. */
  constructor(facts: { hook: string; id: string; cause: unknown; isOfFallback?: boolean }) {
    const why = facts.isOfFallback ? "and its fallback was refused" : "and is fail-closed";
    const verb = facts.cause instanceof HookNotCalledError ? "was not called" : "failed";
    super({
      code: "HOOK_FAILED_CLOSED",
      message: `Hook "${facts.id}" ${verb} at ${facts.hook} ${why}: ${errorMessage(facts.cause)}`,
      hint: `Repair the hook, or disable it: /hooks disable ${facts.id}`,
      cause: facts.cause,
    });
    this.name = "HookFailedError";
    this.hook = facts.hook;
    this.id = facts.id;
    this.why = why;
  }
}

/**
 * For the log: without the words of a hook that failed, which may quote a message. The hook's own error is logged where it was thrown.
 */
export function loggableError(error: unknown): string {
  return error instanceof HookFailedError
    ? `hook "${error.id}" ${error.cause instanceof HookNotCalledError ? "was not called" : "failed"} at ${error.hook} ${error.why}`
    : errorMessage(error);
}

/** A name that is no hook point. */
export class UnknownHookError extends HookgateError {
  readonly hook: string;
  readonly suggestion?: string;

  constructor(hook: string, known: Iterable<string>) {
    const suggestion = nearest(hook, known);
    super({
      code: "HOOK_UNKNOWN",
      message: `There is no hook point "${hook}".${suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`}`,
      hint: hook.startsWith("plugin:")
        ? "A plugin's points are there once it is loaded: list it under `plugins:`, and check that it loads."
        : "`npx hookgate points` lists them all.",
    });
    this.name = "UnknownHookError";
    this.hook = hook;
    if (suggestion !== undefined) this.suggestion = suggestion;
  }
}
