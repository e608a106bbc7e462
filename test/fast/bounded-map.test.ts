import { describe, expect, it } from "vitest";
import { boundedMap } from "../../src/fast/bounded-map.js";

describe("a memory of the last few", () => {
  it("gives each of the last ones once, also after many times as many", () => {
    const map = boundedMap<number>(10);
    for (let i = 0; i < 1_000; i++) {
      map.set(`k${i}`, i);
      if (i % 3 === 0) expect(map.take(`k${i}`)).toBe(i);
    }
    for (let i = 0; i < 990; i++) expect(map.take(`k${i}`)).toBeUndefined();
    for (let i = 990; i < 1_000; i++) {
      expect(map.take(`k${i}`)).toBe(i % 3 === 0 ? undefined : i);
      expect(map.take(`k${i}`)).toBeUndefined();
    }
  });

  it("gives what was said last of a key", () => {
    const map = boundedMap<string>(10);
    map.set("key", "first");
    map.set("key", "second");
    expect(map.take("key")).toBe("second");
    expect(map.take("key")).toBeUndefined();
  });
});
