/** Texts for the property tests, and what "nothing lost" means. */
import fc from "fast-check";
import { expect } from "vitest";

const atom = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("hello", "world", "a", "snake_case", "2*3", "x", "naïve", "Zürich") },
  { weight: 2, arbitrary: fc.constantFrom(" ", " ", "\n", "\n\n", "  ", "\t", "\r\n") },
  { weight: 2, arbitrary: fc.constantFrom("👨‍👩‍👧‍👦", "🇨🇭", "😀", "日本語", "e\u0301", "क्षि", "\u200B") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "\uD83D",
      "\uDE00",
      "\0",
      "@everyone",
      "<@123>",
      "https://a.b/c_d_e*f",
      "&amp;",
      "<b>",
      "`",
      "\\",
    ),
  },
);
const lineStart = fc
  .constantFrom("- ", "# ", "### ", "> ", ">>> ", "1. ", "-# ", "* ", "+ ", "  - ")
  .map((mark) => `\n${mark}`);
/** Anything that people or machines may write. */
export const messyText = fc
  .array(fc.oneof({ weight: 9, arbitrary: atom }, { weight: 1, arbitrary: lineStart }), { maxLength: 120 })
  .map((parts) => parts.join(""));

const word = fc.constantFrom(
  "alpha",
  "beta",
  "gamma",
  "d",
  "snake_case",
  "日本",
  "😀",
  "a*b",
  "1.",
  "#tag",
  "|",
  "||",
  "`",
);
const words = fc.array(word, { minLength: 1, maxLength: 12 }).map((parts) => parts.join(" "));
const inline = fc.oneof(
  words,
  words.map((text) => `**${text}**`),
  words.map((text) => `*${text}*`),
  words.map((text) => `~~${text}~~`),
  words.map((text) => `||${text}||`),
  words.map((text) => `\`${text.replaceAll("`", "")}\``),
  words.map((text) => `[${text}](https://example.org/a_b?c=(d))`),
  fc.tuple(words, words).map(([a, b]) => `**${a} *${b}* ${a}**`),
  fc.constantFrom(
    "https://example.org/x_y_z",
    "\\*literal\\*",
    "![pic](https://example.org/p.png)",
    "[^1]",
    "a@b.example",
    "<br>",
    "&lt;",
  ),
);
const line = fc.array(inline, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(" "));
const block = fc.oneof(
  { weight: 3, arbitrary: fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.join("\n")) },
  fc.tuple(fc.integer({ min: 1, max: 6 }), line).map(([level, text]) => `${"#".repeat(level)} ${text}`),
  fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.map((text) => `> ${text}`).join("\n")),
  fc
    .array(line, { minLength: 1, maxLength: 4 })
    .map((lines) => lines.map((text, i) => `${"  ".repeat(i % 3)}- ${text}`).join("\n")),
  fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => lines.map((text, i) => `${i + 1}. ${text}`).join("\n")),
  fc
    .array(words, { minLength: 1, maxLength: 8 })
    .map((lines) => `\`\`\`ts\n${lines.join("\n").replaceAll("`", "'")}\n\`\`\``),
  fc
    .array(words, { minLength: 1, maxLength: 4 })
    .map((rows) =>
      ["| a | b |", "|---|--:|", ...rows.map((row) => `| ${row.replaceAll("|", "\\|")} | x |`)].join("\n"),
    ),
  fc.constantFrom("---", "[10:30]: see you", "[^1]: note"),
);
/** Markdown of every kind, blocks and styles mixed. */
export const markdownText = fc.array(block, { minLength: 1, maxLength: 6 }).map((blocks) => blocks.join("\n\n"));

/** Letters of which some weigh more. */
export function weighty(length: number): string {
  return Array.from({ length }, (_, i) => (i % 7 === 0 ? " " : i % 3 === 0 ? "a" : "b")).join("");
}

/** White space; and a piece of nothing but characters without shape is no piece. */
const SEPARATOR = /[ \t\n\p{Cf}]/u;

/** The pieces are the whole, in order, but for white space (space, tab, line break) at the cuts. */
export function expectSameText(pieces: readonly string[], whole: string): void {
  let at = 0;
  const skip = () => {
    while (at < whole.length && SEPARATOR.test(whole[at] as string)) at++;
  };
  for (const piece of pieces) {
    if (!whole.startsWith(piece, at)) {
      // the separator: no more than needed to reach the piece
      while (at < whole.length && !whole.startsWith(piece, at) && SEPARATOR.test(whole[at] as string)) at++;
    }
    expect(whole.slice(at, at + piece.length)).toBe(piece);
    at += piece.length;
  }
  skip();
  expect(whole.slice(at)).toBe("");
}

/** Processor time that `run` takes, in ms: the clock on the wall also counts what else the machine does. */
export function cpuMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * How many times more it costs at `large` than at `small`, after one run to warm up: the least of three runs each, because a busy machine
 * and the collector of memory only add.
 */
export function growth(cost: (length: number) => number, small: number, large: number): number {
  cost(small);
  const least = (length: number) => Math.min(cost(length), cost(length), cost(length));
  return least(large) / Math.max(0.5, least(small));
}
