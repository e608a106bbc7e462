/** The `http` handler against a real server that behaves well, badly and not at all. */
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpHandler } from "../../../src/automations/handlers/http/http.js";
import { httpOptions } from "../../../src/automations/handlers/http/options.js";
import { until } from "../../support/until.js";
import { type Endpoint, openEndpoint } from "../endpoint.js";
import { type FixtureOptions, handlerContext, hurriedClock } from "../handler-context.js";

let endpoint: Endpoint;
beforeAll(async () => {
  endpoint = await openEndpoint();
});
afterAll(() => endpoint.close());

const SECRET = `whsec_${Buffer.from("the first secret of this test").toString("base64")}`;
const NEXT = `whsec_${Buffer.from("the secret that comes next").toString("base64")}`;

async function run(given: Record<string, unknown> = {}, fixture: FixtureOptions = {}) {
  const options = httpOptions.parse({ url: `${endpoint.url}/hook`, backoff: "10ms", ...given });
  const { context } = handlerContext(fixture);
  return httpHandler.run(options, context);
}

describe("the http handler", () => {
  it("waits as long as a timer can when its timeout is longer", async () => {
    endpoint.script({ status: 204 });
    expect(await run({ timeout: "30d", attempts: 1 })).toMatchObject({ kind: "decided" });
  });

  it("posts type, timestamp and payload as JSON, with an id and a timestamp", async () => {
    endpoint.script({ status: 204 });
    const result = await run();
    expect(result).toMatchObject({ kind: "decided", decision: { kind: "pass" }, output: { status: 204 } });
    const [request] = endpoint.seen;
    expect(request).toMatchObject({ method: "POST", path: "/hook" });
    expect(request?.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(request?.body ?? "")).toEqual({
      type: "task:fail",
      timestamp: "2026-11-21T09:00:00.000Z",
      data: { taskId: "t1", reason: "timeout" },
      hook_id: "night-watch",
      run_id: "r_0000000010000000001",
    });
    expect(request?.headers["webhook-id"]).toBe("r_0000000010000000001");
    expect(request?.headers["webhook-signature"]).toBeUndefined();
  });

  it("signs so that the Standard Webhooks library verifies it", async () => {
    endpoint.script({ status: 200 });
    await run({ secret_env: "S" }, { secrets: { S: SECRET } });
    const { body, headers } = endpoint.seen[0] as (typeof endpoint.seen)[0];
    expect(() => new Webhook(SECRET).verify(body, headers as Record<string, string>)).not.toThrow();
    expect(() => new Webhook(SECRET).verify(`${body} `, headers as Record<string, string>)).toThrow();
    expect(() => new Webhook(NEXT).verify(body, headers as Record<string, string>)).toThrow();
  });

  it("signs with both secrets while one is replaced", async () => {
    endpoint.script({ status: 200 });
    await run({ secret_env: ["NEW", "OLD"] }, { secrets: { NEW: NEXT, OLD: SECRET } });
    const { body, headers } = endpoint.seen[0] as (typeof endpoint.seen)[0];
    expect(headers["webhook-signature"]?.split(" ")).toHaveLength(2);
    for (const secret of [NEXT, SECRET])
      expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
  });

  it("signs the body in the older way too when asked", async () => {
    endpoint.script({ status: 200 });
    await run({ secret_env: "S", signature: "crewship", body: "plain words" }, { secrets: { S: "a plain secret" } });
    const { body, headers } = endpoint.seen[0] as (typeof endpoint.seen)[0];
    expect(body).toBe("plain words");
    expect(headers["x-crewship-signature"]).toBe(
      `sha256=${createHmac("sha256", "a plain secret").update("plain words").digest("hex")}`,
    );
  });

  it("sends nothing when its secret is missing, and names the variable", async () => {
    endpoint.script({ status: 200 });
    const result = await run({ secret_env: ["S", "T"] }, { secrets: { S: SECRET } });
    expect(result).toMatchObject({ kind: "failed", isRetryable: false });
    expect(result).toHaveProperty("error", expect.stringContaining("T"));
    expect(endpoint.seen).toHaveLength(0);
    expect(httpHandler.secrets?.(httpOptions.parse({ url: "https://x.example", secret_env: ["S", "T"] }))).toEqual([
      "S",
      "T",
    ]);
  });

  it("keeps id and body over attempts, until the other side has recovered", async () => {
    endpoint.script({ status: 500 }, "reset", { status: 429 }, { status: 200 });
    const result = await run({ secret_env: "S" }, { secrets: { S: SECRET } });
    expect(result).toMatchObject({ kind: "decided", output: { status: 200 } });
    expect(endpoint.seen).toHaveLength(4);
    expect(new Set(endpoint.seen.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(endpoint.seen.map(({ body }) => body)).size).toBe(1);
    const { attempts } = (result as { output: { attempts: unknown[] } }).output;
    expect(attempts).toMatchObject([
      { status: 500 },
      { error: expect.stringContaining("failed") },
      { status: 429 },
      { status: 200 },
    ]);
  });

  it("gives up after its attempts, and tells the run that it may be repeated", async () => {
    endpoint.script({ status: 503, body: "overloaded" });
    const result = await run({ attempts: 3 });
    expect(result).toMatchObject({ kind: "failed", isRetryable: true, output: { status: 503, body: "overloaded" } });
    expect(endpoint.seen).toHaveLength(3);
  });

  it("waits twice as long after each failure, within its limit", async () => {
    endpoint.script({ status: 500 });
    const clock = hurriedClock();
    await run({ attempts: 5, backoff: "1s", max_backoff: "3s" }, { clock });
    const [first, second, third, fourth] = clock.waits as [number, number, number, number];
    expect(clock.waits).toHaveLength(4);
    for (const [pause, ceiling] of [
      [first, 1000],
      [second, 2000],
      [third, 3000],
      [fourth, 3000],
    ] as const) {
      expect(pause).toBeGreaterThanOrEqual(ceiling / 2);
      expect(pause).toBeLessThanOrEqual(ceiling);
    }
  });

  it.each([
    ["seconds", () => "7", 6_999, 7_001],
    ["a date", () => new Date(Date.now() + 20_000).toUTCString(), 1, 20_001],
  ])("honours Retry-After in %s", async (_, header, least, most) => {
    endpoint.script({ status: 429, headers: { "retry-after": header() } }, { status: 200 });
    const clock = hurriedClock();
    expect(await run({}, { clock })).toMatchObject({ kind: "decided" });
    expect(clock.waits[0]).toBeGreaterThanOrEqual(least);
    expect(clock.waits[0]).toBeLessThanOrEqual(most);
  });

  it("leaves a Retry-After that is too long to the run's own retry", async () => {
    endpoint.script({ status: 429, headers: { "retry-after": "3600" } });
    expect(await run({ max_backoff: "1m" })).toMatchObject({
      kind: "failed",
      isRetryable: true,
      retryAfterMs: 3_600_000,
    });
    expect(endpoint.seen).toHaveLength(1);
  });

  it.each([400, 401, 403, 404, 409, 422])("takes %i as final", async (status) => {
    endpoint.script({ status });
    expect(await run()).toMatchObject({ kind: "failed", isRetryable: false });
    expect(endpoint.seen).toHaveLength(1);
  });

  it.each([408, 425, 429, 500, 502, 503, 504])("repeats after %i", async (status) => {
    endpoint.script({ status }, { status: 200 });
    expect(await run()).toMatchObject({ kind: "decided", decision: { kind: "pass" } });
    expect(endpoint.seen).toHaveLength(2);
  });

  it("switches the hook off when the other side says that it is gone for good", async () => {
    endpoint.script({ status: 410 });
    expect(await run()).toMatchObject({ kind: "failed", isRetryable: false, disable: expect.stringContaining("410") });
    expect(endpoint.seen).toHaveLength(1);
  });

  it("does not follow redirects, and tells where it did not go without what may be secret", async () => {
    endpoint.script({ status: 302, headers: { location: `${endpoint.url}/elsewhere?token=very-secret` } });
    const result = await run();
    expect(result).toMatchObject({ kind: "failed", isRetryable: false, error: expect.stringContaining("/elsewhere") });
    expect(JSON.stringify(result)).not.toContain("very-secret");
    expect(endpoint.seen).toHaveLength(1);
  });

  it("follows redirects where it may, and only to places that it may reach", async () => {
    endpoint.script({ status: 307, headers: { location: "/next" } }, { status: 200 });
    expect(await run({ redirects: 1 })).toMatchObject({ kind: "decided" });
    expect(endpoint.seen.map(({ path, method }) => `${method} ${path}`)).toEqual(["POST /hook", "POST /next"]);
    endpoint.script({ status: 307, headers: { location: "http://169.254.169.254/latest/meta-data" } });
    expect(await run({ redirects: 1 })).toMatchObject({
      kind: "failed",
      isRetryable: false,
      error: expect.stringContaining("169.254.169.254"),
    });
  });

  it("takes neither logins nor its signature to another origin, and signs a redirect within one", async () => {
    const other = await openEndpoint();
    other.script({ status: 200 });
    endpoint.script({ status: 308, headers: { location: `${other.url}/moved` } });
    const secrets = { S: SECRET, T: "a login" };
    const headers = { "x-own": "for the first" };
    await run({ redirects: 1, secret_env: "S", auth: { bearer_env: "T" }, headers }, { secrets });
    await other.close();
    const { headers: got } = other.seen[0] as (typeof other.seen)[0];
    expect(got["webhook-signature"]).toBeUndefined();
    expect(got.authorization).toBeUndefined();
    expect(got["x-own"]).toBeUndefined();
    expect(endpoint.seen[0]?.headers).toMatchObject({ authorization: "Bearer a login", "x-own": "for the first" });
    endpoint.script({ status: 308, headers: { location: "/moved" } }, { status: 200 });
    await run({ redirects: 1, secret_env: "S" }, { secrets });
    const { body, headers: within } = endpoint.seen[1] as (typeof endpoint.seen)[0];
    expect(() => new Webhook(SECRET).verify(body, within as Record<string, string>)).not.toThrow();
  });

  it.each([301, 302])("does not take a %i, which would drop the body, for a delivery", async (status) => {
    endpoint.script({ status, headers: { location: "/next" } }, { status: 200 });
    const error = expect.stringMatching(
      /\/next; a redirect of this kind repeats no POST: write the new address in `url`$/,
    );
    expect(await run({ redirects: 5 })).toMatchObject({ kind: "failed", isRetryable: false, error });
    expect(endpoint.seen).toHaveLength(1);
    endpoint.script({ status, headers: { location: "/next" } }, { status: 200 });
    expect(await run({ redirects: 5, method: "GET" })).toMatchObject({ kind: "decided" });
  });

  it("gives up on redirects without end", async () => {
    endpoint.script({ status: 307, headers: { location: "/again" } });
    expect(await run({ redirects: 3 })).toMatchObject({ kind: "failed", isRetryable: false });
    expect(endpoint.seen).toHaveLength(4);
  });

  it.each([
    "http://127.0.0.1:1/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::1]/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/",
    "http://10.0.0.1/",
    "http://localhost/",
  ])("refuses %s, at once and for good", async (url) => {
    const result = await run({ url }, { allow: [] });
    expect(result).toMatchObject({
      kind: "failed",
      isRetryable: false,
      error: expect.stringContaining("not a public address"),
    });
    expect((result as { output: { attempts: unknown[] } }).output.attempts).toHaveLength(1);
  });

  it("ends an attempt at its timeout and tries again", async () => {
    endpoint.script("hang", { status: 200 });
    expect(await run({ timeout: "200ms" })).toMatchObject({ kind: "decided" });
    endpoint.script("half");
    expect(await run({ timeout: "200ms", attempts: 1 })).toMatchObject({
      kind: "failed",
      timedOut: true,
      isRetryable: true,
    });
  });

  it("stops at once when the run is ended, in a request and in a pause", async () => {
    endpoint.script("hang");
    const options = httpOptions.parse({ url: endpoint.url });
    const first = handlerContext();
    const running = httpHandler.run(options, first.context);
    await until(() => endpoint.seen.length === 1, "the request");
    first.abort();
    expect(await running).toMatchObject({ kind: "failed", timedOut: true });

    endpoint.script({ status: 503, headers: { "retry-after": "50" } });
    let isPausing = false;
    const after = () => {
      isPausing = true;
      return { cancel: () => {} };
    };
    const clock = { ...hurriedClock(), after };
    const second = handlerContext({ clock });
    const waiting = httpHandler.run(options, second.context);
    await until(() => isPausing, "the pause");
    second.abort();
    expect(await waiting).toMatchObject({ kind: "failed", timedOut: true, error: expect.stringContaining("503") });
  });

  it.each([
    [
      { decision: "block", reason: "not on Fridays" },
      { kind: "block", reason: "not on Fridays" },
    ],
    [
      { decision: "modify", patch: { text: "x" } },
      { kind: "modify", patch: { text: "x" } },
    ],
    [
      { decision: "claim", reply: "mine" },
      { kind: "claim", reply: "mine" },
    ],
    [{ decision: "pass" }, { kind: "pass" }],
    [{ ok: true }, { kind: "pass" }],
  ])("takes the decision %j", async (answer, decision) => {
    endpoint.script({ status: 200, body: JSON.stringify(answer) });
    expect(await run()).toMatchObject({ kind: "decided", decision });
  });

  it("takes a decision that it cannot understand for a failure, never for a pass", async () => {
    endpoint.script({ status: 200, body: '{"decision":"blok","reason":"x"}' });
    expect(await run()).toMatchObject({ kind: "failed", error: expect.stringContaining("decision") });
    endpoint.script({ status: 200, body: '{"decision":"block","reason":' });
    expect(await run()).toMatchObject({ kind: "failed" });
    endpoint.script({ status: 200, body: `{"pad":"${"x".repeat(5000)}","decision":"block","reason":"x"}` });
    expect(await run({ max_bytes: 1000 })).toMatchObject({
      kind: "failed",
      error: expect.stringContaining("max_bytes"),
    });
  });

  it("takes any other answer for a pass, whatever it calls itself, and keeps no more than its limit", async () => {
    endpoint.script({ status: 200, headers: { "content-type": "application/json" }, body: "OK" });
    expect(await run()).toMatchObject({ kind: "decided", decision: { kind: "pass" } });
    endpoint.script({ status: 200, headers: { "content-type": "image/png" }, body: Buffer.alloc(300_000, 0xff) });
    const result = await run({ max_bytes: 1000 });
    expect(result).toMatchObject({ kind: "decided", decision: { kind: "pass" } });
    expect(JSON.stringify(result).length).toBeLessThan(10_000);
  });

  it("blocks by status only where the definition says so", async () => {
    endpoint.script({ status: 403 });
    expect(await run({ decision: "status" })).toMatchObject({
      kind: "decided",
      decision: { kind: "block", reason: expect.stringContaining("403") },
    });
    endpoint.script("reset");
    expect(await run({ decision: "status", attempts: 2 })).toMatchObject({ kind: "failed", isRetryable: true });
  });

  it("shows secrets neither in what it did nor in what came of it", async () => {
    endpoint.script(({ headers }, response) => {
      response.writeHead(401).end(JSON.stringify(headers));
    });
    const secrets = { S: SECRET, T: "token-that-nobody-may-see" };
    const result = await run(
      { url: `${endpoint.url}/a?key=in-the-query`, secret_env: "S", auth: { bearer_env: "T" } },
      { secrets },
    );
    expect(endpoint.seen[0]?.headers.authorization).toBe("Bearer token-that-nobody-may-see");
    expect(JSON.stringify(result)).not.toMatch(/token-that-nobody|whsec_|in-the-query/);
  });

  it("goes to an address that is a secret, and shows no more of it than its host", async () => {
    endpoint.script({ status: 404 });
    const secrets = { CHAT_WEBHOOK: `${endpoint.url}/services/T0/very-secret` };
    const result = await run({ url: undefined, url_env: "CHAT_WEBHOOK" }, { secrets });
    expect(endpoint.seen[0]?.path).toBe("/services/T0/very-secret");
    expect(result).toMatchObject({ kind: "failed", rendered: expect.stringContaining(`POST ${endpoint.url}/…`) });
    expect(JSON.stringify(result)).not.toContain("very-secret");
  });

  it("refuses a header that a template broke into two", async () => {
    endpoint.script({ status: 200 });
    const written = httpOptions.parse({ url: `${endpoint.url}/hook`, headers: { "x-source": "{{ event.source }}" } });
    const rendered = { ...written, headers: { "x-source": "a\r\nx-admin: yes" } };
    const result = await httpHandler.run(rendered, handlerContext().context);
    expect(result).toMatchObject({ kind: "failed", isRetryable: false, error: expect.stringContaining("x-source") });
    expect(endpoint.seen).toHaveLength(0);
  });

  it("sends nothing in a dry run and shows what it would send", async () => {
    endpoint.script({ status: 200 });
    expect(await run({}, { dryRun: true })).toMatchObject({
      kind: "decided",
      rendered: expect.stringContaining("task:fail"),
    });
    expect(endpoint.seen).toHaveLength(0);
  });
});

describe("options of the http handler", () => {
  it.each([
    [{ url: "ftp://x" }, "https:"],
    [{ url: "https://x.example", url_env: "X" }, "either url or url_env"],
    [{}, "either url or url_env"],
    [{ url: "https://x.example", signature: "crewship" }, "secret"],
    [{ url: "https://x.example", headers: { "webhook-id": "1" } }, "Hookgate sets the header webhook-id itself"],
    [{ url: "https://x.example", secret_env: "not a name" }, "environment variable"],
    [{ url: "https://x.example", retries: 3 }, "retries"],
    [{ url: "https://x.example", body: "a={{ event.x }}&b={{ event.y }}" }, "this looks like a form"],
    [{ url: "https://x.example", body: "text={% if event.x %}{{ event.x }}{% endif %}\n" }, "this looks like a form"],
    [
      { url: "https://x.example", headers: { "content-type": "application/x-www-form-urlencoded" }, body: { a: "b" } },
      "a map is sent as JSON",
    ],
  ])("refuses %j", (given, words) => {
    expect(httpOptions.safeParse(given).error?.message).toContain(words);
  });

  it.each(["a=b&c=d", "x = {{ event.x }}", "{{ event.x }}", "load,host=a value={{ event.x }}"])(
    "takes %j for a text, and no form",
    (body) => {
      expect(httpOptions.safeParse({ url: "https://x.example", body }).success).toBe(true);
    },
  );
});
