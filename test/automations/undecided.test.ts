/** What hooks give in place of a decision: a guard holds what its author meant to stop or to change, and no run looks as if it had. */
import { LLMock } from "@copilotkit/aimock";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../support/until.js";
import { openEndpoint } from "./endpoint.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

const DO_AS_TOLD = `export default ({ message }) => {
  const told = message.text.slice(message.text.indexOf(" ") + 1);
  try { return JSON.parse(told); } catch { return told; }
};`;
/** Gives what stands behind the first word of a message that starts with the id. */
const guard = (id: string, run: object, more: object = {}) =>
  JSON.stringify({
    id,
    on: "message_sending",
    on_failure: "closed",
    match: { when: `payload.message.text.startsWith("${id} ")` },
    run,
    ...more,
  });
const printed = (id: string) => ["printf", "%s", `{{ event.message.text | remove_first: "${id} " }}`];
const send = (live: LiveApp, text: string) =>
  live.app.gateway.send(
    { platform: "web", botId: "web", chatId: "general" },
    { text },
    { cause: { kind: "api", id: "t", depth: 0 } },
  );

const REDACTED = '{"message":{"text":"***"}}';
const OBJECTS = [REDACTED, '{"allow":false}', '{"ok":false}', '{"blocked":true,"why":"a key"}', '{"status":"blocked"}'];
const WORDS = ["deny", "Denied", "block", '"blocked"', "reject", "rejected.", "false"];
const PASSES = [
  "",
  "ok",
  "{}",
  "[]",
  "null",
  "checked: nothing blocked",
  '[{"deny":1}]',
  '{"decision":"pass"}',
  "{'ok': no",
];

