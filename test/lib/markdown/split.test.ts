/** Splitting: nothing lost, nothing doubled, no character broken, whatever the text. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRich } from "../../../src/lib/markdown/message.js";
import { plainRich, type RichText } from "../../../src/lib/markdown/rich.js";
import { splitRich } from "../../../src/lib/markdown/split.js";
import { cpuMs, expectSameText, growth, markdownText, messyText, weighty } from "./texts.js";

const canLink = () => true;
const texts = (pieces: RichText[]) => pieces.map((piece) => piece.text);

describe("splitting", () => {
  it("keeps all that can be read, in order, within the limit, for any text", () => {
    fc.assert(
      fc.property(messyText, fc.integer({ min: 8, max: 200 }), (text, limit) => {
        const rich = readRich(text, "plain", { canLink });
        const pieces = splitRich(rich, { limit });
        for (const piece of pieces) {
          expect(piece.text.length).toBeLessThanOrEqual(limit);
          expect(piece.text.isWellFormed()).toBe(true);
        }
        expectSameText(texts(pieces), rich.text);
      }),
      { numRuns: 400 },
    );
  });

  it("keeps all that Markdown shows, and every style over its text", () => {
    fc.assert(
      fc.property(markdownText, fc.integer({ min: 20, max: 120 }), (text, limit) => {
        const rich = readRich(text, "markdown", { canLink });
        const pieces = splitRich(rich, { limit });
        expectSameText(texts(pieces), rich.text);
        for (const piece of pieces) expectNested(piece);
        // Letters under each style, before and after: a style reaches over every cut.
        for (const kind of ["bold", "italic", "code", "pre", "quote", "spoiler"])
          expect(styled(pieces, kind)).toBe(styled([rich], kind));
      }),
      { numRuns: 300 },
    );
  });

  it("counts what a measure says, not the length", () => {
    const rich = plainRich(weighty(400));
    const pieces = splitRich(rich, {
      limit: 100,
      measure: ({ text }) => text.length + text.replace(/[^a]/g, "").length * 3,
    });
    for (const { text } of pieces) expect(text.length + text.replace(/[^a]/g, "").length * 3).toBeLessThanOrEqual(100);
    expectSameText(texts(pieces), rich.text);
  });

  it("prefers a paragraph, then a line, then a word", () => {
    const words = "one two three four five";
    expect(texts(splitRich(plainRich(`${words}\n\n${words}\n${words}`), { limit: 30 }))).toEqual([words, words, words]);
    expect(texts(splitRich(plainRich(`${words} ${words}`), { limit: 30 }))).toEqual([
      `${words} one`,
      "two three four five",
    ]);
    expect(texts(splitRich(plainRich(`aaaaaaaaaaaaaaaa\n\nbbb\ncccccccccc`), { limit: 24 }))).toEqual([
      "aaaaaaaaaaaaaaaa",
      "bbb\ncccccccccc",
    ]);
  });

  it("keeps the indentation of a line after a cut and every line of code", () => {
    const code = `\`\`\`py\n${Array.from({ length: 20 }, (_, i) => `    line_${i} = 1`).join("\n")}\n\`\`\``;
    const rich = readRich(code, "markdown", { canLink });
    const pieces = splitRich(rich, { limit: 100 });
    expect(texts(pieces).join("\n")).toBe(rich.text);
    for (const piece of pieces)
      expect(piece.spans).toEqual([{ start: 0, end: piece.text.length, style: { kind: "pre", language: "py" } }]);
  });

  it("never cuts a family emoji, a flag or a letter with its accents", () => {
    for (const cluster of ["👨‍👩‍👧‍👦", "🇨🇭", "e\u0301\u0323", "क्षि"]) {
      const text = cluster.repeat(300);
      const pieces = texts(splitRich(plainRich(text), { limit: 100 }));
      expect(pieces.join("")).toBe(text);
      for (const piece of pieces) expect(piece.length % cluster.length).toBe(0);
    }
  });

  it("cuts a character that is longer than a message, between code points", () => {
    const text = `a${"\u0301".repeat(500)}`;
    const pieces = texts(splitRich(plainRich(text), { limit: 100 }));
    expect(pieces.join("")).toBe(text);
    expect(texts(splitRich(plainRich("😀".repeat(100)), { limit: 9 })).every((piece) => piece.isWellFormed())).toBe(
      true,
    );
  });

  it("drops styles rather than text when even one character does not fit with them", () => {
    const rich: RichText = { text: "hello", spans: [{ start: 0, end: 5, style: { kind: "bold" } }] };
    const pieces = splitRich(rich, { limit: 10, measure: ({ text, spans }) => text.length + (spans.length ? 100 : 0) });
    expect(texts(pieces).join("")).toBe("hello");
    expect(pieces.every((piece) => piece.spans.length === 0)).toBe(true);
  });

  it("gives no piece of white space only", () => {
    expect(splitRich(plainRich(" \n\n \t "), { limit: 10 })).toEqual([]);
    expect(texts(splitRich(plainRich(`a${" ".repeat(5000)}b`), { limit: 10 }))).toEqual(["a", "b"]);
    expect(texts(splitRich(plainRich(`a${"\n".repeat(5000)}b`), { limit: 10 }))).toEqual(["a", "b"]);
  });

  it("takes a megabyte in a time that grows with its length", () => {
    const cost = (length: number) => {
      const rich = plainRich("word ".repeat(length / 5));
      return cpuMs(() => splitRich(rich, { limit: 2000 }));
    };
    expect(growth(cost, 100_000, 1_000_000)).toBeLessThan(60); // ten times the text; quadratic would be a hundred
  });
});

function expectNested({ text, spans }: RichText): void {
  for (const [i, span] of spans.entries()) {
    expect(span.start).toBeGreaterThanOrEqual(0);
    expect(span.end).toBeGreaterThan(span.start);
    expect(span.end).toBeLessThanOrEqual(text.length);
    for (const later of spans.slice(i + 1)) {
      expect(later.start).toBeGreaterThanOrEqual(span.start);
      if (later.start < span.end) expect(later.end).toBeLessThanOrEqual(span.end);
    }
  }
}

/** The text under one kind of style, without white space. */
function styled(pieces: RichText[], kind: string): string {
  return pieces
    .flatMap(({ text, spans }) =>
      spans.filter(({ style }) => style.kind === kind).map(({ start, end }) => text.slice(start, end)),
    )
    .join("")
    .replace(/\s+/g, "");
}
