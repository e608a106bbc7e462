/** A hook that a person fires, whose message hooks withhold: the answer says what became of the message. */
import { type ChatCompletionRequest, LLMock } from "@copilotkit/aimock";
import { expect, onTestFinished, test, vi } from "vitest";
import { ValueReader } from "../../src/fast/pack/value-reader.js";
import { until } from "../support/until.js";
import { liveApp } from "./support/live-app.js";

test("the answer to /fire-hook says what became of the message, or that it is not sent yet", async () => {
  const guard = (id: string, on: string, text: string, sh: string, more = "") =>
    `  - { id: ${id}, on: ${on}, match: { when: '${text}.contains("${id}")' }, ${more}run: { shell: { sh: '${sh}' } } }\n`;
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: by-hand, trigger: manual, run: { chat: { to: "web:web:general", text: "{{ event.input.say }}" } } }
${guard("cancels", "message_sending", "payload.message.text", "echo no keys >&2; exit 2")}${guard("hushes", "before_dispatch", "payload.text", "echo hush >&2; exit 2")}${guard("holds", "message_sending", "payload.message.text", "exit 1", "on_failure: closed, ")}${guard("delays", "message_sending", "payload.message.text", "until [ -e go ]; do sleep 0.05; done", "timeout: 60s, ")}`,
  });
  const ask = async (line: string) => {
    const { text, data } = (await live.post("/api/command", { line })) as {
      text: string;
      data: { status: string; withheld?: { status: string }[]; toSend?: string[] };
    };
    return { text: text.replaceAll("\\", ""), data };
  };
  const fire = (say: string) => ask(`/fire-hook by-hand {"say":"${say}"} live=true`);
  expect((await fire("said")).text).toMatch(/Fired live\W+by-hand\W+ ✓ succeeded/);
  for (const [say, status] of [
    ["cancels", "cancelled"],
    ["hushes", "suppressed"],
    ["holds", "held"],
  ]) {
    const { text, data } = await fire(say ?? "");
    expect(text).toMatch(/Fired live\W+by-hand\W+ ⊘ not sent/);
    expect(text).toContain("It had **no effect**");
    expect(text).toContain(`**${status}**`);
    expect(text).not.toContain("succeeded");
    expect(data.withheld).toMatchObject([{ status }]);
    const why = (await ask("/hooks why by-hand")).text;
    expect(why).toMatch(/It last fired .*: ⊘ not sent/);
    expect(why).not.toContain("passed");
  }
  const { text, data } = await fire("delays");
  expect(data.toSend).toHaveLength(1);
  expect(text).toMatch(
    /Fired live\W+by-hand\W+ ⏳ not sent yet[\s\S]*was handed to the outbox and is \*\*not sent yet\*\*: `\/outbox show d_/,
  );
  live.write("go", "");
  expect((await fire("said, too")).text).toMatch(/by-hand\W+ ✓ succeeded/);
});

