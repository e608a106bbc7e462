/** The connections over which the thread posts: when one is used again, when a new one is made, and what is read of what comes back. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { Connections } from "../../../src/lib/posting/connections.js";
import type { PostResult, PostTarget } from "../../../src/lib/posting/protocol.js";
import { until } from "../../support/until.js";
import { serve, targetOf } from "./rig.js";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Posts {
  connections: Connections;
  /** By id, which every post has a new one of. */
  results: Map<number, PostResult>;
  post(path?: string): Promise<PostResult>;
}

function postsTo(origin: string, more: Partial<PostTarget> = {}): Posts {
  const results = new Map<number, PostResult>();
  const connections = new Connections(targetOf(origin, more), (result) => {
    expect(results.has(result.id), "answered twice").toBe(false);
    results.set(result.id, result);
  });
  onTestFinished(() => connections.close());
  let last = 0;
  return {
    connections,
    results,
    post(path = "/") {
      const id = ++last;
      connections.post(id, path, "{}");
      return until(() => results.get(id), `the answer to ${id}`);
    },
  };
}

/** Says the pieces in turn to whoever has sent a request, a moment after each other; and which connection that was. */
async function answering(...answers: (readonly string[] | ((socket: Socket) => void))[]) {
  const sockets: Socket[] = [];
  const askedOver: number[] = [];
  const server = createServer((socket) => {
    const number = sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", async () => {
      const answer = answers[Math.min(askedOver.push(number), answers.length) - 1];
      if (typeof answer === "function") return answer(socket);
      for (const [i, piece] of (answer ?? []).entries()) {
        if (i > 0) await pause(5);
        socket.write(piece);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets, askedOver };
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

it.each<[string, readonly string[], Partial<PostResult>]>([
  ["of known length", [OK], { status: 200, body: "ok" }],
  ["in pieces, cut anywhere", [...OK], { status: 200, body: "ok" }],
  [
    "in chunks with what may stand beside them",
    [
      "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n4;name=x\r\nein",
      "s\r\n1\r\n!\r\n0\r\nTrailer: a\r\n",
      "\r\n",
    ],
    { status: 201, body: "eins!" },
  ],
  ["without a body", ["HTTP/1.1 204 No Content\r\n\r\n"], { status: 204, body: "" }],
  [
    "without a body, whatever it says of one",
    ["HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\n"],
    { status: 204, body: "" },
  ],
  [
    "behind several that only inform",
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", OK],
    { status: 200, body: "ok" },
  ],
])("an answer %s is read, and the connection used again", async (_what, pieces, expected) => {
  const server = await answering(pieces);
  const { post } = postsTo(server.origin);
  for (const connection of [1, 1, 1]) {
    expect(await post()).toMatchObject(expected);
    expect(server.askedOver.at(-1)).toBe(connection);
  }
});

it.each<[string, readonly string[] | ((socket: Socket) => void), string]>([
  ["says that it closes", ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\nConnection: close\r\n\r\nok"], "ok"],
  ["speaks HTTP/1.0", ["HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"], "ok"],
  [
    "ends its answer with the connection",
    (socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\nto the end"),
    "to the end",
  ],
  [
    "keeps it for no longer than a second",
    ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\nKeep-Alive: timeout=1\r\n\r\nok"],
    "ok",
  ],
  ["says more than the answer", [`${OK}\r\n`], "ok"],
  ["answers twice", [`${OK}HTTP/1.1 500 No\r\ncontent-length: 2\r\n\r\nno`], "ok"],
  ["begins another answer", [`${OK}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n`], "ok"],
])("a connection of a server that %s is not used again", async (_what, answer, body) => {
  const server = await answering(answer);
  const { post } = postsTo(server.origin);
  for (const connection of [1, 2, 3]) {
    expect(await post()).toMatchObject({ status: 200, body });
    expect(server.askedOver.at(-1)).toBe(connection);
  }
  await until(() => server.sockets.every(({ destroyed }) => destroyed), "the connections being closed");
});

it("a connection is not used again once the server says anything unasked, or ends it", async () => {
  const server = await answering(["HTTP/1.1 200 OK\r\ncontent-length: 2\r\nKeep-Alive: timeout=600\r\n\r\nok"]);
  const { post } = postsTo(server.origin);
  await post();
  server.sockets[0]?.write("HTTP/1.1 408 Request Timeout\r\n\r\n");
  await until(() => server.sockets[0]?.destroyed, "the first connection being closed");
  await post();
  server.sockets[1]?.end();
  await until(() => server.sockets[1]?.destroyed, "the second connection being closed");
  expect(await post()).toMatchObject({ status: 200, body: "ok" });
  expect(server.askedOver).toEqual([1, 2, 3]);
});

it("a connection is used for a second less than the server keeps it, and closed then", async () => {
  const server = await answering(["HTTP/1.1 200 OK\r\ncontent-length: 2\r\nKeep-Alive: timeout=2\r\n\r\nok"]);
  const { post } = postsTo(server.origin);
  await post();
  await post();
  expect(server.askedOver).toEqual([1, 1]);
  await until(() => server.sockets[0]?.destroyed, "the connection being closed");
  await post();
  expect(server.askedOver).toEqual([1, 1, 2]);
});

it("a connection that has been quiet for too long is not used, though nobody had the time to close it", async () => {
  const server = await answering(["HTTP/1.1 200 OK\r\ncontent-length: 2\r\nKeep-Alive: timeout=2\r\n\r\nok"]);
  const { post } = postsTo(server.origin);
  await post();
  const until = performance.now() + 1_100;
  while (performance.now() < until); // as a process that was stopped: no timer comes before the next post
  expect(await post()).toMatchObject({ status: 200 });
  expect(server.askedOver).toEqual([1, 2]);
});

it.each([
  ["what is no HTTP", "what?\r\n\r\n"],
  ["a head without end", `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(20_000)}`],
  ["chunks that are none", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nokNOT\r\n0\r\n\r\n"],
  ["another protocol", "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n\u0081\u0001a"],
])("an answer of %s is a failure of something that was written", async (_what, answer) => {
  const server = await answering([answer]);
  const { post } = postsTo(server.origin, { timeoutMs: 500 });
  expect(await post()).toMatchObject({ isWritten: true, error: expect.stringMatching(/\w/) });
  await until(() => server.sockets[0]?.destroyed, "the connection being closed");
});

it("more than there are connections wait for the next that is free, and each is answered as itself", async () => {
  let most = 0;
  const server = await serve((request, response) => {
    most = Math.max(most, server.sockets.size);
    const closes = request.url?.endsWith("7");
    setTimeout(() => response.writeHead(200, closes ? { connection: "close" } : {}).end(request.url), 5);
  });
  const { connections, results } = postsTo(server.origin);
  for (let id = 1; id <= 1_500; id++) connections.post(id, `/${id}`, "{}");
  await until(() => results.size === 1_500, "all answers", 30_000);
  for (const [id, result] of results) expect(result).toMatchObject({ status: 200, body: `/${id}` });
  expect(most).toBeLessThanOrEqual(256);
  expect(most).toBeGreaterThan(200);
  expect(new Set(server.seen).size).toBe(1_500);
  expect(server.seen).toHaveLength(1_500);
});

it("what waits when the connections are closed was not written, what is under way may have been", async () => {
  const server = await serve(() => {});
  const { connections, results } = postsTo(server.origin);
  for (let id = 1; id <= 300; id++) connections.post(id, `/${id}`, "{}");
  await until(() => server.seen.length === 256, "as many as there are connections");
  connections.close();
  expect(results.size).toBe(300);
  for (const [id, result] of results) expect(result).toMatchObject({ isWritten: id <= 256 });
  await until(() => server.sockets.size === 0, "the connections being closed");
});

it.each(["a\r\nx-injected: 1", "a\nb", "\u{1f511}"])("a header of %j is none: nothing is written", async (secret) => {
  const server = await serve((_request, response) => void response.end());
  const { post } = postsTo(server.origin, { headers: { "x-secret": secret } });
  expect(await post()).toMatchObject({ isWritten: false, error: expect.stringContaining("header") });
  expect(server.seen).toEqual([]);
});

it("an address of IPv6 is no name that has to be looked up", async () => {
  const result = await postsTo("http://[::1]:1").post();
  expect(result).toMatchObject({
    isWritten: false,
    code: expect.stringMatching(/ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH/),
  });
});

it.each(["/a b", "/a\r\nx-injected: 1", "/ü", "/\u0000"])("%j is no path: nothing is written", async (path) => {
  const server = await serve((_request, response) => void response.end());
  expect(await postsTo(server.origin).post(path)).toMatchObject({ isWritten: false });
  expect(server.seen).toEqual([]);
});
