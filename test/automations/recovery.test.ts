/** SIGKILL while hooks run: what was stored happens, what may not happen twice does not, nothing stays running, no program stays behind. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { AutomationRun } from "../../src/domain/automation.js";
import { openSqlite } from "../../src/store/driver.js";
import { openTestStore } from "../store/support/open-test-store.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";

const started: GatewayProcess[] = [];
afterEach(async () => {
  for (const gateway of started.splice(0)) {
    await gateway.kill();
    rmSync(gateway.folder, { recursive: true, force: true });
  }
});

async function start(config: object, files: Record<string, string> = {}): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-kill-"));
  mkdirSync(join(folder, "hooks"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const access = { dms: "everyone", chats: ["*"], mention: "always" };
  const gateway = await gatewayProcess({
    folder,
    config: { web: { access }, ...config },
    env: { DATABASE_URL: "file:test.db" },
  });
  started.push(gateway);
  await gateway.start();
  await gateway.ready();
  return gateway;
}

async function say({ url }: GatewayProcess, text: string): Promise<void> {
  const answer = await fetch(`${url}/api/rooms/general/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text, nonce: `${text}-${Math.random().toString(36).slice(2)}` }),
  });
  expect(await answer.text(), `posting: ${answer.status}`).toContain("message");
}

async function command({ url }: GatewayProcess, line: string): Promise<string> {
  const answer = await fetch(`${url}/api/command`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ line }),
  });
  return ((await answer.json()) as { text: string }).text;
}

const lines = ({ folder }: GatewayProcess, file: string) => linesOf(join(folder, file));

async function runsOf(gateway: GatewayProcess): Promise<AutomationRun[]> {
  await gateway.stop();
  const store = await openTestStore({ file: join(gateway.folder, "test.db"), exclusive: false });
  return (await store.automation.runs.list({ limit: 1000 })).reverse();
}

/** Notes that it began, and goes on when there is a file `go`. */
const waits = (log: string) => `echo $$ >> ${log}; until [ -e go ]; do sleep 0.05; done; echo done >> ${log}.done`;

test("a run that may happen twice is done again, one that may not is ended, and what waited is run", async () => {
  const hook = (id: string, more: object) => ({
    id,
    on: "message_received",
    run: { shell: { sh: waits(id) } },
    timeout: "2m",
    ...more,
  });
  const gateway = await start({
    hooks: [
      hook("again", { retry: { attempts: 5 } }),
      hook("once", {}),
      hook("line", { when_busy: "queue", retry: { attempts: 5 } }),
    ],
  });
  await say(gateway, "first");
  await until(() => ["again", "once", "line"].every((log) => lines(gateway, log).length === 1), "all running");
  await say(gateway, "second");
  const pids = ["again", "once", "line"].flatMap((log) => lines(gateway, log).map(Number));
  await gateway.kill();
  await until(() => pids.every(isGone), "the programs being ended with their gateway");

  await gateway.start();
  await gateway.ready();
  await until(() => lines(gateway, "again").length >= 2 && lines(gateway, "line").length >= 2, "the runs begun again");
  writeFileSync(join(gateway.folder, "go"), "");
  await until(() => lines(gateway, "line.done").length === 2, "both of the line");
  const runs = await runsOf(gateway);
  const told = (id: string) =>
    runs.filter(({ hookId }) => hookId === id).map(({ status, attempt }) => `${status} ${attempt}`);
  expect(told("again")[0]).toBe("succeeded 2");
  expect(told("once")[0]).toBe("interrupted 1");
  expect(told("line")).toEqual(["succeeded 2", "succeeded 1"]);
  expect(lines(gateway, "again.done")[0]).toBe("done");
  expect(runs.filter(({ status }) => status === "running")).toEqual([]);
  const interrupted = runs.find(({ hookId }) => hookId === "once");
  expect(interrupted).toMatchObject({
    statusReason: expect.stringContaining("the gateway ended while it ran"),
    attempts: [{ attempt: 1, status: "interrupted" }],
  });
  expect(interrupted?.endedAt).toBeGreaterThan(0);
});

