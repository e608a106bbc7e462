/** Writing a mission: a change is made over the version that was read, or not at all; watchers of missions are called after it. */
import type { Mission, MissionReport, MissionRow, OwedTelling } from "../../domain/mission.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import type { MissionParts } from "./parts.js";
import { watchedMission } from "./watched.js";

/** A field that is undefined goes. */
export type MissionChange = { [K in keyof Mission]?: Mission[K] | undefined };

/** Written together with a change. */
export interface WithChange {
  owe?: readonly OwedTelling[];
  report?: MissionReport;
  /** It is what came of asking hooks: the count of that ends with it. */
  isAnswer?: boolean;
}

type Parts = Pick<MissionParts, "store" | "attempts" | "changed" | "logger">;

/**
 * False when the mission was changed meanwhile: the caller reads it and decides again. A notification of hooks meanwhile is no such
 * change: hooks are not asked again because of it.
 */
export async function keep(
  row: MissionRow,
  change: MissionChange,
  parts: Parts,
  { owe = [], report, isAnswer = false }: WithChange = {},
): Promise<boolean> {
  for (let now: MissionRow | undefined = row; now && isSame(now, row); now = await parts.store.get(row.mission.id)) {
    const mission = changed(now.mission, { ...change, changes: changesOf(now.mission) + 1 });
    const next = report ?? now.report;
    const [isOurs] = await Promise.all([
      parts.store.commit({ mission, owed: [...now.owed, ...owe], report: next }),
      isAnswer ? parts.attempts.forget(mission.id) : undefined,
    ]);
    if (!isOurs) continue;
    if (mission.status !== row.mission.status) await tellWatchers(mission, parts);
    return true;
  }
  return false;
}

/** But for what is owed to hooks, which ends beside the mission's way. */
function isSame({ mission: one }: MissionRow, { mission: other }: MissionRow): boolean {
  return JSON.stringify({ ...one, version: 0 }) === JSON.stringify({ ...other, version: 0 });
}

/** Absent before the first one. */
export const changesOf = ({ changes = 0 }: MissionChange): number => changes;

/** Reads, changes and writes, again until there was no other change between. `change` may throw: then nothing is written. */
export async function update(
  id: string,
  parts: Parts,
  change: (mission: Mission) => MissionChange,
): Promise<MissionRow> {
  for (;;) {
    const row = await needRow(id, parts);
    if (await keep(row, change(row.mission), parts)) return needRow(id, parts);
  }
}

/** It was told: it is owed no longer. */
export async function settleOwed(id: string, dispatchId: string, { store, attempts }: Parts): Promise<void> {
  for (;;) {
    const row = await store.get(id);
    if (row === undefined || row.owed.every((owed) => owed.dispatchId !== dispatchId)) return;
    const owed = row.owed.filter((one) => one.dispatchId !== dispatchId);
    const writing = store.commit({ ...row, mission: changed(row.mission, {}), owed });
    const [isOurs] = await Promise.all([writing, attempts.forget(dispatchId)]);
    if (isOurs) return;
  }
}

export async function needRow(id: string, { store }: Pick<Parts, "store">): Promise<MissionRow> {
  const row = await store.get(id);
  if (row !== undefined) return row;
  throw new HookgateError({
    code: "NOT_FOUND",
    message: `There is no mission "${id.slice(0, 80)}".`,
    hint: "/mission list shows them.",
  });
}

/** The commit holds; a watcher that failed is told again at the next start. */
export async function tellWatchers(mission: Mission, { changed, logger }: Pick<Parts, "changed" | "logger">) {
  await changed(watchedMission(mission)).catch((error: unknown) =>
    logger.error(
      { mission: mission.id, error: errorMessage(error) },
      "the clocks of a mission were not updated after its change",
    ),
  );
}

function changed(mission: Mission, change: MissionChange): Mission {
  const next = { ...mission, ...change, version: mission.version + 1 };
  const kept = Object.entries(next).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as Mission;
}
