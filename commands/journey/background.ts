/** Background runs: the journal has the dispatch that stored a run, and each attempt; the stored run has the result. */

import type { AttemptRecord, AutomationRun } from "../../src/domain/automation.js";
import { isUnfinished } from "../../src/domain/automation.js";
import type { DispatchRecord, RunRecord } from "../../src/domain/journal.js";
import { parseSkipReason } from "../../src/domain/skip-reason.js";
import type { RunningHook } from "../../src/hooks/running.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { statusText, tookMs } from "../automations/show-run.js";
import type { CommandDeps } from "../deps.js";
import { clockTime, code, plain } from "../show/text.js";
import { nameIn } from "../show/who-is.js";

/** `it waits until the plugin ./job.mjs is loaded, which is broken now`; undefined for a hook in force, or one that does not come back. */
export function awaitedText({ automations, plugins }: CommandDeps, hookId: string): string | undefined {
  if (automations?.isAwaited(hookId) !== true) return undefined;
  const isInFile = automations.broken().some(({ id }) => id === hookId);
  const broken = isInFile ? [] : (plugins?.() ?? []).filter(({ state }) => state === "broken");
  const names = broken.map(({ module }) => code(module)).join(" or ");
  const what =
    names === "" ? `${code(hookId)} is in force again` : `the plugin ${names} is loaded, which is broken now`;
  return `it waits until ${what} (${code("/hooks broken")} shows why)`;
}

/** Runs of one message or delivery that are read. */
export const MAX_RUNS = 200;

/** By the id that the dispatch gave the run. */
export type StoredRuns = ReadonlyMap<string, AutomationRun>;

export interface OnRecord {
  stored: StoredRuns;
  /** The journal does not have their dispatch: it has not ended, or the process ended before it was written, or it was deleted. */
  unrecorded: readonly AutomationRun[];
}

/** `roots`: all runs and dispatches of these are asked for; a run that was stored is on record before its dispatch is. */
export async function storedRunsOf(
  { automations, store }: CommandDeps,
  dispatches: readonly DispatchRecord[],
  roots: readonly string[],
): Promise<OnRecord> {
  const ids = dispatches.flatMap(({ runs }) =>
    runs.filter(({ outcome }) => outcome === "backgrounded").map(({ id }) => id),
  );
  const named = await Promise.all(ids.map((id) => automations?.runs.get(id)));
  const ledTo = await Promise.all(roots.map((root) => automations?.runs.ledTo(root, MAX_RUNS)));
  const stored = new Map(
    [...named, ...ledTo.flat()].flatMap((run) => (run === undefined ? [] : [[run.id, run] as const])),
  );
  const unrecorded: AutomationRun[] = [];
  for (const run of stored.values()) {
    const { dispatchId = run.id } = run;
    const isKnown = dispatches.some(({ id }) => id === dispatchId);
    if (!isKnown && (await store.journal.get(dispatchId)) === undefined) unrecorded.push(run);
  }
  return { stored, unrecorded };
}

/** The journal is written a moment after a run has ended: where the process was killed before that, only the stored run is on record. */
export async function isInJournal({ store }: CommandDeps, { id, attempt }: AutomationRun): Promise<boolean> {
  return ((await store.journal.getByRun(id)) ?? (await store.journal.get(`${id}:${attempt}`))) !== undefined;
}

/** An attempt of a stored run has the id of the run and its number. */
export const storedId = (runId: string): string => runId.replace(/(\/\d+|^r_.+?):\d+\b.*$/, "$1");

/** A dispatch of one attempt of a background run, and not of the whole point. */
export function isAttempt({ id, cause }: DispatchRecord): boolean {
  return cause?.kind === "hook" && id.startsWith(`${cause.id}/`);
}

/** By the id of an attempt, `m5:message_received/3:1`: the message does not wait for it. */
export const isOfBackground = (dispatchId: string) => dispatchId.includes("/");

