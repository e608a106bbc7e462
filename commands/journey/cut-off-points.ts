/** Which points were firing when the process ended, as far as the queues know: the journal records a dispatch at its end. */

import { HOOKS_MAY_CRASH, MAY_CRASH } from "../../src/domain/deliveries/letters.js";
import { purgedBecauseFinder } from "../../src/domain/deliveries/purges.js";
import { numberedDispatch, rootOf } from "../../src/domain/journal.js";
import type { InboxRow } from "../../src/domain/store.js";
import type { CrashedDispatch } from "../../src/hooks/attempts.js";
import type { Ender } from "../../src/hooks/given-up.js";
import { DAY_MS } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";
import { ago, clockTime, code } from "../show/text.js";
import { cutOffsOf, undecidedOf, unrecordedByKill } from "./cut-off.js";
import { type Journey, POINT_OF_CHANGE } from "./find.js";
import { workOf } from "./not-recorded.js";
import { mayBeCommand } from "./why-not-reached.js";

/** How far messages and deliveries are looked through. */
const LAST = 200;
/** How many of the rows that were cut off are looked up in the journal. */
const MAX_LOOKED_UP = 10;

export interface CutOff {
  /** The id of the message, the delivery, the task or the mission. */
  id: string;
  /** When it was over, else when it came; 0 where that is not on record, because it was deleted. */
  at: number;
  /** The work waits for an operator because of that, also when the point fired again since. */
  isHeld?: boolean;
  /** The hooks crashed the gateway there, and are called again. */
  crashed?: CrashedDispatch;
}

/** Gives the last message or delivery whose hooks of a point were cut off, and of which nothing is recorded there. Reads once per point. */
export function cutOffFinder(deps: CommandDeps): (point: string, phase?: Phase) => Promise<CutOff | undefined> {
  const known = new Map<string, Promise<CutOff | undefined>>();
  const purgedBecause = purgedBecauseFinder(deps);
  return (point, phase) => {
    const key = `${point} ${phase}`;
    const found = known.get(key) ?? lastCutOff(point, phase, deps, purgedBecause);
    known.set(key, found);
    return found;
  };
}

/** Lifecycle points have a phase. */
type Phase = CrashedDispatch["phase"];

async function lastCutOff(
  point: string,
  phase: Phase,
  deps: CommandDeps,
  purgedBecause: (words: string) => Promise<string | undefined>,
): Promise<CutOff | undefined> {
  const { store } = deps;
  const work = phase === "after" ? undefined : await workHeldAt(point, deps);
  if (work !== undefined) return work;
  const crashed = (await crashedAt(point, deps, { phase })).at(-1);
  // A dispatch that is called again crashed no later than this process started.
  const known = crashed && { id: idOf(crashed), at: crashed.givenUp?.at ?? deps.about.startedAt, crashed };
  // A message whose hook ended the process may have been handled again since, or another message after it.
  if (known !== undefined && crashed?.endedBy === undefined) return known;
  for (const { id, round, at } of await cutOffAt(point, store))
    if ((await store.journal.get(numberedDispatch(id, point, round))) === undefined)
      return known !== undefined && known.at > at ? known : { id, at };
  if (known !== undefined) return known;
  const unrecorded = await unrecordedAt(point, deps);
  if (unrecorded !== undefined) return unrecorded;
  const isInbound = point in OF_ROW;
  if (!isInbound && point !== "before_dispatch" && point !== "message_sending") return undefined;
  const purged = await purgedBecause(isInbound ? MAY_CRASH : HOOKS_MAY_CRASH);
  return purged === undefined ? undefined : { id: purged, at: 0 };
}

/**
 * The newest message that an earlier process handled to its end, where the point is not recorded: a hook that the message did not wait for
 * was still at work. Undefined where no such hook is, or the point was never recorded, as where no hook was enabled.
 */
