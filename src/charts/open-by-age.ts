/** Open work by how old it is, and how much of it is late. */
import { formatDuration } from "../lib/time/duration.js";
import { bucketsFor } from "./buckets.js";
import type { Chart } from "./draw.js";
import { axisLook, COLOUR, gridLook, legendLook, nothingYet, PATTERN, SIZE, titleOf } from "./look.js";

export interface OpenWork {
  ageMs: number;
  state: "in time" | "warning" | "late";
}

const STATES = {
  "in time": { color: COLOUR.good },
  warning: { color: COLOUR.warning, decal: PATTERN.warning },
  late: { color: COLOUR.bad, decal: PATTERN.bad },
} as const;

export function openByAgeChart(title: string, work: readonly OpenWork[]): Chart {
  if (work.length === 0) return nothingYet(title, "Nothing is open.");
  const buckets = bucketsFor(work.map(({ ageMs }) => ageMs));
  const oldest = formatDuration(Math.max(...work.map(({ ageMs }) => ageMs)));
  const late = work.filter(({ state }) => state === "late").length;
  return {
    size: SIZE,
    option: {
      title: titleOf(title, `${work.length} open, ${late} late; the oldest is ${oldest} old`),
      legend: legendLook,
      grid: gridLook,
      xAxis: { type: "value", minInterval: 1, ...axisLook },
      yAxis: { type: "category", inverse: true, data: buckets.labels, ...axisLook },
      series: Object.entries(STATES).map(([state, itemStyle]) => ({
        name: state,
        type: "bar",
        stack: "work",
        itemStyle,
        barMaxWidth: 26,
        data: buckets.labels.map(
          (_, i) => work.filter((one) => one.state === state && buckets.indexOf(one.ageMs) === i).length,
        ),
      })),
    },
  };
}
