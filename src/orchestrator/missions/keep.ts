/** Writes a mission: a change is made over the version that was read, or not at all; clocks are notified after it. */
import type { Mission, MissionReport, MissionRow } from "../../domain/orchestrator/mission.js";
import type { NewPending } from "../../domain/pending.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import type { MissionDeps } from "./deps.js";
import { watchedMission } from "./watched.js";

/** A field that is set to undefined is removed. */
export type MissionChange = { [K in keyof Mission]?: Mission[K] | undefined };

/** Other data that is written together with a change. */
export interface WithChange {
  pending?: readonly NewPending[];
  report?: MissionReport;
  /** The change is the result of asking hooks: the count of these attempts ends with it. */
  isAnswer?: boolean;
}

type Deps = Pick<MissionDeps, "store" | "attempts" | "pending" | "changed" | "logger">;

/** False when the mission was changed meanwhile: the caller reads it again and decides again. */
export async function keep(
  row: MissionRow,
  change: MissionChange,
  deps: Deps,
  { pending = [], report = row.report, isAnswer = false }: WithChange = {},
): Promise<boolean> {
  const mission = changed(row.mission, change);
  const [isOurs] = await Promise.all([
    deps.store.commit({ mission, report }, pending),
    isAnswer ? deps.attempts.forget(mission.id) : undefined,
  ]);
  if (!isOurs) return false;
  deps.pending.added(pending);
  if (mission.status !== row.mission.status) await tellWatchers(mission, deps);
  return true;
}

/** How often the mission was changed: dispatch ids for hooks end in this number, so they are the same after a crash and never reused. */
export const changesOf = ({ version }: Pick<Mission, "version">): number => version - 1;

/** Reads, changes and writes, again until there was no other change between. `change` may throw: then nothing is written. */
export async function update(id: string, deps: Deps, change: (mission: Mission) => MissionChange): Promise<MissionRow> {
  for (;;) {
    const row = await needRow(id, deps);
    if (await keep(row, change(row.mission), deps)) return needRow(id, deps);
  }
}

export async function needRow(id: string, { store }: Pick<Deps, "store">): Promise<MissionRow> {
  const row = await store.get(id);
  if (row !== undefined) return row;
  throw new HookgateError({
    code: "NOT_FOUND",
    message: `There is no mission "${id.slice(0, 80)}".`,
    hint: "/mission list shows them.",
  });
}

/** The commit holds; a watcher that failed is notified again at the next start. */
export async function tellWatchers(mission: Mission, { changed, logger }: Pick<Deps, "changed" | "logger">) {
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
