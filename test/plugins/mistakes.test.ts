/** Mistakes in plugins that `hookgate check` reports, each in the plugin's own line, all in one go. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";

const received = (options: string) => `api.hooks.registerVoid("message_received", () => {}, ${options});`;
const command = (options: string, rest = "") =>
  `api.commands.register({ name: "roll", summary: "s", role: "viewer", run: () => "", options: ${options}, ${rest} });`;
const point = `const own = { name: "own", model: "void", payload: z.object({}), summary: "s", example: {} };`;
const many = (count: number, one: string) => `Array.from({ length: ${count} }, (_, i) => (${one}))`;

const MISTAKES: Record<string, [code: string, found: RegExp]> = {
  "retry-key": [
    received(`{ execution: "background", retry: { attempts: 2, idempotent: true, backofMs: 60_000 } }`),
    /retry: unknown key "backofMs" \(did you mean "backoffMs"\?\)/,
  ],
  "retry-words": [
    received(`{ execution: "background", retry: { attempts: 2, idempotent: true, backoffMs: "60s" } }`),
    /retry\.backoffMs: expected milliseconds, got 60s/,
  ],
  "retry-number": [
    received(`{ execution: "background", retry: 3 }`),
    /retry: expected { attempts, backoffMs, idempotent }, got 3/,
  ],
  "no-point": [
    `api.hooks.register({ hok: "inbound_claim", handler() {} });`,
    /register: hook: expected the name of a point, got nothing/,
  ],
  "watch-name": [
    `api.hooks.registerVoid("file.changed", () => {}, { match: { watches: ["watchr"] } });`,
    /the hook "watch-name\.file\.changed" \(.*match\.watches: there is no hook "watchr", so this never matches/,
  ],
  "due-point": [
    `api.hooks.registerVoid("hook.due", () => {});`,
    /Hook "due-point\.hook\.due": hook\.due calls only the configured hook whose time has come, so this would never run: use hook_run_completed/,
  ],
  "due-register": [
    `api.hooks.register({ hook: "hook.due", handler() {} });`,
    /hook\.due calls only the configured hook/,
  ],
  budget: [received("{ budget: { entries: 1 } }"), /budget: only turn handlers contribute/],
  "closed-notice": [
    `api.hooks.registerVoid("message_sent", () => {}, { failurePolicy: "fail-closed" });`,
    /failurePolicy: a failure at message_sent stops nothing, so it can only be fail-open/,
  ],
  "closed-after": [
    `api.hooks.register({ hook: "task:create", phase: "after", failurePolicy: "fail-closed", handler() {} });`,
    /failurePolicy: a failure at task:create \(after\) stops nothing/,
  ],
  "required-claim": [
    `api.hooks.registerClaiming("inbound_claim", () => null, { failurePolicy: "required" });`,
    /failurePolicy: expected fail-open \| fail-closed \| fallback at inbound_claim, a claiming point, got required/,
  ],
  "skip-claim": [
    `api.hooks.registerClaiming("inbound_claim", () => null, { failurePolicy: "skip" });`,
    /failurePolicy: expected .* at inbound_claim, a claiming point, got skip/,
  ],
  "blocking-void": [
    received(`{ execution: "blocking" }`),
    /execution: nothing can be vetoed at message_received, so it cannot be blocking: remove `execution`/,
  ],
  "blocking-after": [
    `api.hooks.register({ hook: "task:create", phase: "after", execution: "blocking", handler() {} });`,
    /execution: nothing can be vetoed at task:create \(after\), so it cannot be blocking/,
  ],
  "void-at-shutdown": [
    `api.hooks.registerVoid("orchestrator:shutdown", () => {});`,
    /is a lifecycle point, not a void one: use register with a phase \(before or after\)/,
  ],
  "veto-nowhere": [
    `${point} api.hooks.declare({ ...own, vetoable: true });`,
    /vetoable: no handler of this point can stop anything: remove it/,
  ],
  twice: [
    `${point} api.hooks.declare(own); api.hooks.declare({ ...own, model: "modifying", result: z.object({}) });`,
    /Hook point "plugin:twice:own": this plugin declares it already/,
  ],
  foreign: [received(`{ pluginId: "all" }`), /pluginId: the hook belongs to plugin "foreign": remove it/],
  "null-fallback": [
    `api.hooks.registerModifying("message_sending", () => null, { failurePolicy: "fallback", fallback: { message: null } });`,
    /fallback: Result: message: null has no effect: return a value, or leave out message; cancel stops the operation/,
  ],
  generator: [
    `api.hooks.registerVoid("message_received", function* () {});`,
    /handler: the body of a generator function would never run: remove the \*/,
  ],
  "class-handler": [
    `api.hooks.registerVoid("message_received", class Greeter {});`,
    /handler: a class cannot be called: give a function/,
  ],
  "class-route": ["api.route(class {});", /api\.route: a class cannot be called/],
  "class-command": [command("[]", "run: class {}"), /Command "roll": run: a class cannot be called: give a function/],
  "no-name": [
    "api.hooks.registerVoid(undefined, () => {});",
    /registerVoid: expected the name of a point, got nothing/,
  ],
  "null-match": [received("{ match: null }"), /match: expected \{ … \}, got null: leave it out to match everything/],
  "null-options": [received("null"), /options: expected \{ … \}, got null/],
  "null-command": [
    "api.commands.register(null);",
    /commands\.register: expected \{ name, summary, role, run \}, got null/,
  ],
  "null-point": [
    "api.hooks.declare(null);",
    /declare: expected \{ name, model, payload, summary, example \}, got null/,
  ],
  "bigint-example": [
    `api.hooks.declare({ name: "own", model: "void", payload: z.object({ n: z.bigint() }), summary: "s", example: { n: 1n } });`,
    /Hook point "plugin:bigint-example:own": example\.n: expected a JSON value, got a BigInt/,
  ],
  "no-summary": [
    `api.hooks.declare({ name: "own", model: "void", payload: z.object({}), example: {} });`,
    /Hook point "plugin:no-summary:own": summary: expected a line of text/,
  ],
  "dash-command": [
    command("[]", 'name: "--"'),
    /Command "--": name: expected 1 to 32 .* a letter or a digit first and last/,
  ],
  "early-dash": [command("[]", 'name: "-a"'), /Command "-a": name: expected/],
  "late-dash": [command("[]", 'name: "a-"'), /Command "a-": name: expected/],
  "really-exit": [
    "process.reallyExit(0);",
    /setup failed: it called process\.reallyExit\(0\): a plugin must not end the process/,
  ],
  "number-user": [received("{ match: { users: [1] } }"), /match\.users: expected a list of texts, got 1 in it/],
  "too-many-options": [
    command(many(26, `{ name: "o" + i, summary: "s", type: "string" }`)),
    /Command "roll": options: expected at most 25 options/,
  ],
  "number-choices": [
    command(`[{ name: "a", summary: "s", type: "integer", choices: ["x"] }]`),
    /options: "a": only options of the type string have choices/,
  ],
  "no-choices": [
    command(`[{ name: "a", summary: "s", type: "string", choices: [] }]`),
    /options\.0\.choices: the list is empty/,
  ],
  "many-choices": [
    command(`[{ name: "a", summary: "s", type: "string", choices: ${many(26, '"c" + i')} }]`),
    /options\.0\.choices: expected at most 25 choices/,
  ],
  "choice-twice": [
    command(`[{ name: "a", summary: "s", type: "string", choices: ["x", "x"] }]`),
    /options: "a": the choice "x" is there twice/,
  ],
  "required-late": [
    command(
      `[{ name: "a", summary: "s", type: "string" }, { name: "b", summary: "s", type: "string", required: true }]`,
    ),
    /options: "b" is required: put it before "a", which is not/,
  ],
  "long-choice": [
    command(`[{ name: "a", summary: "s", type: "string", choices: ["x".repeat(101)] }]`),
    /options\.0\.choices\.0: expected at most 100 characters/,
  ],
  "too-long": [
    command(
      many(25, `{ name: "o" + i, summary: "s".repeat(100), type: "string", choices: ${many(25, `"choice" + i`)} }`),
    ),
    /its names, summaries and choices have \d+ characters, and Discord takes 8000/,
  ],
  "too-many": [
    `for (let i = 0; i < 100; i++) ${command("[]", `name: "c" + i`)}`,
    /there are 100 commands already, and Discord and Telegram take no more/,
  ],
  "lonely-reader": [
    `api.hooks.registerVoid("plugin:never:thing", () => {});`,
    /There is no hook point "plugin:never:thing".*list it under `plugins:`, and check that it loads/,
  ],
};

