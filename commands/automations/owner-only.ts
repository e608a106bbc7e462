/** Hooks that run programs: only an owner fires, enables or sees what they printed, in their output or in the words of a failure. */
import type { AttemptRecord, AutomationRun } from "../../src/domain/automation.js";
import { hasRole } from "../../src/domain/identity.js";
import type { DispatchRecord, RunRecord } from "../../src/domain/journal.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import type { CommandDeps } from "../deps.js";

export function isOwnerOnly({ automations }: CommandDeps, hookId: string): boolean {
  return automations?.get(hookId)?.ownerOnly === true;
}

/** Throws a refusal unless the operator may have these hooks run. */
export function needForRunning(deps: CommandDeps, context: CommandContext, hookIds: readonly string[]): void {
  if (hookIds.some((id) => isOwnerOnly(deps, id))) context.need("owner");
}

/** What programs printed is for owners. A hook that is gone from its file may have been one that runs them. */
export function maySeeOutput(deps: CommandDeps, { operator }: CommandContext, hookId: string): boolean {
  if (hasRole(operator.role, "owner")) return true;
  return deps.automations?.get(hookId) !== undefined && !isOwnerOnly(deps, hookId);
}

/** In place of what is not for the reader. */
export const HIDDEN = "for owners only";

/** The run as the reader may see it: that it failed and how is for all, what a program said about it is not. */
export function readableRun(deps: CommandDeps, context: CommandContext, run: AutomationRun): AutomationRun {
  if (maySeeOutput(deps, context, run.hookId)) return run;
  const isAboutFailure = run.status === "failed" || run.status === "timed_out" || run.status === "queued";
  return {
    ...run,
    ...(run.statusReason !== undefined && isAboutFailure ? { statusReason: HIDDEN } : {}),
    attempts: run.attempts.map(readableAttempt),
  };
}

function readableAttempt(attempt: AttemptRecord): AttemptRecord {
  const isFailure = attempt.status === "failed" || attempt.status === "timed_out";
  return isFailure && attempt.error !== undefined ? { ...attempt, error: HIDDEN } : attempt;
}

/** The same for a dispatch. Why a hook blocked something is told to the people concerned, so it is no secret here. */
export function readableDispatch(deps: CommandDeps, context: CommandContext, dispatch: DispatchRecord): DispatchRecord {
  const isReadable = (run: RunRecord) =>
    run.error === undefined ||
    run.pluginId !== undefined ||
    isCode(deps, run.hookId) ||
    maySeeOutput(deps, context, run.hookId);
  if (dispatch.runs.every(isReadable)) return dispatch;
  return { ...dispatch, runs: dispatch.runs.map((run) => (isReadable(run) ? run : { ...run, error: HIDDEN })) };
}

/** A hook of the process itself, which stands in no file. */
function isCode({ registry, automations }: CommandDeps, hookId: string): boolean {
  return registry.get(hookId) !== undefined && automations?.get(hookId) === undefined;
}
