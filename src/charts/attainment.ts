/** How many promises were kept, day by day. */
import type { Chart } from "./draw.js";
import { axisLook, COLOUR, gridLook, legendLook, nothingYet, SIZE, titleOf } from "./look.js";

export interface AttainmentDay {
  /** As it stands under its bar: `Mon 16 Nov`. */
  day: string;
  met: number;
  violated: number;
}

/** `target`: the share that is aimed at, 0 to 1. */
export function attainmentChart(title: string, days: readonly AttainmentDay[], target?: number): Chart {
  const met = days.reduce((sum, day) => sum + day.met, 0);
  const violated = days.reduce((sum, day) => sum + day.violated, 0);
  if (met + violated === 0) return nothingYet(title, "No clock ended in this time.");
  const percent = days.map((day) => {
    const all = day.met + day.violated;
    return all === 0 ? null : Math.round((1000 * day.met) / all) / 10;
  });
  const share = `${((100 * met) / (met + violated)).toFixed(1)} % met: ${met} of ${met + violated}`;
  return {
    size: SIZE,
    option: {
      title: titleOf(title, target === undefined ? share : `${share}; target ${(100 * target).toFixed(0)} %`),
      legend: legendLook,
      grid: gridLook,
      xAxis: { type: "category", data: days.map(({ day }) => day), ...axisLook },
      yAxis: [
        { type: "value", minInterval: 1, ...axisLook },
        {
          type: "value",
          min: 0,
          max: 100,
          ...axisLook,
          splitLine: { show: false },
          axisLabel: { formatter: "{value} %" },
        },
      ],
      series: [
        bars(
          "met",
          COLOUR.good,
          days.map((day) => day.met),
        ),
        bars(
          "violated",
          COLOUR.bad,
          days.map((day) => day.violated),
        ),
        {
          name: "met, %",
          type: "line",
          yAxisIndex: 1,
          data: percent,
          connectNulls: true,
          symbolSize: 7,
          itemStyle: { color: COLOUR.running },
          lineStyle: { width: 2 },
          ...(target === undefined ? {} : { markLine: targetLine(100 * target) }),
        },
      ],
    },
  };
}

function bars(name: string, color: string, data: number[]) {
  return {
    name,
    type: "bar",
    stack: "clocks",
    data: data.map((count) => count || null),
    itemStyle: { color },
    barMaxWidth: 36,
  };
}

function targetLine(yAxis: number) {
  return {
    silent: true,
    symbol: "none",
    lineStyle: { color: COLOUR.neutral, type: "dashed" },
    label: { formatter: "target", position: "insideEndTop", color: COLOUR.neutral },
    data: [{ yAxis }],
  };
}
