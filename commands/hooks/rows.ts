/** Every hook with the facts of the journal about it: the rows of /hooks, /status and the doctor. */

import type { AutomationRun, AutomationRunStatus, DecisionKind } from "../../src/domain/automation.js";
import { type HookStats, type Journal, type Outcome, rootOf } from "../../src/domain/journal.js";
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import { errorMessage, HookgateError } from "../../src/lib/errors.js";
import { DAY_MS } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";
import { isInJournal } from "../journey/background.js";
import { cutOffFinder, type Ending, endingsByHook } from "../journey/cut-off-points.js";
import { familyOf } from "../resolve.js";
import { outcomeText } from "../runs/show-dispatch.js";
import { flushJournal } from "../show/flush-journal.js";
import { code, plain } from "../show/text.js";

/** One row of `/hooks --json`. */
export interface HookRow extends Omit<HookStats, "hookId"> {
  id: string;
  family: string;
  point: string;
  phase?: HookInfo["phase"];
  enabled: boolean;
  priority: number;
  pluginId?: string;
  /** Also false when the journal cannot be read. */
  neverFired: boolean;
  /** The newest firing has no end of its own: it runs now, or the end of the process cut it off. `before`: the firing before it. */
  unended?: Unended;
  /** Runs of the last 24 h that were cut off. Among hooks that are waited for, only configured ones have a row that records it. */
  interrupted?: number;
  /** The hook was started, and every run was skipped: how often, and the reason of the last skip. */
  alwaysSkipped?: { runs: number; reason: string };
  /** After its last firing on record the process ended while hooks of its point were at work on this message or delivery. */
  mayHaveRunFor?: string;
  /** `lastFiredAt` and `lastOutcome` are those of a stored run, which is on record while the journal does not have it. */
  isOfStoredRun?: true;
}

export interface Unended {
  kind: "running" | "interrupted";
  /** Why it was interrupted. */
  reason?: string;
  /** The message, delivery or task that it ran for. */
  of?: string | undefined;
  /** The hook runs again when its point fires again for that message, delivery or task. */
  again?: boolean;
  /** The hook ended the process while it ran for this message, delivery or task. */
  endedAt?: string;
  before?: { at: number; outcome?: Outcome };
}

/** Runs that are counted; more are shown as so many. */
const MAX_COUNTED = 1_000;

export interface HookRows {
  rows: HookRow[];
  /** Why the figures are missing or old. */
  remark?: string;
}

/** Never rejects because of the journal: the installed hooks can be listed without it. */
export async function readHookRows(deps: CommandDeps): Promise<HookRows> {
  return readRows(deps, deps.registry.list());
}

export async function readHookRow(deps: CommandDeps, hook: HookInfo): Promise<{ row: HookRow; remark?: string }> {
  const { rows, remark } = await readRows(deps, [hook], hook.id);
  return { row: rows[0] as HookRow, remark };
}

async function readRows(all: CommandDeps, hooks: readonly HookInfo[], hookId?: string): Promise<HookRows> {
  const { stats, remark } = await readStats(all);
  let unread: string | undefined;
  const deps = withoutFailures(all, (error) => {
    unread = unreadText(error);
  });
  const crashes = await readCrashes(deps, hookId);
  const rows = await Promise.all(hooks.map((hook) => readRow(deps, rowOf(hook, stats), crashes)));
  return { rows, remark: remark ?? unread };
}

/** Nothing is on record in a damaged journal. */
function withoutFailures(deps: CommandDeps, onFailure: (error: unknown) => void): CommandDeps {
  const { journal } = deps.store;
  const none = (error: unknown) => void onFailure(error);
  const get: Journal["get"] = (id) => journal.get(id).catch(none);
  const getByRun: Journal["getByRun"] = (id) => journal.getByRun(id).catch(none);
  const list: Journal["list"] = async (query) => (await journal.list(query).catch(none)) ?? [];
  return { ...deps, store: { ...deps.store, journal: { ...journal, get, getByRun, list } } };
}

/** Runs and firings that an end of the process cut off. */
interface Crashes {
  startedOf: ReadonlyMap<string, readonly AutomationRun[]>;
  endingOf: ReadonlyMap<string, Ending>;
  cutOffOf: ReturnType<typeof cutOffFinder>;
}

const readCrashes = async (deps: CommandDeps, hookId?: string): Promise<Crashes> => ({
  startedOf: await startedRuns(deps, hookId),
  endingOf: await endingsByHook(deps),
  cutOffOf: cutOffFinder(deps),
});

