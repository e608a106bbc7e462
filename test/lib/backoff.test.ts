import { describe, expect, it } from "vitest";
import { backoffMs, doubledMs } from "../../src/lib/time/backoff.js";

const BACKOFF = { firstMs: 1_000, maxMs: 300_000 };

describe("pauses between attempts", () => {
  it("the exact pause doubles with each attempt, up to the longest", () => {
    expect([1, 2, 3, 9, 10, 5_000].map((attempt) => doubledMs(BACKOFF, attempt))).toEqual([
      1_000, 2_000, 4_000, 256_000, 300_000, 300_000,
    ]);
  });

  it("jitter takes away at most half of it", () => {
    for (const attempt of [1, 2, 3, 10]) {
      const exact = doubledMs(BACKOFF, attempt);
      expect(backoffMs(BACKOFF, attempt, () => 0)).toBe(exact / 2);
      expect(backoffMs(BACKOFF, attempt, () => 1)).toBe(exact);
    }
  });
});