test("hookgate check reports each mistake in a plugin, all in one go", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-mistakes-"));
  try {
    for (const [id, [code]] of Object.entries(MISTAKES))
      writeFileSync(
        join(folder, `${id}.mjs`),
        `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};\nexport default { id: "${id}", setup(api) {\n${code}\n} };`,
      );
    writeFileSync(
      join(folder, "later.mjs"),
      `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};\nexport default { id: "later", setup(api) { api.hooks.declare({ name: "thing", model: "void", payload: z.object({}), summary: "s", example: {} }); } };`,
    );
    const plugins = [...Object.keys(MISTAKES), "later"].map((id) => `  - ./${id}.mjs`);
    writeFileSync(join(folder, "hookgate.yaml"), `plugins:\n${plugins.join("\n")}\n`);
    const { code, err } = await runCli(["check"], { cwd: folder });
    expect(code).toBe(2);
    const lines = err.split("\n");
    const missed = Object.entries(MISTAKES).flatMap(([id, [, found]]) => {
      const reported = lines.find((line) => line.includes(`./${id}.mjs: `)) ?? `${id} is not reported`;
      return found.test(reported) && reported.includes(`(${id}.mjs:3:`) ? [] : [reported];
    });
    expect(missed).toEqual([]);
    expect(err).not.toContain("./later.mjs: ");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
