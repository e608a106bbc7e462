/** Messages on the web page: only our own tags, safe links, everything readable. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatWeb } from "../../../adapters/web/format.js";
import type { OutboundMessage } from "../../../src/domain/chat/message.js";
import { EMPTY_MESSAGE } from "../../../src/lib/markdown/message.js";
import { cpuMs, growth, markdownText, messyText } from "./texts.js";

const format = (message: OutboundMessage, plain = false) => formatWeb(message, { plain });
const html = (text: string) => format({ text }).html;

const TAGS =
  /<(?:\/?(?:p|h[1-6]|blockquote|ul|ol|li|pre|code|table|thead|tbody|tr|th|td|strong|em|del|u|sup|div|span)|hr|br|ol start="\d+"|span class="spoiler"|code class="language-[\w+#.-]+"|a href="(?:https?:\/\/|mailto:)[^"<>]*" target="_blank" rel="noopener noreferrer nofollow"|\/a)>/g;

function visible(source: string): string {
  return source
    .replace(TAGS, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

describe("text on the web page", () => {
  it("lets no tag through but its own, whatever is written", () => {
    const nasty = fc.constantFrom(
      "<script>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "[x](javascript:alert(1))",
      '[x](https://a.b/"onclick="alert(1))',
      "[x](data:text/html,y)",
      "![x](vbscript:z)",
      "<svg/onload=1>",
      "```<b>\n</code></pre><script>\n```",
      "<https://a.b/'>",
      "[<img>](https://c.d)",
      "|<b>|\n|-|\n|<i>|",
      "&lt;script&gt;",
      "javascript:alert(1)",
      "<a href='javascript:x'>y</a>",
    );
    const text = fc
      .array(fc.oneof(nasty, markdownText, messyText), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.join("\n\n"));
    fc.assert(
      fc.property(text, fc.constantFrom("markdown" as const, "html" as const, "plain" as const), (written, kind) => {
        const made = format({ text: written, format: kind }).html;
        expect(made.replace(TAGS, "")).not.toMatch(/[<>]/);
      }),
      { numRuns: 120, interruptAfterTimeLimit: 10_000 },
    );
  });

  it("keeps every word", () => {
    fc.assert(
      fc.property(markdownText, (text) => {
        const letters = (from: string) => from.replace(/[^\p{L}\p{N}]+/gu, "");
        const made = format({ text });
        const shown = letters(visible(made.html));
        for (const word of ["alpha", "beta", "gamma", "日本"])
          expect(shown.split(word).length).toBeGreaterThanOrEqual(made.text.split(word).length);
      }),
      { numRuns: 80, interruptAfterTimeLimit: 10_000 },
    );
  });

  it("shows `&#65;` as it was written: a hook that looked for an A did not see one", () => {
    expect(visible(html("AKI&#65;1 &amp; *x*"))).toContain("AKI&#65;1 &amp; ");
  });

  it("writes the page's tags", () => {
    expect(html("hello")).toBe("<p>hello</p>");
    expect(html("# A\n\n**b** _c_ ~~d~~ `e` ||f||")).toBe(
      '<h1>A</h1><p><strong>b</strong> <em>c</em> <del>d</del> <code>e</code> <span class="spoiler">f</span></p>',
    );
    expect(html("- a\n- [x] b")).toBe("<ul><li>a</li><li>☑ b</li></ul>");
    expect(html("a\nb")).toBe("<p>a<br>b</p>");
    expect(html("see https://a.b/c")).toBe(
      '<p>see <a href="https://a.b/c" target="_blank" rel="noopener noreferrer nofollow">https://a.b/c</a></p>',
    );
    expect(html("[x](javascript:alert(1))")).toBe("<p>x (javascript:alert(1))</p>");
    expect(html("```ts\na < b\n```")).toBe('<pre><code class="language-ts">a &lt; b</code></pre>');
  });

  it.each([
    ["[bank.com](https://evil.example)", 'bank.com (<a href="https://evil.example" X>https://evil.example</a>)'],
    ["[ba\u200bnk\uff0ecom](https://evil.example)", 'com (<a href="https://evil.example" X>https://evil.example</a>)'],
    ["[a@bank.com](mailto:b@evil.example)", 'a@bank.com (<a href="mailto:b@evil.example" X>b@evil.example</a>)'],
    ["![bank.com](https://evil.example/a.png)", "bank.com (<a"],
    ["[the bank](https://bank.com)", '<a href="https://bank.com" X>the bank</a>'],
    ["[bank.com](https://www.bank.com/a)", '<a href="https://www.bank.com/a" X>bank.com</a>'],
    ["[version 1.2, e.g. 3](https://bank.com)", '<a href="https://bank.com" X>version 1.2, e.g. 3</a>'],
  ])("shows the address of a link whose text is another one: %s", (written, shown) => {
    const attributes = 'target="_blank" rel="noopener noreferrer nofollow"';
    expect(format({ text: written }).html).toContain(shown.replace("X", attributes));
    const card = format({ text: "", card: { text: written, fields: [{ name: "a", value: written }] } }).card;
    expect(card?.html).toContain(shown.replace("X", attributes));
    expect(card?.fields?.[0]?.html).toContain(shown.replace("X", attributes));
  });

  it("gives a plain form, a text for previews, and says so when there is nothing", () => {
    expect(format({ text: "**a** <b>" }, true)).toEqual({ text: "**a** <b>", html: "<p>**a** &lt;b&gt;</p>" });
    expect(format({ text: "**a** [b](https://c.d)" }).text).toBe("a b");
    expect(format({ text: "" })).toEqual({ text: EMPTY_MESSAGE, html: `<p>${EMPTY_MESSAGE}</p>` });
  });

  it("hands out the card in parts and buttons without their actions", () => {
    const made = format({
      text: "x",
      card: { title: "<T>", text: "**y**", url: "javascript:x", fields: [{ name: "n", value: "`v`" }], tone: "bad" },
      buttons: [
        [
          { label: "go", token: "t", action: { kind: "say", text: "secret" } },
          { label: "web", url: "https://a.b" },
        ],
      ],
    });
    expect(made.card).toEqual({
      title: "<T>",
      html: "<p><strong>y</strong></p>",
      tone: "bad",
      fields: [{ name: "n", html: "<p><code>v</code></p>", inline: false }],
    });
    expect(made.buttons).toEqual([
      [
        { label: "go", style: "secondary", token: "t" },
        { label: "web", style: "secondary", url: "https://a.b" },
      ],
    ]);
    expect(made.text).toContain("<T>");
  });

  it("takes deep nesting and a megabyte", () => {
    for (const text of [
      ">".repeat(5000),
      "- ".repeat(3000),
      "*a_".repeat(10_000),
      "word ".repeat(200_000),
      "[".repeat(30_000),
    ]) {
      let made = format({ text: "" });
      const cost = cpuMs(() => {
        made = format({ text });
      });
      expect(cost).toBeLessThan(4_000);
      expect(visible(made.html).trim()).not.toBe("");
    }
  });
});

describe("what one message costs", () => {
  it("is bounded, whatever marks it is made of: what would be too much is literal text, and nothing is left out", () => {
    for (const mark of ["a\n=\n", "- - - a\n", "1. a\n", "|-\n", "|a|b\n|-|-\n", "# a\n", "- a\n", "a\n\n", "`a` "]) {
      const { html: made, text } = format({ text: mark.repeat(32_000 / mark.length) });
      expect((made.match(/<(h1|li|t[dh]|code)>/g) ?? []).length, mark).toBeLessThan(6_100);
      expect(text.match(/a|-/g)?.length ?? 0, mark).toBeGreaterThan(1000);
    }
  });

  it("is columns times lines for a table, whatever its lines hold, over all tables of the message", () => {
    const table = (columns: number, lines: number, line: string, before = "") => {
      const row = (cell: string) => `${before}${Array.from({ length: columns }, () => cell).join("|")}\n`;
      return `${row("a")}${row("-")}${`${before}${line}\n`.repeat(lines)}\n`;
    };
    for (const text of [
      table(100, 600, "a").repeat(19),
      table(50, 1200, "a").repeat(12),
      table(3_000, 8_000, "a"),
      table(1_000, 64, "a", "> "),
      table(2, 30, "a", "- ").repeat(400),
      `a\n-:\n${"a\n".repeat(200)}\n`.repeat(70),
    ]) {
      const made = format({ text });
      expect((made.html.match(/<tr>/g) ?? []).length, text.slice(0, 20)).toBeLessThan(700);
      expect(made.text.length, text.slice(0, 20)).toBeLessThan(text.length * 2);
      expect(made.text.match(/a/g)?.length, text.slice(0, 20)).toBe(text.match(/a/g)?.length);
    }
    expect(html(table(10, 150, "a|b|c|d|e|f|g|h|i|j")).match(/<td>/g)).toHaveLength(1_500);
    const wide = `${"x".repeat(40)}|b\n-|-\n${"a|b\n".repeat(400)}`;
    expect(html(wide).match(/<tr>/g)).toHaveLength(401);
    expect(format({ text: wide }).text.length).toBeLessThan(wide.length * 4);
    expect(format({ text: "x|long\n-|-\na|b\nc" }).text).toBe("x   | long\n----+-----\na   | b\nc");
  });

  it("is bounded for lists in lists and for many addresses, too", () => {
    const levels = (depth: number) => Array.from({ length: depth }, (_, i) => `${"  ".repeat(i)}- a`).join("\n");
    const texts = [levels(170), `${levels(18)}\n`.repeat(85), "http://a.b/c ".repeat(2400), "www.a.b ".repeat(4000)];
    for (const text of texts) {
      const made = format({ text });
      expect((made.html.match(/<(li|a) ?/g) ?? []).length, text.slice(0, 40)).toBeLessThan(650);
      expect(made.text.match(/a/g)?.length, text.slice(0, 40)).toBeGreaterThanOrEqual(text.match(/a/g)?.length ?? 0);
    }
    expect(format({ text: "http://a.b/c ".repeat(200) }).html.match(/<a /g)).toHaveLength(200);
    expect(format({ text: levels(10) }).html.match(/<li>/g)).toHaveLength(10);
  });

  it("grows with the length of the punctuation in an address and not with its square", () => {
    const cost = (length: number) => cpuMs(() => format({ text: `http://a.b/${"&a;".repeat(length / 3)}x` }));
    expect(growth(cost, 900, 15_900)).toBeLessThan(80);
  });

  it("is bounded for a long paragraph with a bracket that is not closed, and a long one keeps its links", () => {
    const words = (count: number) => "1,".repeat(count);
    expect(html(`[**a** ${words(8_000)}`)).not.toContain("<strong>");
    expect(html(`[**a** ${words(8_000)}\n\n**b**`)).toContain("<strong>b");
    expect(html(`[**a**](https://a.example) ${words(2_000)}`)).toContain("<a ");
  });

  it("keeps the form of a long answer", () => {
    const item = `- a point that says **something** of some use, with \`code\` and a [link](https://a.example)\n`;
    const made = html(`# Title\n\n${item.repeat(60)}\n${"A paragraph.\n\n".repeat(100)}`);
    expect(made.match(/<li>/g)).toHaveLength(60);
    expect(made.match(/<p>/g)?.length).toBeGreaterThanOrEqual(100);
  });

  it("grows with the length of HTML and not with its square", () => {
    const cost = (length: number) => cpuMs(() => format({ text: `<${"a".repeat(length)}`, format: "html" }));
    expect(growth(cost, 8_000, 64_000)).toBeLessThan(30);
  });
});
