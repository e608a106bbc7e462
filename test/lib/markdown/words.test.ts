/** Nothing that a person wrote is lost on the way to another platform: every letter and digit of a text is in what is shown there, in order. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDiscord } from "../../../adapters/discord/format.js";
import { formatTelegram } from "../../../adapters/telegram/format.js";
import { formatWeb } from "../../../adapters/web/format.js";
import { literalMarkdown } from "../../../src/lib/markdown/escape.js";
import { flatten } from "../../../src/lib/markdown/flatten.js";
import { readTree } from "../../../src/lib/markdown/message.js";
import { seenOnDiscord } from "./discord-viewer.js";

/** What is shown; with it the addresses behind links, and the language that is the colour of code. */
const SHOWN: Record<string, (text: string) => string> = {
  discord: (text) =>
    formatDiscord({ text }, { plain: false })
      .map(({ content }) => content)
      .join(""),
  telegram: (text) =>
    formatTelegram({ text }, { plain: false })
      .map(({ text, entities }) =>
        entities.reduceRight(
          (whole, { offset, length, url = "", language = "" }) =>
            `${whole.slice(0, offset + length)} ${url}${language} ${whole.slice(offset + length)}`,
          text,
        ),
      )
      .join(""),
  web: (text) =>
    formatWeb({ text }, { plain: false })
      .html.replace(/<a href="([^"]*)"[^>]*>(.*?)<\/a>/gs, "$2 $1")
      .replace(/<(?:ol start="(\d+)"|code class="language-([^"]*)")>|<[^>]*>/g, " $1$2 ")
      .replace(/&(?:lt|gt|quot|amp|#39);/g, " "),
};

const lettersOf = (text: string) => text.match(/[\p{L}\p{N}]/gu) ?? [];

/** The letters of `text` that `shown` lacks, in order. */
function missing(text: string, shown: string): string[] {
  const seen = new Map<string, number>();
  for (const letter of lettersOf(shown)) seen.set(letter, (seen.get(letter) ?? 0) + 1);
  return lettersOf(text).filter((letter) => {
    const left = seen.get(letter) ?? 0;
    seen.set(letter, left - 1);
    return left < 1;
  });
}

/** Each word its own, so that none stands in for another that is lost. */
const word = fc.stringMatching(/^[a-zäß日]{3,7}[0-9]{0,2}$/);
const words = fc.array(word, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(" "));
const two = fc.tuple(words, words);
const number = fc.stringMatching(/^[0-9]{1,4}$/);

const INLINE = fc.oneof(
  words,
  two.map(([a, b]) => `**${a}*${b}*`),
  two.map(([a, b]) => `[${a}](https://a.example/x "${b}")`),
  two.map(([a, b]) => `![${a}](https://a.example/y.png '${b}')`),
  two.map(([a, b]) => `[${a}][${b}]`),
  two.map(([a, b]) => `![${a}][${b}]`),
  two.map(([a, b]) => `<b title="${a}">${b}</b>`),
  two.map(([a, b]) => `<!-- ${a} -->${b}<br>`),
  two.map(([a, b]) => `\`${a}\`~~${b}~~`),
  two.map(([a, b]) => `||${a}||\\*${b}\\`),
  two.map(([a, b]) => `${a}****${b}`),
  two.map(([a, b]) => `${a}[](https://a.example/z)${b}`),
  two.map(([a, b]) => `[${a}]() \`\`\`${b}\`\`\``),
  words.map((text) => `[^${text.split(" ")[0]}]`),
);
const line = fc.array(INLINE, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(" "));
const lines = fc.array(line, { minLength: 1, maxLength: 3 });
const fence = fc.constantFrom("```", "~~~", "````");
const BLOCK = fc.oneof(
  lines.map((all) => all.join("\n")),
  fc.tuple(fence, line, lines).map(([mark, info, all]) => `${mark}${info}\n${all.join("\n")}\n${mark}`),
  fc.tuple(fence, line).map(([mark, info]) => `${mark}${info}\n${mark}`),
  fc.tuple(fence, line).map(([mark, info]) => `${mark} ${info}`),
  fc.tuple(words, line).map(([label, text]) => `[${label}]: ${text}`),
  fc.tuple(words, words).map(([label, title]) => `[${label}]: https://a.example/d "${title}"`),
  fc.tuple(word, line).map(([label, text]) => `[^${label}]: ${text}`),
  fc
    .tuple(fc.array(words, { minLength: 1, maxLength: 3 }), fc.array(line, { minLength: 1, maxLength: 5 }))
    .map(([head, cells]) => [head, head.map(() => "-"), cells].map((row) => `|${row.join("|")}|`).join("\n"))
    // Nothing else breaks a line of a table.
    .map((table) => table.replaceAll("<br>", "")),
  fc.array(fc.tuple(number, line), { minLength: 1, maxLength: 4 }).map((items) => {
    // The same number again and again is counted on.
    const isSame = new Set(items.map(([n]) => n)).size === 1;
    return items.map(([n, text], i) => `${isSame ? Number(n) + i : n}. ${text}`).join("\n");
  }),
  lines.map((all) => all.map((text) => `- ${text}`).join("\n")),
  fc.tuple(line, fc.constantFrom("===", "---", "\n---", "\n    code", "  \n", "\\\n")).map((parts) => parts.join("\n")),
  fc.tuple(fc.constantFrom("# ", "> ", ">>> ", "-# ", "- [ ] ", "#"), line).map((parts) => parts.join("")),
);
const written = fc
  .tuple(fc.array(BLOCK, { minLength: 1, maxLength: 5 }), fc.constantFrom("\n", "\n\n", "\n> ", "\n  "))
  .map(([blocks, gap]) => blocks.join(gap));

describe.each(Object.entries(SHOWN))("a text on %s", (_platform, show) => {
  it("shows every letter and digit of its source, whatever Markdown it is made of", () => {
    fc.assert(
      fc.property(written, (text) => {
        // It may stand in a table, where it breaks the line.
        expect(missing(text.replaceAll("<br>", ""), show(text)), `${text}\n=>\n${show(text)}`).toEqual([]);
      }),
      { numRuns: 150, interruptAfterTimeLimit: 10_000 },
    );
  });

  it.each([
    [
      "the first line of a block that stands behind the fence",
      "Run this:\n```npm install hookgate --save\nnpm start\n```",
    ],
    ["one word behind the fence that Discord shows", "```Error:\nline 2\n```"],
    ["one word of a block that has nothing else", "```hello\n```"],
    ["a fence that is not closed", "Hello\n``` please refund order 12345"],
    ["a block in a quote in a list", "- a\n  > ~~~ one two\n  > three\n  > ~~~"],
    ["a cell beyond the head of a table", "| a | b |\n|--|--|\n| c | d | third cell |"],
    ["a tag that people write about", "use <br> or <hr/> there"],
    ["an address in a table", "|a|\n|-|\n|[b](https://c.example/d)|"],
    ["dates at the beginning of lines", "24. Dezember\n26. Dezember\n01. Januar\n    um 7"],
    ["references and their addresses", 'see [the docs][manual]\n\n[manual]: https://a.example "all pages"'],
    ["words that are nested too deep to be marked", `${"*a _b ".repeat(120)}end${"_ *".repeat(120)}`],
  ])("keeps %s", (_, text) => {
    expect(missing(text, show(text)), show(text)).toEqual([]);
  });
});

describe("plain text as Markdown", () => {
  const shown = (text: string) => {
    const markdown = literalMarkdown(text);
    return flatten(readTree(markdown), { canLink: () => true })
      .text.replaceAll("\u00A0", " ")
      .replaceAll("\u200B", "");
  };

  it("shows every sign as it was written, line by line", () => {
    const sign = fc.constantFrom(..."\\\\`*_~[]()<>|#+-=:.!&@/ab1 ".split(""));
    const part = fc.oneof(
      { weight: 6, arbitrary: sign },
      fc.constantFrom(
        "https://a.example/",
        "www.a.example/",
        "http://_x/",
        "a_b@c.example",
        "```",
        "__",
        "**",
        "1. ",
        "- ",
        "    ",
      ),
    );
    const line = fc.array(part, { minLength: 1, maxLength: 14 }).map((parts) => `x${parts.join("")}y`.trim());
    const start = fc.array(part, { maxLength: 6 }).map((parts) => `${parts.join("")}z`);
    const text = fc.array(fc.oneof(line, start), { minLength: 1, maxLength: 4 }).map((all) => all.join("\n").trim());
    fc.assert(
      fc.property(text, (written) => {
        expect(shown(written), literalMarkdown(written)).toBe(written);
      }),
      { numRuns: 1000, interruptAfterTimeLimit: 20_000 },
    );
  });

  it.each([
    ["a log", "[2026-11-30 04:12:00] [INFO] [main] request_id=abc_def took 5*0 ms https://a.example/*x\n"],
    ["lines of stars", `${"*".repeat(64)}\nstep 3 failed: C:\\*.*\n`],
    ["one sign after another", "a*b*c ~[x] "],
  ])("shows every sign of %s of any length, and the frame around it as long as the text is read", (_, line) => {
    // Between its groups of blocks, a long text has an empty line.
    const signs = (all: string) => all.replace(/\s+/g, " ");
    for (const length of [2_000, 4_000, 15_000, 40_000, 90_000]) {
      const text = line.repeat(length / line.length).trim();
      expect(signs(shown(text)) === signs(text), `${length}`).toBe(true);
      const framed = formatTelegram({ text: `**Ada**:\n${literalMarkdown(text)}` }, { plain: false });
      if (length === 2_000) expect(framed[0]?.text).toBe(`Ada:\n${text}`.slice(0, framed[0]?.text.length));
    }
  });

  it("keeps code as code beside more marks than are read", () => {
    const marks = "*a_ ".repeat(1_000);
    const [first] = formatTelegram({ text: `${"```sh\n**x** \\* [y]\n```"}\n${marks}` }, { plain: false });
    expect(first?.text.slice(0, 20)).toBe("**x** \\* [y]\n\n*a_ *a");
    expect(first?.entities?.[0]).toMatchObject({ type: "pre", language: "sh", offset: 0, length: 12 });
  });

  it("shows what a platform would show in its own way as it was written", () => {
    const text = "<t:0:R> <t:0> <@1> <@1|Ann> <@&2> <#3> </sla list:4> <:e_e:5> <a:e:5> <id:guide>";
    const message = { text: literalMarkdown(text), mentions: { users: ["1"], roles: ["2"] } };
    const [onDiscord] = formatDiscord(message, { plain: false });
    expect(onDiscord?.content).not.toMatch(/<[^\u200B]/);
    expect(seenOnDiscord(onDiscord?.content ?? "").text.replaceAll("\u200B", "")).toBe(text);
    const [onTelegram] = formatTelegram(message, { plain: false });
    expect(onTelegram).toMatchObject({ text: expect.stringMatching(/^(?:<\u200B[^<]*)+$/), entities: [] });
    expect(formatWeb(message, { plain: false }).html).not.toMatch(/<time|@Ann/);
  });

  it("leaves words and addresses as they are", () => {
    const text = "snake_case a_b@c.example https://a.example/x_y_z?d=(e) 2 + 2 = 4 - #tag";
    expect(literalMarkdown(text)).toBe(text);
  });
});

it("keeps the language of code apart from its text, as Discord does", () => {
  const text = "```c++\nx\n```";
  expect(formatDiscord({ text }, { plain: false })[0]?.content).toBe(text);
  expect(seenOnDiscord(text).text).toBe("x");
  expect(formatTelegram({ text }, { plain: false })[0]).toMatchObject({ text: "x", entities: [{ language: "c++" }] });
  expect(formatWeb({ text }, { plain: false }).html).toContain('class="language-c++">x<');
});

it("counts a list whose lines all have the same number, and one that goes on from any number", () => {
  const shown = (text: string) => formatTelegram({ text }, { plain: false })[0]?.text;
  expect(shown("1. a\n1. b")).toBe("1. a\n2. b");
  expect(shown("7. a\n8. b")).toBe("7. a\n8. b");
  expect(shown("2. a\n5. b\n\n   more")).toBe("2. a\n5. b\nmore");
});
