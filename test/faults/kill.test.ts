/** A short kill proof for every run of the tests; `npm run soak` is the long one. */
import { expect, it } from "vitest";
import { problemsOf } from "./kill-count.js";
import { killProof } from "./kill-proof.js";

// Four attempts: two kills and the first crash may cut off the same message on a slow machine, and it must not be given up for that.
it("loses, doubles and reorders nothing over kills, stops, crashes and clock steps with refusals and drops", async () => {
  const report = await killProof({ plan: { SIGKILL: 2, SIGTERM: 2, crash: 1 }, attempts: 4, perLife: 6 });
  console.log(JSON.stringify(report));
  expect(problemsOf(report)).toEqual([]);
  expect(report.endings).toMatchObject({ SIGKILL: 2, SIGTERM: 2 });
  expect(report.endings.crash).toBeGreaterThan(0);
  expect(report.clockSteps.backward + report.clockSteps.forward).toBeGreaterThan(0);
  for (const [name, { messages }] of Object.entries(report.platforms))
    expect(messages, name).toBeGreaterThanOrEqual(30);
  expect(report.rerun).toBeGreaterThan(0);
}, 240_000);
