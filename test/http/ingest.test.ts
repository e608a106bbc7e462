/** Signed events over real HTTP: who may send, what is refused, and that nothing acknowledged is lost. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gatewayProcess } from "../support/gateway-process.js";
import { jsonLines } from "../support/lines.js";
import { until } from "../support/until.js";
import { type RunningApp, runApp } from "./running-app.js";

const SECRET = `whsec_${Buffer.from("the secret of the deploy pipeline").toString("base64")}`;
const OLD = `whsec_${Buffer.from("the secret that is being replaced").toString("base64")}`;
const PLUGIN = resolve(import.meta.dirname, "../fixtures/plugins/event-log.mjs");

const events = {
  deploy: {
    secret_env: ["DEPLOY_SECRET", "DEPLOY_SECRET_OLD"],
    schema: { type: "object", properties: { branch: { type: "string" } }, required: ["branch"] },
    max_bytes: 2000,
  },
  "build-finished": { secret_env: "DEPLOY_SECRET" },
  patterned: {
    secret_env: "DEPLOY_SECRET",
    schema: {
      properties: {
        re: { type: "string", pattern: "^(a+)+$" },
        list: { type: "array", items: { $ref: "#/$defs/word" } },
      },
      $defs: { word: { type: "string", pattern: "^[a-z]+$" } },
    },
    max_bytes: 300_000,
  },
  batch: {
    secret_env: "DEPLOY_SECRET",
    schema: {
      type: "array",
      items: { $ref: "#/$defs/entry" },
      $defs: { entry: { type: "object", required: ["s"], properties: { s: { type: "string" } } } },
    },
  },
};
const variables = { DEPLOY_SECRET: SECRET, DEPLOY_SECRET_OLD: OLD };

const folder = mkdtempSync(join(tmpdir(), "hookgate-ingest-"));
const log = join(folder, "events.log");
const batches = join(folder, "batches.log");
const hooks = [
  {
    id: "batch",
    trigger: { event: "batch" },
    match: { when: 'payload.value.exists(p, p.s == "k")' },
    run: {
      shell: {
        sh: `(cat; echo " $WORDS") >> ${batches}`,
        env: { WORDS: "{% for p in event.value %}{{ p.s }}{% endfor %}" },
      },
    },
  },
  { id: "lists", trigger: { event: "build-finished" }, run: { shell: { sh: `(cat; echo) >> ${batches}` } } },
];
let app: RunningApp;
beforeAll(async () => {
  process.env.EVENT_LOG = log;
  app = await runApp({ events, hooks, plugins: [PLUGIN] }, variables);
});
afterAll(async () => {
  delete process.env.EVENT_LOG;
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Sending {
  name?: string;
  id?: string;
  body?: string;
  secret?: string;
  at?: Date;
  headers?: Record<string, string>;
  url?: string;
}

async function send({
  name = "deploy",
  id = "msg_1",
  body = '{"branch":"main"}',
  secret = SECRET,
  at = new Date(),
  headers = {},
  url,
}: Sending = {}) {
  const response = await fetch(`${url ?? app.url}/ingest/${name}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
      ...headers,
    },
    body,
  });
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    body: (await response.json()) as Record<string, unknown>,
  };
}

const logged = (file = log) => jsonLines<unknown>(file);

describe("an event from outside", () => {
  it("is accepted by its signature alone, under any host name, and fires its hook point", async () => {
    const answer = await send({ id: "msg_first", body: '{"branch":"first"}' });
    expect(answer).toMatchObject({ status: 202, body: { id: "msg_first", status: "accepted" } });
    await until(() => logged().length === 1, "the event");
    expect(logged()).toEqual([{ branch: "first" }]);
    const other = await underHost("hooks.example.org", "msg_other_host");
    expect(other).toBe(202);
    await until(() => logged().length === 2, "the second event");
  });

  it("whose body is no object reaches hooks as the field value", async () => {
    const written = () => (existsSync(batches) ? readFileSync(batches, "utf8") : "");
    const list = JSON.stringify([{ s: "k" }, { s: "m" }]);
    expect(await send({ name: "batch", id: "msg_batch", body: list })).toMatchObject({ status: 202 });
    await until(() => written().endsWith("\n"), "the batch");
    expect(written()).toBe(`{"value":${list}} km\n`);
    expect(await send({ name: "build-finished", id: "msg_list", body: "[1,2]" })).toMatchObject({ status: 202 });
    await until(() => written().endsWith("]}\n"), "the list without a schema");
    expect(written()).toContain('\n{"value":[1,2]}\n');
  });

  it("is held against the patterns of its schema in a moment, however unlucky they are", async () => {
    const of = (payload: object, id: string) => send({ name: "patterned", id, body: JSON.stringify(payload) });
    expect(await of({ re: "aaa", list: ["b"] }, "msg_pattern_1")).toMatchObject({ status: 202 });
    const wrong = await of({ re: `${"a".repeat(34)}!`, list: ["b", "C"] }, "msg_pattern_2");
    expect(wrong).toMatchObject({ status: 422, body: { code: "PAYLOAD_INVALID" } });
    expect(wrong.body.detail).toContain("re: expected text that matches ^(a+)+$; list.1: expected");
  });

  it("that is nested too deep is refused for good, and names no file", async () => {
    for (const body of ["[".repeat(100_000), `${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}`])
      expect(await send({ name: "patterned", id: "msg_deep", body })).toMatchObject({
        status: 400,
        body: { code: "BODY_INVALID", detail: "the body is nested deeper than 100 levels" },
      });
  });

  it("with more values than any event needs is refused", async () => {
    const list = (length: number) => JSON.stringify({ numbers: Array.from({ length }, () => 1) });
    expect(await send({ name: "patterned", id: "msg_many", body: list(19_000) })).toMatchObject({ status: 202 });
    expect(await send({ name: "patterned", id: "msg_too_many", body: list(20_001) })).toMatchObject({
      status: 400,
      body: { code: "BODY_INVALID", detail: "the body has more than 20000 values" },
    });
  });

  it("with a whole number that JSON does not keep is refused with the field, and nothing is stored", async () => {
    const of = (body: string, id: string) => send({ name: "build-finished", id, body });
    const refused = await of('{"build":{"ids":[1,1576796294934953986]}}', "msg_big");
    expect(refused).toMatchObject({ status: 422, body: { code: "PAYLOAD_INVALID" } });
    expect(refused.body.detail).toBe(
      'the body has a whole number above 2^53 in "build.ids.1", and its last digits would be lost: send it as text',
    );
    expect(await of("-9007199254740993", "msg_big")).toMatchObject({ status: 422 });
    // Under the same id: it was not stored.
    const kept = '{"id":"1576796294934953986","at":9007199254740991,"size":1.5e+20,"text":"a \\" 1576796294934953986"}';
    expect(await of(kept, "msg_big")).toMatchObject({ status: 202 });
    await until(() => readFileSync(batches, "utf8").includes("9007199254740991"), "the event");
    expect(readFileSync(batches, "utf8")).not.toContain("1576796294934954000");
  });

  it("is taken once: a second delivery is acknowledged and starts nothing", async () => {
    const before = logged().length;
    expect(await send({ id: "msg_twice" })).toMatchObject({ status: 202 });
    expect(await send({ id: "msg_twice", at: new Date(Date.now() + 2000) })).toMatchObject({
      status: 200,
      body: { status: "duplicate" },
    });
    // Another body is another event, which would be lost.
    expect(await send({ id: "msg_twice", body: '{"branch":"other"}' })).toMatchObject({
      status: 422,
      body: { code: "EVENT_ID_REUSED" },
    });
    // The same id from another sender is another event.
    expect(await send({ id: "msg_twice", name: "build-finished" })).toMatchObject({ status: 202 });
    expect(await send({ id: "msg_after" })).toMatchObject({ status: 202 });
    await until(() => logged().length >= before + 2, "both events");
    expect(logged()).toHaveLength(before + 2);
  });

  it("may be signed with either secret while one is replaced", async () => {
    const before = logged().length;
    expect(await send({ id: "msg_old", secret: OLD })).toMatchObject({ status: 202 });
    await until(() => logged().length === before + 1, "the event");
    expect(await send({ id: "msg_other", secret: OLD, name: "build-finished" })).toMatchObject({ status: 401 });
  });

  it.each<[string, Sending, number, string]>([
    [
      "another secret",
      { secret: `whsec_${Buffer.from("somebody else's secret").toString("base64")}` },
      401,
      "SIGNATURE_WRONG",
    ],
    [
      "a signature of another body",
      { headers: { "webhook-signature": new Webhook(SECRET).sign("x", new Date(), "{}") } },
      401,
      "SIGNATURE_WRONG",
    ],
    ["no signature", { headers: { "webhook-signature": "" } }, 401, "SIGNATURE"],
    ["an id that is not the signed one", { headers: { "webhook-id": "msg_forged" } }, 401, "SIGNATURE_WRONG"],
    [
      "a time that is not the signed one",
      { headers: { "webhook-timestamp": String(Math.floor(Date.now() / 1000) + 60) } },
      401,
      "SIGNATURE_WRONG",
    ],
    ["a time long ago", { at: new Date(Date.now() - 600_000) }, 401, "SIGNATURE_STALE"],
    ["a time to come", { at: new Date(Date.now() + 600_000) }, 401, "SIGNATURE_STALE"],
    ["a body that is no JSON", { body: "branch=main" }, 400, "BODY_INVALID"],
    ["an empty body", { body: "" }, 400, "BODY_INVALID"],
    ["a body that does not match its schema", { body: '{"branch":7}' }, 422, "PAYLOAD_INVALID"],
    ["a body that is too large", { body: JSON.stringify({ branch: "x".repeat(5000) }) }, 413, "TOO_LARGE"],
  ])("is refused with %s", async (_, sending, status, code) => {
    const before = logged().length;
    const answer = await send({ id: `msg_${code}_${status}`, ...sending });
    expect(answer).toMatchObject({
      status,
      type: expect.stringContaining("application/problem+json"),
      body: { status, code: expect.stringContaining(code) },
    });
    expect(JSON.stringify(answer.body)).not.toContain("whsec_");
    expect(logged()).toHaveLength(before);
  });

  it("that nobody declared is refused, and no name near it is told to whom nothing is proven", async () => {
    expect(await send({ name: "deplpy" })).toMatchObject({
      status: 404,
      type: expect.stringContaining("application/problem+json"),
      body: { code: "EVENT_UNKNOWN", detail: 'there is no event "deplpy"' },
    });
    expect(await send({ name: "constructor" })).toMatchObject({ status: 404 });
  });

  it("with a wrong signature is in the log, once a minute", async () => {
    const gateway = await gatewayProcess({
      folder: join(folder, "unproven"),
      config: { events },
      env: { ...variables, LOG_LEVEL: "warn" },
    });
    try {
      await gateway.start();
      await gateway.ready();
      const headers = { "webhook-id": "m", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA" };
      for (let i = 0; i < 3; i++) {
        const { status } = await fetch(`${gateway.url}/ingest/deploy`, { method: "POST", headers, body: "{}" });
        expect(status).toBe(401);
      }
      await until(() => gateway.output().includes("an event was refused"), "the line in the log");
      const lines = gateway.output().split("\n");
      expect(lines.filter((line) => line.includes("an event was refused: its sender is not proven"))).toHaveLength(1);
    } finally {
      await gateway.kill();
    }
  });

  it("is on disk before it is acknowledged: killed at once, it still happens", {
    timeout: 120_000,
  }, async () => {
    const file = join(folder, "killed.log");
    const gateway = await gatewayProcess({
      folder: join(folder, "killed"),
      config: { events, plugins: [PLUGIN] },
      env: { ...variables, EVENT_LOG: file },
    });
    const acknowledged: string[] = [];
    try {
      for (let round = 0; round < 3; round++) {
        await gateway.start();
        await gateway.ready();
        // A burst, cut off as soon as the first is acknowledged.
        let killing: Promise<void> | undefined;
        const burst = Array.from({ length: 20 }, (_, n) => `r${round}n${n}`).map(async (id) => {
          const { status } = await send({ id, body: JSON.stringify({ branch: id }), url: gateway.url });
          if (status === 202) acknowledged.push(id);
          killing ??= gateway.kill();
        });
        await Promise.allSettled(burst);
        await killing;
      }
      await gateway.start();
      await gateway.ready();
      const branches = () => logged(file).map((one) => (one as { branch: string }).branch);
      await until(() => acknowledged.every((id) => branches().includes(id)), "every acknowledged event");
      expect(acknowledged.length).toBeGreaterThanOrEqual(3);
      // The sender that heard nothing sends again: what was stored is known.
      const [known] = acknowledged;
      expect(
        await send({ id: known as string, body: JSON.stringify({ branch: known }), url: gateway.url }),
      ).toMatchObject({ status: 200 });
    } finally {
      await gateway.kill();
    }
  });
});

/** With a Host header of its own, which `fetch` does not allow. */
function underHost(host: string, id: string): Promise<number | undefined> {
  const body = '{"branch":"elsewhere"}';
  const at = new Date();
  return new Promise((done, fail) => {
    const request = httpRequest(`${app.url}/ingest/deploy`, {
      method: "POST",
      headers: {
        host,
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
        "webhook-signature": new Webhook(SECRET).sign(id, at, body),
      },
    });
    request.on("response", (response) => {
      response.resume();
      done(response.statusCode);
    });
    request.on("error", fail);
    request.end(body);
  });
}
