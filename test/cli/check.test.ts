/** `hookgate check`, a start and a reload find the same mistakes: each alone, and all of them at once. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startApp } from "../../src/app.js";
import { examine } from "../../src/cli/examine.js";
import { formatProblem, loadConfig } from "../../src/config/load.js";
import { silentLogger } from "../../src/lib/logger.js";
import { gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { HOOK_MISTAKES, hook, type Json, type Mistake, TRUE } from "./hook-mistakes.js";
import { runCli } from "./run-cli.js";

const received = { on: "message_received" };
const claim = { on: "inbound_claim" };
const plugin = (name: string, code: string, found: RegExp): Mistake => ({
  config: { plugins: [`./${name}.mjs`] },
  files: { [`${name}.mjs`]: code },
  found,
});
const matching = (id: string, match: string) => `export default { id: "${id}", setup(api) {
  api.hooks.registerVoid("message_received", () => {}, { id: "greet", match: ${match} });
} };`;
const reply = { for: "conversation", measure: "first_response", target: "1h" };

const MISTAKES: Record<string, Mistake> = {
  ...HOOK_MISTAKES,
  // The whole configuration.
  "a word for a duration": {
    config: { gateway: { ttl: "soon" } },
    found: /gateway\.ttl: expected a duration.*got "soon"$/,
  },
  "a duration in words": {
    config: { gateway: { dispatch_timeout: 3, ttl: "30 minutes" } },
    alone: true,
    found: /gateway\.ttl: .*: write "30m"$/,
  },
  "an unknown setting": {
    config: { gateway: { max_waitin: 5 } },
    found: /unknown setting "max_waitin" \(did you mean "max_waiting"\?\)/,
  },
  "an empty list": {
    config: { web: { access: { chats: null } } },
    alone: true,
    found: /web\.access\.chats: it is empty: write a value, or remove the line \(expected a list\)$/,
  },
  "an empty value": {
    config: { gateway: { send_timeout: null } },
    found: /gateway\.send_timeout: it is empty: write a value, or remove the line \(expected text\)$/,
  },
  "text for a list": {
    config: { operators: { admin: "web:1" } },
    found: /operators\.admin: expected a list, got "web:1": write \["web:1"\]$/,
  },
  "a Discord server by its name": {
    config: { discord: { access: { guilds: ["myguild", "*"], chats: ["80351110224678912"] } } },
    found: /discord\.access\.guilds\.0: "myguild" is no id of discord, which has numbers/,
  },
  "a Telegram group by its name": {
    config: { telegram: { access: { chats: ["@mygroup", "-100123"] } } },
    found: /telegram\.access\.chats\.0: "@mygroup" is no id of telegram, which has numbers/,
  },
  "guilds of Telegram": {
    config: { telegram: { access: { guilds: ["1"] } } },
    found: /telegram\.access\.guilds: telegram has no guilds, so no message matches/,
  },
  "a first pause above the longest of the gateway": {
    config: { gateway: { retry_first: "10m", retry_max: "1m" } },
    found: /gateway\.retry_first: no pause is longer than `gateway\.retry_max`/,
  },
  "plugins for a conversation of another account": {
    config: { gateway: { allowed_plugins: { "web:other:general": [] } } },
    found: /allowed_plugins\.web:other:general: .*the gateway's account on web is web, not other$/,
  },
  "plugins for a room that does not exist": {
    config: { gateway: { allowed_plugins: { "web:genral": [] } } },
    found: /allowed_plugins\.web:genral: there is no room "genral" in the web chat \(did you mean "general"\?\)/,
  },
  "an unknown platform": { config: { operators: { owner: ["slack:1"] } }, found: /there is no platform "slack"/ },
  "a name for an id": {
    config: { operators: { viewer: ["discord:abc"] } },
    found: /operators\.viewer\.0: "abc" is no id of discord/,
  },
  "an account without a platform": {
    config: { alerts: { people: { ann: ["80351"] } } },
    found: /alerts\.people\.ann\.0: "80351" names no platform/,
  },
  "a default model that is none": {
    config: { models: { default: "big" } },
    found: /models\.default: there is no model "big"/,
  },
  "an unknown calendar": {
    config: { sla: { policies: [{ id: "cal", for: "task", calendar: "wrok" }] } },
    found: /there is no calendar "wrok"/,
  },
  "two policies of one id": {
    config: {
      sla: {
        policies: [
          { id: "twice", for: "mission" },
          { id: "twice", for: "mission", target: "1h" },
        ],
      },
    },
    found: /there are two policies "twice"/,
  },
  "a country that is none": {
    config: {
      sla: { calendars: { away: { timezone: "UTC", hours: { mon: ["09:00-17:00"] }, holidays: { country: "XX" } } } },
    },
    found: /sla\.calendars\.away.*XX/,
  },
  "an unknown route": {
    config: { sla: { policies: [{ id: "routed", ...reply, measure: "resolution", routes: ["supprt"] }] } },
    found: /there is no route "supprt"/,
  },
  "an unknown person on call": {
    config: { alerts: { rotas: { night: { shifts: [{ from: "22:00", to: "06:00", person: "ben" }] } } } },
    found: /there is no person "ben"/,
  },
  "a list that is text": { config: { plugins: "yes" }, alone: true, found: /plugins: expected a list, got "yes"/ },
  "hooks that are no list": { config: { hooks: "yes" }, alone: true, found: /hooks: expected a list/ },
  "a port that is none": { env: { HOOKGATE_PORT: "many" }, alone: true, found: /HOOKGATE_PORT: expected/ },
  // Platforms and events.
  "an unknown mode": {
    config: { telegram: { mode: "webhok" } },
    found: /telegram\.mode: "webhok" is not known here \(did you mean "webhook"\?\)/,
  },
  "a missing login token": {
    config: { web: { people: [{ id: 2, name: "Bob", token_env: "BOB_TOKEN" }] } },
    found: /login token of Bob is missing/,
  },
  "a missing event secret": {
    config: { events: { deploy: { secret_env: "NOT_THERE" } } },
    found: /secret that signs the event deploy is missing/,
  },
  // Hooks that cannot be in force.
  "an unknown point": hook(
    { on: "mesage_received" },
    /there is no hook point "mesage_received" \(did you mean "message_received"\?\)/,
  ),
  "no handler": hook({ ...received, run: undefined }, /run: hook h\d+: expected one handler/),
  "a number for an interval": hook(
    { trigger: { every: 5 } },
    /trigger\.every: hook h\d+: expected a duration.*got 5: write "5s"/,
  ),
  "two handlers": hook(
    { ...received, run: { ...TRUE, chat: { text: "x" } } },
    /expected exactly one handler, got shell and chat/,
  ),
  "a misspelt setting": hook({ ...received, cooldwn: "1s" }, /unknown setting "cooldwn" \(did you mean "cooldown"\?\)/),
  "blocking where nothing can be vetoed": hook(
    { ...received, execution: "blocking" },
    /nothing can be vetoed at message_received/,
  ),
  "text for a command": hook(
    { ...received, run: { shell: { command: "ls -l" } } },
    /run\.shell\.command: hook h\d+: expected a list, got "ls -l"/,
  ),
  "a tool matcher without tools": hook(
    { ...received, match: { tools: ["git"] } },
    /match\.tools: hook h\d+: no payload of message_received carries toolName/,
  ),
  "an agent matcher without agents": hook(
    { ...claim, match: { agents: ["a"] } },
    /match\.agents: hook h\d+: no payload of inbound_claim carries/,
  ),
  "an impossible value": hook(
    { ...received, match: { when: 'payload.access == "maybe"', access: "any" } },
    /payload\.access is never "maybe": it is one of allowed, denied/,
  ),
  "a number below its least": hook(
    { on: "message_sent", match: { when: "payload.cause.depth < 0" } },
    /payload\.cause\.depth < 0 never holds: payload\.cause\.depth is at least 0/,
  ),
  "two values at once": hook(
    { ...received, match: { when: 'payload.message.platform == "web" && payload.message.platform == "discord"' } },
    /payload\.message\.platform == "web" and payload\.message\.platform == "discord" never hold together/,
  ),
  "a pattern that matches nothing": hook(
    { ...received, match: { when: 'payload.message.text.matches("deploy$ now")' } },
    /the pattern "deploy\$ now" matches nothing: \$ is the end of the text/,
  ),
  "denied messages without access": hook(
    { ...received, match: { when: 'payload.access == "denied"' } },
    /add `access: any`/,
  ),
  "deletions on Telegram": hook(
    { on: "message_deleted", match: { platforms: ["telegram"] } },
    /Telegram reports no deletions/,
  ),
  "an agent without a model": hook({ ...received, run: { agent: { prompt: "hello" } } }, /no model is configured/),
  "an unknown model": hook(
    { ...received, run: { agent: { prompt: "hello", model: "small" } } },
    /there is no model "small"/,
  ),
  "a timer that speaks to no chat": hook(
    { trigger: { every: "1h" }, run: { chat: { text: "x" } } },
    /run\.chat\.to: .*about no conversation.*name a chat/,
  ),
  "a missing secret": hook(
    { ...received, run: { http: { url: "https://example.org", secret_env: "NO_SECRET" } } },
    /environment variable NO_SECRET is missing/,
  ),
  "an unknown field in a template": hook(
    { ...received, run: { chat: { text: "{{ event.message.txt }}" } } },
    /event\.message has no "txt"; did you mean "text"\?/,
  ),
  "a template that does not end": hook(
    { ...received, run: { chat: { text: "{{ event" } } },
    /run\.chat\.text: .*not closed/,
  ),
  "a dependency on nothing": hook({ ...claim, after: ["nobody"] }, /"nobody", which is not registered/),
  "an id that is taken": {
    config: {
      hooks: [
        { id: "same", ...received, run: TRUE },
        { id: "same", ...claim, run: TRUE },
      ],
    },
    found: /the id "same" is taken/,
  },
  "a time that never comes": hook({ trigger: { cron: "0 0 30 2 *" } }, /never comes/),
  "a file that is no YAML": { files: { "hooks/bad.yaml": "hooks: [\n" }, found: /bad\.yaml/ },
  "a file of hooks with another ending": {
    files: { "hooks/z.json": JSON.stringify([{ id: "z", ...claim, run: TRUE }]) },
    found: /hooks.z\.json: .*it has hooks and is not read, .*ends in \.yaml or \.yml: rename it to z\.yaml, or move it/,
  },
  "a file with two documents": {
    files: { "hooks/two.yaml": "id: one\non: message_received\nrun: { shell: { sh: exit 0 } }\n---\nid: two\n" },
    found: /two\.yaml:4:1: .*--- starts a second document here, and only one is read from a file: remove this line/,
  },
  "a backslash in double quotes": {
    files: { "hooks/slash.yaml": "run: { chat: { text: \"{{ current_time | date: '%H\\:%M' }}\" } }\n" },
    found:
      /slash\.yaml:1:\d+: .*in "…" a backslash starts an escape such as \\n, and this is none: write the text in single/,
  },
  // Hooks that are in force and cannot do their work.
  "a missing module": hook({ ...received, run: { module: { path: "./none.mjs" } } }, /there is no module .*none\.mjs/),
  "a missing program": hook(
    { ...received, run: { shell: { command: ["no-such-program"] } } },
    /there is no program "no-such-program" on the PATH/,
  ),
  "a missing program in a step": hook(
    { ...received, context: [{ shell: { command: ["./no-such-step"] } }] },
    /there is no program .*no-such-step/,
  ),
  "a missing plan": hook({ ...received, run: { mission: { plan: "relase" } } }, /there is no plan "relase"/),
  "a missing room": hook(
    { ...received, run: { chat: { to: "web:web:genral", text: "x" } } },
    /there is no room "genral" in the web chat \(did you mean "general"\?\)/,
  ),
  "a chat of a platform that is off": hook(
    { ...received, run: { chat: { to: "discord:1:2", text: "x" } } },
    /discord:1:2 cannot be reached: discord is off/,
  ),
  "a matcher of a platform that is off": hook(
    { ...received, match: { platforms: ["telegram"] } },
    /it is for telegram, which is off/,
  ),
  "a time in the past": hook(
    { trigger: { at: "2020-01-01T00:00:00Z" } },
    /2020-01-01T00:00:00\.000Z, was past: it never fires/,
  ),
  // Settings without an effect.
  "an override of no hook": {
    config: { overrides: { "no-such-hook": { enabled: false } } },
    found: /overrides\.no-such-hook: there is no hook "no-such-hook"/,
  },
  "an override that closes where nothing waits": {
    config: {
      overrides: { a: { failure_policy: "fail-closed" } },
      hooks: [{ id: "a", on: "message_sent", run: { shell: { command: ["true"] } } }],
    },
    found: /overrides\.a\.failure_policy: a failure of "a" at message_sent stops nothing, so it can only be fail-open/,
  },
  "a policy that never matches": {
    config: {
      sla: {
        policies: [
          { id: "first", ...reply },
          { id: "second", ...reply, target: "2h" },
        ],
      },
    },
    found: /the policy second never matches: first comes before it/,
  },
  "a matcher of no policy": {
    config: { alerts: { routes: { one: { match: ["policy=nosuch"] } } } },
    found: /there is no policy "nosuch"/,
  },
  "an escalation to people without an account where anything can be posted": {
    config: {
      alerts: {
        people: { kim: ["discord:80351110224678912"], lee: [] },
        rotas: { far: { rotate: { people: ["kim", "lee"], from: "2026-01-05T09:00", every: "7d" } } },
        routes: { far: { to: ["web:web:general"], escalate: [{ after: "1h", mention: ["lee", "oncall:far"] }] } },
      },
    },
    found:
      /alerts\.routes\.far\.escalate\.0\.mention: this step can notify none of .*: lee has no account, and everyone on the rota far has accounts only .*\. Add accounts on web/,
  },
  "an escalation after more reminders than are sent": {
    config: { alerts: { routes: { few: { remind: { times: 2 }, escalate: [{ reminders: 3 }] } } } },
    found:
      /alerts\.routes\.few\.escalate\.0\.reminders: this step is never taken: it follows after 3 reminders, and 2 are sent at most/,
  },
  "an escalation after more reminders than a policy sends": {
    config: {
      sla: { policies: [{ id: "brief", ...reply, routes: ["three"], remind: { times: 2 } }] },
      alerts: { routes: { three: { escalate: [{ after: "1h" }, { reminders: 3 }] } } },
    },
    found:
      /sla\.policies\.\d+\.remind\.times: alerts of the policy brief never take step 2 of the route three: it follows after 3 reminders, and 2 are sent at most/,
  },
  "an escalation to a rota without people": {
    config: { alerts: { rotas: { bare: {} }, routes: { bare: { escalate: [{ mention: ["oncall:bare"] }] } } } },
    found: /alerts\.routes\.bare\.escalate\.0\.mention: this step can notify none of .*: the rota bare has no people/,
  },
  "alerts to a missing room": {
    config: { alerts: { routes: { two: { to: ["web:web:nowhere"] } } } },
    found: /alerts\.routes\.two\.to\.0: there is no room "nowhere"/,
  },
  "a runner without its program": {
    config: { orchestrator: { runners: { build: { shell: { command: ["no-such-make"] } } } } },
    found: /runners\.build\.shell: there is no program "no-such-make"/,
  },
  "a runner without the secret of its requests": {
    config: { orchestrator: { runners: { deploy: { http: { url: "https://example.org", sign_env: "NO_SUCH" } } } } },
    found: /runners\.deploy\.http\.sign_env: the environment variable NO_SUCH is missing, so tasks of this runner fail/,
  },
  "a runner without the secret of its program": {
    config: { orchestrator: { runners: { make: { shell: { sh: "true", secrets: ["NONE_SUCH"] } } } } },
    found: /runners\.make\.shell\.secrets\.0: the environment variable NONE_SUCH is missing/,
  },
  // Plugins and plans.
  "a missing plugin": {
    config: { plugins: ["./none-at-all.js"] },
    found: /plugins\.\d+: \.\/none-at-all\.js: there is no file/,
  },
  "a setup that throws": plugin(
    "throws",
    `export default { id: "throws",\n  setup() { throw new Error("no luck"); } };`,
    /setup failed: no luck \(throws\.mjs:2:\d+\)/,
  ),
  "a plugin at an unknown point": plugin(
    "clam",
    `export default { id: "clam", setup(api) { api.hooks.registerClaiming("inbound_clam", () => {}); } };`,
    /There is no hook point "inbound_clam".*Did you mean "inbound_claim"\? \(clam\.mjs:1:\d+\)/,
  ),
  "a plugin with the wrong model": plugin(
    "model",
    `export default { id: "model", setup(api) { api.hooks.registerVoid("inbound_claim", () => {}); } };`,
    /\.\/model\.mjs: .*inbound_claim/,
  ),
  "a plugin with a command of the product": plugin(
    "hasty",
    `export default { id: "hasty", setup(api) { api.commands.register({ name: "status", summary: "x", role: "viewer", run: () => "x" }); } };`,
    /Command "status" exists already, of Hookgate/,
  ),
  "a plugin that takes no settings": {
    config: { plugins: [{ module: "./plain.mjs", config: { a: 1 } }] },
    files: { "plain.mjs": `export default { id: "plain", setup() {} };` },
    found: /plugin "plain" takes no config, got a/,
  },
  "a default route to a missing plugin": {
    config: { gateway: { default_route: { plugin: "nobody" } } },
    found: /gateway\.default_route\.plugin: .*plugin "nobody".*are not answered/,
  },
  "a default route to a plugin without one": {
    config: { plugins: ["./routeless.mjs"], gateway: { default_route: { plugin: "routeless" } } },
    files: { "routeless.mjs": `export default { id: "routeless", setup() {} };` },
    alone: true,
    found: /gateway\.default_route\.plugin: plugin "routeless" does not call api\.route/,
  },
  "a plugin's matcher that never matches": plugin(
    "in-vain",
    `export default { id: "in-vain", setup(api) {
  api.hooks.registerVoid("message_received", () => {}, { id: "greet", match: { when: 'payload.access == "alowed"' } });
} };`,
    /plugins\.\d+: \.\/in-vain\.mjs: the hook "in-vain\.greet" \(.*in-vain\.mjs:2:13\): match\.when: payload\.access is never "alowed"/,
  ),
  "a plugin's matcher of no room": plugin(
    "roomless",
    matching("roomless", '{ chats: ["web:nowhere"] }'),
    /the hook "roomless\.greet" \(.*roomless\.mjs:2:13\): match\.chats: there is no room "nowhere" in the web chat.*so this never matches$/,
  ),
  "a plugin's matcher of no person": plugin(
    "nobody",
    matching("nobody", '{ users: ["web:99"] }'),
    /the hook "nobody\.greet" .*: match\.users: there is no person 99 in the web chat.*so this never matches$/,
  ),
  "a plugin's matcher of a platform that is off": plugin(
    "elsewhere",
    matching("elsewhere", '{ platforms: ["telegram"] }'),
    /the hook "elsewhere\.greet" .*: it is for telegram, which is off$/,
  ),
  "an operator who is no person": {
    config: { operators: { operator: ["web:98"] } },
    found: /operators\.operator\.0: there is no person 98 in the web chat \(there is Owner: web:1/,
  },
  "a runner who is no person": {
    config: { orchestrator: { runners: { nan: { person: { user: "web:77" } } } } },
    found: /orchestrator\.runners\.nan\.person\.user: there is no person 77 in the web chat/,
  },
  "an allowed plugin that is not there": {
    config: { plugins: ["./quiet.mjs"], gateway: { allowed_plugins: { "*": ["quite"] } } },
    files: { "quiet.mjs": `export default { id: "quiet", setup() {} };` },
    alone: true,
    found: /gateway\.allowed_plugins\.\*\.0: there is no plugin "quite" \(did you mean "quiet"\?\)/,
  },
  "allowed plugins of a conversation that cannot be": {
    config: { gateway: { allowed_plugins: { "slack:1": [] } } },
    found: /gateway\.allowed_plugins\.slack:1: there is no platform "slack"/,
  },
  "a broken plan": { files: { "missions/bad.yaml": "title: Bad\ngroups: 5\n" }, found: /plan bad: .*expected a list/ },
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-check-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write({ config = {}, files = {} }: Pick<Mistake, "config" | "files">): void {
  for (const [name, text] of Object.entries({ ...files, "hookgate.yaml": JSON.stringify(config) })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

const read = (env: Record<string, string> = {}) =>
  loadConfig({
    path: join(folder, "hookgate.yaml"),
    env: {
      PATH: process.env.PATH ?? "",
      DATABASE_URL: `file:${join(folder, "test.db")}`,
      HOOKGATE_PORT: "0",
      HOOKGATE_TOKEN: "the-token-of-the-owner-0001",
      ...env,
    },
  });

/** What a start reports: as its rejection, or in `/hooks broken` and `/status` of the gateway that it starts. */
async function started(env?: Record<string, string>): Promise<string> {
  const app = await startApp(read(env), { version: "0.0.0", logger: silentLogger }).catch((error: Error) => error);
  if (app instanceof Error) return app.message;
  try {
    return await listed(app.url);
  } finally {
    await app.stop();
  }
}

