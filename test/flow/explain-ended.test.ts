/** What `/hooks why`, `/hooks show` and `/status` answer after hooks of a plugin ended the gateway, at points that nothing else has a record of. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const PLUGIN = `import { existsSync, readFileSync } from "node:fs";
export default { id: "g", setup({ hooks, commands, route }) {
  const leave = async (code) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    process.exit(code);
  };
  const never = new Promise(() => {});
  hooks.registerVoid("message_received", async ({ message: { text } }, { attempt }) => {
    if (attempt === 1 && /^(TIMER|SLOW)/.test(text)) await never;
  }, { id: "innocent", execution: "background" });
  commands.register({ name: "boom", summary: "s", role: "viewer", run: () => process.exit(12) });
  commands.register({ name: "boom-later", summary: "s", role: "viewer", run: () => leave(13) });
  route(({ text }) => (text === "ROUTE" ? process.exit(14) : undefined));
  const how = (point) => (existsSync("mode") && readFileSync("mode", "utf8").split(" ")[0] === point ? readFileSync("mode", "utf8").split(" ")[1] : "");
  const end = (point) => {
    if (how(point) === "kill") process.kill(process.pid, "SIGKILL");
    if (how(point) === "exit") process.exit(7);
  };
  for (const point of ["message_edited", "message_deleted", "reaction_added", "command_invoked", "config.reloaded", "hook_run_completed"])
    hooks.registerVoid(point, () => end(point), { id: point });
  hooks.registerVoid("config.reloaded", () => {}, { id: "other", priority: 1000 });
  hooks.registerClaiming("inbound_claim", ({ message: { text } }, { attempt }) => {
    if (text === "DIE") process.exit(8);
    if (text === "SLOW") return leave(15);
    if (text === "TIMER" && attempt === 1) setTimeout(() => process.exit(16), 50);
    return text === "ONCE" ? { handled: true, reply: text } : null;
  }, { id: "in" });
  hooks.registerClaiming("before_dispatch", ({ text }, { attempt }) => {
    if (text === "ONCE" && attempt === 1) process.exit(9);
    return null;
  }, { id: "out" });
  hooks.register({ hook: "orchestrator:shutdown", phase: "before", id: "orchestrator:shutdown", handler: () => end("orchestrator:shutdown") });
} };`;

const folder = mkdtempSync(join(tmpdir(), "hookgate-ended-"));
const CONFIG = {
  gateway: { inbox_attempts: 2, unanswered_note: false, default_route: { plugin: "g" } },
  operators: { owner: ["web:1"] },
  web: {
    access: { dms: "everyone", chats: ["*"], mention: "always" },
    rooms: [{ id: "general", name: "General" }],
  },
  plugins: ["./g.mjs"],
  hooks: [{ id: "byhand", trigger: "manual", run: { shell: { command: ["true"] } } }],
};
let gateway: GatewayProcess;

beforeAll(async () => {
  writeFileSync(join(folder, "g.mjs"), PLUGIN);
  gateway = await gatewayProcess({ folder, config: CONFIG });
  await gateway.start();
  await gateway.ready();
});
afterAll(async () => {
  await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** How a hook ends the gateway: `message_edited kill`. */
