/** More waits to be handled than may: what one person has waiting keeps no one else out, and it is shown when nothing more is taken in. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

const CAROL = "the-token-of-carol-0000000001";
const folder = mkdtempSync(join(tmpdir(), "hookgate-held-"));
const gate = globalThis as { letHeldGo?: () => void; held?: Promise<void> | undefined };

let app: RunningApp;
beforeAll(async () => {
  gate.held = new Promise<void>((resolve) => {
    gate.letHeldGo = resolve;
  });
  const plugin = join(folder, "slow.mjs");
  writeFileSync(
    plugin,
    `export default { id: "slow", setup({ hooks }) {
      hooks.registerClaiming("inbound_claim", async ({ message }) => {
        if (message.text.startsWith("hold")) await globalThis.held;
        return { handled: true, reply: "re " + message.text };
      }, { id: "slow", timeoutMs: 600_000 });
    } };`,
  );
  app = await runApp(
    {
      plugins: [plugin],
      // One person may have 10 waiting.
      gateway: { max_waiting: 20 },
      alerts: { watch_gateway: { undelivered_after: "1s" } },
      web: {
        people: [
          { id: "2", name: "Bob", token_env: "BOB_TOKEN" },
          { id: "3", name: "Carol", token_env: "CAROL_TOKEN" },
        ],
      },
    },
    { CAROL_TOKEN: CAROL },
  );
});
afterAll(async () => {
  gate.letHeldGo?.();
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

let nonces = 0;
const say = (token: string, room: string, text: string) =>
  app.call(token, "POST", `/api/rooms/${room}/messages`, { text, nonce: `nonce-${++nonces}-long` });
const texts = async (token: string, room: string): Promise<string[]> =>
  (await app.call(token, "GET", `/api/rooms/${room}/messages?limit=200`)).body.messages.map(
    ({ text }: { text: string }) => text,
  );
const command = async (line: string): Promise<string> =>
  (await app.call(OWNER, "POST", "/api/command", { line })).body.text;
const ready = async () => (await app.call(undefined, "GET", "/readyz")).body;

it("a person who writes many messages at once gets 429 for those above the share, too", async () => {
  gate.held = new Promise<void>((resolve) => {
    gate.letHeldGo = resolve;
  });
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => say(CAROL, "dm-3", `hold ${n}`)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
  const refused = answers.filter(({ status }) => status !== 201);
  expect(refused.map(({ status, body }) => [status, body.error.code])).toEqual(
    Array.from({ length: 20 }, () => [429, "TOO_MANY_WAITING"]),
  );
  // All that stands in the chat is handled.
  const written = (await texts(CAROL, "dm-3")).filter((text) => text.startsWith("hold"));
  expect(written).toHaveLength(10);
  gate.letHeldGo?.();
  await until(
    async () => (await texts(CAROL, "dm-3")).filter((text) => text.startsWith("re hold")).length === 10,
    "the answers",
  );
  expect((await say(CAROL, "dm-3", "one more")).status).toBe(201);
  await until(async () => (await texts(CAROL, "dm-3")).includes("re one more"), "the answer to one more");
  gate.held = new Promise<void>((resolve) => {
    gate.letHeldGo = resolve;
  });
});

it("a person with a whole share waiting gets 429 with a hint, for messages only, and all others are served", async () => {
  for (let n = 0; n < 10; n++) expect((await say(BOB, "dm-2", `hold ${n}`)).status).toBe(201);
  const refused = await say(BOB, "dm-2", "one more");
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("30");
  expect(refused.body.error).toEqual({
    code: "TOO_MANY_WAITING",
    message: "you have 10 messages waiting for an answer, and no more are taken until half of them are handled",
    hint: "Send it again later. Commands are answered meanwhile.",
  });
  // Nothing stands in the chat that nobody will handle.
  expect(await texts(BOB, "dm-2")).not.toContain("one more");
  expect((await say(BOB, "dm-2", "/whoami")).status).toBe(201);
  expect((await say(CAROL, "dm-3", "hello")).status).toBe(201);
  await until(async () => (await texts(CAROL, "dm-3")).includes("re hello"), "the answer to Carol");
  expect(await command("/status")).not.toContain("held back");
  expect(await ready()).toMatchObject({ state: "ready" });
});

it("/status, /readyz and an alert show that no more is taken in, and which conversation has most of it", async () => {
  for (let n = 0; n < 10; n++) expect((await say(OWNER, "dm-1", `hold ${n}`)).status).toBe(201);
  const refused = await say(CAROL, "dm-3", "hello?");
  expect([refused.status, refused.body.error.code]).toEqual([503, "GATEWAY_FULL"]);
  const status = await command("/status");
  expect(status).toContain("Up, but new messages are held back");
  expect(status).toMatch(
    /⚠ new messages are held back for .*: 20 messages wait to be handled, 10 of them in .*dm-[12]/,
  );
  expect(await ready()).toMatchObject({ ready: true, state: "degraded", heldBack: expect.stringContaining("20 mess") });
  await until(async () => (await command("/alerts")).includes("New messages are held back"), "the alert");

  gate.letHeldGo?.();
  await until(async () => (await ready()).state === "ready", "all is well again");
  expect((await say(CAROL, "dm-3", "hello!")).status).toBe(201);
  await until(async () => (await say(BOB, "dm-2", "again")).status === 201, "half of Bob's messages being handled");
  await until(async () => (await texts(BOB, "dm-2")).includes("re again"), "the answer to Bob");
});
