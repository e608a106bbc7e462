import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { parseYaml } from "../../src/lib/validation/yaml-source.js";

describe("a YAML text", () => {
  it("is read the same by the quick parser as by the one that knows positions", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom("PLAIN", "QUOTE_DOUBLE", "QUOTE_SINGLE"), (value, style) => {
        const text = stringify(value, { defaultStringType: style });
        // As JSON, which has no minus zero.
        expect(JSON.stringify(parseYaml(text).value ?? null)).toBe(JSON.stringify(parse(text)));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    "on: message_sent\nyes: no\noff: on",
    "a: 1_000\nb: 0o17\nc: 012\nd: 0x1f\ne: .5\nf: 1e3\ng: +1\nh: .inf",
    "when: 2026-01-01\nat: 2026-01-01T10:00:00Z\ntime: 12:30:45",
    "a: ~\nb:\nc: null\nd: Null\ne: ''\nf: 'null'",
    "a: &x { b: 1 }\nc: *x\n<<: 5",
    "1: one\ntrue: two",
    'a: |\n  two\n  lines\nb: >-\n  folded\n  line\nc: "tab\\tdone"',
    "- - 1\n  - 2\n- { a: [b, c], d: }",
    "---\na: 1\n...",
  ])("has the values of YAML 1.2: %j", (text) => {
    expect(parseYaml(text).value).toEqual(parse(text));
  });

  it("that is empty has no value and no error", () => {
    for (const text of ["", "\n# only a remark\n", "~"])
      expect(parseYaml(text)).toMatchObject({ value: undefined, errors: [] });
  });

  it.each(["a: [1\nb: 2", "a: 1\na: 2", "a: *nowhere", "\ta: 1", "a: 1\n---\nb: 2", 'a: "open'])(
    "that is none says where: %j",
    (text) => {
      const { value, errors } = parseYaml(text);
      expect(value).toBeUndefined();
      expect(errors[0]).toMatchObject({ line: expect.any(Number), message: expect.stringMatching(/\w/) });
    },
  );

  it("tells the places of values and keys", () => {
    const { placeOf } = parseYaml("a:\n  - b: 1\n    c: 2\n");
    expect(placeOf(["a", 0, "c"])).toEqual({ line: 3, column: 8 });
    expect(placeOf(["a", 0, "c"], true)).toEqual({ line: 3, column: 5 });
    expect(placeOf(["a", 0, "missing"])).toEqual({ line: 2, column: 5 });
  });
});
