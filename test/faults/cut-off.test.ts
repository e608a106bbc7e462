/** A stop cuts off hooks, tasks and background runs at work: nothing has failed, nothing is suspected, and all of it goes on after the start. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { sign } from "../../src/lib/signing/webhook-signature.js";
import { openSqlite } from "../../src/store/driver.js";
import { allOnline, invoke, type Stack, startStack } from "../flow/stack.js";
import { gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

/** Those of whose messages hooks decide at a time. */
const EVENT_SECRET = "a secret that signs events";
const PEOPLE = ["entry 1", "entry 2", "entry 3", "reply 1", "reply 2", "reply 3", "module 1", "module 2"];

/** Notes its start, and ends when the file `go` is there. */
const waiting = (folder: string, what: string) =>
  `echo ${what} >> ${folder}/started; until [ -e ${folder}/go ] || ! [ -d ${folder} ]; do sleep 0.1; done`;

/** Answers everything with the same words. Its guard, and its hooks at an event and at a changed file, run programs of their own. */
const plugin = (sh: (what: string) => string) => `import { execFile } from "node:child_process";
import { promisify } from "node:util";
const run = promisify(execFile);
export default { id: "p", setup({ hooks }) {
  hooks.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: message.text }), { id: "answers", after: ["entry"] });
  const options = { id: "guard", failurePolicy: "fail-closed", timeoutMs: 600_000, match: { when: 'payload.message.text.startsWith("module ")' } };
  hooks.registerModifying("message_sending", async () => void (await run("/bin/sh", ["-c", ${JSON.stringify(sh("module"))}])), options);
  hooks.registerVoid("event:deploy", async () => void (await run("/bin/sh", ["-c", ${JSON.stringify(sh("event"))}])), { id: "event", timeoutMs: 600_000 });
  hooks.registerVoid("file.changed", async () => void (await run("/bin/sh", ["-c", ${JSON.stringify(sh("file"))}])), { id: "file", timeoutMs: 600_000 });
} };`;

