/** A time zone as stretches of one offset each. Temporal is loaded when the first calendar needs it. */
import type { Temporal as TemporalTypes } from "temporal-polyfill";

export interface Stretch {
  /** Instants, ms since the epoch. */
  from: number;
  to: number;
  /** Local time = instant + offset. */
  offsetMs: number;
}

/** The stretches that make up [from, to), in order. */
export type Zone = (from: number, to: number) => Stretch[];

export async function loadZone(timezone: string): Promise<Zone> {
  const { Temporal } = await import("temporal-polyfill");
  return (from, to) => {
    const stretches: Stretch[] = [];
    let at: TemporalTypes.ZonedDateTime | null =
      Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(timezone);
    for (let start = from; at !== null && start < to; ) {
      const next: TemporalTypes.ZonedDateTime | null = at.getTimeZoneTransition("next");
      const end = Math.min(to, next?.epochMilliseconds ?? to);
      stretches.push({ from: start, to: end, offsetMs: at.offsetNanoseconds / 1e6 });
      start = end;
      at = next;
    }
    return stretches;
  };
}