async function listed(url: string, token = "the-token-of-the-owner-0001"): Promise<string> {
  const answer = await fetch(`${url}/api/command`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ line: "/status" }),
  });
  const { data } = (await answer.json()) as { data: { problems: string[] } };
  return data.problems.join("\n");
}

const lines = (pattern: RegExp) => new RegExp(pattern.source, "m");

describe("one mistake", () => {
  test.each(Object.entries(MISTAKES))("%s is found by check and by a start, in the same words", async (_, mistake) => {
    write(mistake);
    const problems = (await examine(read(mistake.env))).map(formatProblem).join("\n");
    expect(problems).toMatch(lines(mistake.found));
    expect(problems).not.toMatch(/Invalid input|received undefined|nonoptional|Unrecognized/);
    expect(await started(mistake.env)).toMatch(lines(mistake.found));
  });

  test("is found by a reload, too, in the words of check", async () => {
    write({});
    const app = await startApp(read(), { version: "0.0.0", logger: silentLogger });
    try {
      for (const [name, { env, found, ...mistake }] of Object.entries(MISTAKES)) {
        write(mistake);
        const reloaded = await app.reload(read(env)).then(
          ({ problems }) => problems.join("\n"),
          (error: Error) => error.message,
        );
        // What a file beside the configuration lacks is listed from the moment on, whether anything is reloaded or not.
        if (mistake.config !== undefined || env !== undefined) expect(`${name}: ${reloaded}`).toMatch(lines(found));
        expect(await listed(app.url)).toMatch(lines(found));
        for (const file of Object.keys(mistake.files ?? {})) rmSync(join(folder, file));
      }
      write({});
      await app.reload(read());
      await until(async () => (await listed(app.url)) === "", "nothing being left of the mistakes");
    } finally {
      await app.stop();
    }
  });
});