test.each(["module", "shell", "http"])(
  "a closed guard that gives no decision by its %s holds the message",
  async (id) => {
    const endpoint = await openEndpoint();
    onTestFinished(() => endpoint.close());
    endpoint.script(({ body }, response) => response.end((JSON.parse(body) as { said: string }).said));
    const said = `{{ event.message.text | remove_first: "${id} " }}`;
    const run = {
      module: { module: { path: "./told.mjs" } },
      shell: { shell: { command: printed(id) } },
      http: { http: { url: endpoint.url, body: { said } } },
    }[id];
    const live = await liveApp({
      "told.mjs": DO_AS_TOLD,
      "hookgate.yaml": `outgoing: { allow: ["127.0.0.1"] }\nautomations: { breaker: { failures: 1000 } }\nhooks: [${guard(id, run ?? {})}]\n`,
    });
    let runs = 0;
    const given = async (text: string) => {
      await send(live, `${id} ${text}`);
      const { status, statusReason } = await live.ended(id, ++runs);
      return { text, status, statusReason };
    };
    for (const text of OBJECTS) {
      const { statusReason, ...end } = await given(text);
      expect(end).toEqual({ text, status: "failed" });
      for (const key of Object.keys(JSON.parse(text))) expect(statusReason).toContain(`"${key}"`);
      expect(statusReason).toMatch(/is no decision: give \{ "decision": "modify".*"decision": "block"/);
      expect(statusReason).not.toContain("claim");
    }
    for (const text of WORDS) expect(await given(text)).toMatchObject({ text, status: "failed" });
    expect(await live.room()).toEqual([]);
    for (const text of PASSES) expect(await given(text)).toMatchObject({ text, status: "succeeded" });
    // A message to the web chat has no spaces at its end.
    await until(async () => (await live.room()).length === PASSES.length, "the messages that pass");
  },
);

test("with decision: status the exit code decides what a program prints of itself, and not what the point takes", async () => {
  const live = await liveApp({
    "hookgate.yaml": `hooks: [${guard("scan", { shell: { command: printed("scan"), decision: "status" } })}]\n`,
  });
  await send(live, 'scan {"findings":0}');
  expect(await live.ended("scan")).toMatchObject({ status: "succeeded" });
  await send(live, "scan false");
  expect(await live.ended("scan", 2)).toMatchObject({ status: "succeeded" });
  await send(live, `scan ${REDACTED}`);
  expect(await live.ended("scan", 3)).toMatchObject({ status: "failed" });
});

test("a hook that is not closed fails by the fields of its point alone, and passes with other JSON", async () => {
  const create = (id: string, phase: string, run: object) => JSON.stringify({ id, on: "task:create", phase, run });
  const prints = (value: object) => ({ shell: { command: ["echo", JSON.stringify(value)] } });
  const claims = { on: "inbound_claim", on_failure: "open" };
  const live = await liveApp({
    "told.mjs": DO_AS_TOLD,
    "hookgate.yaml": `hooks:
  - ${guard("open", { module: { path: "./told.mjs" } }, { on_failure: "open" })}
  - ${guard("aside", { module: { path: "./told.mjs" } }, { on_failure: "open", execution: "background" })}
  - ${guard("claims", { module: { path: "./told.mjs" } }, claims)}
  - ${create("title", "before", prints({ title: "other" }))}
  - ${JSON.stringify({ id: "spawn", on: "task:spawn", phase: "before", on_failure: "closed", run: prints({ ok: false }) })}
  - ${create("after", "after", prints({ title: "other" }))}
`,
  });
  await send(live, `open ${REDACTED}`);
  expect(await live.ended("open")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining('an object with "message" is no decision'),
  });
  await send(live, 'open {"allow":false}');
  expect(await live.ended("open", 2)).toMatchObject({ status: "succeeded" });
  await send(live, "open denied");
  expect(await live.ended("open", 3)).toMatchObject({ status: "succeeded" });
  await send(live, `aside ${REDACTED}`);
  expect(await live.ended("aside")).toMatchObject({ status: "succeeded" });
  await live.say('claims {"routeTo":{"platform":"web","botId":"web","chatId":"other"}}');
  expect(await live.ended("claims")).toMatchObject({
    status: "failed",
    statusReason: expect.stringMatching(/"routeTo" is no decision: give \{ "decision": "claim".*or nothing/),
  });
  await live.post("/api/command", { line: "/task add me tea" });
  expect(await live.ended("title")).toMatchObject({ status: "failed" });
  expect(await live.ended("after")).toMatchObject({ status: "succeeded" });
  expect(await live.ended("spawn")).toMatchObject({
    status: "failed",
    statusReason: expect.stringMatching(
      /"ok" is no decision: give \{ "decision": "block", "reason": "…" \}, or nothing/,
    ),
  });
});

test("a closed guard whose model answers with JSON and has no tool to decide holds the message; a decision by the tool counts", async () => {
  const server = new LLMock({ port: 0 });
  await server.start();
  onTestFinished(() => server.stop());
  const isFirst = (what: string) => (request: { messages: { role: string }[] }) =>
    request.messages.every(({ role }) => role !== "tool") && JSON.stringify(request.messages).includes(what);
  server
    .on({ predicate: isFirst("with the tool") }, { toolCalls: [{ name: "decide", arguments: '{"decision":"pass"}' }] })
    .onMessage(/./, { content: '{"decision":"block","reason":"rude"}' });
  const live = await liveApp({
    "hookgate.yaml": `
models: { available: { small: { provider: openai-compatible, url: "${server.url}/v1", model: m } } }
outgoing: { allow: ["127.0.0.1"] }
hooks:
  - ${guard("words", { agent: { prompt: "in words", tools: ["send_message"] } })}
  - ${guard("tool", { agent: { prompt: "with the tool", decides: true } })}
`,
  });
  await send(live, "words a key");
  expect(await live.ended("words")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining("is no decision: set `decides: true`"),
  });
  await send(live, "tool hello");
  expect(await live.ended("tool")).toMatchObject({ status: "succeeded" });
  await until(async () => (await live.room()).includes("tool hello"), "the other message");
  expect(await live.room()).toEqual(["tool hello"]);
});

test("a hook at the point of a plugin fails by a changed payload that it gives back, and not by the payload itself", async () => {
  const deal = (id: string, command: string[]) =>
    JSON.stringify({ id, on: "plugin:shop:deal", phase: "before", run: { shell: { command } } });
  const live = await liveApp({
    "shop.mjs": `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      export default { id: "shop", setup({ hooks, commands }) {
        const deal = hooks.declare({ name: "deal", model: "lifecycle", payload: z.object({ item: z.string() }), summary: "s", example: { item: "tea" } });
        commands.register({ name: "deal", summary: "d", role: "viewer", run: async () => JSON.stringify(await deal.before({ item: "tea" })) });
      } };`,
    "hookgate.yaml": `plugins: [./shop.mjs]\nhooks: [${deal("same", ["cat"])}, ${deal("other", ["sed", "s/tea/cup/"])}]\n`,
  });
  await live.post("/api/command", { line: "/deal" });
  expect(await live.ended("same")).toMatchObject({ status: "succeeded" });
  expect(await live.ended("other")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining('an object with "item" is no decision'),
  });
});
