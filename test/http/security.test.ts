/** What strangers and people without a role try on the running product over HTTP: tokens, sessions, floods, slow and deep bodies. */

import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { errorAnswer } from "../../src/http/errors.js";
import { createUploads } from "../../src/http/uploads.js";
import { signCall } from "../../src/lib/signing/signed-call.js";
import { definedOf } from "../../src/lib/without-undefined.js";
import { storeError } from "../../src/store/errors.js";
import { type LogLine, logTo } from "../hooks/points.js";
import { taskedApp, WORKER_TOKEN } from "../orchestrator/support/tasked-app.js";
import { LeapClock } from "../support/leap-clock.js";
import { until } from "../support/until.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

const CAROL = "the-token-of-carol-0000000001";

let app: RunningApp;
beforeAll(async () => {
  app = await runApp({
    http: { messages_per_minute: 5, uploads_per_minute: 3, uploads_quota_mb: 1, max_upload_mb: 1 },
  });
});
afterAll(() => app.close());

let nonces = 0;
const say = (token: string) =>
  app.call(token, "POST", "/api/rooms/general/messages", { text: "hello", nonce: `nonce-${++nonces}-long` });

async function post(path: string, body: string | ReadableStream, token?: string, url = app.url) {
  const headers = definedOf({ "content-type": "application/json", authorization: token && `Bearer ${token}` });
  const response = await fetch(`${url}${path}`, { method: "POST", headers, body, duplex: "half" } as RequestInit);
  return { status: response.status, text: await response.text() };
}

async function login(headers: Record<string, string> = {}) {
  const answer = await app.call(undefined, "POST", "/api/login", { token: BOB }, headers);
  const cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? "";
  const page = String(answer.body?.pageKey ?? "");
  return { status: answer.status, cookie, headers: { cookie, origin: app.url, "x-hookgate-page": page } };
}
const me = async (headers: Record<string, string>) =>
  (await app.call(undefined, "GET", "/api/me", undefined, headers)).status;

describe("a logout", () => {
  it("revokes its own session and no other", async () => {
    const [one, other] = [await login(), await login()];
    expect(await me(one.headers)).toBe(200);
    expect((await app.call(undefined, "POST", "/api/logout", {}, one.headers)).status).toBe(200);
    expect([await me(one.headers), await me(other.headers)]).toEqual([401, 200]);
  });

  it("revokes all sessions of the person with everywhere, live pages and those of an earlier start too", async () => {
    const [one, other] = [await login(), await login()];
    const page = await fetch(`${app.url}/api/events`, { headers: other.headers });
    const closed = page.text();
    for (const key of ["", "wrong", other.headers["x-hookgate-page"]]) {
      const headers = { cookie: one.headers.cookie, origin: app.url, "x-hookgate-page": key };
      const refused = await app.call(undefined, "POST", "/api/logout", { everywhere: true }, headers);
      expect([refused.status, refused.body.error.message]).toEqual([401, "this login lacks the key of its page"]);
    }
    expect([await me(one.headers), await me(other.headers)]).toEqual([200, 200]);
    await app.call(undefined, "POST", "/api/logout", { everywhere: true }, one.headers);
    expect([await me(one.headers), await me(other.headers)]).toEqual([401, 401]);
    expect(await closed).toContain("event: hello");
    await app.stop();
    await app.start();
    expect(await me(other.headers)).toBe(401);
    expect(await me((await login()).headers)).toBe(200);
  });
});

describe("a login", () => {
  it("is refused to a page of another site", async () => {
    expect((await login({ origin: "https://evil.example" })).status).toBe(403);
    expect((await login({ origin: app.url })).status).toBe(200);
  });
});

describe("wrong tokens", () => {
  it("are refused faster and faster, counted and audited, by Bearer and by login alike", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) statuses.push((await app.call(`wrong-token-number-${i}`, "GET", "/api/me")).status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    expect(statuses.at(-1)).toBe(429);
    for (let i = 0; i < 12; i++)
      expect((await app.call(undefined, "POST", "/api/login", { token: "wrong" })).status).toBe(429);
    // A stale script on this machine does not lock the owner out.
    expect((await app.call(OWNER, "GET", "/api/me")).status).toBe(200);
    expect((await app.call(undefined, "POST", "/api/login", { token: OWNER })).status).toBe(200);
    const metrics = (await app.call(OWNER, "GET", "/metrics")).body;
    expect(metrics).toContain('hookgate_failed_tokens_total{way="bearer",answer="refused"} 20');
    expect(metrics).toContain('hookgate_failed_tokens_total{way="login",answer="limited"} 12');
    const { data } = (await app.call(OWNER, "POST", "/api/command", { line: "/audit refused" })).body;
    const first = { action: "login", outcome: "refused", details: { address: "127.0.0.1", way: "bearer", count: 1 } };
    expect(data.entries).toMatchObject([{ ...first, details: { ...first.details, count: 21 } }, first]);
  });
});