test("all mistakes together are found in one go by the command line", async () => {
  const all = Object.entries(MISTAKES).filter(([, { alone }]) => alone !== true);
  const config = all.reduce<Json>((merged, [, mistake]) => merge(merged, mistake.config ?? {}), {});
  write({ config, files: Object.assign({}, ...all.map(([, { files }]) => files)) });
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect(code).toBe(2);
  const missed = all.filter(([, { found }]) => !lines(found).test(err)).map(([name]) => name);
  expect(missed).toEqual([]);
});

test("a broken critical hook or plugin is reported as what stops the start", async () => {
  write({
    config: {
      hooks: [{ id: "a", critical: true, on: "nowhere", run: TRUE }],
      plugins: [{ module: "./none.mjs", critical: true }],
    },
  });
  const { err } = await runCli(["check"], { cwd: folder });
  expect(err).toMatch(/Hookgate does not start.*the critical plugin \.\/none\.mjs and the critical hook a are broken/);
  expect(err).not.toContain("starts without");
  await expect(startApp(read(), { version: "0.0.0", logger: silentLogger })).rejects.toThrow(/critical/);
});

test("a plugin that is no JavaScript is reported with its line", async () => {
  write({
    config: { plugins: ["./syntax.mjs"] },
    files: { "syntax.mjs": 'export default {\n  id: "syntax",\n  setup( {\n};\n' },
  });
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect([code, err]).toEqual([2, expect.stringMatching(/\.\/syntax\.mjs: .*\(syntax\.mjs:\d/)]);
});

test("an ES module in a file for CommonJS is reported with the name that it needs", async () => {
  write({
    config: { plugins: ["./three.js"] },
    files: { "package.json": '{ "type": "commonjs" }', "three.js": "export default {};" },
  });
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/An ES module has a name that ends in \.mjs, or "type": "module"/),
  ]);
});