async function unrecordedAt(point: string, deps: CommandDeps): Promise<CutOff | undefined> {
  const { store, about } = deps;
  const isOf = OF_ROW[point];
  const [last] = await store.journal.list({ point, limit: 1 });
  if (isOf === undefined || last === undefined || unrecordedByKill(deps, point) === undefined) return undefined;
  const rows = (await store.inbox.list({ limit: LAST })).filter(
    (row) => row.status === "done" && row.receivedAt < about.startedAt && isOf(row),
  );
  for (const { id, round, receivedAt } of rows.slice(0, MAX_LOOKED_UP)) {
    const own = numberedDispatch(`m${id}`, point, point === "message_received" ? 1 : round);
    if ((await store.journal.get(own)) === undefined) return { id: `m${id}`, at: receivedAt };
  }
  return undefined;
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

/**
 * Dispatches that crashed the gateway while hooks of the point worked on them, and have not ended since; given-up ones come first. `ids`:
 * of these tasks, missions or deliveries only.
 */
export async function crashedAt(
  point: string,
  { attempts }: CommandDeps,
  { ids, phase }: { ids?: readonly string[]; phase?: Phase } = {},
): Promise<CrashedDispatch[]> {
  const crashed = (await attempts?.crashed()) ?? [];
  return crashed.filter(
    (one) =>
      one.point === point &&
      (phase === undefined || one.phase === phase) &&
      (ids === undefined || ids.includes(idOf(one))),
  );
}

/** The ids of the message or task of the journey, and of the deliveries that were sent because of it. */
export const idsOf = ({ id, deliveries }: Pick<Journey, "id" | "deliveries">): string[] => [
  id,
  ...deliveries.map((one) => one.id),
];

/**
 * A line for each end of the journey's deliveries that hooks were not notified of, and for each plugin hook that ended the process for it.
 */
export async function crashLines({ attempts, clock }: CommandDeps, journey: Journey) {
  const ids = [...idsOf(journey), ...journey.changes.map(({ id }) => `m${id}`)];
  const now = clock.now();
  return ((await attempts?.crashed()) ?? [])
    .filter((one) => ids.includes(idOf(one)) && (one.endedBy !== undefined || DELIVERY_ENDS.includes(one.point)))
    .map((one) => {
      const { endedBy, point, givenUp: { at } = { at: now } } = one;
      const what = `hooks at ${code(point)} crashed the gateway ${timesText(one)} for ${code(idOf(one))}, and are not called again`;
      return {
        at,
        text: `${clockTime(at, now)} ${endedBy === undefined ? what : crashesText(one)}`,
        id: idOf(one),
        endedBy,
      };
    });
}

const timesText = ({ crashes }: CrashedDispatch) => (crashes === 1 ? "once" : `${crashes} times in a row`);

/**
 * Dispatches that hooks were not notified of or never ended, and no work waits for, and the hooks that ended the process: nothing else
 * shows them. Newest first.
 */
export async function silentlyGivenUp({ attempts, clock }: CommandDeps): Promise<CrashedDispatch[]> {
  const since = clock.now() - SHOWN_MS;
  const crashed = (await attempts?.crashed()) ?? [];
  return crashed.filter(({ givenUp }) => givenUp?.isSilent && givenUp.at > since).reverse();
}

/** Crashes are shown as long as failures of hooks. */
const SHOWN_MS = DAY_MS;

const DELIVERY_ENDS: readonly string[] = ["message_sent", "delivery_failed"];

/** By hook of a plugin: its last call of `process.exit`, and the work for which the hook was called then. */
export async function endingsByHook({ attempts }: CommandDeps): Promise<ReadonlyMap<string, Ending>> {
  const crashed = (await attempts?.crashed()) ?? [];
  const endings = crashed.flatMap((one): [string, Ending][] =>
    one.endedBy?.hookId === undefined || one.givenUp === undefined
      ? []
      : [[one.endedBy.hookId, { id: idOf(one), at: one.givenUp.at, exitCode: one.endedBy.exitCode }]],
  );
  return new Map(endings);
}

/** The last time that the hook ended the process: sentences, in Markdown. */
export async function endingText(deps: CommandDeps, hookId: string): Promise<string | undefined> {
  const last = (await deps.attempts?.crashed())?.findLast(({ endedBy }) => endedBy?.hookId === hookId);
  return last && crashText(last, deps);
}

export interface Ending extends Pick<CutOff, "id" | "at"> {
  exitCode: number;
}

/** The message, task, mission or delivery; the dispatch where it is of none, as at a schedule. */
export const idOf = ({ dispatchId, point, endedBy }: CrashedDispatch): string =>
  workOf(dispatchId)?.id ?? (endedBy !== undefined || DELIVERY_ENDS.includes(point) ? rootOf(dispatchId) : dispatchId);

/** Sentences, in Markdown. `when`: the adverb of the crash, for a dispatch that is called again. */
export function crashText(crashed: CrashedDispatch, { clock }: CommandDeps, when = ""): string {
  const { maxCrashes, isCalled, givenUp, endedBy } = crashed;
  if (givenUp !== undefined && endedBy !== undefined)
    return `${crashesText(crashed)}, ${ago(givenUp.at, clock.now())}; what else ran there before that is not recorded. ${endedBy.hookId === undefined ? "A plugin" : "A hook"} must not call ${code("process.exit")}.`;
  if (givenUp !== undefined)
    return `${crashesText(crashed)} (${ago(givenUp.at, clock.now())}); what ran before each crash is not recorded. They are not called again${givenUp.isSilent ? "" : " by themselves"}. Where a plugin ended the process itself, the log names its hook.`;
  const again = isCalled ? "They are being called again now" : "They are called again when it is its turn";
  return `${crashesText(crashed)}${when}; what ran before each crash is not recorded. ${again}. After more than ${maxCrashes} crashes in a row (${code("orchestrator.max_crashes")}) they are not called again by themselves.`;
}

/** `The gateway crashed once while hooks at task:create (after) were at work on t_1`. */
export function crashesText(crashed: CrashedDispatch): string {
  const { phase, endedBy, dispatchId } = crashed;
  const point = `${code(crashed.point)}${phase === "after" ? " (after)" : ""}`;
  if (endedBy !== undefined) {
    const about = workOf(dispatchId) || /^(m\d|d_)/.test(dispatchId) ? `, for ${code(idOf(crashed))}` : "";
    const at = crashed.point === "" ? "" : ` at ${point}`;
    return `${enderText(endedBy)} **ended the process** with exit code ${endedBy.exitCode}${at}${about}`;
  }
  return `The gateway crashed **${timesText(crashed)}** while hooks at ${point} were at work on ${code(idOf(crashed))}`;
}

/** At the start of a sentence. */
export function enderText({ hookId, plugin = "", command, isRoute }: Ender): string {
  if (hookId !== undefined) return code(hookId);
  const what = isRoute ? "The default route" : "A timer or other work";
  return `${command === undefined ? what : `The command ${code(`/${command}`)}`} of the plugin ${code(plugin)}`;
}

/** Who holds work whose hooks are not called again. */
const GATEWAY = "hookgate";

/** Points that fire while a row of the inbox is handled: whether a row that was not handled to its end may have come to them. */
const OF_ROW: Readonly<Record<string, (row: InboxRow) => boolean>> = {
  message_received: ({ event: { kind } }) => kind === "message" || kind === "command",
  inbound_claim: ({ event, outcome }) => event.kind === "message" && outcome !== "command" && outcome !== "denied",
  command_invoked: mayBeCommand,
  ...Object.fromEntries(
    Object.entries(POINT_OF_CHANGE).map(([kind, point]) => [point, ({ event }: InboxRow) => event.kind === kind]),
  ),
};

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
  const isOf = OF_ROW[point];
  if (isOf === undefined) return [];
  const rows = await inbox.list({ limit: LAST });
  return rows
    .filter(isOf)
    .filter((row) => cutOffsOf(row) > 0)
    .slice(0, MAX_LOOKED_UP)
    .map(({ id, round, receivedAt, settledAt }) => ({
      id: `m${id}`,
      round: point === "message_received" ? 1 : round,
      at: settledAt ?? receivedAt,
    }));
}

/** Two sentences about what may have fired at the point after its last firing on record, `at` (-1: none is), and not for `except`. */
export async function cutOffAfter(
  deps: CommandDeps,
  point: string,
  at = -1,
  phase?: Phase,
  except?: string,
): Promise<string | undefined> {
  const cut = await cutOffFinder(deps)(point, phase);
  if (cut === undefined || (cut.at <= at && !cut.isHeld)) return undefined;
  if (cut.crashed === undefined && cut.id === except) return undefined;
  if (cut.crashed !== undefined) return crashText(cut.crashed, deps, at > 0 ? " after that" : "");
  return `The process ended while hooks were at work on ${code(cut.id)}${at > 0 && cut.at > at ? ", after that" : ""}: what ran for it at ${code(point)} before the end of the process is not recorded. ${code(`/hooks why ${point} ${cut.id}`)} shows what is known.`;
}
