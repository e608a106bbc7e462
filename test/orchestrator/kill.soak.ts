/** Kills and stops at random moments while runners are at work. The named moments are in `kill.test.ts`. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import type { Task } from "../../src/domain/orchestrator/task.js";
import { until } from "../support/until.js";
import { calls } from "./support/guard-plugin.js";
import { add, again, ends, lines, removeAll, type Shown, start } from "./support/killed-product.js";

afterAll(removeAll);

it("again and again, or stopped: every task ends, none runs more often than it may, and all of it is told", async () => {
  const work = { shell: { sh: 'echo "$HOOKGATE_TASK_ID $HOOKGATE_RUN_ID" >> runs; sleep 0.15' }, concurrency: 2 };
  const policies = ["restart", "hold", "fail"];
  const runners = Object.fromEntries(policies.map((policy) => [policy, { ...work, on_interrupt: policy }]));
  const gateway = await start(runners, { max_crashes: 10, shutdown_timeout: "50ms" });
  const ids: string[] = [];
  for (let n = 0; n < 24; n++) ids.push(await add(gateway, `/task add ${policies[n % 3]} Task ${n} retries=${n % 2}`));
  for (let kill = 0; kill < 5; kill++) {
    await sleep(150 + Math.random() * 700);
    // An orderly stop every other time.
    if (kill % 2 === 0) await gateway.kill();
    else expect(await gateway.stop()).toBe(0);
    await again(gateway);
  }
  const tasks: Shown[] = [];
  for (const id of ids) tasks.push(await ends(gateway, id));
  const runs = lines(gateway, "runs").map((line) => line.split(" ") as [string, string]);
  for (const task of tasks) {
    const own = runs.filter(([id]) => id === task.id).length;
    // A start that is on disk may have been cut off before its program was.
    expect(own, task.id).toBeLessThanOrEqual(task.attempt);
    const { maxRetries } = task.retryPolicy;
    // Only what may be started as often as it is cut off is, and is done in the end, as one run.
    if (task.assignTo === "restart") expect(task.status, task.id).toBe("done");
    else expect(task.attempt, task.id).toBeLessThanOrEqual(task.assignTo === "hold" ? 1 : maxRetries + 1);
    const runIds = new Set(runs.filter(([id]) => id === task.id).map(([, runId]) => runId));
    expect(runIds.size, task.id).toBeLessThanOrEqual(task.assignTo === "fail" ? maxRetries + 1 : 1);
    if (task.status === "done") expect(own, task.id).toBeGreaterThanOrEqual(1);
    else expect(task.reason).toMatch(/^interrupted: /);
  }
  const isTold = (task: Task) =>
    calls(gateway.folder).some(
      ({ hook, phase, data }) =>
        phase === "after" &&
        data.taskId === task.id &&
        hook ===
          (task.status === "done" ? "task:complete" : task.status === "failed" ? "task:fail" : "task:transition"),
    );
  await until(() => tasks.every(isTold), "the end of each task being told");
}, 180_000);