describe("a gateway that other machines reach", () => {
  const PUBLIC = "chat.example.org";
  const ask = (url: string, path: string, headers: Record<string, string>, body?: unknown) =>
    new Promise<{ status: number; cookie: string }>((done, failed) => {
      const { port } = new URL(url);
      const method = body === undefined ? "GET" : "POST";
      const sent = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
        response.resume();
        done({ status: response.statusCode ?? 0, cookie: String(response.headers["set-cookie"] ?? "") });
      });
      sent.once("error", failed);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const json = { "content-type": "application/json" };

  it("answers under listed names only, asks for a token at /metrics, and believes forwarded headers of a proxy only", async () => {
    const bare = await runApp({}, { HOOKGATE_HOST: "0.0.0.0" });
    onTestFinished(() => bare.close());
    expect((await ask(bare.url, "/", { host: PUBLIC })).status).toBe(403);
    expect((await ask(bare.url, "/", { host: "192.0.2.7" })).status).toBe(403);
    expect((await ask(bare.url, "/metrics", { host: "localhost" })).status).toBe(401);
    const login = await ask(
      bare.url,
      "/api/login",
      { ...json, host: "localhost", "x-forwarded-proto": "https" },
      { token: BOB },
    );
    expect(login.cookie).toContain("HttpOnly");
    expect(login.cookie).not.toContain("Secure");
  });

  it("asks for a token at /metrics behind a proxy on the same machine", async () => {
    const behind = await runApp({ http: { public_url: `https://${PUBLIC}`, behind_proxy: true } });
    onTestFinished(() => behind.close());
    const proxied = { host: PUBLIC, "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9" };
    expect((await ask(behind.url, "/metrics", proxied)).status).toBe(401);
    expect((await behind.call(BOB, "GET", "/metrics")).status).toBe(200);
  });

  it("behind a proxy: secure cookies, and limits by the address that the proxy saw", async () => {
    const behind = await runApp(
      { http: { public_url: `https://${PUBLIC}`, behind_proxy: true } },
      { HOOKGATE_HOST: "0.0.0.0" },
    );
    onTestFinished(() => behind.close());
    const proxied = { host: PUBLIC, "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9" };
    expect((await ask(behind.url, "/", proxied)).status).toBe(200);
    expect((await ask(behind.url, "/metrics", proxied)).status).toBe(401);
    const login = await ask(
      behind.url,
      "/api/login",
      { ...json, ...proxied, origin: `https://${PUBLIC}` },
      { token: BOB },
    );
    expect(login).toMatchObject({ status: 200, cookie: expect.stringContaining("Secure") });
    const evil = await ask(
      behind.url,
      "/api/login",
      { ...json, ...proxied, origin: "https://evil.example" },
      { token: BOB },
    );
    expect(evil.status).toBe(403);
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) {
      // What the visitor wrote is in front; the proxy adds the address that it saw.
      const headers = {
        ...proxied,
        "x-forwarded-for": `198.51.100.${i}, 203.0.113.77`,
        authorization: `Bearer wrong-${i}`,
      };
      statuses.push((await ask(behind.url, "/api/me", headers)).status);
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    expect(statuses.at(-1)).toBe(429);
    // Not even the right token: guessing goes on nowhere but from another address.
    const rightFrom = (address: string) =>
      ask(behind.url, "/api/me", { ...proxied, "x-forwarded-for": address, authorization: `Bearer ${BOB}` });
    expect((await rightFrom("203.0.113.77")).status).toBe(429);
    expect((await rightFrom("203.0.113.78")).status).toBe(200);
  });
});

/** More as they are shown than one answer has. */
const LONG_MESSAGES = 9;

async function withCarol(): Promise<RunningApp> {
  const people = [
    { id: "2", name: "Bob", token_env: "BOB_TOKEN" },
    { id: "3", name: "Carol", token_env: "CAROL_TOKEN" },
  ];
  const one = await runApp({ web: { people } }, { CAROL_TOKEN: CAROL });
  onTestFinished(() => one.close());
  return one;
}

async function longHistory(): Promise<RunningApp> {
  const one = await runApp({ http: { messages_per_minute: 100 }, gateway: { unanswered_note: false } });
  onTestFinished(() => one.close());
  for (let n = 1; n <= LONG_MESSAGES; n++)
    await one.call(BOB, "POST", "/api/rooms/dm-2/messages", { text: "<".repeat(32_000), nonce: `long-message-${n}` });
  return one;
}

interface Asked {
  token: string;
  path: string;
  /** JSON to post. */
  body?: string;
}

