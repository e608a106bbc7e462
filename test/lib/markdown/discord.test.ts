/** Messages on Discord: what is seen there is what was meant, in parts that Discord takes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DiscordPart, formatDiscord } from "../../../adapters/discord/format.js";
import { canLink } from "../../../adapters/discord/markdown.js";
import type { OutboundMessage } from "../../../src/domain/chat/message.js";
import { EMPTY_MESSAGE, readRich } from "../../../src/lib/markdown/message.js";
import { seenOnDiscord } from "./discord-viewer.js";
import { cpuMs, markdownText, messyText } from "./texts.js";

const format = (message: OutboundMessage, plain = false) => formatDiscord(message, { plain });
const content = (text: string) =>
  format({ text })
    .map((part) => part.content)
    .join("\n---\n");
/** Letters only: white space is the separator, and a character without width keeps marks apart. */
const letters = (text: string) => text.replace(/[\s\u200B]+/g, "");
const seen = (parts: DiscordPart[]) => letters(parts.map((part) => seenOnDiscord(part.content).text).join("\n"));

describe("text on Discord", () => {
  it("shows any plain text as it is written", () => {
    fc.assert(
      fc.property(messyText, (text) => {
        const parts = format({ text, format: "plain" });
        const expected = letters(readRich(text, "plain", { canLink }).text);
        expect(seen(parts)).toBe(expected === "" ? letters(EMPTY_MESSAGE) : expected);
      }),
      { numRuns: 200, interruptAfterTimeLimit: 10_000 },
    );
  });

  it("shows all that Markdown shows, whatever the mix", () => {
    fc.assert(
      fc.property(markdownText, (text) => {
        expect(seen(format({ text }))).toBe(letters(readRich(text, "markdown", { canLink }).text));
      }),
      { numRuns: 200, interruptAfterTimeLimit: 10_000 },
    );
  });

  it("keeps every part within 2,000 characters, with its fences closed", () => {
    fc.assert(
      fc.property(
        fc.array(markdownText, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 12 }),
        (texts, times) => {
          const parts = format({ text: Array.from({ length: times }, () => texts.join("\n\n")).join("\n\n") });
          for (const part of parts) {
            expect(part.content.length).toBeLessThanOrEqual(2000);
            expect(part.content.length).toBeGreaterThan(0);
            expect((part.content.match(/```/g) ?? []).length % 2).toBe(0);
            expect(part.content.isWellFormed()).toBe(true);
          }
        },
      ),
      { numRuns: 15, interruptAfterTimeLimit: 10_000 },
    );
  });

  it("writes Discord's dialect", () => {
    expect(content("**bold** *it* ~~gone~~ `code` ||hush||")).toBe("**bold** *it* ~~gone~~ `code` ||hush||");
    expect(content("# One\n\n#### Four")).toBe("# One\n\n**Four**");
    expect(content("- a\n  - b\n\n3. c")).toBe("- a\n  - b\n\n3. c");
    expect(content("> a\n> b")).toBe("> a\n> b");
    expect(content("[here](https://a.b/c)")).toBe("[here](https://a.b/c)");
    expect(content("![cat](https://a.b/c.png)")).toBe("[cat](https://a.b/c.png)");
    expect(content("| a | b |\n|---|---|\n| 1 | 2 |")).toBe("```\na   | b\n----+----\n1   | 2\n```");
    expect(content("```ts\nlet a = 1;\n```")).toBe("```ts\nlet a = 1;\n```");
  });

  it("closes a fence at the end of a part and opens it again, with its language", () => {
    const code = Array.from({ length: 400 }, (_, i) => `line(${i});`).join("\n");
    const parts = format({ text: `\`\`\`ts\n${code}\n\`\`\`` });
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect(part.content).toMatch(/^```ts\n[\s\S]*\n```$/);
    expect(parts.map((part) => part.content.slice(6, -4)).join("\n")).toBe(code);
  });

  it("keeps code with fences in it in one block", () => {
    const [part] = format({ text: "````md\n```ts\nx\n```\n````" });
    expect(seenOnDiscord(part?.content ?? "").marks).toEqual(["fence:``\u200B`ts\nx\n``\u200B`"]);
  });

  it("says where a link leads that Discord would not link", () => {
    expect(content("[x](javascript:alert(1))")).toBe("x (javascript:alert(1))");
    expect(content("[https://good.example](https://bad.example)")).toBe("https://good.example (https://bad.example)");
    expect(content(`[x](https://a.b/${"c".repeat(3000)})`).replaceAll("\n---\n", "")).toContain("c".repeat(2900));
  });

  it("names nobody unless the message allows it", () => {
    const text = "hi <@123> <@&45> **<@123>**";
    expect(content(text)).toBe("hi \\<@123> \\<@&45> **\\<@123>**");
    const [part] = format({ text, mentions: { users: ["123"] } });
    expect(part?.content).toBe("hi <@123> \\<@&45> **<@123>**");
  });

  it("keeps 30,000 characters and hostile Markdown whole, quickly", () => {
    for (const unit of ["word ", "*a_", "]", "[", "> ", "- ", "`a", "||a", "\\", "<b>", "a\n\n", "👨‍👩‍👧‍👦", "|"]) {
      const text = unit.repeat(5_000 / unit.length);
      const parts = format({ text });
      const long = unit.repeat(30_000 / unit.length);
      expect(cpuMs(() => format({ text: long }))).toBeLessThan(4_000);
      expect([...parts, ...format({ text: long })].every((part) => part.content.length <= 2000)).toBe(true);
      expect(seen(parts)).toBe(letters(readRich(text, "markdown", { canLink }).text));
    }
  });

  it("takes a megabyte", () => {
    const text = "some *words* and `code` ".repeat(43_000);
    const parts = format({ text });
    expect(parts.map((part) => part.content.replaceAll("\\", "")).join(" ").length).toBeGreaterThan(1_000_000);
    expect(parts.every((part) => part.content.length <= 2000)).toBe(true);
  });

  it("gives a plain form without any mark", () => {
    const [part] = format({ text: "# A **b** [c](https://d.e)" }, true);
    expect(seenOnDiscord(part?.content ?? "")).toEqual({ text: "A b c (https://d.e)", marks: [] });
  });

  it("shows what was written when Markdown would show nothing", () => {
    for (const text of ["*", "#", "-", "```\n```", "[a]: b", "<!-- x -->", "&", "**"])
      expect(letters(seen(format({ text })))).not.toBe("");
  });
});

describe("cards, buttons and files on Discord", () => {
  const field = (length: number) => ({ name: "name", value: "v".repeat(length) });

  it("puts a card into an embed beside the text", () => {
    const [part, ...rest] = format({
      text: "look",
      card: {
        title: "T",
        text: "**x**",
        fields: [{ name: "a", value: "b", inline: true }],
        footer: "f",
        tone: "bad",
        url: "https://a.b",
      },
    });
    expect(rest).toEqual([]);
    expect(part).toEqual({
      content: "look",
      embeds: [
        {
          color: 0xe74c3c,
          title: "T",
          url: "https://a.b",
          description: "**x**",
          fields: [{ name: "a", value: "b", inline: true }],
          footer: { text: "f" },
        },
      ],
    });
  });

  it("never loses what an embed cannot hold", () => {
    fc.assert(
      fc.property(
        fc.record({
          title: fc.integer({ min: 0, max: 600 }),
          text: fc.integer({ min: 0, max: 9000 }),
          fields: fc.array(fc.integer({ min: 1, max: 1500 }), { maxLength: 30 }),
          footer: fc.integer({ min: 0, max: 3000 }),
        }),
        ({ title, text, fields, footer }) => {
          const parts = format({
            text: "",
            card: {
              title: "t".repeat(title),
              text: "x".repeat(text),
              fields: fields.map(field),
              footer: "f".repeat(footer),
            },
          });
          const embeds = parts.flatMap((part) => part.embeds ?? []);
          expect(embeds).toHaveLength(1);
          for (const embed of embeds) {
            expect(embed.title?.length ?? 0).toBeLessThanOrEqual(256);
            expect(embed.description?.length ?? 0).toBeLessThanOrEqual(4096);
            expect(embed.fields?.length ?? 0).toBeLessThanOrEqual(25);
            const strings = [
              embed.title,
              embed.description,
              embed.footer?.text,
              ...(embed.fields ?? []).flatMap((one) => [one.name, one.value]),
            ];
            expect(strings.join("").length).toBeLessThanOrEqual(6000);
            for (const one of embed.fields ?? []) expect(one.value.length).toBeLessThanOrEqual(1024);
          }
          const all = JSON.stringify(parts);
          const count = (letter: string) => all.split(letter).length - 1;
          expect(count("v")).toBeGreaterThanOrEqual(fields.reduce((sum, length) => sum + length, 0));
          expect(all.match(/x/g)?.length ?? 0).toBeGreaterThanOrEqual(text);
          expect(all.match(/t/g)?.length ?? 0).toBeGreaterThanOrEqual(title);
          expect(all.match(/f/g)?.length ?? 0).toBeGreaterThanOrEqual(footer);
        },
      ),
      { numRuns: 100 },
    );
  });

  it.each([
    ["a short description", 10],
    ["a description that goes on as text", 5000],
  ])("keeps the order of fields below %s", (_which, length) => {
    const parts = format({
      text: "",
      card: {
        text: "x".repeat(length),
        fields: [
          { name: "first", value: "1" },
          { name: "second", value: "v".repeat(1500) },
          { name: "third", value: "3" },
        ],
      },
    });
    const [embed] = parts.flatMap((part) => part.embeds ?? []);
    expect(embed?.fields?.map(({ name }) => name)).toEqual(["first"]);
    expect(parts.map((part) => part.content).join("")).toMatch(/second.*third/s);
  });

  it("lays buttons out five by five and goes on in a further part", () => {
    const row = Array.from({ length: 7 }, (_, i) => ({ label: `b${i}`, token: `t${i}` }));
    const parts = format({ text: "press", buttons: [row, row, row] });
    expect(parts.map((part) => part.components?.map((one) => one.components.length))).toEqual([[5, 2, 5, 2, 5], [2]]);
    expect(parts[0]?.components?.[0]?.components[0]).toEqual({ type: 2, style: 2, label: "b0", custom_id: "t0" });
  });

  it("writes out what cannot be pressed", () => {
    const [part] = format({
      text: "x",
      buttons: [[{ label: "go", url: "notaurl" }, { label: "dead" }, { label: "ok", url: "https://a.b" }]],
    });
    expect(part?.content).toBe("x");
    const all = format({
      text: "x",
      buttons: [[{ label: "go", url: "notaurl" }, { label: "dead" }, { label: "ok", url: "https://a.b" }]],
    });
    expect(all.map((one) => one.content)).toEqual(["x", "go: notaurl\ndead"]);
    expect(all.at(-1)?.components).toEqual([
      { type: 1, components: [{ type: 2, style: 5, label: "ok", url: "https://a.b" }] },
    ]);
  });

  it("sends files with the end of the text, ten a message, and alone when there is no text", () => {
    const file = (i: number) => ({
      type: "file" as const,
      ref: `${i}`,
      url: `https://a.b/${i}`,
      mimeType: "text/plain",
    });
    const files = Array.from({ length: 12 }, (_, i) => file(i));
    expect(format({ text: "see", attachments: files }).map((part) => [part.content, part.attachments?.length])).toEqual(
      [
        ["see", 10],
        ["", 2],
      ],
    );
    expect(format({ text: "", attachments: [file(1)] })).toEqual([{ content: "", attachments: [file(1)] }]);
  });

  it("says so when there is nothing to say", () => {
    expect(format({ text: "" })).toEqual([{ content: EMPTY_MESSAGE }]);
    expect(format({ text: " \n" })).toEqual([{ content: EMPTY_MESSAGE }]);
  });
});
