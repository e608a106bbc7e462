import { Resvg } from "@resvg/resvg-js";
import { describe, expect, test } from "vitest";
import { pictureOf } from "../../src/charts/attachment.js";
import { attainmentChart } from "../../src/charts/attainment.js";
import { bucketsFor, percentile } from "../../src/charts/buckets.js";
import { type Chart, drawPng, drawSvg } from "../../src/charts/draw.js";
import { type GanttRow, ganttChart } from "../../src/charts/gantt.js";
import { COLOUR } from "../../src/charts/look.js";
import { openByAgeChart } from "../../src/charts/open-by-age.js";
import { responseTimesChart } from "../../src/charts/response-times.js";

const MINUTE = 60_000;
const words = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)/g)].map(([, text]) => text?.trim());
const filledWith = (svg: string, colour: string) => svg.split(`fill="${colour}"`).length - 1;

describe("charts", () => {
  test("attainment says the share that was met, beside its target, and draws a bar a day", async () => {
    const days = [
      { day: "Mon", met: 9, metExtended: 0, late: 1 },
      { day: "Tue", met: 0, metExtended: 0, late: 0 },
      { day: "Wed", met: 6, metExtended: 1, late: 3 },
    ];
    const svg = await drawSvg(attainmentChart("First response", days, 0.95));
    expect(words(svg)).toEqual(
      expect.arrayContaining([
        "First response",
        "75.0 % met: 15 of 20; goal 95 %",
        "goal 95 %",
        "Tue",
        "met after an extension",
      ]),
    );
    // Tuesday has none; one more of each colour is the legend's.
    expect(filledWith(svg, COLOUR.bad)).toBe(2 + 1);
    // Late bars have a pattern besides their colour.
    expect(svg).toContain("<pattern");
  });

  test("response times tell what was late from what was in time, and how long half and most took", async () => {
    const times = [2, 3, 4, 20, 100, 110, 120, 130, 140, 700].map((minutes) => ({
      ms: minutes * MINUTE,
      isLate: minutes > 125,
    }));
    const svg = await drawSvg(responseTimesChart("Answers", times));
    expect(words(svg)).toContain("10 in all; half within 1 h 40 min, 90 % within 2 h 20 min");
    expect(words(svg)).toEqual(expect.arrayContaining(["≤ 5m", "≤ 1d"]));
    expect(words(svg)).not.toContain("≤ 3d");
  });

  test("open work by age counts what is late and tells the oldest", async () => {
    const svg = await drawSvg(
      openByAgeChart("Open", [
        { ageMs: 3 * MINUTE, state: "in time" },
        { ageMs: 26 * 60 * MINUTE, state: "late" },
      ]),
    );
    expect(words(svg)).toContain("2 open, 1 late; the oldest is 1 d 2 h old");
  });

  test("a mission's bars have the length of their attempts, in the zone that was asked for, with scores", async () => {
    const start = Date.UTC(2026, 0, 5, 9);
    const rows: GanttRow[] = [
      { label: "build", score: 0.97, bars: [{ from: start, to: start + 10 * MINUTE, state: "done" }] },
      {
        label: "test",
        bars: [
          { from: start + 10 * MINUTE, to: start + 15 * MINUTE, state: "retried" },
          { from: start + 20 * MINUTE, to: start + 40 * MINUTE, state: "failed" },
        ],
      },
      { label: "notes", bars: [{ from: start + 15 * MINUTE, to: start + 40 * MINUTE, state: "waiting" }] },
    ];
    const svg = await drawSvg(ganttChart("release", rows, "Asia/Tokyo", start + 45 * MINUTE));
    expect(words(svg)).toEqual(
      expect.arrayContaining([
        "40 min from 18:00 to 18:40, Asia/Tokyo; due 18:45",
        "due",
        "waiting 25 min",
        "✓ 97 % · 10 min",
        "✗ 20 min",
        "build",
      ]),
    );
    const widthOf = (colour: string) => {
      const path = new RegExp(`<path d="M([\\d.]+) [^"]*?L([\\d.]+) [^"]*"[^>]*fill="${colour}"`).exec(svg);
      return Number(path?.[2]) - Number(path?.[1]);
    };
    expect(widthOf(COLOUR.bad) / widthOf(COLOUR.warning)).toBeCloseTo(4, 0);
  });

  test.each<[string, Chart]>([
    ["attainment", attainmentChart("A", [], 0.95)],
    ["response times", responseTimesChart("A", [])],
    ["open work", openByAgeChart("A", [])],
    ["a mission", ganttChart("A", [], "UTC")],
  ])("%s with nothing to show says so", async (_, chart) => {
    expect(words(await drawSvg(chart)).join()).toMatch(/^A,.*(No|Nothing)/);
  });

  test("a mission of hundreds of tasks stays readable and says that it is cut", async () => {
    const rows = Array.from({ length: 300 }, (_, i) => ({
      label: `task ${i}`,
      bars: [{ from: i, to: i + 5_000, state: "done" as const }],
    }));
    const chart = ganttChart("many", rows, "UTC");
    expect(chart.size.height).toBeLessThan(1_500);
    expect(words(await drawSvg(chart)).join()).toContain("the first 40 of 300 tasks");
  });

  test("a picture has its words even where no font is installed: one comes along", async () => {
    const chart = openByAgeChart("Words", []);
    const svg = await drawSvg(chart);
    const bare = new Resvg(svg, { font: { loadSystemFonts: false } }).render().asPng();
    expect((await drawPng(chart)).byteLength).toBeGreaterThan(bare.byteLength * 2);
  });

  test("goes with a message as a PNG of twice its size in pixels", async () => {
    const picture = await pictureOf(openByAgeChart("Open", [{ ageMs: 1, state: "late" }]), "open-by-age");
    const bytes = Buffer.from(picture.url.split(",")[1] ?? "", "base64");
    expect(bytes.subarray(1, 4).toString()).toBe("PNG");
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([1600, 800]);
    expect(picture).toMatchObject({ filename: "open-by-age.png", mimeType: "image/png", sizeBytes: bytes.length });
  });
});

describe("lengths of time", () => {
  test("fall into steps that people think in, as many as are needed", () => {
    const { labels, indexOf } = bucketsFor([MINUTE, 3 * 60 * MINUTE]);
    expect(labels).toEqual(["≤ 1m", "≤ 5m", "≤ 15m", "≤ 30m", "≤ 1h", "≤ 2h", "≤ 4h"]);
    expect([indexOf(MINUTE), indexOf(MINUTE + 1), indexOf(3 * 60 * MINUTE)]).toEqual([0, 1, 6]);
    expect(bucketsFor([99 * 24 * 60 * MINUTE]).labels.at(-1)).toBe("> 7d");
  });

  test("have percentiles that are lengths which happened", () => {
    expect([0, 0.5, 0.9, 1].map((p) => percentile([5, 1, 4, 2, 3, 6, 7, 8, 9, 10], p))).toEqual([1, 5, 9, 10]);
    expect(percentile([], 0.5)).toBe(0);
  });
});
