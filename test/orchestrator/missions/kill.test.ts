/** SIGKILL of the running product while missions and schedules are at work: each mission ends as if nothing had been, none is begun twice, hooks hear of all. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { Mission } from "../../../src/domain/mission.js";
import type { Schedule } from "../../../src/domain/schedule.js";
import type { Task } from "../../../src/domain/task.js";
import type { TaskEvent } from "../../../src/domain/task-store.js";
import { definedOf } from "../../../src/lib/without-undefined.js";
import { openSqlite } from "../../../src/store/driver.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../../support/gateway-process.js";
import { linesOf } from "../../support/lines.js";
import { until } from "../../support/until.js";

/** Notes its beginning and its end, with the mission's and the task's name. */
const SCRIPT =
  'read -r task; m=$(echo "$task" | grep -o \'"missionId":"[^"]*"\' | cut -d\\" -f4); echo "+ $m $HOOKGATE_TASK_TITLE" >> work; sleep 0.$(( $$ % 4 )); echo "- $m $HOOKGATE_TASK_TITLE" >> work; echo made > "made-$m"';
const expectations = [{ file: "hookgate.yaml" }, { when: "result.exitCode == 0" }];
const PLAN = {
  defaults: { assignTo: "work", retryPolicy: { maxRetries: 30 } },
  groups: [
    {
      name: "first",
      tasks: [
        { id: "a1", expectations },
        { id: "a2", dependsOn: ["a1"] },
      ],
      gate: { name: "good", minScore: 0.9 },
    },
    { name: "second", tasks: [{ id: "b1", expectations }, { id: "b2" }] },
  ],
};
const PLUGIN = `
const { appendFileSync } = process.getBuiltinModule("node:fs");
export default { id: "ears", setup(api) {
  for (const hook of ["schedule:trigger", "mission:execute", "quality:gate", "mission:complete"])
    api.hooks.register({ hook, phase: "after", id: hook.replace(":", "-"), handler: (ctx) => appendFileSync(new URL("./heard", import.meta.url), hook + " " + ctx.data.missionId + "\\n") });
} };`;

let gateway: GatewayProcess | undefined;
afterEach(async () => {
  await gateway?.kill();
  if (gateway) rmSync(gateway.folder, { recursive: true, force: true });
});

const lines = (file: string) => linesOf(join(gateway?.folder as string, file));

function rows<T>(sql: string): T[] {
  const database = openSqlite(join(gateway?.folder as string, "data/hookgate.db"), { readonly: true });
  try {
    return (database.prepare(sql).all() as { data: string }[]).map(({ data }) => JSON.parse(data) as T);
  } finally {
    database.close();
  }
}
const missions = () => rows<Mission>("SELECT data FROM missions ORDER BY seq");
const tasks = () => rows<Task>("SELECT data FROM tasks ORDER BY seq");

