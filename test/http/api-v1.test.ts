/** /api/v1 of the running product: the commands' work, roles and audit under addresses for programs. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endpoints } from "../../src/http/api/index.js";
import { until } from "../support/until.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

let app: RunningApp;
beforeAll(async () => {
  app = await runApp();
});
afterAll(() => app.close());

const HOOK = "page.inbound_claim";
const get = (path: string, token: string | undefined = OWNER) => app.call(token, "GET", `/api/v1${path}`);
const post = (path: string, body?: unknown, token: string | undefined = OWNER) =>
  app.call(token, "POST", `/api/v1${path}`, body);

describe("/api/v1/hooks", () => {
  it("lists the hooks, filtered and in pages", async () => {
    const all = (await get("/hooks")).body;
    expect(all.hooks.map(({ id }: { id: string }) => id)).toContain(HOOK);
    expect(all).toMatchObject({ page: 1, pages: 1, total: all.hooks.length });
    expect((await get("/hooks?filter=never")).body.hooks).toEqual(
      all.hooks.filter((one: { neverFired: boolean }) => one.neverFired),
    );
    expect((await get("/hooks?limit=0")).body.code).toBe("BODY_INVALID");
    expect((await get("/hooks?filter=nothing-like-it")).body).toMatchObject({ hooks: [], total: 0 });
  });

  it("shows one, and says what is not there and what comes near", async () => {
    expect((await get(`/hooks/${HOOK}`)).body).toMatchObject({ id: HOOK, enabled: true, problems: [] });
    const { status, headers, body } = await get(`/hooks/${HOOK}x`);
    expect([status, headers.get("content-type")]).toEqual([404, expect.stringMatching(/^application\/problem\+json/)]);
    expect(body).toMatchObject({
      type: "urn:hookgate:error:NOT_FOUND",
      title: "Not Found",
      status: 404,
      code: "NOT_FOUND",
    });
    expect(body.detail).toContain(`Did you mean "${HOOK}"?`);
  });

  it("switches one off and on, durably", async () => {
    expect((await post(`/hooks/${HOOK}/disable`)).body).toEqual({ id: HOOK, enabled: false, changed: true });
    expect((await post(`/hooks/${HOOK}/disable`, {})).body).toEqual({ id: HOOK, enabled: false, changed: false });
    // Many clients say JSON and send nothing.
    const headers = { authorization: `Bearer ${OWNER}`, "content-type": "application/json" };
    const empty = await fetch(`${app.url}/api/v1/hooks/${HOOK}/disable`, { method: "POST", headers });
    expect([empty.status, await empty.json()]).toEqual([200, { id: HOOK, enabled: false, changed: false }]);
    await app.stop();
    await app.start();
    expect((await get(`/hooks/${HOOK}`)).body).toMatchObject({ enabled: false, switched: { by: "web:1 (Owner)" } });
    expect((await post(`/hooks/${HOOK}/enable`)).body).toEqual({ id: HOOK, enabled: true, changed: true });
  });

  it("fires one, for real or dry, and tells what came of it, with what people wrote masked", async () => {
    const dry = (await post(`/hooks/${HOOK}/fire`)).body;
    expect(dry).toMatchObject({ dryRun: true, runs: [{ hookId: HOOK, outcome: "passed" }] });
    const real = (await post(`/hooks/${HOOK}/fire`, { live: true })).body;
    expect(real).toMatchObject({ dryRun: false, redacted: false, payload: { message: { text: "hello" } } });
    expect((await post(`/hooks/${HOOK}/fire`, { payload: "last", live: true })).body.code).toBe("NOT_FOUND");
    expect((await get(`/runs/${real.id}`)).body.payload.message.text).toBe("[text]");
  });

  it("refuses what is no payload and what it does not know", async () => {
    const { status, body } = await post(`/hooks/${HOOK}/fire`, { payload: { text: "no such field" } });
    expect([status, body.code]).toEqual([400, "BAD_USAGE"]);
    const endless = await app.call(OWNER, "POST", "/api/command", { line: `/task add me x due=${"9".repeat(3000)}h` });
    expect(endless.body.text).toMatch(/"9{80}" is too long\.\s+Write 30m, 2h/);
    const unknown = await post(`/hooks/${HOOK}/fire`, { payloads: {} });
    expect([unknown.status, unknown.body.code]).toEqual([400, "BODY_INVALID"]);
  });
});

describe("/api/v1/runs", () => {
  it("lists, shows and replays what fired", async () => {
    const { id } = (await post(`/hooks/${HOOK}/fire`, { live: true })).body;
    await post(`/hooks/${HOOK}/fire`, { live: true });
    const second = (await get(`/runs?filter=${HOOK}&limit=1&page=2`)).body;
    expect([second.page, second.dispatches.length, second.dispatches[0].id]).toEqual([2, 1, id]);
    const listed = (await get(`/runs?filter=${HOOK}&limit=5`)).body;
    expect(listed.dispatches[1]).toMatchObject({ id, redacted: true });
    const last = await get("/runs?filter=last");
    expect([last.status, last.body.dispatches.length]).toEqual([200, 1]);
    const shown = (await get(`/runs/${id}`)).body;
    const { payload: _, result: __, ...brief } = shown;
    expect(listed.dispatches[1]).toEqual(brief);
    expect((await get(`/runs/${id}?reveal=true`)).body).toMatchObject({ id, redacted: false });
    expect((await post(`/runs/${id}/replay`)).body).toMatchObject({ replayOf: id, dryRun: true });
    expect((await get("/runs/f_nothing")).status).toBe(404);
    await app.call(OWNER, "POST", "/api/rooms/general/messages", { text: "hello", nonce: "nonce-of-a-message-1" });
    for (const message of ["m1", "1", "d_m1r"])
      expect((await get(`/runs/${message}`)).body).toMatchObject({
        code: "BODY_INVALID",
        detail: `the address is not as expected: id: it is the id of a message or a delivery: take the id of a run from GET /api/v1/runs`,
      });
    expect((await post("/runs/m1/replay")).body.code).toBe("BODY_INVALID");
  });
});

describe("who may", () => {
  it("is nobody without a token", async () => {
    for (const token of [undefined, "wrong"]) {
      const { status, headers, body } = await app.call(token, "GET", "/api/v1/hooks");
      expect([status, headers.get("www-authenticate"), body.status]).toEqual([401, "Bearer", 401]);
    }
  });

  it("is, at every endpoint, nobody whose person has no role", async () => {
    // What a body cannot be without.
    const needed: Record<string, unknown> = {
      snooze: { for: "1h" },
      extend: { by: "1h" },
      mute: { for: "1h" },
      missions: { plan: "any" },
      release: { reason: "any" },
      schedules: { plan: "any", cron: "@daily" },
      tasks: { title: "any", assignTo: "me" },
      assign: { assignTo: "me" },
      deadline: { deadline: "2h" },
      ask: { text: "any" },
      note: { text: "any" },
    };
    for (const { method, path } of endpoints) {
      const { status, body } = await app.call(
        BOB,
        method,
        path.replace(/:\w+/g, HOOK),
        method === "POST" ? (needed[path.split("/").at(-1) ?? ""] ?? {}) : undefined,
      );
      expect([path, status, body.code]).toEqual([path, 403, "FORBIDDEN"]);
    }
  });

  it("is decided by the person's role: a viewer looks and tries, and neither fires nor switches nor reveals", async () => {
    const other = await runApp({ operators: { viewer: ["web:2"] } });
    try {
      const as = (method: string, path: string, body?: unknown) => other.call(BOB, method, `/api/v1${path}`, body);
      expect((await as("GET", "/hooks")).status).toBe(200);
      const dry = await as("POST", `/hooks/${HOOK}/fire`, { live: false });
      expect(dry.status).toBe(200);
      expect((await as("POST", `/hooks/${HOOK}/fire`, { live: true })).status).toBe(403);
      expect((await as("POST", `/hooks/${HOOK}/disable`)).status).toBe(403);
      await until(
        async () => (await as("GET", `/runs/${dry.body.id}`)).status === 200,
        "the run in the journal of a gateway that has just started",
      );
      expect((await as("GET", `/runs/${dry.body.id}?reveal=true`)).status).toBe(403);
      expect((await as("POST", `/runs/${dry.body.id}/replay`, { live: true })).status).toBe(403);
    } finally {
      await other.close();
    }
  });
});

describe("/api/v1/openapi.json", () => {
  it("describes every endpoint, for anyone, with what each takes and answers", async () => {
    const { status, body, headers } = await app.call(undefined, "GET", "/api/v1/openapi.json");
    expect(status).toBe(200);
    const known = { "if-none-match": String(headers.get("etag")) };
    expect(await app.call(undefined, "GET", "/api/v1/openapi.json", undefined, known)).toMatchObject({
      status: 304,
      body: "",
    });
    expect(body.openapi).toBe("3.1.0");
    const described = Object.entries<Record<string, { operationId: string }>>(body.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    expect(described.sort()).toEqual(
      endpoints
        .map(({ method, path, id }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, "{$1}")} ${id}`)
        .sort(),
    );
    const fire = body.paths["/api/v1/hooks/{id}/fire"].post;
    expect(fire.parameters).toMatchObject([{ name: "id", in: "path", required: true, schema: { type: "string" } }]);
    expect(Object.keys(fire.requestBody.content["application/json"].schema.properties)).toEqual([
      "payload",
      "live",
      "phase",
    ]);
    const { anyOf } = fire.responses["200"].content["application/json"].schema;
    expect(anyOf.map(({ required }: { required: string[] }) => required.includes("outcome"))).toEqual([false, true]);
    expect(fire.responses.default.content["application/problem+json"].schema.$ref).toBe("#/components/schemas/Problem");
  });
});
