/** The options of a registration, and how it is shown. */

import type { Contribution, ContributionKind } from "../contribution.js";
import type { LifecyclePhase, Model, Sees } from "../point.js";
import type { Matcher } from "./matcher.js";

export type Execution = "blocking" | "deadline" | "fire_and_record" | "background";
/** The last three are the turn model's own: abort the phase, best effort (the default there), and "as if not subscribed". */
export type FailurePolicy = "fail-open" | "fail-closed" | "fallback" | "required" | "best-effort" | "skip";
export type Visibility = "internal" | "debug" | "user_audit" | "user_visible";

export interface Retry {
  attempts: number;
  backoffMs?: number;
  /** Required: a background run may happen twice. */
  idempotent: true;
}

export interface RegisterOptions<Result = unknown> {
  /** Unique; by default derived from `name` or the hook's name. */
  id?: string;
  name?: string;
  pluginId?: string;
  /** Integer, ascending; 100 by default. */
  priority?: number;
  /** Ids at the same point (and phase) that run before this one, regardless of priorities. */
  after?: readonly string[];
  before?: readonly string[];
  match?: Matcher;
  execution?: Execution;
  timeoutMs?: number;
  failurePolicy?: FailurePolicy;
  /** The result that is used when the handler fails, under `failurePolicy: "fallback"`. */
  fallback?: Result;
  /** The absence or the load failure of the hook stops start-up. */
  critical?: boolean;
  visibility?: Visibility;
  /** Turn model: the contribution kinds that it may return. */
  capabilities?: readonly ContributionKind[];
  /**
   * Modifying model; the default is the point's. `merged`: sees the payload with everything merged so far, and may replace what it saw.
   * `original`: a value that an earlier hook set stays, and this hook's is overruled.
   */
  sees?: Sees;
  retry?: Retry;
  /** Turn model: how much this one may add to a prompt. */
  budget?: Budget;
  enabled?: boolean;
}
export type TurnOptions = RegisterOptions<readonly Contribution[]>;

/** How many entries and how much text may go into a prompt. */
export interface Budget {
  entries?: number;
  characters?: number;
}

/** A registration as the operator sees it. */
export interface HookInfo {
  id: string;
  hook: string;
  model: Model;
  phase?: LifecyclePhase;
  priority: number;
  name?: string;
  pluginId?: string;
  /** Where a plugin registers it: `plugins/greet.mjs:12:9`, relative to the working folder. */
  place: string | undefined;
  enabled: boolean;
  critical: boolean;
  execution: Execution;
  /** The hooks after it start when it has ended; of others, as soon as it has started. */
  isAwaited: boolean;
  failurePolicy: FailurePolicy;
  timeoutMs: number;
  retry?: Retry;
  visibility: Visibility;
  sees?: Sees;
  after: readonly string[];
  before: readonly string[];
  capabilities?: readonly ContributionKind[];
  match?: Matcher;
}
