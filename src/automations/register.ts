/** Registers a definition like any other hook; a decision of its run becomes a result that its point takes. */
import { HookInterruptedError, HookNotCalledError } from "../hooks/errors.js";
import type { HookPoint } from "../hooks/point.js";
import type { RegisterOptions } from "../hooks/registration/registration.js";
import type { HookRegistry, Unregister } from "../hooks/registry.js";
import { type Fields, withPatch } from "../hooks/results.js";
import type { HookContext, LifecycleContext } from "../hooks/signatures.js";
import { HookgateError } from "../lib/errors.js";
import { isWaitedFor } from "./definition/check-effects.js";
import type { Definition } from "./definition/definition.js";
import type { Refusal } from "./gates/refusal.js";
import type { Decision } from "./handler.js";
import { type RunOutcome, reasonOf } from "./run/outcome.js";
import { type PointResult, pointResult } from "./run/point-result.js";

/** One firing of a definition's hook. */
export interface Firing {
  definition: Definition;
  point: HookPoint;
  payload: unknown;
  context: HookContext;
  /** See `HookContext.check`. Absent when nothing waits for decisions of the hook. */
  check?: ((decision: Decision) => string | undefined) | undefined;
}

export type Runner = (firing: Firing) => Promise<RunOutcome>;

/** Throws the refusal of the registry. */
export function registerDefinition(registry: HookRegistry, definition: Definition, run: Runner): Unregister {
  const point = registry.point(definition.point);
  const isLifecycle = point.model === "lifecycle";
  const handler = isLifecycle
    ? async (context: LifecycleContext) =>
        apply(
          await decide({ definition, point, payload: context.data, context }, run, (patch) =>
            withPatch(context.data as Fields, patch),
          ),
          context,
        )
    : async (payload: unknown, context: HookContext) =>
        give(await decide({ definition, point, payload, context }, run));
  // Its names come from a file: the loader has checked them against the same points.
  return registry.register({
    ...optionsOf(definition, point),
    hook: definition.point,
    phase: isLifecycle ? definition.phase : undefined,
    handler,
  } as Parameters<HookRegistry["register"]>[0]);
}

function failurePolicyOf({ onFailure }: Definition, { model }: HookPoint): RegisterOptions["failurePolicy"] {
  if (onFailure === "closed") return model === "turn" ? "required" : "fail-closed";
  return onFailure === "fallback" ? "fallback" : undefined;
}

function optionsOf(definition: Definition, point: HookPoint): RegisterOptions {
  const { id, enabled, execution, match, timeoutMs, priority, sees, capabilities, onFailure, fallback } = definition;
  return {
    id,
    enabled,
    execution,
    after: definition.after,
    before: definition.before,
    critical: definition.critical,
    match,
    timeoutMs,
    priority,
    sees,
    capabilities,
    failurePolicy: failurePolicyOf(definition, point),
    fallback: onFailure === "fallback" ? fallback : undefined,
  };
}

/** Throws for a failure of the hook: the registry's failure policy decides what follows. */
async function decide(
  firing: Firing,
  run: Runner,
  changed: (patch: Readonly<Record<string, unknown>>) => unknown = (patch) => patch,
): Promise<PointResult> {
  const { definition, point, context } = firing;
  const isDeciding = isWaitedFor(definition.execution);
  // A person fired the hook: its decision is checked as its dispatch would check it, and not carried out.
  const isHeard = isDeciding && context.recordId === undefined;
  const check = (decision: Decision) => {
    const carried = pointResult(decision, point, definition.phase);
    if (carried.kind === "return") return context.check(carried.value);
    return carried.kind === "change" ? context.check(changed(carried.patch)) : undefined;
  };
  const outcome = await run({ ...firing, check: isDeciding ? check : undefined });
  switch (outcome.status) {
    case "succeeded":
    case "blocked": {
      const carried = pointResult(outcome.decision, point, definition.phase);
      // Handlers are not called in a dry run, so that none has decided anything.
      if (context.dryRun) context.state("dry_run");
      if (isHeard && carried.kind !== "impossible") return carried;
      if (outcome.status === "blocked") context.state("blocked", `${outcome.reason} (nothing waits for it here)`);
      return { kind: "nothing" };
    }
    case "skipped":
      // An earlier hook overruled it, or a part of it: the dispatch sees to that, and journals it.
      if (isHeard && outcome.decision !== undefined) return pointResult(outcome.decision, point, definition.phase);
      // A hook that must not fail open does not fail open because a limit of its runs kept it from running.
      if (definition.onFailure !== "open" && UNFIT.has(outcome.by))
        throw new HookNotCalledError(reasonOf(outcome) ?? "");
      context.state("skipped", reasonOf(outcome) ?? "");
      return { kind: "nothing" };
    case "interrupted":
      throw new HookInterruptedError(outcome.reason);
    case "queued":
      throw outcome.wasStopped ? new HookInterruptedError(outcome.reason) : failed(outcome);
    case "failed":
    case "timed_out":
      throw failed(outcome);
  }
}

const UNFIT: ReadonlySet<string> = new Set<Refusal["gate"]>(["cap", "concurrency", "cooldown", "rate", "breaker"]);

function failed(outcome: RunOutcome): HookgateError {
  return new HookgateError({ code: "HOOK_RUN_FAILED", message: reasonOf(outcome) ?? outcome.status });
}

function apply(result: PointResult, context: LifecycleContext): void {
  if (result.kind === "cancel") context.cancel(result.reason);
  if (result.kind === "change" && typeof context.data === "object" && context.data !== null)
    Object.assign(context.data, withPatch(context.data as Fields, result.patch));
}

function give(result: PointResult): unknown {
  if (result.kind === "stop") throw new HookgateError({ code: "HOOK_STOPPED_TURN", message: result.reason });
  if (result.kind === "return") return result.value;
  return undefined;
}
