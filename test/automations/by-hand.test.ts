/** A hook that a person fires: what it decides is checked as for a real message, not carried out, and counted nowhere. */
import { expect, test } from "vitest";
import type { AutomationRun } from "../../src/domain/automation.js";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

const asking = (live: LiveApp) => async (line: string) =>
  ((await live.post("/api/command", { line })) as { text: string }).text.replaceAll("\\", "");

const deciding = (id: string, at: string, decision: object) =>
  `  - { id: ${id}, ${at}, run: { shell: { command: [echo, '${JSON.stringify(decision)}'] } } }\n`;
const modifying = (id: string, at: string, patch: object) => deciding(id, at, { decision: "modify", patch });

test("a decision that the point refuses fails by hand as it does for a message, and in a replay of that run", async () => {
  const before = (point: string) => `on: "task:${point}", phase: before`;
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
${deciding("echo", "on: inbound_claim", { decision: "claim", reply: "the key" })}${modifying("redact", "on: message_sending", { text: "[redacted]" })}${modifying("empty", "on: message_sending", { message: { text: "" } })}${modifying("title", before("create"), { titel: "x" })}${modifying("wrong", before("create"), { priority: "high" })}${modifying("spawned", before("spawn"), { title: "x" })}`,
  });
  const ask = asking(live);
  const problem = 'there is no field "text"; the fields are message, cancel';
  const failed = async (line: string, error: string | RegExp) => {
    const text = await ask(line);
    expect(text).toMatch(/✗ failed/);
    expect(text).not.toContain("succeeded");
    expect(text).toMatch(error);
  };
  await failed("/fire-hook redact example live=true", problem);
  await failed("/fire-hook empty example live=true", "message");
  await failed("/fire-hook title example live=true", "titel");
  await failed("/fire-hook wrong example live=true", "priority");
  await failed("/fire-hook spawned example live=true", /title cannot be changed at task:spawn/);
  const why = await ask("/hooks why redact");
  expect(why).toMatch(/It last fired .*: ✗ failed/);
  expect(why).not.toContain("passed");
  expect(await ask("/runs redact")).toContain(`✗ failed`);
  await live.post("/api/rooms/dm-1/messages", { text: "hello", nonce: "nonce-of-a-greeting" });
  await until(async () => (await live.room("dm-1")).includes("the key"), "the answer, not changed");
  const real = (await live.runs("redact")).find(({ trigger }) => trigger === "on");
  expect(real?.statusReason).toContain(problem);
  await failed(`/replay ${real?.id} live=true`, "It came to the same end as then");
});

test("a decision by hand is named, and said not to be carried out, in the answer and in what is on record", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
${deciding("echo", "on: inbound_claim", { decision: "claim", reply: "the key" })}${modifying("redact", "on: message_sending", { message: { text: "[redacted]" } })}${deciding("guard", "on: message_sending", { decision: "block", reason: "no keys" })}${deciding("passes", "on: message_sending", { decision: "pass" })}`,
  });
  const ask = asking(live);
  for (const [id, outcome, decision, not] of [
    ["echo", "✋ claimed", "claim", "no message was claimed, and no reply was sent"],
    ["redact", "✎ modified", "modify", "nothing was changed"],
    ["guard", "⊘ blocked", "block", "nothing was blocked"],
  ]) {
    const shown = `${outcome} (by hand: not carried out)`;
    const fired = await ask(`/fire-hook ${id} example live=true`);
    expect(fired).toContain(shown);
    expect(fired).toContain(
      `It decided to **${decision}**. It was fired by hand, so this decision was only computed and **not carried out**: ${not}.`,
    );
    expect(await ask(`/runs ${id}`)).toContain(shown);
    const why = await ask(`/hooks why ${id}`);
    expect(why).toContain(`: ${shown}.`);
    expect(why).not.toMatch(/last fired .*passed/);
    expect(await ask(`/hooks show ${id}`)).toContain(shown);
    const [run] = await live.runs(id ?? "");
    expect(run).toMatchObject({ decided: decision });
    expect(await ask(`/run ${run?.id}`)).toContain(shown);
  }
  const dispatches = await ask("/runs message_sending");
  expect(dispatches).not.toMatch(/passed|lobby/);
  expect(dispatches).toMatch(/✎ modified \(by hand: not carried out\) · `redact` · .* · fired by hand/);
  expect(await ask("/runs guard")).toMatch(/^1\. .* · fired by Owner: no keys/m);
  expect(await ask("/runs guard")).not.toContain("lobby");
  const passed = await ask("/fire-hook passes example live=true");
  expect(passed).toContain("✓ succeeded");
  expect(passed).not.toContain("by hand");
  expect(await live.room("dm-1")).toEqual([]);

  // For a message it is carried out, and a replay of that comes to the same decision.
  await live.post("/api/rooms/dm-1/messages", { text: "hello", nonce: "nonce-of-a-greeting" });
  const isReal = ({ trigger, status }: AutomationRun) => trigger === "on" && status === "succeeded";
  const real = await until(async () => (await live.runs("echo")).find(isReal), "the claim");
  expect(await ask("/hooks why echo")).not.toContain("not carried out");
  const replayed = await ask(`/replay ${real.id} live=true`);
  expect(replayed).toContain("✋ claimed (by hand: not carried out)");
  expect(replayed).toContain("It came to the same end as then.");
});

