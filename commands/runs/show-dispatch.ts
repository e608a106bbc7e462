/** How dispatches and runs look in an answer: one home, used by /runs, /run, /fire-hook, /replay and /hooks why. */
import { type DispatchRecord, namedBy, type Outcome, type RunRecord } from "../../src/domain/journal.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { type NamedBy, redact, reveal } from "../../src/lib/text/redact.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { isBlock, isPutOff } from "../journey/put-off.js";
import { ago, clip, code, count, inOneLine, jsonBlock, plain, table } from "../show/text.js";

const SIGNS: Record<Outcome, string> = {
  passed: "✓",
  modified: "✎",
  overruled: "⊝",
  claimed: "✋",
  cancelled: "⊘",
  blocked: "⊘",
  skipped: "–",
  failed: "✗",
  timed_out: "⌛",
  interrupted: "✗",
  backgrounded: "…",
  deferred: "…",
  dry_run: "○",
};

export function outcomeText(outcome: Outcome): string {
  return `${SIGNS[outcome]} ${outcomeWords(outcome)}`;
}

export const outcomeWords = (outcome: string): string =>
  outcome === "dry_run" ? "not called (dry run)" : outcome.replaceAll("_", " ");

/** A claim that blocks or puts the message off is shown as that. */
export function runOutcomeText(run: RunRecord): string {
  if (isPutOff(run)) return `${SIGNS.deferred} put off`;
  return outcomeText(isBlock(run) ? "blocked" : run.outcome);
}

export function hasFailed(run: Pick<RunRecord, "outcome">): boolean {
  return run.outcome === "failed" || run.outcome === "timed_out";
}

/** The reasons for which a call is refused: the hook did not run, and its failure policy holds all the same. */
const NOT_CALLED = /^(cap|concurrency|cooldown|rate|breaker): /;

/** The run that ended a failed dispatch: it failed, or its hook is fail-closed and was not called. */
export function failedRun({ runs, outcome }: Pick<DispatchRecord, "runs" | "outcome">): RunRecord | undefined {
  if (outcome !== "failed" && outcome !== "timed_out") return undefined;
  return runs.find(hasFailed) ?? runs.findLast((run) => run.outcome === "skipped" && NOT_CALLED.test(run.reason ?? ""));
}

/** A run that gave no result, while the `fallback` of its hook is the result or a part of it. */
export function usedFallback(
  { result, provenance = {} }: Pick<DispatchRecord, "result" | "provenance">,
  run: RunRecord,
): boolean {
  if (!hasFailed(run) && !(run.outcome === "skipped" && NOT_CALLED.test(run.reason ?? ""))) return false;
  const isClaim = typeof result === "object" && result !== null && "claimedBy" in result;
  return (isClaim && result.claimedBy === run.hookId) || Object.values(provenance).includes(run.hookId);
}

/** By run: the fate of its deliveries. `instead`: the text in place of its outcome, when not all were sent. */
export type Effects = ReadonlyMap<
  string,
  { instead: string | undefined; withheld?: unknown; toSend?: unknown; notKnown?: unknown }
>;

/** One line for each run: order, outcome, hook, time. */
export function runTable(runs: readonly RunRecord[], context: Pick<CommandContext, "at">, effects?: Effects): string {
  return table(
    [
      { title: "#", right: true },
      { title: "outcome" },
      { title: "hook", maxCharacters: 36 },
      { title: "took", right: true },
    ],
    runs.map((run, index) => [
      String(index + 1),
      effects?.get(run.id)?.instead ?? runOutcomeText(run),
      run.hookId,
      run.outcome === "skipped" || run.unanswered ? "" : formatDuration(run.latencyMs),
    ]),
    context,
  );
}

/** The error, with the plugin's file and line for readers who may see them. */
export function errorText({ error = "", place }: RunRecord): string {
  const text = /^error\b/i.test(error) ? plain(error) : `error: ${plain(error)}`;
  return `${text}${place === undefined ? "" : ` (at ${code(place)})`}`;
}

/** Why a hook whose condition has no answer was not called: a sentence, in Markdown. */
export function unansweredText({ reason, error }: RunRecord): string {
  return `It did **not** run, because its condition could not be answered: ${plain(error ?? reason ?? "")}.`;
}

/** The reason and the changes of each run, below the table; runs without any are left out. */
export function runDetails(
  { point, runs, ...made }: Pick<DispatchRecord, "point" | "runs" | "result" | "provenance">,
  isOpen: boolean,
): string[] {
  const by = namedBy(point);
  return runs.flatMap((run) => {
    const facts: string[] = [];
    if (run.attempt > 1) facts.push(`attempt ${run.attempt}`);
    if (run.unanswered) facts.push("it was not called, because its condition could not be answered");
    if (run.reason) facts.push(plain(run.reason));
    if (run.error) facts.push(errorText(run));
    if (usedFallback(made, run)) facts.push(`its ${code("fallback")} was used instead`);
    const diff = isEmpty(run.diff) ? "" : `\n${jsonBlock(open(run.diff, isOpen, by), 900)}`;
    return facts.length === 0 && diff === ""
      ? []
      : [`${code(run.hookId)}${facts.length ? `: ${facts.join(" · ")}` : ""}${diff}`];
  });
}