/** Requests at the same time, each on an open connection of its own; in the order in which their answers come. */
async function answersTo<R extends Asked>(url: string, requests: readonly R[]) {
  const { hostname, port, host } = new URL(url);
  const headOf = ({ token, path, body }: Asked) =>
    `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n${
      body === undefined ? "" : `content-type: application/json\r\ncontent-length: ${body.length}\r\n`
    }\r\n${body ?? ""}`;
  const open = async (one: R) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(headOf({ token: one.token, path: "/healthz" }));
    await once(socket, "data");
    return { socket, one };
  };
  const answers: (R & { status: number })[] = [];
  const answered = (await Promise.all(requests.map(open))).map(async ({ socket, one }) => {
    socket.write(headOf(one));
    const [head] = await once(socket, "data");
    answers.push({ ...one, status: Number(/HTTP\/1\.1 (\d{3}) /.exec(String(head))?.[1]) });
    socket.destroy();
  });
  await Promise.all(answered);
  return answers;
}

/** The same request many times on one connection, before any of the answers is read. */
async function pipelined(url: string, times: number, path: string, token: string): Promise<number[]> {
  const { hostname, port, host } = new URL(url);
  const head = `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n`;
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(`${head}\r\n`.repeat(times - 1));
  socket.write(`${head}connection: close\r\n\r\n`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("latin1");
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** As a browser: it writes to the end and reads the answer meanwhile. */
function sendWhole(bytes: number): Promise<number | string | undefined> {
  const headers = { authorization: `Bearer ${OWNER}`, "content-length": bytes };
  return new Promise((done) => {
    const upload = request(`${app.url}/api/uploads?filename=a.bin`, { method: "POST", headers }, (answer) => {
      answer.resume().once("end", () => done(answer.statusCode));
    });
    upload.once("error", ({ message }) => done(message));
    Readable.from(Array.from({ length: bytes / 100_000 }, () => Buffer.alloc(100_000))).pipe(upload);
  });
}

describe("one person", () => {
  it("may write and send files up to a limit; an owner is not limited", async () => {
    for (let i = 0; i < 5; i++) expect((await say(BOB)).status).toBe(201);
    expect(await say(BOB)).toMatchObject({ status: 429, body: { error: { code: "RATE_LIMITED" } } });
    for (let i = 0; i < 10; i++) expect((await say(OWNER)).status).toBe(201);
  });

  it("cannot make a message of tables that cost far more than its length", async () => {
    const row = (cell: string) => `${Array.from({ length: 100 }, () => cell).join("|")}\n`;
    const text = `${row("a")}${row("-")}${"a\n".repeat(600)}\n`.repeat(19);
    const answer = await app.call(OWNER, "POST", "/api/rooms/general/messages", { text, nonce: "nonce-of-tables" });
    expect(answer.status).toBe(201);
    expect(answer.body.message.html.match(/<tr>/g) ?? []).toHaveLength(0);
    expect(answer.body.message.html.match(/a/g)?.length).toBeGreaterThan(19 * 600);
  });

  it("may have files up to a quota", async () => {
    const upload = async (token: string) =>
      (
        await fetch(`${app.url}/api/uploads?filename=a.bin`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" },
          body: new Uint8Array(600_000),
        })
      ).status;
    expect([await upload(BOB), await upload(BOB), await upload(OWNER)]).toEqual([201, 413, 201]);
    expect([await upload(BOB), await upload(BOB)]).toEqual([413, 429]);
  });

  it("is told that a file is too large, also while all of it is sent; nothing fails behind it", async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, () => sendWhole(8_000_000)));
    expect(statuses).toEqual(Array.from({ length: 20 }, () => 413));
  });

  it("loses its connection with a file that cannot be kept: nothing reads the rest of it", async () => {
    const one = await runApp();
    onTestFinished(() => one.close());
    writeFileSync(join(one.folder, "uploads"), "no folder");
    const answer = await fetch(`${one.url}/api/uploads?filename=a.bin`, {
      method: "POST",
      headers: { authorization: `Bearer ${OWNER}`, "content-type": "application/octet-stream" },
      body: new Uint8Array(8_000_000),
    });
    expect([answer.status, answer.headers.get("connection")]).toEqual([503, "close"]);
  });

  it("reads a bounded number of bytes in one answer, and pages on from there", async () => {
    const one = await longHistory();
    const ids: number[] = [];
    let before = "";
    let answer: Awaited<ReturnType<RunningApp["call"]>>;
    do {
      answer = await one.call(BOB, "GET", `/api/rooms/dm-2/messages?limit=200${before}`);
      expect(Number(answer.headers.get("content-length"))).toBeLessThan(400_000);
      ids.unshift(...answer.body.messages.map(({ id }: { id: number }) => id));
      before = `&before=${ids[0]}`;
    } while (answer.body.more);
    expect(answer.body.messages.length).toBeLessThan(LONG_MESSAGES);
    expect(ids).toEqual(Array.from({ length: LONG_MESSAGES }, (_, i) => i + 1));
    const [room] = (await one.call(BOB, "GET", "/api/rooms")).body.rooms.filter(({ isDm }: { isDm: boolean }) => isDm);
    expect(room.lastMessageId).toBe(LONG_MESSAGES);
  });

  it("may have a bounded number of long answers under way, and more when they are read", async () => {
    const one = await longHistory();
    const three = async (path: string, token: string) =>
      (await Promise.all([1, 2, 3].map(() => pipelined(one.url, 10, path, token)))).flat();
    const statuses = await three("/api/rooms/dm-2/messages?limit=200", BOB);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(20);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect((await one.call(BOB, "GET", "/api/rooms/dm-2/messages")).status).toBe(200);
    const ofOwner = await three("/api/rooms/general/messages", OWNER);
    expect(new Set(ofOwner)).toEqual(new Set([200]));
  });

  it.each(["/api/rooms/general/messages", "/api/complete?command=run&option=id"])(
    "has long answers made one after another: no one waits for all of them, and those that would wait too long are refused: %s",
    async (path) => {
      const one = await withCarol();
      const ofBob = { token: BOB, path };
      const twenty = await answersTo(one.url, [...Array(20).fill(ofBob), { token: CAROL, path: "/api/rooms" }]);
      expect(twenty.map(({ status }) => status)).toEqual(Array(21).fill(200));
      expect(twenty.findIndex(({ token }) => token === CAROL)).toBeLessThan(10);
      const forty = await answersTo(one.url, Array(40).fill(ofBob));
      expect(new Set(forty.map(({ status }) => status))).toEqual(new Set([200, 429]));
      expect(forty.filter(({ status }) => status === 429).length).toBeGreaterThan(10);
      expect((await one.call(BOB, "GET", ofBob.path)).status).toBe(200);
    },
  );

  it.each([
    ["commands", "POST", "/api/command", { line: "/whoami" }],
    ["dry runs", "POST", "/api/v1/hooks/none/test", {}],
  ])("may have a bounded number of %s under way; an owner is not limited", async (_, method, path, body) => {
    const one = await runApp();
    onTestFinished(() => one.close());
    const sixty = (token: string) => Promise.all(Array.from({ length: 60 }, () => one.call(token, method, path, body)));
    const ofBob = await sixty(BOB);
    expect(ofBob.filter(({ status }) => status !== 429).length).toBeGreaterThan(0);
    expect(JSON.stringify(ofBob.find(({ status }) => status === 429)?.body)).toContain("TOO_MANY_READS");
    expect((await sixty(OWNER)).filter(({ status }) => status === 429)).toEqual([]);
  });

  it("may not have many requests under way on one connection: that connection ends, and no other", async () => {
    expect(await pipelined(app.url, 16, "/healthz", "x")).toHaveLength(16);
    const many = await pipelined(app.url, 2_000, "/", "x").catch(() => []);
    expect(many.length).toBeLessThan(16);
    expect((await fetch(`${app.url}/healthz`)).status).toBe(200);
  });

  it("may have a bounded number of bodies under way, and more when these have arrived; an owner is not limited", async () => {
    const one = await runApp();
    onTestFinished(() => one.close());
    const begin = (token: string, path: string) => {
      const { socket, text } = halfBody(one.url, token, path);
      return { text, finish: () => socket.write('"line":"/whoami"}') };
    };
    const paths = ["/api/command", "/api/uploads?filename=a.bin"];
    const ofBob = Array.from({ length: 21 }, (_, i) => begin(BOB, paths[i % 2] ?? ""));
    await until(() => ofBob.some(({ text }) => text().includes("HTTP/1.1 429")), "one body too many");
    expect(ofBob.filter(({ text }) => text().includes("TOO_MANY_BODIES"))).toHaveLength(1);
    const ofOwner = Array.from({ length: 25 }, (_, i) => begin(OWNER, paths[i % 2] ?? ""));
    expect((await one.call(OWNER, "POST", "/api/command", { line: "/whoami" })).status).toBe(200);
    for (const { finish } of [...ofBob, ...ofOwner]) finish();
    const all = [...ofBob, ...ofOwner];
    await until(() => all.every(({ text }) => text().includes("HTTP/1.1 ")), "an answer to each");
    expect(all.filter(({ text }) => /HTTP\/1.1 20[01] /.test(text()))).toHaveLength(45);
    const again = begin(BOB, "/api/command");
    again.finish();
    await until(() => again.text().includes("HTTP/1.1 200"), "an answer to one more");
  });

  it("over a limit is refused before a body is read; an owner is not", async () => {
    const one = await runApp({ http: { messages_per_minute: 1 }, gateway: { commands_per_minute: 1 } });
    onTestFinished(() => one.close());
    await one.call(BOB, "POST", "/api/command", { line: "/whoami" });
    expect((await one.call(BOB, "PATCH", "/api/me", { name: "Robert" })).status).toBe(200);
    for (const [method, path] of [
      ["POST", "/api/rooms/general/messages"],
      ["PATCH", "/api/me"],
      ["POST", "/api/command"],
      ["POST", "/api/v1/tasks"],
    ] as const)
      expect([path, await answerToHead(one.url, path, 100_000, `Bearer ${BOB}`, method)]).toEqual([path, 429]);
    for (const name of ["Grace", "Ada"]) expect((await one.call(OWNER, "PATCH", "/api/me", { name })).status).toBe(200);
  });

  it("has bodies parsed one after another: no one waits for all of them", async () => {
    const one = await withCarol();
    const ofBob = { token: BOB, path: "/api/command", body: '{"none":1}' };
    const answers = await answersTo(one.url, [...Array(20).fill(ofBob), { token: CAROL, path: "/api/rooms" }]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(20).fill(400)]);
    expect(answers.findIndex(({ token }) => token === CAROL)).toBeLessThan(10);
  });

  it("may have a bounded number of live pages", async () => {
    const pages = new AbortController();
    const open = () =>
      fetch(`${app.url}/api/events`, { headers: { authorization: `Bearer ${BOB}` }, signal: pages.signal });
    // Kept: an answer that nobody holds is collected, and its connection closed.
    const kept: Response[] = [];
    for (let i = 0; i < 20; i++) kept.push(await open());
    expect((await open()).status).toBe(429);
    for (const { status } of kept) expect(status).toBe(200);
    pages.abort();
    await until(async () => {
      const one = await open().catch(() => undefined);
      return one === undefined;
    }, "the pages being closed");
  });
});