test("a plugin whose hooks are not known, because its setup did not end, is reported with the place where `critical: true` holds", async () => {
  const plugin = (setup: string) => `export default { id: "p", setup({ hooks }) { ${setup} } };`;
  const hook = (options: string) => `hooks.registerVoid("message_received", () => {}, ${options});`;
  const circle = ["a", "b"].map((id, index) => hook(`{ id: "${id}", after: ["p.${"ba"[index]}"] }`)).join(" ");
  const unknown = /`critical: true` at one of them does not refuse a start: set it at this entry/;
  const config = { plugins: ["./p.mjs"] };
  write({ config, files: { "p.mjs": plugin(`missing(); ${hook("{ critical: true }")}`) } });
  expect((await runCli(["check"], { cwd: folder })).err).toMatch(unknown);
  const gateway = await gatewayProcess({ folder, config });
  try {
    await gateway.start();
    await gateway.ready();
    expect(await listed(gateway.url, TOKEN)).toMatch(unknown);
  } finally {
    await gateway.kill();
  }
  for (const known of [plugin(circle), plugin(`${hook("{ critical: true }")} missing();`)]) {
    write({ config, files: { "p.mjs": known } });
    const { err } = await runCli(["check"], { cwd: folder });
    expect(err).toContain("./p.mjs: ");
    expect(err).not.toMatch(unknown);
  }
});

