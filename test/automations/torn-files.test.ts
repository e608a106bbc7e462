/** Files of hooks that are no valid YAML: what can be read of them stays in force, and a critical hook never goes missing unnoticed. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
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
  expect(err).toMatch(/two\.yaml:2:\d+: hook twice: "description" is written twice in these settings: remove one/m);
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
    /The critical hook k-guard is broken: .*two\.yaml:1:\d+: "description" is written twice/,
  ],
  [
    "a bare star in it",
    { "hooks/two.yaml": hook("other") + guard(" description: *,") },
    /The critical hook k-guard is broken: .*two\.yaml:2:\d+: \* and & start names of parts of the file: .* in quotes/,
  ],
  ...["description: *x", "<<: *base", "notify: { to: *here }"].map((slip): [string, Record<string, string>, RegExp] => [
    `an alias of nothing in it (${slip})`,
    { "hooks/two.yaml": hook("other") + guard(` ${slip},`) },
    /The critical hook k-guard is broken: .*two\.yaml:2:\d+: \*\w+ refers to &\w+, which is/,
  ]),
  [
    "a word in place of true",
    { "hooks/two.yaml": hook("other") + guard().replace("critical: true", "critical: yes") },
    /The critical hook k-guard is broken: .*two\.yaml:2:\d+ critical: expected true or false, got "yes"/,
  ],
  [
    "a word in place of true, in a file with another slip",
    { "hooks/two.yaml": guard(DOUBLED).replace("critical: true", "critical: yes") },
    /The critical hook k-guard is broken: .*"description" is written twice/,
  ],
  [
    "nothing behind its id",
    { "hooks/two.yaml": hook("other") + guard().replace("id: k-guard", "id:") },
    /The critical hook two\.yaml:2 is broken: .*two\.yaml:2:\d+ id: it is empty: write a name for this hook/,
  ],
  [
    "an entry before it that swallows it",
    { "hooks/two.yaml": `- id: other\n  on: "message_received\n  critical: true\n- id: k-guard\n  critical: true\n` },
    /The critical hook other is broken: .*a text in quotes has no end: write the closing "/,
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

test("a value that was left empty is a problem with its line at a start and at a reload, which keeps the hook", async () => {
  const emptied = "chats:\n      # - web:general\n";
  const copies = (chats: string) =>
    `- id: copies\n  on: message_received\n  match:\n    platforms: [web]\n    ${chats}  run: { chat: { to: "web:web:dm-1", text: "copied" } }\n`;
  const live = await liveApp(
    {
      "hookgate.yaml": "",
      "hooks/two.yaml": `${hook("").replace("message", "mesage")}${copies(emptied)}${hook("well")}`,
    },
    { mayBreak: true },
  );
  const broken = async () =>
    ((await live.post("/api/command", { line: "/hooks broken" })) as unknown as { text: string }).text;
  expect((await broken()).replaceAll(/[`\\]/g, "").split("\n")).toEqual([
    "**2 hooks not in force**",
    "",
    "two.yaml:1 at two.yaml:1",
    "- id: it is empty: write a name for this hook (two.yaml:1)",
    '- on: there is no hook point "mesage_received" (did you mean "message_received"?) (two.yaml:1)',
    "",
    "copies at two.yaml:2",
    "- match.chats: it is empty: write a value, or remove the line (two.yaml:6)",
  ]);
  expect(await live.get("/readyz")).toMatchObject({ state: "degraded", configuration: { problems: 3 } });
  await live.say("a secret");
  await live.ended("well");
  expect(await live.room("dm-1")).not.toContain("copied");

  live.write("hooks/two.yaml", `${copies("chats: [web:ops]\n")}${hook("well")}`);
  await until(() => live.app.automations.broken().length === 0, "the fix");
  live.write("hooks/two.yaml", `${copies(emptied)}${hook("").replace("message", "mesage")}`);
  const paths = () => live.app.automations.broken().flatMap(({ problems }) => problems.map(({ path }) => path));
  await until(() => paths().includes("id") && paths().includes("match.chats"), "the reload");
  expect(
    live.app.automations
      .list()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(["copies", "well"]);
  await live.say("another secret");
  await live.ended("well", 2);
  expect(await live.room("dm-1")).not.toContain("copied");
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
  await until(async () => (await shown()).includes("not defined before it"), "the reload");
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
    isOwn ? /The critical hook k-guard is broken.*not defined before it/ : /other.*not defined before it/,
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
      message: expect.stringMatching(
        /must be in quotes as a whole: write "\{\{ event\.message\.text \}\} \}\} 0" .*more that may follow/,
      ),
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

/** Its text, the place of the slip, and what is reported. */
const SLIPS: Record<string, [string, string, string]> = {
  "a tab": [
    "hooks:\n\t- id: a\n",
    "2:1",
    "this line is indented with a tab, and YAML takes spaces only: write two spaces for each level",
  ],
  "no space after a colon": [
    "- id: a\n  on:message_received\n  run: {}\n",
    "2:3",
    "there is no space after the colon: write on: message_received",
  ],
  "no space after the only colon": [
    "- id:a\n",
    "1:3",
    'expected settings (key: value), got "id:a": write id: a, with a space after each colon',
  ],
  "a bare @": [
    "- id: a\n  description: @all of us\n",
    "2:16",
    'a text that starts with @ must be in quotes as a whole: write description: "@all of us"',
  ],
  "a bare @ in a map": [
    "- { id: a, description: @all }\n",
    "1:25",
    "a text that starts with @ must be in quotes as a whole",
  ],
  "a bare template with words after it": [
    '- id: a\n  description: {{ x }} is "x"\n',
    "2:24",
    `a text that starts with { must be in quotes as a whole: write description: '{{ x }} is "x"'`,
  ],
  "a bare template": [
    "- id: a\n  on: message_received\n  description: {{ x }}\n  run: { shell: { sh: exit 0 } }\n",
    "3:16",
    'expected text, got {{ … }} without quotes, which YAML does not read as text: write "{{ … }}"',
  ],
  "a bare template in a map": [
    "- id: a\n  run: { chat: { to: here, text: {{ x }} and {{ y }} } }\n",
    "2:42",
    'a text with {{ … }} must be in quotes as a whole, as in "{{ … }}"',
  ],
  "a bracket that is not closed": [
    "- id: a\n  match: { platforms: [web }\n",
    "2:28",
    "] is missing before this place: add it, or write a text that starts with [ in quotes",
  ],
  "a key twice": [
    "- id: a\n  on: message_sent\n  on: message_received\n",
    "3:3",
    '"on" is written twice in these settings: remove one, or put - before each entry of a list',
  ],
  "a colon in a text": [
    "- id: a\n  description: note: this\n",
    "2:16",
    'a text with ": " in it must be in quotes: write description: "note: this"',
  ],
  "a quote in a text in quotes": [
    "- id: a\n  description: 'it's'\n",
    "2:20",
    `a quote inside a text in quotes ends it: write description: "it's"`,
  ],
  "a dash without a space": ["hooks:\n  -id: a\n  -id: b\n", "3:3", "there is no space after the dash: write - id: b"],
};
const CONFIG_SLIPS: Record<string, [string, string, string]> = {
  "a tab": ["gateway:\n\tttl: 30m\n", "2:1", "this line is indented with a tab"],
  "no space after a colon": [
    "gateway:\n  ttl:30m\n",
    "2:3",
    'expected settings (key: value), got "ttl:30m": write ttl: 30m, with a space after each colon',
  ],
  "a key twice": ["gateway:\n  ttl: 30m\n  ttl: 1h\n", "3:3", '"ttl" is written twice in these settings: remove one'],
  "a bare @": ["web:\n  name: @bot\n", "2:9", 'write name: "@bot"'],
};

test.each([
  ...Object.entries(SLIPS).map(([name, slip]) => [name, "hooks/slip.yaml", ...slip] as const),
  ...Object.entries(CONFIG_SLIPS).map(([name, slip]) => [name, "hookgate.yaml", ...slip] as const),
])("%s in %s is reported with its place and what to write", async (_, file, text, place, words) => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-slips-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "hooks"));
  writeFileSync(join(folder, "hookgate.yaml"), "{}");
  writeFileSync(join(folder, file), text);
  const env = { HOOKGATE_TOKEN: "the-token-of-a-check-0123456789-abcdef" };
  const { err } = await runCli(["check"], { cwd: folder, env });
  expect(err).toContain(`/${file}:${place}`);
  expect(err).toContain(words);
});