async function readRow(deps: CommandDeps, row: HookRow, { startedOf, endingOf, cutOffOf }: Crashes): Promise<HookRow> {
  const ended = await withStoredRun(await withBlock(row, deps), deps);
  const interrupted = await withInterrupted(ended, startedOf.get(row.id) ?? [], deps);
  const seen = withRunning(withEnding(interrupted, endingOf.get(row.id)), deps);
  return withCutOff(await withSkippedRuns(seen, deps), cutOffOf);
}

interface Stats {
  /** Undefined when it cannot be read. */
  stats: ReadonlyMap<string, HookStats> | undefined;
  remark: string | undefined;
}

async function readStats(deps: CommandDeps): Promise<Stats> {
  const remark = await flushJournal(deps);
  try {
    return { stats: await deps.store.journal.stats(), remark };
  } catch (error) {
    return { stats: undefined, remark: unreadText(error) };
  }
}

function unreadText(error: unknown): string {
  const hint = error instanceof HookgateError && error.hint ? `. ${error.hint}` : "";
  return `The journal cannot be read: ${errorMessage(error)}${hint}`;
}

/** The journal has the runs that ended; only the stored runs show those that the end of the process cut off. By hook, the newest first. */
async function startedRuns(
  { automations }: CommandDeps,
  hookId?: string,
): Promise<ReadonlyMap<string, readonly AutomationRun[]>> {
  const filter = { status: "interrupted", limit: MAX_COUNTED } as const;
  const runs = (await automations?.runs.list(hookId === undefined ? filter : { ...filter, hookId })) ?? [];
  const byHook = new Map<string, AutomationRun[]>();
  for (const run of runs) byHook.set(run.hookId, [...(byHook.get(run.hookId) ?? []), run]);
  return byHook;
}

const OUTCOMES = {
  succeeded: "passed",
  blocked: "blocked",
  failed: "failed",
  timed_out: "timed_out",
} as const satisfies Partial<Record<AutomationRunStatus, Outcome>>;
const DECIDED: Partial<Record<DecisionKind, Outcome>> = { claim: "claimed", modify: "modified" };
const ENDED = Object.keys(OUTCOMES) as (keyof typeof OUTCOMES)[];

/** Adds the newest stored run of the hook when the journal lost it. */
async function withStoredRun(row: HookRow, deps: CommandDeps): Promise<HookRow> {
  const { automations } = deps;
  const { lastStartedAt } = (await automations?.runs.started(row.id, Number.MAX_SAFE_INTEGER)) ?? {};
  if (lastStartedAt === undefined || lastStartedAt <= (row.lastFiredAt ?? 0)) return row;
  const [newest] = (await automations?.runs.list({ hookId: row.id, status: ENDED, limit: 1 })) ?? [];
  if (newest === undefined || startOf(newest) <= (row.lastFiredAt ?? 0)) return row;
  if (await isInJournal(deps, newest)) return row;
  const decided = newest.status === "succeeded" && newest.decided !== undefined ? DECIDED[newest.decided] : undefined;
  const lastOutcome = decided ?? OUTCOMES[newest.status as keyof typeof OUTCOMES];
  return { ...row, neverFired: false, lastFiredAt: startOf(newest), lastOutcome, isOfStoredRun: true };
}

/** The journal records a claim when a configured hook blocks a message; the stored run shows which of both it was. */
async function withBlock(row: HookRow, { automations }: CommandDeps): Promise<HookRow> {
  if (row.lastOutcome !== "claimed" || automations?.get(row.id) === undefined) return row;
  const [newest] = await automations.runs.list({ hookId: row.id, status: ENDED, limit: 1 });
  return newest?.status === "blocked" ? { ...row, lastOutcome: "blocked" } : row;
}

const startOf = ({ startedAt, createdAt }: AutomationRun): number => startedAt ?? createdAt;

async function withInterrupted(row: HookRow, runs: readonly AutomationRun[], deps: CommandDeps): Promise<HookRow> {
  const interrupted = runs.filter((run) => startOf(run) > deps.clock.now() - DAY_MS).length;
  const counted = interrupted === 0 ? row : { ...row, interrupted };
  const [newest] = runs;
  if (newest === undefined || startOf(newest) < (row.lastFiredAt ?? 0)) return counted;
  const unended: Unended = { kind: "interrupted", reason: newest.statusReason ?? "" };
  unended.of = subjectOf(newest.id);
  if (deps.automations?.runsAgain(newest) && (await isOpen(deps, rootOf(newest.id)))) unended.again = true;
  // A stop records the interruption in the journal, too: the firing before it is not known.
  const isSame = row.lastOutcome === "interrupted" && (await isInJournal(deps, newest));
  const { lastFiredAt: _, ...without } = counted;
  return unendedRow(isSame ? without : counted, startOf(newest), unended);
}