async function started(): Promise<{ stack: Stack; folder: string; starts: () => string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-cut-off-"));
  mkdirSync(join(folder, "watched"));
  writeFileSync(
    join(folder, "p.mjs"),
    plugin((what) => waiting(folder, what)),
  );
  const guard = (id: string, on: string) => ({
    ...{ id, on, on_failure: "closed", timeout: "10m", concurrency: 10 },
    match: { when: `payload.message.text.startsWith("${id} ")` },
    run: { shell: { sh: waiting(folder, id) } },
  });
  const stack = await startStack({
    withFlow: false,
    online: ["web", "telegram"],
    env: { EVENT_SECRET },
    plugins: [join(folder, "p.mjs")],
    config: {
      gateway: { shutdown_timeout: "1s" },
      orchestrator: { shutdown_timeout: "1s", runners: { job: { shell: { sh: waiting(folder, "task") } } } },
      events: { deploy: { secret_env: "EVENT_SECRET" } },
      hooks: [
        { id: "watch", trigger: { files: { paths: join(folder, "watched") } }, run: { shell: { command: ["true"] } } },
        guard("entry", "inbound_claim"),
        guard("reply", "message_sending"),
        {
          ...{ id: "behind", on: "message_received", timeout: "10m", retry: { attempts: 2, backoff: "100ms" } },
          match: { when: 'payload.message.text == "entry 1"' },
          run: { shell: { sh: waiting(folder, "behind") } },
        },
      ],
    },
  });
  onTestFinished(async () => {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const file = join(folder, "started");
  const starts = () => (existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : []);
  return { stack, folder, starts };
}

/** The gateway first, as systemd does it; then what it started. */
function unitOf(gatewayPid: number): number[] {
  const table = execFileSync("ps", ["-eo", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  const rows = table.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
  const unit = [gatewayPid];
  for (const parent of unit) unit.push(...rows.flatMap(([pid, ppid]) => (ppid === parent ? [pid] : [])));
  return unit;
}

function terminate(pids: readonly number[]): void {
  for (const pid of pids)
    try {
      process.kill(pid, "SIGTERM");
    } catch {
      // It ended with its parent.
    }
}

it.each([
  ["all processes of its unit", "unit", 2],
  ["the gateway alone", "gateway", 6],
])(
  "goes on with everything after SIGTERM to %s",
  async (_, whom, stops) => {
    const { stack, folder, starts } = await started();
    const { gateway, telegram } = stack;
    const ask = async (line: string) => (await invoke(gateway.url, line)).text;
    const people = new Map(PEOPLE.map((name) => [name, telegram.world.addUser({ firstName: name }).id]));
    for (const [name, userId] of people)
      for (const text of [name, `then ${name}`]) telegram.people.says(text, { userId, dm: true });
    await ask("/task add job Work");
    writeFileSync(join(folder, "watched", "file"), "changed");
    const event = { id: "event-1", at: Date.now(), body: "{}" };
    const headers = {
      ...{ "content-type": "application/json", "webhook-id": event.id },
      ...{
        "webhook-timestamp": `${Math.floor(event.at / 1000)}`,
        "webhook-signature": sign(event, [EVENT_SECRET]),
      },
    };
    await fetch(`${gateway.url}/ingest/deploy`, { method: "POST", headers, body: event.body });
    const perLife = PEOPLE.length + 4;
    for (let stop = 1; stop <= stops; stop++) {
      // At the same time: none of them is suspected, which would have it wait for its turn.
      await until(
        () => starts().length === stop * perLife,
        () => `all at work after ${stop - 1} stops: ${starts()}`,
      );
      const pids = whom === "unit" ? unitOf(gateway.pid()).slice(1) : [];
      const ended = gateway.stop();
      terminate(pids);
      expect(await ended).toBe(0);
      await gateway.start();
      await allOnline(gateway, 90_000, ["web", "telegram"]);
    }
    writeFileSync(join(folder, "go"), "");
    for (const id of ["p.event", "p.file"])
      await until(
        async () => / (passed|✓)/.test(await ask(`/hooks why ${id}`)),
        () => `${id} having ended`,
      );
    for (const [name, userId] of people) {
      const answers = () =>
        [...telegram.world.dmWith(userId).messages.values()].flatMap(({ from, text }) =>
          from?.id === telegram.world.bot.id ? [text] : [],
        );
      await until(
        () => answers().length > 1,
        () => `the answers to ${name}; log:\n${gateway.output().slice(-3000)}`,
      );
      expect(answers()).toEqual([name, `then ${name}`]);
    }
    const waitingFor = await ask("/outbox list");
    expect(waitingFor).toContain("No dead letters, nothing held.");
    await until(async () => (await ask("/task list all")).includes("1 done"), "the task being done");
    await until(async () => /✓ succeeded/.test(await ask("/runs behind")), "the background run having succeeded");
    expect(await ask("/runs behind")).toContain("1 run");
    for (const id of ["entry", "reply", "behind", "p.guard"]) {
      expect(await ask(`/hooks show ${id}`), id).toContain(" 0 failures");
      expect(await ask(`/runs ${id}`), id).not.toMatch(/✗ failed|breaker/);
    }
    expect(await ask("/status")).not.toMatch(/crash|failing|is not run/);
    // From warnings on: a stop is no failure.
    expect(gateway.output()).not.toMatch(/was interrupted|MaxListeners/);
  },
  240_000,
);

it("is whole although a guard's program was the last thing that kept the process alive", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-whole-stop-"));
  const [at, ended] = [join(folder, "started"), join(folder, "ended")];
  writeFileSync(
    join(folder, "p.mjs"),
    `import { appendFileSync } from "node:fs";
    export default { id: "p", setup: () => () => appendFileSync(${JSON.stringify(ended)}, "ended\\n") };`,
  );
  const gateway = await gatewayProcess({
    folder,
    config: {
      plugins: [join(folder, "p.mjs")],
      gateway: { shutdown_timeout: "500ms" },
      hooks: [
        {
          ...{ id: "slow", on: "inbound_claim", on_failure: "closed", timeout: "10m" },
          run: { shell: { sh: `echo started >> ${at}; sleep 600` } },
        },
      ],
    },
  });
  onTestFinished(async () => {
    await gateway.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  const lines = (file: string) => (existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n").length : 0);
  await gateway.start();
  await allOnline(gateway, 90_000, ["web"]);
  await fetch(`${gateway.url}/api/rooms/dm-1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text: "hello", nonce: "nonce-of-the-whole-stop" }),
  });
  for (let stop = 1; stop <= 6; stop++) {
    await until(
      () => lines(at) === stop,
      () => `the guard being at work after ${stop - 1} stops`,
    );
    expect(await gateway.stop()).toBe(0);
    expect(lines(ended), `after stop ${stop}`).toBe(stop);
    expect(existsSync(join(folder, "data/hookgate-journal.db-wal"))).toBe(false);
    await gateway.start();
  }
}, 120_000);

it("uses up no attempt of background runs where a second signal or the supervisor ends it early", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-hurried-"));
  const ids = Array.from({ length: 12 }, (_, n) => `behind-${n}`);
  const retry = { attempts: 2, backoff: "100ms" };
  const gateway = await gatewayProcess({
    folder,
    env: { DATABASE_URL: "file:test.db" },
    config: {
      gateway: { shutdown_timeout: "30s" },
      hooks: ids.map((id) => ({
        ...{ id, on: "message_received", timeout: "10m", retry },
        run: { shell: { sh: waiting(folder, id) } },
      })),
    },
  });
  onTestFinished(async () => {
    await gateway.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  const starts = () => (existsSync(join(folder, "started")) ? readFileSync(join(folder, "started"), "utf8") : "");
  const isNoted = () => {
    const database = openSqlite(join(folder, "test.db"), { readonly: true });
    try {
      return JSON.stringify(database.prepare("SELECT * FROM key_values").all()).includes(String.raw`\"isLast\":true`);
    } finally {
      database.close();
    }
  };
  await gateway.start();
  await allOnline(gateway, 90_000, ["web"]);
  await fetch(`${gateway.url}/api/rooms/dm-1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text: "hello", nonce: "nonce-of-the-hurried-stop" }),
  });
  for (const [index, hurry] of (["SIGTERM", "SIGKILL", "SIGTERM", "unit"] as const).entries()) {
    await until(
      () => starts().split("behind").length - 1 === ids.length * (index + 1),
      () => `all at work: ${starts()}\n${gateway.output().slice(-3000)}`,
    );
    const pids = unitOf(gateway.pid());
    const ended = gateway.stop();
    await until(isNoted, "the stop");
    if (hurry === "unit") terminate(pids.slice(1));
    else process.kill(gateway.pid(), hurry);
    await ended;
    await gateway.start();
    await allOnline(gateway, 90_000, ["web"]);
  }
  await until(() => starts().split("behind").length - 1 === ids.length * 5, "all at work once more");
  writeFileSync(join(folder, "go"), "");
  for (const id of ids)
    await until(
      async () => /✓ succeeded/.test((await invoke(gateway.url, `/runs ${id}`)).text),
      () => `${id} having succeeded`,
    );
  expect(gateway.output()).not.toMatch(/MaxListeners|"level":50/);
}, 240_000);
