/** What is told of messages that a kill cut off, while they wait for each other: suspects are handled one at a time. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const folder = mkdtempSync(join(tmpdir(), "hookgate-explain-turns-"));
let gateway: GatewayProcess;

const waits = (go: string, then: string) => ({ shell: { sh: `while [ ! -e ${go} ]; do sleep 0.05; done; ${then}` } });
const claiming = (word: string) => ({
  id: `claim-${word}`,
  on: "inbound_claim",
  timeout: "5m",
  match: { when: `payload.message.text.startsWith("${word}")` },
  run: waits(`go-${word}`, `echo '{"decision":"claim","reply":"${word} done"}'`),
});

beforeAll(async () => {
  gateway = await gatewayProcess({
    folder,
    config: {
      operators: { owner: ["web:1"] },
      gateway: { shutdown_timeout: "1s" },
      orchestrator: { shutdown_timeout: "1s" },
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        rooms: [
          { id: "general", name: "General" },
          { id: "second", name: "Second" },
        ],
      },
      hooks: [
        claiming("one"),
        claiming("two"),
        {
          id: "retried",
          on: "message_received",
          execution: "background",
          retry: { attempts: 3, backoff: "2s" },
          match: { when: 'payload.message.text == "retry"' },
          run: waits("go-retried", "exit 1"),
        },
      ],
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
const shows = (line: string, text: string) =>
  until(async () => (await ask(line)).includes(text), `${line} with ${text}`);
const go = (word: string) => writeFileSync(join(folder, `go-${word}`), "");

async function say(room: string, text: string): Promise<string> {
  const answer = await fetch(`${gateway.url}/api/rooms/${room}/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text, nonce: `nonce-of-${text.replaceAll(" ", "-")}` }),
  });
  expect(answer.ok).toBe(true);
  return until(async () => /What happened to (m\d+)/.exec(await ask("/hooks why last"))?.[1], "the message");
}

async function restart(): Promise<void> {
  await gateway.kill();
  await gateway.start();
  await gateway.ready();
}

it("one waits for the other, and its hook is not said to be over", async () => {
  const first = await say("general", "one");
  await shows(`/hooks why ${first}`, "claim-one has been running");
  const second = await say("second", "two");
  await shows(`/hooks why ${second}`, "claim-two has been running");
  await restart();
  await shows("/hooks why claim-one", "claim-one is running now");
  await shows("/runs claim-two", "interrupted");
  for (const line of ["/hooks why claim-two", `/hooks why ${second}`, "/runs claim-two", "/hooks show claim-two"])
    expect(await ask(line), line).not.toContain("may not run twice");
  const path = await ask(`/hooks why ${second}`);
  expect(path).toContain(
    "claim-two was interrupted: the gateway ended while it ran; it runs again when inbound_claim fires again",
  );
  expect(path).toContain(`The message waits for ${first}, which is being handled now.`);
  expect(await ask("/hooks why claim-two")).toMatch(
    new RegExp(
      `^claim-two started at inbound_claim for ${second}, and was interrupted: the gateway ended while it ran\\. It runs again when ${second} is handled again\\.`,
    ),
  );
  expect(await ask(`/hooks why claim-two ${second}`)).toContain(`The message waits for ${first}`);
  expect(await ask("/status")).toContain("1 conversation handled (1 waiting)");
  // A later message of that chat waits behind it.
  const third = await say("second", "three");
  expect(await ask(`/hooks why ${third}`)).toContain(`The message waits for ${second}, which waits itself.`);

  go("one");
  await shows("/hooks why claim-two", "claim-two is running now");
  expect(await ask("/hooks why claim-two")).toContain("Attempt 1 was interrupted: the gateway ended while it ran.");
  expect(await ask("/runs claim-two")).toMatch(/▸ running · inbound_claim · (?!.*the gateway ended)/);
  go("two");
  await shows(`/hooks why ${second}`, "claimed by claim-two");
});

it("the answer to an earlier message is not told as that of the message that the hook handles again", async () => {
  rmSync(join(folder, "go-one"));
  const earlier = /(m\d+)r/.exec(await ask("/hooks why claim-one"))?.[1];
  const row = await say("general", "one more");
  await shows(`/hooks why ${row}`, "claim-one has been running");
  await gateway.stop();
  await gateway.start();
  await gateway.ready();
  await shows("/hooks why claim-one", "claim-one is running now");
  const answer = await ask("/hooks why claim-one");
  expect(answer).toContain("Attempt 1 was interrupted: the gateway stopped");
  expect(answer).toContain(
    `Its last run that ended was for ${earlier}:\n\nIt claimed the message; its reply d_${earlier}r`,
  );
  go("one");
  await shows(`/hooks why ${row}`, "claimed by claim-one");
});

it("failures are not told as ends of the gateway, and a stop uses up no attempt", async () => {
  const row = await say("general", "retry");
  await shows(`/hooks why ${row}`, "retried is running now");
  await gateway.stop();
  await gateway.start();
  await gateway.ready();
  await shows(`/hooks why ${row}`, "retried is running now");
  go("retried");
  await shows(`/hooks why ${row}`, "attempt 2 of 3 failed, the next in");
  rmSync(join(folder, "go-retried"));
  await shows(`/hooks why ${row}`, "attempt 4; attempt 1 was interrupted");
  await restart();
  await shows(
    `/hooks why ${row}`,
    "retried was interrupted: the gateway ended while it ran: attempt 3 of 3. It is not tried again",
  );
});
