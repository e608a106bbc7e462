/** Finds a mission by the text that an operator typed: its id, the start of its id, or a plan whose newest mission is meant. */
import type { Mission } from "../../src/domain/orchestrator/mission.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { MissionDesk } from "../../src/orchestrator/missions/missions.js";
import { ambiguous, missing, notFound } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { missionsOf } from "./desk.js";

const REACH = 500;
const MIN_PREFIX = 4;

export async function findMission(deps: CommandDeps, given: unknown, option = "id"): Promise<Mission> {
  const name = typeof given === "string" ? given.trim() : "";
  if (name === "") throw missing("which mission", "/mission list shows them.", option);
  const desk = missionsOf(deps);
  const [[exact], all] = await Promise.all([
    byId(desk, name).then((known) => known ?? desk.list({ planId: name, limit: 1 })),
    desk.list({ limit: REACH }),
  ]);
  if (exact) return exact;
  const begin = all.filter(({ id }) => name.length >= MIN_PREFIX && id.startsWith(name));
  if (begin.length === 1 && begin[0]) return begin[0];
  if (begin.length > 1) throw ambiguous("mission", name, option);
  throw notFound(
    "mission",
    name,
    all.map(({ id }) => id),
    "/mission list shows them; /mission plans what can be run.",
    option,
  );
}

/** However many came after it. */
async function byId(desk: MissionDesk, id: string): Promise<[Mission] | undefined> {
  try {
    return [(await desk.get(id)).mission];
  } catch (error) {
    if (error instanceof HookgateError && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}
