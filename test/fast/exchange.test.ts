/** One request and its answer: what is read of it, and that what is known of a failure is true. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from "node:net";
import { join, resolve } from "node:path";
import { Pool } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { Aborts } from "../../src/fast/aborts.js";
import { ANSWER_TOO_LARGE, type Answer, ExchangeError, exchange, headerOf } from "../../src/fast/exchange.js";
import { until } from "../support/until.js";

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** `isEarly`: the handler is called when a request's head is there, and not when all of it is. */
async function serve(handler: Handler, isEarly = false) {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    seen.push(request.url ?? "");
    const chunks: Buffer[] = [];
    if (isEarly) handler(request, response, "");
    request.on("error", () => {}); // some handlers end the connection
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => isEarly || handler(request, response, Buffer.concat(chunks).toString()));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  const port = await listen(server);
  onTestFinished(() => server.closeAllConnections());
  return { origin: `http://127.0.0.1:${port}`, seen, sockets, server };
}

function poolOf(origin: string, options: Pool.Options = {}): Pool {
  const pool = new Pool(origin, options);
  onTestFinished(() => pool.destroy());
  return pool;
}

const asked = (path = "/", body = "{}", headers: Record<string, string> = { "content-type": "application/json" }) => ({
  path,
  method: "POST" as const,
  headers,
  body,
});

type Outcome = { path: string } & (
  | { kind: "answered"; text: string }
  | { kind: "failed"; message: string; isWritten: boolean; code: string | undefined }
);

function outcomeOf(path: string, answer: Promise<Answer>): Promise<Outcome> {
  return answer.then(
    ({ body }): Outcome => ({ path, kind: "answered", text: body.toString() }),
    (error: unknown): Outcome => {
      expect(error).toBeInstanceOf(ExchangeError);
      const { message, isWritten, code } = error as ExchangeError;
      return { path, kind: "failed", message, isWritten, code };
    },
  );
}

const outcome = (origin: string, options: Pool.Options = {}, path = "/") =>
  outcomeOf(path, exchange(poolOf(origin, options), asked(path)));

describe("an answer", () => {
  it("has status, bytes and headers, whatever their case", async () => {
    const server = await serve((request, response, body) => {
      const { "content-type": type } = request.headers;
      response.writeHead(429, { "Retry-After": "1.5", "X-RateLimit-Scope": "shared", "X-Twice": ["a", "b"] });
      response.end(JSON.stringify({ body, type, method: request.method, url: request.url }));
    });
    const sent = "häßlich 👩‍👩‍👧 \u0000 日本";
    const { status, headers, body } = await exchange(poolOf(server.origin), asked("/a%20path?q=%C3%BC", sent));
    expect(status).toBe(429);
    expect(["retry-after", "x-ratelimit-scope", "x-twice", "x-missing"].map((name) => headerOf(headers, name))).toEqual(
      ["1.5", "shared", "a", null],
    );
    const url = "/a%20path?q=%C3%BC";
    expect(JSON.parse(body.toString())).toEqual({ body: sent, type: "application/json", method: "POST", url });
  });

  it("may be large, and come in pieces that cut characters", async () => {
    const large = "日".repeat(700_000);
    const server = await serve((_request, response, body) => {
      const bytes = Buffer.from(body);
      response.write(bytes.subarray(0, 100_000)); // 1 more than whole characters
      setImmediate(() => response.end(bytes.subarray(100_000)));
    });
    const { body } = await exchange(poolOf(server.origin), asked("/", large));
    expect(body.toString() === large).toBe(true);
  });

  it("may be empty", async () => {
    const server = await serve((_request, response) => void response.writeHead(204).end());
    expect(await exchange(poolOf(server.origin), asked())).toMatchObject({ status: 204, body: Buffer.alloc(0) });
  });

  it("is the one that comes after informational ones", async () => {
    const server = await serve((_request, response) => {
      response.writeEarlyHints({ link: "</a>; rel=preload", "retry-after": "7" });
      response.writeHead(200, { "retry-after": "3" }).end("whole");
    });
    const { status, headers, body } = await exchange(poolOf(server.origin), asked());
    expect([status, headerOf(headers, "retry-after"), body.toString()]).toEqual([200, "3", "whole"]);
  });

  it("leaves its connection to the next request", async () => {
    let connections = 0;
    const server = await serve((request, response) => void response.end(request.url));
    server.server.on("connection", () => connections++);
    const pool = poolOf(server.origin);
    for (const path of Array.from({ length: 10 }, (_, i) => `/${i}`))
      expect(await outcomeOf(path, exchange(pool, asked(path)))).toEqual({ path, kind: "answered", text: path });
    expect(connections).toBeLessThanOrEqual(2); // one may not be free yet when its answer is known
  });

  it("is not read any further when it is larger than it may be", async () => {
    const server = await serve((_request, response) => {
      response.on("error", () => {});
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(10_000)));
      };
      response.on("drain", more);
      more();
    });
    const pool = poolOf(server.origin);
    const result = await outcomeOf("/", exchange(pool, asked(), { maxBytes: 50_000 }));
    expect(result).toMatchObject({ kind: "failed", isWritten: true, code: ANSWER_TOO_LARGE });
    await until(() => server.sockets.size === 0, "the connection being closed");
  });
});