/** The point is firing: its runs are no attempts of a background run. */
export const isFiringAt =
  (point: string) =>
  (running: RunningHook): boolean =>
    running.point === point && !isOfBackground(running.dispatchId);

/** The attempt that ended the run is in the journal, with more than the stored run has. */
export function isJournalled(
  run: RunRecord,
  stored: AutomationRun | undefined,
  all: readonly DispatchRecord[],
): boolean {
  if (run.outcome !== "backgrounded" || (stored && isUnfinished(stored.status))) return false;
  return all.some(({ id }) => (stored ? id === `${run.id}:${stored.attempt}` : id.startsWith(`${run.id}:`)));
}

/** The hook was not called, or its run waits for the first attempt, or the run ended without one. */
export function hasNotRun(run: RunRecord, stored: AutomationRun | undefined): boolean {
  if (run.outcome === "skipped" || run.unanswered) return true;
  if (run.outcome !== "backgrounded" || stored === undefined) return false;
  return stored.status === "backgrounded" || (stored.status === "skipped" && !stored.attempts.some(hasTried));
}

/** How many background runs of the dispatch were skipped, before their hooks ran, when their turn came. */
export const skippedLater = ({ runs }: Pick<DispatchRecord, "runs">, stored: StoredRuns): number =>
  runs
    .filter((run) => run.outcome === "backgrounded" && stored.get(run.id)?.status === "skipped")
    .filter((run) => hasNotRun(run, stored.get(run.id))).length;

/** A run that a time or a trigger starts waits as `queued` from the first on, as does a run that is tried again. */
export const hasStarted = ({ attempt }: AutomationRun): boolean => attempt > 0;

/** A `skip_if` that holds ends an attempt before the hook has run. */
export const hasTried = ({ status }: AttemptRecord): boolean => status !== "skipped";

/** Names the message whose run replaced this one under `when_busy: coalesce`; undefined for any other skip. Markdown. */
export function replacedText(hookId: string, skipped: string | undefined): string | undefined {
  const [, id] = /^coalesce: run (m\d+|d_[^:]+):.+ replaces it$/.exec(skipped ?? "") ?? [];
  if (id === undefined) return undefined;
  return `coalesce: its run for ${code(id)} replaces this one, which ${code(`/hooks why ${hookId} ${id}`)} shows`;
}

/** A sentence, in Markdown. `instead`: in place of the status of a run that succeeded. */
export function backgroundText(
  deps: CommandDeps,
  stored: AutomationRun | undefined,
  now: number,
  instead?: string,
): string {
  if (stored === undefined)
    return "It was stored as a background run, and what became of the run is no longer on record.";
  const { status, statusReason, dueAt } = stored;
  const skipped = parseSkipReason(statusReason);
  const reason = skipped.by === "gone" ? skipped.reason : statusReason;
  const why = reason === undefined ? "." : `: ${plain(reason)}.`;
  const took = tookMs(stored, now);
  const paused = deps.automations?.paused();
  const noPlace = deps.automations?.noPlace();
  const awaited = awaitedText(deps, stored.hookId);
  switch (status === "queued" && !hasStarted(stored) ? "backgrounded" : status) {
    case "backgrounded":
      if (awaited) return `It has **not run yet**: ${awaited}.`;
      if (paused)
        return `It has **not run yet**: it waits in the background, because ${nameIn(paused.by)} paused all hooks.`;
      return `It has **not run yet**: it waits in the background for ${noPlace ? `a place, because ${plain(noPlace)}` : "its turn"}.`;
    case "queued":
      return awaited ? `It started${why} Now ${awaited}.` : `It is tried again at ${clockTime(dueAt, now)}${why}`;
    case "running":
      return `It is running now, in the background${took === undefined ? "" : `, for ${formatDuration(took)}`}.`;
    case "skipped": {
      const replaced = replacedText(stored.hookId, statusReason);
      return `It did **not** run${replaced === undefined ? why : `: ${replaced}.`}`;
    }
    case "interrupted":
      return `It was **interrupted**${why}`;
    default:
      return `It ran in the background, ${instead ?? statusText(status)}${took === undefined ? "" : `, ${formatDuration(took)}`}${why}`;
  }
}

