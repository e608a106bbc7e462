/** Reading commands as people write them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CommandSpec, quoteValue, usageOf } from "../../src/domain/chat/command.js";
import { CommandTable, checkOptions, parseOptions } from "../../src/gateway/inbound/parse-command.js";

const spec: CommandSpec = {
  name: "fire-hook",
  summary: "",
  role: "viewer",
  options: [
    { name: "id", summary: "", type: "string", required: true },
    { name: "payload", summary: "", type: "string", rest: true },
    { name: "dry-run", summary: "", type: "boolean" },
    { name: "phase", summary: "", type: "string", choices: ["before", "after"] },
    { name: "limit", summary: "", type: "integer" },
  ],
};
const read = (text: string) => {
  const parsed = parseOptions(spec, text);
  return parsed.kind === "options" ? parsed.options : parsed.message;
};

describe("options", () => {
  it.each([
    ["x", { id: "x" }],
    ['"two words"', { id: "two words" }],
    ["“curly quotes” dry-run", { id: "curly quotes", "dry-run": true }],
    ["it's", { id: "it's" }],
    ["x some free text", { id: "x", payload: "some free text" }],
    [
      'x {"a": "b c", "d": [1, {"e": "}"}]} dry-run',
      { id: "x", payload: '{"a": "b c", "d": [1, {"e": "}"}]}', "dry-run": true },
    ],
    ["x last --dry-run phase=after", { id: "x", payload: "last", "dry-run": true, phase: "after" }],
    ['x some words phase="after" dry-run', { id: "x", payload: "some words", "dry-run": true, phase: "after" }],
    ["dry_run=yes id=x", { id: "x", "dry-run": true }],
    ["x —dry-run", { id: "x", "dry-run": true }],
    ['payload={"a":1} x', { id: "x", payload: '{"a":1}' }],
    ["x a=b", { id: "x", payload: "a=b" }],
    ['x "quoted \\"rest\\" "', { id: "x", payload: 'quoted "rest" ' }],
    ["x limit=12 PHASE=Before", { id: "x", limit: 12, phase: "before" }],
    ['x {"a": "b phase=c"}', { id: "x", payload: '{"a": "b phase=c"}' }],
    ['x "said phase=c" phase=after', { id: "x", payload: "said phase=c", phase: "after" }],
    ["x [urgent] mend the {big} pump limit=2", { id: "x", payload: "[urgent] mend the {big} pump", limit: 2 }],
    ['x see "the phase=c limit=3"', { id: "x", payload: 'see "the phase=c limit=3"' }],
    ['x see "a \\" limit=3" phase=after', { id: "x", payload: 'see "a \\" limit=3"', phase: "after" }],
    // What is no JSON is taken whole, so that whoever reads it can say so.
    ["x {bad json", { id: "x", payload: "{bad json" }],
    ["x {bad} json dry-run", { id: "x", payload: "{bad} json", "dry-run": true }],
    ['x {"a":1}, {"b":2}', { id: "x", payload: '{"a":1}, {"b":2}' }],
    ["x {“a”: “b c”} d", { id: "x", payload: "{“a”: “b c”} d" }],
    ["x payload={bad json dry-run=yes", { id: "x", payload: "{bad json", "dry-run": true }],
    ["x payload={bad} json", { id: "x", payload: "{bad} json" }],
    ['x payload=example {"a": "b c"} dry-run', { id: "x", payload: 'example {"a": "b c"}', "dry-run": true }],
    ['x payload={"a":1}, {"b":2}', { id: "x", payload: '{"a":1}, {"b":2}' }],
    ["payload='{bad json' x", { id: "x", payload: "{bad json" }],
  ])("of %s", (text, options) => {
    expect(read(text)).toEqual(options);
  });

  it.each([
    ["", "`id` is missing"],
    ["x --dryrun", 'there is no option "dryrun" (did you mean "dry-run"?)'],
    ["x phase=befor", 'did you mean "before"'],
    ["x limit=many", "`limit` is a whole number"],
    ["x dry-run=perhaps", '`dry-run` is yes or no, not "perhaps"'],
    ["x id=y", '`id` is given twice, as "x" and as "y"'],
    ["id=x limit=1 limit=2", '`limit` is given twice, as "1" and as "2"'],
    ["x some free text id=y", '`id` is given twice, as "x" and as "y"'],
    ["x dry-run some text dry_run=no", "`dry-run` is given twice"],
    [
      "x payload=two words",
      '`dry-run` is yes or no, not "words"; before it, `payload` was read as "two": what has spaces needs quotes, payload=\'…\'',
    ],
  ])("of %s are refused with the reason", (text, reason) => {
    expect(read(text)).toContain(reason);
  });

  it("never throw, whatever is written, and are read in a moment", () => {
    expect(read(`x ${"payload={ ".repeat(5_000)}`)).toMatchObject({ id: "x" });
    const piece = fc.constantFrom("payload=", "dry-run", "{", "}", "[", '"', "'", ":", " ", "x", "phase=after");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "grapheme" }),
          fc.array(piece).map((some) => some.join("")),
        ),
        (text) => {
          expect(["options", "problem"]).toContain(parseOptions(spec, text).kind);
        },
      ),
    );
  });

  it("read a quoted value as one value, whatever it holds, and give nothing else", () => {
    const piece = fc.constantFrom(
      "id=",
      "payload=",
      " dry-run ",
      " limit=2",
      "\\",
      '"',
      "'",
      "“",
      "”",
      " ",
      "x",
      "{",
      "}",
    );
    const text = fc.array(piece, { minLength: 1 }).map((some) => some.join(""));
    fc.assert(
      fc.property(text, (value) => {
        expect(read(`x payload=${quoteValue(value)} limit=1`)).toEqual({ id: "x", payload: value, limit: 1 });
        expect(read(`x ${quoteValue(value)}`)).toEqual({ id: "x", payload: value });
        expect(read(`x see ${quoteValue(value)}`)).toEqual({ id: "x", payload: `see ${quoteValue(value)}` });
      }),
    );
  });

  it("that come by name are checked alike", () => {
    expect(checkOptions(spec, { id: "x", limit: 3 })).toEqual({ kind: "options", options: { id: "x", limit: 3 } });
    expect(checkOptions(spec, { id: "x", limt: 3 })).toMatchObject({
      kind: "problem",
      message: expect.stringContaining("limit"),
    });
    expect(checkOptions(spec, { id: "x", limit: 1.5 })).toMatchObject({ kind: "problem" });
  });

  it("are shown in the usage", () => {
    expect(usageOf(spec)).toBe("/fire-hook <id> [payload] [dry-run] [phase] [limit]");
  });
});

describe("the table", () => {
  const table = new CommandTable([{ ...spec, run: async () => ({ message: { text: "" } }) }]);

  it("knows a command by both spellings and any case, at the start of a text only", () => {
    expect(table.read("/fire_hook x\ny")).toMatchObject({ rest: "x\ny" });
    expect(table.read("/FIRE-HOOK")).toMatchObject({ rest: "" });
    for (const text of ["fire-hook", " /fire-hook", "/fire-hookx", "/unknown", "/", "//fire-hook"])
      expect(table.read(text)).toBeUndefined();
  });
});
