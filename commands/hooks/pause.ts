/** `/hooks pause|resume`: all configured hooks, and the background runs of plugins' hooks, at once. Outlives a restart. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, badUsage, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { ago, code } from "../show/text.js";
import { nameIn, whoIs } from "../show/who-is.js";

export async function pauseHooks(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const automations = needAll(deps, context);
  const changed = automations.paused() === undefined;
  if (changed) await automations.pause(whoIs(context.operator));
  return answer({
    text: [
      changed ? "All configured hooks are paused, after a restart too." : pausedText(deps),
      unguardedText(deps),
      "While they are paused, scheduled times are skipped (a hook whose only time is skipped does not fire any more), background runs wait (those of plugins as well), and configured hooks that a message waits for are skipped. `/fire-hook` still fires one.",
    ],
    data: { paused: true, changed },
    buttons: [[commandButton("Resume", "/hooks resume", "success")]],
  });
}

/** The fail-closed hooks that a pause keeps from guarding. */
function unguardedText({ registry, automations }: CommandDeps): string | undefined {
  const guards = registry
    .list()
    .filter(({ id, enabled, failurePolicy }) => {
      return enabled && failurePolicy === "fail-closed" && automations?.get(id) !== undefined;
    })
    .map(({ id }) => code(id));
  if (guards.length === 0) return undefined;
  const shown =
    guards.length > MAX_NAMED
      ? `${guards.slice(0, MAX_NAMED).join(", ")} and ${guards.length - MAX_NAMED} more`
      : guards.join(", ");
  return `⚠ What these fail-closed hooks guard passes **unchecked** until you resume them: ${shown}.`;
}

/** `/hooks list` shows the rest. */
const MAX_NAMED = 10;

export async function resumeHooks(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const automations = needAll(deps, context);
  const changed = automations.paused() !== undefined;
  if (changed) await automations.resume();
  return answer({
    text: [changed ? "Configured hooks run again." : "They were not paused."],
    data: { paused: false, changed },
    buttons: [[commandButton("What fires next", "/hooks next")]],
  });
}

export function pausedText({ automations, clock }: CommandDeps): string | undefined {
  const paused = automations?.paused();
  if (paused === undefined) return undefined;
  return `All configured hooks are paused, by ${nameIn(paused.by)} ${ago(paused.at, clock.now())}.`;
}

function needAll({ automations }: CommandDeps, context: CommandContext) {
  if (typeof context.options.id === "string")
    throw badUsage("This is for all configured hooks.", "/hooks disable ID switches one off.");
  if (automations) return automations;
  throw badUsage("There are no configured hooks here.");
}