async function api(method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(`${gateway?.url}/api${path}`, {
    method,
    headers: definedOf({ authorization: `Bearer ${TOKEN}`, "content-type": body ? "application/json" : undefined }),
    body: body ? JSON.stringify(body) : undefined,
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function cards(): Promise<string[]> {
  const { messages } = (await api("GET", "/rooms/general/messages?limit=200")) as { messages: { text: string }[] };
  return messages.map(({ text }) => text).filter((text) => text.includes("Mission by-hand:"));
}

const command = (line: string) => api("POST", "/command", { line });

it("missions that are killed again and again end once each, in order, and every schedule's time begins at most one", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-mission-kill-"));
  gateway = await gatewayProcess({
    folder,
    config: {
      plugins: ["./ears.mjs"],
      web: { access: { dms: "everyone", chats: ["*"], mention: "always" } },
      orchestrator: { runners: { work: { shell: { sh: SCRIPT }, concurrency: 6 } }, lease: "2s", max_crashes: 100 },
    },
  });
  mkdirSync(join(folder, "missions"));
  writeFileSync(join(folder, "ears.mjs"), PLUGIN);
  writeFileSync(join(folder, "missions/by-hand.json"), JSON.stringify(PLAN));
  writeFileSync(join(folder, "missions/timed.json"), JSON.stringify({ ...PLAN, schedule: "*/2 * * * * *" }));

  const KILLS = 6;
  for (let life = 0; life < KILLS; life++) {
    await gateway.start();
    await gateway.ready();
    await api("POST", "/rooms/general/messages", { text: "/mission run by-hand", nonce: `run-number-${life}` });
    // At another point of the work each time.
    const worked = lines("work").length;
    await until(() => lines("work").length > worked + life, "work going on");
    await new Promise((resolve) => setTimeout(resolve, life * 37));
    await gateway.kill();
  }
  await gateway.start();
  await gateway.ready();
  await command("/schedule pause timed");
  await until(
    () => missions().length > KILLS && missions().every(({ status }) => status === "done"),
    "the end of all missions",
    100_000,
  );
  const all = missions();
  const events = ["mission:execute", "quality:gate", "mission:complete"];
  const isTold = () => all.every(({ id }) => events.every((event) => lines("heard").includes(`${event} ${id}`)));
  await until(isTold, "hooks having heard of all", 20_000);

  // A command that was cut off is handled again, and begins nothing twice. Each has one card, which tells its end.
  const byHand = all.filter(({ planId }) => planId === "by-hand");
  expect(byHand).toHaveLength(KILLS);
  const isShown = async () => (await cards()).filter((text) => text.includes("Mission by-hand: done")).length === KILLS;
  await until(isShown, "all cards telling the end", 20_000);
  for (const { id } of byHand) expect((await cards()).filter((text) => text.includes(id))).toHaveLength(1);
  const timed = all.filter(({ scheduleId }) => scheduleId === "timed");
  expect(timed.length).toBeGreaterThan(0);
  for (const { id } of timed) expect(lines("heard")).toContain(`schedule:trigger ${id}`);
  const [schedule] = rows<Schedule>("SELECT data FROM schedules WHERE id = 'timed'");
  expect(timed.map(({ id }) => id)).toContain(schedule?.last?.missionId);

  const found = tasks();
  expect(found).toHaveLength(4 * all.length);
  const work = lines("work");
  for (const mission of all) {
    const own = work.filter((line) => line.includes(mission.id)).map((line) => line.replace(` ${mission.id}`, ""));
    // Nothing behind the gate began before all in front of it had ended.
    const behind = own.findIndex((line) => line.startsWith("+ b"));
    for (const name of ["a1", "a2"]) {
      expect(own.indexOf(`- ${name}`)).toBeGreaterThanOrEqual(0);
      expect(own.lastIndexOf(`- ${name}`)).toBeLessThan(behind);
    }
    for (const { title, attempt, status } of found.filter((task) => task.missionId === mission.id)) {
      expect(status).toBe("done");
      // A start that the row does not know of would be one too many.
      expect(own.filter((line) => line === `+ ${title}`).length).toBeLessThanOrEqual(attempt);
    }
    expect(mission.gates).toMatchObject([{ verdict: "passed", changes: 1 }]);
  }
  expect(gateway.output()).not.toMatch(/unhandled|does not settle/i);
}, 240_000);

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
  const folder = mkdtempSync(join(tmpdir(), "hookgate-mission-kill-"));
  gateway = await gatewayProcess({
    folder,
    config: {
      plugins: ["./killer.mjs"],
      orchestrator: { runners: { work: { shell: { sh: SCRIPT }, concurrency: 6 } }, lease: "2s", max_crashes: 100 },
    },
  });
  mkdirSync(join(folder, "missions"));
  writeFileSync(join(folder, "killer.mjs"), KILLER);
  const scheduled = { ...PLAN, schedule: "* * * * * *" };
  const marks = () => readdirSync(folder).filter((name) => name.startsWith("killed-")).length;

  /** Started anew whenever it has killed itself. One mission is enough to come past every point. */
  const live = async () => {
    if (gateway?.running()) return;
    const plan = existsSync(join(folder, "data/hookgate.db")) && missions().length > 0 ? PLAN : scheduled;
    writeFileSync(join(folder, "missions/once.json"), JSON.stringify(plan));
    await gateway?.start();
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
