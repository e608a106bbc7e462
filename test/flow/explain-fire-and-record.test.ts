/** What is known of a firing whose `fire_and_record` hook was still running when the gateway ended. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const PLUGIN = `import { appendFileSync } from "node:fs";
export default { id: "a", setup({ hooks }) {
  hooks.registerVoid("message_received", () => {}, { id: "plain" });
  const note = (what) => appendFileSync("calls", what + "\\n");
  const called = ({ message: { text } }) => new Promise((done) => {
    note("start " + text);
    if (text !== "short") return;
    process.once("SIGTERM", () => setTimeout(() => done(note("end " + text)), 500));
  });
  const options = { execution: "fire_and_record", timeoutMs: 60_000 };
  hooks.registerVoid("message_received", called, { ...options, id: "fr" });
  hooks.registerVoid("message_sent", called, { ...options, id: "sent", match: { when: 'payload.message.text == "third"' } });
  hooks.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: message.text }), { id: "answers" });
} };`;

const folder = mkdtempSync(join(tmpdir(), "hookgate-fire-and-record-"));
let gateway: GatewayProcess;
let first: string;
let second: string;

beforeAll(async () => {
  writeFileSync(join(folder, "a.mjs"), PLUGIN);
  gateway = await gatewayProcess({
    folder,
    config: {
      gateway: { shutdown_timeout: "3s" },
      operators: { owner: ["web:1"] },
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        rooms: [{ id: "general", name: "General" }],
      },
      plugins: ["./a.mjs"],
      hooks: [
        { id: "cut", on: "message_received", run: { shell: { sh: "while [ ! -e go ]; do sleep 0.05; done" } } },
        {
          id: "other",
          on: "message_received",
          match: { when: 'payload.message.text == "nothing like it"' },
          run: { shell: { command: ["true"] } },
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

/** What `a.fr` and `a.sent` noted. */
const calls = () => readFileSync(join(folder, "calls"), "utf8").trimEnd().split("\n");

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
  );
}

it("a process that was killed may have lost the record, and no reason is invented", async () => {
  first = await say("first");
  const row = first;
  await until(async () => (await ask(`/hooks why cut ${row}`)).includes("running now"), "cut at work");
  const [, runId] = /run (\S+), for/.exec(await ask("/fire-hook a.fr example live=true")) ?? [];
  expect(await ask(`/run ${runId}`)).toContain(`${runId} has not ended: a.fr has been running at message_received`);
  await gateway.kill();
  await gateway.start();
  await gateway.ready();
  for (const line of [`/hooks why a.plain ${row}`, `/run ${row}`, "/hooks why a.plain", "/runs message_received"]) {
    const answer = await ask(line);
    expect(answer, line).not.toMatch(
      /no hook was enabled at message_received$|did not fire|never fired|not fired|fired yet|enabled later/m,
    );
    expect(answer, line).toMatch(
      /is not known|is not on record|nothing is recorded of message_received|is recorded\. |is on record\. /,
    );
  }
  expect(await ask(`/hooks why a.plain ${row}`)).toContain(
    "message_received is recorded when all its hooks have ended, also a.fr (fire_and_record). If the gateway is killed before that",
  );
});

