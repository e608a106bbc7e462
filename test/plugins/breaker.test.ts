/** A plugin whose hooks never answer, in the whole product. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, it } from "vitest";
import { OWNER, type RunningApp, runApp } from "../http/running-app.js";
import { until } from "../support/until.js";

const NEVER = resolve(import.meta.dirname, "../fixtures/plugins/never-answers.mjs");
const BUSY = resolve(import.meta.dirname, "../fixtures/plugins/busy.mjs");
const ECHO = resolve(import.meta.dirname, "../http/page-plugin.mjs");

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function setUp(guard = false) {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-never-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, "calls");
  writeFileSync(log, "");
  writeFileSync(`${log}.hang`, "");
  const app = await runApp({ plugins: [ECHO, { module: NEVER, config: { log, guard } }] });
  closers.push(() => app.close());
  return { app, hang: (isOn: boolean) => (isOn ? writeFileSync(`${log}.hang`, "") : rmSync(`${log}.hang`)) };
}

let serial = 0;
async function say(app: RunningApp, text: string): Promise<void> {
  const nonce = `nonce-of-${++serial}-message`;
  const { status } = await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", { text: `echo ${text}`, nonce });
  expect(status).toBeLessThan(300);
}

const texts = async (app: RunningApp): Promise<string[]> =>
  (await app.call(OWNER, "GET", "/api/rooms/dm-1/messages?limit=200")).body.messages.map(
    ({ text }: { text: string }) => text,
  );
const answered = (app: RunningApp, text: string) =>
  until(async () => (await texts(app)).includes(text), `the answer "${text}"`);
const command = async (app: RunningApp, line: string) =>
  (await app.call(OWNER, "POST", "/api/command", { line })).body as { text: string; data: Record<string, unknown> };
const outcomes = async (app: RunningApp, hookId: string): Promise<string[]> => {
  const { data } = await command(app, `/runs ${hookId}`);
  return JSON.stringify(data).match(/"(timed_out|skipped|passed)"/g) ?? [];
};
const openBreakers = (app: RunningApp) => app.app.automations.breakers().map(({ hookId }) => hookId);

it("a plugin hook that never answers is not called any more after five timeouts, until an operator enables it", async () => {
  const { app, hang } = await setUp();
  for (let n = 1; n <= 8; n++) {
    await say(app, `number ${n}`);
    await answered(app, `number ${n}`);
  }
  const hooks = ["message_received", "inbound_claim", "before_dispatch", "message_sending", "message_sent"];
  await until(() => openBreakers(app).length === hooks.length, "all five breakers being open");
  expect((await outcomes(app, "never.inbound_claim")).filter((one) => one === '"skipped"').length).toBeGreaterThan(0);

  const status = await command(app, "/status");
  expect(status.text).toContain("`never.inbound_claim` is not run: it failed 5 times in a row");
  expect((await command(app, "/hooks show never.inbound_claim")).text).toContain("/hooks enable never.inbound_claim");
  const why = await command(app, "/hooks why never.inbound_claim");
  expect(why.text).toContain("would **not** run");
  expect(why.text.replaceAll("\\", "")).toMatch(
    /✗ breaker: It is not called until \d\d:\d\d UTC \(in .+\): 5 failures in a row\. \/hooks enable never\.inbound_claim closes its breaker/,
  );
  expect(openBreakers(app)).toHaveLength(hooks.length);

  hang(false);
  const enabled = await command(app, "/hooks enable never.inbound_claim");
  expect(enabled.text).toContain("Its breaker is closed now");
  expect(openBreakers(app)).not.toContain("never.inbound_claim");
  expect((await command(app, "/hooks why never.inbound_claim")).text).not.toContain("✗ breaker");
  await say(app, "after all");
  await answered(app, "after all");
  expect(openBreakers(app)).toHaveLength(hooks.length - 1);
});

it("a fail-closed plugin hook whose breaker is open holds messages at once, and lets none through", async () => {
  const { app } = await setUp(true);
  for (let n = 1; n <= 7; n++) await say(app, `guarded ${n}`);
  // Alerts about them are held, too.
  await until(async () => (await app.app.gateway.status()).outbox.held >= 7, "seven held messages");
  expect(openBreakers(app)).toContain("never.message_sending");
  expect((await texts(app)).filter((text) => text.startsWith("guarded"))).toEqual([]);
});

it("/hooks why without a message names the lists of gateway.allowed_plugins that refuse the plugin", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-lists-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, "calls");
  writeFileSync(log, "");
  const why = async (lists: Record<string, string[]>) => {
    const gateway = { allowed_plugins: lists };
    const app = await runApp({ plugins: [ECHO, { module: NEVER, config: { log } }], gateway });
    closers.push(() => app.close());
    return (await command(app, "/hooks why never.inbound_claim")).text.replaceAll("\\", "");
  };
  const nowhere = await why({ "*": [], "web:dm-1": ["page"] });
  expect(nowhere).toContain("would **not** run");
  expect(nowhere).toContain(
    '✗ plugin: gateway.allowed_plugins does not allow plugin "never" in *, web:dm-1, and allows it nowhere else. It runs only where its point fires for no conversation.',
  );
  expect(await why({ "web:dm-1": ["page"] })).toContain(
    '✓ plugin: gateway.allowed_plugins does not allow plugin "never" in web:dm-1; it runs everywhere else.',
  );
});

it("/hooks why of a hook that runs for what is of no conversation does not name the lists as what stops it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-lists-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "audit.mjs");
  writeFileSync(
    file,
    'export default { id: "audit", setup({ hooks }) { hooks.registerVoid("command_invoked", () => {}, { id: "seen" }); } };',
  );
  const app = await runApp({ plugins: [file], gateway: { allowed_plugins: { "*": [] } } });
  closers.push(() => app.close());
  const why = async () => (await command(app, "/hooks why audit.seen")).text.replaceAll("\\", "");
  const text = await until(async () => {
    const now = await why();
    return /audit\.seen` ran/.test(now) ? now : undefined;
  }, "a run for a command of the API");
  expect(text).toContain(
    "✓ plugin: This payload is of no conversation, and gateway.allowed_plugins limits conversations.",
  );
  expect(text).not.toContain("not** run");
});

it("a result that comes after the timeout does not count, also when the hook blocks the process until it returns", async () => {
  const app = await runApp({ plugins: [ECHO, BUSY] });
  closers.push(() => app.close());
  for (let n = 1; n <= 6; n++) {
    await say(app, `number ${n}`);
    await answered(app, `number ${n}`);
  }
  expect(await texts(app)).not.toContain("too late");
  for (const hookId of ["busy.at-once", "busy.later", "busy.observer", "busy.late-observer"]) {
    await until(async () => (await outcomes(app, hookId)).includes('"skipped"'), `the open breaker of ${hookId}`);
    expect(await outcomes(app, hookId)).toContain('"timed_out"');
    const { data } = await command(app, `/runs ${hookId}`);
    expect(JSON.stringify(data)).toMatch(
      /returned after \d+ ms, later than its timeout of 60 ms, and blocked the process/,
    );
  }
  await until(
    () => openBreakers(app).length === 4,
    () => `four open breakers; open are ${openBreakers(app)}`,
  );
});
