/** What a run shows when its dispatch refuses, overrules or cannot carry what it decided. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { BOB, OWNER, runApp } from "../http/running-app.js";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { liveApp } from "./support/live-app.js";

const prints = (value: object) => `run: { shell: { command: [echo, '${JSON.stringify(value)}'] } }`;
const patches = (patch: object) => prints({ decision: "modify", patch });

test("a modify that the point refuses is a failed run with the reason, whatever the failure policy", async () => {
  const refused = {
    misspelt: { txt: "y" },
    type: { message: { text: 5 } },
    inner: { message: { txt: "y" } },
    chat: { chatId: "other" },
  };
  const hooks = Object.entries(refused).map(
    ([id, patch]) => `  - { id: ${id}, on: message_sending, ${patches(patch)} }\n`,
  );
  const live = await liveApp({
    "hookgate.yaml": `hooks:\n${hooks.join("")}
  - { id: back, on: message_sending, match: { when: 'payload.message.text == "hello"' }, on_failure: fallback, fallback: { message: { text: stood in } }, ${patches({ txt: "y" })} }
  - { id: shut, on: message_sending, match: { when: 'payload.message.text.contains("held")' }, on_failure: closed, notify: { to: ["web:web:general"], on: [failed] }, ${patches({ txt: "y" })} }
  - { id: done, on: hook_run_completed, match: { hooks: [misspelt] }, run: { shell: { command: [echo, "{{ event.outcome }}"] } } }
  - { id: status, on: "task:create", phase: before, ${patches({ status: "done" })} }
  - { id: title, on: "task:create", phase: before, ${patches({ titel: "y" })} }
`,
  });
  const send = (text: string) =>
    live.app.gateway.send(
      { platform: "web", botId: "web", chatId: "general" },
      { text },
      { cause: { kind: "api", id: "t", depth: 0 } },
    );
  await send("hello");
  const reasons = {
    misspelt: /no field "txt"/,
    type: /message\.text/,
    inner: /no field "message\.txt"/,
    chat: /chatId/,
  };
  for (const [id, reason] of Object.entries({ ...reasons, back: /no field "txt"/ })) {
    const run = await live.ended(id);
    expect([id, run.status, run.statusReason]).toEqual([id, "failed", expect.stringMatching(reason)]);
    expect(run.statusReason).not.toMatch(/Invalid input/);
    expect(run.attempts[0]?.error).toMatch(reason);
  }
  expect((await live.ended("done")).attempts[0]?.output).toMatchObject({ stdout: "failed\n" });
  await until(async () => (await live.room()).includes("stood in"), "the fallback");
  await send("held");
  expect(await live.ended("shut")).toMatchObject({ status: "failed" });
  await until(async () => (await live.room()).some((text) => text.includes("shut")), "the notice");
  await live.post("/api/command", { line: "/task add owner hello" });
  expect(await live.ended("status")).toMatchObject({ status: "failed", statusReason: expect.stringMatching(/status/) });
  expect(await live.ended("title")).toMatchObject({ status: "failed", statusReason: expect.stringMatching(/titel/) });
});

test("a decision with a field that does not exist is a failed run that names the nearest field", async () => {
  const live = await liveApp({
    "hookgate.yaml": `hooks:\n  - { id: misspelt, on: inbound_claim, ${prints({ decision: "claim", replay: "oops" })} }\n`,
  });
  await live.say("hello");
  expect(await live.ended("misspelt")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining('there is no field "replay" (did you mean "reply"?)'),
  });
});

test("JSON that is nested too deep is a failed run with the reason as a decision, and where it is read as a step's JSON", async () => {
  const live = await liveApp({
    "hookgate.yaml": `hooks:
  - { id: decides, on: message_sending, run: { shell: { command: [cat, deep.json] } } }
  - { id: reads, on: message_sent, context: [{ read_file: { path: deep.json } }], run: { shell: { command: [echo, "json: {{ steps[0].json }}"] } } }
`,
    "deep.json": `{"decision":"modify","patch":{"message":{"card":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}}}`,
  });
  await live.app.gateway.send(
    { platform: "web", botId: "web", chatId: "general" },
    { text: "hello" },
    { cause: { kind: "api", id: "t", depth: 0 } },
  );
  expect(await live.ended("decides")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining("it is nested deeper than 100 levels"),
  });
  expect(await live.ended("reads")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining("steps[0] brought no JSON: the output is nested deeper than 100 levels"),
  });
  expect(await live.room()).toContain("hello");
});

test("what reads the JSON of a step that brought none fails the run, and nothing of it goes out", async () => {
  const hook = (id: string, file: string, run: string, more = "", then = "") =>
    `  - { id: ${id}, trigger: manual, context: [{ read_file: { path: ${file}${more} } }${then}], run: { chat: { to: "web:web:general", text: "${id} ${run}" } } }\n`;
  const json = "{{ steps[0].json.version }}";
  const removes = ', { shell: { command: [sh, -c, "touch removed", "{{ steps[0].json.id }}"] } }';
  const live = await liveApp({
    "hookgate.yaml": `hooks:
${hook("page", "page.html", json)}${hook("broken", "broken.json", json)}${hook("empty", "empty.json", json)}${hook("cut", "good.json", json, ", max_bytes: 9")}
${hook("assigned", "page.html", "{% assign v = steps[0].json.version %}{{ v }}")}${hook("asked", "page.html", "{% if steps[0].json.version == 1 %}{% endif %}well")}
${hook("later", "page.html", "removed", "", removes)}${hook("condition", "page.html", "new", ", skip_if: step.json.version == '1'")}
${hook("default", "page.html", "{{ step_0.json.version | default: 'none' }}")}${hook("has", "page.html", "none", ", skip_if: has(step.json)")}${hook("text", "page.html", "{{ steps[0].text }}")}${hook("good", "good.json", json)}`,
    "page.html": "<html>Please log in</html>",
    "broken.json": '{"version":"1"',
    "empty.json": "\n",
    "good.json": '{"version":"1"}',
  });
  const none = "steps[0] brought no JSON: the output";
  const page = `${none} is a page (HTML or XML)`;
  const reasons = {
    page: `text: ${page}`,
    broken: `${none} is other text`,
    empty: `${none} is empty`,
    cut: `${none} was cut at 9 bytes, so raise \`max_bytes\` of the step`,
    assigned: page,
    asked: page,
    later: `steps[1] shell: command[3]: ${page}`,
    condition: `steps[0] read_file: step.json.version == '1': ${page}`,
  };
  for (const [id, reason] of Object.entries(reasons))
    expect(await live.fire(id)).toMatchObject({ status: "failed", statusReason: expect.stringContaining(reason) });
  for (const id of ["default", "has", "text", "good"])
    expect(await live.fire(id), id).toMatchObject({ status: "succeeded" });
  await until(async () => (await live.room()).length === 4, "four messages");
  expect(await live.room()).toEqual(["default none", "has none", "text <html>Please log in</html>", "good 1"]);
  expect(() => live.file("removed")).toThrow();
});

test("what reads the JSON of a step that failed, or a field of null, fails the run, and nothing of it goes out", async () => {
  const hook = (id: string, file: string, run: string, more = "", then = "") =>
    `  - { id: ${id}, trigger: manual, context: [{ read_file: { path: ${file}${more} } }${then}], run: { chat: { to: "web:web:general", text: "${id} ${run}" } } }\n`;
  const json = "{{ steps[0].json.version }}";
  const asked = "{% if steps[0].json.errors > 0 %}errors{% else %}all is well{% endif %}";
  const removes = ', { shell: { command: [sh, -c, "touch removed", "{{ steps[0].json.id }}"] } }';
  const live = await liveApp({
    "hookgate.yaml": `hooks:
${hook("down", "gone.json", json)}${hook("down-if", "gone.json", asked)}${hook("down-unless", "gone.json", "{% unless steps[0].json.ok %}bad{% endunless %}")}
${hook("down-case", "gone.json", "{% case step_0.json.state %}{% when 'bad' %}bad{% else %}all is well{% endcase %}")}
${hook("down-assign", "gone.json", "{% assign j = steps[0].json %}{% if j.errors > 0 %}errors{% endif %}")}${hook("down-later", "gone.json", "removed", "", removes)}
${hook("null-field", "null.json", json)}${hook("null-if", "null.json", asked)}${hook("null-later", "null.json", "removed", "", removes)}
${hook("down-error", "gone.json", "{% if steps[0].error %}down{% elsif steps[0].json.errors > 0 %}errors{% endif %}")}${hook("down-default", "gone.json", "{{ steps[0].json.version | default: 'none' }}")}
${hook("null-default", "null.json", "{{ steps[0].json.version | default: 'none' }}")}${hook("null-whole", "null.json", "{% if steps[0].json == nil %}nothing{% endif %}{{ steps[0].json }}{{ steps[0].json | json }}")}
${hook("null-skip", "null.json", "new", ", skip_if: step.json == null")}${hook("missing", "good.json", asked)}`,
    "null.json": "null",
    "good.json": '{"version":"1"}',
  });
  const failed = "steps[0] brought no JSON: the step failed: there is no gone.json";
  const isNull = "steps[0] brought no JSON: the output is null, which has no fields";
  const reasons = {
    ...{ down: failed, "down-if": failed, "down-unless": failed, "down-case": failed, "down-assign": failed },
    "down-later": `steps[1] shell: command[3]: ${failed}`,
    ...{ "null-field": isNull, "null-if": isNull },
    "null-later": `steps[1] shell: command[3]: ${isNull}`,
  };
  for (const [id, reason] of Object.entries(reasons))
    expect([id, await live.fire(id)]).toMatchObject([
      id,
      { status: "failed", statusReason: expect.stringContaining(reason) },
    ]);
  for (const id of ["down-error", "down-default", "null-default", "null-whole", "missing"])
    expect(await live.fire(id), id).toMatchObject({ status: "succeeded" });
  expect(await live.fire("null-skip")).toMatchObject({ status: "skipped" });
  const said = ["down-error down", "down-default none", "null-default none", "null-whole nothingnull"];
  await until(async () => (await live.room()).length === 5, "five messages");
  expect(await live.room()).toEqual([...said, "missing all is well"]);
  expect(() => live.file("removed")).toThrow();
});

test("what compares a field of a step that failed, or numbers of tests that could not be read, fails the run; what prints one shows the reason", async () => {
  const steps = {
    slow: 'run_tests: { command: [sh, -c, "sleep 30"], timeout: 1s }',
    lost: 'run_tests: { command: [sh, -c, "exit 1"], report: r.xml }',
    crash: 'run_tests: { command: [sh, -c, "exit 1"] }',
    killed: "shell: { sh: 'kill -9 $$' }",
    count: "list_files: { path: none }",
    http: 'http: { url: "http://127.0.0.1:1/" }',
    read: "read_file: { path: none.cfg }",
    diff: "file_diff: { path: none.cfg, against: null.json }",
  };
  const hook = (id: string, step: keyof typeof steps, text: string, then = "") =>
    `  - { id: ${id}, trigger: manual, context: [{ ${steps[step]} }${then}], run: { chat: { to: "web:web:general", text: "${id} ${text}" } } }\n`;
  const either = (condition: string) => `{% if ${condition} %}RED{% else %}green{% endif %}`;
  const none = ["steps[0].text has no value: the step failed: there is no none.cfg", ""] as const;
  const refused: Record<string, readonly [reason: string, text: string, step?: keyof typeof steps]> = {
    slow: ["steps[0].failed has no value: the step failed: ", either("steps[0].failed > 0")],
    lost: ["steps[0].failed has no value: the step failed: ", either("steps[0].failed > 0")],
    crash: ["the command exited with 1", either("steps[0].failed > 0")],
    killed: ["the program was ended by SIGKILL", either("steps[0].exitCode > 0")],
    count: ["steps[0].count has no value: the step failed: ", either("steps[0].count > 0")],
    http: ["steps[0].status has no value: the step failed: ", either("steps[0].status >= 500")],
    read: [none[0], either("steps[0].text contains 'prod'")],
    diff: ["steps[0].added has no value: the step failed: ", either("step_0.added > 0")],
    "read-unless": [none[0], "{% unless steps[0].text contains 'prod' %}green{% endunless %}", "read"],
    "read-elsif": [none[0], "{% if 1 == 2 %}{% elsif steps[0].text == 'prod' %}{% else %}green{% endif %}", "read"],
    "read-case": [none[0], "{% case steps[0].text %}{% when 'prod' %}RED{% else %}green{% endcase %}", "read"],
    "read-assign": [
      none[0],
      "{% assign t = steps[0].text | downcase %}{% if t contains 'prod' %}RED{% endif %}",
      "read",
    ],
    "read-capture": [
      none[0],
      "{% capture t %}{{ steps[0].text }}{% endcapture %}{% if t == 'prod' %}RED{% endif %}",
      "read",
    ],
    "read-size": [none[0], "{{ steps[0].text | size }}", "read"],
    "read-output": [none[0], "{{ steps[0].text == 'prod' }}", "read"],
    "count-for": [
      "steps[0].files has no value",
      "{% for f in steps[0].files %}{{ f.path }}{% else %}none{% endfor %}",
      "count",
    ],
    "count-map": ["steps[0].count has no value", "{% assign n = steps | map: 'count' %}{{ n | first }}", "count"],
  };
  const printed: Record<string, readonly [said: string, text: string, step: keyof typeof steps]> = {
    plain: ["[step 0 failed: there is no none.cfg]", "{{ steps[0].text | strip | upcase | downcase }}", "read"],
    deep: ["[step 0 failed: there is no none]", "{{ steps[0].files[0].path }}", "count"],
    tests: [
      "[step 0: no known runner in its output, and the command exited with 1] 1",
      "{{ steps[0].failed }} {{ steps[0].exitCode }}",
      "crash",
    ],
    names: [
      "RED 1 no known runner in its output, and the command exited with 1",
      `${either("steps[0].failures.size > 0")} {{ steps[0].failures | size }} {% for n in steps[0].failures %}{{ n }}{% else %}none{% endfor %}`,
      "crash",
    ],
    asked: ["down", either("steps[0].ok").replace("green", "down"), "http"],
    known: ["false false false", "{{ steps[0].ok }} {{ steps[0].timedOut }} {{ steps[0].empty }}", "read"],
    whole: [
      '[{"ok":false,"empty":false,"error":"there is no none.cfg","timedOut":false}]',
      "{{ steps | json }}",
      "read",
    ],
  };
  const live = await liveApp({
    "hookgate.yaml": `outgoing: { allow: ["127.0.0.1"] }\nhooks:\n${Object.entries(refused)
      .map(([id, [, text, step]]) => hook(id, step ?? (id as keyof typeof steps), text))
      .join("")}${Object.entries(printed)
      .map(([id, [, text, step]]) => hook(id, step, text.replaceAll('"', '\\"')))
      .join(
        "",
      )}${hook("later", "count", "removed", `, { shell: { sh: touch removed, env: { N: "${either("steps[0].count > 0")}" } } }`)}`,
    "null.json": "null",
  });
  for (const [id, [reason]] of Object.entries(refused))
    expect([id, await live.fire(id)]).toMatchObject([
      id,
      { status: "failed", statusReason: expect.stringContaining(reason) },
    ]);
  expect(await live.fire("later")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining("steps[1] shell: env.N: steps[0].count"),
  });
  for (const id of Object.keys(printed)) expect([id, await live.fire(id)]).toMatchObject([id, { status: "succeeded" }]);
  await until(async () => (await live.room()).length === Object.keys(printed).length, "what is printed");
  expect(await live.room()).toEqual(Object.entries(printed).map(([id, [said]]) => `${id} ${said}`));
  expect(() => live.file("removed")).toThrow();
});

test("the condition that the documents give for a server tells each of its outages, one with JSON among them", async () => {
  const [, pattern = ""] =
    /`(\{% unless steps\[0\]\.ok %\}down.*?\{% endunless %\})`/.exec(readFileSync("docs/hooks.md", "utf8")) ?? [];
  const server = createServer(({ url = "" }, answer) =>
    answer
      .writeHead(Number(url.slice(1, 4)), { "content-type": "application/json" })
      .end(url.slice(4) === "e" ? '{"errors":2}' : '{"x":1}'),
  );
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  afterTest(() => server.close());
  const { port } = server.address() as AddressInfo;
  const urls = { bad: `${port}/503`, gone: "1/", few: `${port}/200e`, good: `${port}/200` };
  const hooks = Object.entries(urls).map(
    ([id, url]) =>
      `  - { id: ${id}, trigger: manual, context: [{ http: { url: "http://127.0.0.1:${url}" } }], run: { chat: { to: "web:web:general", text: "${id}: ${pattern.replace("…", "errors{% else %}fine")}" } } }\n`,
  );
  const live = await liveApp({ "hookgate.yaml": `outgoing: { allow: ["127.0.0.1"] }\nhooks:\n${hooks.join("")}` });
  for (const id of Object.keys(urls)) expect(await live.fire(id), id).toMatchObject({ status: "succeeded" });
  await until(async () => (await live.room()).length === 4, "four messages");
  expect(await live.room()).toEqual(["bad: down", "gone: down", "few: errors", "good: fine"]);
});

test("a value that an earlier hook overruled is no success", async () => {
  const sets = (text: string) => `sees: original, ${patches({ message: { text } })}`;
  const live = await liveApp({
    "hookgate.yaml": `hooks:\n  - { id: first, on: message_sending, ${sets("one")} }\n  - { id: second, on: message_sending, ${sets("two")} }\n`,
  });
  await live.app.gateway.send(
    { platform: "web", botId: "web", chatId: "general" },
    { text: "hello" },
    { cause: { kind: "api", id: "t", depth: 0 } },
  );
  expect(await live.ended("first")).toMatchObject({ status: "succeeded" });
  expect(await live.ended("second")).toMatchObject({
    status: "skipped",
    statusReason: expect.stringMatching(/^overruled: "first" set message before it/),
  });
  await until(async () => (await live.room()).includes("one"), "the message");
});

test("a block where nothing can be blocked is a failed run", async () => {
  const block = `run: { shell: { sh: "echo no >&2; exit 2" } }`;
  const live = await liveApp({
    "hookgate.yaml": `hooks:\n  - { id: void, on: message_received, ${block} }\n  - { id: aside, on: inbound_claim, execution: background, ${block} }\n`,
  });
  await live.say("hello");
  expect(await live.ended("void")).toMatchObject({
    status: "failed",
    statusReason: "a hook cannot block at message_received",
  });
  expect(await live.ended("aside")).toMatchObject({
    status: "failed",
    statusReason: "block has no effect here: nothing waits for a hook that is background",
  });
});

test("the note that no hook answered is left out where a hook in the background may answer, and only there", async () => {
  const hook = (on: string, word: string, run: string) =>
    `  - { id: ${word}, on: ${on}, execution: background, match: { when: 'payload.message.text == "${word}"' }, run: ${run} }\n`;
  const chat = (word: string) => `{ chat: { to: here, text: answer to ${word} } }`;
  const live = await liveApp({
    "hookgate.yaml": `hooks:
${hook("message_received", "one", chat("one"))}${hook("inbound_claim", "two", chat("two"))}${hook("message_received", "notes", "{ shell: { command: [sleep, '1'] } }")}${hook("message_received", "fails", "{ shell: { command: ['false'] } }")}${hook("message_received", "elsewhere", "{ chat: { to: 'web:web:general', text: seen } }")}`,
  });
  const note = "No hook answered.";
  const texts = () => live.room("dm-1");
  const notes = async () => (await texts()).filter((text) => text.startsWith(note)).length;
  const say = (text: string) => live.post("/api/rooms/dm-1/messages", { text, nonce: `nonce-${text}` });
  for (const text of ["one", "two"]) {
    await say(text);
    await until(async () => (await texts()).includes(`answer to ${text}`), "the answer");
    const reason = new RegExp(`no note was sent( yet: the hook ${text} had not finished|: the hook ${text} answered)`);
    await until(
      async () => reason.test(String((await live.post("/api/command", { line: "/hooks why last" })).text)),
      `why no note was sent for ${text}`,
    );
  }
  expect(await notes()).toBe(0);
  for (const [index, text] of ["notes", "fails", "elsewhere", "three"].entries()) {
    await say(text);
    await until(async () => (await notes()) === index + 1, `the note to "${text}"`);
  }
});

test("the card of a mission that a hook starts here counts as the answer, however that hook is run", async () => {
  const hook = (id: string, on: string, more = "") =>
    `  - { id: ${id}, on: ${on}, match: { when: 'payload.message.text == "${id}"' }, run: { mission: { plan: release, at: here } }${more} }\n`;
  const live = await liveApp({
    "missions/release.yaml": `title: Release\ngroups: [{ name: a, tasks: [{ id: t, assignTo: "person:web:1" }] }]`,
    "hookgate.yaml": `hooks:\n${hook("claims", "inbound_claim")}${hook("later", "inbound_claim", ", execution: background")}${hook("reads", "message_received")}`,
  });
  const cards = async () => (await live.room("dm-1")).filter((text) => text.includes("Mission Release"));
  for (const [index, id] of ["claims", "later", "reads"].entries()) {
    await live.post("/api/rooms/dm-1/messages", { text: id, nonce: `nonce-of-${id}` });
    const why = async () => String((await live.post("/api/command", { line: "/hooks why last" })).text);
    await until(async () => (await why()).includes(`no note was sent: the hook ${id} answered`), `the answer to ${id}`);
    expect(await cards()).toHaveLength(index + 1);
  }
  expect((await live.room("dm-1")).filter((text) => text.startsWith("No hook answered."))).toEqual([]);
});

test("the note waits a moment for a plugin's hook in the background, which may answer and does not", async () => {
  const live = await liveApp({
    "hookgate.yaml": "plugins: [./looks.mjs]\n",
    "looks.mjs": `export default { id: "looks", setup(api) {
      api.hooks.registerVoid("message_received", () => new Promise((done) => setTimeout(done, 150)), { execution: "background" });
    } };`,
  });
  await live.post("/api/rooms/dm-1/messages", { text: "anybody?", nonce: "nonce-anybody" });
  await until(async () => (await live.room("dm-1")).some((text) => text.startsWith("No hook answered.")), "the note");
});

test("what a plugin's hook sent in answer counts as the answer, however that hook is run", async () => {
  const live = await liveApp({
    "hookgate.yaml": "plugins: [./greets.mjs]\n",
    "greets.mjs": `export default { id: "greets", setup(api) {
      for (const execution of ["blocking", "fire_and_record", "background"])
        api.hooks.registerVoid("message_received", async ({ message }) => {
          if (message.text !== execution) return;
          await new Promise((done) => setTimeout(done, 150));
          await api.send(message, { text: "answer to " + execution });
        }, { id: execution, ...(execution === "blocking" ? {} : { execution }) });
    } };`,
  });
  const texts = () => live.room("dm-1");
  for (const text of ["blocking", "fire_and_record", "background"]) {
    await live.post("/api/rooms/dm-1/messages", { text, nonce: `nonce-of-${text}` });
    await until(async () => (await texts()).includes(`answer to ${text}`), "the answer");
    await until(
      async () =>
        /no note was sent: the plugin greets answered/.test(
          String((await live.post("/api/command", { line: "/hooks why last" })).text),
        ),
      `why no note was sent for ${text}`,
    );
  }
  expect((await texts()).filter((text) => text.startsWith("No hook answered."))).toEqual([]);
});

test("the note that was left out for a hook in the background is decided when that hook has ended, also after a stop", async () => {
  const yaml = "gateway: { shutdown_timeout: 1s }\nplugins: [./model.mjs]\n";
  const live = await liveApp({ "hookgate.yaml": yaml }, { start: false });
  live.write(
    "model.mjs",
    `import { existsSync } from "node:fs";
    export default { id: "model", setup(api) {
      api.hooks.registerVoid("message_received", async ({ message }) => {
        while (!existsSync(${JSON.stringify(live.folder)} + "/" + message.text)) await new Promise((done) => setTimeout(done, 20));
        if (message.text === "fails") throw new Error("the model answered 500");
        await api.send(message, "answer to " + message.text);
      }, { id: "answer", execution: "background", timeoutMs: 300_000 });
    } };`,
  );
  await live.start();
  const why = async (id: string) =>
    String((await live.post("/api/command", { line: `/hooks why ${id}` })).text).replace(/[*`]/g, "");
  const says = (id: string, text: string) =>
    until(
      async () => (await why(id)).includes(text),
      () => `${id}: ${text}`,
    );
  const notes = async () => (await live.room("dm-1")).filter((text) => text.startsWith("No hook answered."));
  const waiting = "no note was sent yet: the hook model.answer had not finished";
  for (const text of ["answers", "fails", "stopped"])
    await live.post("/api/rooms/dm-1/messages", { text, nonce: `nonce-of-${text}` });
  for (const id of ["m1", "m2", "m3"]) await says(id, waiting);
  live.write("answers", "");
  await says("m1", "no note was sent: the plugin model answered");
  live.write("fails", "");
  await until(async () => (await notes()).length === 1, "the note to the message whose hook failed");
  expect(await why("m2")).not.toContain("no note was sent");
  expect(await notes()).toEqual([expect.stringContaining("/hooks why m2")]);
  await live.stop();
  await live.start();
  await until(async () => (await notes()).length === 2, "the note to the message whose hook was stopped");
  expect((await notes())[1]).toContain("/hooks why m3");
});

test("the note to a person without a role waits for a hook in the background as well, and what gets no note waits for nothing", async () => {
  const hook = (text: string, sleepS: number) => ({
    id: `after-${text.slice(1)}`,
    on: "message_received",
    execution: "background",
    match: { when: `payload.message.text == "${text}"` },
    context: [{ shell: { command: ["sleep", String(sleepS)], timeout: "1m", skip_if: "exit_zero" } }],
    run: { chat: { to: "here", text: "never" } },
  });
  const app = await runApp({ hooks: [hook("/start", 0.15), hook("hello", 3)] }, { PATH: String(process.env.PATH) });
  afterTest(() => app.close());
  const say = (text: string) =>
    app.call(BOB, "POST", "/api/rooms/dm-2/messages", { text, nonce: `nonce-of-the-${text.replace("/", "")}` });
  const room = async () => (await app.call(BOB, "GET", "/api/rooms/dm-2/messages")).body.messages as { text: string }[];
  await say("/start");
  await until(async () => (await room()).some(({ text }) => text.includes("an automatic account")), "the note");
  await say("hello");
  const why = async () =>
    (await app.call(OWNER, "POST", "/api/command", { line: "/hooks why m2" })).body.text as string;
  await until(async () => (await why()).includes("no hook claimed it"), "the end of the message");
  expect(await why()).not.toContain("no note was sent");
});

test("a fallback that forwards to a platform that is off gives the message up, and the next one is answered", async () => {
  const fallback = "{ handled: true, routeTo: { platform: discord, botId: '1', chatId: '5' } }";
  const live = await liveApp({
    "hookgate.yaml": `gateway: { inbox_attempts: 1 }
hooks:
  - { id: route, on: inbound_claim, match: { when: 'payload.message.text == "route"' }, on_failure: fallback, fallback: ${fallback}, run: { shell: { sh: "exit 1" } } }
  - { id: hi, on: inbound_claim, match: { when: 'payload.message.text == "hi"' }, ${prints({ decision: "claim", reply: "hi yourself" })} }
`,
  });
  await live.say("route");
  await live.say("hi");
  await until(async () => (await live.room()).includes("hi yourself"), "the answer to the next message");
  expect((await live.app.gateway.status()).inbox).toMatchObject({ dead: 1, done: 1 });
});

test("a module that returns false decides nothing, so a guard that is waited for has failed; in the background it passes", async () => {
  const live = await liveApp({
    "no.mjs": "export default () => false;",
    "hookgate.yaml": `hooks:
  - { id: guard, on: message_sending, on_failure: closed, run: { module: { path: ./no.mjs } } }
  - { id: note, on: message_received, execution: background, run: { module: { path: ./no.mjs } } }
`,
  });
  await live.say("hello");
  expect(await live.ended("note")).toMatchObject({ status: "succeeded" });
  await live.app.gateway.send(
    { platform: "web", botId: "web", chatId: "general" },
    { text: "a key" },
    { cause: { kind: "api", id: "t", depth: 0 } },
  );
  expect(await live.ended("guard")).toMatchObject({
    status: "failed",
    statusReason: expect.stringMatching(/is false: return/),
  });
  expect(await live.room()).not.toContain("a key");
});

test("a closed guard that decides in its log holds the message, and its log does not", async () => {
  const warns = `(node:1) Warning: old${String.raw`\n`}`;
  const prints = (log: string) =>
    `on_failure: closed, run: { shell: { command: [sh, -c, 'printf "$1" >&2', "-", '${log}'] } }`;
  const live = await liveApp({
    "hookgate.yaml": `hooks:
  - { id: logs, on: message_sending, ${prints(`${warns}INFO decision: pass`)} }
  - { id: guard, on: message_sending, match: { when: 'payload.message.text == "a key"' }, ${prints(`${warns}{"decision":"block","reason":"a key"}`)} }
`,
  });
  for (const text of ["a key", "hello"])
    await live.app.gateway.send(
      { platform: "web", botId: "web", chatId: "general" },
      { text },
      { cause: { kind: "api", id: "t", depth: 0 } },
    );
  await until(async () => (await live.room()).includes("hello"), "the other message");
  expect(await live.ended("guard")).toMatchObject({
    status: "failed",
    statusReason: "the decision is on standard error: print it on standard output",
  });
  expect(await live.room()).not.toContain("a key");
});
