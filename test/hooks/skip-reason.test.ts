import { expect, test } from "vitest";
import { formatSkipReason, parseSkipReason } from "../../src/domain/skip-reason.js";

test("the reason of a skipped run is read back as it was written, whatever it quotes", () => {
  for (const reason of [
    { by: "cooldown", reason: "42 min left of 1 h" },
    { by: "skip_if", reason: "held: payload.text == 'a: b'\nsecond line" },
  ])
    expect(parseSkipReason(formatSkipReason(reason))).toEqual(reason);
});

test("a reason that names nothing is all reason", () => {
  expect(parseSkipReason("the gateway stopped")).toEqual({ by: "", reason: "the gateway stopped" });
  expect(parseSkipReason()).toEqual({ by: "", reason: "" });
});