test("the answer to /fire-hook says that a message of its model was withheld, and the model is not told that it was sent", async () => {
  const server = new LLMock({ port: 0 });
  await server.start();
  onTestFinished(() => server.stop());
  const toolCalls = [{ name: "send_message", arguments: '{"text":"a key"}' }];
  const isFirst = ({ messages }: ChatCompletionRequest) => messages.every(({ role }) => role !== "tool");
  server.on({ predicate: isFirst }, { toolCalls }).onMessage(/./, { content: "Told them." });
  const live = await liveApp({
    "hookgate.yaml": `
models: { available: { small: { provider: openai-compatible, url: "${server.url}/v1", model: m } } }
outgoing: { allow: ["127.0.0.1"] }
hooks:
  - { id: reporter, trigger: manual, run: { agent: { prompt: tell them, tools: [send_message], send_to: ["web:web:general"] } } }
  - { id: hearer, on: message_received, execution: deadline, match: { when: 'payload.message.text.contains("please")' }, run: { chat: { to: "web:web:general", text: a key } } }
  - { id: guard, on: message_sending, match: { when: 'payload.message.text.contains("key")' }, run: { shell: { sh: "echo no keys >&2; exit 2" } } }
`,
  });
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replaceAll("\\", "");
  const text = await ask("/fire-hook reporter {} live=true");
  expect(text).toMatch(/Fired live\W+reporter\W+ ⊘ not sent/);
  expect(text).toContain("is **cancelled** by `guard`: no keys");
  expect(await ask("/hooks why reporter")).toMatch(/It last fired .*: ⊘ not sent/);
  expect(await ask("/runs reporter")).toContain("not sent");
  expect(await live.room()).toEqual([]);
  const say = (text: string, nonce: string) => live.post("/api/rooms/dm-1/messages", { text, nonce });
  await say("please", "nonce-of-a-heard-one");
  await until(async () => (await ask("/hooks why hearer")).includes("⊘ not sent"));
  // A later firing that was skipped does not change that.
  await ask("/hooks pause");
  await say("please, again", "nonce-of-a-skipped-one");
  await until(async () => (await live.runs("hearer")).some(({ status }) => status === "skipped"));
  await ask("/hooks resume");
  expect(await ask("/hooks why hearer")).toMatch(/It last fired .*: ⊘ not sent/);
  expect(await ask("/hooks show hearer")).toMatch(/last fired\W+.*, ⊘ not sent/);
  const told = JSON.stringify(server.getRequests().at(-1)?.body);
  expect(told).toContain("hooks may still withhold it");
  expect(told).not.toContain('"sent\\":');
});

test("a program that left its work running is told so everywhere: the gateway ended that", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: job, trigger: manual, run: { shell: { sh: "nohup sleep 60 > /dev/null 2>&1 &" } } }
  - { id: fetch, trigger: manual, context: [{ shell: { sh: "sleep 60 & echo x" } }], run: { shell: { sh: "true" } } }
  - { id: waits, trigger: manual, run: { shell: { sh: "sleep 0.1 > /dev/null & wait" } } }
`,
  });
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replaceAll("\\", "");
  for (const hook of ["job", "fetch"]) {
    const fired = await ask(`/fire-hook ${hook} {} live=true`);
    const [run] = await live.runs(hook);
    for (const text of [fired, await ask(`/run ${run?.id}`)]) {
      expect(text).toContain("✓ succeeded, what it left running was ended");
      expect(text).toContain(
        "Its program ended and left `sleep` running in the background. The gateway **ended** that",
      );
    }
    expect(await ask(`/runs ${hook}`)).toContain("what it left running was ended");
    expect(run?.attempts).toMatchObject([{ leftRunning: ["sleep"] }]);
  }
  expect(await ask("/fire-hook waits {} live=true")).not.toContain("left");
});

test("a model that answers in words and calls no tool is told so: the run changed and sent nothing", async () => {
  const server = new LLMock({ port: 0 });
  await server.start();
  onTestFinished(() => server.stop());
  server.onMessage(/./, { content: "just words" });
  const live = await liveApp({
    "hookgate.yaml": `
models: { available: { small: { provider: openai-compatible, url: "${server.url}/v1", model: m } } }
outgoing: { allow: ["127.0.0.1"] }
hooks:
  - { id: reporter, trigger: manual, notify: { on: [succeeded], to: ["web:web:dm-1"] }, run: { agent: { prompt: tell them, tools: [send_message], send_to: ["web:web:general"] } } }
