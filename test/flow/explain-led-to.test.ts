/** What `/hooks why` answers about a message at points beside its own path: those of plugins, and those of the task that it created. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

/** Waits while `hold` is there. */
const PLUGIN = `import { existsSync, writeFileSync } from "node:fs";
const { z } = await import("${import.meta.resolve("zod")}");
const waits = async () => {
  if (!existsSync("hold")) return;
  writeFileSync("begun", "");
  while (existsSync("hold")) await new Promise((done) => setTimeout(done, 20));
};
export default { id: "w", setup(api) {
  const own = api.hooks.declare({ name: "own", model: "void", payload: z.object({ n: z.number() }), summary: "Own.", example: { n: 1 } });
  api.hooks.registerVoid("plugin:w:own", waits, { id: "own" });
  api.hooks.register({ hook: "task:create", phase: "before", id: "tcb", timeoutMs: 60_000, handler: waits });
  api.hooks.registerClaiming("inbound_claim", async ({ message }) => {
    if (message.text === "fire") await own.fire({ n: 1 });
    return { handled: true, reply: message.text };
  }, { id: "claim", timeoutMs: 60_000 });
  api.commands.register({ name: "fireown", summary: "Fires.", role: "viewer", run: async () => {
    await own.fire({ n: 2 });
    return { text: ["fired"] };
  } });
} };`;

const folder = mkdtempSync(join(tmpdir(), "hookgate-led-to-"));
const file = (name: string) => join(folder, name);
let gateway: GatewayProcess;

beforeAll(async () => {
  writeFileSync(file("w.mjs"), PLUGIN);
  gateway = await gatewayProcess({
    folder,
    config: {
      operators: { owner: ["web:1"] },
      gateway: { inbox_attempts: 2 },
      orchestrator: { runners: { worker: { shell: { command: ["true"] } } } },
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        rooms: [{ id: "general", name: "General" }],
      },
      plugins: [{ module: "./w.mjs", critical: true }],
    },
  });
  await gateway.start();
  await gateway.ready();
});
afterAll(async () => {
  await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

const ask = async (line: string) => (await invoke(gateway.url, line)).text.replace(/[\\`*]/g, "");

const newest = (): { id: number; status: string } | undefined => {
  const database = openSqlite(file("data/hookgate.db"), { readonly: true });
  try {
    return database.prepare("SELECT id, status FROM inbox ORDER BY id DESC LIMIT 1").get() as never;
  } finally {
    database.close();
  }
};

/** The gateway's own id of the message. */
async function say(text: string): Promise<string> {
  const before = newest()?.id ?? 0;
  const answer = await fetch(`${gateway.url}/api/rooms/general/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text, nonce: `nonce-of-${text.replaceAll(/\W/g, "-")}-${before}` }),
  });
  expect(answer.ok).toBe(true);
  return until(() => {
    const row = newest();
    return row !== undefined && row.id > before && `m${row.id}`;
  }, `the row of ${text}`);
}

const settled = (status: string) => until(() => newest()?.status === status, `the message being ${status}`);

/** Says it, and resolves while the handler that waits is at work. */
async function held(text: string): Promise<string> {
  writeFileSync(file("hold"), "");
  const row = await say(text);
  await begun();
  return row;
}

async function begun(): Promise<void> {
  await until(() => existsSync(file("begun")), "the handler at work");
  rmSync(file("begun"));
}

const goOn = () => rmSync(file("hold"));

it("finds the firing of a plugin's own point that a hook caused while it handled the message", async () => {
  const row = await held("fire");
  expect(await ask(`/hooks why w.own ${row}`)).toContain(`w.own and ${row}: It is running now`);
  expect(await ask(`/hooks why plugin:w:own ${row}`)).toContain(
    "It is firing now: w.own has been running at plugin:w:own",
  );
  goOn();
  await settled("done");
  expect(await ask(`/hooks why w.own ${row}`)).toMatch(new RegExp(`^w\\.own and ${row}:\\s+It ran, ✓ passed`));
  expect(await ask(`/hooks why plugin:w:own ${row}`)).toMatch(/1\. w\.own ✓ passed/);
});

it("does not deny a firing that is linked to no message", async () => {
  const quiet = await say("quiet");
  await settled("done");
  const fired = await say("/fireown");
  await settled("done");
  await until(async () => (await ask("/runs plugin:w:own")).includes("plugin:w"), "the firing on record");
  for (const row of [quiet, fired]) {
    const why = await ask(`/hooks why w.own ${row}`);
    expect(why).toContain(
      `No run of w.own for ${row} is on record: no firing of plugin:w:own is linked to this message.`,
    );
    expect(why).toContain("What a plugin fires in a command, a timer or a route is not linked to a message");
    const point = await ask(`/hooks why plugin:w:own ${row}`);
    expect(point).toContain(`No firing of plugin:w:own for ${row} is on record.`);
    expect(`${why}${point}`).not.toMatch(/did not (run|fire)|does not fire|No hook was enabled/);
  }
});

it("finds a hook at work on the task that a command creates, and does not deny it after a kill", async () => {
  const row = await held('/task add worker "Slow"');
  expect(await ask(`/hooks why w.tcb ${row}`)).toContain(`w.tcb and ${row}: It is running now`);
  await gateway.kill();
  await gateway.start();
  await gateway.ready();
  await begun();
  expect(await ask(`/hooks why w.tcb ${row}`)).toContain(`w.tcb and ${row}: It is running now`);
  expect(await ask(`/hooks why task:create ${row}`)).toContain("w.tcb has been running at task:create for");
  await gateway.kill();
  await gateway.start();
  await gateway.ready();
  await settled("dead");
  const why = await ask(`/hooks why w.tcb ${row}`);
  expect(why).toContain(`Whether w.tcb ran for ${row} is not known.`);
  expect(why).toContain("The end of the process cut that off 2 times");
  const point = await ask(`/hooks why task:create ${row}`);
  expect(point).toContain(`Whether task:create fired for ${row} is not known.`);
  expect(`${why}${point}`).not.toMatch(/did not (run|fire)|does not fire|No hook was enabled/);
});

it("knows the task of a dispatch that is not on record, and does not call the dispatch a task", async () => {
  rmSync(file("hold"), { force: true });
  const id = /\bt_\w+/.exec(await ask('/task add worker "Quick"'))?.[0] as string;
  // No hook is registered at task:complete, so the dispatch is not recorded.
  const dispatch = `${id}:4:done:task:complete`;
  for (const one of [dispatch, `assess_${id}_1_run`]) {
    const why = await ask(`/hooks why w.tcb ${one}`);
    expect(why).toContain(`${one} is the id of a dispatch of the task ${id}, and no such dispatch is on record`);
    expect(why).toContain(`Whether a hook ran in it is not known. /task show ${id} shows the task.`);
  }
  expect(await ask(`/run ${dispatch}`)).toContain(`is the id of a dispatch of the task ${id}`);
  expect(await ask(`/task show ${id}`)).toContain("Quick");
});