/** The result of the dispatch, and who set which part; left out when it is the result of the only run. */
export function resultText({ point, result, provenance, runs }: DispatchRecord, isOpen: boolean): string | undefined {
  if (result === undefined) return undefined;
  const changing = runs.filter(({ diff }) => !isEmpty(diff));
  if (changing.length === 1 && JSON.stringify(changing[0]?.diff) === JSON.stringify(result)) return undefined;
  const setBy = Object.entries(provenance ?? {}).map(([key, hookId]) => `${code(key)} by ${code(hookId)}`);
  const facts = [...(isOpen ? [] : ["texts and names masked"]), ...setBy];
  const shown = open(result, isOpen, namedBy(point));
  const title = `**Result**${facts.length > 0 ? ` (${facts.join(", ")})` : ""}`;
  return isOpen ? `${title}\n${jsonBlock(shown, 1000)}` : `${title}: ${inOneLine(shown)}`;
}

function isEmpty(diff: unknown): boolean {
  return diff === undefined || diff === null || (typeof diff === "object" && Object.keys(diff).length === 0);
}

/** `by`: who named its fields. */
export function open(value: unknown, isOpen: boolean, by: NamedBy): unknown {
  return isOpen ? reveal(value) : redact(value, by);
}

/** The outcome of the dispatch; it shows a failure of a hook, also where the dispatch went on without the hook. */
export function dispatchOutcome({ outcome, runs }: Pick<DispatchRecord, "outcome" | "runs">): string {
  const ran = runs.filter((run) => run.outcome !== "skipped");
  const failed = ran.filter(hasFailed).length;
  const claim = outcome === "claimed" ? ran.find((run) => run.outcome === "claimed") : undefined;
  if (claim && failed === 0) return runOutcomeText(claim);
  if (failed === 0 || outcome === "failed" || outcome === "timed_out") return outcomeText(outcome);
  // All failed, and there is a result: a fallback made it.
  return failed === ran.length && outcome === "passed"
    ? outcomeText("failed")
    : `${outcomeText(outcome)}, ${failed} failed`;
}

/** `13 runs, 2 skipped`: a hook that was skipped did not run. */
function runsText({ runs }: DispatchRecord, skipped: number): string {
  return `${count(runs.length - skipped, "run")}${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** The dispatch in one line: its point, its outcome, its time. `skippedLater`: how many of its background runs were. */
export function dispatchLine(dispatch: DispatchRecord, now: number, skippedLater = 0): string {
  const { outcome, runs } = dispatch;
  const skipped = runs.filter((run) => run.outcome === "skipped" || run.unanswered).length + skippedLater;
  const isSkipped = outcome === "passed" && skippedLater > 0 && skipped === runs.length;
  const point = `${dispatch.point}${dispatch.phase ? ` (${dispatch.phase})` : ""}`;
  return [
    `${code(point)} ${isSkipped ? outcomeText("skipped") : dispatchOutcome(dispatch)}`,
    runsText(dispatch, skipped),
    formatDuration(dispatch.latencyMs),
    ago(dispatch.at, now),
    ...(dispatch.dryRun ? ["dry run"] : []),
    ...(dispatch.attempt > 1 ? [`attempt ${dispatch.attempt}`] : []),
  ].join(" · ");
}

/** The record for `--json`, masked unless it may be read. */
export function dispatchData(dispatch: DispatchRecord, isOpen: boolean, effects?: Effects): Record<string, unknown> {
  const by = namedBy(dispatch.point);
  return {
    ...listedData(dispatch, isOpen, effects),
    payload: open(dispatch.payload, isOpen, by),
    result: dispatch.result === undefined ? undefined : open(dispatch.result, isOpen, by),
  };
}

/** A dispatch in a list: of two hundred, payloads and results could be many megabytes. */
export type ListedDispatch = Omit<DispatchRecord, "payload" | "result">;

export function listedData(dispatch: ListedDispatch, isOpen = false, effects?: Effects): Record<string, unknown> {
  const by = namedBy(dispatch.point);
  return {
    ...dispatch,
    runs: dispatch.runs.map((run) => ({
      ...run,
      error: run.error && clip(run.error, 2000),
      diff: run.diff && open(run.diff, isOpen, by),
      withheld: effects?.get(run.id)?.withheld,
      toSend: effects?.get(run.id)?.toSend,
      notKnown: effects?.get(run.id)?.notKnown,
    })),
    redacted: !isOpen,
  };
}
