import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
/** Changed settings of the orchestrator are taken over without a restart: whoever is at work ends it as it was begun. */
import { expect, it } from "vitest";
import type { Task } from "../../src/domain/orchestrator/task.js";
import { type LiveApp, liveApp } from "../automations/support/live-app.js";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";

const settings = (runners: Record<string, unknown>, more = {}) =>
  `automations: { watch: false }\norchestrator: ${JSON.stringify({ runners, tick: "200ms", ...more })}\n`;
const sh = (line: string, more = {}) => ({ shell: { sh: line }, ...more });
const waitsFor = (word: string) => `echo began >> began; while [ ! -e go ]; do sleep 0.1; done; echo ${word}`;

async function command(live: LiveApp, line: string) {
  const { outcome, text, data } = await live.post("/api/command", { line });
  return { outcome, text: String(text), data: data as { id: string; status: string; result?: Task["result"] } };
}
const ends = (live: LiveApp, id: string) =>
  until(async () => {
    const { data } = await command(live, `/task show ${id}`);
    return ["done", "failed"].includes(data.status) && data;
  }, `the end of ${id}`);
const began = (live: LiveApp) => linesOf(join(live.folder, "began")).length;

it("runners, their room and their bounds hold for what starts from then on", async () => {
  const live = await liveApp({ "hookgate.yaml": settings({ work: sh(waitsFor("old")) }) });
  const add = async (line: string) => (await command(live, `/task add ${line}`)).data.id;
  const first = await add("work The first");
  await until(() => began(live) === 1, "the first running");
  const second = await add("work The second");
  const early = await command(live, "/task add other Nobody does it yet");
  expect([early.outcome, early.text]).toEqual(["failed", expect.stringContaining('no runner or person "other"')]);

  // There is room for two now, and somebody else to do things.
  const runners = { work: sh(waitsFor("new"), { concurrency: 2 }), other: sh("echo other") };
  live.write("hookgate.yaml", settings(runners));
  expect((await live.app.reload(live.read())).needRestart).toEqual([]);
  await until(() => began(live) === 2, "the second running beside it");
  expect((await ends(live, await add("other Something else"))).result?.output.trim()).toBe("other");
  live.write("go", "");
  expect((await ends(live, first)).result?.output.trim()).toBe("old");
  expect((await ends(live, second)).result?.output.trim()).toBe("new");

  // Slips are refused, with their names, and nothing has changed.
  live.write("hookgate.yaml", settings({ other: sh("echo worse"), ask: { agent: { tools: ["othr"] } } }));
  await expect(live.app.reload(live.read())).rejects.toThrow('did you mean "other"?');
  expect((await ends(live, await add("other And again"))).result?.output.trim()).toBe("other");
  expect((await ends(live, await add("work And again"))).result?.output.trim()).toBe("new");
}, 120_000);

it("what its runner was taken away from waits, and goes on when it is there again, or somebody else", async () => {
  const all = { work: sh("echo work"), other: sh("echo other") };
  const live = await liveApp({ "hookgate.yaml": settings(all) });
  const first = (await command(live, "/task add work First approve=true")).data.id;
  const second = (await command(live, "/task add work Second approve=true")).data.id;
  live.write("hookgate.yaml", settings({ other: all.other }));
  await live.app.reload(live.read());
  for (const id of [first, second]) {
    await command(live, `/task approve ${id}`);
    const { text } = await until(async () => {
      const shown = await command(live, `/task show ${id}`);
      return shown.data.status === "blocked" && shown;
    }, "it being blocked");
    expect(text).toContain('its assignee "work" does not exist any more');
  }
  await command(live, `/task assign ${second} other`);
  expect((await ends(live, second)).result?.output.trim()).toBe("other");
  live.write("hookgate.yaml", settings(all));
  await live.app.reload(live.read());
  expect((await ends(live, first)).result?.output.trim()).toBe("work");

  // The same by a restart.
  const third = (await command(live, "/task add work Third approve=true")).data.id;
  await live.stop();
  live.write("hookgate.yaml", settings({ other: all.other }));
  await live.start();
  await command(live, `/task approve ${third}`);
  await until(async () => (await command(live, `/task show ${third}`)).data.status === "blocked", "it being blocked");
  await live.stop();
  live.write("hookgate.yaml", settings(all));
  await live.start();
  expect((await ends(live, third)).result?.output.trim()).toBe("work");
}, 120_000);

