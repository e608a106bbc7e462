/** Who may have what is masked shown (`reveal=true`). */
import type { About } from "../../src/domain/chat/hearing.js";
import { hasRole, highestRole, type Role } from "../../src/domain/chat/identity.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import type { CommandDeps } from "../deps.js";
import type { FirePayload } from "../runs/payload.js";

/** Admins; of a task, or a mission with tasks, only who may hear what their runners said (`role` of the runner); of the answer to a command owners. */
export async function needToReveal(deps: CommandDeps, context: Pick<CommandContext, "need">, of: About) {
  context.need("admin");
  context.need(await roleToRevealIn(deps, of), "It shows the output of a task's runner, or the answer to a command.");
}

/**
 * Live, a hook may post its payload where the person reads it: `last` is for who may have that payload revealed. With JSON on top,
 * a payload may not tell any more what it is about.
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

/** Unchanged, a payload goes where hooks may have sent it before. What a runner said or a command answered still takes its role. */
export async function needToReplayLive(deps: CommandDeps, context: Pick<CommandContext, "need">, past: About) {
  context.need(
    await deps.roleToHear(past),
    "Its payload has the output of a task's runner, or the answer to a command. A hook may post that where you read it.",
  );
}

/** Whether the reader may hear what the runner of the task said that this is about, or all of its mission, if it is about one. */
export async function mayHearIn(deps: CommandDeps, { operator }: CommandContext, of: About): Promise<boolean> {
  return hasRole(operator.role, await roleToRevealIn(deps, of));
}

/** Who may have the texts of what this is about revealed. */
export async function roleToRevealIn(deps: CommandDeps, of: About): Promise<Role> {
  return highestRole(["admin", await deps.roleToHear(of)]);
}
