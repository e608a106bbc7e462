/** Hooks that run programs: only an owner fires, enables or sees what they printed. */
import { hasRole } from "../../src/domain/identity.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import type { CommandDeps } from "../deps.js";

export function isOwnerOnly({ automations }: CommandDeps, hookId: string): boolean {
  const definition = automations?.get(hookId);
  if (definition === undefined) return false;
  return definition.run.handler.ownerOnly === true || definition.context.some(({ step }) => step.ownerOnly === true);
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
