/**
 * Draws a chart: one definition, as SVG (for pages) or PNG (for chats). The libraries are loaded with the first picture, because most
 * starts draw none, and the font comes along, because a server may have none.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { EChartsCoreOption } from "echarts/core";

export interface Size {
  /** Pixels. */
  width: number;
  height: number;
}

/** The result of a chart function. */
export interface Chart {
  option: EChartsCoreOption;
  size: Size;
}

export const FONT = "DejaVu Sans";

export async function drawSvg({ option, size }: Chart): Promise<string> {
  const { init } = await import("./echarts.js");
  const chart = init(null, null, { renderer: "svg", ssr: true, ...size });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily: FONT }, backgroundColor: "#ffffff", ...option });
    return chart.renderToSVGString();
  } finally {
    chart.dispose();
  }
}

/** Twice as many pixels as its size: chats show pictures on dense screens. */
export async function drawPng(chart: Chart): Promise<Uint8Array> {
  const svg = await drawSvg(chart);
  const { Resvg } = await import("@resvg/resvg-js");
  const picture = new Resvg(svg, {
    fitTo: { mode: "width", value: chart.size.width * 2 },
    font: { loadSystemFonts: false, fontFiles: fontFiles(), defaultFontFamily: FONT },
  });
  return picture.render().asPng();
}

function fontFiles(): string[] {
  const folder = dirname(createRequire(import.meta.url).resolve("dejavu-fonts-ttf/package.json"));
  return ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf"].map((file) => join(folder, "ttf", file));
}
