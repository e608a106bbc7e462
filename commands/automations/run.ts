/** `/run ID` of a configured hook: every attempt with its steps, its rendered prompt and the output. */
import type { AutomationRun } from "../../src/domain/automation.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { causeWords } from "../show/cause-words.js";
import { mayHearIn, needToReveal } from "../show/reveal.js";
import { code, inOneLine, jsonBlock, plain } from "../show/text.js";
import { conversationText } from "../who.js";
import { effectData, effectOf } from "./effect.js";
import { aboutRun, mayFireLive, mayReveal, needForReveal, readableRun, readingOf, recordReveal } from "./owner-only.js";
import { attemptDetails, automationRunData, hasContent, runLine, statusText, stepTable } from "./show-run.js";

/** Earlier attempts are shown in one line each. */
const MAX_EARLIER = 5;

export async function showAutomationRun(
  deps: CommandDeps,
  context: CommandContext,
  whole: AutomationRun,
): Promise<CommandAnswer> {
  const isOpen = context.options.reveal === true;
  if (isOpen) {
    needForReveal(deps, context, whole.hookId);
    await needToReveal(deps, context, aboutRun(whole));
    await recordReveal(deps, context, whole.id);
  }
  const reading = readingOf(deps, context, whole.hookId, isOpen);
  const run = await readableRun(deps, context, whole);
  const effect = await effectOf(deps, context, whole);
  const mayHear = isOpen || (await mayHearIn(deps, context, aboutRun(whole)));
  const now = deps.clock.now();
  const last = run.attempts.at(-1);
  const id = word(run.hookId);
  const isJournalled = run.dispatchId !== undefined && run.dispatchId !== run.id;
  return answer({
    text: [
      runLine(run, now, effect?.instead),
      effect?.text,
      // The effect of a run that succeeded shows the reason.
      run.status !== "succeeded" && run.statusReason && plain(run.statusReason),
      [
        `run ${code(run.id)}`,
        ...(run.cause && run.cause.id !== run.id ? [await causeText(deps, run.cause)] : []),
        ...(run.conversation ? [`in ${conversationText(deps, run.conversation)}`] : []),
        ...(run.endedAt === undefined && run.dueAt > now ? [`tried again in ${formatDuration(run.dueAt - now)}`] : []),
      ].join("\n"),
      ...run.attempts.slice(0, -1).slice(-MAX_EARLIER).map(earlierText),
      last && last.steps.length > 0 && stepTable(last.steps, context),
      ...(last ? attemptDetails(last, reading, 500) : []),
      isOpen
        ? `**Payload** (texts and names masked)\n${jsonBlock(run.payload, 800)}`
        : `**Payload** (masked): ${inOneLine(run.payload)}`,
    ],
    data: { ...automationRunData(run, reading), kind: "run", ...effectData(effect) },
    buttons: [
      [
        ...(mayFireLive(deps, context, [run.hookId]) ? [commandButton("Run again", `/fire-hook ${id} live=true`)] : []),
        ...(!isOpen && hasContent(run) && mayReveal(deps, context, run.hookId) && mayHear
          ? [commandButton("Reveal", `/run ${word(run.id)} reveal=true`)]
          : []),
        commandButton("The hook", `/hooks show ${id}`),
        commandButton("Its runs", `/runs ${id}`),
        ...(isJournalled ? [commandButton("The dispatch", `/run ${word(run.dispatchId ?? "")}`)] : []),
      ],
    ],
  });
}

async function causeText(
  deps: CommandDeps,
  { kind, id, depth, presumed }: NonNullable<AutomationRun["cause"]>,
): Promise<string> {
  return kind === "file"
    ? `because of a file that changed during run ${code(id)}, which makes it ${presumed?.depth ?? depth} deep`
    : `because of ${await causeWords(deps, { kind, id })}, ${depth} deep`;
}

function earlierText({ attempt, status, startedAt, endedAt, error }: AutomationRun["attempts"][number]): string {
  const took = endedAt === undefined ? "" : ` · ${formatDuration(endedAt - startedAt)}`;
  return `attempt ${attempt}: ${statusText(status)}${took}${error === undefined ? "" : ` · ${plain(error)}`}`;
}