test("a module of a hook that is no JavaScript is reported with its line, and by a running gateway, too", async () => {
  const config = { hooks: [{ id: "a", ...received, run: { module: { path: "./syntax.mjs" } } }] };
  write({ config, files: { "syntax.mjs": "export default () => {\n  return (;\n};\n" } });
  const words = /hook a: the module \.\/syntax\.mjs cannot be loaded: .*\(syntax\.mjs:2\)/;
  const { err } = await runCli(["check"], { cwd: folder });
  expect(err).toMatch(words);
  expect(err).toContain("Hookgate starts, puts hooks in force that cannot do their work, and lists all problems");
  const gateway = await gatewayProcess({ folder, config });
  try {
    await gateway.start();
    await gateway.ready();
    expect(await listed(gateway.url, TOKEN)).toMatch(words);
  } finally {
    await gateway.kill();
  }
});

test("a file of hooks that was put aside is a note, and what lies beside hooks is none", async () => {
  const text = "id: a\non: message_received\nrun: { shell: { sh: exit 0 } }\n";
  const data = {
    "hooks/data.json": '{"run": [1], "on": true, "rows": []',
    "hooks/notes.md": text,
    "hooks/a.mjs": text,
  };
  const toml = 'id = "t"\non = "inbound_claim"\n[run.shell]\nsh = "exit 1"\n';
  const others = { "hooks/.guard.yaml": text, "hooks/.prettierrc.yaml": "semi: true\n", "hooks/t.toml": toml };
  write({
    files: { "hooks/a.yaml.bak": text, "hooks/a.yaml~": text, "hooks/rows.toml": "n = 1\n", ...others, ...data },
  });
  const { code, out, err } = await runCli(["check"], { cwd: folder });
  expect([code, err]).toEqual([0, ""]);
  const notes = out.split("\n").filter((line) => line.startsWith("note: "));
  expect(notes).toEqual([
    expect.stringMatching(/\.guard\.yaml has hooks and is not read, because a name that starts with a dot is hidden: /),
    expect.stringMatching(/a\.yaml\.bak is not read: the name of a file of hooks ends in \.yaml or \.yml$/),
    expect.stringMatching(/a\.yaml~ is not read/),
    expect.stringMatching(/t\.toml has hooks and is not read, because hooks are written in YAML: /),
  ]);
});

test("direct messages that everyone may write and nothing answers are a warning", async () => {
  const access = { dms: "everyone" };
  const env = { DISCORD_TOKEN: "x", TELEGRAM_TOKEN: "1:x" };
  const check = async (more: Json) => {
    write({ config: { discord: { access }, telegram: { access }, ...more } });
    const { code, err } = await runCli(["check"], { cwd: folder, env });
    expect(code).toBe(0);
    return err;
  };
  expect(await check({})).toMatch(
    /^warning: discord\.access\.dms and telegram\.access\.dms: everyone may write to the bot, but nothing answers/m,
  );
  expect(await check({ gateway: { default_route: { forward: "telegram::1001" } } })).toBe("");
  const hook = { id: "hello", on: "inbound_claim", run: { shell: { command: ["true"] } } };
  expect(await check({ hooks: [hook] })).not.toContain("nothing answers");
  expect(await check({ hooks: [{ ...hook, enabled: false }] })).toContain("nothing answers");
});

