/** A short kill proof for every run of the tests; `npm run soak` is the long one. */
import { expect, it } from "vitest";
import { killProof } from "./kill-proof.js";

it("loses nothing and doubles nothing over a dozen kills with refusals and drops", async () => {
  const report = await killProof({ kills: 12, perLife: 6 });
  console.log(JSON.stringify(report));
  for (const [name, total] of Object.entries(report.platforms)) {
    expect(total.said, name).toBe(12 * 6);
    expect(total, name).toMatchObject({ settledOnce: total.said, lost: 0, unanswered: 0, doubled: 0, outOfOrder: 0 });
    expect(total.repliedOnce + total.held, name).toBe(total.said);
    if (name !== "telegram") expect(total.held, name).toBe(0);
  }
  expect(report.badAttempts).toEqual([]);
  expect(report.untold).toBe(0);
  expect(report.rerun).toBeGreaterThan(0);
}, 240_000);
