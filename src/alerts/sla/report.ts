/** How well targets were met: numbers by policy and day, for `/sla report` and the charts. */
import type { SlaClock, SlaMeasure, SlaStore } from "../../domain/alerts/sla.js";
import type { Policy } from "./policies/policies.js";

export interface Attainment {
  policyId: string;
  measure: SlaMeasure;
  /** Clocks that ended within the target of the policy. */
  met: number;
  /** Clocks that met their target only because people gave more time. */
  metExtended: number;
  /** Answered by a hook within the target: not in `met`, and not in times and shares. */
  metByHook: number;
  /** Ended clocks that missed their target at any time. */
  late: number;
  /** Missed at any time and still open: the share counts them as missed. */
  missedOpen: number;
  /** Closed without an answer before the target was missed. */
  unanswered: number;
  withdrawn: number;
  /** Clocks that people gave more time. */
  extended: number;
  /** Open clocks that are overdue now. */
  overdue: number;
  open: number;
  /** The fraction that met the target of the policy; absent when none ended and none was missed. */
  attained?: number;
  /** Working time used, of those that ended. */
  medianMs?: number;
  p90Ms?: number;
  maxMs?: number;
  /** By day of the policy's zone, UTC without one. `late` has those that are still open on the day when they were missed. */
  days: { day: string; met: number; metExtended: number; late: number }[];
  /** Working times used, shortest first, for distributions; the newest `MAX_ENDED` at most. */
  ended: { usedMs: number; met: boolean }[];
}

/** Enough for a quantile and a picture. */
const MAX_ENDED = 20_000;

export async function attainmentOf(
  store: SlaStore,
  policies: readonly Policy[],
  fromMs: number,
  toMs: number,
): Promise<Attainment[]> {
  const [tallies, all] = await Promise.all([store.tally(fromMs, toMs), store.ended(fromMs, toMs, MAX_ENDED)]);
  const names = new Set([...policies.map(({ id }) => id), ...tallies.map(({ policyId }) => policyId)]);
  return Promise.all(
    [...names].map(async (policyId): Promise<Attainment> => {
      const policy = policies.find(({ id }) => id === policyId);
      const tally = tallies.filter((one) => one.policyId === policyId);
      const own = all.filter((one) => one.policyId === policyId);
      // A hook's answer in time shows nothing about people; one that came too late is a customer who waited.
      const counting = own.filter(({ met, isByHook }) => !met || !isByHook);
      const ended = own
        .filter(({ isAnswered, isByHook }) => isAnswered && !isByHook)
        .map(({ usedMs, met }) => ({ usedMs, met }))
        .sort((a, b) => a.usedMs - b.usedMs);
      const sum = (field: "met" | "metExtended" | "metByHook" | "late" | "unanswered" | "withdrawn" | "extended") =>
        tally.reduce((total, one) => total + one[field], 0);
      const metExtended = sum("metExtended");
      const met = sum("met") - metExtended;
      const late = sum("late");
      const missedOpen = await store.count({ policyId, state: "missed" });
      const missed = await store.list({ policyId, state: "missed", limit: MAX_ENDED });
      const counted = met + metExtended + late + missedOpen;
      return {
        policyId,
        measure: policy?.measure ?? tally[0]?.measure ?? "completion",
        met,
        metExtended,
        metByHook: sum("metByHook"),
        late,
        missedOpen,
        unanswered: sum("unanswered"),
        withdrawn: sum("withdrawn"),
        extended: sum("extended"),
        open: await store.count({ policyId, state: "open" }),
        overdue: await store.count({ policyId, state: "overdue" }),
        attained: counted > 0 ? met / counted : undefined,
        ...quantiles(ended.map(({ usedMs }) => usedMs)),
        days: byDay([...counting, ...missed.map((one) => missedAt(one, fromMs))], policy?.calendar.timezone ?? "UTC"),
        ended,
      };
    }),
  );
}

/** A breach before the report starts counts on its first day. */
function missedAt({ breachedAt, violatedAt, startedAt }: SlaClock, fromMs: number) {
  return { endedAt: Math.max(breachedAt ?? violatedAt ?? startedAt, fromMs), met: false, isMetExtended: false };
}

function quantiles(sorted: readonly number[]): Pick<Attainment, "medianMs" | "p90Ms" | "maxMs"> {
  const p90Ms = sorted[Math.ceil(sorted.length * 0.9) - 1];
  // For an even number the mean of the two in the middle: the lower one alone flatters.
  const [lower, upper] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  const medianMs = lower === undefined || upper === undefined ? undefined : (lower + upper) / 2;
  const maxMs = sorted.at(-1);
  return medianMs === undefined || p90Ms === undefined || maxMs === undefined ? {} : { medianMs, p90Ms, maxMs };
}

function byDay(
  ended: readonly { endedAt: number; met: boolean; isMetExtended: boolean }[],
  timezone: string,
): Attainment["days"] {
  // Swedish dates are ISO dates.
  const dayOf = new Intl.DateTimeFormat("sv-SE", { timeZone: timezone, dateStyle: "short" });
  const days = new Map<string, Attainment["days"][number]>();
  for (const { endedAt, met, isMetExtended } of ended) {
    const day = dayOf.format(endedAt);
    const counts = days.get(day) ?? { day, met: 0, metExtended: 0, late: 0 };
    counts[isMetExtended ? "metExtended" : met ? "met" : "late"]++;
    days.set(day, counts);
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1));
}
