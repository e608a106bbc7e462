/**
 * Working time: how much of it lies between two instants, and when so much of it will have passed. Exact to the millisecond: an instant is
 * working time when the clock on the wall of the calendar's zone shows working hours. An hour that a clock change skips is therefore none,
 * and one that it repeats counts twice.
 */

import { DAY_MS } from "../../../lib/time/duration.js";
import type { Range } from "./written.js";
import type { Zone } from "./zone.js";

export interface WorkCalendar {
  readonly name: string;
  readonly timezone?: string;
  /** Working ms in [from, to); 0 when `to` is not after `from`. */
  between(from: number, to: number): number;
  /** The earliest instant until which `ms` of working time have passed since `from`; undefined when there will never be as much. */
  after(from: number, ms: number): number | undefined;
  /** The first working instant at or after `at`. */
  nextOpen(at: number): number | undefined;
}

/** Round the clock. */
export const ALWAYS: WorkCalendar = {
  name: "always",
  between: (from, to) => Math.max(0, to - from),
  after: (from, ms) => from + ms,
  nextOpen: (at) => at,
};

/** Windows are computed and cached in pieces of this length. */
const PIECE_MS = 32 * DAY_MS;
const MAX_PIECES = 400;
/** After so many pieces (five years) without an open minute, the search ends. */
const MAX_EMPTY = 58;

interface Piece {
  /** Working time, in order. */
  windows: readonly Range[];
  totalMs: number;
}

export interface CalendarParts {
  name: string;
  timezone: string;
  zone: Zone;
  /** The working hours of a local date (days since 1970-01-01), in order and apart: ms since local midnight. */
  hoursOf(day: number): readonly Range[];
}

export function createCalendar({ name, timezone, zone, hoursOf }: CalendarParts): WorkCalendar {
  const pieces = new Map<number, Piece>();

  function piece(index: number): Piece {
    let known = pieces.get(index);
    if (known === undefined) {
      const windows = windowsOf(index * PIECE_MS, (index + 1) * PIECE_MS);
      known = { windows, totalMs: windows.reduce((sum, [from, to]) => sum + to - from, 0) };
      if (pieces.size >= MAX_PIECES) pieces.clear();
      pieces.set(index, known);
    }
    return known;
  }

  function windowsOf(from: number, to: number): Range[] {
    const windows: [number, number][] = [];
    for (const stretch of zone(from, to)) {
      const lastDay = Math.floor((stretch.to - 1 + stretch.offsetMs) / DAY_MS);
      for (let day = Math.floor((stretch.from + stretch.offsetMs) / DAY_MS); day <= lastDay; day++)
        for (const [opens, closes] of hoursOf(day)) {
          const midnight = day * DAY_MS - stretch.offsetMs;
          const start = Math.max(stretch.from, midnight + opens);
          const end = Math.min(stretch.to, midnight + closes);
          const last = windows.at(-1);
          if (last !== undefined && last[1] === start && start < end) last[1] = end;
          else if (start < end) windows.push([start, end]);
        }
    }
    return windows;
  }

  return {
    name,
    timezone,
    between(from, to) {
      let sum = 0;
      for (let index = Math.floor(from / PIECE_MS); index * PIECE_MS < to; index++) {
        const { windows, totalMs } = piece(index);
        if (from <= index * PIECE_MS && to >= (index + 1) * PIECE_MS) sum += totalMs;
        else for (const [start, end] of windows) sum += Math.max(0, Math.min(end, to) - Math.max(start, from));
      }
      return sum;
    },
    after(from, ms) {
      if (ms <= 0) return from;
      let left = ms;
      for (let index = Math.floor(from / PIECE_MS), empty = 0; empty < MAX_EMPTY; index++) {
        const { windows, totalMs } = piece(index);
        empty = totalMs === 0 ? empty + 1 : 0;
        if (from <= index * PIECE_MS && totalMs < left) {
          left -= totalMs;
          continue;
        }
        for (const [start, end] of windows) {
          const begin = Math.max(start, from);
          if (begin >= end) continue;
          if (end - begin >= left) return begin + left;
          left -= end - begin;
        }
      }
      return undefined;
    },
    nextOpen(at) {
      for (let index = Math.floor(at / PIECE_MS), empty = 0; empty < MAX_EMPTY; index++, empty++)
        for (const [start, end] of piece(index).windows) if (end > at) return Math.max(start, at);
      return undefined;
    },
  };
}
