/** `/hooks enable|disable ID`: durable, and in force from the next dispatch. */
import { hasRole } from "../../src/domain/chat/identity.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton, word } from "../answer.js";
import { isOwnerOnly, needForRunning } from "../automations/owner-only.js";
import type { CommandDeps } from "../deps.js";
import { resolveHook } from "../resolve.js";
import { code, count } from "../show/text.js";
import { whoIs } from "../show/who-is.js";

export async function switchHook(deps: CommandDeps, context: CommandContext, enabled: boolean): Promise<CommandAnswer> {
  const hook = resolveHook(deps, context.options.id);
  if (enabled) needForRunning(deps, context, [hook.id]);
  const state = enabled ? "enabled" : "disabled";
  const data = { id: hook.id, enabled, changed: hook.enabled !== enabled };
  const isOwnersToEnable = !enabled && isOwnerOnly(deps, hook.id) && !hasRole(context.operator.role, "owner");
  const button = commandButton(
    enabled ? "Disable" : "Enable",
    `/hooks ${enabled ? "disable" : "enable"} ${word(hook.id)}`,
  );
  const buttons = isOwnersToEnable ? [] : [[button]];
  const configured = deps.switches?.configured(hook.id);
  const endsAtRestart =
    configured !== undefined && configured !== enabled
      ? `⚠ The configuration has ${code(`overrides.${hook.id}.enabled: ${configured}`)}, and that applies again after a restart.`
      : undefined;
  const isBreakerClosed = enabled && (await deps.automations?.closeBreaker(hook.id)) === true;
  const breaker =
    isBreakerClosed && `It failed again and again and was not run. Its breaker is closed now, so it runs again.`;
  const isReleased = enabled && (await deps.automations?.releaseFiles(hook.id)) === true;
  const released =
    isReleased && "It seemed to start itself and was held. The files that changed meanwhile start it now.";
  const ownersEnable = isOwnersToEnable && "It runs a program, so only an owner can enable it again.";
  if (!data.changed)
    return answer({
      text: [`${code(hook.id)} was ${state} already.`, breaker, released, endsAtRestart, ownersEnable],
      data,
      buttons,
      audited: { changed: false },
    });
  const waiting = enabled ? 0 : (deps.automations?.waitingRuns().get(hook.id) ?? 0);
  await deps.switches?.set(hook.id, enabled, whoIs(context.operator));
  return answer({
    text: [
      `${code(hook.id)} is ${state}, from the next dispatch of ${code(hook.hook)} on${endsAtRestart ? "" : ", and after a restart too"}.`,
      breaker,
      released,
      endsAtRestart,
      ownersEnable,
      waiting > 0 &&
        `⚠ ${count(waiting, "run")} of it ${waiting === 1 ? "waits, and is" : "wait, and are"} skipped when ${waiting === 1 ? "its turn comes" : "their turn comes"}, unless it is enabled before that. ${code("/runs skipped")} lists what was skipped, and ${code("/replay")} runs one again. ${code("/hooks pause")} keeps such runs waiting.`,
      !enabled &&
        hook.failurePolicy === "fail-closed" &&
        "⚠ It guards: while it is disabled, what it would have stopped goes through.",
    ],
    data,
    buttons,
  });
}
