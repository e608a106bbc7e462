/** Every hook with what the journal knows of it: the rows of /hooks, /status and the doctor. */
import type { HookStats } from "../../src/domain/journal.js";
import type { HookInfo } from "../../src/hooks/registration.js";
import { errorMessage } from "../../src/lib/errors.js";
import { catchUp } from "../catch-up.js";
import type { CommandDeps } from "../deps.js";
import { cutOffFinder } from "../journey/cut-off-points.js";
import { familyOf } from "../resolve.js";
import { code } from "../text.js";

/** One row of `/hooks --json`. */
export interface HookRow extends Omit<HookStats, "hookId"> {
  id: string;
  family: string;
  point: string;
  phase?: string;
  enabled: boolean;
  priority: number;
  pluginId?: string;
  /** Not said when the journal cannot be read. */
  neverFired: boolean;
  /** It was started, and every run was skipped: how often, and why the last one was. */
  alwaysSkipped?: { runs: number; reason: string };
  /** Nothing is recorded of it, and the process ended while hooks of its point were at work on this message or delivery. */
  mayHaveRunFor?: string;
}

/** Runs that are counted; more are shown as so many. */
const MOST_COUNTED = 1_000;

export interface HookRows {
  rows: HookRow[];
  /** Why the figures are missing or old. */
  remark?: string;
}

/** Never rejects for the journal's sake: what is installed can be told without it. */
export async function readHookRows(deps: CommandDeps): Promise<HookRows> {
  const { stats, remark } = await readStats(deps);
  const cutOffOf = cutOffFinder(deps);
  const rows = await Promise.all(
    deps.registry.list().map(async (hook) => withCutOff(await withStoredRuns(rowOf(hook, stats), deps), cutOffOf)),
  );
  return { rows, ...(remark ? { remark } : {}) };
}

export async function readHookRow(deps: CommandDeps, hook: HookInfo): Promise<{ row: HookRow; remark?: string }> {
  const { stats, remark } = await readStats(deps);
  const row = await withCutOff(await withStoredRuns(rowOf(hook, stats), deps), cutOffFinder(deps));
  return { row, ...(remark ? { remark } : {}) };
}

interface Stats {
  /** Undefined when it cannot be read. */
  stats: ReadonlyMap<string, HookStats> | undefined;
  remark: string | undefined;
}

async function readStats(deps: CommandDeps): Promise<Stats> {
  const remark = await catchUp(deps);
  try {
    return { stats: await deps.store.journal.stats(), remark };
  } catch (error) {
    return { stats: undefined, remark: `The journal cannot be read: ${errorMessage(error)}` };
  }
}

/** The journal counts runs that ended: what it calls never fired may run now, have been cut off, or have been skipped each time. */
async function withStoredRuns(row: HookRow, { automations }: CommandDeps): Promise<HookRow> {
  if (!row.neverFired || automations?.get(row.id) === undefined) return row;
  const [begun] = await automations.runs.list({ hookId: row.id, status: ["running", "interrupted"], limit: 1 });
  if (begun !== undefined) return { ...row, neverFired: false, lastFiredAt: begun.startedAt ?? begun.createdAt };
  const skipped = await automations.runs.list({ hookId: row.id, status: "skipped", limit: MOST_COUNTED });
  const [last] = skipped;
  if (last === undefined) return row;
  return { ...row, neverFired: false, alwaysSkipped: { runs: skipped.length, reason: last.statusReason ?? "" } };
}

/** A hook of a plugin has no row of its own: what the end of the process cut off is known of the message alone. */
async function withCutOff(row: HookRow, cutOffOf: (point: string) => Promise<string | undefined>): Promise<HookRow> {
  if (!row.neverFired || !row.enabled || row.pluginId === undefined) return row;
  const id = await cutOffOf(row.point);
  return id === undefined ? row : { ...row, neverFired: false, mayHaveRunFor: id };
}

export function cutOffHookText(id: string): string {
  return `whether it ran is **not known**: the process ended while hooks were at work on ${code(id)}, and nothing of that was recorded`;
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
    ...(hook.phase ? { phase: hook.phase } : {}),
    enabled: hook.enabled,
    priority: hook.priority,
    ...(hook.pluginId ? { pluginId: hook.pluginId } : {}),
    ...(stats?.lastFiredAt === undefined ? {} : { lastFiredAt: stats.lastFiredAt }),
    ...(stats?.lastOutcome === undefined ? {} : { lastOutcome: stats.lastOutcome }),
    fires: stats?.fires ?? 0,
    failures: stats?.failures ?? 0,
    ...(stats?.p95Ms === undefined ? {} : { p95Ms: stats.p95Ms }),
    totalFires: stats?.totalFires ?? 0,
    neverFired: known !== undefined && stats?.lastFiredAt === undefined,
  };
}
