/** SIGKILL while hooks run: what was stored happens, what may not happen twice does not, nothing stays running, no program stays behind. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { AutomationRun } from "../../src/domain/automation.js";
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
  await until(() => lines(gateway, "line.done").length === 2, "both of the line", 30_000);
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