it("a file that is put into no message is removed, one that was sent stays", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-uploads-"));
  const uploads = createUploads(folder, { maxBytes: 100, quotaBytes: 1000 });
  const save = () =>
    uploads.save("2", { filename: "a.txt", mimeType: "text/plain", bytes: Readable.from([Buffer.from("a")]) });
  const [sent, unsent] = [await save(), await save()];
  await uploads.take("2", sent.ref);
  expect(await uploads.sweep({ before: 0, unsentBefore: Number.MAX_SAFE_INTEGER })).toBe(1);
  expect(await uploads.take("2", sent.ref)).toMatchObject({ ref: sent.ref, filename: "a.txt" });
  await expect(uploads.take("2", unsent.ref)).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
  expect(readdirSync(folder).sort()).toEqual([sent.ref, `${sent.ref}.json`].sort());
  rmSync(folder, { recursive: true, force: true });
});

describe("a body", () => {
  it("that is nested too deep is refused with a 400 at every entrance that takes JSON", async () => {
    const deep = (depth: number) => `{"payload":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`;
    for (const [path, token, depth] of [
      ["/api/v1/hooks/page.inbound_claim/fire", OWNER, 40_000],
      ["/api/rooms/general/messages", OWNER, 40_000],
      ["/api/login", undefined, 500],
    ] as const) {
      const response = await fetch(`${app.url}${path}`, {
        method: "POST",
        headers: definedOf({ "content-type": "application/json", authorization: token && `Bearer ${token}` }),
        body: deep(depth),
      });
      expect([path, response.status]).toEqual([path, 400]);
    }
  });

  it("with thousands of unknown fields gets an answer that names a few", async () => {
    const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`token${i}`, 0]));
    const answer = await app.call(OWNER, "POST", "/api/command", fields);
    expect(answer.status).toBe(400);
    expect(answer.body.error.message).toContain("9980 more unknown");
    expect(answer.body.error.message.length).toBeLessThan(5_000);
  });

  it("with more values than any request needs is refused before it is read as JSON", async () => {
    const many = `{"line":"/whoami","options":{${Array.from({ length: 75_000 }, (_, i) => `"k${i}":1`).join(",")}}}`;
    for (const path of ["/api/command", "/api/v1/tasks"]) {
      const answer = await post(path, many, OWNER);
      expect([path, answer.status, answer.text]).toEqual([
        path,
        400,
        expect.stringContaining("more than 20000 values"),
      ]);
    }
    expect(
      (await post("/api/command", JSON.stringify({ line: `/whoami ${"[,{".repeat(30_000)}` }), OWNER)).status,
    ).toBe(200);
  });

  it("of a request without a login is small, by its length or as it streams, and too many malformed ones are refused", async () => {
    const one = await runApp();
    onTestFinished(() => one.close());
    const send = (body: string | ReadableStream) => post("/api/login", body, undefined, one.url);
    expect((await send(`{"token":"${"x".repeat(5_000)}"}`)).status).toBe(413);
    const endless = new ReadableStream({
      pull: (stream) => stream.enqueue(new TextEncoder().encode(" ".repeat(1_000))),
    });
    // Cut off while the client still sends: some clients see the answer, others the end of the connection.
    expect([413, undefined]).toContain((await send(endless).catch(() => undefined))?.status);
    const statuses: number[] = [];
    for (let i = 0; i < 22; i++) statuses.push((await send(`{"bad":1}`)).status);
    expect(statuses.slice(0, 18)).toEqual(Array.from({ length: 18 }, () => 400));
    expect(statuses.slice(-2)).toEqual([429, 429]);
    expect((await one.call(undefined, "POST", "/api/login", { token: OWNER })).status).toBe(200);
    expect((await post("/api/command", "{", OWNER, one.url)).status).toBe(429);
    expect((await post("/api/command", "{", undefined, one.url)).status).toBe(401);
    expect((await one.call(OWNER, "POST", "/api/command", { line: "/whoami" })).status).toBe(200);
  });

  it("too long by its length, or without a right login, is answered before it is read", async () => {
    const one = await runApp(
      { events: { deploy: { secret_env: "DEPLOY_SECRET" } } },
      { DEPLOY_SECRET: "deploy-secret-of-the-tests" },
    );
    onTestFinished(() => one.close());
    const signed = signCall("not-the-token-of-the-owner", { method: "POST", path: "/api/command" }, "{}", {
      at: Date.now(),
      nonce: "n".repeat(20),
    });
    for (const [path, length, authorization, status] of [
      ["/ingest/deploy", 262_145, undefined, 413],
      ["/api/command", 3_900_000, undefined, 401],
      ["/api/command", 3_900_000, "Bearer nope", 401],
      ["/api/command", 3_900_000, signed, 401],
      ["/api/v1/tasks", 3_900_000, "Bearer nope", 401],
      ["/api/rooms/general/messages", 600_000, `Bearer ${OWNER}`, 413],
    ] as const)
      expect([path, authorization, await answerToHead(one.url, path, length, authorization)]).toEqual([
        path,
        authorization,
        status,
      ]);
    expect((await one.call(OWNER, "POST", "/api/command", { line: "/whoami" })).status).toBe(200);
  });

  it("that does not arrive in time ends its connection, without a login", async () => {
    const clock = new LeapClock();
    const logged: LogLine[] = [];
    const slow = await taskedApp({ clock, logger: logTo(logged) });
    const { port } = new URL(slow.app.url);
    for (const path of ["/api/login", "/ingest/deploy"]) {
      let answer = "";
      let isClosed = false;
      const socket = connect(Number(port), "127.0.0.1");
      socket.on("data", (chunk) => {
        answer += chunk;
      });
      socket.on("close", () => {
        isClosed = true;
      });
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
      );
      await until(() => {
        clock.leap(31_000);
        return isClosed;
      }, `the end of a slow body of ${path}`);
      expect(answer).not.toContain(" 200 ");
      const line = await until(() => logged.find(({ facts }) => "route" in facts), "the log line");
      expect(line).toMatchObject({ level: "info", facts: { method: "POST", from: "127.0.0.1" } });
      expect(logged.filter(({ level }) => level === "error")).toEqual([]);
      logged.length = 0;
    }
  });
});