/** The caller waits for it: its point is firing. */
const isAwaited = (id: string, running: readonly RunningHook[]): boolean =>
  running.some(({ runId, dispatchId }) => runId === id && !isOfBackground(dispatchId));

/**
 * Lines that the records of attempts do not give, each at its time: that a run is under way or is to be tried again, that one was cut off,
 * and how a run of more than one attempt ended. Open runs come last.
 */
export function backgroundLines(
  deps: CommandDeps,
  { stored, running }: Pick<OnRecord, "stored"> & { running: readonly RunningHook[] },
  now: number,
  runsAgain: (run: AutomationRun) => boolean,
): { at: number; text: string }[] {
  return [...stored.values()].flatMap((run) => {
    const awaited = isUnfinished(run.status) ? awaitedText(deps, run.hookId) : undefined;
    const line = awaited ? `${code(run.hookId)}${ofAttempts(run)}: ${awaited}` : lineOf(run, running, now);
    const text = line && `${line}${runsAgain(run) ? `; it runs again when ${code(run.event ?? "")} fires again` : ""}`;
    if (text === undefined) return [];
    // A run that runs again has the end of the attempt before.
    const at = isUnfinished(run.status) ? undefined : run.endedAt;
    return [at === undefined ? { at: Number.POSITIVE_INFINITY, text } : { at, text: `${clockTime(at, now)} ${text}` }];
  });
}

/** ` (attempt 1 was interrupted: the gateway stopped)`. */
function ofAttempts(run: AutomationRun): string {
  const text = cutOffAttempts(run);
  return text === "" ? "" : ` (${text})`;
}

function lineOf(run: AutomationRun, runningHooks: readonly RunningHook[], now: number): string | undefined {
  const { status, statusReason, attempt, attempts, dueAt } = run;
  const hook = code(run.hookId);
  const why = statusReason === undefined ? "" : `: ${plain(statusReason)}`;
  switch (status) {
    case "backgrounded":
      return undefined;
    case "running": {
      // A plugin's run has no record of the attempt under way.
      const took = runningHooks.find(({ runId }) => storedId(runId) === run.id)?.forMs ?? tookMs(run, now);
      const duration = took === undefined ? "" : `, for ${formatDuration(took)}`;
      return `${hook} is **running** now${isAwaited(run.id, runningHooks) ? "" : ", in the background"}${duration}${attempt > 1 ? ` (attempt ${attempt}${afterCutOffs(run)})` : ""}`;
    }
    case "queued": {
      const inText = dueAt > now ? `at ${clockTime(dueAt, now)} (in ${formatDuration(dueAt - now)})` : "now";
      return attempts.some(hasTried) ? `${hook} is tried again ${inText}` : `${hook} waits in the background`;
    }
    case "interrupted":
      return `${hook} was **interrupted**${why}`;
    case "skipped":
      return attempts.some(hasTried)
        ? `${hook} was not tried again: ${plain(statusReason ?? "it was skipped")}`
        : undefined;
    default:
      return attempt > 1 ? `${hook} ${statusText(status)} at attempt ${attempt}${afterCutOffs(run)}` : undefined;
  }
}

/** `attempt 1 was interrupted: the gateway ended while it ran`: such an attempt has no record in the journal. */
export function cutOffAttempts({ attempts }: AutomationRun): string {
  return attempts
    .filter(({ status }) => status === "interrupted")
    .map(({ attempt, error }) => `attempt ${attempt} was interrupted${error === undefined ? "" : `: ${plain(error)}`}`)
    .join("; ");
}

const afterCutOffs = (run: AutomationRun): string => {
  const text = cutOffAttempts(run);
  return text === "" ? "" : `; ${text}`;
};
