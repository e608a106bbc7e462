/**
 * Finds a mission by the text that an operator typed: its id, the start of its id, a plan whose newest mission is meant, or its title when no
 * other mission has it.
 */
import type { Mission } from "../../src/domain/orchestrator/mission.js";
import { UnclearOption } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { MissionDesk } from "../../src/orchestrator/missions/missions.js";
import { missing, notFound } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { clip, code, plain } from "../show/text.js";
import { missionsOf } from "./desk.js";

const REACH = 500;
const MIN_PREFIX = 4;
/** Missions of which an answer has the states. */
const MAX_LISTED = 5;

/** The change that is wanted; absent where the mission is only shown. */
interface Wanted {
  isPossible(mission: Mission): boolean;
  /** In `cannot be …`. */
  participle: string;
}

export async function findMission(
  deps: CommandDeps,
  given: unknown,
  { option = "id", wanted }: { option?: "id" | "mission"; wanted?: Wanted } = {},
): Promise<Mission> {
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
  if (begin.length > 1) throw unclear(begin, `More than one mission fits "${clip(name, 80)}"`, name, option, wanted);
  const words = name.toLowerCase();
  const titled = all.filter(({ title }) => title.trim().toLowerCase() === words);
  if (titled.length === 1 && titled[0]) return titled[0];
  if (titled.length > 1)
    throw unclear(titled, `${titled.length} missions have the title "${clip(name, 80)}"`, name, option, wanted);
  const fits = all.filter(({ title }) => title.toLowerCase().includes(words));
  if (fits.length > 0)
    throw unclear(
      fits,
      `"${clip(name, 80)}" is only a part of the title of ${fits.length === 1 ? "one mission" : `${fits.length} missions`}`,
      name,
      option,
      wanted,
    );
  throw notFound(
    "mission",
    name,
    all.map(({ id }) => id),
    "/mission list shows them; /mission plans what can be run.",
    option,
  );
}

/** The missions that may be meant are offered; where none of them is in a state for the change, the answer has their states. */
function unclear(
  meant: readonly Mission[],
  message: string,
  name: string,
  option: string,
  wanted: Wanted | undefined,
): HookgateError {
  const fit = wanted === undefined ? meant : meant.filter(wanted.isPossible);
  if (fit.length > 0 || wanted === undefined) {
    const facts = {
      code: "NOT_FOUND",
      message: `${message}.`,
      hint: "Name the mission by its id, or by its plan for the newest one. /mission list shows them.",
    };
    const among = fit.map(({ id }) => id);
    return new UnclearOption(facts, option, name, among);
  }
  const states = meant
    .slice(0, MAX_LISTED)
    .map(({ id, title, status }) => `- ${plain(title, 80)} is ${status}. ${code(id)}`);
  const more = meant.length > MAX_LISTED ? [`- and ${meant.length - MAX_LISTED} more: ${code("/mission list")}`] : [];
  return new HookgateError({
    code: "NOT_POSSIBLE",
    message: `${message}, and ${meant.length === 1 ? "it cannot" : "none of them can"} be ${wanted.participle}.`,
    hint: [...states, ...more].join("\n"),
  });
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
