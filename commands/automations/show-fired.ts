/** The answer to a configured hook that was fired by hand. */

import type { Definition } from "../../src/automations/definition/definition.js";
import type { AttemptRecord, AutomationRun } from "../../src/domain/automation.js";
import { hasRole } from "../../src/domain/chat/identity.js";
import { parseSkipReason } from "../../src/domain/skip-reason.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { outcomeText } from "../runs/show-dispatch.js";
import { roleToRevealIn } from "../show/reveal.js";
import { code, plain } from "../show/text.js";
import { effectData, effectOf, unansweredTexts, untilSettled } from "./effect.js";
import type { HandPayload } from "./fire.js";
import { mayFireLive, mayReveal, readableRun, readingOf, recordReveal } from "./owner-only.js";
import {
  attemptDetails,
  automationRunData,
  hasContent,
  hasFailedRun,
  runLine,
  statusText,
  stepTable,
} from "./show-run.js";

/** In place of texts that the reader may not have revealed. */
const FOR_OWNERS = "for owners; it may quote the output of a task's runner, or the answer to a command";
const FOR_ADMINS = "for admins; it may quote the last payload";

export async function showFired(
  deps: CommandDeps,
  context: CommandContext,
  { id }: Definition,
  whole: AutomationRun,
  { payload, source, last, text, dryRun }: HandPayload & { text: string; dryRun: boolean },
): Promise<CommandAnswer> {
  // Its texts may quote the payload in forms that no mask finds (a filter changed them): they are for who may reveal that payload.
  const role = last && (await roleToRevealIn(deps, last));
  const mayHear = hasRole(context.operator.role, role ?? "viewer");
  const instead = role === "owner" ? FOR_OWNERS : FOR_ADMINS;
  const isOpen = mayHear && mayReveal(deps, context, id);
  if (isOpen && hasContent(whole)) await recordReveal(deps, context, whole.id);
  const reading = readingOf(deps, context, id, isOpen);
  if (!mayHear) reading.hidden = instead;
  const run = await readableRun(deps, context, whole, mayHear ? undefined : instead);
  if (!dryRun) await untilSettled(deps, context, whole);
  const effect = dryRun ? undefined : await effectOf(deps, context, whole);
  const outcome = dryRun ? dryOutcome(run, dryRun) : effect?.instead;
  const attempt = run.attempts.at(-1);
  const line = `/fire-hook ${word(id)}${text ? ` payload=${word(text)}` : ""}`;
  return answer({
    text: [
      `**${dryRun ? "Dry run" : "Fired live"}** ${runLine(run, deps.clock.now(), outcome)}`,
      source === "last" || source === "typed" ? mismatchText(deps, id, payload) : undefined,
      effect?.text,
      ...(dryRun ? unansweredTexts(run) : []),
      run.statusReason && plain(run.statusReason),
      attempt && attempt.steps.length > 0 && stepTable(attempt.steps, context),
      ...(attempt ? attemptDetails(attempt, reading, dryRun ? 700 : 300) : []),
      dryRun
        ? dryText(attempt)
        : run.status === "queued"
          ? `It is tried again; ${code(`/run ${run.id}`)} shows its state.`
          : refusedText(run),
      !dryRun &&
        deps.automations?.breakers().some(({ hookId }) => hookId === id) &&
        `⛔ ${code(id)} failed again and again and is not run for now, except by hand. A run by hand does not change that: ${code(`/hooks enable ${id}`)} closes its breaker.`,
    ],
    data: {
      ...automationRunData(run, reading),
      kind: "run",
      dryRun,
      source,
      ...effectData(effect),
    },
    outcome: hasFailedRun(run) || run.status === "queued" ? "failed" : "done",
    buttons: [
      [
        ...(mayFireLive(deps, context, [id])
          ? [commandButton(dryRun ? "Fire it" : "Run again", `${line} live=true`, dryRun ? "danger" : "secondary")]
          : []),
        dryRun ? commandButton("Again", line) : commandButton("Show run", `/run ${word(run.id)}`),
        ...(hasRole(context.operator.role, "admin")
          ? [commandButton("Disable", `/hooks disable ${word(id)}`, "danger")]
          : []),
      ],
    ],
  });
}

/** A hook that is fired by hand runs for any payload: tells that this one would not have started it. */
function mismatchText({ registry }: CommandDeps, id: string, payload: unknown): string | undefined {
  const match = registry.get(id) && registry.explain(id, payload).checks.find(({ check }) => check === "match");
  return match?.passed === false
    ? `⚠ This payload does not match, so it would not start ${code(id)} by itself: ${plain(match.detail)}`
    : undefined;
}

/** In place of the status: a dry run that comes as far as the handler ends there. */
export const dryOutcome = ({ status }: AutomationRun, dryRun: boolean): string =>
  dryRun && status === "succeeded" ? outcomeText("dry_run") : statusText(status);

const dryText = (attempt: AttemptRecord | undefined) =>
  attempt && attempt.steps.length > 0
    ? "Its steps ran, but no request other than GET and HEAD went out; its handler was not called, and nothing was stored."
    : "Its handler was not called, and nothing was stored.";

/** Gates count the starts of a hook, those by hand among them. */
function refusedText({ status, statusReason, attempts }: AutomationRun): string | undefined {
  if (status !== "skipped" || attempts.length > 0) return undefined;
  const { by, reason } = parseSkipReason(statusReason);
  if (by === "rate") return "It did not run, because its `max_per_hour` holds for runs by hand, too.";
  const [, left] = by === "cooldown" ? (/^(.+) left of /.exec(reason) ?? []) : [];
  return left === undefined
    ? undefined
    : `It did not run, because its \`cooldown\` holds for runs by hand, too. It can run again in ${left}.`;
}
