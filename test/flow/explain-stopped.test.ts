/** What `/hooks why` answers about hooks that a stop (SIGTERM) cut off, and what the next start does about them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

/** Until the file `quiet` is there, its hooks do not end. */
const PLUGIN = `import { appendFileSync, existsSync } from "node:fs";
const never = () => (existsSync("quiet") ? undefined : new Promise(() => {}));
export default { id: "p", setup({ hooks }) {
  const timeoutMs = 3_600_000;
  for (const [hook, phase] of [["orchestrator:shutdown", "after"], ["task:create", "after"], ["task:spawn", "before"]])
    hooks.register({ hook, phase, id: hook.split(":")[1], timeoutMs, handler: never });
  hooks.registerVoid("command_invoked", never, { id: "command", timeoutMs, match: { when: 'payload.command == "whoami"' } });
  hooks.registerVoid("command_invoked", () => {}, { id: "other" });
  hooks.registerClaiming("inbound_claim", ({ message }) => (message.text === "long" ? never() : undefined), { id: "claim", timeoutMs });
  hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "done" }), { id: "answers" });
  hooks.registerVoid("message_sent", ({ message }, { attempt }) => {
    appendFileSync("sent", message.text + " " + attempt + "\\n");
    return never();
  }, { id: "sent", timeoutMs });
  hooks.register({ hook: "task:create", phase: "before", id: "creating", timeoutMs, handler: ({ data, dispatchId, attempt }) => {
    if (data.title !== "Held") return;
    appendFileSync("creating", dispatchId + " " + attempt + "\\n");
    return new Promise(() => {});
  } });
  const retry = { attempts: 3, backoffMs: 100, idempotent: true };
  for (const [id, options] of [["once", {}], ["again", { retry }]])
    hooks.registerVoid("message_received", (_payload, { recordId, dispatchId, attempt, signal }) => {
      const note = (what) => appendFileSync(id, what + "\\n");
      note([recordId, dispatchId, attempt].join(" "));
      signal.addEventListener("abort", () => note("signal: " + signal.reason.message));
      return never();
    }, { id, execution: "background", timeoutMs, match: { when: 'payload.message.text == "long"' }, ...options });
} };`;

const folder = mkdtempSync(join(tmpdir(), "hookgate-explain-stopped-"));
let gateway: GatewayProcess;

const ask = async (line: string) => (await invoke(gateway.url, line)).text.replace(/[\\`*]/g, "");
const isRunning = (id: string) =>
  until(async () => (await ask(`/hooks why ${id}`)).startsWith(`${id} is running now`), `${id} at work`);

async function say(text: string): Promise<void> {
  const answer = await fetch(`${gateway.url}/api/rooms/general/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text, nonce: `a-nonce-of-${text.replaceAll(/\W/g, "-")}` }),
  });
  expect(answer.ok).toBe(true);
}

