/** `/hooks test ID [payload]`: a dry run with the output of every step. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { badUsage } from "../answer.js";
import { fireConfigured, readHandPayload } from "../automations/fire.js";
import { showFired } from "../automations/show-fired.js";
import type { CommandDeps } from "../deps.js";
import { resolveHook } from "../resolve.js";
import { needToFireLast } from "../show/reveal.js";

export async function testHook(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { id } = resolveHook(deps, context.options.id);
  const { automations } = deps;
  const definition = automations?.get(id);
  if (automations === undefined || definition === undefined)
    throw badUsage(`${id} is a plugin's hook: it has no steps.`, `/fire-hook ${id} example tries it.`);
  const text = typeof context.options.payload === "string" ? context.options.payload.trim() : "";
  const given = { ...(await readHandPayload(deps, definition, text)), dryRun: true };
  await needToFireLast(deps, context, given, true);
  const run = await fireConfigured({ ...deps, automations }, context, definition, given);
  return showFired(deps, context, definition, run, { ...given, text });
}