it("a body that arrives too slowly ends its connection, one that takes as long and arrives fast enough does not", async () => {
  const clock = new LeapClock();
  const { app: slow } = await taskedApp({ clock });
  const upload = () => {
    let answer = "";
    const socket = connect(Number(new URL(slow.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.on("data", (data) => {
      answer += data;
    });
    socket.write(
      `POST /api/uploads?filename=a.bin HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${WORKER_TOKEN}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const send = (bytes: number) => socket.write(`${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`);
    return { socket, send, answer: () => answer };
  };
  const [fast, trickle] = [upload(), upload()];
  await until(() => {
    fast.send(40_000);
    trickle.send(1);
    clock.leap(1_000);
    return trickle.socket.destroyed || fast.socket.destroyed;
  }, "the end of the slow one");
  expect([fast.socket.destroyed, trickle.answer()]).toEqual([false, expect.stringContaining("HTTP/1.1 408")]);
  fast.socket.write("0\r\n\r\n");
  await until(() => fast.answer().includes("HTTP/1.1 201"), "the fast one being kept");
});

describe("an error", () => {
  it("of a path that is none is no failure of ours", async () => {
    const paths = ["//etc/passwd", "/%2e%2e/%2e%2e/x", "/..%5c..%5cx"];
    for (const path of paths) expect((await fetch(`${app.url}${path}`)).status).toBeLessThan(500);
  });

  it("of the store names no file of this machine", () => {
    const { body } = errorAnswer(
      storeError(new Error("disk I/O error, open '/srv/secret/x'"), "/srv/secret/hookgate.db"),
    );
    expect(JSON.stringify(body)).not.toContain("/srv");
    expect(body.error.code).toBe("STORE_FAILED");
  });
});

it("no page may frame ours", async () => {
  expect((await fetch(app.url)).headers.get("x-frame-options")).toBe("DENY");
});

describe("refused commands of a person without a role", () => {
  it("are limited per minute and one counted row of the audit, and earlier rows stay to be found", async () => {
    const flooded = await runApp();
    await flooded.call(OWNER, "POST", "/api/command", { line: "/hooks pause" });
    const statuses = new Set<number>();
    for (let i = 0; i < 80; i++)
      statuses.add((await flooded.call(BOB, "POST", "/api/command", { line: "/audit" })).status);
    const audit = async (line: string) => (await flooded.call(OWNER, "POST", "/api/command", { line })).body;
    const { data } = await audit("/audit refused");
    const paused = await audit("/audit pause");
    await flooded.close();
    expect([...statuses]).toEqual([200, 429]);
    expect(data.entries).toHaveLength(1);
    expect(data.entries[0]).toMatchObject({ target: "audit", outcome: "refused", details: { times: 60 } });
    expect(paused.data.total).toBe(1);
  });
});

describe("connections that send nothing", () => {
  it("are ended after seconds, so that others get in again", async () => {
    const full = await runApp({ http: { max_connections: 10 } });
    const { port } = new URL(full.url);
    let ended = 0;
    const silent = Array.from({ length: 20 }, () => {
      const socket = connect(Number(port), "127.0.0.1");
      socket.on("error", () => {});
      socket.on("close", () => ended++);
      return socket.resume();
    });
    await until(() => ended === silent.length, "every silent connection being ended");
    expect((await fetch(`${full.url}/healthz`)).status).toBe(200);
    await full.close();
  });
});

describe("connections that hold their places", () => {
  const hold = async (url: string, request: string, seen: string) => {
    const { port, host } = new URL(url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write(request.replace("HOST", host));
    let answer = "";
    socket.on("data", (data) => {
      answer += data;
    });
    await until(() => socket.destroyed || answer.includes(seen), "an answer");
    onTestFinished(() => void socket.destroy());
    return answer;
  };
  const half = (path: string, login = "") =>
    `POST ${path} HTTP/1.1\r\nHost: HOST\r\n${login}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 4000\r\n\r\n{`;

  it.each([
    ["half a body where no login is needed", half("/api/login"), "100 Continue"],
    ["half a body without the login that it needs", half("/api/rooms/general/messages"), "HTTP/1.1 401"],
    ["half an event", half("/ingest/builds"), "100 Continue"],
    ["half a body of one person", half("/api/command", `Authorization: Bearer ${BOB}\r\n`), "100 Continue"],
    ["nothing more after an answer", "GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n", "HTTP/1.1 200"],
  ])("with %s make room for others", async (_, request, seen) => {
    const full = await runApp({ http: { max_connections: 10 } });
    onTestFinished(() => full.close());
    const ofOwner = [1, 2, 3].map(() => halfBody(full.url, OWNER, "/api/command"));
    for (let i = 0; i < 30; i++) await hold(full.url, request, seen);
    // A connection of its own: fetch would use the one that it has.
    const probe = "GET /healthz HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n";
    expect(await hold(full.url, probe, "HTTP/1.1 200")).toContain("HTTP/1.1 200");
    for (const { socket } of ofOwner) socket.write('"line":"/whoami"}');
    await until(() => ofOwner.every(({ text }) => text().includes("HTTP/1.1 200")), "the answers of the owner");
  });
});

describe("a flood of connections that come back", () => {
  const WHOLE = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const HALF = "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const body = (length: number) => `Content-Length: ${length}\r\n\r\n{}`;

  it.each([
    ["nothing", ""],
    ["half a head, line by line", HALF],
    ["half a head after an answer", `${WHOLE}${HALF}`],
    ["half a body after a whole one", `${HALF}${body(2)}${HALF}${body(4000)}`],
  ])("with %s ends nothing that others have under way, and others get in all the time", async (_, sent) => {
    const logged: LogLine[] = [];
    const { app: full } = await taskedApp({ config: { http: { max_connections: 100 } }, logger: logTo(logged) });
    const { port } = new URL(full.url);
    const ofOthers = (token: string, head: string) => {
      const socket = connect(Number(port), "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => {});
      const answered = new Promise<string>((resolve) => {
        let answer = "";
        socket.on("data", (data) => {
          answer += data;
          resolve(answer);
        });
        socket.on("close", () => resolve(answer));
      });
      const [first, ...rest] = head.split("\r\n\r\n");
      socket.write(`${first}\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n${rest.join("")}`);
      return { socket, answered };
    };
    const page = ofOthers(OWNER, "GET /api/events HTTP/1.1");
    expect(await page.answered).toContain("200 OK");
    const upload = ofOthers(OWNER, "POST /api/uploads?filename=a.txt HTTP/1.1\r\nContent-Length: 2\r\n\r\na");

    const flood = new Set<Socket>();
    let isOver = false;
    let ended = 0;
    const join = () => {
      if (isOver) return;
      const socket = connect(Number(port), "127.0.0.1");
      flood.add(socket.resume());
      socket.on("error", () => {});
      socket.on("close", () => {
        ended++;
        flood.delete(socket);
        join();
      });
      socket.write(sent);
    };
    const end = () => {
      isOver = true;
      for (const socket of flood) socket.destroy();
    };
    onTestFinished(end);
    for (let i = 0; i < 100; i++) join();
    await until(() => ended >= 10, "connections without a place");
    for (let round = 0; round < 12; round++) {
      if (sent === HALF) for (const socket of flood) socket.write("X-Line: 1\r\n");
      for (const head of ["GET /healthz HTTP/1.1", "GET /api/me HTTP/1.1"]) {
        const { socket, answered } = ofOthers(OWNER, `${head}\r\nConnection: close`);
        expect([head, await answered]).toEqual([head, expect.stringContaining("200 OK")]);
        socket.destroy();
      }
    }
    expect(page.socket.destroyed).toBe(false);
    upload.socket.write("b");
    expect(await upload.answered).toContain("201 Created");
    end();
    const told = logged.filter(({ facts }) => "max" in facts);
    expect(told).toMatchObject([{ level: "warn", message: expect.stringContaining("waited longest") }]);
  });
});

describe("the other loopback address, which browsers try first for `localhost`", () => {
  /** Resolves with what keeps the port there; undefined on a machine without IPv6. */
  const take = (port: number) =>
    new Promise<{ port: number; close(): void } | undefined>((resolve, reject) => {
      const server = createServer((socket) => socket.destroy());
      server.once("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "EADDRINUSE") reject(error);
        else resolve(undefined);
      });
      server.listen({ host: "::1", port, ipv6Only: true }, () => {
        const bound = server.address();
        resolve({ port: typeof bound === "object" && bound !== null ? bound.port : 0, close: () => server.close() });
      });
    });

  it("is the gateway's, too, until it stops", async () => {
    const own = await runApp({});
    onTestFinished(() => own.close());
    const port = Number(new URL(own.url).port);
    const probe = await take(0);
    probe?.close();
    // Without IPv6 nothing can listen there.
    if (probe === undefined) return expect(await take(port)).toBeUndefined();
    expect((await fetch(`http://[::1]:${port}/healthz`)).status).toBe(200);
    await expect(take(port)).rejects.toMatchObject({ code: "EADDRINUSE" });
    await own.stop();
    const after = await take(port);
    expect(after?.port).toBe(port);
    after?.close();
  });

  it("that another program has refuses the start, with the reason", async () => {
    // A port that nobody else has on the first address.
    const first = createServer();
    const free = await new Promise<number>((resolve) => {
      first.listen({ host: "127.0.0.1", port: 0 }, () => resolve((first.address() as AddressInfo).port));
    });
    const other = await take(free);
    first.close();
    if (other === undefined) return expect(await take(0)).toBeUndefined();
    onTestFinished(() => other.close());
    const started = runApp({}, { HOOKGATE_PORT: String(other.port) });
    await expect(started).rejects.toMatchObject({
      code: "PORT_TAKEN",
      message: expect.stringContaining(`port ${other.port} on ::1 is taken`),
    });
  });
});

/** A request of 18 bytes of which one comes; and what was answered so far. */
function halfBody(url: string, token: string, path: string): { socket: Socket; text(): string } {
  let text = "";
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.on("data", (data) => {
    text += data;
  });
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n{`,
  );
  return { socket, text: () => text };
}

/** The status that a request gets whose body never comes. */
function answerToHead(
  url: string,
  path: string,
  length: number,
  authorization: string | undefined,
  method = "POST",
): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = definedOf({ "content-type": "application/json", "content-length": String(length), authorization });
    const sent = request(`${url}${path}`, { method, headers }, ({ statusCode = 0 }) => {
      resolve(statusCode);
      sent.destroy();
    });
    sent.on("error", reject);
    sent.write("{");
  });
}
