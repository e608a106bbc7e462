/** The people on call by rota, for people; and warnings in the log about rotas with a gap. */

import { formatAddress } from "../../domain/chat/address.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";
import type { Alerting } from "../alerting.js";
import type { AlertsConfig } from "../config.js";
import { namesOf, whyMissing } from "../steps/call.js";
import { isWebhook } from "../tell/shown-as.js";
import { ofRota, onCall } from "./people.js";
import { type Around, askReaders, type Reach, reachOf } from "./reach.js";
import { dutyEnds, type Gap, gapsOf, nextOnCall } from "./shifts.js";

export interface RotaView {
  rota: string;
  /** Undefined: the rota has no one on call. */
  person: string | undefined;
  /** When another person is on call. */
  until: number | undefined;
  next: { person: string; at: number } | undefined;
  /** The first stretches of the next 90 days without anyone. */
  gaps: Gap[];
  /** Steps of escalations that mention this rota and would not notify the person on call; of a gap, those that would notify no one. */
  unreached: (RotaStep & { why: string })[] | undefined;
  /**
   * The people whom steps notify because the person on call cannot be mentioned; `isInstead`: the person on call is not notified at all.
   */
  standIns: (RotaStep & { person: string; isInstead: boolean })[] | undefined;
}

/** The first step is 1. */
export interface RotaStep {
  route: string;
  step: number;
}

type Viewing = Around & Pick<Alerting, "nameOf" | "placeName">;

/** Like `viewRotas`, after the platforms were asked who can read the chats. */
export async function askRotas(around: Viewing, clock: Clock): Promise<RotaView[]> {
  for (const { to, escalate } of Object.values(around.config.routes))
    for (const step of escalate) await askReaders(step, placesOf(to, around), around);
  return viewRotas(around, clock.now());
}

export function viewRotas(around: Viewing, now: number): RotaView[] {
  return Object.entries(around.config.rotas).map(([name, rota]) => {
    const person = onCall(rota, now);
    const next = nextOnCall(rota, now);
    const reaches = reachesOf(name, around, now);
    const unreached = reaches.flatMap(({ route, step, reach }) => {
      const { missing, posted, standIns } = reach;
      const isCovered = posted.some(isWebhook) || (person === undefined && standIns.length > 0);
      const why = whyMissing(ofRota(name), reach, around, now);
      return missing.length > 0 && !isCovered ? [{ route, step, why }] : [];
    });
    const standIns = reaches.flatMap(({ route, step, reach }) =>
      reach.standIns.map(({ accounts }) => ({
        route,
        step,
        person: namesOf(accounts, around),
        isInstead: reach.missing.length > 0,
      })),
    );
    return {
      rota: name,
      person: person === undefined ? undefined : around.nameOf(person),
      until: dutyEnds(rota, now),
      next: next === undefined ? undefined : { ...next, person: around.nameOf(next.person) },
      gaps: gapsOf(rota, now),
      unreached: unreached.length === 0 ? undefined : unreached,
      standIns: standIns.length === 0 ? undefined : standIns,
    };
  });
}

/** The reach of each step of an escalation that mentions this rota. */
export function reachesOf(rota: string, around: Around, now: number): { route: string; step: number; reach: Reach }[] {
  const mention = ofRota(rota);
  return Object.entries(around.config.routes).flatMap(([route, { to, escalate }]) => {
    const there = placesOf(to, around);
    return escalate.flatMap((step, index) =>
      step.mention.includes(mention)
        ? [{ route, step: index + 1, reach: reachOf({ ...step, mention: [mention] }, there, around, now) }]
        : [],
    );
  });
}

const placesOf = (to: readonly string[], { admins }: Around) => (to.length > 0 ? to : admins().map(formatAddress));

/** At a start and after a reload: computed now, and logged by the result. */
export function warningOfGaps({ rotas }: Pick<AlertsConfig, "rotas">, clock: Clock, logger: Logger): () => void {
  const shown = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
  const gaps = Object.entries(rotas).flatMap(([rota, one]) =>
    gapsOf(one, clock.now()).map(({ from, to }) => ({ rota, from: shown(from), to: shown(to) })),
  );
  return () => {
    for (const gap of gaps) logger.warn(gap, "a rota has no one on call in this time");
  };
}
