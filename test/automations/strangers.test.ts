/** People whom the gateway does not listen to cannot switch a hook off for others by making it fail. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/until.js";
import { liveApp, TOKEN } from "./support/live-app.js";

const BOB = "the-token-of-bob-000002";

const config = `
automations: { breaker: { failures: 2, pause: 1h } }
plugins: [./hangs.mjs]
web:
  people: [{ id: 2, name: Bob, token_env: BOB_TOKEN }]
  access: { dms: operators, chats: [general], mention: required }
hooks:
  - { id: fails, on: message_received, match: { access: any }, run: { shell: { sh: "exit 1" } } }
  - { id: follows, on: hook_run_completed, match: { when: 'payload.hookId == "fails"' }, run: { shell: { sh: "exit 1" } } }
`;
const plugin = `export default { id: "hangs", setup(api) {
  api.hooks.registerVoid("message_received", () => new Promise(() => {}), { id: "wait", timeoutMs: 50 });
} };`;

test("failures for strangers' messages are not counted, those for others are", async () => {
  const live = await liveApp({ "hangs.mjs": plugin }, { start: false });
  writeFileSync(join(live.folder, "hookgate.yaml"), config);
  await live.start({ BOB_TOKEN: BOB });
  let said = 0;
  const say = async (token: string, room: string) => {
    const answer = await fetch(`${live.app.url}/api/rooms/${room}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ text: "hello", nonce: `nonce-${++said}-of-strangers` }),
    });
    expect(answer.status).toBeLessThan(300);
  };
  const timeouts = async () =>
    JSON.stringify(await live.post("/api/command", { line: "/runs hangs.wait" })).split('"timed_out"').length - 1;
  const open = () =>
    live.app.automations
      .breakers()
      .map(({ hookId }) => hookId)
      .sort();

  for (let n = 1; n <= 4; n++) {
    await say(BOB, "dm-2");
    await live.ended("fails", n);
    // What the run sets off comes of the stranger as well.
    await live.ended("follows", n);
    await until(async () => (await timeouts()) >= n, `timeout ${n}`);
  }
  expect((await live.runs("fails")).map(({ status }) => status)).toEqual(["failed", "failed", "failed", "failed"]);
  expect(open()).toEqual([]);

  // Not addressed, in a room that is listened to: this is nobody's attack.
  for (let n = 5; n <= 6; n++) {
    await say(n === 5 ? BOB : TOKEN, "general");
    await live.ended("fails", n);
  }
  await until(
    () => open().length === 2,
    () => `both breakers being open: ${open()}`,
  );
  expect(open()).toEqual(["fails", "hangs.wait"]);

  // For a message that is answered, what the run sets off counts as well.
  await live.post("/api/command", { line: "/hooks enable fails" });
  for (let n = 7; n <= 8; n++) {
    await say(TOKEN, "dm-1");
    await live.ended("follows", n);
    await live.post("/api/command", { line: "/hooks enable fails" });
  }
  await until(
    () => open().includes("follows"),
    () => `the breaker of what follows being open: ${open()}`,
  );
});