/** The message, delivery or task of a dispatch or a run. */
export function subjectOf(id: string): string | undefined {
  const root = rootOf(id);
  return /^(m\d|d_|t_)/.test(root) ? root : undefined;
}

/** A message or a delivery that is not done yet. */
async function isOpen({ store: { inbox, outbox } }: CommandDeps, id: string): Promise<boolean> {
  const [, rowId] = /^m(\d+)$/.exec(id) ?? [];
  const found = rowId === undefined ? await outbox.get(id) : await inbox.get(Number(rowId));
  return found !== undefined && found.settledAt === undefined;
}

/** The hook of a plugin ended the process. */
function withEnding(row: HookRow, last: Ending | undefined): HookRow {
  if (last === undefined || last.at < (row.lastFiredAt ?? 0)) return row;
  const unended: Unended = {
    kind: "interrupted",
    reason: `it ended the process with exit code ${last.exitCode}`,
    endedAt: last.id,
  };
  // A run in the background has a row from its start.
  return row.unended === undefined
    ? unendedRow(row, last.at, unended)
    : { ...row, unended: { ...row.unended, ...unended } };
}

function withRunning(row: HookRow, { registry, clock }: CommandDeps): HookRow {
  const running = registry.running().find(({ hookId }) => hookId === row.id);
  return running === undefined ? row : unendedRow(row, clock.now() - running.forMs, { kind: "running" });
}

function unendedRow(row: HookRow, at: number, unended: Unended): HookRow {
  const { lastFiredAt, lastOutcome, ...rest } = row;
  if (lastFiredAt !== undefined) unended.before = { at: lastFiredAt };
  if (unended.before !== undefined && lastOutcome !== undefined) unended.before.outcome = lastOutcome;
  return { ...rest, neverFired: false, lastFiredAt: at, unended };
}

/** A hook that never fired according to the journal may have been skipped each time. */
async function withSkippedRuns(row: HookRow, { automations }: CommandDeps): Promise<HookRow> {
  if (!row.neverFired || automations === undefined) return row;
  const skipped = await automations.runs.brief({ hookId: row.id, status: "skipped", limit: MAX_COUNTED });
  const [last] = await automations.runs.list({ hookId: row.id, status: "skipped", limit: 1 });
  if (last === undefined) return row;
  return { ...row, neverFired: false, alwaysSkipped: { runs: skipped.length, reason: last.statusReason ?? "" } };
}

/** A hook of a plugin has no row of its own: only the message shows what the end of the process cut off. */
async function withCutOff(row: HookRow, cutOffOf: ReturnType<typeof cutOffFinder>): Promise<HookRow> {
  if (!row.enabled || row.pluginId === undefined || row.unended?.kind === "running") return row;
  const cut = await cutOffOf(row.point, row.phase);
  if (cut === undefined || cut.at <= (row.lastFiredAt ?? -1) || cut.id === row.unended?.endedAt) return row;
  return { ...row, neverFired: false, mayHaveRunFor: cut.id };
}

/** `, ✓ passed`, with the text before it; empty when its end is not known. */
export function lastOutcomeText({ lastOutcome, unended }: HookRow, before: string): string {
  if (unended?.kind === "running") return `${before}running now`;
  if (unended !== undefined) return `${before}**interrupted**${unended.reason ? ` (${plain(unended.reason)})` : ""}`;
  return lastOutcome === undefined ? "" : `${before}${outcomeText(lastOutcome)}`;
}

/** `isAfter`: there is a firing on record before that. */
export function cutOffHookText(id: string, isAfter = false): string {
  return `whether it ran ${isAfter ? "after that " : ""}is **not known**: the process ended while hooks were at work on ${code(id)}, and nothing of that was recorded`;
}

export function skipText({ runs, reason }: NonNullable<HookRow["alwaysSkipped"]>): string {
  return `started ${runs === 1 ? "once" : `${runs} times`} and always skipped (${reason})`;
}

function rowOf(hook: HookInfo, known: Stats["stats"]): HookRow {
  const stats = known?.get(hook.id);
  return {
    id: hook.id,
    family: familyOf(hook.hook),
    point: hook.hook,
    phase: hook.phase,
    enabled: hook.enabled,
    priority: hook.priority,
    pluginId: hook.pluginId || undefined,
    lastFiredAt: stats?.lastFiredAt,
    lastOutcome: stats?.lastOutcome,
    fires: stats?.fires ?? 0,
    failures: stats?.failures ?? 0,
    p95Ms: stats?.p95Ms,
    totalFires: stats?.totalFires ?? 0,
    neverFired: known !== undefined && stats?.lastFiredAt === undefined,
  };
}
