/** A hook that failed until its breaker opened, and was then corrected in its file or its module. */
import { expect, test } from "vitest";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

const BREAKER = "automations: { breaker: { failures: 2, pause: 1h } }\n";
const asking = (live: LiveApp) => async (line: string) =>
  ((await live.post("/api/command", { line })) as { text: string }).text.replaceAll("\\", "");
const open = (live: LiveApp) => live.app.automations.breakers().map(({ hookId }) => hookId);

const guard = (program: string) => `id: g\non: inbound_claim\nrun: { shell: { sh: "${program}" } }\n`;
const GOOD = "cat > seen";
const module = (id: string) => `id: ${id}\non: inbound_claim\nrun: { module: { path: ./${id}.mjs } }\n`;
const THROWS = 'export default () => { throw new Error("slip"); };';
const PASSES = "export default () => undefined; // corrected";

/** Messages one after the other, until the breaker of each of these hooks is open. */
async function failing(live: LiveApp, ids: readonly string[]) {
  for (const text of ["one", "two"]) {
    const counts = await Promise.all(ids.map(async (id) => (await live.runs(id)).length));
    await live.say(text);
    await Promise.all(ids.map((id, index) => live.ended(id, (counts[index] ?? 0) + 1)));
  }
  await until(() => ids.every((id) => open(live).includes(id)), "the breakers being open");
}

async function lastRun(live: LiveApp, id: string) {
  const count = (await live.runs(id)).length;
  await live.say(`message ${count}`);
  return (await live.ended(id, count + 1)).status;
}

test("a hook and a module that were corrected run again at once, and while they are stopped every list names them", async () => {
  const live = await liveApp({
    "hookgate.yaml": BREAKER,
    "hooks/g.yaml": guard("exit 3"),
    "hooks/m.yaml": module("m"),
    "hooks/m.mjs": THROWS,
  });
  const ask = asking(live);
  await failing(live, ["g", "m"]);
  expect(await lastRun(live, "g")).toBe("skipped");
  const hooks = await ask("/hooks");
  expect(hooks).toMatch(/✗ {2}g .*✗ {2}m /s);
  expect(hooks).toMatch(/✗ `g` is not run: it failed 2 times in a row. One run tries it after .* UTC \(in /);
  expect(await ask("/hooks broken")).toMatch(/2 hooks stopped after failures.*`g` is not run.*`\/hooks enable g`/s);
  live.write("hooks/g.yaml", guard(GOOD));
  await until(() => open(live).join() === "m", "the corrected hook");
  live.write("hooks/m.mjs", PASSES);
  expect(open(live)).toEqual([]);
  expect(await lastRun(live, "g")).toBe("succeeded");
  expect(await lastRun(live, "m")).toBe("succeeded");
  expect(await ask("/hooks")).toMatch(/● {2}g .*● {2}m /s);
  expect(await ask("/hooks broken")).not.toContain("stopped");
});

test("a hook that was disabled after its failures is not counted as stopped: it has no next run", async () => {
  const live = await liveApp({ "hookgate.yaml": BREAKER, "hooks/g.yaml": guard("exit 3") });
  const ask = asking(live);
  await failing(live, ["g"]);
  expect(await ask("/status")).toContain("1 hook stopped after failures");
  await ask("/hooks disable g");
  const status = await ask("/status");
  expect(status).toContain("`g` was disabled by Owner");
  expect(status).not.toMatch(/stopped after failures|is not run|next run/);
  expect(await ask("/hooks broken")).not.toContain("stopped");
});

test("a hook and a module that were corrected while the gateway was stopped run again, and one that was not corrected stays stopped", async () => {
  const live = await liveApp({
    "hookgate.yaml": BREAKER,
    "hooks/g.yaml": guard("exit 3"),
    "hooks/m.yaml": module("m"),
    "hooks/m.mjs": THROWS,
    "hooks/n.yaml": module("n"),
    "hooks/n.mjs": THROWS,
  });
  await failing(live, ["g", "m", "n"]);
  await live.stop();
  live.write("hooks/g.yaml", guard(GOOD));
  live.write("hooks/m.mjs", PASSES);
  await live.start();
  expect(open(live)).toEqual(["n"]);
  expect(await lastRun(live, "g")).toBe("succeeded");
  // A second restart changes nothing.
  await live.stop();
  await live.start();
  expect(open(live)).toEqual(["n"]);
});

test("failures of the text before a correction do not count for the new one", async () => {
  const live = await liveApp({ "hookgate.yaml": BREAKER, "hooks/g.yaml": guard("exit 3") });
  expect(await lastRun(live, "g")).toBe("failed");
  const before = live.app.automations.get("g")?.hash;
  live.write("hooks/g.yaml", guard("exit 4"));
  await until(() => live.app.automations.get("g")?.hash !== before, "the reload");
  expect(await lastRun(live, "g")).toBe("failed");
  expect(open(live)).toEqual([]);
});

test("a timed hook is promised no time before its breaker lets it run, and runs at its next time after a correction", async () => {
  const timed = (program: string) => `id: tick\ntrigger: { every: 1s }\nrun: { shell: { sh: "${program}" } }\n`;
  const live = await liveApp({ "hookgate.yaml": BREAKER, "hooks/tick.yaml": timed("exit 3") });
  const ask = asking(live);
  await until(() => open(live).includes("tick"), "the breaker");
  // With its day when that is another one.
  const stopped = /✗ not before +(\d{4}-\d\d-\d\d \d\d:\d\d|\d\d:\d\d:\d\d)/;
  expect(await ask("/hooks next")).toMatch(stopped);
  const why = await ask("/hooks why tick");
  expect(why).toMatch(/Its times before [-:\d ]+ UTC \(in .*\) are skipped: `\/hooks enable tick` closes its breaker/);
  expect(why).not.toContain("It is due");
  expect(await ask("/hooks show tick")).not.toMatch(/next\W+(in|now)/);
  live.write("hooks/tick.yaml", timed("exit 0"));
  await until(async () => (await live.runs("tick")).at(-1)?.status === "succeeded", "the corrected hook running");
  expect(await ask("/hooks next")).not.toMatch(stopped);
});
