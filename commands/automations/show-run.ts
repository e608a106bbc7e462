/** How runs of configured hooks look in an answer. */
import {
  type AttemptRecord,
  type AutomationRun,
  type AutomationRunStatus,
  type StepRecord,
  wordsOnlyText,
} from "../../src/domain/automation.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { ago, block, clip, code, jsonBlock, plain, table } from "../show/text.js";

const SIGNS: Record<AutomationRunStatus, string> = {
  queued: "…",
  running: "▸",
  backgrounded: "…",
  succeeded: "✓",
  failed: "✗",
  timed_out: "⌛",
  skipped: "–",
  blocked: "⊘",
  interrupted: "✗",
};
export const STEP_SIGNS: Record<StepRecord["outcome"], string> = {
  passed: "✓",
  skipping: "–",
  failed: "✗",
  timed_out: "⌛",
};

export function statusText(status: AutomationRunStatus): string {
  return `${SIGNS[status]} ${status.replace("_", " ")}`;
}

/** How long the last attempt took; undefined before it starts, and when the end of the process cut it off. */
export function tookMs({ status, attempts }: AutomationRun, now: number): number | undefined {
  const last = attempts.at(-1);
  // A running hook of a plugin has no record of its present attempt yet.
  if (status === "running" && last?.status !== "running") return undefined;
  if (last === undefined || (last.endedAt === undefined && last.status !== "running")) return undefined;
  return (last.endedAt ?? now) - last.startedAt;
}

export function hasFailedRun({ status }: Pick<AutomationRun, "status">): boolean {
  return status === "failed" || status === "timed_out" || status === "interrupted";
}

/** `outcome`: in place of the status. */
export function runLine(run: AutomationRun, now: number, outcome = statusText(run.status)): string {
  const took = tookMs(run, now);
  return [
    `${code(run.hookId)} ${outcome}`,
    ...(took === undefined ? [] : [formatDuration(took)]),
    ago(run.createdAt, now),
    ...(run.attempt > 1 ? [`attempt ${run.attempt}`] : []),
    plain(run.reason),
  ].join(" · ");
}

export function stepTable(steps: readonly StepRecord[], context: Pick<CommandContext, "at">): string {
  return table(
    [{ title: "#", right: true }, { title: "step" }, { title: "outcome" }, { title: "took", right: true }],
    steps.map(({ step, outcome, latencyMs, result, unanswered }, index) => [
      String(index + 1),
      step,
      `${outcome === "passed" && isNotOk(result) ? "✗ not ok" : `${STEP_SIGNS[outcome]} ${outcome.replace("_", " ")}`}${unanswered === undefined ? "" : ", skip_if: no answer"}`,
      formatDuration(latencyMs),
    ]),
    context,
  );
}

/** The step has a result that is no success, such as an answer 500: this fails the run when the step is required. */
function isNotOk(result: unknown): boolean {
  return typeof result === "object" && result !== null && "ok" in result && result.ok === false;
}

/** The parts of a run that its reader may see. */
export interface Reading {
  /** Whether results of steps, the prompt and the output are shown: they hold people's words. */
  isOpen: boolean;
  /** Why a step failed. */
  showsErrors: boolean;
  /** Text in place of hidden parts. */
  hidden: string;
}

/** The result of each step and what the handler did with it. */
export function attemptDetails(attempt: AttemptRecord, reading: Reading, perStep: number): string[] {
  const { isOpen, showsErrors, hidden } = reading;
  const { steps, rendered, output, toolCalls = [], usage } = attempt;
  const wordsOnly = wordsOnlyText(attempt);
  const results = steps.flatMap(({ step, result, error }, index) => {
    const name = `**${index + 1}. ${step}**`;
    if (error !== undefined) return [`${name}: ${showsErrors ? plain(error) : hidden}`];
    if (result === undefined) return [];
    return [isOpen ? `${name}\n${valueBlock(result, perStep)}` : `${name}: ${hidden}`];
  });
  return [
    ...results,
    ...(rendered === undefined
      ? []
      : [isOpen ? `**Rendered**\n${block(clip(rendered, 900))}` : `**Rendered**: ${hidden}`]),
    ...(wordsOnly === undefined ? [] : [wordsOnly]),
    ...toolCalls.map(
      ({ tool, latencyMs, error }) =>
        `${code(tool)} ${formatDuration(latencyMs)}${error ? ` ✗ ${showsErrors ? plain(error) : hidden}` : ""}`,
    ),
    ...(output === undefined ? [] : [isOpen ? `**Output**\n${valueBlock(output, 900)}` : `**Output**: ${hidden}`]),
    ...(usage === undefined ? [] : [usageText(usage)]),
  ];
}

/** Whether there is anything that `Reading.isOpen` decides about. */
export function hasContent({ attempts }: AutomationRun): boolean {
  return attempts.some(
    ({ steps, rendered, output, toolCalls }) =>
      rendered !== undefined ||
      output !== undefined ||
      toolCalls !== undefined ||
      steps.some(({ result }) => result !== undefined),
  );
}

function valueBlock(value: unknown, maxCharacters: number): string {
  return typeof value === "string" ? block(clip(value, maxCharacters)) : jsonBlock(value, maxCharacters);
}

function usageText({ model, inputTokens, outputTokens, costUsd }: NonNullable<AttemptRecord["usage"]>): string {
  return [
    code(model),
    ...(inputTokens === undefined ? [] : [`${inputTokens} tokens in`]),
    ...(outputTokens === undefined ? [] : [`${outputTokens} out`]),
    ...(costUsd === undefined ? [] : [`$${costUsd.toFixed(4)}`]),
  ].join(" · ");
}

/** The row for `--json` and the API, without the fields for the queue, and without parts that the reader may not see. */
export function automationRunData(
  run: AutomationRun,
  { isOpen, showsErrors }: Pick<Reading, "isOpen" | "showsErrors">,
): Record<string, unknown> {
  const { pendingPayload: _, leaseOwner: __, leaseUntil: ___, decision: ____, ...rest } = run;
  return { ...rest, attempts: isOpen ? run.attempts : run.attempts.map((one) => closed(one, showsErrors)) };
}

function closed({ rendered: _, output: __, toolCalls: ___, steps, ...rest }: AttemptRecord, showsErrors: boolean) {
  return {
    ...rest,
    steps: steps.map(({ step, outcome, latencyMs, error, unanswered }) => ({
      step,
      outcome,
      latencyMs,
      unanswered,
      error: showsErrors ? error : undefined,
    })),
  };
}
