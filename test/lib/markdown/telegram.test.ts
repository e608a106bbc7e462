/** Messages on Telegram: text and entities that the Bot API takes as they are. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatTelegram, type TelegramPart } from "../../../adapters/telegram/format.js";
import type { OutboundMessage } from "../../../src/domain/chat/message.js";
import { EMPTY_MESSAGE, readRich } from "../../../src/lib/markdown/message.js";
import { cpuMs, expectSameText, markdownText, messyText } from "./texts.js";

const canLink = (url: string) => /^https?:/.test(url);
const format = (message: OutboundMessage, plain = false) => formatTelegram(message, { plain });
const marked = ({ text, entities }: TelegramPart) =>
  entities.map(({ type, offset, length }) => `${type}:${text.slice(offset, offset + length)}`);
const file = (i: number) => ({ type: "file" as const, ref: `${i}`, url: `https://a.b/${i}`, mimeType: "text/plain" });

/** What the server checks: offsets within the text, in UTF-16 units and not inside a surrogate pair; nesting, never crossing; nothing within code. */
function expectValid({ text, entities }: TelegramPart): void {
  expect(text.length).toBeLessThanOrEqual(4096);
  expect(text.isWellFormed()).toBe(true);
  expect(entities.length).toBeLessThanOrEqual(100);
  for (const [i, one] of entities.entries()) {
    const end = one.offset + one.length;
    expect(one.offset).toBeGreaterThanOrEqual(0);
    expect(one.length).toBeGreaterThan(0);
    expect(end).toBeLessThanOrEqual(text.length);
    expect(text.slice(one.offset, end).isWellFormed()).toBe(true);
    for (const other of entities.slice(i + 1)) {
      const otherEnd = other.offset + other.length;
      if (other.offset >= end) continue;
      expect(other.offset).toBeGreaterThanOrEqual(one.offset);
      expect(otherEnd).toBeLessThanOrEqual(end);
      expect(["code", "pre"]).not.toContain(one.type);
      if (other.type === "code" || other.type === "pre") expect(one.type).toBe("blockquote");
    }
  }
}

