/** How runs of configured hooks look in an answer. */
import type { AttemptRecord, AutomationRun, AutomationRunStatus, StepRecord } from "../../src/domain/automation.js";
import { formatDuration } from "../../src/lib/duration.js";
import { ago, block, clip, clockTime, code, jsonBlock, plain, table } from "../text.js";
import { HIDDEN } from "./owner-only.js";

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
  return `${SIGNS[status]} ${status}`;
}

/** Of the last attempt; undefined while it has not begun. */
export function tookMs({ attempts }: AutomationRun, now: number): number | undefined {
  const last = attempts.at(-1);
  return last && (last.endedAt ?? now) - last.startedAt;
}

export function hasFailedRun({ status }: Pick<AutomationRun, "status">): boolean {
  return status === "failed" || status === "timed_out" || status === "interrupted";
}

export function runLine(run: AutomationRun, now: number): string {
  const took = tookMs(run, now);
  return [
    `${code(run.hookId)} ${statusText(run.status)}`,
    ...(took === undefined ? [] : [formatDuration(took)]),
    ago(run.createdAt, now),
    ...(run.attempt > 1 ? [`attempt ${run.attempt}`] : []),
    plain(run.reason),
  ].join(" · ");
}

export function automationRunTable(runs: readonly AutomationRun[], now: number): string {
  return table(
    [
      { title: "at" },
      { title: "hook", maxCharacters: 24 },
      { title: "outcome" },
      { title: "took", right: true },
      { title: "why", maxCharacters: 32 },
    ],
    runs.map((run) => {
      const took = tookMs(run, now);
      return [
        clockTime(run.createdAt, now),
        run.hookId,
        statusText(run.status),
        took === undefined ? "" : formatDuration(took),
        run.statusReason ?? run.reason,
      ];
    }),
  );
}

export function stepTable(steps: readonly StepRecord[]): string {
  return table(
    [{ title: "#", right: true }, { title: "step" }, { title: "outcome" }, { title: "took", right: true }],
    steps.map(({ step, outcome, latencyMs }, index) => [
      String(index + 1),
      step,
      `${STEP_SIGNS[outcome]} ${outcome}`,
      formatDuration(latencyMs),
    ]),
  );
}

/** What each step gave and what the handler did with it. `isOpen`: the reader may see what programs printed. */
export function attemptDetails(attempt: AttemptRecord, isOpen: boolean, perStep: number): string[] {
  const { steps, rendered, output, toolCalls = [], usage } = attempt;
  const results = steps.flatMap(({ step, result, error }, index) => {
    const name = `**${index + 1}. ${step}**`;
    if (error !== undefined) return [`${name}: ${isOpen ? plain(error) : HIDDEN}`];
    if (result === undefined) return [];
    return [isOpen ? `${name}\n${valueBlock(result, perStep)}` : `${name}: ${HIDDEN}`];
  });
  return [
    ...results,
    ...(rendered === undefined
      ? []
      : [isOpen ? `**Rendered**\n${block(clip(rendered, 900))}` : `**Rendered**: ${HIDDEN}`]),
    ...toolCalls.map(
      ({ tool, latencyMs, error }) => `${code(tool)} ${formatDuration(latencyMs)}${error ? ` ✗ ${plain(error)}` : ""}`,
    ),
    ...(output === undefined ? [] : [isOpen ? `**Output**\n${valueBlock(output, 900)}` : `**Output**: ${HIDDEN}`]),
    ...(usage === undefined ? [] : [usageText(usage)]),
  ];
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

/** The row for `--json` and the API: without what only the queue needs, and without what the reader may not see. */
export function automationRunData(run: AutomationRun, isOpen: boolean): Record<string, unknown> {
  const { pendingPayload: _, leaseOwner: __, leaseUntil: ___, decision: ____, ...rest } = run;
  return { ...rest, attempts: isOpen ? run.attempts : run.attempts.map(closed) };
}

function closed({ rendered: _, output: __, toolCalls: ___, steps, ...rest }: AttemptRecord) {
  return {
    ...rest,
    steps: steps.map(({ step, outcome, latencyMs }) => ({ step, outcome, latencyMs })),
  };
}