test("the end of a run that cannot be stored is stored when it can be, and the run does not happen twice meanwhile", async () => {
  const hook = (id: string, more: object) => ({
    ...{ id, on: "message_received", execution: "background", timeout: "2m", ...more },
    run: { shell: { sh: waits(id) } },
  });
  const PLUGIN = `
import { appendFileSync, existsSync } from "node:fs";
export default { id: "slow", setup({ hooks }) {
  hooks.registerVoid("message_received", async () => {
    appendFileSync("plugin", "x\\n");
    while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 50));
    appendFileSync("plugin.done", "x\\n");
  }, { id: "plugin", execution: "background", retry: { attempts: 5, idempotent: true } });
} };`;
  const gateway = await start(
    {
      plugins: ["./slow.mjs"],
      automations: { lease: "2s" },
      hooks: [hook("again", { retry: { attempts: 5 } }), hook("once", {})],
    },
    { "slow.mjs": PLUGIN },
  );
  const all = ["again", "once", "plugin"];
  await say(gateway, "hello");
  await until(() => all.every((log) => lines(gateway, log).length === 1), "all running");
  const database = openSqlite(join(gateway.folder, "test.db"));
  try {
    database.exec(
      "CREATE TRIGGER no_room BEFORE UPDATE ON automation_runs BEGIN SELECT RAISE(ABORT, 'there is no room'); END",
    );
    writeFileSync(join(gateway.folder, "go"), "");
    await until(() => all.every((log) => lines(gateway, `${log}.done`).length === 1), "the end of all");
    const held = database.prepare("SELECT count(*) AS held FROM automation_runs WHERE lease_until > ?");
    await until(() => (held.get(Date.now()) as { held: number }).held === 0, "the end of their leases");
    database.exec("DROP TRIGGER no_room");
    const open = database.prepare("SELECT count(*) AS open FROM automation_runs WHERE ended_at IS NULL");
    await until(() => (open.get() as { open: number }).open === 0, "their ends being stored");
  } finally {
    database.close();
  }
  const runs = await runsOf(gateway);
  expect(runs.map(({ status, attempt }) => `${status} ${attempt}`)).toEqual(Array(3).fill("succeeded 1"));
  for (const log of all) expect(lines(gateway, log)).toHaveLength(1);
});

test("a message whose hook was cut off is decided again; a hook that had decided is not run twice", async () => {
  const gateway = await start({
    hooks: [
      { id: "first", on: "inbound_claim", priority: 1, run: { shell: { sh: "echo x >> first" } } },
      { id: "second", on: "inbound_claim", priority: 2, timeout: "1m", run: { shell: { sh: waits("second") } } },
    ],
  });
  await say(gateway, "hello");
  await until(() => lines(gateway, "second").length === 1, "the second hook");
  await gateway.kill();
  await gateway.start();
  await gateway.ready();
  await until(() => lines(gateway, "second").length === 2, "the second hook again");
  writeFileSync(join(gateway.folder, "go"), "");
  await until(() => lines(gateway, "second.done").length === 1, "its end");
  const runs = await runsOf(gateway);
  expect(lines(gateway, "first")).toEqual(["x"]);
  expect(runs.map(({ hookId, status, attempt }) => `${hookId} ${status} ${attempt}`)).toEqual([
    "first succeeded 1",
    "second succeeded 2",
  ]);
});