const mode = (text = "") => writeFileSync(join(folder, "mode"), text);
const ask = async (line: string) => (await invoke(gateway.url, line)).text.replace(/[\\`*]/g, "");
const asked = (line: string) => ask(line).catch(() => undefined);
/** What no answer may say of a hook or a point that ended the gateway. */
const GUESSED =
  /never fired|has not fired|did not (fire|run)|no hook was enabled|ran for the last [^.]*\. Now|: ✓ passed\.$/im;

async function call(method: string, path: string, body?: unknown): Promise<Record<string, unknown> | undefined> {
  const answered = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": body ? "application/json" : "text/plain" },
    body: body ? JSON.stringify(body) : null,
  }).catch(() => undefined);
  // The process may end before it answers.
  if (answered) expect(answered.ok).toBe(true);
  return answered ? ((await answered.json().catch(() => ({}))) as Record<string, unknown>) : undefined;
}

let said = 0;
/** Resolves with the chat's id of a message. */
async function say(text: string): Promise<number> {
  const nonce = `nonce-${said++}-of-a-message`;
  const answered = await call("POST", "/api/rooms/general/messages", { text, nonce });
  return (answered?.message as { id: number } | undefined)?.id ?? 0;
}

/** Ends the gateway so often, and starts it again. */
async function endingBy(work: () => Promise<unknown>, times: number): Promise<void> {
  await work();
  for (let end = 0; end < times; end++) {
    await gateway.ending();
    await gateway.start();
  }
  await gateway.ready();
  mode();
}

const deadRow = () => until(async () => /m\d+/.exec((await asked("/outbox list dead")) ?? "")?.[0], "the dead letter");

async function expectNotKnown(point: string, row: string): Promise<void> {
  const unknown = `the process ended while hooks were at work on ${row}`;
  const why = await ask(`/hooks why g.${point}`);
  expect(why).toContain(unknown.slice(1));
  expect(why).not.toMatch(GUESSED);
  expect(await ask(`/hooks show g.${point}`)).toContain(`is not known: ${unknown}`);
  const here = await ask(`/hooks why ${point}`);
  expect(here).toContain(unknown.slice(1));
  expect(here).not.toMatch(GUESSED);
  expect(await ask("/hooks list never")).not.toContain(`g.${point}`);
  expect(await ask(`/hooks why g.${point} ${row}`)).toContain(`Whether g.${point} ran for ${row} is not known.`);
  expect(await ask(`/hooks why ${point} ${row}`)).toContain(`Whether ${point} fired for ${row} is not known.`);
}

it.each([
  ["message_edited", "PATCH", "", { text: "changed", nonce: "nonce-of-a-change" }],
  ["message_deleted", "DELETE", "", undefined],
  ["reaction_added", "PUT", "/reactions", { emoji: "👍", on: true }],
])("whether a hook ran at %s when it was killed each time is not known", async (point, method, path, body) => {
  const message = await say(`for ${point}`);
  mode(`${point} kill`);
  await endingBy(() => call(method, `/api/messages/${message}${path}`, body), 2);
  await expectNotKnown(point, await deadRow());
  await ask("/outbox purge dead yes=true");
});

it("the same holds for a command, and for an edit after one that passed", async () => {
  mode("command_invoked kill");
  await endingBy(() => say("/whoami"), 2);
  // Each command that asks fires the point again.
  const command = await deadRow();
  expect(await ask(`/hooks why g.command_invoked ${command}`)).toContain("is not known.");
  expect(await ask(`/hooks why command_invoked ${command}`)).toContain("is not known.");
  await ask("/outbox purge dead yes=true");

  const message = await say("to be edited twice");
  await call("PATCH", `/api/messages/${message}`, { text: "once", nonce: "nonce-of-once-text" });
  await until(async () => (await ask("/hooks show g.message_edited")).includes("✓ passed"), "the first edit");
  mode("message_edited kill");
  await endingBy(() => call("PATCH", `/api/messages/${message}`, { text: "twice", nonce: "nonce-of-twice-text" }), 2);
  const row = await deadRow();
  expect(await ask("/hooks why g.message_edited")).toContain(
    `The process ended while hooks were at work on ${row}, after that`,
  );
  expect(await ask("/hooks show g.message_edited")).toContain("; whether it ran after that is not known");
});

it("a hook that ended the process itself is said to have done so", async () => {
  await ask("/outbox purge dead yes=true");
  const message = await say("to be edited");
  mode("message_edited exit");
  await endingBy(() => call("PATCH", `/api/messages/${message}`, { text: "edited", nonce: "nonce-of-edited-text" }), 2);
  const row = await deadRow();
  expect(await ask(`/hooks why g.message_edited ${row}`)).toMatch(
    /^g\.message_edited ended the process with exit code 7 at message_edited, for m\d+/,
  );
});

const ENDINGS: readonly (readonly [string, () => Promise<unknown>])[] = [
  [
    "config.reloaded",
    async () => writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify({ ...CONFIG, overrides: {} })),
  ],
  ["hook_run_completed", () => ask("/fire-hook byhand live=true").catch(() => undefined)],
  ["orchestrator:shutdown", () => gateway.stop()],
];
it.each(ENDINGS)("a hook that ended the process at %s is on record", async (point, work) => {
  mode(`${point} exit`);
  await endingBy(work, 1);
  const id = `g.${point}`;
  const ended = `${id} ended the process with exit code 7 at ${point}`;
  const why = await ask(`/hooks why ${id}`);
  expect(why).toContain(
    `${id} started for the last ${point}, and was interrupted: it ended the process with exit code 7.`,
  );
  expect(why).toMatch(/It last fired (just now|.* ago): interrupted \(it ended the process with exit code 7\)/);
  expect(why).not.toMatch(GUESSED);
  expect(await ask(`/hooks show ${id}`)).toMatch(
    /last fired: .*, interrupted \(it ended the process with exit code 7\)/,
  );
  const here = await ask(`/hooks why ${point}`);
  expect(here).toMatch(new RegExp(`${ended}, (just now|.* ago); what else ran there before that is not recorded`));
  expect(here).not.toMatch(GUESSED);
  const status = await ask("/status");
  expect(status).toContain(`⚠ ${ended}`);
  expect(status).toMatch(/Up, but.*hooks? ended the gateway in 24 h/);
  expect(status).not.toMatch(new RegExp(`never fired:.*${id}`));
  if (point === "config.reloaded") expect(await ask("/hooks show g.other")).toContain("whether it ran is not known");
});

it("a hook that ended the process is said to have done so after its next try passed, for the hook and for the message", async () => {
  await endingBy(() => say("ONCE"), 1);
  const shown = await until(async () => {
    const now = await ask("/hooks show g.out");
    return now.includes("✓ passed") && now;
  }, "the try that passed");
  const [ended = "", row] =
    /⚠ (g\.out ended the process with exit code 9 at before_dispatch, for d_(m\d+)r), (?:just now|.* ago);/
      .exec(shown)
      ?.slice(1) ?? [];
  expect(row, shown).toBeDefined();
  expect(await ask("/hooks why g.out")).toContain(`⚠ ${ended}`);
  await until(async () => (await ask(`/hooks why ${row}`)).includes("sent"), "the answer");
  expect(await ask(`/hooks why ${row}`)).toMatch(new RegExp(`\\d:\\d\\d ${ended}`));
});

it("the path of a message that was given up names the hook that ended the process, and its exit code", async () => {
  await ask("/outbox purge dead yes=true");
  await endingBy(() => say("DIE"), 2);
  const row = await deadRow();
  const path = await ask(`/hooks why ${row}`);
  expect(path).toContain(`g.in ended the process with exit code 8 at inbound_claim, for ${row}`);
  expect(path).toContain(
    `g.in ended the process with exit code 8: correct that hook first. /outbox retry ${row} has it handled again.`,
  );
  expect(path).not.toContain("was not recorded");
});

it.each([
  ["the command /boom", "The command /boom of the plugin g", "1 command of plugins", 12, "/boom"],
  ["a command that waited", "The command /boom-later of the plugin g", "commands of plugins", 13, "/boom-later"],
  ["the default route", "The default route of the plugin g", "1 default route", 14, "ROUTE"],
  ["a hook that waited beside another one", "g.in", "hook", 15, "SLOW"],
])("%s, which ended the process, is named, and no hook that did not", async (_, name, counted, code, text) => {
  await ask("/outbox purge dead yes=true");
  await endingBy(() => say(text), 2);
  const row = await deadRow();
  const ended = `${name} ended the process with exit code ${code}`;
  const status = await ask("/status");
  expect(status).toMatch(new RegExp(`⚠ ${ended}( at inbound_claim)?, for ${row} \\(`));
  expect(status).toMatch(new RegExp(`Up, but.*${counted}.* ended the gateway in 24 h`));
  const path = await ask(`/hooks why ${row}`);
  expect(path).toMatch(new RegExp(`\\d:\\d\\d ${ended}`));
  expect(path).toMatch(new RegExp(`${ended}: correct that (hook|plugin) first`));
  await expectInnocent(code);
});

it("a command that is given over the API and ends the process is named", async () => {
  await endingBy(() => asked("/boom"), 1);
  expect(await ask("/status")).toContain("⚠ The command /boom of the plugin g ended the process with exit code 12 (");
  expect(gateway.output()).toContain('the plugin \\"g\\" ended the gateway with code 12, in its command /boom');
  await expectInnocent(12);
});

it("a timer that ended the process is named as such, and not the hook that left it, or one that waits", async () => {
  await endingBy(() => say("TIMER"), 1);
  const status = await ask("/status");
  expect(status).toContain("⚠ A timer or other work of the plugin g ended the process with exit code 16 (");
  expect(status).toMatch(/Up, but.*other work of 1 plugin ended the gateway in 24 h/);
  expect(await ask("/hooks show g.in")).not.toContain("exit code 16");
  await expectInnocent(16);
});

async function expectInnocent(code: number): Promise<void> {
  for (const line of ["/status", "/hooks why g.innocent", "/hooks show g.innocent"])
    expect(await ask(line)).not.toContain("g.innocent ended the process");
  expect(await ask("/hooks show g.innocent")).not.toContain(`exit code ${code}`);
  expect(gateway.output()).not.toMatch(/in its hook [^:]*g\.innocent/);
}