describe("nothing was written", () => {
  it("when the connection is refused", async () => {
    const server = createNetServer();
    const port = await listen(server);
    await new Promise((done) => server.close(done));
    expect(await outcome(`http://127.0.0.1:${port}`)).toMatchObject({ isWritten: false, code: "ECONNREFUSED" });
  });

  it("when the name is not known", async () => {
    const result = await outcome("http://nowhere.invalid:80");
    expect(result).toMatchObject({ kind: "failed", isWritten: false });
    expect(["ENOTFOUND", "EAI_AGAIN"]).toContain(result.kind === "failed" && result.code);
  });

  it("when the server takes too long to begin a secure line", async () => {
    let heard = "";
    const silent = createNetServer((socket) => {
      socket.on("data", (bytes) => (heard += bytes.toString("latin1")));
      socket.on("error", () => {});
    });
    const port = await listen(silent);
    const result = await outcome(`https://127.0.0.1:${port}`, { connect: { timeout: 100 } }, "/secret");
    expect(result).toMatchObject({ isWritten: false, code: "UND_ERR_CONNECT_TIMEOUT" });
    expect(heard).not.toContain("/secret");
  });

  it.each([
    ["a path with a blank", asked("/a b")],
    ["a path with a line break", asked("/a\r\nx-injected: 1")],
    ["a header with a line break", asked("/", "{}", { "x-secret": "a\r\nx-injected: 1" })],
  ])("when it is no request: %s", async (_what, request) => {
    const server = await serve((_request, response) => void response.end());
    const result = await outcomeOf("/", exchange(poolOf(server.origin), request));
    expect(result).toMatchObject({ kind: "failed", isWritten: false });
    expect(server.seen).toEqual([]);
  });
});

describe("it may have been done", () => {
  const failed = async (handler: Handler, isEarly = false, options: Pool.Options = {}, path = "/") => {
    const server = await serve(handler, isEarly);
    const result = await outcome(server.origin, options, path);
    expect(result).toMatchObject({ kind: "failed", isWritten: true });
    return result;
  };

  it("when no answer came in time", async () => {
    expect(await failed(() => {}, false, { headersTimeout: 100 })).toMatchObject({ code: "UND_ERR_HEADERS_TIMEOUT" });
  });

  it("when the answer began and did not end in time", async () => {
    const half: Handler = (_request, response) => void response.write("half");
    expect(await failed(half, false, { bodyTimeout: 100 })).toMatchObject({ code: "UND_ERR_BODY_TIMEOUT" });
  });

  it("when the server ends the connection before it reads, after it has read, or in its answer", async () => {
    await failed(({ socket }) => void socket.resetAndDestroy(), true);
    await failed(({ socket }) => void socket.destroy());
    await failed((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => response.destroy());
    });
  });

  it.each([
    ["what is no HTTP", "what?\r\n\r\n"],
    ["a head without end", `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(20_000)}`],
    ["chunks that are none", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nokNOT\r\n0\r\n\r\n"],
    ["another protocol", "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n\u0081\u0001a"],
  ])("when what comes back is %s", async (_what, answer) => {
    await failed(({ socket }) => void socket.end(answer));
  });

  it("and its words say so without the path, which may hold a token", async () => {
    const result = await failed(({ socket }) => void socket.destroy(), false, {}, "/bot123:SECRET/send");
    expect(result.kind === "failed" && result.message).toMatch(/\w/);
    expect(result.kind === "failed" && result.message).not.toContain("SECRET");
  });
});

it("what waits when the pool is closed was not written, what is under way may have been", async () => {
  const server = await serve(() => {});
  const pool = poolOf(server.origin, { connections: 20 });
  const sends = Array.from({ length: 30 }, (_, i) => outcomeOf(`/${i}`, exchange(pool, asked(`/${i}`))));
  await until(() => server.seen.length === 20, "as many as there are connections");
  await pool.destroy();
  for (const result of await Promise.all(sends))
    expect(result, result.path).toMatchObject({ kind: "failed", isWritten: server.seen.includes(result.path) });
  expect(await outcomeOf("/late", exchange(pool, asked("/late")))).toMatchObject({ isWritten: false });
  await until(() => server.sockets.size === 0, "the connections being closed");
});

