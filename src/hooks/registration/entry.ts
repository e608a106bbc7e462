/** A registration inside the kernel: its options checked and filled in. */
import { ticksOf } from "../../fast/deadline-wheel.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { unknownKey } from "../../lib/validation/unknown-key.js";
import { CONTRIBUTION_KINDS, type ContributionKind } from "../contribution.js";
import { fieldsOf, type HookPoint, type LifecyclePhase, type Sees } from "../point.js";
import { checkChange, checkClaim, checkContributions, checkPatch, type Fields, withPatch } from "../results.js";
import { type CompiledMatcher, compileMatcher, type FormerChats } from "./matcher.js";
import type { Budget, Execution, FailurePolicy, HookInfo, RegisterOptions, Retry, Visibility } from "./registration.js";

/** Any handler, as the kernel calls it; the register methods gave it its types. */
export type RawHandler = (first: unknown, second?: unknown) => unknown;

export const DEFAULT_PRIORITY = 100;
export const BLOCKING_TIMEOUT_MS = 5_000;
export const VOID_TIMEOUT_MS = 30_000;
const BACKGROUND_TIMEOUT_MS = 300_000;

/** Whether the failure of a hook stops everything else. */
export type Closing = "open" | "closed" | "fallback";

export interface Entry {
  readonly id: string;
  readonly point: HookPoint;
  readonly phase: LifecyclePhase | undefined;
  readonly handler: RawHandler;
  readonly options: Readonly<RegisterOptions>;
  /** Order of registration. */
  readonly seq: number;
  /** Since when a hook of this id is registered at this point without a gap: a reload replaces it. Milliseconds since the epoch. */
  registeredAt: number;
  /** Since when it is enabled without a gap, reloads included; undefined while it is disabled. Milliseconds since the epoch. */
  enabledAt: number | undefined;
  /** Among equals of priority, before the order of registration. */
  rank: number;
  readonly priority: number;
  readonly pluginId: string | undefined;
  /** Where a plugin registers it: `plugins/greet.mjs:12:9`. */
  place: string | undefined;
  readonly matcher: CompiledMatcher | undefined;
  readonly execution: Execution;
  readonly seesMerged: boolean;
  readonly capabilities: ReadonlySet<ContributionKind>;
  timeoutMs: number;
  /** The same, for the wheel. */
  timeoutTicks: number;
  failurePolicy: FailurePolicy;
  closing: Closing;
  /** No matcher, no plugin, and its result is waited for. */
  readonly plain: boolean;
  enabled: boolean;
  /** The warnings that were logged about the hook: each is logged once only. */
  warnings: Set<string> | undefined;
  removed: boolean;
  /** Plain, enabled and there: the check before its turn is this one. See `refresh`. */
  ready: boolean;
}

/** To be called whenever an entry was switched or removed. */
export function refresh(entry: Entry): void {
  entry.ready = entry.plain && entry.enabled && !entry.removed;
}

export interface EntryFacts {
  id: string;
  seq: number;
  registeredAt: number;
  point: HookPoint;
  phase: LifecyclePhase | undefined;
  handler: unknown;
  options: RegisterOptions;
  /** With them, `match.chats` goes on to match a chat that moved. */
  formerChats?: FormerChats | undefined;
}

const EXECUTIONS: readonly Execution[] = ["blocking", "deadline", "fire_and_record", "background"];
const POLICIES: readonly FailurePolicy[] = ["fail-open", "fail-closed", "fallback"];
const TURN_POLICIES: readonly FailurePolicy[] = [...POLICIES, "required", "best-effort", "skip"];
const RETRY_KEYS = Object.keys({ attempts: true, backoffMs: true, idempotent: true } satisfies Record<
  keyof Retry,
  true
>);
const BUDGET_KEYS = Object.keys({ entries: true, characters: true } satisfies Record<keyof Budget, true>);

const SEES: readonly Sees[] = ["original", "merged"];
const VISIBILITIES: readonly Visibility[] = ["internal", "debug", "user_audit", "user_visible"];
const OPTIONS: Readonly<Record<keyof RegisterOptions, true>> = {
  id: true,
  name: true,
  pluginId: true,
  priority: true,
  after: true,
  before: true,
  match: true,
  execution: true,
  timeoutMs: true,
  failurePolicy: true,
  fallback: true,
  critical: true,
  visibility: true,
  capabilities: true,
  sees: true,
  retry: true,
  budget: true,
  enabled: true,
};

