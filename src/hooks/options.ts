/** The options of one dispatch. Every fire call takes them as its last argument. */
import type { Cause, DispatchRecord, RunRecord } from "../domain/journal.js";

export interface DispatchOptions {
  /** The id of this dispatch; the same for a re-run after a crash. Made up when absent. */
  dispatchId?: string;
  /** Counts from 1; above 1 when the same dispatch was started before. */
  attempt?: number;
  /** The cause of the dispatch. A dispatch whose cause is deeper than 8 is refused: hooks are firing each other. */
  cause?: Cause;
  /** Handlers run with `context.dryRun` true; `inDryRun()` is true in all that they call. */
  dryRun?: boolean;
  /** Run this hook only; everyone else is not even recorded. */
  only?: string;
  /** `undefined` = no filter; `[]` = only handlers without a plugin; `["a"]` = those and the ones of plugin `a`. */
  allowedPlugins?: readonly string[];
  /** Formatted address, for the journal. */
  conversation?: string | undefined;
  messageId?: string;
  /** The access of the person who caused it. Handlers with `access: "allowed"` do not see dispatches that a `denied` person caused. */
  access?: "allowed" | "denied";
  /** Aborts every handler's signal of this dispatch, and with it the waiting for them. */
  signal?: AbortSignal;
  /** No code changes the payload, or anything in it, afterwards: it is frozen in place and passed on, where a copy would be. */
  owned?: boolean;
  /** Why a claim cannot be carried out; the hook that made it has then failed, and the next one is asked. */
  refuseClaim?: ((claim: Readonly<Record<string, unknown>>) => string | undefined) | undefined;
  /**
   * Why the data cannot be used as a `before` hook, or its fallback, changed it; the hook has then failed. Not asked about unchanged data.
   */
  refuseChange?: ((data: unknown) => string | undefined) | undefined;
  /** Record the dispatch even when it has no handlers. */
  recordEmpty?: boolean;
  /** Notified of each run as it ends (`/fire-hook` shows them as they come); must not throw. */
  onRun?: (run: RunRecord) => void;
}

/** The caller's options, and who wants the record besides the journal. Inside the kernel only. */
export interface Firing extends DispatchOptions {
  onRecord?: (record: DispatchRecord) => void;
  /** A background run's own id. */
  recordId?: string;
}

/** With the filter that a caller gave beside the options. */
export function filtered(
  options: DispatchOptions | undefined,
  allowedPlugins: readonly string[] | undefined,
): DispatchOptions | undefined {
  return allowedPlugins === undefined ? options : { ...options, allowedPlugins };
}
