/** Files of hooks that are no valid YAML: what can be read of them stays in force, and a critical hook never goes missing unnoticed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { until } from "../support/until.js";
import { liveApp } from "./support/live-app.js";

const guard = (more = "") =>
  `- { id: k-guard, on: message_sending, critical: true, on_failure: closed,${more} run: { shell: { sh: "exit 2" } } }\n`;
const hook = (id: string, more = "") =>
  `- { id: ${id}, on: message_received,${more} run: { shell: { sh: "exit 0" } } }\n`;
const DOUBLED = " description: one, description: two,";

test("an entry with a doubled key or an open brace breaks no other entry of its file", async () => {
  const live = await liveApp(
    {
      "hookgate.yaml": "",
      "hooks/two.yaml": `${guard()}${hook("twice", DOUBLED)}${hook("after")}`,
      "hooks/under.yaml": `hooks:\n  ${hook("first")}  - { id: open, on: message_received, run: { shell: { sh: "exit 0" } }\n  ${hook("last")}`,
      "hooks/one.yaml": "id: alone\non: message_received\non: message_sent\nrun: { shell: { sh: exit 0 } }\n",
    },
    { mayBreak: true },
  );
  const ids = () =>
    live.app.automations
      .list()
      .map(({ id }) => id)
      .sort()
      .join();
  const broken = () => live.app.automations.broken();
  expect(ids()).toBe("after,first,k-guard,last");
  expect(
    broken()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(["alone", "open", "twice"]);
  await live.app.gateway.send(
    { platform: "web", botId: "web", chatId: "general" },
    { text: "secret" },
    { cause: { kind: "api", id: "t", depth: 0 } },
  );
  expect(await live.ended("k-guard")).toMatchObject({ status: "blocked" });
  expect(await live.room()).toEqual([]);

  const { err } = await runCli(["check"], {
    cwd: live.folder,
    env: { HOOKGATE_TOKEN: "the-token-of-a-check-0123456789-abcdef" },
  });
  expect(err).toMatch(/two\.yaml:2:\d+: hook twice: Map keys must be unique$/m);
  expect(err).toMatch(/under\.yaml:\d+:\d+: hook open: .*This hook, and maybe one after it, cannot be read$/m);
  expect(err).toContain("3 problems. Hookgate starts");

  // A reload keeps what an error has swallowed.
  live.write("hooks/under.yaml", `hooks:\n  ${hook("first")}  - { id: open, on: message_received\n    ${hook("last")}`);
  await until(
    () => broken().some(({ problems }) => /maybe one after/.test(problems[0]?.message ?? "") && ids().includes("last")),
    "the reload",
  );
  expect(ids()).toBe("after,first,k-guard,last");
});

test.each([
  [
    "a doubled key in it",
    { "hooks/two.yaml": guard(DOUBLED) + hook("other") },
    /The critical hook k-guard is broken: .*two\.yaml:1:\d+: Map keys must be unique/,
  ],
  [
    "a bare star in it",
    { "hooks/two.yaml": hook("other") + guard(" description: *,") },
    /The critical hook k-guard is broken: .*two\.yaml:2:\d+: \* and & begin names of parts of the file: .* in quotes/,
  ],
  ...["description: *x", "<<: *base", "notify: { to: *here }"].map((slip): [string, Record<string, string>, RegExp] => [
    `an alias of nothing in it (${slip})`,
    { "hooks/two.yaml": hook("other") + guard(` ${slip},`) },
    /The critical hook k-guard is broken: .*two\.yaml:2:\d+: \*\w+ stands for what &\w+ names/,
  ]),
  [
    "a word in place of true",
    { "hooks/two.yaml": hook("other") + guard().replace("critical: true", "critical: yes") },
    /The critical hook k-guard is broken: .*two\.yaml:2:\d+ critical: expected true or false, got "yes"/,
  ],
  [
    "a word in place of true, in a file with another slip",
    { "hooks/two.yaml": guard(DOUBLED).replace("critical: true", "critical: yes") },
    /The critical hook k-guard is broken: .*Map keys must be unique/,
  ],
  [
    "an entry before it that swallows it",
    { "hooks/two.yaml": `- id: other\n  on: "message_received\n  critical: true\n- id: k-guard\n  critical: true\n` },
    /The critical hook other is broken: .*Missing closing/,
  ],
  [
    "a file that holds nothing readable",
    { "hooks/two.yaml": `hooks: [\n${guard()}` },
    /The critical hook two\.yaml:\d+ is broken: .*No hook of this file can be read, and it names a critical hook/,
  ],
  [
    "a file in UTF-16",
    { "hooks/two.yaml": `\ufeff${guard()}` },
    /two\.yaml is broken: .*UTF-16.*names a critical hook/,
  ],
])("a critical hook with %s refuses the start, and check names it", async (what, files, refusal) => {
  const live = await liveApp({ "hookgate.yaml": "", ...files }, { start: false });
  if (what.includes("UTF-16"))
    writeFileSync(join(live.folder, "hooks/two.yaml"), Buffer.from(files["hooks/two.yaml"], "utf16le"));
  await expect(live.start()).rejects.toThrow(refusal);
  const { code, err } = await runCli(["check"], {
    cwd: live.folder,
    env: { HOOKGATE_TOKEN: "the-token-of-a-check-0123456789-abcdef" },
  });
  expect(code).not.toBe(0);
  expect(err).toMatch(/Hookgate does not start, .*the critical hook .* broken/);
});

test("an alias of nothing keeps the previous version of its hook, and breaks no other; nor does a byte order mark", async () => {
  const live = await liveApp({ "hookgate.yaml": "", "hooks/two.yaml": hook("twice") }, { mayBreak: true });
  const ids = () => live.app.automations.list().map(({ id }) => id);
  expect(ids()).toEqual(["twice"]);
  live.write("hooks/two.yaml", `\ufeff${hook("twice", " description: *x,")}${hook("after")}`);
  await until(() => ids().includes("after"), "the reload");
  expect(ids().sort()).toEqual(["after", "twice"]);
  expect(live.app.automations.broken()).toMatchObject([
    { id: "twice", problems: [{ line: 1, message: expect.stringContaining("in quotes") }] },
  ]);
});

test.each([
  ["in it", guard(" description: *x,")],
  ["in it, in place of its settings", `${guard().replace(/run: .*/, "<<: *base }")}`],
  ["in another hook", guard() + hook("other", " description: *x,")],
  ["whose anchor was deleted", `- { id: other, on: message_received, run: *base }\n${guard()}`],
])("a critical guard stays in force when a reload finds an alias of nothing %s", async (where, text) => {
  const live = await liveApp(
    {
      "hookgate.yaml": "",
      "hooks/two.yaml": `- &base { id: a, on: message_sent, run: { shell: { sh: "exit 0" } } }\n${guard()}`,
    },
    { mayBreak: true },
  );
  const isOwn = where.startsWith("in it");
  const shown = async () => JSON.stringify(await live.post("/api/command", { line: "/hooks broken" }));
  live.write("hooks/two.yaml", text);
  await until(async () => (await shown()).includes("nothing before it"), "the reload");
  expect(await shown()).toMatch(
    isOwn ? /The critical hook k-guard is broken/ : /1 hook\*\* not in force|1 hook not in force/,
  );
  await live.app.gateway.send(
    { platform: "web", botId: "web", chatId: "general" },
    { text: "secret" },
    { cause: { kind: "api", id: "t", depth: 0 } },
  );
  expect(await live.ended("k-guard")).toMatchObject({ status: "blocked" });
  expect(await live.room()).toEqual([]);
  const reloaded = await live.app.reload(live.read()).then(JSON.stringify, String);
  expect(reloaded).toMatch(
    isOwn ? /The critical hook k-guard is broken.*nothing before it/ : /other.*nothing before it/,
  );
  expect(live.app.automations.get("k-guard")).toBeDefined();
});

test("many errors of one slip are reported as one problem, which says to quote a template", async () => {
  const lines = Array.from({ length: 80 }, (_, index) => `      - {{ event.message.text }} }} ${index}\n`).join("");
  const live = await liveApp(
    {
      "hookgate.yaml": "",
      "hooks/list.yaml": `id: list\non: message_received\nrun:\n  shell:\n    command:\n${lines}`,
    },
    { mayBreak: true },
  );
  const [only, ...others] = live.app.automations.broken();
  expect(others).toEqual([]);
  expect(only?.problems).toEqual([
    expect.objectContaining({
      line: 6,
      message: expect.stringMatching(/Write a text with \{\{ … \}\} in quotes.*more that may follow/),
    }),
  ]);
});

test("a comment about critical hooks refuses nothing", async () => {
  const live = await liveApp(
    { "hookgate.yaml": "", "hooks/two.yaml": `# critical: true\n${hook("twice", DOUBLED)}` },
    { mayBreak: true },
  );
  expect(live.app.automations.broken().map(({ id, critical }) => [id, critical])).toEqual([["twice", false]]);
});
