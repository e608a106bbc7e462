/** Pictures of how well targets are met: day by day, the times that work took, and the age of open work. */

import type { ClockView } from "../../src/alerts/sla/desk-views.js";
import type { Attainment } from "../../src/alerts/sla/report.js";
import { pictureOf } from "../../src/charts/attachment.js";
import { type AttainmentDay, attainmentChart } from "../../src/charts/attainment.js";
import { type OpenWork, openByAgeChart } from "../../src/charts/open-by-age.js";
import { responseTimesChart } from "../../src/charts/response-times.js";
import type { Attachment } from "../../src/domain/chat/message.js";
import { DAY_MS } from "../../src/lib/time/duration.js";

export interface Pictured {
  days: number;
  policies: readonly Attainment[];
  open: readonly ClockView[];
  now: number;
  /** The share of targets that is aimed at, 0 to 1. */
  goal: number;
}

export async function slaPictures({ days, policies, open, now, goal }: Pictured): Promise<Attachment[]> {
  const span = `the last ${days === 1 ? "day" : `${days} days`}`;
  const pictures: Attachment[] = [
    await pictureOf(attainmentChart(`Targets met, ${span}`, daysOf(policies), goal), "sla-attainment"),
  ];
  const times = policies.flatMap(({ ended }) => ended.map(({ usedMs, met }) => ({ ms: usedMs, isLate: !met })));
  if (times.length > 0)
    pictures.push(await pictureOf(responseTimesChart(`How long it took, ${span}`, times), "sla-times"));
  if (open.length > 0)
    pictures.push(await pictureOf(openByAgeChart("Open work by age", open.map(openWork(now))), "sla-open"));
  return pictures;
}

/** All policies together, from the first day on which something ended to the last; a day without is an empty place. */
function daysOf(policies: readonly Attainment[]): AttainmentDay[] {
  const days = new Map<string, AttainmentDay>();
  for (const { day, met, metExtended, late } of policies.flatMap((policy) => policy.days)) {
    const counts = days.get(day) ?? { day: label(day), met: 0, metExtended: 0, late: 0 };
    counts.met += met;
    counts.metExtended += metExtended;
    counts.late += late;
    days.set(day, counts);
  }
  const known = [...days.keys()].sort();
  const [first = "", last = ""] = [known[0], known.at(-1)];
  const all: string[] = [];
  for (let at = Date.parse(first); at <= Date.parse(last); at += DAY_MS)
    all.push(new Date(at).toISOString().slice(0, 10));
  return all.map((day) => days.get(day) ?? { day: label(day), met: 0, metExtended: 0, late: 0 });
}

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const label = (day: string) => DAY.format(Date.parse(day));

const openWork =
  (now: number) =>
  ({ clock, leftMs }: ClockView): OpenWork => ({
    ageMs: now - clock.startedAt,
    state: leftMs < 0 ? "late" : clock.warned === undefined ? "in time" : "warning",
  });
