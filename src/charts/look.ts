/**
 * The look that all charts share: colours by meaning, and the frame. The colours are those of Okabe and Ito, which people who are
 * colour-blind can distinguish (https://jfly.uni-koeln.de/color/); and no meaning is shown by a colour alone: bars have patterns or
 * marks as well.
 */

export const COLOUR = {
  good: "#0072b2",
  bad: "#d55e00",
  warning: "#e69f00",
  neutral: "#5b7083",
  running: "#56b4e9",
  text: "#1f2933",
  faint: "#9aa5b1",
  line: "#e4e7eb",
} as const;

const LINES = { symbol: "rect", dashArrayX: [1, 0], color: "rgba(255,255,255,0.75)" } as const;
/** Bars of the good state are plain; these are the patterns of the others. */
export const PATTERN = {
  bad: { ...LINES, dashArrayY: [2, 4], rotation: Math.PI / 4 },
  warning: { ...LINES, dashArrayY: [2, 5], rotation: 0 },
} as const;

export const axisLook = {
  axisLine: { lineStyle: { color: COLOUR.faint } },
  axisTick: { show: false },
  axisLabel: { color: COLOUR.text, fontSize: 12 },
  splitLine: { lineStyle: { color: COLOUR.line } },
};

/** A longer title would run into the legend. */
const TITLE_LENGTH = 44;

export function titleOf(text: string, subtext: string) {
  const letters = [...text];
  return {
    text: letters.length > TITLE_LENGTH ? `${letters.slice(0, TITLE_LENGTH - 1).join("")}…` : text,
    subtext,
    left: 16,
    top: 12,
    textStyle: { fontSize: 17, fontWeight: "bold", color: COLOUR.text },
    subtextStyle: { fontSize: 12, color: COLOUR.neutral },
  };
}

export const legendLook = {
  top: 16,
  right: 16,
  itemWidth: 14,
  itemHeight: 10,
  itemGap: 24,
  textStyle: { color: COLOUR.text },
};
export const gridLook = {
  left: 24,
  right: 32,
  top: 84,
  bottom: 20,
  outerBoundsMode: "same",
  outerBoundsContain: "axisLabel",
};
export const SIZE = { width: 800, height: 400 };

/** Said in the middle of a chart that has nothing to show. */
export function nothingYet(title: string, text: string) {
  return {
    option: {
      title: [
        titleOf(title, ""),
        {
          text,
          left: "center",
          top: "middle",
          textStyle: { fontSize: 15, fontWeight: "normal", color: COLOUR.neutral },
        },
      ],
    },
    // A short word needs no large picture.
    size: { width: SIZE.width, height: 160 },
  };
}
