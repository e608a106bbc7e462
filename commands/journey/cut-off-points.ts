/** Which points were firing when the process ended, as far as the queues know: the journal records a dispatch at its end. */
import { numberedDispatch } from "../../src/domain/journal.js";
import { HOOKS_MAY_CRASH, MAY_CRASH } from "../../src/domain/letters.js";
import { purgedBecauseFinder } from "../../src/domain/purges.js";
import type { CrashedDispatch } from "../../src/hooks/attempts.js";
import type { CommandDeps } from "../deps.js";
import { code } from "../text.js";
import { cutOffsOf, undecidedOf } from "./cut-off.js";
import { workOf } from "./not-recorded.js";

/** How far messages and deliveries are looked through. */
const LAST = 200;
/** How many of the rows that were cut off are looked up in the journal. */
const MAX_LOOKED_UP = 10;

export interface CutOff {
  /** The id of the message, the delivery, the task or the mission. */
  id: string;
  /** When it was over, else when it came; 0 where that is not on record, because it was deleted. */
  at: number;
  /** It waits for an operator because of that, also when the point fired again since. */
  isHeld?: boolean;
  /** The hooks crashed the gateway there, and are called again. */
  crashed?: CrashedDispatch;
}

/** Gives the last message or delivery whose hooks of a point were cut off, and of which nothing is recorded there. Reads once per point. */
export function cutOffFinder(deps: CommandDeps): (point: string) => Promise<CutOff | undefined> {
  const known = new Map<string, Promise<CutOff | undefined>>();
  const purgedBecause = purgedBecauseFinder(deps);
  return (point) => {
    const found = known.get(point) ?? lastCutOff(point, deps, purgedBecause);
    known.set(point, found);
    return found;
  };
}

async function lastCutOff(
  point: string,
  deps: CommandDeps,
  purgedBecause: (words: string) => Promise<string | undefined>,
): Promise<CutOff | undefined> {
  const { store } = deps;
  const work = await workHeldAt(point, deps);
  if (work !== undefined) return work;
  const crashed = (await crashedAt(point, deps)).at(-1);
  // No later than this process started.
  if (crashed !== undefined) return { id: idOf(crashed), at: deps.about.startedAt, crashed };
  for (const { id, round, at } of await cutOffAt(point, store))
    if ((await store.journal.get(numberedDispatch(id, point, round))) === undefined) return { id, at };
  const isInbound = point === "message_received" || point === "inbound_claim";
  if (!isInbound && point !== "before_dispatch" && point !== "message_sending") return undefined;
  const purged = await purgedBecause(isInbound ? MAY_CRASH : HOOKS_MAY_CRASH);
  return purged === undefined ? undefined : { id: purged, at: 0 };
}

/** The task or mission that waits for a person, because the gateway ended too often while hooks of the point were at work on it. */
async function workHeldAt(point: string, { tasks, missions }: CommandDeps): Promise<CutOff | undefined> {
  const held = await tasks?.store.list({ status: ["blocked", "review"], limit: LAST });
  const waiting = (await missions?.list({ limit: LAST }))?.filter(({ hold }) => hold !== undefined);
  const [last] = [...(held ?? []), ...(waiting ?? [])]
    .flatMap(({ id, hold }) =>
      hold?.by === GATEWAY && hold.point?.startsWith(point) ? [{ id, at: hold.at, isHeld: true }] : [],
    )
    .sort((one, other) => other.at - one.at);
  return last;
}

/** What crashed the gateway while hooks of the point were at work on it, and has not ended since. `taskId`: of that task only. */
export async function crashedAt(point: string, { attempts }: CommandDeps, taskId?: string): Promise<CrashedDispatch[]> {
  const crashed = (await attempts?.crashed()) ?? [];
  return crashed.filter((one) => one.point === point && (taskId === undefined || idOf(one) === taskId));
}

/** The task or mission; the dispatch where it is of neither, as at a schedule. */
const idOf = ({ dispatchId }: CrashedDispatch): string => workOf(dispatchId)?.id ?? dispatchId;

/** Sentences, in Markdown. `when`: the adverb of the crash. */
export function crashText(crashed: CrashedDispatch, when = ""): string {
  const { point, crashes, maxCrashes, isCalled } = crashed;
  const times = crashes === 1 ? "once" : `${crashes} times in a row`;
  const again = isCalled ? "They are being called again now" : "They are called again when it is its turn";
  return `The gateway crashed **${times}** while hooks at ${code(point)} were at work on ${code(idOf(crashed))}${when}; what ran before each crash is not recorded. ${again}. After more than ${maxCrashes} crashes in a row (${code("orchestrator.max_crashes")}) they are not called again by themselves.`;
}

/** Who holds work whose hooks are not called again. */
const GATEWAY = "hookgate";

async function cutOffAt(
  point: string,
  { inbox, outbox }: CommandDeps["store"],
): Promise<(CutOff & { round: number })[]> {
  if (point === "before_dispatch" || point === "message_sending") {
    const lists = await Promise.all(
      (["held", "waiting"] as const).map((status) => outbox.list({ status, limit: LAST })),
    );
    return lists
      .flat()
      .filter((one) => undecidedOf(one) > 0)
      .slice(0, MAX_LOOKED_UP)
      .map(({ id, round, createdAt, settledAt }) => ({ id, round, at: settledAt ?? createdAt }));
  }
  if (point !== "message_received" && point !== "inbound_claim") return [];
  const rows = await inbox.list({ limit: LAST });
  return rows
    .filter((row) => row.event.kind === "message" && row.outcome !== "command" && row.outcome !== "denied")
    .filter((row) => cutOffsOf(row) > 0)
    .slice(0, MAX_LOOKED_UP)
    .map(({ id, round, receivedAt, settledAt }) => ({
      id: `m${id}`,
      round: point === "message_received" ? 1 : round,
      at: settledAt ?? receivedAt,
    }));
}

/** What may have fired at the point after its last firing on record, `at` (-1: none is): two sentences. */
export async function cutOffAfter(deps: CommandDeps, point: string, at = -1): Promise<string | undefined> {
  const cut = await cutOffFinder(deps)(point);
  if (cut === undefined || (cut.at <= at && !cut.isHeld)) return undefined;
  if (cut.crashed !== undefined) return crashText(cut.crashed, at > 0 ? " after that" : "");
  return `The process ended while hooks were at work on ${code(cut.id)}${at > 0 && cut.at > at ? ", after that" : ""}: what ran for it at ${code(point)} before the end of the process is not recorded. ${code(`/hooks why ${point} ${cut.id}`)} shows what is known.`;
}