beforeAll(async () => {
  writeFileSync(join(folder, "a.mjs"), PLUGIN);
  gateway = await gatewayProcess({
    folder,
    config: {
      gateway: { shutdown_timeout: "1s", send_timeout: "1s" },
      orchestrator: { shutdown_timeout: "1s", runners: { worker: { shell: { command: ["true"] } } } },
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

describe("a stop while hooks do not end", () => {
  beforeAll(async () => {
    await ask("/whoami");
    await ask("/task add worker Do it");
    await say("short");
    await isRunning("p.sent");
    await say("long");
    await say("/task add worker Held");
    for (const id of ["p.command", "p.create", "p.spawn", "p.claim", "p.creating", "p.once", "p.again"])
      await isRunning(id);
  });

  it("ends all the same, and each of them is on record as cut off", async () => {
    expect(await gateway.stop()).toBe(0);
    writeFileSync(join(folder, "quiet"), "");
    await gateway.start();
    await gateway.ready();
    // First: each command fires its point.
    const answer = await ask("/hooks why p.command");
    expect(answer).toMatch(
      /^p\.command started for the last command_invoked(?: on record)?, and was interrupted: the gateway stopped while it ran\. Now it would run/,
    );
    expect(answer).toMatch(/It last fired .*: ✗ interrupted/);
    expect(await ask("/hooks why p.shutdown")).toMatch(
      /^p\.shutdown started for the last orchestrator:shutdown, and was interrupted: the gateway stopped while it ran\./,
    );
    for (const id of ["p.command", "p.shutdown", "p.create", "p.spawn", "p.claim", "p.sent", "p.once", "p.again"])
      expect(await ask(`/runs ${id}`), id).toContain("✗ interrupted");
    // Who ran beside it is on record with it.
    expect(await ask("/hooks show p.other")).toMatch(/last fired: .*passed/);
  });

  it("fires the signal of a hook in the background, logs it, and runs it again only with retry", async () => {
    const lines = (id: string) => readFileSync(join(folder, id), "utf8").trimEnd().split("\n");
    const [first = ""] = lines("again");
    const [recordId] = first.split(" ");
    const cutOff = "signal: the gateway stopped while it ran";
    await until(() => lines("again").length > 2, "the second call of p.again");
    // Each attempt is a dispatch of its own; what stays the same is the record.
    expect(lines("again")).toEqual([`${recordId} ${recordId}:1 1`, cutOff, `${recordId} ${recordId}:2 2`]);
    expect(lines("once")).toEqual([expect.stringMatching(/:1 1$/), cutOff]);
    // That of one that runs again is no warning.
    expect(gateway.output()).toMatch(/Hook \\?"p\.once\\?" was interrupted at message_received/);
    expect(gateway.output()).not.toMatch(/Hook \\?"p\.again\\?" was interrupted/);
    expect(await ask("/hooks why p.once last")).toMatch(
      /It started, and was interrupted after .*: the gateway stopped while it ran, and it may not run twice/,
    );
    expect(await ask("/hooks why p.again last")).toMatch(
      /It started, and was interrupted after .*: the gateway stopped while it ran\n[\s\S]*It ran, ✓ passed/,
    );
  });

  it("makes no failures of them", async () => {
    for (const id of ["p.command", "p.shutdown", "p.create", "p.once", "p.again"])
      expect(await ask(`/hooks show ${id}`)).toMatch(/24 h: \d+ fires?, 0 failures/);
  });

  it("counts the second call at task:create, whose command is given again", async () => {
    const calls = await until(() => {
      const lines = readFileSync(join(folder, "creating"), "utf8").trimEnd().split("\n");
      return lines.length > 1 ? lines : undefined;
    }, "the second call of p.creating");
    expect(calls).toEqual([expect.stringMatching(/^t_m\d+:task:create 1$/), expect.stringMatching(/:task:create 2$/)]);
    expect(calls[1]?.split(" ")[0]).toBe(calls[0]?.split(" ")[0]);
  });

  it("is no end for what hooks are to be told: the next start calls them again", async () => {
    await until(() => readFileSync(join(folder, "sent"), "utf8").includes("done 2"), "the second call of p.sent");
    const answer = await until(async () => {
      const text = await ask("/hooks why p.claim last");
      return text.includes("It ran, ✓ passed") ? text : undefined;
    }, "the second call of p.claim");
    expect(answer).toMatch(/It started, and was interrupted after .*: the gateway stopped while it ran/);
    // What ran again does not end with what the stop cut off.
    const path = await until(async () => {
      const text = await ask("/hooks why last");
      return text.includes("p.claim ✓ passed") ? text : undefined;
    }, "the end of p.claim");
    const cutOff = "at inbound_claim: the gateway stopped while it ran";
    expect(path).toContain(`p.claim ✓ passed at attempt 2; attempt 1 was interrupted ${cutOff}`);
    expect(path).not.toContain("✗ p.claim");
    expect(path).toContain("p.once was interrupted: the gateway stopped while it ran, and it may not run twice");
    expect(await ask("/hooks why inbound_claim last")).toContain(
      "p.answers did not run. p.claim runs before it and was interrupted (the gateway stopped while it ran). The hooks after it did not get their turn.",
    );
  });
});