test("a room of the web chat that gets the words of customers and that people without a role read is a note", async () => {
  const person = (id: number, name: string) => ({ id, name, token_env: `TOKEN_${name.toUpperCase()}` });
  const web = {
    people: [person(2, "Bob"), person(3, "Eve")],
    rooms: [{ id: "desk", name: "Desk" }],
    access: { dms: "everyone" },
  };
  const config = {
    web,
    operators: { owner: ["web:1"], operator: ["web:2"] },
    gateway: { default_route: { forward: "web:web:desk" } },
    alerts: {
      routes: { default: { to: ["web:web:desk", "web:web:dm-1"], escalate: [{ after: "5m", to: ["web:web:desk"] }] } },
    },
    sla: { policies: [{ id: "first", ...reply }] },
  };
  const env = { TOKEN_BOB: "the-token-of-bob-number-0001", TOKEN_EVE: "the-token-of-eve-number-0001" };
  const check = async (given: Json) => {
    write({ config: given });
    const { code, out, err } = await runCli(["check"], { cwd: folder, env });
    expect([code, err]).toEqual([0, ""]);
    return out.split("\n").filter((line) => line.startsWith("note: "));
  };
  const readers =
    "Everyone who can log in to the web chat reads its rooms, also Eve, who has no role. Name a chat of operators only, or give these people a role.";
  expect(await check(config)).toEqual([
    `note: gateway.default_route.forward: messages of customers are posted in web:web:desk. ${readers}`,
    `note: alerts.routes.default.to.0: cards that quote customers are posted in web:web:desk. ${readers}`,
    `note: alerts.routes.default.escalate.0.to.0: cards that quote customers are posted in web:web:desk. ${readers}`,
  ]);
  expect(await check({ ...config, operators: { owner: ["web:1"], operator: ["web:2"], viewer: ["web:3"] } })).toEqual(
    [],
  );
  expect(await check({ ...config, sla: { policies: [] }, gateway: {} })).toEqual([]);
});

test("an empty section counts as absent", async () => {
  write({ files: {} });
  writeFileSync(
    join(folder, "hookgate.yaml"),
    "alerts:\nplugins:\noperators:\n  # owner: []\nweb:\n  access:\n    # dms: off\nhooks:\n",
  );
  expect((await examine(read())).map(formatProblem)).toEqual([]);
});

test("a plugin that keeps timers going does not keep check from ending, and sends nothing", async () => {
  write({
    config: { plugins: ["./busy.mjs"] },
    files: {
      "busy.mjs": `export default { id: "busy", async setup(api) { setInterval(() => {}, 1000); await api.send({ platform: "web", botId: "web", chatId: "general" }, "hi"); await api.store.set("a", 1); } };`,
    },
  });
  const { code, out, err } = await runCli(["check"], { cwd: folder });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toContain("is good");
});

test.each([
  ["setup", 'export default { id: "gone", setup() { process.exit(0); } };', "setup failed: "],
  ["its module", "process.exit(0);", "the module was not loaded: "],
])("a plugin that calls process.exit in %s is a problem, with its place", async (_, source, what) => {
  write({ config: { plugins: ["./gone.mjs"] }, files: { "gone.mjs": source } });
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect(code).toBe(2);
  expect(err).toContain(`./gone.mjs: ${what}it called process.exit(0): a plugin must not end the process (gone.mjs:1:`);
});

test("a plugin whose helper calls process.exit is a problem, and a start goes on without it", async () => {
  const files = {
    "gone.mjs": 'import { leave } from "./leave.mjs";\nsetImmediate(leave); await new Promise(() => {});',
    "leave.mjs": "export const leave = () => process.exit(0);",
  };
  const text = "it called process.exit(0): a plugin must not end the process (leave.mjs:1:";
  write({ config: { plugins: ["./gone.mjs"] }, files });
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect(code).toBe(2);
  expect(err).toContain(`./gone.mjs: the module was not loaded: ${text}`);
  const gateway = await gatewayProcess({ folder, config: { plugins: ["./gone.mjs"] } });
  try {
    await gateway.start();
    await gateway.ready();
    expect(await listed(gateway.url, TOKEN)).toContain(text);
  } finally {
    await gateway.kill();
  }
});

test("a call of process.exit that a plugin left behind is not blamed on the plugin that is loaded next", async () => {
  const files = {
    "leaver.mjs": 'export default { id: "leaver", setup() { setTimeout(() => process.exit(0), 5); } };',
    "dice.mjs": 'export default { id: "dice", setup: () => new Promise((resolve) => setTimeout(resolve, 200)) };',
  };
  write({ config: { plugins: ["./leaver.mjs", "./dice.mjs"] }, files });
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect(code).toBe(2);
  expect(err).toContain("./leaver.mjs: after its setup, it called process.exit(0) (leaver.mjs:1:");
  expect(err).toContain("That ends a running gateway");
  expect(err).toMatch(/^1 problem\.$/m);
});

const GONE = "connect(1, '127.0.0.1')";
/** After the setup: an immediate of the setup runs before the loader goes on, and its timer after that. */
const late = (call: string) => `setImmediate(() => setTimeout(${call}));`;
test.each([
  ["a timer", late("() => { throw new Error('too late'); }"), "an error that nothing caught: too late (late.mjs:1:"],
  ["a promise", late("() => void Promise.reject(new Error('too late'))"), "caught: too late (late.mjs:1:"],
  ["a helper", late("fail"), "it threw an error that nothing caught: helpless (fail.mjs:1:"],
  [
    "a connection",
    `import('node:net').then(({ connect }) => ${GONE});`,
    "a plugin (./late.mjs) or the module of a hook threw",
  ],
  ["no place", late("() => Promise.reject('too late')"), "or the module of a hook threw an error that nothing"],
  ["a call", late("() => process.exit(0)"), "after its setup, it called process.exit(0) (late.mjs:1:"],
])("an error of %s that a plugin left behind is a problem", async (_, left, text) => {
  write({
    config: { plugins: ["./late.mjs"] },
    files: {
      "late.mjs": `import { fail } from "./fail.mjs"; export default { id: "late", setup() { ${left} } };`,
      "fail.mjs": 'export const fail = () => { throw new Error("helpless"); };',
    },
  });
  const { code, out, err } = await runCli(["check"], { cwd: folder });
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(text);
  // A start has nothing to leave out.
  expect(err).toMatch(/^1 problem\.$/m);
});