describe("text on Telegram", () => {
  it("keeps all that can be read, with entities that the server takes", () => {
    fc.assert(
      fc.property(
        fc.array(markdownText, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 5 }),
        (texts, times) => {
          const text = Array.from({ length: times }, () => texts.join("\n\n")).join("\n\n");
          const parts = format({ text });
          for (const part of parts) expectValid(part);
          expectSameText(
            parts.map((part) => part.text),
            readRich(text, "markdown", { canLink }).text,
          );
        },
      ),
      { numRuns: 25, interruptAfterTimeLimit: 10_000 },
    );
  });

  it("keeps plain text as it is", () => {
    fc.assert(
      fc.property(messyText, (text) => {
        const parts = format({ text, format: "plain" });
        const whole = readRich(text, "plain", { canLink }).text;
        for (const part of parts) expectValid(part);
        if (parts[0]?.text !== EMPTY_MESSAGE)
          expectSameText(
            parts.map((part) => part.text),
            whole,
          );
        expect(parts.every((part) => part.entities.length === 0)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it("writes entities for every style", () => {
    const [part] = format({
      text: "# Top\n\n**b _i_** ~~s~~ ||h|| `c` [l](https://a.b) 😀 **after**\n\n> q\n\n```ts\nx\n```",
    });
    expect(part && marked(part)).toEqual([
      "bold:Top",
      "bold:b i",
      "italic:i",
      "strikethrough:s",
      "spoiler:h",
      "code:c",
      "text_link:l",
      "bold:after",
      "blockquote:q",
      "pre:x",
    ]);
    expect(part?.entities.at(-1)).toMatchObject({ type: "pre", language: "ts" });
  });

  it("cuts styles around code, which may stand in none", () => {
    const [part] = format({ text: "**a `b` c** [x `y`](https://a.b)" });
    expect(part && marked(part)).toEqual(["bold:a ", "code:b", "bold: c", "text_link:x y"]);
  });

  it("goes on with a style, a quote and a fence in the next part", () => {
    const parts = format({ text: `**${"word ".repeat(1500).trim()}**\n\n\`\`\`js\n${"code();\n".repeat(1000)}\`\`\`` });
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts) {
      expectValid(part);
      expect(part.entities.reduce((sum, { length }) => sum + length, 0)).toBeGreaterThanOrEqual(part.text.length - 2);
    }
  });

  it("never hides an address behind what Telegram cannot link", () => {
    expect(format({ text: "[x](javascript:alert(1)) [m](mailto:a@b.c)" })[0]).toEqual({
      text: "x (javascript:alert(1)) m (a@b.c)",
      entities: [],
    });
  });

  it("keeps links when there are more entities than the server takes", () => {
    const [part] = format({ text: `${"**b** *i* ".repeat(60)}[l](https://a.b)` });
    expect(part?.entities).toHaveLength(100);
    expect(part && marked(part)).toContain("text_link:l");
  });

  it("puts code within the quote that it fills, also among too many entities", () => {
    const [part] = format({ text: `${"**b** *i* ".repeat(20)}\n\n> \`c\`\n\n${"**b** *i* ".repeat(40)}` });
    if (!part) throw new Error("no part");
    expectValid(part);
    const codeAt = part.entities.findIndex(({ type }) => type === "code");
    expect(part.entities.slice(codeAt - 1, codeAt + 1).map(({ type }) => type)).toEqual(["blockquote", "code"]);
  });

  it("drops every entity in the plain form and says where links lead", () => {
    expect(format({ text: "**a** [b](https://c.d)" }, true)).toEqual([{ text: "a b (https://c.d)", entities: [] }]);
  });

  it("reads the small HTML that hooks may send", () => {
    const [part] = format({
      format: "html",
      text: '<b>x &lt; y</b><br><a href="https://a.b?c=1&amp;d=2">l</a><script>alert(1)</script><ul><li>one<li>two</ul><pre><code class="language-js">a\n  b</code></pre>',
    });
    expect(part?.text).toBe("x < y\nlalert(1)\n\n• one\n• two\n\na\n  b");
    expect(part?.entities).toMatchObject([
      { type: "bold" },
      { type: "text_link", url: "https://a.b?c=1&d=2" },
      { type: "pre", language: "js" },
    ]);
  });

  it("reads any HTML-like text in a time that grows with its length, losing no word", () => {
    for (const unit of ["<b>", "<i a='", "</p>", "<", "&", "<!--", "<b><i>x</b></i>", '<a href="x">', "<ul><li>"]) {
      let parts: TelegramPart[] = [];
      const cost = cpuMs(() => {
        parts = format({ format: "html", text: `start ${unit.repeat(10_000)} end` });
      });
      expect(cost).toBeLessThan(3_000);
      expect(parts[0]?.text).toContain("start");
    }
  });
});

describe("cards, keyboards and files on Telegram", () => {
  it("writes a card as a titled block below the text", () => {
    const [part] = format({
      text: "look",
      card: {
        title: "T",
        text: "**x**",
        tone: "warning",
        fields: [
          { name: "a", value: "1" },
          { name: "b", value: "`2`" },
        ],
        footer: "f",
      },
    });
    expect(part?.text).toBe("look\n\n⚠️ T\n\nx\n\na: 1\nb: 2\n\nf");
    expect(part && marked(part)).toEqual(["bold:T", "bold:x", "bold:a:", "bold:b:", "code:2", "italic:f"]);
  });

  it("leaves the sign of its tone out where the title begins with one of its own", () => {
    expect(format({ text: "", card: { title: "🔥 On fire", tone: "bad" } })[0]?.text).toBe("🔥 On fire");
    expect(format({ text: "", card: { title: "1 left", tone: "bad" } })[0]?.text).toBe("❌ 1 left");
  });

  it("makes the text the caption of the first file when it fits, and a message before it when not", () => {
    expect(format({ text: "see", attachments: [file(1), file(2)] })).toEqual([
      { text: "see", entities: [], attachments: [file(1)] },
      { text: "", entities: [], attachments: [file(2)] },
    ]);
    const long = "word ".repeat(300).trim();
    expect(format({ text: long, attachments: [file(1)] })).toEqual([
      { text: long, entities: [] },
      { text: "", entities: [], attachments: [file(1)] },
    ]);
    expect(format({ text: "", attachments: [file(1)] })).toEqual([{ text: "", entities: [], attachments: [file(1)] }]);
  });

  it("puts the keyboard on the last part, eight a row, and more than a hundred into a further message", () => {
    const row = Array.from({ length: 12 }, (_, i) => ({ label: `b${i}`, token: `t${i}` }));
    const parts = format({ text: "word ".repeat(1000), buttons: [row] });
    expect(parts.map((part) => part.keyboard?.map((one) => one.length))).toEqual([undefined, [8, 4]]);
    const many = format({ text: "x", buttons: Array.from({ length: 20 }, () => row.slice(0, 8)) });
    expect(many.map((part) => part.keyboard?.flat().length)).toEqual([96, 64]);
    expect(many.every((part) => part.text !== "")).toBe(true);
  });

  it("gives a keyboard without text something to stand under, and says so when there is nothing at all", () => {
    expect(format({ text: "", buttons: [[{ label: "a", token: "t" }]] })[0]?.text).not.toBe("");
    expect(format({ text: "" })).toEqual([{ text: EMPTY_MESSAGE, entities: [] }]);
  });
});
