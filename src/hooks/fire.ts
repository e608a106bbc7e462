/** Starts the dispatch of a point that has handlers: dry or not, unless it is part of a loop. */
import { type DispatchRecord, MAX_HOOK_DEPTH } from "../domain/journal.js";
import { HookgateError } from "../lib/errors.js";
import { ClaimingRules, type ClaimResult } from "./dispatch/claiming.js";
import type { Dispatch } from "./dispatch/dispatch.js";
import { BeforeRules, BeforeSyncDispatch } from "./dispatch/lifecycle.js";
import { ModifyingRules } from "./dispatch/modifying.js";
import { Sequence } from "./dispatch/sequence.js";
import { type PhaseLimits, TurnDispatch } from "./dispatch/turn.js";
import { RESOLVED, VoidDispatch } from "./dispatch/void.js";
import { runDry } from "./dry-run.js";
import { HookFailedError } from "./errors.js";
import type { Kernel } from "./kernel.js";
import type { DispatchOptions, Firing } from "./options.js";
import type { HookPoint, LifecyclePhase } from "./point.js";
import type { Entry } from "./registration/entry.js";
import type { PointHandlers } from "./registration/handlers.js";
import type { Fields } from "./results.js";
import type { BeforeResult, PhaseResult } from "./signatures.js";

export function startVoid(
  kernel: Kernel,
  { point, main }: PointHandlers,
  payload: unknown,
  firing?: Firing,
): Promise<void> {
  const dispatch = new VoidDispatch(kernel, point, main, payload, firing, undefined);
  return cutLoop(kernel, dispatch, firing) === undefined ? start(kernel, dispatch, firing) : RESOLVED;
}

export function startAfter(
  kernel: Kernel,
  { point, after }: PointHandlers,
  data: unknown,
  firing?: Firing,
): Promise<void> {
  const dispatch = new VoidDispatch(kernel, point, after, data, firing, "after");
  if (cutLoop(kernel, dispatch, firing) !== undefined) return RESOLVED;
  // Failures are logged and noted; the operation is done, so there is no caller to notify.
  return start(kernel, dispatch, firing).catch(() => {});
}

export function startModifying(
  kernel: Kernel,
  { point, main }: PointHandlers,
  payload: unknown,
  firing?: Firing,
): Fields | Promise<Fields> {
  return startGuarded(
    kernel,
    new Sequence(kernel, point, main, payload, firing, undefined, new ModifyingRules()),
    firing,
  );
}

export function startClaiming(
  kernel: Kernel,
  { point, main }: PointHandlers,
  payload: unknown,
  firing?: Firing,
): ClaimResult | Promise<ClaimResult> {
  return startGuarded(
    kernel,
    new Sequence(kernel, point, main, payload, firing, undefined, new ClaimingRules()),
    firing,
  );
}

export function startBefore(
  kernel: Kernel,
  { point, main }: PointHandlers,
  data: unknown,
  firing?: Firing,
): BeforeResult<unknown> | Promise<BeforeResult<unknown>> {
  return startGuarded(kernel, new Sequence(kernel, point, main, data, firing, "before", new BeforeRules(data)), firing);
}

export function runBeforeSync(
  kernel: Kernel,
  { point, main }: PointHandlers,
  data: unknown,
  firing?: Firing,
): BeforeResult<unknown> {
  const dispatch = new BeforeSyncDispatch(kernel, point, main, data, firing);
  const loop = cutLoop(kernel, dispatch, firing);
  if (loop !== undefined) throw loop;
  return dispatch.run();
}

export async function startTurn(
  kernel: Kernel,
  { point, main, all }: PointHandlers,
  request: unknown,
  firing: (Firing & PhaseLimits) | undefined,
): Promise<PhaseResult> {
  const disabled = new Set([...all].filter((entry: Entry) => !entry.enabled).map(({ id }) => id));
  // A phase always gives its runs, so it always records them.
  const recorded: Firing = { ...firing, onRecord: firing?.onRecord ?? (() => {}) };
  const dispatch = new TurnDispatch(kernel, point, main, request, recorded, undefined);
  const loop = cutLoop(kernel, dispatch, firing);
  if (loop !== undefined) throw loop;
  const run = () => dispatch.run(firing ?? {}, disabled);
  return firing?.dryRun === true ? runDry(kernel.clock, run) : run();
}

/** Any point; resolves with the record, also when a fail-closed handler failed. */
export function startAny(
  kernel: Kernel,
  handlers: PointHandlers,
  payload: unknown,
  options: DispatchOptions,
  phase: LifecyclePhase,
): Promise<DispatchRecord> {
  return new Promise<DispatchRecord>((resolve, reject) => {
    const loop = loopError(handlers.point, options);
    if (loop !== undefined) throw loop;
    const firing: Firing = { ...options, onRecord: resolve };
    Promise.resolve(startModel(kernel, handlers, payload, firing, phase)).catch((error: unknown) => {
      // A fail-closed failure is in the record; an aborted caller gets none.
      if (!(error instanceof HookFailedError)) reject(error);
    });
  });
}

function startModel(
  kernel: Kernel,
  handlers: PointHandlers,
  payload: unknown,
  firing: Firing,
  phase: LifecyclePhase,
): unknown {
  switch (handlers.point.model) {
    case "void":
      return startVoid(kernel, handlers, payload, firing);
    case "modifying":
      return startModifying(kernel, handlers, payload, firing);
    case "claiming":
      return startClaiming(kernel, handlers, payload, firing);
    case "lifecycle":
      return (phase === "after" ? startAfter : startBefore)(kernel, handlers, payload, firing);
    case "turn":
      return startTurn(kernel, handlers, payload, firing);
  }
}

function start<Result>(
  kernel: Kernel,
  dispatch: { start(): Promise<Result> },
  firing: Firing | undefined,
): Promise<Result> {
  return firing?.dryRun === true ? runDry(kernel.clock, () => dispatch.start()) : dispatch.start();
}

/**
 * Where hooks decide, a loop is an error: nothing may be decided without the hooks that guard it. Gives the result itself when there is
 * nothing to wait for.
 */
function startGuarded<Result>(
  kernel: Kernel,
  dispatch: Sequence<Result>,
  firing: Firing | undefined,
): Result | Promise<Result> {
  if (firing === undefined) return dispatch.run();
  const loop = cutLoop(kernel, dispatch, firing);
  if (loop !== undefined) return Promise.reject(loop);
  return firing.dryRun === true ? start(kernel, dispatch, firing) : dispatch.run();
}

/** A loop is cut, logged, and recorded for each hook that would have run. */
function cutLoop(kernel: Kernel, dispatch: Dispatch, options: DispatchOptions | undefined): HookgateError | undefined {
  const loop = options === undefined ? undefined : loopError(dispatch.point, options);
  if (loop === undefined) return undefined;
  const ids = dispatch.cut(loop.message);
  const uncalled = ids.length === 0 ? "" : `. Not called: ${ids.join(", ")}`;
  kernel.logger.warn({ hook: dispatch.point.name, ids, cause: options?.cause }, `${loop.message}${uncalled}`);
  return loop;
}

function loopError(point: HookPoint, options: DispatchOptions | undefined): HookgateError | undefined {
  const cause = options?.cause;
  if (cause === undefined || cause.depth <= MAX_HOOK_DEPTH) return undefined;
  return new HookgateError({
    code: "HOOK_LOOP",
    message: `${point.name} was caused by a chain of more than ${MAX_HOOK_DEPTH} hooks (${cause.kind} ${cause.id}): they fire each other`,
    hint: "Narrow the match of one of them.",
  });
}
