/** What is known of a firing whose `fire_and_record` hook was still running when the gateway ended. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const PLUGIN = `export default { id: "a", setup({ hooks }) {
  hooks.registerVoid("message_received", () => {}, { id: "plain" });
  hooks.registerVoid("message_received", () => new Promise((done) => setTimeout(done, 60_000)), {
    id: "fr", execution: "fire_and_record", timeoutMs: 60_000,
  });
  hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "done" }), { id: "answers" });
} };`;

const folder = mkdtempSync(join(tmpdir(), "hookgate-fire-and-record-"));
let gateway: GatewayProcess;
let first: string;

beforeAll(async () => {
  writeFileSync(join(folder, "a.mjs"), PLUGIN);
  gateway = await gatewayProcess({
    folder,
    config: {
      gateway: { shutdown_timeout: "300ms" },
      operators: { owner: ["web:1"] },
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        rooms: [{ id: "general", name: "General" }],
      },
      plugins: ["./a.mjs"],
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

/** Resolves with the id of the message, which is not `seen`, when it is answered; `a.fr` still runs then. */
async function say(text: string, seen?: string): Promise<string> {
  const answer = await fetch(`${gateway.url}/api/rooms/general/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text, nonce: `a-nonce-of-${text}` }),
  });
  expect(answer.ok).toBe(true);
  let path = "";
  return until(
    async () => {
      path = await ask("/hooks why last");
      const row = /What happened to (m\d+)/.exec(path)?.[1];
      return row !== seen && path.includes("claimed by a.answers") && row;
    },
    () => `the answer: ${path}`,
    20_000,
  );
}

it("a process that was killed may have lost the record, and no reason is invented", async () => {
  first = await say("first");
  const row = first;
  await gateway.kill();
  await gateway.start();
  await gateway.ready();
  for (const line of [`/hooks why a.plain ${row}`, `/run ${row}`, "/hooks why a.plain", "/runs message_received"]) {
    const answer = await ask(line);
    expect(answer, line).not.toMatch(
      /no hook was enabled at message_received$|did not fire|never fired|not fired|fired yet|enabled later/m,
    );
    expect(answer, line).toMatch(
      /is not known|nothing is recorded of message_received|is recorded\. |is recorded for /,
    );
  }
  expect(await ask(`/hooks why a.plain ${row}`)).toContain(
    "message_received is recorded when all its hooks have ended, also a.fr (fire_and_record). If the gateway is killed before that",
  );
});

it("a stop records the firing, with the run that it cut off", async () => {
  const row = await say("second", first);
  expect(await gateway.stop()).toBe(0);
  await gateway.start();
  await gateway.ready();
  expect(await ask(`/hooks why a.plain ${row}`)).toContain("It ran, ✓ passed");
  const cut = await ask(`/hooks why a.fr ${row}`);
  expect(cut).toMatch(/It began, and was interrupted after .*: the gateway stopped while it ran/);
  expect(await ask(`/run ${row}`)).toContain("message_received: 2 hooks ran");
});
