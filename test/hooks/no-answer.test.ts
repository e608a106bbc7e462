/** Why a condition has no answer: each kind of error of CEL and of patterns, without the value that it stumbled over. */
import { expect, test } from "vitest";
import { compileCondition, compileOver } from "../../src/hooks/registration/predicate.js";

const payload = {
  text: "[PLUM",
  number: 4711,
  list: ["[PLUM"],
  map: { PLUM: 1 },
  odd: { constructor: { name: "PLUM" } },
};
const UNKNOWN = "it cannot be evaluated with these values";
const CASES: readonly [condition: string, why: string][] = [
  ["payload.absent == 1", "No such key: absent"],
  ['payload["absent"] == 1', "No such key: absent"],
  ["has(payload.map.x.y)", "No such key: x"],
  ['{"a": 1}[payload.text] > 0', "No such key"],
  ['payload.list.exists(x, {"a": 1}[x] > 0)', "No such key"],
  ['payload.list[int(payload.number)] == "a"', "No such key: index out of bounds"],
  ['duration(payload.text) > duration("1h")', 'duration() requires a text such as "1h30m"'],
  ["bool(payload.text)", "bool() type error: cannot convert to bool"],
  ['"a".matches(payload.text)', "matches() requires a regular expression (RE2)"],
  ["int(payload.number) * 9223372036854775807 > 1", "integer overflow"],
  ["int(payload.number) / 0 == 1", "division by zero"],
  ["int(payload.text) > 1", "int() type error: cannot convert to int"],
  ["payload.text > payload.number", "no such overload: dyn<string> > dyn<double>"],
  ["payload.text && true", "Logical operator requires bool operands, got 'string'"],
  ["string(payload.map) == 'a'", "found no matching overload for 'string(map<string, double>)'"],
  ['timestamp("2026-01-01T00:00:00Z").getHours(payload.text) > 1', UNKNOWN],
  ["bytes(payload.text).json().a == 1", UNKNOWN],
  ["payload.odd == 1", UNKNOWN],
];

test.each(CASES)("%s has none because: %s", (condition, why) => {
  expect(compileOver(condition, { payload: {} }, "match.when")({ payload })).toMatchObject({ error: why });
  const reason = compileCondition(condition, { payload: {} }, "when", { mayBeSlow: true })({ payload });
  expect(reason).toBe(`${why}: ${condition}`);
  expect(reason).not.toMatch(/PLUM|4711/);
});
