/** `after` and `before` where a hook does not wait for the end of the earlier one, and what a fallback that claims means for later hooks. */
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { until } from "../support/until.js";
import { liveApp } from "./support/live-app.js";

const RUN = `run: { shell: { command: ["true"] } }`;

test("check, /hooks show and /hooks why name hooks that start after another and do not wait for its end", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: save, on: message_received, ${RUN} }
  - { id: remove, on: message_received, after: [save], execution: deadline, ${RUN} }
  - { id: store, on: message_sending, execution: background, ${RUN} }
  - { id: sign, on: message_sending, before: [guard], ${RUN} }
  - { id: guard, on: message_sending, after: [store], ${RUN} }
`,
  });
  const ask = async (line: string) => JSON.stringify(await live.post("/api/command", { line })).replace(/[\\`*]/g, "");
  const { err } = await runCli(["check"], { cwd: live.folder });
  expect(err).toContain(
    'Hook "remove" starts after "save" and does not wait for its end, because the hooks at message_received run at once. If it needs what "save" does, put both into one hook, as steps.',
  );
  expect(err).toContain(
    'Hook "guard" starts after "store" and does not wait for its end, because "store" is background. If it needs what "store" does, set `execution: blocking` for "store", or put both into one hook, as steps.',
  );
  expect(err).not.toContain('starts after "sign"');
  const shown = await ask("/hooks show remove");
  expect(shown).toContain("starts after save");
  expect(shown).toContain(
    "Hook remove starts after save and does not wait for its end".replace(/remove|save/g, '"$&"'),
  );
  expect(await ask("/hooks why remove")).toContain("order: It starts after save, and does not wait for its end.");
  expect(await ask("/hooks show sign")).toMatch(/, before guard/);
  expect(await ask("/hooks why guard")).toContain(
    "order: It runs after store, sign. It does not wait for the end of store.",
  );
});

test("a hook behind a fallback that claimed is said to have had no turn, and the dispatch to be claimed", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: spamcheck, on: inbound_claim, on_failure: fallback, fallback: { handled: true, reply: we look into it }, run: { shell: { sh: "exit 3" } } }
  - { id: orders, on: inbound_claim, ${RUN} }
`,
  });
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replace(/[\\`*]/g, "");
  await live.say("order");
  await until(async () => (await live.room()).includes("we look into it"), "the fallback");
  const expected = "spamcheck runs before it; its fallback claimed the message. Hooks after a claim do not run.";
  await until(async () => (await ask("/hooks why orders m1")).includes("did not run"), "the dispatch being on record");
  const why = await ask("/hooks why orders m1");
  expect(why).toContain(expected);
  expect(why).toContain("inbound_claim ✋ claimed, 1 failed · 1 run");
  expect(why).not.toMatch(/enabled later|would run/);
  const now = await ask("/hooks why orders");
  expect(now).toContain(expected);
  expect(now).not.toContain("Now it would run");
});

test("a background hook is shown to see the payload as it was, and check warns of `sees: merged` at one", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: redact, on: message_sending, run: { shell: { sh: 'echo "{\\"decision\\":\\"modify\\",\\"patch\\":{\\"message\\":{\\"text\\":\\"redacted\\"}}}"' } } }
  - { id: archive, on: message_sending, sees: merged, execution: background, ${RUN} }
  - { id: count, on: message_sending, execution: background, ${RUN} }
  - { id: log, on: message_sending, execution: fire_and_record, ${RUN} }
  - { id: note, on: before_dispatch, execution: background, ${RUN} }
  - { id: first, on: before_dispatch, priority: 1, ${RUN} }
`,
  });
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replace(/[\\`*]/g, "");
  const { err } = await runCli(["check"], { cwd: live.folder });
  const warning =
    /Hook "archive".* runs in the background, so it gets the payload as it was before other hooks changed it: `sees: merged` has no effect/;
  expect(err).toMatch(warning);
  expect(err).not.toMatch(/Hook "(count|log|note)"/);
  expect(await ask("/hooks show archive")).toMatch(new RegExp(warning.source.replaceAll("`", "")));
  const order = await ask("/hooks order message_sending");
  expect(order).toMatch(/redact .*merged/);
  expect(order).toMatch(/log .*merged/);
  expect(order).toMatch(/archive .*original/);
  expect(order).toMatch(/count .*original/);
});
