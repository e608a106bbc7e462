/** Lengths of time in steps that people think in. */
import { writeDuration } from "../lib/time/duration.js";

const MINUTE = 60_000;
const MINUTES = [1, 5, 15, 30, 60, 120, 240, 480, 1440, 4320, 10_080].map((minutes) => minutes * MINUTE);
/** For quick work of programs. */
const SECONDS = [1, 2, 5, 10, 20, 30, 60].map((seconds) => seconds * 1000);

export interface Buckets {
  /** `≤ 5m`, …, `> 7d`; only as many as are needed. */
  labels: string[];
  indexOf(ms: number): number;
}

/** Steps up to the one that holds the longest; seconds where nothing took longer than a minute. */
export function bucketsFor(lengths: readonly number[]): Buckets {
  const edges = lengths.length > 0 && lengths.every((ms) => ms <= MINUTE) ? SECONDS : MINUTES;
  const indexOf = (ms: number) => {
    const i = edges.findIndex((edge) => ms <= edge);
    return i === -1 ? edges.length : i;
  };
  const last = Math.max(2, ...lengths.map(indexOf));
  const labels = [...edges.map((edge) => `≤ ${writeDuration(edge)}`), `> ${writeDuration(edges.at(-1) ?? 0)}`];
  return { labels: labels.slice(0, last + 1), indexOf };
}

/** The share `p` (0 to 1) of the lengths is at most this long. */
export function percentile(lengths: readonly number[], p: number): number {
  const sorted = [...lengths].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))] ?? 0;
}