/** Why a call of this function can never run its body; undefined for a function that can be called. */
export function neverRuns(value: unknown): string | undefined {
  // A call of such a function gives a generator and runs nothing of its body.
  if (/Generator/.test(Object.prototype.toString.call(value)))
    return "the body of a generator function would never run: remove the *";
  if (typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value)))
    return "a class cannot be called: give a function";
  return undefined;
}

/** Throws a `HookgateError` (HOOK_REGISTRATION_INVALID, HOOK_MATCHER_INVALID) that names the hook and the option. */
export function makeEntry({ id, seq, registeredAt, point, phase, handler, options, formerChats }: EntryFacts): Entry {
  if (typeof handler !== "function") throw invalid(id, `handler: expected a function, got ${typeof handler}`);
  const uncallable = neverRuns(handler);
  if (uncallable !== undefined) throw invalid(id, `handler: ${uncallable}`);
  const execution = options.execution ?? "blocking";
  const failurePolicy = options.failurePolicy ?? (point.model === "turn" ? "best-effort" : "fail-open");
  checkOptions(id, point, options, execution, failurePolicy);
  const capabilities = options.capabilities === undefined ? NO_CAPABILITIES : new Set(options.capabilities);
  if (failurePolicy === "fallback") checkFallback(id, point, options.fallback, capabilities, execution);
  const matcher = matcherOf(id, options, point, formerChats);
  const enabled = options.enabled ?? true;
  const plain =
    matcher === undefined && options.pluginId === undefined && (execution === "blocking" || execution === "deadline");
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs(point, phase, execution);
  return {
    id,
    point,
    phase,
    handler: handler as RawHandler,
    options,
    seq,
    registeredAt,
    enabledAt: undefined,
    rank: 0,
    priority: options.priority ?? DEFAULT_PRIORITY,
    pluginId: options.pluginId,
    place: undefined,
    matcher,
    execution,
    capabilities,
    seesMerged: seenBy(options, point, execution) === "merged",
    timeoutMs,
    timeoutTicks: ticksOf(timeoutMs),
    failurePolicy,
    closing: closingOf(failurePolicy),
    plain,
    enabled,
    warnings: undefined,
    removed: false,
    ready: plain && enabled,
  };
}

function matcherOf(
  id: string,
  { match }: RegisterOptions,
  point: HookPoint,
  formerChats: FormerChats | undefined,
): CompiledMatcher | undefined {
  try {
    return match === undefined ? undefined : compileMatcher(match, point.payload, formerChats);
  } catch (error) {
    if (!(error instanceof HookgateError)) throw error;
    const { code, hint, cause } = error;
    throw new HookgateError({ code, message: `Hook "${id}": ${error.message}`, hint, cause });
  }
}

/** A background run is stored with the payload that the point was fired with. */
function seenBy({ sees }: RegisterOptions, point: HookPoint, execution: Execution): Sees {
  if (execution === "background") return "original";
  return sees ?? point.sees ?? "original";
}

/** Sets the options that an operator may overrule back to the hook's own. */
export function restoreOwn(entry: Entry): void {
  const { options, point, phase, execution } = entry;
  entry.timeoutMs = options.timeoutMs ?? defaultTimeoutMs(point, phase, execution);
  entry.timeoutTicks = ticksOf(entry.timeoutMs);
  entry.failurePolicy = options.failurePolicy ?? (point.model === "turn" ? "best-effort" : "fail-open");
  entry.closing = closingOf(entry.failurePolicy);
  entry.enabled = options.enabled ?? true;
  refresh(entry);
}

const NO_CAPABILITIES: ReadonlySet<ContributionKind> = new Set();

export function closingOf(policy: FailurePolicy): Closing {
  switch (policy) {
    case "fail-closed":
    case "required":
      return "closed";
    case "fallback":
      return "fallback";
    case "fail-open":
    case "best-effort":
    case "skip":
      return "open";
  }
}