test("a plugin whose listener of uncaught errors ends the process does not end the check", async () => {
  const setup = `process.on("uncaughtException", () => process.exit(3)); ${late("() => { throw new Error('too late'); }")}`;
  write({
    config: { plugins: ["./late.mjs"] },
    files: { "late.mjs": `export default { id: "late", setup() { ${setup} } };` },
  });
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect(code).toBe(2);
  expect(err).toContain("an error that nothing caught: too late (late.mjs:1:");
  expect(err).toContain("it called process.exit(3) (late.mjs:1:");
  expect(err).toMatch(/^2 problems\.$/m);
});

test.each([
  ["ends the process", "process.exit(4)"],
  ["throws", "throw new Error('too late')"],
  ["loops", "for (;;);"],
])("a plugin that %s after the check has ended changes nothing of its result", async (_, left) => {
  const setup = `setInterval(() => {}, 1); setTimeout(() => { ${left} }, 600);`;
  write({
    config: { plugins: ["./later.mjs"] },
    files: { "later.mjs": `export default { id: "later", setup() { ${setup} } };` },
  });
  const { code, out, err } = await runCli(["check"], { cwd: folder });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/is good\.$/m);
});

test("a plugin that loops for ever is named with the place, and one that only waits for long is not", async () => {
  const wait = "await new Promise((done) => setTimeout(done, 6000));";
  const sources = {
    module: "for (;;);",
    setup: 'export default { id: "p", setup() { for (;;); } };',
    timer: 'export default { id: "p", setup() { setTimeout(() => { for (;;); }); } };',
    waits: `${wait} export default { id: "p", async setup() { ${wait} } };`,
  };
  const checked = Object.entries(sources).map(async ([name, source]) => {
    const cwd = join(folder, name);
    mkdirSync(cwd);
    writeFileSync(join(cwd, "p.mjs"), source);
    writeFileSync(join(cwd, "hookgate.yaml"), "plugins: [./p.mjs]\n");
    const { code, err } = await runCli(["check"], { cwd });
    return [name, { code, err }];
  });
  const found = Object.fromEntries(await Promise.all(checked));
  const ended = (who: string, name: string) => {
    const text = `^${who} does not return \\(\\S+/${name}/p\\.mjs:1:\\d+\\): look for a loop without an end\\. The check was ended\\.\n$`;
    return { code: 2, err: expect.stringMatching(new RegExp(text)) };
  };
  expect(found).toEqual({
    module: ended("While it is loaded, the plugin \\./p\\.mjs", "module"),
    setup: ended("While it is loaded, the plugin \\./p\\.mjs", "setup"),
    // Its timer may be due before the check has gone on.
    timer: ended("(What a plugin left running|While it is loaded, the plugin \\./p\\.mjs)", "timer"),
    waits: { code: 0, err: "" },
  });
}, 120_000);

/** Lists are joined, settings merged. */
function merge(one: Json, other: Json): Json {
  const merged = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const before = merged[key];
    if (Array.isArray(before) && Array.isArray(value)) merged[key] = [...before, ...value];
    else if (isMap(before) && isMap(value)) merged[key] = merge(before, value);
    else merged[key] = value;
  }
  return merged;
}

