/** When to warn: a share of the time allowed, or a time before its end. Both in working time. */
import { parseDuration } from "../../../lib/time/duration.js";

export interface Threshold {
  /** The threshold as it is written; shown in the warning. */
  label: string;
  share?: number;
  beforeMs?: number;
}

/** `80%` or `15m before`; undefined when it is neither. */
export function parseThreshold(text: string): Threshold | undefined {
  const label = text.trim();
  const [, percent] = /^(\d+(?:\.\d+)?)\s*%$/.exec(label) ?? [];
  if (percent !== undefined) {
    const share = Number(percent) / 100;
    return share > 0 && share < 1 ? { label, share } : undefined;
  }
  const [, time] = /^(.+?)\s+before$/i.exec(label) ?? [];
  const beforeMs = time === undefined ? undefined : parseDuration(time);
  return beforeMs === undefined || beforeMs <= 0 ? undefined : { label, beforeMs };
}

/** The working time after which the threshold is reached; undefined when the time allowed is too short for it. */
export function reachedAfter({ share, beforeMs }: Threshold, targetMs: number): number | undefined {
  const ms = share === undefined ? targetMs - (beforeMs ?? 0) : targetMs * share;
  return ms > 0 && ms < targetMs ? Math.round(ms) : undefined;
}
