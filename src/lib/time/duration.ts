/** Durations as people write them: `500ms`, `10s`, `5m`, `2h`, `1d`, `1h30m`. */

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** Milliseconds, or undefined when the text is no duration. */
export function parseDuration(text: string): number | undefined {
  const compact = text.trim().toLowerCase().replace(/\s+/g, "");
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(compact)) return undefined;
  let total = 0;
  for (const [, amount, unit] of compact.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g))
    total += Number(amount) * (UNIT_MS[unit as string] as number);
  return Math.round(total);
}

/** At most two units: `340 ms`, `12 s`, `5 min`, `2 h 5 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < 0) return "0 ms"; // the clock was set back meanwhile
  if (ms < 1000) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return s % 60 && m < 10 ? `${m} min ${s % 60} s` : `${m} min`;
  const h = Math.floor(m / 60);
  if (h < 24) return m % 60 ? `${h} h ${m % 60} min` : `${h} h`;
  return h % 24 ? `${Math.floor(h / 24)} d ${h % 24} h` : `${Math.floor(h / 24)} d`;
}

/** The way people write it, exactly: `1h30m`, `500ms`. The inverse of `parseDuration`. */
export function writeDuration(ms: number): string {
  let rest = Math.round(ms);
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const unitMs = UNIT_MS[unit] as number;
    if (rest >= unitMs) text += `${Math.floor(rest / unitMs)}${unit}`;
    rest %= unitMs;
  }
  return text || "0s";
}
