/** A hook that ends the process for one task, mission or message: what was under way beside it is neither blamed nor stopped. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Task } from "../../src/domain/task.js";
import { gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

const MAX_CRASHES = 2;

/** Everything takes a moment; `poison` ends the process. While `hold` is there, all of them wait, so that all are under way at the first crash. */
const PLUGIN = `
const { appendFileSync, existsSync } = process.getBuiltinModule("node:fs");
const here = (name) => new URL("./" + name, import.meta.url);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
async function meet(what) {
  appendFileSync(here("calls"), what + "\\n");
  while (existsSync(here("hold"))) await pause(20);
  await pause(what.includes("poison") ? 150 : 300);
  if (what.includes("poison")) process.kill(process.pid, "SIGKILL");
}
export default { id: "apart", setup({ hooks }) {
  hooks.register({ hook: "task:spawn", phase: "before", id: "spawn", timeoutMs: 30_000, handler: ({ data }) => meet("task " + data.task.title) });
  hooks.register({ hook: "mission:execute", phase: "before", id: "execute", timeoutMs: 30_000, handler: ({ data }) => meet("mission " + data.mission.planId) });
  hooks.registerClaiming("inbound_claim", async ({ message }) => {
    await meet("message " + message.text);
    return { handled: true, reply: { text: "re: " + message.text } };
  }, { id: "claim", timeoutMs: 30_000 });
} };`;

it("what is under way beside a crash is done all the same, and only what causes it is held", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-apart-"));
  const one = await gatewayProcess({
    folder,
    env: { DATABASE_URL: "file:test.db" },
    config: {
      plugins: ["./apart.mjs"],
      web: {
        rooms: ["one", "two"].map((id) => ({ id, name: id })),
        access: { dms: "everyone", chats: ["*"], mention: "always" },
      },
      gateway: { inbox_attempts: 3 },
      orchestrator: {
        max_crashes: MAX_CRASHES,
        runners: { work: { shell: { command: ["true"] }, concurrency: 4 } },
      },
    },
  });
  mkdirSync(join(folder, "missions"));
  writeFileSync(join(folder, "apart.mjs"), PLUGIN);
  for (const plan of ["fine-plan", "poison-plan"])
    writeFileSync(
      join(folder, `missions/${plan}.json`),
      JSON.stringify({ defaults: { assignTo: "work" }, groups: [{ name: "only", tasks: [{ id: "a", title: "a" }] }] }),
    );
  writeFileSync(join(folder, "hold"), "");
  await one.start();
  await one.ready();
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${one.url}/api${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as { data?: Record<string, unknown>; text?: string };
  };
  const command = (line: string) => post("/command", { line });
  const started = ["fine 1", "poison", "fine 2", "fine 3"];
  for (const title of started) await command(`/task add work ${title}`);
  for (const plan of ["poison-plan", "fine-plan"]) await command(`/mission run ${plan}`);
  for (const room of ["one", "two"])
    await post(`/rooms/${room}/messages`, { text: `hello ${room}`, nonce: `nonce-of-${room}` });
  const calls = () => readFileSync(join(folder, "calls"), "utf8").trim().split("\n");
  const all = [
    ...started.map((title) => `task ${title}`),
    "mission fine-plan",
    "mission poison-plan",
    "message hello one",
    "message hello two",
  ];
  await until(
    () => all.every((call) => calls().includes(call)),
    () => `all being under way, not only ${calls().join()}`,
    10_000,
  );
  rmSync(join(folder, "hold"));

  // A supervisor. The first crash counts for both causes; which was the other one's neighbour in a second is not known.
  let crashes = 0;
  let isWatched = true;
  const supervised = (async () => {
    for (;;) {
      await one.ending();
      if (!isWatched) return;
      crashes++;
      await one.start();
    }
  })();
  onTestFinished(async () => {
    isWatched = false;
    await one.kill();
    await supervised;
    rmSync(folder, { recursive: true, force: true });
  });
  /** The gateway is starting again. */
  const away = (): { data: Record<string, unknown> } => ({ data: {} });
  const tasks = async () => ((await command("/task list all").catch(away)).data?.tasks ?? []) as Task[];
  const statusOf = async (title: string) => (await tasks()).find((task) => task.title === title)?.status;
  await until(async () => (await statusOf("poison")) === "blocked", "the poison being held", 40_000);
  for (const title of ["fine 1", "fine 2", "fine 3"])
    await until(async () => (await statusOf(title)) === "done", `${title} being done`, 20_000);
  const missions = async () =>
    ((await command("/mission list").catch(away)).data?.missions ?? []) as { planId: string; status: string }[];
  const missionIs = async (plan: string) => (await missions()).find(({ planId }) => planId === plan)?.status;
  await until(async () => (await missionIs("fine-plan")) === "done", "the fine mission being done", 20_000);
  await until(async () => (await missionIs("poison-plan")) === "blocked", "the poison mission being held", 20_000);
  const answers = async (room: string) => {
    const given = await fetch(`${one.url}/api/rooms/${room}/messages`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    return given.text();
  };
  for (const room of ["one", "two"])
    await until(
      async () => (await answers(room).catch(() => "")).includes(`re: hello ${room}`),
      `the answer in ${room}`,
      20_000,
    );
  // Each cause crashed as often as the limit allows, and no more.
  for (const cause of ["task poison", "mission poison-plan"])
    expect(
      calls().filter((call) => call === cause),
      cause,
    ).toHaveLength(MAX_CRASHES + 1);
  expect(crashes).toBe(2 * (MAX_CRASHES + 1) - 1);
}, 120_000);
