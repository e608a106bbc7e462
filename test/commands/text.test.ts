import { describe, expect, it } from "vitest";
import { pageButtons, pageOf } from "../../commands/page.js";
import { block, clip, code, plain, table } from "../../commands/show/text.js";
import { terminalText } from "../../src/cli/terminal.js";

describe("text", () => {
  it("aligns columns, leaves out the empty ones and cuts long cells", () => {
    const text = table(
      [
        { title: "hook", maxCharacters: 8 },
        { title: "failed", right: true },
        { title: "24 h", right: true },
      ],
      [
        ["redact.secrets", "", "3"],
        ["x", "", "120"],
      ],
      {},
    );
    expect(text).toBe("```\nhook      24 h\nredact.…     3\nx          120\n```");
  });

  it("makes a list of a table whose rows are too long for a phone, in chats only", () => {
    const at = { platform: "web", botId: "web", chatId: "general" };
    const columns = [{ title: "#" }, { title: "hook" }, { title: "sees", named: true }, { title: "took", right: true }];
    const rows = [
      ["1", "nightly_backup_verification_of_all_regions", "merged", "2 ms"],
      ["2", "short", "", ""],
    ];
    expect(table(columns, rows, { at })).toBe(
      "1. nightly\\_backup\\_verification\\_of\\_all\\_regions · sees merged · took 2 ms\n2. short",
    );
    expect(table(columns, rows, {})).toMatch(/^```\n# +hook/);
    expect(table(columns, rows.slice(1), { at })).toMatch(/^```\n# +hook/);
    expect(
      table(
        columns.slice(1),
        rows.map((row) => row.slice(1)),
        { at },
      ),
    ).toMatch(/^- nightly.*\n- short$/);
  });

  it("never lets content end its code block or its inline code", () => {
    expect(block("a\n```\nb")).toBe("````\na\n```\nb\n````");
    expect(code("a`b")).toBe("`` a`b ``");
  });

  it("disarms Markdown and mentions in text from outside", () => {
    expect(plain("**hi** @everyone <@1> [x](http://y)\n# z")).toBe(
      "\\*\\*hi\\*\\* \\@everyone \\<\\@1\\> \\[x\\](http://y) \\# z",
    );
  });

  it("cuts between characters, not inside them", () => {
    expect(clip("👍👍👍", 2)).toBe("👍…");
  });

  it("pages: clamps the page asked for, and offers only pages that exist", () => {
    const all = Array.from({ length: 25 }, (_, index) => index);
    const last = pageOf(all, 99, 10);
    expect(last).toMatchObject({ number: 3, pages: 3, total: 25, entries: [20, 21, 22, 23, 24] });
    expect(pageButtons(last, "/hooks list").map(({ action }) => action)).toEqual([
      { kind: "command", line: "/hooks list page=2" },
    ]);
    expect(pageOf([], 1, 10)).toMatchObject({ number: 1, pages: 1, entries: [] });
  });

  it("shows a chat message on a terminal without its signs, code blocks as they are", () => {
    const shown = terminalText(
      {
        text: "**2 hooks** · `a.b`\n\n```\n**raw** `x`\n```\n\\*plain\\* \\`so\\`",
        card: { title: "T", fields: [{ name: "in", value: "1\n2" }] },
      },
      false,
    );
    expect(shown).toBe("2 hooks · a.b\n\n**raw** `x`\n*plain* `so`\n\nT\n\nin  1\n    2");
  });

  it("writes moments and people out on a terminal, in the zone of its reader", () => {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const moment = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "medium" }).format(1767225600_000);
    const shown = terminalText({ text: "Since <t:1767225600:D> <@7|Ann>\n\n```\n<t:1767225600:D>\n```" }, false);
    expect(shown).toBe(`Since ${moment} @Ann\n\n<t:1767225600:D>`);
  });
});
