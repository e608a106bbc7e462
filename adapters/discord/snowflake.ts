/** Discord ids carry their time. https://discord.com/developers/docs/reference#snowflakes */

const EPOCH_MS = 1_420_070_400_000;

/** Milliseconds since the epoch at which an id was made. */
export function snowflakeTime(id: string): number {
  return Number(BigInt(id) >> 22n) + EPOCH_MS;
}

/** The lowest id of a moment. */
export function snowflakeAt(ms: number): string {
  return String(BigInt(Math.max(0, Math.floor(ms) - EPOCH_MS)) << 22n);
}

/** True when `a` was made after `b`. Ids are decimal without leading zeros, so length decides first. */
export function isNewer(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}

export function newest(a: string, b: string): string {
  return isNewer(a, b) ? a : b;
}

export function oldest(a: string, b: string): string {
  return isNewer(a, b) ? b : a;
}
