/** How long answers took: how many within a minute, five minutes, … Answers beyond the target are drawn as such. */
import { formatDuration } from "../lib/time/duration.js";
import { bucketsFor, percentile } from "./buckets.js";
import type { Chart } from "./draw.js";
import { axisLook, COLOUR, gridLook, legendLook, nothingYet, PATTERN, SIZE, titleOf } from "./look.js";

export interface ResponseTime {
  /** Working time that passed, in ms. */
  ms: number;
  isLate: boolean;
}

export function responseTimesChart(title: string, times: readonly ResponseTime[]): Chart {
  if (times.length === 0) return nothingYet(title, "Nothing was answered in this time.");
  const lengths = times.map(({ ms }) => ms);
  const buckets = bucketsFor(lengths);
  const count = (isLate: boolean) =>
    buckets.labels.map(
      (_, i) => times.filter((time) => time.isLate === isLate && buckets.indexOf(time.ms) === i).length,
    );
  const half = formatDuration(percentile(lengths, 0.5));
  const most = formatDuration(percentile(lengths, 0.9));
  return {
    size: SIZE,
    option: {
      title: titleOf(title, `${times.length} in all; half within ${half}, 90 % within ${most}`),
      legend: legendLook,
      grid: gridLook,
      xAxis: { type: "category", data: buckets.labels, ...axisLook },
      yAxis: { type: "value", minInterval: 1, ...axisLook },
      series: [
        bars("in time", { color: COLOUR.good }, count(false)),
        bars("late", { color: COLOUR.bad, decal: PATTERN.bad }, count(true)),
      ],
    },
  };
}

function bars(name: string, itemStyle: object, data: number[]) {
  return { name, type: "bar", stack: "answers", data, itemStyle, barCategoryGap: "12%" };
}