test("of the hooks that time or a person starts, only the one that the payload names is called: fired by its point, and in a replay", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: greet, trigger: manual, run: { chat: { to: "web:web:dm-1", text: hello } } }
  - { id: wipe, trigger: manual, run: { shell: { sh: "touch WIPED" } } }
  - { id: nightly, trigger: { cron: "0 3 * * *" }, run: { shell: { sh: "touch NIGHTLY" } } }
`,
  });
  const ask = asking(live);
  for (const mode of ["", " live=true"]) {
    const named = await ask(`/fire-hook hook.due example {"hookId":"greet"}${mode}`);
    expect(named).toContain("greet");
    expect(named).not.toMatch(/wipe|nightly/);
    const typo = await ask(`/fire-hook hook.due example {"hookId":"gret"}${mode}`);
    expect(typo).toMatch(/Nothing was fired: .*named "gret"\. Did you mean "greet"\?/);
    expect(await ask(`/fire-hook hook.due example${mode}`)).toContain('named "night-watch".');
  }
  const run = await live.ended("greet");
  const again = `${run.id}:1`;
  await until(async () => (await ask(`/run ${again}`)).includes("hook.due"), "the attempt being on record");
  for (const mode of ["", " live=true"]) {
    const replayed = await ask(`/replay ${again}${mode}`);
    expect(replayed).toMatch(/Now: .*hook\.due.* 1 run/);
    expect(replayed).not.toMatch(/wipe|nightly/);
  }
  await live.ended("greet", 2);
  for (const id of ["wipe", "nightly"]) expect(await live.runs(id)).toEqual([]);
});

test("a run that a person fired is replayed with what it was given", async () => {
  const to = "web:web:dm-1";
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: tell, trigger: manual, run: { chat: { to: "${to}", text: "the word is {{ event.input.word }}" } } }
  - { id: heard, on: message_received, run: { chat: { to: "${to}", text: "heard {{ event.message.text }}" } } }
`,
  });
  const ask = asking(live);
  for (const [id, payload, said] of [
    ["tell", '{"word":"blue"}', "the word is blue"],
    ["heard", "example", /^heard /],
  ] as const) {
    await ask(`/fire-hook ${id} ${payload} live=true`);
    const run = await live.ended(id);
    expect(await ask(`/replay ${run.id}`)).toContain("Replayed, dry");
    expect(await ask(`/replay ${run.id} live=true`)).toContain("It came to the same end as then.");
    await until(
      async () => (await live.room("dm-1")).filter((text) => text.match(said)).length === 2,
      `${id} posting twice`,
    );
  }
});

test("what fails or succeeds by hand, alone or with its point, is not counted by the breaker of real messages", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
automations: { breaker: { failures: 2, pause: 1h } }
hooks:
  - { id: g, on: inbound_claim, run: { shell: { sh: "if [ -e broken ]; then exit 3; else echo '{\\"decision\\":\\"claim\\"}'; fi" } } }
`,
  });
  const ask = asking(live);
  const say = async (text: string) => {
    const count = (await live.runs("g")).length + 1;
    await live.post("/api/rooms/dm-1/messages", { text, nonce: `nonce-of-message-${text}` });
    return live.ended("g", count);
  };
  const open = () => live.app.automations.breakers().map(({ hookId }) => hookId);
  live.write("broken", "");
  for (let time = 0; time < 3; time++) {
    expect(await ask("/fire-hook g example live=true")).toContain("✗ failed");
    expect(await ask("/fire-hook inbound_claim example live=true")).toContain("✗ failed");
  }
  expect(open()).toEqual([]);
  live.remove("broken");
  expect((await say("one")).status).toBe("succeeded");
  live.write("broken", "");
  expect((await say("two")).status).toBe("failed");
  live.remove("broken");
  // A success by hand forgets no real failure.
  const claims = (line: string) => until(async () => (await ask(line)).includes("claimed"), line);
  await claims("/fire-hook g example live=true");
  await claims("/fire-hook inbound_claim example live=true");
  live.write("broken", "");
  expect((await say("three")).status).toBe("failed");
  await until(async () => open().includes("g"), "the breaker being open");
  // A person may test a hook that is not called, which changes nothing of that.
  live.remove("broken");
  const tested = await ask("/fire-hook g example live=true");
  expect(tested).toContain("claimed");
  expect(tested).toContain("`/hooks enable g` closes its breaker");
  expect(open()).toEqual(["g"]);
});
