/** Fires by hand, for /fire-hook and /replay: one at a time per hook, with the runs shown as they end. */
import { DUE_POINT } from "../src/domain/automation.js";
import { BY_HAND, type DispatchRecord, type RunRecord } from "../src/domain/journal.js";
import type { CommandContext } from "../src/gateway/commands.js";
import type { LifecyclePhase } from "../src/hooks/point.js";
import type { HookInfo } from "../src/hooks/registration/registration.js";
import type { AnyPoint } from "../src/hooks/signatures.js";
import { HookgateError } from "../src/lib/errors.js";
import { newId } from "../src/lib/id.js";
import { formatDuration } from "../src/lib/time/duration.js";
import { nearest } from "../src/lib/validation/nearest.js";
import { PROGRESS_AFTER_MS } from "./automations/fire.js";
import { needForRunning } from "./automations/owner-only.js";
import type { CommandDeps } from "./deps.js";
import { runTable } from "./runs/show-dispatch.js";
import { beginOnce } from "./show/begun.js";
import { clip, code } from "./show/text.js";

export interface Firing {
  point: AnyPoint;
  phase?: LifecyclePhase;
  /** This hook only; all of the point when absent. */
  hookId?: string;
  payload: unknown;
  dryRun: boolean;
}

/** The record of the dispatch, or the error that names the run in the way. */
export async function fire(deps: CommandDeps, context: CommandContext, firing: Firing): Promise<DispatchRecord> {
  const { point, phase, payload, dryRun } = firing;
  const hookId = firing.hookId ?? dueHook(deps, point, payload)?.id;
  const hookIds =
    hookId === undefined
      ? deps.registry
          .order(point.name, phase)
          .filter((hook) => hook.enabled)
          .map((hook) => hook.id)
      : [hookId];
  needForRunning(deps, context, hookIds, dryRun);
  refuseRunning(deps, hookIds);
  if (hookId !== undefined) refuseLive(deps, context, hookId);

  const now = deps.clock.now();
  const { causeId } = context;
  const dispatchId = causeId === undefined ? newId(BY_HAND, now) : `${BY_HAND}_${causeId}`;
  // A command over HTTP is not given again, and a dry run may be done twice.
  const before = causeId === undefined || dryRun ? undefined : await beginOnce(deps, dispatchId);
  if (before !== undefined) return before;
  const end = deps.inFlight.add(hookIds, { runId: dispatchId, since: now });
  const ended: RunRecord[] = [];
  let isShown = false;
  const show = () => {
    isShown = true;
    const open = hookIds.filter((id) => !ended.some((run) => run.hookId === id));
    context.progress({ text: progressText(context, firing, dispatchId, ended, open, deps.clock.now() - now) });
  };
  const timer = deps.clock.after(PROGRESS_AFTER_MS, show);
  try {
    const access = accessOf(payload);
    return await deps.registry.dispatch(point.name, payload, {
      dispatchId,
      cause: context.givenBy ?? { kind: "command", id: dispatchId, depth: 0 },
      dryRun,
      recordEmpty: true,
      signal: context.signal,
      refuseClaim: point.name === "inbound_claim" ? deps.refuseClaim : undefined,
      phase,
      only: hookId,
      access,
      onRun: (run) => {
        ended.push(run);
        end(run.hookId);
        if (isShown && ended.length < hookIds.length) show();
      },
    });
  } finally {
    timer.cancel();
    end();
  }
}

/** The hook that a payload of `hook.due` names, which alone is due; undefined at any other point. */
export function dueHook({ registry }: CommandDeps, point: AnyPoint, payload: unknown): HookInfo | undefined {
  if (point.name !== DUE_POINT) return undefined;
  const hooks = registry.order(DUE_POINT);
  const { hookId } = payload as { hookId: string };
  const named = hooks.find(({ id }) => id === hookId);
  if (named !== undefined) return named;
  const near = nearest(
    hookId,
    hooks.map(({ id }) => id),
  );
  throw new HookgateError({
    code: "NOT_FOUND",
    message: `Nothing was fired: ${DUE_POINT} calls the hook that hookId names, and no hook that time or a person starts is named "${clip(hookId, 80)}"${near ? `. Did you mean "${near}"?` : "."}`,
    hint: "/hooks lists the hooks. /fire-hook with the id of one fires it.",
  });
}

function refuseRunning(deps: CommandDeps, hookIds: readonly string[]): void {
  const running = deps.inFlight.find(hookIds);
  if (!running) return;
  throw new HookgateError({
    code: "HOOK_RUNNING",
    message: `${running.hookId} is being fired already: run ${running.runId}, for ${formatDuration(deps.clock.now() - running.since)}.`,
    hint: "Wait until it has ended; it has a deadline.",
    retryable: true,
  });
}

/**
 * Refuses while this hook runs. Other hooks of its point do not count, because at a busy point one always runs. Hooks that the command
 * itself set off do not count either.
 */
function refuseLive({ registry }: CommandDeps, { causeId }: CommandContext, hookId: string): void {
  const running = registry
    .running()
    .find((run) => run.hookId === hookId && (causeId === undefined || !run.dispatchId.startsWith(`${causeId}:`)));
  if (!running) return;
  throw new HookgateError({
    code: "HOOK_RUNNING",
    message: `${hookId} is running already: run ${running.runId}, for ${formatDuration(running.forMs)}.`,
    hint: "Wait until it has ended; it has a deadline.",
    retryable: true,
  });
}

function progressText(
  context: CommandContext,
  { point, dryRun }: Firing,
  dispatchId: string,
  ended: readonly RunRecord[],
  open: readonly string[],
  elapsedMs: number,
): string {
  return [
    `${dryRun ? "Dry run of" : "Firing live:"} ${code(point.name)}: ${ended.length} ended, ${open.length} under way for ${formatDuration(elapsedMs)}.`,
    ended.length > 0 ? runTable(ended, context) : "",
    open.length > 0 ? `Waiting for ${open.slice(0, 10).map(code).join(", ")}` : "",
    `dispatch ${code(dispatchId)}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** A payload that has `access` is fired with that access, as by the gateway. */
function accessOf(payload: unknown): "allowed" | "denied" | undefined {
  const access = typeof payload === "object" && payload !== null && "access" in payload ? payload.access : undefined;
  return access === "allowed" || access === "denied" ? access : undefined;
}
