/** Who is on call by rota, for people; and what the log says of rotas that leave a stretch without anyone. */
import type { Clock } from "../lib/clock.js";
import type { Logger } from "../lib/logger.js";
import type { AlertsConfig } from "./config.js";
import { onCall } from "./people.js";
import { dutyEnds, type Gap, gapsOf, nextOnCall } from "./shifts.js";

export interface RotaView {
  rota: string;
  /** Undefined: the rota has no one on call. */
  person: string | undefined;
  /** When that changes. */
  until: number | undefined;
  next: { person: string; at: number } | undefined;
  /** The first stretches of the next 90 days without anyone. */
  gaps: Gap[];
}

export function viewRotas({ rotas }: Pick<AlertsConfig, "rotas">, now: number): RotaView[] {
  return Object.entries(rotas).map(([name, rota]) => ({
    rota: name,
    person: onCall(rota, now),
    until: dutyEnds(rota, now),
    next: nextOnCall(rota, now),
    gaps: gapsOf(rota, now),
  }));
}

/** At a start and after a reload. */
export function warnOfGaps({ rotas }: Pick<AlertsConfig, "rotas">, clock: Clock, logger: Logger): void {
  const shown = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
  for (const [rota, one] of Object.entries(rotas))
    for (const { from, to } of gapsOf(one, clock.now()))
      logger.warn({ rota, from: shown(from), to: shown(to) }, "a rota has no one on call in this time");
}
