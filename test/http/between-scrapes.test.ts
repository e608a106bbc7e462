/** What is counted between scrapes, held against prom-client's own metrics. */
import fc from "fast-check";
import { Counter, Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { countBetweenScrapes, timeBetweenScrapes } from "../../src/http/between-scrapes.js";

const label = fc.constantFrom("web", "telegram", 'a "quoted" one');
/** On the bounds, between them, below the first and above the last. */
const seconds = fc.oneof(fc.constantFrom(0, 0.001, 0.0025, 1, 60, 61), fc.double({ min: 0, max: 100, noNaN: true }));

describe("what is told only when somebody asks", () => {
  it("writes a histogram as prom-client does", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(label, seconds)), async (observed) => {
        const [ours, theirs] = [new Registry(), new Registry()];
        const time = timeBetweenScrapes({ name: "x", help: "X.", labelName: "platform", registry: ours });
        const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
        const reference = new Histogram({
          name: "x",
          help: "X.",
          labelNames: ["platform"],
          buckets,
          registers: [theirs],
        });
        for (const [platform, value] of observed) {
          time(platform, value * 1000);
          reference.observe({ platform }, value);
        }
        expect(lines(await ours.metrics())).toEqual(lines(await theirs.metrics()));
      }),
    );
  });

  it("writes a counter as prom-client does, and goes on counting after a scrape", async () => {
    const [ours, theirs] = [new Registry(), new Registry()];
    const count = countBetweenScrapes({ name: "x", help: "X.", labelNames: ["a", "b"], registers: [ours] });
    const reference = new Counter({ name: "x", help: "X.", labelNames: ["a", "b"], registers: [theirs] });
    for (let round = 0; round < 2; round++) {
      for (const [a, b] of [
        ["1", "2"],
        ["1", "3"],
        ["1", "2"],
      ] as const) {
        count(a, b);
        reference.inc({ a, b });
      }
      expect(lines(await ours.metrics())).toEqual(lines(await theirs.metrics()));
    }
  });
});

/** Sums are added up in another unit: they may differ in their last digits. */
function lines(text: string): string[] {
  return text.split("\n").map((line) => {
    const [, head, sum] = /^(x_sum\{.*\}) (.*)$/.exec(line) ?? [];
    return head === undefined ? line : `${head} ${Number(sum).toFixed(6)}`;
  });
}