it("runs that are on record are shown, though the firing is not", async () => {
  const row = first;
  await until(async () => (await ask(`/runs cut`)).includes("interrupted"), "the end of cut");
  const id = /m\d+:message_received\/\d+/.exec(await ask("/runs cut"))?.[0];
  const cut = await ask(`/hooks why cut ${row}`);
  expect(cut).toContain(`cut and ${row}: It started, and was interrupted: the gateway ended while it ran`);
  expect(cut).toContain(`/run ${id} shows it.`);
  expect(cut).toContain("What else ran at message_received is not on record");
  expect(await ask(`/hooks why other ${row}`)).toContain(`Whether other ran for ${row} is not known.`);
  const point = await ask(`/hooks why message_received ${row}`);
  expect(point).toContain("cut: It started, and was interrupted");
  expect(point).not.toMatch(/did not fire|is not known/);
  expect(await ask(`/run ${row}`)).toMatch(
    /message_received: .*cut ✗ interrupted.*; what else ran there is not on record/,
  );
  for (const line of [`/hooks why cut ${row}`, `/hooks why message_received ${row}`])
    expect(await ask(line), line).not.toMatch(/no hook was enabled|added or enabled/);
  expect(await ask("/hooks show cut")).toMatch(/last fired: .*, interrupted \(the gateway ended/);
  expect(await ask("/hooks show a.plain")).toContain(
    "last fired: no run is on record. message_received is recorded when",
  );
});

it("a firing by hand that is not on record is not said to be a message that never came", async () => {
  const fired = "f_1m8etdscv0x0e6hdw3p";
  for (const line of [`/run ${fired}`, `/hooks why ${fired}`, `/hooks why a.fr ${fired}`])
    expect(await ask(line), line).toContain(`${fired} is the id of a firing by hand, and no such firing is on record`);
});

it("a hook that was renamed before a restart is shown under its old name with what is on record", async () => {
  await gateway.kill();
  const file = join(folder, "hookgate.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace('"id": "cut"', '"id": "renamed"'));
  writeFileSync(join(folder, "go"), "");
  await gateway.start();
  await gateway.ready();
  for (const line of ["/hooks why cut", "/hooks show cut"])
    expect(await ask(line), line).toMatch(
      /^cut is no longer registered\. It last ran .*, at message_received: ✗ interrupted \(the gateway ended while it ran/,
    );
  const answer = await ask(`/hooks why cut ${first}`);
  expect(answer).toContain("This hook is no longer registered.");
  expect(answer).toContain("It started, and was interrupted");
  expect(await ask("/hooks why renamed")).not.toContain("interrupted");
  expect(await ask("/hooks show nothing-like-it")).toContain("There is no hook");
});

it("while it runs, the path shows that its point is firing, and which hook runs", async () => {
  const row = await say("third", first);
  const path = await until(async () => {
    const text = await ask(`/hooks why ${row}`);
    return text.includes("a.sent has been") && text;
  }, "a.sent at work");
  expect(path).toContain("received · message_received is firing now, and is recorded when all its hooks have ended");
  expect(path).toMatch(/^\d\. a\.fr has been running at message_received for \d/m);
  expect(path).toMatch(/^\d\. a\.sent has been running at message_sent for \d/m);
  expect(await ask(`/hooks why a.plain ${row}`)).toContain(
    `Whether a.plain runs for ${row} is not known yet: message_received is firing now, and is recorded when`,
  );
  second = row;
});

it("a stop records the firing, with the run that it cut off, which is not done again", async () => {
  expect(await gateway.stop()).toBe(0);
  await gateway.start();
  await gateway.ready();
  expect(await ask(`/hooks why a.plain ${second}`)).toContain("It ran, ✓ passed");
  const cut = await ask(`/hooks why a.fr ${second}`);
  expect(cut).toMatch(/It started, and was interrupted after .*: the gateway stopped while it ran/);
  expect(cut).toContain("message_received ✗ interrupted");
  const path = await ask(`/hooks why ${second}`);
  expect(path).toMatch(/message_received: \d hooks ran/);
  expect(path).toMatch(/✗ a\.fr was interrupted at message_received: the gateway stopped while it ran/);
  expect(path).toMatch(/✗ a\.sent was interrupted at message_sent: the gateway stopped while it ran/);
  for (const line of ["/runs", "/runs interrupted"]) {
    const rows = await ask(line);
    expect(rows, line).toMatch(new RegExp(`✗ interrupted · a\\.fr · .*${second}:message_received`));
    expect(rows, line).toContain("✗ interrupted · a.sent");
  }
  const answer = await fetch(`${gateway.url}/api/v1/runs?filter=all`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  const { dispatches } = (await answer.json()) as { dispatches: { id: string; outcome: string }[] };
  expect(dispatches.find(({ id }) => id === `${second}:message_received`)?.outcome).toBe("interrupted");
  expect(calls().filter((line) => line === "start third")).toHaveLength(2);
});

it("a stop waits for it as for a run in the background", async () => {
  const row = await say("short", second);
  await until(() => calls().includes("start short"), "a.fr at work");
  expect(await gateway.stop()).toBe(0);
  expect(calls()).toContain("end short");
  await gateway.start();
  await gateway.ready();
  expect(await ask(`/hooks why a.fr ${row}`)).toMatch(/It ran, ✓ passed/);
});

it("a firing that a kill lost is not hidden by the one before it, which passed", async () => {
  const before = /for (m\d+)|What happened to (m\d+)/
    .exec(await ask("/hooks why last"))
    ?.slice(1)
    .find(Boolean);
  const row = await say("fifth", before);
  await until(() => calls().includes("start fifth"), "a.fr at work");
  await gateway.kill();
  await gateway.start();
  await gateway.ready();
  const why = await ask("/hooks why a.fr");
  expect(why).toMatch(/^a\.fr .*for the last message_received on record/);
  expect(why).toContain(`The process ended while hooks were at work on ${row}, after that: what ran for it`);
  expect(await ask("/hooks show a.fr")).toContain("; whether it ran after that is not known: the process ended");
});
