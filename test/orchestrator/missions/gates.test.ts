/** Quality gates through the started app, in plans written as YAML and begun by a hook: by score, by all that passed, by a condition. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { until } from "../../support/until.js";
import { type MissionApp, missionApp } from "../mission-app.js";

const RUNNERS = {
  note: { shell: { sh: 'echo "$HOOKGATE_TASK_TITLE" >> done; [ ! -e "bad-$HOOKGATE_TASK_TITLE" ]' }, concurrency: 4 },
};
const HOOK = (plan: string) => ({
  id: `begins-${plan}`,
  on: "message_received",
  match: { when: `payload.message.text == "${plan}"` },
  run: { mission: { plan } },
});
const PLANS: Record<string, string> = {
  score: `
title: By score
defaults: { assignTo: note }
groups:
  - name: make
    tasks:
      - id: one
        expectations: [{ file: good, required: false }, { when: result.ok }]
      - id: two
        expectations: [{ when: result.ok }]
    gate: { name: quality, minScore: 0.8 }
  - name: ship
    tasks: [{ id: three }]
`,
  some: `
title: Some may fail
defaults: { assignTo: note }
groups:
  - name: make
    tasks: [{ id: one }, { id: flaky }]
    gate: { name: enough, allPassed: false, when: "gate.tasks.exists(one, one.status == 'done')" }
  - name: ship
    tasks: [{ id: three }]
`,
  both: `
title: All of it
defaults: { assignTo: note }
groups:
  - name: make
    tasks: [{ id: left }, { id: right }]
    gate: { name: all }
  - name: ship
    tasks: [{ id: three }]
`,
  condition: `
title: By a condition
defaults: { assignTo: note }
groups:
  - name: make
    tasks: [{ id: one }, { id: flaky }]
    gate: { name: all, when: gate.allPassed && gate.tasks.size() == 2 }
  - name: ship
    tasks: [{ id: three }]
`,
};

async function app() {
  const one = await missionApp({}, { runners: RUNNERS, config: { hooks: Object.keys(PLANS).map(HOOK) }, start: false });
  for (const [name, text] of Object.entries(PLANS)) one.write(`missions/${name}.yaml`, text);
  await one.start();
  return one;
}

/** Said in chat; the hook begins it. */
async function begun(app: MissionApp, plan: string): Promise<string> {
  await app.say(plan);
  return until(async () => {
    const { data } = await app.command("/mission list");
    return data.missions.find((one: { planId: string }) => one.planId === plan)?.id as string | undefined;
  }, `${plan} being begun`);
}

it("each shuts for what it asks for, opens when that is so, and lets through what it does not ask for", async () => {
  const live = await app();
  live.write("bad-flaky", "");

  // Half of what `one` is judged by is not there: 0.75 of 0.8, together.
  const score = await begun(live, "score");
  const held = await live.reaches(score, "held");
  expect(held.createdBy).toBe("hook:begins-score");
  expect(held.gates).toMatchObject([
    { verdict: "held", changes: 1, avgScore: 0.75, allPassed: true, reason: "the score is 0.75, not 0.8 or more" },
  ]);
  expect(live.lines("done")).not.toContain("three");

  // One that failed is not asked about: the mission goes on, and its report says so.
  const some = await begun(live, "some");
  await live.reaches(some, "done");
  const { data: report } = await live.command(`/mission report ${some}`);
  expect(report).toMatchObject({
    allPassed: false,
    counts: { done: 2, failed: 1 },
    gates: [{ verdict: "passed", allPassed: false }],
  });

  const condition = await begun(live, "condition");
  expect((await live.reaches(condition, "held")).gates).toMatchObject([
    { verdict: "held", reason: expect.stringContaining("gate.allPassed") },
  ]);
  rmSync(join(live.folder, "bad-flaky"));
  const { flaky } = (await live.command(`/mission show ${condition}`)).data.taskIds;
  await live.command(`/task retry ${flaky}`);
  const passed = await live.reaches(condition, "done");
  expect(passed.gates).toMatchObject([{ verdict: "passed", changes: 2 }]);
}, 120_000);

it("shows what it lacks now, also where that changes no verdict", async () => {
  const live = await app();
  for (const title of ["left", "right"]) live.write(`bad-${title}`, "");
  const id = await begun(live, "both");
  const held = await live.reaches(id, "held");
  expect(held.gates).toMatchObject([{ changes: 1, reason: "not done: left (failed), right (failed)" }]);
  const retried = async (title: string) => {
    rmSync(join(live.folder, `bad-${title}`));
    await live.command(`/task retry ${held.taskIds[title]}`);
  };
  await retried("left");
  const gate = await until(async () => {
    const [now] = (await live.command(`/mission show ${id}`)).data.gates;
    return !now.reason.includes("left") && now;
  }, "the gate as it is now");
  expect(gate).toMatchObject({ verdict: "held", changes: 1, reason: "not done: right (failed)" });
  expect((await live.command("/gate list")).text).toContain("not done: right");
  await retried("right");
  expect((await live.reaches(id, "done")).gates).toMatchObject([{ verdict: "passed", changes: 2 }]);
}, 120_000);
