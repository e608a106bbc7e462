/** What `/hooks why` answers about a message that became a dead letter because the process ended each time that it was handled. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const LAB = `export default { id: "lab", setup({ hooks }) {
  const claiming = (id, priority, decide) =>
    hooks.registerClaiming("inbound_claim", ({ message }) => decide(message.text), { id, priority, timeoutMs: 60_000 });
  claiming("long", 10, async (text) => {
    if (!text.startsWith("long")) return null;
    await new Promise((done) => setTimeout(done, 50_000));
    return null;
  });
  claiming("die", 20, (text) => (text === "die" ? process.exit(9) : null));
  hooks.registerModifying("message_sending", ({ message }) => (message.text === "bad" ? process.exit(9) : null), { id: "sends" });
  claiming("bad", 25, (text) => (text === "bad" ? { handled: true, reply: "bad" } : null));
  hooks.registerVoid("message_received", ({ message }) => (message.text === "bg" ? new Promise((done) => setTimeout(done, 50_000)) : undefined), { id: "bg", execution: "background" });
  claiming("last", 30, () => ({ handled: true, reply: "done" }));
} };`;

const isText = (text: string) => ({ when: `payload.message.text == "${text}"` });

const folder = mkdtempSync(join(tmpdir(), "hookgate-cut-off-"));
const go = () => writeFileSync(join(folder, "go"), "");
let gateway: GatewayProcess;

beforeAll(async () => {
  writeFileSync(join(folder, "lab.mjs"), LAB);
  gateway = await gatewayProcess({
    folder,
    config: {
      gateway: { inbox_attempts: 2 },
      operators: { owner: ["web:1"] },
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        rooms: [{ id: "general", name: "General" }],
      },
      plugins: [{ module: "./lab.mjs", critical: true }],
      hooks: [
        {
          id: "sleeper",
          trigger: "manual",
          run: { shell: { sh: "[ -e quick ] || while [ ! -e go ]; do sleep 0.05; done" } },
        },
        { id: "quick", on: "inbound_claim", priority: 1, match: isText("long"), run: { shell: { command: ["true"] } } },
        {
          id: "waits",
          on: "inbound_claim",
          priority: 2,
          match: isText("program"),
          run: { shell: { sh: "while [ ! -e go ]; do sleep 0.05; done" } },
        },
      ],
    },
  });
  await gateway.start();
  await gateway.ready();
});
afterAll(async () => {
  go();
  await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

const ask = async (line: string) => (await invoke(gateway.url, line)).text.replace(/[\\`*]/g, "");
/** Undefined while nobody answers. */
const asked = (line: string) => ask(line).catch(() => undefined);

