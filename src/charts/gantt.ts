/** A mission as bars over time: one row a task, one bar an attempt, with its score at the end. */
import { formatDuration } from "../lib/duration.js";
import type { Chart } from "./draw.js";
import { axisLook, COLOUR, legendLook, nothingYet, titleOf } from "./look.js";

export interface GanttBar {
  /** ms since the epoch. */
  from: number;
  to: number;
  state: "done" | "failed" | "retried" | "running" | "waiting";
}

export interface GanttRow {
  label: string;
  /** 0 to 1. */
  score?: number;
  bars: readonly GanttBar[];
}

const STATES: Record<GanttBar["state"], string> = {
  done: COLOUR.good,
  failed: COLOUR.bad,
  retried: COLOUR.warning,
  running: COLOUR.running,
  waiting: COLOUR.line,
};
/** More would be too small to read; the text beside the picture has all of them. */
export const MOST_ROWS = 40;
const ROW_HEIGHT = 30;
const LABEL_LENGTH = 28;

export function ganttChart(title: string, rows: readonly GanttRow[], timezone: string): Chart {
  const shown = rows.slice(0, MOST_ROWS);
  const bars = shown.flatMap((row, index) => row.bars.map((bar) => ({ ...bar, index })));
  if (bars.length === 0) return nothingYet(title, "No task has begun.");
  const from = Math.min(...bars.map((bar) => bar.from));
  const to = Math.max(...bars.map((bar) => bar.to), from + 1000);
  const more = rows.length > shown.length ? `; the first ${shown.length} of ${rows.length} tasks` : "";
  const clock = clockOf(timezone, to - from);
  return {
    size: { width: 800, height: 120 + ROW_HEIGHT * shown.length },
    option: {
      title: titleOf(title, `${formatDuration(to - from)} from ${clock(from)} to ${clock(to)}, ${timezone}${more}`),
      legend: {
        ...legendLook,
        data: Object.keys(STATES).filter((state) => bars.some((bar) => bar.state === state)),
      },
      grid: { left: 24, right: 64, top: 76, bottom: 20, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
      xAxis: { type: "time", min: from, max: to, ...axisLook, axisLabel: { formatter: clock, hideOverlap: true } },
      yAxis: {
        type: "category",
        inverse: true,
        data: shown.map(({ label }) => shorten(label)),
        ...axisLook,
        splitLine: { show: true, lineStyle: { color: COLOUR.line } },
      },
      series: [
        ...Object.entries(STATES).map(([state, color]) => ({
          name: state,
          type: "custom",
          itemStyle: { color },
          encode: { x: [0, 1], y: 2 },
          data: bars.filter((bar) => bar.state === state).map((bar) => [bar.from, bar.to, bar.index]),
          renderItem: drawBar,
        })),
        {
          name: "score",
          type: "custom",
          encode: { x: [0, 1], y: 2 },
          data: shown.flatMap(({ bars, score }, index) => {
            const end = Math.max(...bars.map((bar) => bar.to));
            return score === undefined || bars.length === 0 ? [] : [[end, end, index, Math.round(score * 100)]];
          }),
          renderItem: drawScore,
        },
      ],
    },
  };
}

/** The parts of echarts' renderItem that are used here. */
interface Drawing {
  value(dimension: number): number;
  coord(point: [number, number]): [number, number];
  visual(name: "color"): string;
}

function drawBar(_: unknown, api: Drawing) {
  const [x, y] = api.coord([api.value(0), api.value(2)]);
  const [end] = api.coord([api.value(1), api.value(2)]);
  const height = ROW_HEIGHT * 0.6;
  return {
    type: "rect",
    shape: { x, y: y - height / 2, width: Math.max(2, end - x), height, r: 3 },
    style: { fill: api.visual("color") },
  };
}

function drawScore(_: unknown, api: Drawing) {
  const [x, y] = api.coord([api.value(0), api.value(2)]);
  return {
    type: "text",
    x: x + 6,
    y,
    style: { text: `${api.value(3)} %`, fontSize: 12, fill: COLOUR.text, textVerticalAlign: "middle" },
  };
}

function clockOf(timezone: string, spanMs: number): (ms: number) => string {
  const isLong = spanMs > 20 * 3_600_000;
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    hourCycle: "h23",
    ...(isLong ? { day: "numeric", month: "short" } : {}),
    hour: "2-digit",
    minute: "2-digit",
    ...(spanMs < 600_000 ? { second: "2-digit" } : {}),
  });
  return (ms) => format.format(ms);
}

function shorten(label: string): string {
  const letters = [...label];
  return letters.length > LABEL_LENGTH ? `${letters.slice(0, LABEL_LENGTH - 1).join("")}…` : label;
}
