/** A plugin that puts a message off for a long time (`deferMs`): who sees it, and how it ends. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, it } from "vitest";
import { invoke } from "../flow/stack.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

const PATIENT = resolve(import.meta.dirname, "../fixtures/plugins/patient.mjs");

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function say(gateway: GatewayProcess, text: string): Promise<void> {
  const answer = await fetch(`${gateway.url}/api/rooms/lobby/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text, nonce: `nonce-of-${text}-in-the-lobby` }),
  });
  expect(answer.status).toBeLessThan(300);
}

async function texts(gateway: GatewayProcess): Promise<string[]> {
  const answer = await fetch(`${gateway.url}/api/rooms/lobby/messages?limit=50`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  return ((await answer.json()) as { messages: { text: string }[] }).messages.map((message) => message.text);
}

it("a long deferMs is cut and logged with the hook's id, is listed with the pauses, also after a restart, and can be lifted", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-put-off-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const config = {
    operators: { owner: ["web:1"] },
    web: { access: { dms: "everyone", chats: ["*"], mention: "always" }, rooms: [{ id: "lobby", name: "Lobby" }] },
    plugins: [PATIENT],
  };
  const gateway = await gatewayProcess({ folder, config });
  closers.push(() => gateway.kill());
  const pauses = async () => (await invoke(gateway.url, "/pauses")).text;
  await gateway.start();
  await gateway.ready();
  await say(gateway, "wait");
  await until(async () => (await pauses()).includes("patient.later put off a message"), "the pause being listed");
  expect(await pauses()).toMatch(/for (1 h|59 min)[^\n]* more of 1 h/);
  expect((await invoke(gateway.url, "/status")).text).toMatch(/pauses: .*Lobby.* \(1 h|59 min|1 h/);
  expect(gateway.output()).toMatch(/the hook \\"patient\.later\\" put off a message .*for 1 h \(it asked for 4\d d/);
  await say(gateway, "next");

  await gateway.kill();
  await gateway.start();
  await gateway.ready();
  await until(async () => (await pauses()).includes("a hook put off a message"), "the pause after the restart");
  const { data } = await invoke(gateway.url, "/pauses");
  const [{ key }] = (data as { pauses: [{ key: string }] }).pauses;
  // The hook forgot with its process what it was offered, so it puts the message off once more.
  expect((await invoke(gateway.url, `/pauses lift ${key}`)).text).toContain("1 pause lifted");
  await until(async () => (await pauses()).includes("patient.later put off a message"), "the second pause");
  expect((await invoke(gateway.url, "/pauses lift all")).text).toContain("1 pause lifted");
  await until(async () => (await texts(gateway)).includes("answer to next"), "both answers");
  expect(await texts(gateway)).toEqual(["wait", "next", "answer to wait", "answer to next"]);
  expect(await pauses()).toContain("Nothing is paused");
});