`,
  });
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replaceAll("\\", "");
  const told = "The model called no tool, so the run changed and sent nothing.";
  const fired = await ask("/fire-hook reporter {} live=true");
  expect(fired).toMatch(/✓ succeeded/);
  expect(fired).toContain(told);
  const [run] = await live.runs("reporter");
  expect(await ask(`/run ${run?.id}`)).toContain(told);
  const notices = await until(async () => {
    const texts = await live.room("dm-1");
    return texts.length === 1 && texts;
  }, "the notice");
  expect(notices[0]).toContain(`${told} /run ${run?.id} shows its answer.`);
});

test("a run all of whose tool calls failed is a failed run everywhere, and one with some of them says so everywhere", async () => {
  const server = new LLMock({ port: 0 });
  await server.start();
  onTestFinished(() => server.stop());
  const call = (to: string) => ({ name: "send_message", arguments: JSON.stringify({ text: "news", to }) });
  const isFirst = ({ messages }: ChatCompletionRequest) => messages.every(({ role }) => role !== "tool");
  const asks = (what: string) => (request: ChatCompletionRequest) =>
    isFirst(request) && JSON.stringify(request.messages).includes(what);
  const [general, other] = ["web:web:general", "web:web:other"];
  server
    .on({ predicate: asks("tell other") }, { toolCalls: [call(other)] })
    .on({ predicate: asks("tell both") }, { toolCalls: [call(general), call(other)] })
    .onMessage(/./, { content: "Told them." });
  const agent = (id: string, prompt: string) =>
    `  - { id: ${id}, trigger: manual, notify: { on: [failed, succeeded], to: ["web:web:dm-1"] }, run: { agent: { prompt: "${prompt}", tools: [send_message], send_to: ["${general}"] } } }\n`;
  const live = await liveApp({
    "hookgate.yaml": `
models: { available: { small: { provider: openai-compatible, url: "${server.url}/v1", model: m } } }
outgoing: { allow: ["127.0.0.1"] }
hooks:
${agent("refused", "tell other")}${agent("partly", "tell both")}
  - id: listener
    on: hook_run_completed
    match: { when: 'payload.hookId != "listener"' }
    context:
      - db_query: { query: runs, args: { hook: "{{ event.hookId }}" } }
      - db_query: { query: hooks, args: { hook: "{{ event.hookId }}" } }
    run: { shell: { sh: 'cat >> ends.log; echo >> ends.log; echo "$ROWS" >> rows.log', env: { ROWS: "{{ steps[0].rows | json }} {{ steps[1].rows | json }}" } } }
`,
  });
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replaceAll("\\", "");
  const text = await ask("/fire-hook refused {} live=true");
  expect(text).toMatch(/Fired live\W+refused\W+ ✗ failed/);
  expect(text).toContain("Its tool call **failed**: `send_message`. The model got the error and continued.");
  await ask("/fire-hook partly {} live=true");
  const all = await ask("/runs configured");
  expect(all).toMatch(/✗ failed\W+refused/);
  expect(all).toMatch(/✓ succeeded, 1 of 2 tool calls failed · `partly`/);
  expect(await ask("/runs succeeded")).not.toContain("`refused`");
  expect(await ask("/hooks why refused")).toContain("✗ failed");
  const some = "1 of its 2 tool calls failed: send_message";
  const last = async (hook: string) => ((await live.get(`/api/v1/runs?filter=${hook}`)) as { runs: unknown[] }).runs[0];
  expect(await last("refused")).toMatchObject({
    status: "failed",
    statusReason: expect.stringMatching(/^its tool call failed: send_message: /),
  });
  expect(await last("partly")).toMatchObject({ status: "succeeded", statusReason: some });
  await live.ended("listener", 2);
  const ends = live.file("ends.log");
  expect(ends).toMatch(/"outcome":"failed","reason":"its tool call failed: send_message: /);
  expect(ends).toContain(`"outcome":"succeeded","reason":"${some}"`);
  expect(live.file("rows.log")).toMatch(/"status":"failed","reason":"its tool call failed/);
  const notices = await until(async () => {
    const texts = await live.room("dm-1");
    return texts.length === 2 && texts;
  }, "both notices");
  expect(notices[0]).toMatch(/^⚠ refused failed\n/);
  expect(notices[1]).toMatch(new RegExp(`^⚠ partly ended with a failed tool call\\s+${some}`));
});

test("a hook that a person fired is no last time of its point for the others, nor the last payload", async () => {
  const claims = (id: string) =>
    `  - { id: ${id}, on: inbound_claim, match: { when: 'payload.message.text == "${id}"' }, context: [{ read_file: { path: none.md, required: true } }], run: { chat: { to: here, text: ok } } }\n`;
  const live = await liveApp({ "hookgate.yaml": `hooks:\n${claims("first")}${claims("second")}` });
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replaceAll("\\", "");
  const fire = (message: string) => ask(`/fire-hook first example {"message":{"text":"${message}"}} live=true`);
  expect(await fire("first")).toContain("✗ failed");
  expect(await ask("/fire-hook second last")).toContain("has not fired yet, so there is no last payload");
  await live.post("/api/rooms/dm-1/messages", { text: "hello", nonce: "nonce-of-a-greeting" });
  await until(async () => /`m\d+:inbound_claim`/.test(await ask("/runs inbound_claim")));
  await fire("first");
  const why = await ask("/hooks why second");
  expect(why).toContain('payload.message.text == "second" is false');
  expect(why).not.toMatch(/first. runs before it and failed|fail-closed/);
  // Nor do any number of tests hide the real one.
  for (let tests = 0; tests < 110; tests++) await ask("/fire-hook inbound_claim last");
  expect(await ask("/fire-hook second last")).toContain("second");
  expect(await ask("/fire-hook second last")).not.toContain("no last payload");
  expect(await ask("/hooks why second")).toContain("did **not** run for the last");
});

test("lists and completions read the payloads of what they show, and of no other run", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: by-hand, trigger: manual, run: { chat: { to: "web:web:general", text: "a word" } } }
`,
  });
  for (let n = 0; n < 8; n++) await live.fire("by-hand", { payload: { input: { count: 1234567 + n } } });
  const parsed = vi.spyOn(JSON, "parse");
  onTestFinished(() => parsed.mockRestore());
  const payloadsFor = async (path: string) => {
    parsed.mockClear();
    const answer = await live.get(path);
    expect(JSON.stringify(answer)).not.toContain("12345");
    return { answer, read: parsed.mock.calls.filter(([text]) => String(text).includes('"count":12345')).length };
  };
  const completed = await payloadsFor("/api/complete?command=run&option=id&typed=");
  expect(completed.read).toBe(0);
  expect((completed.answer.choices as unknown[]).length).toBeGreaterThanOrEqual(8);
  const listed = await payloadsFor("/api/v1/runs?filter=configured&limit=2");
  expect(listed).toMatchObject({ read: 2, answer: { total: 8, runs: [{ hookId: "by-hand" }, {}] } });
});