function isMap(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

test("a hook that its own runs or messages start is a warning, which breaks nothing", async () => {
  const posts = { chat: { to: "web:web:general", text: "x" } };
  write({
    config: {
      hooks: [
        { id: "runs", on: "hook_run_completed", run: TRUE },
        { id: "itself", on: "hook_run_completed", match: { hooks: ["itself"] }, run: TRUE },
        { id: "others", on: "hook_run_completed", match: { hooks: ["others", "runs"] }, run: TRUE },
        { id: "sends", on: "message_sent", run: posts },
        { id: "narrowed", on: "message_sent", match: { platforms: ["web"] }, run: posts },
      ],
    },
  });
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect(err).toContain("warning: hook runs: each of its runs starts it again");
  expect(err).toContain("warning: hook sends: what it posts starts it again");
  expect(err).toContain("warning: hook itself: match.hooks names only the hook itself, so no event starts it");
  expect(err).not.toMatch(/hook (narrowed|others)/);
  expect(code).toBe(0);
});

test("an agent that only answers, in a hook that nothing waits for, is a warning", async () => {
  const hook = (id: string, more: object, options: object = {}) => ({
    id,
    on: "message_received",
    run: { agent: { prompt: "x", model: "cheap", ...options } },
    ...more,
  });
  write({
    config: {
      models: { available: { cheap: { provider: "openai-compatible", model: "tiny" } } },
      hooks: [
        hook("idle", {}),
        hook("acts", {}, { tools: ["send_message"] }),
        hook("noted", { notify: { on: ["succeeded"], to: ["web:web:general"] } }),
      ],
    },
  });
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect(err).toContain(
    "warning: hook idle: its agent sends nothing, and no event waits for its answer: give it a tool that acts",
  );
  expect(err).not.toMatch(/hook (acts|noted)/);
  expect(code).toBe(0);
});

test("a guard that gates keep from running is a warning, and other hooks with gates are none", async () => {
  const hook = (id: string, more: object) => ({ id, on: "message_sending", run: TRUE, ...more });
  const fallback = { on_failure: "fallback", fallback: { cancel: "no" } };
  const watch = (when: string) => ({ trigger: { files: { paths: "in/*", operations: ["created"] } }, match: { when } });
  write({
    config: {
      hooks: [
        hook("held", { on_failure: "closed", cooldown: "1h", max_per_hour: 5 }),
        hook("swapped", { ...fallback, max_per_hour: 5 }),
        hook("busy", { on_failure: "closed", when_busy: "skip" }),
        hook("free", { cooldown: "1h", when_busy: "skip" }),
        hook("full", { on_failure: "closed" }),
        { id: "created", ...watch('payload.operation == "created"'), run: TRUE },
      ],
    },
  });
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect(err).toContain(
    "warning: hook held: while cooldown or max_per_hour keeps it from running, it counts as failed, and what it guards is blocked (on_failure: closed): remove cooldown and max_per_hour where it guards every event.",
  );
  expect(err).toContain(
    "warning: hook swapped: while max_per_hour keeps it from running, it counts as failed, and its",
  );
  expect(err).toContain("warning: hook busy: while when_busy: skip keeps it from running, it counts as failed");
  expect(err).not.toMatch(/hook (free|full|created)/);
  expect(code).toBe(0);
});

test("a variable's name where no shell reads it is a warning", async () => {
  const posts = (id: string, http: object) => ({ id, trigger: "manual", run: { http } });
  const runs = (id: string, env: object) => ({ id, trigger: "manual", run: { shell: { sh: "true", env } } });
  const program = (id: string, command: string[]) => ({ id, trigger: "manual", run: { shell: { command } } });
  const url = "https://ci.example.org/a";
  write({
    config: {
      hooks: [
        posts("bearer", { url, headers: { Authorization: "Bearer $MK", "X-Key": `\${KEY}` } }),
        posts("address", { url: `https://ci.example.org/\${MK}/x` }),
        runs("path", { PATH: "/opt/bin:$PATH" }),
        posts("plain", { url: `${url}?$top=5`, headers: { "X-Price": "$5" } }),
        runs("script", { LINE: "cd $HOME && ls" }),
        program("argument", ["curl", "-d", "$HOOKGATE_PAYLOAD", url]),
        program("shell", ["sh", "-c", "$LINE"]),
        program("pattern", ["awk", "$NF"]),
      ],
    },
  });
  const { code, err } = await runCli(["check"], { cwd: folder });
  for (const [id, told] of [
    [
      "bearer",
      "headers.Authorization has $MK, and nothing puts a variable's value there: write auth: { bearer_env: MK }",
    ],
    [
      "bearer",
      "headers.X-Key has $KEY, and nothing puts a variable's value there: write auth: { header: X-Key, value_env: KEY }",
    ],
    ["address", "url has $MK"],
    ["path", "env.PATH has $PATH"],
    [
      "argument",
      "command[2] has $HOOKGATE_PAYLOAD, and nothing puts a variable's value there: write the line as `sh` in place of `command`",
    ],
  ])
    expect(err).toContain(`warning: hook ${id}: ${told}`);
  expect(err).not.toMatch(/hook (plain|script|shell|pattern)/);
  expect(code).toBe(0);
});

test("a program that leaves its work running in the background is a warning, and one that waits for it is none", async () => {
  const shell = (id: string, sh: string) => ({ id, trigger: "manual", run: { shell: { sh } } });
  const step = { shell: { sh: "(make all) &\n" } };
  write({
    config: {
      hooks: [
        shell("left", "nohup make deploy > log 2>&1 &"),
        { ...shell("gathered", "true"), context: [step] },
        shell("waited", "make a & make b & wait"),
        shell("quoted", "echo a \\&"),
      ],
    },
  });
  const { code, err } = await runCli(["check"], { cwd: folder });
  for (const id of ["left", "gathered"])
    expect(err).toContain(
      `warning: hook ${id}: its \`sh\` ends in &, and the gateway ends what a program leaves running`,
    );
  expect(err).not.toMatch(/hook (waited|quoted)/);
  expect(code).toBe(0);
});

test("a plugin hook that may be overruled is a warning, which breaks nothing", async () => {
  const source = `export default { id: "p", setup(api) {
    api.hooks.registerModifying("message_sending", () => ({ text: "a" }), { id: "first", priority: 2 });
    api.hooks.registerModifying("message_sending", () => ({ text: "b" }), { id: "second", sees: "original" });
  } };`;
  write({ config: { plugins: ["./p.mjs"] }, files: { "p.mjs": source } });
  const told = 'Hook "p.second" does not see what "p.first" sets at message_sending (sees: original).';
  const { code, err } = await runCli(["check"], { cwd: folder });
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining(`warning: ${told}`) });
  const { out } = await runCli(["check", "--json"], { cwd: folder });
  expect(JSON.parse(out)).toMatchObject({ ok: true, warnings: [expect.stringContaining(told)] });
});

test("a step that mentions everyone where Telegram has no such mention can notify no one", async () => {
  const route = { to: ["telegram::-1001"], escalate: [{ after: "1h", mention: ["everyone"] }] };
  const env = { TELEGRAM_TOKEN: `123456:${"a1B".repeat(12)}` };
  const found = "alerts.routes.default.escalate.0.mention: this step can notify none of the people that it mentions: ";
  write({ config: { alerts: { routes: { default: route } } } });
  const bad = await runCli(["check"], { cwd: folder, env });
  expect([bad.code, bad.err]).toEqual([
    2,
    expect.stringContaining(`${found}everyone cannot be mentioned on telegram. `),
  ]);
  // There it is posted besides.
  write({ config: { alerts: { routes: { default: route }, fallback: ["web:web:general"] } } });
  const warned = await runCli(["check"], { cwd: folder, env });
  const warning = "everyone cannot be mentioned on telegram, so it is posted at `alerts.fallback` as well";
  expect([warned.code, warned.err]).toEqual([0, expect.stringContaining(`${found}${warning}`)]);
  expect(warned.err).toMatch(/^warning: /m);
  write({ config: { alerts: { routes: { default: { ...route, to: ["telegram::-1001", "web:web:general"] } } } } });
  expect((await runCli(["check"], { cwd: folder, env })).err).toBe("");
});
