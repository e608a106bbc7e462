/** Who may reveal masked parts (`reveal=true`). */
import type { About } from "../../src/domain/chat/hearing.js";
import { hasRole, highestRole, type Role } from "../../src/domain/chat/identity.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import type { CommandDeps } from "../deps.js";
import type { FirePayload } from "../runs/payload.js";

/**
 * A reveal needs an admin. For a task, or a mission with tasks, it also needs the right to hear its runners (`role` of the runner); for the
 * answer to a command, an owner.
 */
export async function needToReveal(deps: CommandDeps, context: Pick<CommandContext, "need">, of: About) {
  context.need("admin");
  context.need(await roleToRevealIn(deps, of), "It shows the output of a task's runner, or the answer to a command.");
}

/**
 * Live, a hook may post its payload where the person reads it: `last` is for people who may reveal that payload. With JSON on top, a
 * payload may not show its subject any more.
 */
export async function needToFireLast(
  deps: CommandDeps,
  context: Pick<CommandContext, "need">,
  { last, isChanged = false }: Pick<FirePayload, "last" | "isChanged">,
  dryRun: boolean,
) {
  if (last === undefined) return;
  const role = await deps.roleToHear(last);
  if (!dryRun)
    context.need(
      highestRole(["admin", role]),
      "A hook that is fired live may post the last payload where you read it, so it takes the role that may see this payload. Use `example` or type a payload, or leave out `live=true`.",
    );
  else if (isChanged && role !== "operator")
    context.need(
      role,
      "The last payload has the output of a task's runner, or the answer to a command. Use `last` without JSON on top, `example`, or type a payload.",
    );
}

/**
 * An unchanged payload goes where hooks may have sent it before. The words of a runner or the answer to a command still take their role.
 */
export async function needToReplayLive(deps: CommandDeps, context: Pick<CommandContext, "need">, past: About) {
  context.need(
    await deps.roleToHear(past),
    "Its payload has the output of a task's runner, or the answer to a command. A hook may post that where you read it.",
  );
}

/** Whether the reader may hear the words of the runner of this task; of a mission, those of all its runners. */
export async function mayHearIn(deps: CommandDeps, { operator }: CommandContext, of: About): Promise<boolean> {
  return hasRole(operator.role, await roleToRevealIn(deps, of));
}

/** The role that may reveal these texts. */
export async function roleToRevealIn(deps: CommandDeps, of: About): Promise<Role> {
  return highestRole(["admin", await deps.roleToHear(of)]);
}
