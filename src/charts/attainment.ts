/** How many promises were kept, day by day. */
import type { Chart } from "./draw.js";
import { axisLook, COLOUR, gridLook, legendLook, nothingYet, PATTERN, SIZE, titleOf } from "./look.js";

export interface AttainmentDay {
  /** The label under its bar: `Mon 16 Nov`. */
  day: string;
  met: number;
  /** Only because people gave more time. */
  metExtended: number;
  late: number;
}

/** `goal`: the share that is aimed at, 0 to 1. */
export function attainmentChart(title: string, days: readonly AttainmentDay[], goal: number): Chart {
  const met = days.reduce((sum, day) => sum + day.met, 0);
  const ended = days.reduce((sum, day) => sum + endedOn(day), 0);
  if (ended === 0) return nothingYet(title, "No target was met or missed in this time.");
  const percent = days.map((day) => (endedOn(day) === 0 ? null : Math.round((1000 * day.met) / endedOn(day)) / 10));
  const share = `${((100 * met) / ended).toFixed(1)} % met: ${met} of ${ended}`;
  const counts = (field: "met" | "metExtended" | "late") => days.map((day) => day[field]);
  return {
    size: SIZE,
    option: {
      title: titleOf(title, `${share}; goal ${percentText(goal)}`),
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
        bars("met", { color: COLOUR.good }, counts("met")),
        ...(days.some((day) => day.metExtended > 0)
          ? [bars("met after an extension", { color: COLOUR.warning, decal: PATTERN.warning }, counts("metExtended"))]
          : []),
        bars("late", { color: COLOUR.bad, decal: PATTERN.bad }, counts("late")),
        {
          name: "met %",
          type: "line",
          yAxisIndex: 1,
          data: percent,
          // A day on which nothing ended has no share: the line has a gap.
          connectNulls: false,
          symbolSize: 7,
          itemStyle: { color: COLOUR.text },
          lineStyle: { width: 2 },
          markLine: goalLine(goal),
        },
      ],
    },
  };
}

const endedOn = ({ met, metExtended, late }: AttainmentDay) => met + metExtended + late;
const percentText = (share: number) => `${Number((100 * share).toFixed(2))} %`;

function bars(name: string, itemStyle: object, data: number[]) {
  return {
    name,
    type: "bar",
    stack: "clocks",
    data: data.map((count) => count || null),
    itemStyle,
    barMaxWidth: 36,
  };
}

function goalLine(goal: number) {
  return {
    silent: true,
    symbol: "none",
    lineStyle: { color: COLOUR.neutral, type: "dashed" },
    label: { formatter: `goal ${percentText(goal)}`, position: "insideEndTop", color: COLOUR.neutral },
    data: [{ yAxis: 100 * goal }],
  };
}