it("waits no longer for what is given up, and never makes what was not made yet", async () => {
  let isOpen = false;
  const waiting: (() => void)[] = [];
  const server = await serve((request, response) => {
    const answer = () => void response.end(request.url);
    if (isOpen) answer();
    else waiting.push(answer);
  });
  const pool = poolOf(server.origin, { connections: 6 });
  const controller = new AbortController();
  const limits = { signal: controller.signal, aborts: new Aborts() };
  const kept = outcomeOf("/kept", exchange(pool, asked("/kept")));
  const given = Array.from({ length: 10 }, (_, i) => outcomeOf(`/${i}`, exchange(pool, asked(`/${i}`), limits)));
  await until(() => server.seen.length === 6, "the requests");
  const written = [...server.seen];
  controller.abort();
  for (const result of await Promise.all(given))
    expect(result, result.path).toMatchObject({ kind: "failed", isWritten: written.includes(result.path) });
  isOpen = true;
  for (const answer of waiting) answer();
  expect(await kept).toMatchObject({ kind: "answered" });
  expect(await outcomeOf("/late", exchange(pool, asked("/late"), limits))).toMatchObject({ isWritten: false });
  expect(await outcomeOf("/next", exchange(pool, asked("/next")))).toMatchObject({ kind: "answered" });
  expect(server.seen).toEqual([...written, "/next"]);
});

it("loses and doubles nothing at a server that ends connections as it likes", async () => {
  let requests = 0;
  const server = await serve((request, response) => {
    const { socket } = request;
    const answer = (headers = {}) => response.writeHead(200, headers).end(request.url);
    switch (requests++ % 9) {
      case 1:
        return void socket.resetAndDestroy();
      case 3:
        return void response.writeHead(200, { "content-length": "99" }).write("half", () => socket.destroy());
      case 4:
        return void answer({ connection: "close" });
      case 5: // just when it is used again
        return void answer().on("finish", () => socket.destroy());
      case 7:
        return void answer().on("finish", () => setImmediate(() => socket.resetAndDestroy()));
      default:
        return void answer();
    }
  });
  let connections = 0;
  server.server.on("connection", (socket) => void (connections++ % 11 === 3 && socket.resetAndDestroy()));
  const pool = poolOf(server.origin, { connections: 30 });
  const paths = Array.from({ length: 500 }, (_, i) => `/a/${i}`);
  const outcomes: Outcome[] = [];
  const sender = async () => {
    for (let path = paths.shift(); path !== undefined; path = paths.shift())
      outcomes.push(await outcomeOf(path, exchange(pool, asked(path))));
  };
  await Promise.all(Array.from({ length: 40 }, sender));
  expect(outcomes).toHaveLength(500);
  for (const result of outcomes) {
    const times = server.seen.filter((path) => path === result.path).length;
    expect(times, result.path).toBeLessThanOrEqual(1);
    if (result.kind === "answered") expect([times, result.text], result.path).toEqual([1, result.path]);
    else if (!result.isWritten) expect(times, result.path).toBe(0);
  }
  expect(outcomes.filter(({ kind }) => kind === "answered").length).toBeGreaterThan(100);
});

it("reaches a secure server that it can trust, quicker the next time; one that it cannot is told nothing", async () => {
  const folder = resolve(import.meta.dirname, "../fixtures/tls");
  const certificate = join(folder, "localhost.pem");
  const seen: string[] = [];
  let resumed = 0;
  const server = createSecureServer(
    { cert: readFileSync(certificate), key: readFileSync(join(folder, "localhost-key.pem")) },
    (request, response) => {
      seen.push(request.url ?? "");
      response.setHeader("connection", "close").end(request.url);
    },
  );
  server.on("secureConnection", (socket) => void (socket.isSessionReused() && resumed++));
  const port = await listen(server);
  const printed = (host: string, env = {}) =>
    new Promise<string>((done) => {
      const child = resolve(import.meta.dirname, "exchange-child.ts");
      const args = ["--import", "tsx", child, `https://${host}:${port}`, "3"];
      const options = { env: { ...process.env, ...env }, timeout: 40_000 };
      execFile(process.execPath, args, options, (_error, out) => done(out));
    });
  expect(await printed("localhost", { NODE_EXTRA_CA_CERTS: certificate })).toBe(
    "answered /last/1\nanswered /last/2\nanswered /last/3\n",
  );
  expect(resumed).toBe(2);
  expect(seen).toHaveLength(3);
  expect(await printed("localhost")).toMatch(/^(failed, written: false: .*self-signed certificate.*\n){3}$/);
  expect(seen).toHaveLength(3);
});
