/** `/replay ID` for a run of a configured hook: runs the hook again, with what started it then. */
import type { Definition } from "../../src/automations/definition/definition.js";
import type { AutomationRun } from "../../src/domain/automation.js";
import type { DispatchRecord } from "../../src/domain/journal.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { answer, commandButton, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { flushJournal } from "../show/flush-journal.js";
import { needToReplayLive } from "../show/reveal.js";
import { code, plain } from "../show/text.js";
import { BY_HAND_MARK, decidedText, effectOf, untilSettled } from "./effect.js";
import { fireConfigured, isStartedAlone } from "./fire.js";
import { mayFireLive, readableRun, readingOf } from "./owner-only.js";
import { dryOutcome } from "./show-fired.js";
import { automationRunData, hasFailedRun, runLine, statusText, stepTable } from "./show-run.js";

export async function replayConfigured(
  deps: CommandDeps,
  context: CommandContext,
  past: AutomationRun,
  isLive: boolean,
): Promise<CommandAnswer> {
  const { automations } = deps;
  const definition = automations?.get(past.hookId);
  if (automations === undefined || definition === undefined)
    throw new HookgateError({
      code: "NOT_FOUND",
      message: `The hook ${past.hookId} is not in force any more.`,
      hint: "/hooks broken shows whether its file is broken.",
    });
  const then = await dispatchThen(deps, definition, past);
  if (then && isLive) await needToReplayLive(deps, context, then);
  const whole = await fireConfigured({ ...deps, automations }, context, definition, {
    payload: { ...(isStartedAlone(definition) ? inputOf(then?.payload) : (then?.payload as object | undefined)) },
    source: "last",
    dryRun: !isLive,
  });
  const run = await readableRun(deps, context, whole);
  const now = deps.clock.now();
  const steps = run.attempts.at(-1)?.steps ?? [];
  const isCompared = isLive || run.status !== "succeeded";
  if (isLive) await untilSettled(deps, context, whole);
  const [before, after] = [
    await effectOf(deps, context, past),
    isLive ? await effectOf(deps, context, whole) : undefined,
  ];
  const thenText = before?.instead ?? (isLive ? decidedText(past) : statusText(past.status));
  const nowText = after?.instead ?? dryOutcome(run, !isLive);
  // The fate of the earlier reply has no counterpart: a run by hand sends no reply.
  const wasThen = nowText.includes(BY_HAND_MARK) ? decidedText(past) : thenText;
  const isSame = wasThen === nowText.replace(BY_HAND_MARK, "");
  const changes = isSame || !isCompared ? [] : [`${wasThen} then, ${nowText} now`];
  const reading = readingOf(deps, context, past.hookId, false);
  return answer({
    text: [
      `**${isLive ? "Replayed" : "Replayed, dry"}** ${code(past.id)}.`,
      `Then: ${runLine(past, now, thenText)}\nNow: ${runLine(run, now, nowText)}`,
      after?.text,
      run.statusReason && plain(run.statusReason),
      steps.length > 0 && stepTable(steps, context),
      changes.length > 0
        ? `**Different from then**: ${changes.join("")}`
        : isCompared
          ? "It came to the same end as then."
          : `It came as far as its handler, which is not called in a dry run. ${code("live=true")} calls it.`,
    ],
    data: { ...automationRunData(run, reading), kind: "run", replayOf: past.id, changes },
    outcome: hasFailedRun(run) ? "failed" : "done",
    buttons: [
      [
        ...(isLive || !mayFireLive(deps, context, [past.hookId])
          ? []
          : [commandButton("Replay live", `/replay ${word(past.id)} live=true`, "danger")]),
        commandButton("Then", `/run ${word(past.id)}`),
        ...(isLive ? [commandButton("Now", `/run ${word(run.id)}`)] : []),
      ],
    ],
  });
}

/** The history keeps people's words masked, so the payload comes from the journal. A run that a time started needs no payload. */
async function dispatchThen(
  deps: CommandDeps,
  definition: Definition,
  { dispatchId, payload, id }: AutomationRun,
): Promise<DispatchRecord | undefined> {
  if (isStartedAlone(definition) && inputOf(payload) === undefined) return undefined;
  await flushJournal(deps);
  const { journal } = deps.store;
  // A run that a person fired is of no dispatch: its first attempt is on record.
  const dispatch =
    (dispatchId === undefined ? undefined : await journal.get(dispatchId)) ?? (await journal.get(`${id}:1`));
  if (dispatch && typeof dispatch.payload === "object" && dispatch.payload !== null) return dispatch;
  throw new HookgateError({
    code: "NOT_REPLAYABLE",
    message: `What started ${id} is not in the journal any more.`,
    hint: `/fire-hook ${definition.id} takes a payload.`,
  });
}

/** The input that a person gave to a hook that no payload starts. */
function inputOf(payload: unknown): object | undefined {
  const input = typeof payload === "object" && payload !== null && "input" in payload ? payload.input : undefined;
  return typeof input === "object" && input !== null && Object.keys(input).length > 0 ? input : undefined;
}
