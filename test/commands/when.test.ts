/** Times as people write them, in the zone that they mean. */
import { expect, it } from "vitest";
import { readWhen, readWhenAndWhy } from "../../commands/show/when.js";

const ZONE = "Europe/Berlin";
/** A Wednesday, 14:30 in Berlin. */
const NOW = Date.parse("2026-03-25T13:30:00Z");
const at = (iso: string) => ({ kind: "at", at: Date.parse(iso) });

it.each([
  ["90m", { kind: "length", ms: 5_400_000 }],
  ["2h 30m", { kind: "length", ms: 9_000_000 }],
  ["17:00", at("2026-03-25T16:00:00Z")],
  ["9:15", at("2026-03-26T08:15:00Z")], // over today: tomorrow's
  ["today 17:00", at("2026-03-25T16:00:00Z")],
  ["tomorrow at 9:00", at("2026-03-26T08:00:00Z")],
  ["tomorrow", at("2026-03-26T08:00:00Z")],
  ["until tomorrow", at("2026-03-26T08:00:00Z")],
  ["tomorrow 9", at("2026-03-26T08:00:00Z")],
  ["tomorrow at 9am", at("2026-03-26T08:00:00Z")],
  ["until 5:30 pm", at("2026-03-25T16:30:00Z")],
  ["12 am", at("2026-03-25T23:00:00Z")],
  ["fri", at("2026-03-27T08:00:00Z")],
  ["wed 14:00", at("2026-04-01T12:00:00Z")], // in a week, when clocks have changed
  ["Monday 8:00", at("2026-03-30T06:00:00Z")],
  ["2026-12-24T18:00", at("2026-12-24T17:00:00Z")],
  ["2026-12-24 18:00+00:00", at("2026-12-24T18:00:00Z")],
  ["next business hour", { kind: "business" }],
  ["business", { kind: "business" }],
])("%s", (text, when) => {
  expect(readWhen(text, NOW, ZONE)).toEqual(when);
});

it.each([
  ["", "Missing: how long"],
  ["soon", '"soon" is no time'],
  ["someday 9:00", "is no time"],
  ["25:00", "is no time"],
  ["9", "is no time"],
  ["today", "is no time"],
  ["13 pm", "is no time"],
  ["2026-02-31T09:00", "is no time"],
  ["today 9:00", "is in the past"],
  ["0m", "is no time"],
])('"%s" is refused with what may be written', (text, message) => {
  expect(() => readWhen(text, NOW, ZONE)).toThrow(
    expect.objectContaining({
      code: "BAD_USAGE",
      message: expect.stringContaining(message),
      hint: expect.stringContaining("tomorrow"),
    }),
  );
});

it.each([
  [
    { by: "2h", reason: "waiting for parts" },
    { when: { kind: "length", ms: 7_200_000 }, reason: "waiting for parts" },
  ],
  [{ by: "2h", reason: "30m" }, { when: { kind: "length", ms: 9_000_000 } }],
  [
    { by: "tomorrow", reason: "9:00 the bank is closed" },
    { when: at("2026-03-26T08:00:00Z"), reason: "the bank is closed" },
  ],
  [
    { by: "tomorrow", reason: "the bank is closed" },
    { when: at("2026-03-26T08:00:00Z"), reason: "the bank is closed" },
  ],
  [{ by: "next", reason: "business hour" }, { when: { kind: "business" } }],
  [{ by: "17:00" }, { when: at("2026-03-25T16:00:00Z") }],
])("a time and why: %j", (given, read) => {
  expect(readWhenAndWhy(given, NOW, ZONE)).toEqual(read);
});

it("a word that is no time is not taken for a reason", () => {
  expect(() => readWhenAndWhy({ by: "soon", reason: "please" }, NOW, ZONE)).toThrow('"soon" is no time');
});
