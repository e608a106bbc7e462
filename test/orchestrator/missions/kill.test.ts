/** SIGKILL of the running product at each point of a scheduled mission: it ends as if nothing had been, and hooks hear of all. */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { TaskEvent } from "../../../src/domain/orchestrator/task-store.js";
import { until } from "../../support/until.js";
import { type KilledMissions, killedMissions, PLAN } from "./killed-missions.js";

let gateway: KilledMissions | undefined;
afterEach(() => gateway?.close());

/**
 * Kills its own process the first time at each point and notes nothing of that call, so that no step is left out; what is told is cut
 * off a little later, when the work has gone on.
 */
const KILLED_AT = [
  "schedule:trigger",
  "mission:execute",
  "task:create",
  "task:spawn",
  "task:transition",
  "assessment:run",
  "assessment:complete",
  "task:complete",
  "quality:gate",
  "mission:complete",
];
const KILLER = `
const { appendFileSync, existsSync, writeFileSync } = process.getBuiltinModule("node:fs");
const here = (name) => new URL("./" + name, import.meta.url);
export default { id: "killer", setup(api) {
  for (const hook of ${JSON.stringify(KILLED_AT)}) for (const phase of ["before", "after"])
    api.hooks.register({ hook, phase, id: hook.replace(":", "-") + "-" + phase, async handler({ data }) {
      const mark = here("killed-" + hook.replace(":", "-") + "-" + phase);
      if (!existsSync(mark)) {
        writeFileSync(mark, "");
        if (phase === "after") await new Promise((done) => setTimeout(done, 300));
        process.kill(process.pid, "SIGKILL");
      }
      const about = hook.startsWith("task:") || hook.startsWith("assessment:") ? data.taskId ?? data.task?.id ?? data.id : data.missionId;
      const what = hook === "task:transition" ? data.from + ">" + data.to : hook.startsWith("assessment:") ? data.task.attempt : "";
      appendFileSync(here("heard"), [hook, phase, about, what].join(" ").trim() + "\\n");
    } });
} };`;

it("a kill at each point, before and after, changes nothing of what a scheduled mission comes to", async () => {
  const started = await killedMissions(KILLER);
  gateway = started;
  const { folder, missions, tasks, rows, lines } = started;
  const scheduled = { ...PLAN, schedule: "* * * * * *" };
  const marks = () => readdirSync(folder).filter((name) => name.startsWith("killed-")).length;

  /** Started anew whenever it has killed itself. One mission is enough to come past every point. */
  const live = async () => {
    if (started.running()) return;
    const plan = existsSync(join(folder, "data/hookgate.db")) && missions().length > 0 ? PLAN : scheduled;
    writeFileSync(join(folder, "missions/once.json"), JSON.stringify(plan));
    await started.start();
  };
  await until(
    async () => {
      await live();
      return marks() === 2 * KILLED_AT.length && missions().every(({ status }) => status === "done");
    },
    "the end of it all",
    150_000,
  );
  for (const mission of missions()) {
    expect(mission.gates).toMatchObject([{ verdict: "passed", changes: 1 }]);
    const own = tasks().filter(({ missionId }) => missionId === mission.id);
    expect(own.map(({ title, status }) => [title, status])).toEqual([
      ["a1", "done"],
      ["a2", "done"],
      ["b1", "done"],
      ["b2", "done"],
    ]);
    const work = lines("work").filter((line) => line.includes(mission.id));
    for (const { title, attempt } of own)
      expect(work.filter((line) => line.startsWith("+") && line.endsWith(title)).length).toBeLessThanOrEqual(attempt);
    const due = ["schedule:trigger", "mission:execute", "quality:gate", "mission:complete"].map(
      (point) => `${point} after ${mission.id}`,
    );
    for (const { id, expectations, attempt } of own) {
      due.push(`task:create after ${id}`, `task:spawn after ${id}`, `task:complete after ${id}`);
      for (const { kind, from, to } of rows<TaskEvent>(`SELECT data FROM task_events WHERE task_id = '${id}'`))
        if (kind === "transition") due.push(`task:transition after ${id} ${from}>${to}`);
      if (expectations !== undefined)
        due.push(`assessment:run after ${id} ${attempt}`, `assessment:complete after ${id} ${attempt}`);
    }
    const isHeard = async (one: string) => {
      await live();
      return lines("heard").includes(one);
    };
    for (const one of due) await until(() => isHeard(one), one);
  }
}, 240_000);
