/** Starts of duty: the shifts and turns of a rota, as moments. */

import { nextCron } from "../../lib/time/cron.js";
import { DAY_MS } from "../../lib/time/duration.js";
import { localTimezone, timeIn } from "../../lib/time/timezone.js";
import type { RotaConfig } from "../config.js";
import { onCall } from "./people.js";
import { nextTurn } from "./turns.js";

/** Ends of shifts that are followed by a gap are skipped. */
const MAX_EDGES = 1_000;

/** The next start of a shift or a turn; also when the same person continues. */
export function nextShift(rota: RotaConfig, after: number): number | undefined {
  for (let at = nextEdge(rota, after), tries = 0; at !== undefined && tries < MAX_EDGES; tries++) {
    if (begins(rota, at)) return at;
    at = nextEdge(rota, at);
  }
  return undefined;
}

/** When another person (or no one) is on duty; undefined when that never happens. */
export function dutyEnds(rota: RotaConfig, now: number): number | undefined {
  const person = onCall(rota, now);
  for (let at = nextEdge(rota, now), tries = 0; at !== undefined && tries < MAX_EDGES; tries++) {
    if (onCall(rota, at) !== person) return at;
    at = nextEdge(rota, at);
  }
  return undefined;
}

/** A stretch without anyone on call; without `to` it does not end. */
export interface Gap {
  from: number;
  to?: number;
}

/** Shifts repeat by the week, and turns leave no gap after the first: every gap of 90 days also occurs in the first eight. */
const REPEATS_AFTER_MS = 8 * DAY_MS;
const MAX_GAPS = 3;

/** The first gaps of the next 90 days, at most three. */
export function gapsOf(rota: RotaConfig, now: number): Gap[] {
  const gaps: Gap[] = [];
  for (let at: number | undefined = now, tries = 0; at !== undefined && tries < MAX_EDGES; tries++) {
    if (at > now + REPEATS_AFTER_MS || gaps.length === MAX_GAPS) break;
    const isCovered = onCall(rota, at) !== undefined;
    const end: number | undefined = dutyEnds(rota, at);
    if (!isCovered) gaps.push(end === undefined ? { from: at } : { from: at, to: end });
    at = end;
  }
  return gaps;
}

/** Changes of duty looked at for the next person. After a change that leaves no one on duty, a person follows. */
const MAX_CHANGES = 3;

/** The person on duty after the current one; undefined when there is none. */
export function nextOnCall(rota: RotaConfig, now: number): { person: string; at: number } | undefined {
  for (let at = dutyEnds(rota, now), tries = 0; at !== undefined && tries < MAX_CHANGES; tries++) {
    const person = onCall(rota, at);
    if (person !== undefined) return { person, at };
    at = dutyEnds(rota, at);
  }
  return undefined;
}

function nextEdge(rota: RotaConfig, after: number): number | undefined {
  const { shifts, timezone = localTimezone() } = rota;
  const cron = (time: string) => `${Number(time.slice(3))} ${Number(time.slice(0, 2))} * * *`;
  const edges = shifts
    .flatMap(({ from, to }) => [from, to])
    .flatMap((time) => nextCron({ cron: cron(time), timezone }, after) ?? []);
  const turn = nextTurn(rota, after);
  if (turn !== undefined) edges.push(turn);
  return edges.length === 0 ? undefined : Math.min(...edges);
}

function begins(rota: RotaConfig, at: number): boolean {
  const person = onCall(rota, at);
  if (person === undefined) return false;
  const { timezone = localTimezone(), shifts } = rota;
  const time = timeIn(timezone, at).slice(11, 16);
  const isShift = shifts.some((shift) => shift.from === time && shift.person === person);
  const isTurn = nextTurn(rota, at - 1) === at;
  return isShift || isTurn || onCall(rota, at - 1) !== person;
}
