/** Rows that cannot be read: one of them stops neither the start nor the runs and events behind it. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { type Product, startProduct } from "./product.js";

let product: Product;
beforeAll(async () => {
  product = await startProduct({
    automations: { lease: "1s" },
    hooks: [
      ...["hurt", "well"].map((id) => ({
        id,
        trigger: { event: id },
        run: { shell: { sh: "true" } },
        retry: { attempts: 3, backoff: "10ms" },
        when_busy: "queue",
      })),
      {
        id: "answers",
        on: "inbound_claim",
        run: { shell: { command: ["echo", '{"decision":"claim","reply":"heard"}'] } },
      },
    ],
  });
}, 120_000);
afterAll(() => product.close());

const database = () => openSqlite(join(product.folder, "data/hookgate.db"));

it("are ended with the reason, and everything behind them is run", { timeout: 60_000 }, async () => {
  await product.event({ n: 1 }, { name: "hurt" });
  await product.ended("hurt");
  await product.kill();
  const file = database();
  try {
    const add = file.prepare(
      `INSERT INTO automation_runs (id, hook_id, status, attempt, repeatable, created_at, due_at, turn, started_at, lease_owner, lease_until, data, pending)
       VALUES (?, 'hurt', ?, 0, 1, 1, 1, 1, NULL, ?, ?, ?, ?)`,
    );
    const good = JSON.stringify({
      trigger: "on",
      reason: "x",
      event: "event:hurt",
      payload: {},
      attempts: [],
    });
    add.run("r_bad_data", "queued", null, null, '{"trigger":', '{"n":2}');
    add.run("r_bad_payload", "backgrounded", null, null, good, '{"n":');
    add.run("r_bad_running", "running", "g_gone", 1, "not JSON", '{"n":3}');
    file
      .prepare("INSERT INTO automation_events (id, name, payload, received_at) VALUES ('msg_bad', 'well', '{', 1)")
      .run();
    file
      .prepare(
        `INSERT INTO pending (id, kind, key, due_at, attempts, payload)
         VALUES ('d_event_msg_bad', 'event', 'well', 0, 1, '{"event":"msg_bad"}')`,
      )
      .run();
    file
      .prepare(
        `INSERT INTO inbox (platform, bot, chat, event_id, lane, status, attempts, due_at, received_at, event)
         VALUES ('web', 'web', 'general', 'bad', 'web:web:general', 'running', 1, 1, 1, '{"kind":')`,
      )
      .run();
    file
      .prepare(
        `INSERT INTO deliveries (id, conversation, status, created_at, due_at, data, message, frozen, parts)
         VALUES ('d_bad', 'web:web:general', 'sending', 1, 1, '{"address":', '{}', '', '[{')`,
      )
      .run();
  } finally {
    file.close();
  }
  await product.start();
  await product.ready();
  await product.event({ n: 4 }, { name: "well" });
  await product.event({ n: 4 }, { name: "hurt" });
  expect((await product.ended("well"))[0]?.status).toBe("succeeded");
  const ends = await until(() => {
    const read = database();
    try {
      const rows = read.prepare("SELECT id, status FROM automation_runs WHERE hook_id = 'hurt' ORDER BY seq").all();
      return rows.length === 5 && !/"status":"(queued|running|backgrounded)"/.test(JSON.stringify(rows)) && rows;
    } finally {
      read.close();
    }
  }, "every run of hurt ending");
  expect(ends).toMatchObject([
    { status: "succeeded" },
    { id: "r_bad_data", status: "interrupted" },
    { id: "r_bad_payload", status: "interrupted" },
    { id: "r_bad_running", status: "interrupted" },
    { status: "succeeded" },
  ]);
  expect(product.output()).toContain("cannot be read in the store");
  const listed = await fetch(`${product.url}/api/v1/runs?filter=hurt`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  expect(listed.status).toBe(200);
  expect(((await listed.json()) as { runs: unknown[] }).runs).toHaveLength(5);
  // Nor does a damaged message or delivery, in front of everything of its conversation.
  await product.say("who hears this?");
  await until(async () => (await product.messages()).some(({ text }) => text === "heard"), "the answer");
  expect(product.output()).toMatch(/an inbox message was given up[\s\S]*a delivery was given up: .*d(amaged)/);
});