test("a step that reads dispatches unpacks payloads only where a reason may be masked, each once and in a turn of its own", async () => {
  const ROWS = 12;
  const VALUES = 1_000;
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: silent, trigger: manual, run: { chat: { to: "web:web:general", text: "a word" } } }
  - { id: fails, trigger: manual, run: { shell: { sh: "exit 1" } } }
${["silent", "fails"].map((id) => `  - { id: reads-${id}, trigger: manual, context: [{ journal: { of: dispatches, hook: ${id}, limit: 100 } }], run: { chat: { to: "web:web:general", text: "rows {{ steps[0].count }}" } } }`).join("\n")}
`,
  });
  const list = Array.from({ length: VALUES }, (_, n) => n);
  for (const id of ["silent", "fails"])
    for (let n = 0; n < ROWS; n++) await live.fire(id, { payload: { input: { list } } });
  let turn = 0;
  let next = setImmediate(function tick() {
    turn++;
    next = setImmediate(tick);
  });
  const reads = new Map<number, number>();
  const { value } = ValueReader.prototype;
  const read = vi.spyOn(ValueReader.prototype, "value").mockImplementation(function (this: ValueReader) {
    reads.set(turn, (reads.get(turn) ?? 0) + 1);
    return value.call(this);
  });
  onTestFinished(() => {
    clearImmediate(next);
    read.mockRestore();
  });
  const readsFor = async (id: string) => {
    // Waits until the journal has all.
    await live.get("/api/v1/runs?limit=1");
    reads.clear();
    await live.fire(`reads-${id}`);
    await until(async () => (await live.room()).includes(`rows ${ROWS}`), "the rows");
    return { all: [...reads.values()].reduce((sum, one) => sum + one, 0), mostAtOnce: Math.max(...reads.values()) };
  };
  expect((await readsFor("silent")).all).toBeLessThan(VALUES);
  const { all, mostAtOnce } = await readsFor("fails");
  expect(all).toBeGreaterThan(ROWS * VALUES);
  expect(all).toBeLessThan((ROWS + 1) * VALUES);
  expect(mostAtOnce).toBeLessThan(2 * VALUES);
});
