/** The one error type: a code for programs, a message and a hint for the person who must act. */

export interface HookgateErrorFacts {
  code: string;
  message: string;
  /** A remedy, in one sentence. */
  hint?: string;
  /** The one name that the message asks about with "Did you mean". */
  meant?: string | undefined;
  /** True when the same call may succeed later, unchanged. */
  retryable?: boolean;
  /** How long to wait before that, at least. With `retryable: false`: a person has to act, but the next try may show that it was done. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** The hint of an error whose details are not for its reader. */
export const SEE_LOG = "The log of the gateway has the details.";

export class HookgateError extends Error {
  readonly code: string;
  readonly hint?: string;
  readonly meant: string | undefined;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(facts: HookgateErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = "HookgateError";
    this.code = facts.code;
    if (facts.hint !== undefined) this.hint = facts.hint;
    this.meant = facts.meant;
    this.retryable = facts.retryable ?? false;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** The message of a thrown value, for a log line or a row; never throws itself. */
export function errorMessage(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message || thrown.name : thrown);
  } catch {
    return UNPRINTABLE;
  }
}

const UNPRINTABLE = "an error that cannot be printed";

/** The same, or an error in its place when to look at it throws: a proxy can. */
export function lookable(thrown: unknown): unknown {
  try {
    if (typeof thrown !== "object" && typeof thrown !== "function") return thrown;
    if (thrown instanceof Error) void [thrown.name, thrown.message, thrown.stack, thrown.cause];
    else void [String(thrown), Object.entries(thrown ?? {})];
    return thrown;
  } catch {
    return new Error(UNPRINTABLE);
  }
}