test("runs of a hook that is broken at a start, or whose plugin is not there, wait until it is back; those of a removed one end, with their number in the log", async () => {
  const hook = (id: string, on = "message_received") =>
    `hooks: [${JSON.stringify({ id, on, execution: "background", when_busy: "queue", retry: { attempts: 3 }, run: { shell: { sh: `cd ..; echo $$ >> ${id}; until [ -e go ]; do sleep 0.05; done; echo x >> ${id}.done` } } })}]`;
  const PLUGIN = `
import { appendFileSync, existsSync } from "node:fs";
export default { id: "slow", setup({ hooks }) {
  hooks.registerVoid("message_received", async ({ message }, { attempt }) => {
    appendFileSync("slow", message.text + "\\n");
    while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 50));
    appendFileSync("slow.done", message.text + " " + attempt + "\\n");
  }, { id: "work", execution: "background", retry: { attempts: 5, idempotent: true } });
} };`;
  const gateway = await start(
    { plugins: ["./slow.mjs"], automations: { watch: false } },
    {
      "slow.mjs": PLUGIN,
      ...Object.fromEntries(["typo", "slip", "gone"].map((id) => [`hooks/${id}.yaml`, hook(id)])),
    },
  );
  const write = (name: string, text: string) => writeFileSync(join(gateway.folder, name), text);
  const put = async (on?: string) => {
    write("hooks/typo.yaml", hook("typo", on));
    // No id of it can be read.
    write("hooks/slip.yaml", on === undefined ? hook("slip") : "hooks: [{");
    if (on === undefined) write("slow.mjs", PLUGIN);
    else rmSync(join(gateway.folder, "slow.mjs"));
  };
  for (const text of ["one", "two"]) await say(gateway, text);
  await until(() => ["typo", "slip", "gone"].every((log) => lines(gateway, log).length > 0), "all at work");
  await until(() => lines(gateway, "slow").length === 2, "both of the plugin");
  const pids = ["typo", "slip", "gone"].flatMap((log) => lines(gateway, log).map(Number));
  await gateway.kill();
  await until(() => pids.every(isGone), "the programs being ended with their gateway");
  write("go", "");
  await put("mesage_received");
  rmSync(join(gateway.folder, "hooks/gone.yaml"));
  await gateway.start();
  await gateway.ready();
  const status = await command(gateway, "/status");
  expect(status).toContain("wait to be started");
  expect(gateway.output()).not.toContain("did not happen");
  await put();
  gateway.hangUp();
  for (const log of ["typo.done", "slip.done", "slow.done"])
    await until(
      () => lines(gateway, log).length === 2,
      () => `${log} of both messages`,
    );
  expect(lines(gateway, "slow.done").toSorted()).toEqual(["one 2", "two 2"]);
  await until(() => gateway.output().includes('2 recorded runs of the hook \\"gone\\" did not happen'), "the loss");
  expect(lines(gateway, "gone.done")).toEqual([]);
  expect(await command(gateway, "/hooks why slow.work")).not.toContain("never fired");
  expect(await command(gateway, "/runs skipped")).toContain("gone");
  const runs = await runsOf(gateway);
  expect(runs.map(({ hookId, status }) => `${hookId} ${status}`).toSorted()).toEqual([
    ...["gone skipped", "gone skipped"],
    ...["slip", "slip", "slow.work", "slow.work", "typo", "typo"].map((id) => `${id} succeeded`),
  ]);
});

test("a plugin's background hook outlives its process, too", async () => {
  const gateway = await start(
    { plugins: ["./slow.mjs"] },
    {
      "slow.mjs": `
import { appendFileSync, existsSync } from "node:fs";
export default { id: "slow", setup({ hooks }) {
  const run = (log) => async ({ message }, { recordId, attempt }) => {
    appendFileSync(log, message.text + " " + attempt + "\\n");
    while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 50));
    appendFileSync(log + ".done", recordId + "\\n");
  };
  hooks.registerVoid("message_received", run("twice"), { id: "twice", execution: "background", retry: { attempts: 3, idempotent: true } });
  hooks.registerVoid("message_received", run("single"), { id: "single", execution: "background" });
} };`,
    },
  );
  await say(gateway, "hello");
  await until(() => ["twice", "single"].every((log) => lines(gateway, log).length === 1), "both running");
  await gateway.kill();
  await gateway.start();
  await gateway.ready();
  await until(() => lines(gateway, "twice").length === 2, "the repeatable one");
  writeFileSync(join(gateway.folder, "go"), "");
  await until(() => lines(gateway, "twice.done").length === 1, "its end");
  const runs = await runsOf(gateway);
  expect(lines(gateway, "twice")).toEqual(["hello 1", "hello 2"]);
  expect(lines(gateway, "single")).toEqual(["hello 1"]);
  expect(runs.map(({ hookId, status }) => `${hookId} ${status}`).sort()).toEqual([
    "slow.single interrupted",
    "slow.twice succeeded",
  ]);
});

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