/** The deadline of a run whose hook names none. */
export function defaultTimeoutMs(point: HookPoint, phase: LifecyclePhase | undefined, execution: Execution): number {
  if (execution === "background") return BACKGROUND_TIMEOUT_MS;
  return point.model === "void" || phase === "after" || execution === "fire_and_record"
    ? VOID_TIMEOUT_MS
    : BLOCKING_TIMEOUT_MS;
}

export function invalid(id: string, message: string, hint?: string): HookgateError {
  return new HookgateError({
    code: "HOOK_REGISTRATION_INVALID",
    message: `Hook "${id}": ${message}`,
    hint,
  });
}

function checkOptions(
  id: string,
  point: HookPoint,
  options: RegisterOptions,
  execution: Execution,
  policy: FailurePolicy,
): void {
  const { priority, timeoutMs, sees, retry, capabilities, after, before, visibility } = options;
  const unknown = unknownKey("option", options, Object.keys(OPTIONS));
  if (unknown !== undefined) throw invalid(id, unknown);
  if (sees !== undefined && !SEES.includes(sees))
    throw invalid(id, `sees: expected ${SEES.join(" | ")}, got ${String(sees)}`);
  if (visibility !== undefined && !VISIBILITIES.includes(visibility))
    throw invalid(id, `visibility: expected ${VISIBILITIES.join(" | ")}, got ${String(visibility)}`);
  for (const option of ["enabled", "critical"] as const)
    if (options[option] !== undefined && typeof options[option] !== "boolean")
      throw invalid(id, `${option}: expected true or false, got ${String(options[option])}`);
  if (options.fallback !== undefined && policy !== "fallback")
    throw invalid(id, 'fallback: it counts only with failurePolicy: "fallback"');
  if (priority !== undefined && !Number.isInteger(priority))
    throw invalid(id, `priority: expected an integer, got ${String(priority)}`);
  if (timeoutMs !== undefined) checkTimeout(id, timeoutMs);
  if (!EXECUTIONS.includes(execution))
    throw invalid(id, `execution: expected ${EXECUTIONS.join(" | ")}, got ${String(execution)}`);
  checkPolicy(id, policy, point);
  if (sees === "merged" && point.model !== "modifying")
    throw invalid(id, "sees: merged holds at modifying points only");
  if (retry !== undefined) checkRetry(id, execution, retry);
  if (after !== undefined) checkIds(id, "after", after);
  if (before !== undefined) checkIds(id, "before", before);
  if (options.budget !== undefined) checkBudget(id, options.budget, point);
  if (capabilities === undefined) return;
  if (point.model !== "turn") throw invalid(id, "capabilities: only turn handlers contribute");
  const wrong = capabilities.find((kind) => !CONTRIBUTION_KINDS.includes(kind));
  if (wrong !== undefined)
    throw invalid(id, `capabilities: expected ${CONTRIBUTION_KINDS.join(" | ")}, got ${String(wrong)}`);
}

export function checkTimeout(id: string, timeoutMs: number): void {
  if (typeof timeoutMs !== "number" || !(timeoutMs > 0) || !Number.isFinite(timeoutMs))
    throw invalid(id, `timeoutMs: expected milliseconds above 0, got ${String(timeoutMs)}`);
}

/** `required`, `best-effort` and `skip` are policies of a phase of a turn. */
export function checkPolicy(id: string, policy: FailurePolicy, { model, name }: HookPoint): void {
  const known = model === "turn" ? TURN_POLICIES : POLICIES;
  if (known.includes(policy)) return;
  const where = TURN_POLICIES.includes(policy) ? ` at ${name}, a ${model} point` : "";
  throw invalid(id, `failurePolicy: expected ${known.join(" | ")}${where}, got ${String(policy)}`);
}

function checkBudget(id: string, budget: Budget, { model }: HookPoint): void {
  if (model !== "turn") throw invalid(id, "budget: only turn handlers contribute");
  checkKeys(id, "budget", budget, BUDGET_KEYS);
}

function checkKeys(id: string, option: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== "object" || given === null)
    throw invalid(id, `${option}: expected { ${known.join(", ")} }, got ${String(given)}`);
  const unknown = unknownKey("key", given, known);
  if (unknown !== undefined) throw invalid(id, `${option}: ${unknown}`);
}

