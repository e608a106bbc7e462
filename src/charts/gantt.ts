/** A mission as bars over time: one row a task, one bar an attempt, thin pale bars where it waits, and how it ended. */
import { formatDuration } from "../lib/time/duration.js";
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
  /** How it ended; undefined while it is open. */
  ended?: GanttBar["state"] | undefined;
  bars: readonly GanttBar[];
}

/** `mark`: the sign that shows the state without its colour. */
const STATES: Record<GanttBar["state"], { color: string; mark: string }> = {
  done: { color: COLOUR.good, mark: "✓" },
  failed: { color: COLOUR.bad, mark: "✗" },
  retried: { color: COLOUR.warning, mark: "↻" },
  running: { color: COLOUR.running, mark: "▶" },
  waiting: { color: COLOUR.faint, mark: "" },
};
/** More rows would be too small to read; the text beside the picture has all of them. */
export const MAX_ROWS = 40;
const ROW_HEIGHT = 30;
const LABEL_LENGTH = 28;

/** `dueAt`: the deadline of the mission, if it has one. */
export function ganttChart(title: string, rows: readonly GanttRow[], timezone: string, dueAt?: number): Chart {
  const shown = rows.slice(0, MAX_ROWS);
  const bars = shown.flatMap((row, index) => row.bars.map((bar) => ({ ...bar, index })));
  if (bars.length === 0) return nothingYet(title, "No task has started.");
  const from = Math.min(...bars.map((bar) => bar.from));
  const ended = Math.max(...bars.map((bar) => bar.to), from + 1000);
  // A deadline far away would make the bars too small to see; the subtitle names it then.
  const isDueShown = dueAt !== undefined && dueAt > from && dueAt <= ended + (ended - from);
  const to = isDueShown ? Math.max(ended, dueAt) : ended;
  const more = rows.length > shown.length ? `; the first ${shown.length} of ${rows.length} tasks` : "";
  const clock = clockOf(timezone, to - from);
  return {
    size: { width: 800, height: 120 + ROW_HEIGHT * shown.length },
    option: {
      title: titleOf(
        title,
        `${formatDuration(ended - from)} from ${clock(from)} to ${clock(ended)}, ${timezone}${dueAt === undefined ? "" : `; due ${clockOf(timezone, Math.abs(dueAt - from))(dueAt)}`}${more}`,
      ),
      legend: {
        ...legendLook,
        data: Object.entries(STATES).flatMap(([state, { mark }]) =>
          bars.some((bar) => bar.state === state) ? [`${mark} ${state}`.trim()] : [],
        ),
      },
      grid: { left: 24, right: 112, top: 76, bottom: 20, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
      xAxis: { type: "time", min: from, max: to, ...axisLook, axisLabel: { formatter: clock, hideOverlap: true } },
      yAxis: {
        type: "category",
        inverse: true,
        data: shown.map(({ label }) => shorten(label)),
        ...axisLook,
        splitLine: { show: true, lineStyle: { color: COLOUR.line } },
      },
      series: [
        ...Object.entries(STATES).map(([state, { color, mark }]) => ({
          name: `${mark} ${state}`.trim(),
          type: "custom",
          itemStyle: { color },
          encode: { x: [0, 1], y: 2 },
          data: bars.filter((bar) => bar.state === state).map((bar) => [bar.from, bar.to, bar.index]),
          renderItem: (_: unknown, api: Drawing) => drawBar(api, state === "waiting" ? THIN : THICK),
        })),
        {
          name: "result",
          type: "custom",
          encode: { x: [0, 1], y: 2 },
          data: shown.flatMap((row, index) => {
            const end = Math.max(...row.bars.map((bar) => bar.to));
            return row.bars.length === 0 ? [] : [[end, end, index]];
          }),
          renderItem: (_: unknown, api: Drawing) => drawResult(api, resultOf(shown[api.value(2)])),
          markLine: isDueShown ? dueLine(dueAt) : undefined,
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

const THICK = ROW_HEIGHT * 0.6;
const THIN = ROW_HEIGHT * 0.2;

function drawBar(api: Drawing, height: number) {
  const [x, y] = api.coord([api.value(0), api.value(2)]);
  const [end] = api.coord([api.value(1), api.value(2)]);
  return {
    type: "rect",
    shape: { x, y: y - height / 2, width: Math.max(2, end - x), height, r: height > THIN ? 3 : 0 },
    style: { fill: api.visual("color") },
  };
}

/** `✓ 97 % · 117 ms`: the last attempt with its score and its length; or for how long it has been waiting. */
function resultOf(row: GanttRow | undefined): string {
  const last = row?.bars.at(-1);
  if (row === undefined || last === undefined) return "";
  const length = formatDuration(last.to - last.from);
  if (last.state === "waiting") return row.ended === undefined ? `waiting ${length}` : STATES[row.ended].mark;
  const score = row.score === undefined ? "" : ` ${Math.round(row.score * 100)} % ·`;
  return `${STATES[last.state].mark}${score} ${length}`;
}

function dueLine(xAxis: number) {
  return {
    silent: true,
    symbol: "none",
    lineStyle: { color: COLOUR.text, type: "dashed" },
    label: { formatter: "due", position: "start", color: COLOUR.text },
    data: [{ xAxis }],
  };
}

function drawResult(api: Drawing, text: string) {
  const [x, y] = api.coord([api.value(0), api.value(2)]);
  return {
    type: "text",
    x: x + 6,
    y,
    style: { text, fontSize: 12, fill: COLOUR.text, textVerticalAlign: "middle" },
  };
}

function clockOf(timezone: string, spanMs: number): (ms: number) => string {
  const isLong = spanMs > 20 * 3_600_000;
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    hourCycle: "h23",
    day: isLong ? "numeric" : undefined,
    month: isLong ? "short" : undefined,
    hour: "2-digit",
    minute: "2-digit",
    second: spanMs < 600_000 ? "2-digit" : undefined,
  });
  return (ms) => format.format(ms);
}

function shorten(label: string): string {
  const letters = [...label];
  return letters.length > LABEL_LENGTH ? `${letters.slice(0, LABEL_LENGTH - 1).join("")}…` : label;
}