/** The process may end before it confirms the message. */
async function say(text: string): Promise<void> {
  const answer = await fetch(`${gateway.url}/api/rooms/general/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text, nonce: `nonce-of-${text.replaceAll(" ", "-")}` }),
  }).catch(() => undefined);
  if (answer !== undefined) expect(answer.ok).toBe(true);
}

/** Starts the gateway again until the last message is given up. `crash` ends the process, or waits for its end. */
async function untilGivenUp(crash: () => Promise<unknown>): Promise<string> {
  for (let start = 0; start < 2; start++) {
    await crash();
    await gateway.start();
  }
  const path = await until(async () => {
    const text = await asked("/hooks why last");
    return text?.includes("was given up") ? text : undefined;
  }, "the dead letter");
  return /What happened to (m\d+)/.exec(path)?.[1] as string;
}

const killedIn = (hookId: string) => async () => {
  await until(
    async () => (await asked("/hooks why last"))?.includes(`${hookId} has been running`),
    `${hookId} at work`,
  );
  await gateway.kill();
};

it("a killed hook of a plugin may have run, and a configured one before it did", async () => {
  await say("long");
  const row = await untilGivenUp(killedIn("lab.long"));
  for (const id of ["lab.long", "lab.last"]) {
    const answer = await ask(`/hooks why ${id} ${row}`);
    expect(answer).toContain(`Whether ${id} ran for ${row} is not known.`);
    expect(answer).toContain("The end of the process cut that off 2 times");
    expect(answer).toContain("was given up after 2 attempts");
    expect(answer).not.toContain("did not");
  }
  expect(await ask(`/hooks why quick ${row}`)).toContain(`quick and ${row}: It ran, ✓ succeeded.`);
  const point = await ask(`/hooks why inbound_claim ${row}`);
  expect(point).toContain("quick: It ran, ✓ succeeded.");
  expect(point).toContain("cut that off 2 times");
  expect(point).not.toContain("did not");
  expect(await ask(`/run ${row}`)).toContain("Which hooks had begun by then was not recorded.");
  expect(await ask(`/hooks why ${row}`)).toContain("Which hooks had begun by then was not recorded.");
  // The message was not sent anywhere: that is known.
  expect(await ask(`/hooks why message_sent ${row}`)).toContain(`message_sent did not fire for ${row}`);
});

it("a hook that ended the process may have run, and so may its point", async () => {
  await say("die");
  const row = await untilGivenUp(() => gateway.ending());
  expect(await ask(`/hooks why lab.die ${row}`)).toContain(`Whether lab.die ran for ${row} is not known.`);
  const point = await ask(`/hooks why inbound_claim ${row}`);
  expect(point).toContain(`Whether inbound_claim fired for ${row} is not known.`);
  expect(point).toContain("the log names its hook");
  const unknown = `hether it ran is not known: the process ended while hooks were at work on ${row}`;
  expect(await ask("/hooks show lab.die")).toContain(unknown);
  expect(await ask("/hooks why lab.die")).toContain(unknown);
  expect(await ask("/hooks list never")).not.toContain("lab.die");
  // Of a point that the message never came to, it is known.
  expect(await ask("/hooks show lab.sends")).toContain("never fired");
  // The crashes stay in the story when an operator has it handled again.
  await ask("/hooks disable lab.die");
  await ask(`/outbox retry ${row}`);
  const path = await until(async () => {
    const text = await ask(`/hooks why ${row}`);
    return text.includes("claimed by lab.last") ? text : undefined;
  }, "the answer");
  expect(path).toMatch(new RegExp(`had ${row} tried again, after handling it was given up: .*crash the gateway`));
});

it("a hook that ended the process while an answer was on its way out may have run", async () => {
  await say("bad");
  for (let start = 0; start < 3; start++) {
    await gateway.ending();
    await gateway.start();
  }
  const held = async () => (await asked("/outbox list held"))?.includes("they may crash the gateway");
  await until(held, "the answer being held");
  const answer = await ask("/hooks why lab.sends last");
  expect(answer).toMatch(/Whether lab\.sends ran for m\d+ is not known\./);
  expect(answer).toContain("cut that off 3 times");
  expect(answer).toContain("it is held: the gateway ended 3 times while hooks decided about it");
  expect(await ask("/hooks why message_sending last")).toMatch(/Whether message_sending fired for m\d+ is not known\./);
});

it("a configured hook that was cut off is named", async () => {
  await say("program");
  const row = await untilGivenUp(killedIn("waits"));
  await until(async () => (await ask(`/hooks why waits ${row}`)).includes("It began, and was interrupted"), "its end");
  expect(await ask(`/hooks why ${row}`)).toContain("waits was interrupted: the gateway ended while it ran");
  expect(await ask(`/hooks why inbound_claim ${row}`)).toContain("waits: It began, and was interrupted");
});

it("a hook that an operator disabled may have run before the attempt that counted", async () => {
  await say("long once more");
  await until(async () => (await ask("/hooks why last")).includes("lab.long has been running"), "lab.long at work");
  await ask("/hooks disable lab.long");
  await gateway.kill();
  await gateway.start();
  const path = await until(async () => {
    const text = await asked("/hooks why last");
    return text?.includes("claimed by lab.last") ? text : undefined;
  }, "the answer");
  const row = /What happened to (m\d+)/.exec(path)?.[1];
  const answer = await ask(`/hooks why lab.long ${row}`);
  expect(answer).toContain("It was disabled then, by");
  expect(answer).toContain("That is the last attempt. Whether lab.long ran before it is not known.");
});

it("a firing that the end of the process cut off is the last one, and is not counted as a run that passed", async () => {
  writeFileSync(join(folder, "quick"), "");
  await ask("/fire-hook sleeper");
  await until(async () => (await ask("/hooks why sleeper")).startsWith("sleeper ran for the last hook.due"), "its run");
  rmSync(join(folder, "quick"));
  void asked("/fire-hook sleeper");
  await until(async () => (await ask("/hooks why sleeper")).includes("sleeper is running now"), "sleeper at work");
  await say("bg");
  await until(async () => (await ask("/hooks why lab.bg")).includes("lab.bg is running now"), "lab.bg at work");
  await gateway.kill();
  await gateway.start();
  for (const [id, point] of [
    ["sleeper", "hook.due"],
    ["lab.bg", "message_received"],
  ]) {
    const why = await until(async () => {
      const text = await asked(`/hooks why ${id}`);
      return text?.includes("interrupted") ? text : undefined;
    }, `the end of ${id}`);
    expect(why).toMatch(
      new RegExp(
        `^${id} started for the last ${point}, and was interrupted: the gateway ended while it ran.*Now it would run`,
      ),
    );
    expect(why).toMatch(
      /It last fired .* ago: interrupted \(the gateway ended .*\)\. Before that, it last fired .*: ✓ passed/,
    );
    const show = await ask(`/hooks show ${id}`);
    expect(show).toMatch(/last fired: .*, interrupted \(the gateway ended/);
    expect(show).toMatch(/24 h: \d+ fires?, 0 failures, \d+ interrupted/);
  }
});
