/** The types that a hook name decides: payload, result and handler, derived from the list of points. */
import type { Cause, Outcome } from "../domain/journal.js";
import type { Logger } from "../lib/logger.js";
import type { Contribution } from "./contribution.js";
import type { HookPoint, LifecyclePhase, Model } from "./point.js";
import type { Aliases } from "./registration/aliases.js";
import type { RegisterOptions, TurnOptions } from "./registration/registration.js";

export type AnyPoint = HookPoint;
export type Points = readonly AnyPoint[];

/** Points that plugins declare; their payloads are typed only through the registry that `declare` returns. */
export type PluginPointName = `plugin:${string}:${string}`;

/** Points of the events that the configuration declares (`events:`); the content of their payload is the sender's. */
export type EventPointName = `event:${string}`;

type Named<P extends Points, N extends string> = Extract<P[number], { name: N }>;
type NamesOf<P extends Points, M extends Model> = P[number] extends infer One
  ? One extends { name: infer N extends string; model: infer Has }
    ? M extends Has
      ? N
      : never
    : never
  : never;
type AliasesOf<Names extends string> = {
  [A in keyof Aliases]: Aliases[A]["hook"] extends Names ? A : never;
}[keyof Aliases];

/** The names (aliases included) that a model's register and fire calls take. */
export type NameOf<P extends Points, M extends Model> =
  | NamesOf<P, M>
  | AliasesOf<NamesOf<P, M>>
  | PluginPointName
  | (M extends "void" ? EventPointName : never);
export type Canonical<N extends string> = N extends keyof Aliases ? Aliases[N]["hook"] : N;

export type PayloadOf<P extends Points, N extends string> = [Named<P, Canonical<N>>] extends [never]
  ? unknown
  : Named<P, Canonical<N>> extends HookPoint<string, Model, infer Payload, unknown>
    ? Payload
    : never;
export type ResultOf<P extends Points, N extends string> = [Named<P, Canonical<N>>] extends [never]
  ? Record<string, unknown>
  : Named<P, Canonical<N>> extends HookPoint<string, Model, unknown, infer Result>
    ? Result
    : never;

/** The context that every handler but a lifecycle one gets beside the payload. */
export interface HookContext<N extends string = string> {
  readonly hook: N;
  /** The id of the registration that runs. */
  readonly id: string;
  readonly runId: string;
  readonly dispatchId: string;
  /** Fires at this handler's deadline, or when the caller gives up. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** ISO time at which the dispatch started. */
  readonly timestamp: string;
  /**
   * From 1, on disk before each start. Above 1 the same work was started before, and this handler may have been called. After a crash or a
   * stop the `dispatchId` is the same: a handler that must not do something twice asks for what it did under that id, or registers with
   * `execution: "background"` and no `retry`. After a failure the id is another one, which ends in `:2`, `:3` and so on: what the attempt
   * before did is under the other id. Attempts of a background run have dispatch ids of their own, and one `recordId`.
   */
  readonly attempt: number;
  readonly dryRun: boolean;
  /** The cause of the dispatch, where its caller gave one. */
  readonly cause: Cause | undefined;
  /** A background run: the id under which it was recorded, the same for every attempt. */
  readonly recordId: string | undefined;
  /**
   * The journal has this outcome for the run instead of `passed`: a handler that looked and did nothing, or could not do what it wanted.
   * `dry_run`: the call that the handler represents was not made, because the dispatch is a dry run.
   */
  state(outcome: "skipped" | "blocked" | "deferred" | "dry_run", reason?: string): void;
  /**
   * Checks a result (at `before`: the data) as the dispatch will when the handler returns it. Gives in words the part that an earlier
   * hook overrules; undefined when all of it takes effect. Throws HOOK_RESULT_INVALID and HOOK_OVERRULED, which would fail the handler.
   */
  check(result: unknown): string | undefined;
}

/** The context of a lifecycle handler. */
export interface LifecycleContext<Data = unknown, N extends string = string> extends HookContext<N> {
  readonly phase: LifecyclePhase;
  /** `before`: shared and mutable. `after`: read-only. */
  data: Data;
  /** `before` only: stops the operation. The first reason is kept. */
  cancel(reason?: string): void;
  readonly cancelled: boolean;
  readonly cancelReason: string | undefined;
}

