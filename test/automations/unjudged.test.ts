/** Hooks whose condition has no answer for a payload: a field that it names is absent. */
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { type LogLine, logTo } from "../hooks/points.js";
import { until } from "../support/until.js";
import { liveApp } from "./support/live-app.js";

const RUN = `run: { shell: { sh: "exit 0" } }`;
const when = (condition: string) => `match: { when: '${condition}' }`;
const GUARD = 'payload.message.threadId != "5" && payload.message.text.contains("LEAK")';

test("a guard that fails closed holds what it cannot judge, and the run is on record as failed with the reason", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: guard, on: message_sending, on_failure: closed, ${when(GUARD)}, notify: { to: ["web:web:dm-1"], on: [failed] }, ${RUN} }
  - { id: lax, on: message_sending, ${when('payload.message.threadId != "6"')}, ${RUN} }
  - { id: stand-in, on: message_sending, priority: 200, on_failure: fallback, fallback: { message: { text: stood in } }, ${when('payload.message.text == "swap" && payload.message.threadId != "7"')}, ${RUN} }
  - { id: late, on: "task:create", phase: before, on_failure: closed, ${when("payload.priority < 5")}, ${RUN} }
  - { id: heard, on: hook_run_completed, match: { hooks: [guard] }, run: { shell: { command: [echo, "{{ event.outcome }}"] } } }