/** A fallback is a result like any other: one that would be refused when it is needed is refused now. */
function checkFallback(
  id: string,
  point: HookPoint,
  fallback: unknown,
  capabilities: ReadonlySet<ContributionKind>,
  execution: Execution,
): void {
  if (point.model === "void") throw invalid(id, "failurePolicy: a void hook has no result for a fallback to replace");
  if (fallback === undefined) throw invalid(id, "fallback: expected the result to use instead");
  try {
    // A part that it leaves out is that of the payload, as it will be then.
    if (point.model === "modifying") checkPatch(fallback, point.result, (key) => (point.example as Fields)[key]);
    if (point.model === "claiming") checkClaim(fallback, point.result);
    if (point.model === "turn") checkContributions(fallback, capabilities, execution);
    if (point.model === "lifecycle") checkLifecycleFallback(fallback, point);
  } catch (error) {
    throw invalid(id, `fallback: ${errorMessage(error)}`);
  }
}

/** At `before` it is a change of the data, as a handler would make it. */
function checkLifecycleFallback(fallback: unknown, point: HookPoint): void {
  const { example, payload, mutable } = point;
  if (typeof fallback !== "object" || fallback === null || Array.isArray(fallback))
    throw new Error(`expected the fields to change, got ${JSON.stringify(fallback)}`);
  const known = mutable?.map((path) => path.split(".")[0] as string) ?? fieldsOf(payload);
  const unknown = known && unknownKey("field", fallback, [...new Set(known)]);
  if (unknown !== undefined) throw new Error(unknown);
  checkChange(example, withPatch(example as Fields, fallback as Fields), point);
}

function checkIds(id: string, option: "after" | "before", ids: readonly string[]): void {
  if (!Array.isArray(ids) || ids.some((one) => typeof one !== "string"))
    throw invalid(id, `${option}: expected a list of hook ids`);
  if (ids.includes(id)) throw invalid(id, `${option}: a hook cannot run ${option} itself`);
}

function checkRetry(id: string, execution: Execution, retry: NonNullable<RegisterOptions["retry"]>): void {
  if (execution !== "background") throw invalid(id, "retry: only background hooks are retried");
  checkKeys(id, "retry", retry, RETRY_KEYS);
  if (retry.idempotent !== true)
    throw invalid(id, "retry: a retried hook may run twice for one event, so it must have `idempotent: true`");
  if (!Number.isInteger(retry.attempts) || retry.attempts < 1)
    throw invalid(id, `retry.attempts: expected a whole number above 0, got ${String(retry.attempts)}`);
  const { backoffMs } = retry;
  if (backoffMs !== undefined && !(Number.isFinite(backoffMs) && backoffMs >= 0))
    throw invalid(id, `retry.backoffMs: expected milliseconds, got ${String(backoffMs)}`);
}

/** The hooks after it start when it has ended; of others, as soon as it has started. */
export function isAwaited(entry: Entry): boolean {
  return runsInOrder(entry) && (entry.execution === "blocking" || entry.execution === "deadline");
}

/** True when handlers run one after the other, and not all at once. */
export function runsInOrder({ point, phase }: Entry): boolean {
  return point.model !== "void" && phase !== "after";
}

export function infoOf(entry: Entry): HookInfo {
  const { options, point } = entry;
  return {
    id: entry.id,
    hook: point.name,
    model: point.model,
    phase: entry.phase,
    priority: entry.priority,
    name: options.name,
    pluginId: entry.pluginId,
    place: entry.place,
    enabled: entry.enabled,
    critical: options.critical ?? false,
    execution: entry.execution,
    isAwaited: isAwaited(entry),
    failurePolicy: entry.failurePolicy,
    timeoutMs: entry.timeoutMs,
    retry: options.retry,
    visibility: options.visibility ?? "debug",
    sees: point.model === "modifying" ? seenBy(options, point, entry.execution) : undefined,
    after: options.after ?? [],
    before: options.before ?? [],
    capabilities: point.model === "turn" ? [...entry.capabilities] : undefined,
    match: options.match,
  };
}
