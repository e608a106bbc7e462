/** A file of hooks with `hooks:` and something beside it, which nothing reads: a slip of indentation or a second list is never silence. */
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { until } from "../support/until.js";
import { type LiveApp, liveApp, TOKEN } from "./support/live-app.js";

const CONFIG = "automations: { watch: false }\ngateway: { inbox_attempts: 1 }\n";
const CLOSED = "    on_failure: closed\n";
const guard = (id = "guard", word = "evil", closed = CLOSED) => `  - id: ${id}
    on: inbound_claim
    match: { when: 'payload.message.text.contains("${word}")' }
    run: { shell: { sh: "exit 1" } }
${closed}`;
const ANSWER = `- { id: answer, on: inbound_claim, run: { shell: { command: [echo, '{"decision":"claim","reply":"answered"}'] } } }\n`;
const FILE = `hooks:\n${guard("other", "bad")}${guard()}`;

const started = (file = FILE, mayBreak = false) =>
  liveApp({ "hookgate.yaml": CONFIG, "hooks/a.yaml": file, "hooks/z.yaml": ANSWER }, { mayBreak });
const broken = async (live: LiveApp) =>
  ((await live.post("/api/command", { line: "/hooks broken" })) as unknown as { text: string }).text;
const check = ({ folder }: LiveApp) => runCli(["check"], { cwd: folder, env: { HOOKGATE_TOKEN: TOKEN } });
const ids = (live: LiveApp) =>
  live.app.automations
    .broken()
    .map(({ id }) => id)
    .sort();

async function expectHeld(live: LiveApp, text: string) {
  const { dead } = (await live.app.gateway.status()).inbox;
  await live.say(text);
  await until(async () => (await live.app.gateway.status()).inbox.dead === dead + 1, `"${text}" being held`);
  expect(await live.room()).not.toContain("answered");
}

const OPEN = `hooks:\n${guard("other", "bad")}${guard("guard", "evil", "")}`;
const TORN = "  - { id: torn, on: inbound_claim, on: inbound_claim }\n";

test.each([
  {
    what: "a setting with too little indentation",
    file: `${OPEN}on_failure: closed\n`,
    listed: ["guard"],
    problem:
      /a\.yaml:11:1: hook guard: "on_failure" has no effect beside "hooks"\. It belongs to the hook above: indent it/,
  },
  {
    what: "a misspelt one",
    file: `${OPEN}on_faliure: closed\n`,
    listed: ["guard"],
    problem: /a\.yaml:11:1: hook guard: unknown setting "on_faliure" \(did you mean "on_failure"\?\) .* indent it/,
  },
  {
    what: "a setting with too little indentation, and a slip in the YAML of another entry",
    file: `${OPEN.replace("hooks:\n", `hooks:\n${TORN}`)}on_failure: closed\n`,
    listed: ["guard", "torn"],
    problem: /a\.yaml:12:1: hook guard: "on_failure" has no effect beside "hooks"/,
  },
  {
    what: "a setting above all hooks",
    file: `on_failure: closed\n${OPEN}`,
    listed: ["guard", "other"],
    problem: /a\.yaml:1:1: hook guard: "on_failure" .* It is a setting of a hook: write it in each hook that it is for/,
  },
  {
    what: "a second list of hooks",
    file: `hooks:\n${guard("other", "bad")}guards:\n${guard()}`,
    listed: ["a.yaml:7", "guard"],
    problem:
      /a\.yaml:7:1: .*unknown setting "guards" has no effect beside "hooks"\. Move what it contains into the list/,
  },
  {
    what: "a second list with a misspelt name",
    file: `hooks:\n${guard("other", "bad")}hoks:\n${guard()}`,
    listed: ["a.yaml:7", "guard"],
    problem: /a\.yaml:7:1: .*unknown setting "hoks" \(did you mean "hooks"\?\)/,
  },
  {
    what: "a hook that is not in the list",
    file: `hooks:\n${guard("other", "bad")}${guard().replace("  - ", "").replace(/^ {4}/gm, "")}`,
    listed: ["guard"],
    problem:
      /a\.yaml:7:1: hook guard: a hook beside "hooks" has no effect: make it an entry of the list, with - before/,
  },
])("a guard stays as it was when its file has $what beside hooks", async ({ file, listed, problem }) => {
  const live = await started();
  for (const text of [file, `${file}# saved again\n`]) {
    live.write("hooks/a.yaml", text);
    const { hooks, report } = await live.app.reload(live.read());
    expect(hooks.removed).toEqual([]);
    if (text === file) expect(report).toMatch(problem);
    expect(ids(live)).toEqual(listed);
    expect(await broken(live)).toMatch(/guard.*: the previous version is in force/);
    expect(await live.get("/readyz")).toMatchObject({ ready: true, state: "degraded" });
  }
  const { code, err } = await check(live);
  expect(code).toBe(2);
  expect(err).toMatch(problem);
  await expectHeld(live, "evil");
  live.write("hooks/a.yaml", FILE);
  await live.app.reload(live.read());
  expect(await broken(live)).toBe("No configured hook is broken.");
});