`,
  });
  const send = (text: string) =>
    live.app.gateway.send(
      { platform: "web", botId: "web", chatId: "general" },
      { text },
      { cause: { kind: "api", id: "t", depth: 0 } },
    );
  await send("LEAK");
  const run = await live.ended("guard");
  expect(run).toMatchObject({
    status: "failed",
    trigger: "on",
    statusReason: expect.stringContaining("match.when has no answer for this payload: No such key: threadId"),
  });
  const command = async (line: string) => JSON.stringify(await live.post("/api/command", { line }));
  await send("fine");
  await until(async () => (await live.room()).includes("fine"), "what the condition can judge");
  expect(await live.room()).toEqual(["fine"]);
  expect(await live.runs("lax")).toEqual([]);
  expect(await live.ended("heard")).toMatchObject({ status: "succeeded" });

  expect(await command("/status")).toMatch(/failing in 24 h: .{0,3}guard/);
  await until(async () => (await live.room("dm-1")).find((text) => text.includes("guard")), "the notice");

  await live.post("/api/command", { line: "/hooks disable guard" });
  await send("swap");
  await until(async () => (await live.room()).includes("stood in"), "the fallback");
  expect(await live.ended("stand-in")).toMatchObject({ status: "failed" });
  expect(await command("/hooks why stand-in")).toContain("match.when has no answer for this payload");

  expect(await command("/task add me no priority")).toMatch(/late/);
  expect(await live.ended("late")).toMatchObject({ status: "failed" });
});

test("a hook that could not answer its condition is not said to have run, with the reason and what followed, and its breaker does not count that", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
automations: { breaker: { failures: 2 } }
hooks:
  - { id: guard, on: message_sending, on_failure: closed, ${when(GUARD)}, ${RUN} }
  - { id: lax, on: message_sending, priority: 1, ${when('payload.message.threadId != "6"')}, ${RUN} }
`,
  });
  for (const text of ["LEAK one", "LEAK two", "LEAK three"])
    await live.app.gateway.send(
      { platform: "web", botId: "web", chatId: "general" },
      { text },
      { cause: { kind: "api", id: "t", depth: 0 } },
    );
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replace(/[\\`*]/g, "");
  await live.ended("guard", 3);
  const id = await until(async () => /d_[0-9a-z]+/.exec(await ask("/outbox list held"))?.[0], "what is held");
  const guard = await ask(`/hooks why guard ${id}`);
  expect(guard).toContain(
    "It did not run, because its condition could not be answered: match.when has no answer for this payload: No such key: threadId.",
  );
  expect(guard).toContain(`It is fail-closed, so message_sending failed. ${id} is held now.`);
  const lax = await ask(`/hooks why lax ${id}`);
  expect(lax).toMatch(
    /It did not run, because its condition could not be answered: when: No such key: threadId.*It is fail-open/,
  );
  expect(await ask("/hooks why guard")).toMatch(
    /^guard did not run for the last message_sending\. It did not run, because its condition could not be answered/,
  );
  for (const line of [
    `/hooks why guard ${id}`,
    `/hooks why lax ${id}`,
    `/hooks why message_sending ${id}`,
    `/run ${id}`,
  ])
    expect(await ask(line), line).not.toMatch(/It ran|guard failed/);
  expect(await ask("/hooks show guard")).not.toContain("breaker");
  expect(await ask("/hooks why guard")).toContain("✓ gates: open");
});

test("while hooks are paused, a fail-closed hook that cannot answer its condition refuses and holds nothing, and guards again afterwards", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
orchestrator: { runners: { ok: { shell: { command: [echo, hi] } } } }
hooks:
  - { id: taskguard, on: "task:create", phase: before, on_failure: closed, ${when("payload.input.x == 1")}, ${RUN} }
  - { id: sendguard, on: message_sending, on_failure: closed, ${when('payload.message.threadId == "5"')}, ${RUN} }
  - { id: stand-in, on: message_sending, on_failure: fallback, fallback: { message: { text: stood in } }, ${when('payload.message.threadId == "7"')}, ${RUN} }
  - { id: sayk, trigger: manual, run: { chat: { to: "web:web:general", text: let through } } }
`,
  });
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replace(/[\\`*]/g, "");
  const refused = "The task was not created: taskguard refused";
  expect(await ask("/task add ok one")).toContain(refused);
  expect(await ask("/hooks pause")).toContain("passes unchecked until you resume them: taskguard, sendguard.");
  expect(await ask("/task add ok two")).toContain("Added two");
  await ask("/fire-hook sayk live=true");
  await until(async () => (await live.room()).includes("let through"), "what the paused guards let through");
  await until(async () => (await ask("/hooks why taskguard")).includes("paused: "), "the dispatch being on record");
  const why = await ask("/hooks why taskguard");
  expect(why).toContain("It is skipped while configured hooks are paused.");
  expect(why).not.toContain("counts as the failure");
  expect(await live.ended("taskguard", 2)).toMatchObject({ status: "skipped" });
  await ask("/hooks resume");
  expect(await ask("/task add ok three")).toContain(refused);
});

test("check warns of a field that a payload may lack, where nothing asks for it with has()", async () => {
  const live = await liveApp(
    {
      "hookgate.yaml": `
hooks:
  - { id: guard, on: message_sending, on_failure: closed, ${when(GUARD)}, ${RUN} }
  - { id: equal, on: message_sending, on_failure: closed, ${when('payload.message.threadId == "5"')}, ${RUN} }
  - { id: negated, on: message_sending, ${when('!(payload.message.threadId.startsWith("5"))')}, ${RUN} }
  - { id: within, on: message_sending, on_failure: closed, ${when("has(payload.message.card.title)")}, ${RUN} }
  - { id: nested, on: message_sending, on_failure: closed, ${when("has(payload.message.card) && has(payload.message.card.title)")}, ${RUN} }
  - { id: asked, on: message_sending, on_failure: closed, ${when('!has(payload.message.threadId) || payload.message.threadId != "5"')}, ${RUN} }
  - { id: optional, on: message_sending, on_failure: closed, ${when('payload.message.?threadId.orValue("") != "5"')}, ${RUN} }
  - { id: turned, on: message_sending, ${when('has(payload.message.threadId) || payload.message.threadId == "5"')}, ${RUN} }
  - { id: never, on: message_sending, ${when('payload.message.threadId == "5" && !has(payload.message.threadId)')}, ${RUN} }
  - { id: other, on: message_sending, on_failure: fallback, fallback: { message: { text: stood in } }, ${when('has(payload.message.replyToId) && payload.message.threadId == "5"')}, ${RUN} }
  - { id: behind, on: message_sending, on_failure: closed, ${when('payload.message.threadId == "5" && has(payload.message.threadId)')}, ${RUN} }
  - { id: either, on: message_sending, on_failure: closed, ${when('has(payload.message.threadId) ? payload.message.threadId == "5" : true')}, ${RUN} }
  - { id: both, on: message_sending, on_failure: closed, ${when('!(!has(payload.message.threadId) || payload.message.threadId == "5")')}, ${RUN} }
  - { id: meant, on: message_sending, ${when('payload.message.threadId == "5"')}, ${RUN} }
  - { id: always, on: message_sending, on_failure: closed, ${when('payload.message.text != "5" && payload.chatId != "5"')}, ${RUN} }
`,
    },
    { start: false },
  );
  const { code, err } = await runCli(["check"], {
    cwd: live.folder,
    env: { HOOKGATE_TOKEN: "the-token-of-a-check-0123456789-abcdef" },
  });
  expect({ code, hooks: [...err.matchAll(/^warning: hook (\w+): match\.when/gm)].map(([, id]) => id) }).toEqual({
    code: 0,
    hooks: ["guard", "equal", "negated", "within", "turned", "never", "other"],
  });
  for (const words of [
    "which a payload of message_sending may lack: the hook fails for every payload without it, and on_failure: closed blocks that payload. Write has(payload.message.threadId) && …",
    "hook turned: match.when uses payload.message.threadId where has(payload.message.threadId) is false, so that part has no answer, and a payload of message_sending may lack payload.message.threadId: the hook does not run for a payload without it",
    "hook other: match.when uses payload.message.threadId, which a payload of message_sending may lack: the hook fails for every payload without it, and its fallback is used",
  ])
    expect(err).toContain(words);
});

test("a skip_if that has no answer skips nothing, and the run, /hooks why, /hooks test and the log say so", async () => {
  const log: LogLine[] = [];
  const live = await liveApp(
    {
      "hookgate.yaml": `
hooks:
  - id: counted
    trigger: manual
    context: [{ shell: { sh: "echo 0", skip_if: "int(step.stdout) == 0" } }]
    run: { chat: { to: "web:web:general", text: "there are {{ steps[0].stdout }} errors" } }
  - id: trimmed
    trigger: manual
    context: [{ shell: { sh: "echo 0", skip_if: "int(step.stdout.trim()) == 0" } }]
    run: { chat: { to: "web:web:general", text: "never" } }
`,
    },
    { logger: logTo(log) },
  );
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replace(/[\\`*]/g, "");
  const warnings = () => log.filter(({ message }) => message.includes("had no answer, so it did not skip the run"));
  const NO_ANSWER = /skip_if of steps\[0\] shell had no answer, so it did not skip the run: int\(\) type error/;

  expect(await ask("/hooks test counted")).toMatch(NO_ANSWER);
  expect(warnings()).toEqual([]);
  const run = await live.fire("counted");
  expect(run).toMatchObject({ status: "succeeded" });
  await live.fire("counted");
  expect(await ask(`/run ${run.id}`)).toMatch(NO_ANSWER);
  expect(await ask(`/run ${run.id}`)).toContain("passed, skip_if: no answer");
  expect(await ask("/hooks why counted")).toMatch(NO_ANSWER);
  expect(warnings()).toHaveLength(1);
  expect(await live.fire("trimmed")).toMatchObject({ status: "skipped" });
  expect(await ask("/hooks test trimmed")).not.toContain("no answer");
});