export type Awaitable<T> = T | Promise<T>;
export type VoidHandler<Payload, N extends string = string> = (
  payload: Payload,
  context: HookContext<N>,
) => Awaitable<unknown>;
export type ModifyingHandler<Payload, Result, N extends string = string> = (
  payload: Payload,
  context: HookContext<N>,
) => Awaitable<Patch<Result> | null | undefined>;
export type ClaimingHandler<Payload, Result, N extends string = string> = (
  payload: Payload,
  context: HookContext<N>,
) => Awaitable<ClaimOf<Result> | null | undefined>;
export type LifecycleHandler<Data, N extends string = string> = (context: LifecycleContext<Data, N>) => Awaitable<void>;
export type TurnHandler<Payload, N extends string = string> = (
  payload: Payload,
  context: HookContext<N>,
) => Awaitable<readonly Contribution[] | null | undefined>;

/** A claim with the result's fields, or none: then nothing but `reason` has an effect. */
export type ClaimOf<Result> =
  | (Result & { handled: true })
  | ({
      [K in keyof Result]?: K extends "handled"
        ? false
        : K extends "reason"
          ? Result[K]
          : string extends K
            ? unknown
            : null;
    } & { handled: false });

/** The options of a hook whose decision is waited for. `Fallback`: the result that replaces its own. */
interface DecidingOptions<Fallback = unknown> extends PlainOptions {
  execution?: "blocking" | "deadline";
  failurePolicy?: "fail-open" | "fail-closed" | "fallback";
  fallback?: Fallback;
}
export interface ModifyingOptions<Result> extends DecidingOptions<Patch<Result>>, Pick<RegisterOptions, "sees"> {}
export type ClaimingOptions<Result> = DecidingOptions<ClaimOf<Result>>;
export interface VoidOptions extends PlainOptions, Pick<RegisterOptions, "retry"> {
  /** Nothing can be vetoed, so none is `blocking`. */
  execution?: Exclude<RegisterOptions["execution"], "blocking">;
  failurePolicy?: "fail-open" | "fail-closed";
}
type PlainOptions = Omit<
  RegisterOptions,
  "execution" | "failurePolicy" | "fallback" | "sees" | "retry" | "capabilities" | "budget"
>;
interface LifecycleOptions<Data> extends PlainOptions, Pick<RegisterOptions, "execution" | "retry"> {
  failurePolicy?: "fail-open" | "fail-closed" | "fallback";
  fallback?: Patch<Data>;
}

/**
 * The argument of `register`: a lifecycle handler with its phase, or the handler of the point's own model. `N` may be several points of one
 * model.
 */
export type Registration<P extends Points, N extends string> = { hook: N } & ([N] extends [NameOf<P, "lifecycle">]
  ? LifecycleOptions<PayloadOf<P, N>> &
      PhaseOf<N> &
      OfPhase & { handler: LifecycleHandler<PayloadOf<P, N>, Canonical<N>> }
  : [N] extends [NameOf<P, "modifying">]
    ? ModifyingOptions<ResultOf<P, N>> & { handler: ModifyingHandler<PayloadOf<P, N>, ResultOf<P, N>, Canonical<N>> }
    : [N] extends [NameOf<P, "claiming">]
      ? ClaimingOptions<ResultOf<P, N>> & { handler: ClaimingHandler<PayloadOf<P, N>, ResultOf<P, N>, Canonical<N>> }
      : [N] extends [NameOf<P, "turn">]
        ? TurnOptions & { handler: TurnHandler<PayloadOf<P, N>, Canonical<N>> }
        : VoidOptions & { handler: VoidHandler<PayloadOf<P, N>, Canonical<N>> });

/** In `before` a decision is waited for; in `after` nothing can be vetoed. */
type OfPhase =
  | ({ phase?: "before" } & Pick<DecidingOptions, "execution">)
  | ({ phase?: "after" } & Pick<VoidOptions, "execution">);