test("each setting beside hooks is a problem of a start, with its line; a critical hook among them refuses it", async () => {
  const live = await started(`version: 1\n${OPEN}enabled: false\ncritcal: no\ngroups: &g [*g]\n`, true);
  expect(ids(live)).toEqual(["a.yaml:1", "a.yaml:14", "guard"]);
  const { err } = await check(live);
  expect(err).toContain("4 problems.");
  for (const text of [
    /a\.yaml:1:1: .*unknown setting "version" has no effect beside "hooks"/,
    /a\.yaml:12:1: hook guard: "enabled" has no effect beside "hooks"/,
    /a\.yaml:13:1: hook guard: unknown setting "critcal" \(did you mean "critical"\?\)/,
    /a\.yaml:14:1: .*unknown setting "groups"/,
  ])
    expect(err).toMatch(text);
  for (const critical of [
    "critical: true\n",
    "critcal: true\n",
    `more:\n${guard("third", "worse", "    critical: true\n")}`,
  ]) {
    live.write("hooks/a.yaml", FILE + critical);
    expect((await check(live)).err).toMatch(/Hookgate does not start.*the critical .* broken/);
  }
});

test("a wrong word in place of hooks names it and the hooks in it, and refuses the start when one of them is critical", async () => {
  const list = guard("other", "bad") + guard();
  const live = await started(`hook:\n${list}`, true);
  const named = /unknown setting "hook" \(did you mean "hooks"\?\): write "hooks:" once, above .*In it: other, guard/;
  expect((await broken(live)).replaceAll("`", "")).toMatch(/at least 1 hook not in force/);
  expect((await broken(live)).replaceAll("\\", "")).toMatch(named);
  const { err } = await check(live);
  expect(err).toMatch(named);
  expect(err).toContain("1 problem.");
  const critical = list + guard("third", "worse", "    critical: true\n");
  const indented = critical.replace(/^/gm, "  ");
  const slips = ["hook:", "Hooks:", "guards:", "x-hooks:", "list: &l [*l]\nhook:", "hooks:\n  more:"];
  for (const file of [
    ...slips.map((slip) => `${slip}\n${critical}`),
    `- hooks:\n${indented}`,
    `- guards:\n${indented}`,
  ]) {
    live.write("hooks/a.yaml", file);
    expect((await check(live)).err, file).toMatch(/Hookgate does not start.*the critical .* broken/);
  }
});

test("parts that others repeat are beside hooks under keys that start with x-", async () => {
  const common = `x-common: &common { sh: "exit 1" }\n`;
  const live = await started(common + FILE.replaceAll('{ sh: "exit 1" }', "*common"));
  expect((await check(live)).code).toBe(0);
  await expectHeld(live, "evil");
});
