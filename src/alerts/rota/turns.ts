/**
 * The turns of a rota: `rotate: { from, every, people }`. Turns of whole days start at the same time of day in the rota's zone, in summer
 * as in winter; a time that clocks skip comes right after it. Other turns have a fixed length.
 */
import { DAY_MS } from "../../lib/time/duration.js";
import { parseInstant } from "../../lib/time/instant.js";
import { localTimezone, timeIn } from "../../lib/time/timezone.js";
import type { RotaConfig } from "../config.js";

/** The turn that is under way, counted from 0; undefined before the first, or without `rotate`. */
export function turnAt(rota: RotaConfig, now: number): number | undefined {
  const turns = turnsOf(rota);
  if (turns === undefined || now < turns.begun) return undefined;
  let turn = Math.floor((now - turns.begun) / turns.every);
  while (turns.startOf(turn) > now) turn--;
  while (turns.startOf(turn + 1) <= now) turn++;
  return turn;
}

/** The start of the next turn; undefined without `rotate`. */
export function nextTurn(rota: RotaConfig, after: number): number | undefined {
  const turn = turnAt(rota, after);
  return turnsOf(rota)?.startOf(turn === undefined ? 0 : turn + 1);
}

interface Turns {
  begun: number;
  every: number;
  startOf(turn: number): number;
}

/** A moment in a zone is slow to compute, and one answer may look at a thousand turns. */
const known = new WeakMap<RotaConfig, Turns>();

function turnsOf(rota: RotaConfig): Turns | undefined {
  const turns = known.get(rota) ?? readTurns(rota);
  if (turns !== undefined) known.set(rota, turns);
  return turns;
}

function readTurns({ rotate, timezone = localTimezone() }: RotaConfig): Turns | undefined {
  const begun = rotate && parseInstant(rotate.from, timezone);
  if (rotate === undefined || begun === undefined) return undefined;
  const { every } = rotate;
  if (every % DAY_MS !== 0) return { begun, every, startOf: (turn: number) => begun + turn * every };
  const written = timeIn(timezone, begun);
  const [date = "", time = ""] = [written.slice(0, 10), written.slice(11, 19)];
  const starts = new Map([[0, begun]]);
  const startOf = (turn: number) => {
    const read = starts.get(turn);
    if (read !== undefined) return read;
    const day = new Date(Date.parse(`${date}T00:00:00Z`) + turn * every).toISOString().slice(0, 10);
    const start = parseInstant(`${day}T${time}`, timezone) ?? begun + turn * every;
    starts.set(turn, start);
    return start;
  };
  return { begun, every, startOf };
}