/** An alias implies its phase, and the model of a plugin's point is not known here. */
type PhaseOf<N extends string> = [N] extends [keyof Aliases | PluginPointName]
  ? { phase?: LifecyclePhase }
  : { phase: LifecyclePhase };

/** A registration with known options, whose handler returns known fields only. */
export type Checked<P extends Points, N extends string, R extends Registration<P, N>> = R & { hook: N } & {
  handler: Known<R["handler"], ResultAt<P, N>>;
} & { [Unknown in Exclude<keyof R, OptionOf<P, N>>]: never };
type OptionOf<P extends Points, N extends string> =
  | keyof RegisterOptions
  | "hook"
  | "handler"
  | ([N] extends [NameOf<P, "lifecycle">] ? "phase" : never);

/**
 * A partial result; `undefined` is "no opinion" on a key. A value that is an object names what it changes of it, too:
 * `{ message: { text } }` keeps the card and the buttons, `{ message: { card: null } }` takes the card away. `{ message: null }` would
 * change nothing.
 */
export type Patch<Result> = { [K in keyof Result]?: PatchOf<Result[K]> | undefined };
type PatchOf<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { [Part in keyof Value]?: Value[Part] | null | undefined }
    : Value;

/**
 * The result that a handler of a point may return, for `Known`; `unknown` where nothing is taken, or where a result has no list of fields.
 */
export type ResultAt<P extends Points, N extends string> = N extends PluginPointName
  ? unknown
  : N extends NameOf<P, "modifying" | "claiming">
    ? ResultOf<P, N>
    : unknown;

/**
 * To intersect a handler's own type with: a compile error that names the field when the handler returns one that `Result` does not
 * have. TypeScript by itself checks that in the result of no callback. A type of its own, so that the handler's is inferred first.
 */
export type Known<Handler extends (...args: never[]) => unknown, Result> = [
  ExcessOf<Awaited<ReturnType<Handler>>, Result>,
] extends [never]
  ? unknown
  : { "the result has no such field": ExcessOf<Awaited<ReturnType<Handler>>, Result> };

/** The paths (`reply.txt`) of the fields of `Given` that `Allowed` does not have. */
type ExcessOf<Given, Allowed> = unknown extends Allowed
  ? never
  : Given extends readonly (infer One)[]
    ? ExcessOf<One, Allowed extends readonly (infer Other)[] ? Other : never>
    : Given extends object
      ? ExcessKeys<Given, Extract<Allowed, object>>
      : never;
type ExcessKeys<Given, Allowed> = string extends keyof Given
  ? never
  : {
      [K in keyof Given & string]: K extends KeyOf<Allowed>
        ? ExcessOf<Given[K], FieldOf<Allowed, K>> extends infer Path extends string
          ? `${K}.${Path}`
          : never
        : K;
    }[keyof Given & string];
/** The keys of every member of a union. */
type KeyOf<Allowed> = Allowed extends unknown ? keyof Allowed : never;
type FieldOf<Allowed, K> = Allowed extends unknown ? (K extends keyof Allowed ? Allowed[K] : never) : never;

export type Claimed<Result> = Result & { handled: boolean; claimedBy?: string };

export interface BeforeResult<Data> {
  cancelled: boolean;
  cancelReason?: string;
  /** Id of the registration that cancelled first. */
  cancelledBy?: string;
  data: Data;
}

/** The result of `runPhase`: see contribution.ts for the kinds. */
export interface PhaseResult {
  contributions: readonly (Contribution & { from: string })[];
  diagnostics: readonly Diagnostic[];
  runs: readonly TurnRun[];
}
export interface Diagnostic {
  code:
    | "dependency_disabled"
    | "dependency_failed"
    | "truncated"
    | "capability_denied"
    | "failed"
    | "timed_out"
    | "fallback"
    | "backgrounded";
  message: string;
  hookId: string;
}
export interface TurnRun {
  id: string;
  hookId: string;
  outcome: Outcome;
  reason?: string;
  latencyMs: number;
  attempt: number;
  error?: string;
}
