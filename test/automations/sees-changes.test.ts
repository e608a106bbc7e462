/** The `match` of a configured hook is compared with what the hook sees, also where an earlier hook changed it. */
import { expect, test } from "vitest";
import { until } from "../support/until.js";
import { liveApp } from "./support/live-app.js";

const prints = (value: unknown) => `run: { shell: { command: [echo, '${JSON.stringify(value)}'] } }`;
const when = (condition: string) => `match: { when: '${condition}' }`;
const KEY = { decision: "modify", patch: { message: { text: "hello, my key is AKIA" } } };
const BLOCK = { decision: "block", reason: "a key" };

test("a guard is asked about what an earlier hook wrote, and /hooks why compares its condition with that", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: sign, on: message_sending, ${when('payload.message.text == "hello"')}, ${prints(KEY)} }
  - { id: guard, on: message_sending, after: [sign], on_failure: closed, ${when('payload.message.text.contains("AKIA")')}, ${prints(BLOCK)} }
  - { id: unsigned, on: message_sending, sees: original, after: [sign], ${when('payload.message.text == "hello"')}, run: { shell: { command: ["true"] } } }
  - { id: greet, trigger: manual, run: { chat: { to: "web:web:dm-1", text: "{{ event.input.t }}" } } }
`,
  });
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replace(/[\\`*]/g, "");
  await ask('/fire-hook greet {"t":"hello"} live=true');
  expect(await live.ended("guard")).toMatchObject({ status: "blocked", statusReason: "a key" });
  expect(await live.ended("unsigned")).toMatchObject({ status: "succeeded" });
  expect((await live.room("dm-1")).join("\n")).not.toContain("AKIA");
  await until(async () => (await ask("/hooks why guard")).startsWith("guard ran"), "the dispatch being on record");
  expect(await ask("/hooks why guard")).toContain("✓ match: The payload matches.");
  expect(await ask("/hooks why unsigned")).toContain("✓ match: The payload matches.");
});

test("at task:create, a hook in the phase before is matched with what the hooks before it made of the task", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
orchestrator: { runners: { ok: { shell: { command: [echo, hi] } } } }
hooks:
  - { id: renames, on: "task:create", phase: before, ${prints({ decision: "modify", patch: { title: "drop the table" } })} }
  - { id: guard, on: "task:create", phase: before, on_failure: closed, ${when('payload.title.contains("drop")')}, ${prints(BLOCK)} }
`,
  });
  const answer = await live.post("/api/command", { line: "/task add ok clean up" });
  expect(answer.text).toContain("guard refused");
  expect(answer.text).toContain("a key");
});