it("what completion offers is what the configuration says now", async () => {
  const sections = (runner: string, policy: string, rota: string) =>
    settings({ [runner]: sh("echo done") }) +
    `sla: ${JSON.stringify({ policies: [{ id: policy, for: "task", target: "1h" }] })}\n` +
    `alerts: ${JSON.stringify({ rotas: { [rota]: {} } })}\n`;
  const live = await liveApp({ "hookgate.yaml": sections("old-runner", "old-policy", "old-rota") });
  const offered = async (query: string) => {
    const { choices } = await live.get(`/api/complete?${query}`);
    return (choices as { value: string }[]).map(({ value }) => value);
  };
  const lists = () =>
    Promise.all([
      offered("command=add-task&option=to"),
      offered("command=sla&option=id&given=%7B%22action%22%3A%22mute%22%7D"),
      offered("command=oncall&option=rota"),
    ]);
  expect(await lists()).toEqual([["me", "old-runner"], ["old-policy"], ["old-rota"]]);
  live.write("hookgate.yaml", sections("new-runner", "new-policy", "new-rota"));
  await live.app.reload(live.read());
  expect(await lists()).toEqual([["me", "new-runner"], ["new-policy"], ["new-rota"]]);
}, 120_000);

it("people whom a saved configuration adds have their names in tasks, cards and chats, and are notified by a page", async () => {
  const live = await liveApp({ "hookgate.yaml": "orchestrator: {}\n" });
  const early = (await command(live, "/task add person:web:1 Buy milk")).data.id;
  await until(async () => (await live.room("dm-1")).find((text) => /Buy milk[\s\S]*Who: Owner/.test(text)), "the card");

  const people = { Bea: ["web:1"] };
  const routes = { default: { to: ["web:web:general"], escalate: [{ mention: ["Bea"] }] } };
  live.write("hookgate.yaml", `alerts: ${JSON.stringify({ people, routes })}\n`);
  const { text: listed } = await until(async () => {
    const list = await command(live, "/task list");
    return list.text.includes("Bea") && list;
  }, "the name in the list");
  expect(listed).toMatch(/Buy milk +assigned +Bea/);
  expect((await command(live, `/task show ${early}`)).text).toContain("for Bea, created by");

  const { data } = await command(live, "/task add person:web:1 Buy bread");
  const card = await until(
    async () => (await live.room("dm-1")).find((text) => text.includes("Buy bread")),
    "the second card",
  );
  expect(card).toMatch(/Who: Bea\nWhy: given to Bea/);
  const [shown] = await until(async () => {
    const { cards } = (await command(live, `/task show ${data.id}`)).data as { cards?: { id: string }[] };
    return cards?.[0] && cards;
  }, "the card of the second task");
  expect((await command(live, `/outbox show ${shown?.id}`)).text).toContain("direct messages with Bea");

  await live.app.alerts.raise({
    ...{ fingerprint: "fault", episode: 1, state: "firing", severity: "high", title: "Fault", reason: "it is broken" },
    ...{ at: Date.now(), source: { kind: "test", id: "fault" }, labels: {} },
  });
  const page = await until(
    async () => (await live.room("general")).find((text) => text.includes("Escalated")),
    "the page",
  );
  expect(page).toContain("@Bea");
}, 120_000);

it("a longer orchestrator.shutdown_timeout counts in the time of the whole stop", async () => {
  const both = (timeout: string) =>
    `${settings({ work: sh("touch began; sleep 60") }, { shutdown_timeout: timeout })}gateway: { shutdown_timeout: 4s }
plugins: [{ module: ./slow.mjs }]\n`;
  const live = await liveApp({
    "slow.mjs": `import { writeFileSync } from "node:fs";
export default { id: "slow", setup: () => async () => {
  await new Promise((done) => setTimeout(done, 2_000));
  writeFileSync(new URL("ended", import.meta.url), "");
} };\n`,
    "hookgate.yaml": both("100ms"),
  });
  live.write("hookgate.yaml", both("5s"));
  expect((await live.app.reload(live.read())).needRestart).toEqual([]);
  await until(() => existsSync(join(live.folder, "ended")), "the end of the plugin as it was loaded first");
  rmSync(join(live.folder, "ended"));
  await command(live, "/task add work Long");
  await until(() => existsSync(join(live.folder, "began")), "the program running");
  await live.stop();
  // The plugin had its time, though the program took longer than the whole stop had at the start.
  expect(existsSync(join(live.folder, "ended"))).toBe(true);
}, 120_000);
