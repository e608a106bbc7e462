/** The `http` step against a real server. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpStep } from "../../../src/automations/steps/http.js";
import { type Endpoint, openEndpoint } from "../endpoint.js";
import { type FixtureOptions, handlerContext } from "../handler-context.js";
import { failureOf, gatherSteps, oneStep, type WrittenStep } from "./gathering.js";

let endpoint: Endpoint;
beforeAll(async () => {
  endpoint = await openEndpoint();
});
afterAll(() => endpoint.close());

async function run(
  given: Record<string, unknown> = {},
  fixture: FixtureOptions = {},
  maxBytes = 10_000,
  timeoutMs = 10_000,
) {
  const { context } = handlerContext(fixture);
  const options = httpStep.options.parse({ url: `${endpoint.url}/status`, ...given });
  return httpStep.run(options, { ...context, timeoutMs, maxBytes, folders: {} });
}

describe("the http step", () => {
  it("gives status, headers, body and JSON of an answer", async () => {
    endpoint.script({
      status: 200,
      headers: { "content-type": "text/plain", "x-build": "7", "set-cookie": "session=1" },
      body: '{"open":3}',
    });
    expect(await run()).toEqual({
      value: {
        status: 200,
        ok: true,
        headers: expect.objectContaining({ "x-build": "7" }),
        body: '{"open":3}',
        json: { open: 3 },
        truncated: false,
      },
      text: '{"open":3}',
      isEmpty: false,
      isOk: true,
    });
    expect(endpoint.seen[0]).toMatchObject({ method: "GET", body: "" });
    endpoint.script({ status: 200, headers: { "set-cookie": "session=1" } });
    expect((await run()).value.headers).not.toHaveProperty("set-cookie", expect.anything());
  });

  it("asks only the part of the server that the definition names, whatever a value says", async () => {
    const url = `${endpoint.url}/items/{{ event.item }}?of={{ event.of }}`;
    const asked = async (item: string, of = "a") => {
      endpoint.script({ status: 200, body: "x" });
      await oneStep({ http: { url } }, { event: { item, of } });
      return endpoint.seen.at(-1)?.path;
    };
    expect(await asked("org/tool 1")).toBe("/items/org/tool%201?of=a");
    expect(await asked("1?admin=1#", "a&b=c d")).toBe("/items/1%3Fadmin=1%23?of=a%26b%3Dc%20d".replace("=1", "%3D1"));
    expect(await asked("%2e%2e/admin")).toBe("/items/%252e%252e/admin?of=a");
    expect(await failureOf({ http: { url } }, { event: { item: "../admin", of: "" } })).toContain("a value leads out");
    expect(await asked("1", "../../b")).toBe("/items/1?of=../../b");
    endpoint.script({ status: 200, body: "x" });
    const encoded = `${endpoint.url}/items/{{ event.item | url_encode }}`;
    await oneStep({ http: { url: encoded } }, { event: { item: "a b" } });
    expect(endpoint.seen.at(-1)?.path).toBe("/items/a%20b");
    // As the last filter, url_encode makes one part of the path of what has slashes.
    for (const item of ["a b/../../admin?x", "org/tool"]) {
      endpoint.script({ status: 200, body: "x" });
      await oneStep({ http: { url: `${encoded}/edit` } }, { event: { item } });
      expect(endpoint.seen.at(-1)?.path).toBe(`/items/${encodeURIComponent(item)}/edit`);
    }
    endpoint.script({ status: 200, body: "x" });
    await oneStep({ http: { url: "{{ event.url }}" } }, { event: { url: `${endpoint.url}/a?b=c&d` } });
    expect(endpoint.seen.at(-1)?.path).toBe("/a?b=c&d");
  });

  it.each(["POST", "PUT", "PATCH", "DELETE"])("sends %s with a JSON body and headers", async (method) => {
    endpoint.script({ status: 201 });
    await run({ method, body: { a: ["x", 1] }, headers: { "X-Source": "hooks" } });
    expect(endpoint.seen[0]).toMatchObject({
      method,
      body: '{"a":["x",1]}',
      headers: { "x-source": "hooks", "content-type": "application/json" },
    });
  });

  it("encodes every value of a form", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
    const text = "a&admin=1 +%2/ü";
    for (const value of ["{{ event.text }}", "{{ event.text | url_encode }}", "{% echo event.text %}"]) {
      endpoint.script({ status: 201 });
      await oneStep(
        { http: { url: endpoint.url, method: "POST", headers, body: `text=${value}&b=c` } },
        { event: { text } },
      );
      const { body = "" } = endpoint.seen.at(-1) ?? {};
      expect(Object.fromEntries(new URLSearchParams(body)), value).toEqual({ text, b: "c" });
    }
    endpoint.script({ status: 201 });
    const plain = { "Content-Type": "text/plain" };
    await oneStep(
      { http: { url: endpoint.url, method: "POST", headers: plain, body: "text={{ event.text }}" } },
      { event: { text } },
    );
    expect(endpoint.seen.at(-1)?.body).toBe(`text=${text}`);
  });

  it("is empty only when all is well and there is nothing", async () => {
    endpoint.script({ status: 204 });
    expect(await run()).toMatchObject({ isEmpty: true, isOk: true });
    endpoint.script({ status: 500 });
    expect(await run()).toMatchObject({ isEmpty: false, isOk: false, value: { status: 500, ok: false, json: null } });
  });

  it.each([
    [{ bearer_env: "T" }, "authorization", "Bearer topsecret"],
    [{ user: "ann", password_env: "T" }, "authorization", `Basic ${Buffer.from("ann:topsecret").toString("base64")}`],
    [{ header: "X-Api-Key", value_env: "T" }, "x-api-key", "topsecret"],
  ])("authorizes by %j, and does not show it when the server repeats it", async (auth, header, value) => {
    endpoint.script(({ headers }, response) => {
      response.setHeader("x-seen", headers[header] ?? "").end(JSON.stringify(headers));
    });
    const result = await run({ auth }, { secrets: { T: "topsecret" } });
    expect(endpoint.seen[0]?.headers[header]).toBe(value);
    const { headers, body, json } = result.value as Record<string, Record<string, string>>;
    const masked = value.replace(/\S+$/, "[secret]");
    expect([headers?.["x-seen"], json?.[header]]).toEqual([masked, masked]);
    expect([body, result.text]).toEqual([expect.stringContaining(`"${masked}"`), body]);
    for (const secret of ["topsecret", value]) expect(JSON.stringify(result)).not.toContain(secret);
    expect(httpStep.secrets?.(httpStep.options.parse({ url: "https://x.example", auth }))).toEqual(["T"]);
  });

  it("asks nobody when its secret is missing", async () => {
    endpoint.script({ status: 200 });
    await expect(run({ auth: { bearer_env: "T" } })).rejects.toMatchObject({ code: "SECRET_MISSING" });
    expect(endpoint.seen).toHaveLength(0);
  });

  it("reads no more than its cap, and takes what is cut off for no JSON", async () => {
    endpoint.script({ status: 200, body: `["${"x".repeat(50_000)}"]` });
    const { value } = await run({}, {}, 100);
    expect(value).toMatchObject({ body: expect.stringMatching(/^\["x{98}$/), json: null });
    endpoint.script({ status: 200, body: "12345" });
    expect((await run({}, {}, 4)).value).toMatchObject({ body: "1234", json: null, truncated: true });
  });

  it("is asked for nothing with a part of an answer that was no JSON", async () => {
    const written: WrittenStep[] = [
      { http: { url: `${endpoint.url}/latest` } },
      { http: { url: `${endpoint.url}/items/{{ steps[0].json.id }}`, method: "DELETE" } },
    ];
    for (const [body, why] of [
      ["<html>Please log in</html>", "is a page (HTML or XML)"],
      [`{"id":5,"more":"${"x".repeat(70_000)}"}`, "was cut at 64000 bytes, so raise `max_bytes` of the step"],
      ["", "is empty"],
    ]) {
      endpoint.script({ status: 200, body });
      const { next } = await gatherSteps(written);
      expect(next).toMatchObject({
        error: expect.stringContaining(`steps[1] http: url: steps[0] brought no JSON: the output ${why}`),
      });
      expect(endpoint.seen.map(({ method }) => method)).toEqual(["GET"]);
    }
    endpoint.script({ status: 200, body: '\uFEFF{"id":5}' });
    expect(await gatherSteps(written)).toMatchObject({ next: { kind: "run" } });
    expect(endpoint.seen.at(-1)).toMatchObject({ method: "DELETE", path: "/items/5" });
  });

  it("fails when nobody answers, in time or at all", async () => {
    endpoint.script("hang");
    await expect(run({}, {}, 100, 150)).rejects.toMatchObject({ code: "OUTGOING_TIMED_OUT" });
    endpoint.script("reset");
    await expect(run()).rejects.toMatchObject({ code: "OUTGOING_FAILED" });
    await expect(run({}, { allow: [] })).rejects.toMatchObject({ code: "OUTGOING_REFUSED" });
  });

  it("follows redirects, and takes its secrets to nobody else", async () => {
    const other = await openEndpoint();
    try {
      other.script({ status: 200, body: "there" });
      endpoint.script({ status: 302, headers: { location: `${other.url}/moved` } });
      const result = await run({ auth: { bearer_env: "T" } }, { secrets: { T: "topsecret" } });
      expect(result).toMatchObject({ text: "there" });
      expect(other.seen[0]?.headers.authorization).toBeUndefined();
    } finally {
      await other.close();
    }
  });

  it.each([301, 302])("writes nothing by way of a %i, and fails with the address to use", async (status) => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      endpoint.script({ status, headers: { location: "/next?token=very-secret" } }, { status: 200 });
      const write = { method, body: { title: "x" } };
      const host = endpoint.url.replace("http://", "");
      expect(await failureOf({ http: { ...write, url: `${endpoint.url}/old` } })).toBe(
        `${host} answered ${status}, a redirect to ${endpoint.url}/next; a redirect of this kind repeats no ${method}: write the new address in \`url\``,
      );
      expect(endpoint.seen.map(({ path }) => path)).toEqual(["/old"]);
      endpoint.script({ status, headers: { location: "/next/very-secret" } }, { status: 200 });
      const hidden = failureOf({ http: { ...write, url_env: "U" } }, { secrets: { U: `${endpoint.url}/old` } });
      expect(await hidden).toMatch(/a redirect to another place; .* write the new address in U$/);
      endpoint.script({ status, headers: { location: "/next" } });
      expect(await run({ ...write, redirects: 0 })).toMatchObject({ isOk: false, value: { status } });
    }
  });

  it.each([307, 308])("repeats a request that writes on %i", async (status) => {
    endpoint.script({ status, headers: { location: "/next" } }, { status: 200 });
    expect(await run({ method: "PUT", body: "x" })).toMatchObject({ isOk: true });
    expect(endpoint.seen.map(({ method, path, body }) => [method, path, body])).toEqual([
      ["PUT", "/status", "x"],
      ["PUT", "/next", "x"],
    ]);
  });
});
