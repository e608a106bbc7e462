/** Stored runs that messages caused are taken in turn by sender, and one sender has a share of a hook's queue. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/until.js";
import { liveApp } from "./support/live-app.js";

const BOB = "the-token-of-bob-000002";
const EVE = "the-token-of-eve-000003";

/** With Bob and Eve, who both write to it in private. */
async function gatewayWith(hooks: string) {
  const live = await liveApp({}, { start: false });
  const config = `
web:
  people: [{ id: 2, name: Bob, token_env: BOB_TOKEN }, { id: 3, name: Eve, token_env: EVE_TOKEN }]
  access: { dms: everyone }
hooks:
${hooks}`;
  writeFileSync(join(live.folder, "hookgate.yaml"), config);
  await live.start({ BOB_TOKEN: BOB, EVE_TOKEN: EVE });
  let said = 0;
  const call = async (token: string, path: string, body?: unknown) => {
    const answer = await fetch(`${live.app.url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    expect(answer.status).toBeLessThan(300);
    return (await answer.json()) as { messages: { text: string }[] };
  };
  const say = async (token: string, text: string) =>
    void (await call(token, `/api/rooms/${token === BOB ? "dm-2" : "dm-3"}/messages`, {
      text,
      nonce: `nonce-${++said}-of-turns`,
    }));
  const read = async (token: string) =>
    (await call(token, `/api/rooms/${token === BOB ? "dm-2" : "dm-3"}/messages`)).messages.map(({ text }) => text);
  const count = (id: string, runs: number) =>
    until(async () => (await live.runs(id)).length === runs, `${runs} runs of ${id}`);
  return { live, say, read, count };
}

const WAITS = "until [ -e go ]; do sleep 0.05; done";

test("one message of a person waits for one run of a sender who wrote many, and the order of each sender is kept", async () => {
  const { live, say, count } = await gatewayWith(`
  - id: slow
    on: inbound_claim
    execution: background
    run: { shell: { sh: '${WAITS}; printf "%s" "$HOOKGATE_PAYLOAD" | grep -o "text.:.[eb][0-9]" | tail -c 3 >> order' } }
  - id: answer
    on: inbound_claim
    run: { shell: { sh: 'echo "{\\"decision\\":\\"claim\\",\\"reply\\":\\"ok\\"}"' } }
  - id: sent
    on: message_sent
    run: { shell: { sh: '${WAITS}; printf "%s" "$HOOKGATE_PAYLOAD" | grep -o "dm-[23]" | head -n 1 >> sent' } }
`);
  for (let n = 0; n < 6; n++) await say(EVE, `e${n}`);
  for (const id of ["slow", "sent"]) await count(id, 6);
  for (let n = 0; n < 2; n++) await say(BOB, `b${n}`);
  for (const id of ["slow", "sent"]) await count(id, 8);
  live.write("go", "");
  for (const id of ["slow", "sent"]) await live.ended(id, 8);
  expect(live.file("order").split("\n").filter(Boolean)).toEqual(["e0", "e1", "b0", "e2", "b1", "e3", "e4", "e5"]);
  // Its payload has no person: the conversations take turns.
  expect(live.file("sent").split("\n").slice(0, 5)).toEqual(["dm-3", "dm-3", "dm-2", "dm-3", "dm-2"]);
});

test("a sender has a share of max_queued; what is more is skipped, on record, and `notify` may tell the sender", async () => {
  const { live, say, read, count } = await gatewayWith(`
  - id: small
    on: inbound_claim
    execution: background
    max_queued: 6
    notify: { on: [skipped], to: [here] }
    run: { shell: { sh: '${WAITS}' } }
`);
  await say(EVE, "e0");
  await until(async () => (await live.runs("small"))[0]?.status === "running", "the first at work");
  for (let n = 1; n < 6; n++) await say(EVE, `e${n}`);
  await count("small", 6);
  await say(BOB, "b0");
  await count("small", 7);
  const reason = "queue: 3 of its sender wait already, and one sender can have 3 waiting (a share of max_queued)";
  expect((await live.runs("small")).map(({ status, statusReason }) => statusReason ?? status)).toEqual([
    "running",
    ...["backgrounded", "backgrounded", "backgrounded"],
    ...[reason, reason],
    "backgrounded",
  ]);
  await until(async () => (await read(EVE)).some((text) => text.includes("one sender can have 3")), "Eve's note");
  live.write("go", "");
  await live.ended("small", 7);
  expect((await read(BOB)).filter((text) => text.includes("one sender"))).toEqual([]);
});
