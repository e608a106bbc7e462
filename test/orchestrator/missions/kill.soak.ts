/** Kills while missions and schedules are at work: each mission ends as if nothing had been, none begins twice, hooks hear of all. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { Schedule } from "../../../src/domain/orchestrator/schedule.js";
import { definedOf } from "../../../src/lib/without-undefined.js";
import { TOKEN } from "../../support/gateway-process.js";
import { until } from "../../support/until.js";
import { type KilledMissions, killedMissions, PLAN } from "./killed-missions.js";

const PLUGIN = `
const { appendFileSync } = process.getBuiltinModule("node:fs");
export default { id: "ears", setup(api) {
  for (const hook of ["schedule:trigger", "mission:execute", "quality:gate", "mission:complete"])
    api.hooks.register({ hook, phase: "after", id: hook.replace(":", "-"), handler: (ctx) => appendFileSync(new URL("./heard", import.meta.url), hook + " " + ctx.data.missionId + "\\n") });
} };`;

let gateway: KilledMissions | undefined;
afterEach(() => gateway?.close());

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
  const started = await killedMissions(PLUGIN, {
    web: { access: { dms: "everyone", chats: ["*"], mention: "always" } },
  });
  gateway = started;
  const { folder, missions, tasks, rows, lines } = started;
  writeFileSync(join(folder, "missions/by-hand.json"), JSON.stringify(PLAN));
  writeFileSync(join(folder, "missions/timed.json"), JSON.stringify({ ...PLAN, schedule: "*/2 * * * * *" }));

  const KILLS = 6;
  for (let life = 0; life < KILLS; life++) {
    await started.start();
    await started.ready();
    await api("POST", "/rooms/general/messages", { text: "/mission run by-hand", nonce: `run-number-${life}` });
    // At another point of the work each time.
    const worked = lines("work").length;
    await until(() => lines("work").length > worked + life, "work going on");
    await new Promise((resolve) => setTimeout(resolve, life * 37));
    await started.kill();
  }
  await started.start();
  await started.ready();
  await command("/schedule pause timed");
  await until(
    () => missions().length > KILLS && missions().every(({ status }) => status === "done"),
    "the end of all missions",
    100_000,
  );
  const all = missions();
  const events = ["mission:execute", "quality:gate", "mission:complete"];
  const isTold = () => all.every(({ id }) => events.every((event) => lines("heard").includes(`${event} ${id}`)));
  await until(isTold, "hooks having heard of all");

  // A command that was cut off is handled again, and begins nothing twice. Each has one card, which tells its end.
  const byHand = all.filter(({ planId }) => planId === "by-hand");
  expect(byHand).toHaveLength(KILLS);
  const isShown = async () => (await cards()).filter((text) => text.includes("Mission by-hand: done")).length === KILLS;
  await until(isShown, "all cards telling the end");
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
  expect(started.output()).not.toMatch(/unhandled|does not settle/i);
}, 240_000);
