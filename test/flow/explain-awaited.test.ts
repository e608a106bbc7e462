/** What is told of background runs that a kill cut off, while the plugin of their hooks is broken. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const JOB = `import { existsSync } from "node:fs";
const waits = async () => { while (!existsSync("go")) await new Promise((done) => setTimeout(done, 50)); };
export default { id: "job", setup({ hooks }) {
  const options = { execution: "background", timeoutMs: 600_000 };
  hooks.registerVoid("message_received", waits, { ...options, id: "late", retry: { attempts: 2, backoffMs: 500, idempotent: true } });
  hooks.registerVoid("message_received", waits, { ...options, id: "once" });
} };`;

const folder = mkdtempSync(join(tmpdir(), "hookgate-explain-awaited-"));
let gateway: GatewayProcess;
const write = (text: string) => writeFileSync(join(folder, "job.mjs"), text);

beforeAll(async () => {
  write(JOB);
  gateway = await gatewayProcess({
    folder,
    config: {
      operators: { owner: ["web:1"] },
      gateway: { shutdown_timeout: "1s" },
      orchestrator: { shutdown_timeout: "1s" },
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        rooms: [{ id: "general", name: "General" }],
      },
      plugins: ["./job.mjs"],
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
const WAITS = "it waits until the plugin ./job.mjs is loaded, which is broken now";

it("the run waits for the plugin, is counted, and is done when the plugin is loaded again", async () => {
  const answer = await fetch(`${gateway.url}/api/rooms/general/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text: "job", nonce: "a-nonce-of-job-1" }),
  });
  expect(answer.ok).toBe(true);
  for (const id of ["late", "once"])
    await until(async () => (await ask(`/hooks why job.${id}`)).includes("is running now"), `job.${id} at work`);
  await until(async () => (await ask("/hooks why last")).includes("no hook claimed it"), "the message being handled");

  const brokenAfter = async (end: () => Promise<unknown>) => {
    await end();
    write("export default {");
    await gateway.start();
    await gateway.ready();
    await until(async () => (await ask("/status")).includes("runs: 1 waits to be started, 1 of job.late"), "the count");
  };
  await brokenAfter(() => gateway.kill());
  const path = await ask("/hooks why last");
  expect(path).toContain(`job.late (attempt 1 was interrupted: the gateway ended while it ran): ${WAITS}`);
  expect(path).toContain("job.once was interrupted: the gateway ended while it ran, and it may not run twice");
  expect(await ask("/hooks why job.late last")).toContain(`It started: the gateway ended while it ran. Now ${WAITS}`);
  const hook = await ask("/hooks why job.late");
  expect(hook).toContain("job.late is not registered now: what is broken may hold it");
  expect(hook).toContain(
    `1 run of it waits: ${WAITS} (/hooks broken shows why). Of the newest, attempt 1 was interrupted`,
  );
  for (const text of [path, hook, await ask("/hooks why job.late last")])
    expect(text).not.toMatch(/running|is tried again/);

  write(JOB);
  await gateway.kill();
  await gateway.start();
  await gateway.ready();
  await until(async () => (await ask("/hooks why last")).includes("job.late is running now"), "the next attempt");
  await brokenAfter(() => gateway.stop());
  const stopped = await ask("/hooks why last");
  expect(stopped).toContain(`attempt 2 was interrupted: the gateway stopped while it ran): ${WAITS}`);
  expect(stopped).not.toMatch(/running|is tried again/);

  write(JOB);
  await gateway.kill();
  await gateway.start();
  writeFileSync(join(folder, "go"), "");
  await gateway.ready();
  await until(async () => (await ask("/hooks why last")).includes("job.late ✓ succeeded"), "the end of the run");
});
