/** What comes of a post by the thread is what comes of one made without it, and what is known of a failure is true. */
import { createServer as createNetServer, type Server as NetServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type FromThread, type PostTarget, readResults, type ToThread } from "../../../src/lib/posting/protocol.js";
import { until } from "../../support/until.js";
import {
  hereTo,
  notHere,
  outcomeOf,
  postingBy,
  serve,
  startPosting,
  startWorker,
  type TestThread,
  targetOf,
} from "./rig.js";

let posting: TestThread;
beforeAll(async () => {
  posting = startPosting();
  await posting.ready();
});
afterAll(async () => {
  for (const worker of posting.workers) await worker.terminate();
});

const through = (target: PostTarget, path = "/", body = "{}") =>
  outcomeOf(path, postingBy(posting, target).post(path, body, notHere));

async function listen(server: NetServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

describe("an answer", () => {
  const READ = ["retry-after", "x-ratelimit-scope", "x-twice", "x-missing"];
  const bothWays = async (handler: Parameters<typeof serve>[0], body = "{}", more: Partial<PostTarget> = {}) => {
    const server = await serve(handler);
    const target = targetOf(server.origin, { readHeaders: READ, ...more });
    const read = ({ status, found, body: text, header }: Awaited<ReturnType<typeof notHere>>) => ({
      status,
      found,
      text,
      headers: READ.map(header),
    });
    const byThread = read(await postingBy(posting, target).post("/a%20path?q=%C3%BC", body, notHere));
    expect(read(await hereTo(target).post("/a%20path?q=%C3%BC", body))).toEqual(byThread);
    expect(server.seen[0]).toBe(server.seen[1]);
    return byThread;
  };

  it("has status, text and the headers that are read, whatever their case", async () => {
    const answer = await bothWays((request, response, body) => {
      const { "content-type": type, "x-secret": secret } = request.headers;
      response.writeHead(429, { "Retry-After": "1.5", "X-RateLimit-Scope": "shared", "X-Twice": ["a", "b"] });
      response.end(JSON.stringify({ body, type, secret, method: request.method }));
    }, "häßlich 👩‍👩‍👧 \u0000 日本");
    expect(answer).toEqual({
      status: 429,
      text: JSON.stringify({
        body: "häßlich 👩‍👩‍👧 \u0000 日本",
        type: "application/json",
        secret: "s3",
        method: "POST",
      }),
      headers: ["1.5", "shared", "a", null],
    });
  });

  it("may be large, as may what it answers, and come in pieces that cut characters", async () => {
    const large = "日".repeat(700_000);
    const { text } = await bothWays((_request, response, body) => {
      const bytes = Buffer.from(body);
      response.write(bytes.subarray(0, 100_000)); // 1 more than whole characters
      setImmediate(() => response.end(bytes.subarray(100_000)));
    }, large);
    expect(text === large).toBe(true);
  });

  it("may be empty", async () => {
    expect(await bothWays((_request, response) => void response.writeHead(204).end())).toMatchObject({
      status: 204,
      text: "",
    });
  });

  it("is no more than what is looked for in it, and all of it when that is not there or the request failed", async () => {
    const answered = (body: string, status = 200) =>
      bothWays((_request, response) => void response.writeHead(status, { "retry-after": "2" }).end(body), "{}", {
        readBody: /^\{"id":"(\d*)"/,
      });
    const headers = ["2", null, null, null];
    expect(await answered('{"id":"9","nonce":"n"}')).toEqual({ status: 200, found: "9", text: "", headers });
    expect(await answered('{"id":""}', 201)).toEqual({ status: 201, found: "", text: "", headers });
    expect(await answered('{"id":"9"}', 429)).toEqual({ status: 429, text: '{"id":"9"}', headers });
    for (const body of ['{"nonce":"n","id":"9"}', ""])
      expect(await answered(body)).toEqual({ status: 200, text: body, headers });
  });

  it("is the one that comes after informational ones", async () => {
    const answer = await bothWays((_request, response) => {
      response.writeEarlyHints({ link: "</a>; rel=preload", "retry-after": "7" });
      response.writeHead(200, { "retry-after": "3" }).end("whole");
    });
    expect(answer).toEqual({ status: 200, text: "whole", headers: ["3", null, null, null] });
  });
});

describe("nothing was written", () => {
  it("when the connection is refused", async () => {
    const server = createNetServer();
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    const outcome = await through(targetOf(`http://127.0.0.1:${port}`));
    expect(outcome).toMatchObject({ kind: "failed", isWritten: false, code: "ECONNREFUSED" });
  });

  it("when the name is not known", async () => {
    const outcome = await through(targetOf("http://nowhere.invalid:80"));
    expect(outcome).toMatchObject({ kind: "failed", isWritten: false });
    expect(["ENOTFOUND", "EAI_AGAIN"]).toContain(outcome.kind === "failed" && outcome.code);
  });

  it("when the server takes too long to begin a secure line", async () => {
    let heard = "";
    const silent = createNetServer((socket) => {
      socket.on("data", (bytes) => (heard += bytes.toString("latin1")));
      socket.on("error", () => {});
    });
    const port = await listen(silent);
    const outcome = await through(targetOf(`https://127.0.0.1:${port}`, { connectTimeoutMs: 100 }), "/secret");
    expect(outcome).toMatchObject({
      kind: "failed",
      isWritten: false,
      error: { message: "no connection within 100 ms" },
    });
    expect(heard).not.toContain("/secret");
  });

  it("when it is no request at all", async () => {
    const server = await serve((_request, response) => void response.end());
    const outcome = await through(targetOf(server.origin), "no path");
    expect(outcome).toMatchObject({ kind: "failed", isWritten: false });
    expect(server.seen).toEqual([]);
  });

  it("when the thread does not know the server", async () => {
    const worker = startWorker();
    onTestFinished(() => void worker.terminate());
    const answers: FromThread[] = [];
    worker.on("message", (message: FromThread) => answers.push(message));
    worker.postMessage({ kind: "posts", target: 9, list: [41, "/", "{}"] } satisfies ToThread);
    await until(() => answers.length > 1, "the answer");
    const results = answers.flatMap((answer) => (answer.kind === "results" ? readResults(answer.list) : []));
    expect(results).toMatchObject([{ id: 41, isWritten: false }]);
  });
});

describe("it may have been done", () => {
  const failed = async (handler: Parameters<typeof serve>[0], isEarly = false, more: Partial<PostTarget> = {}) => {
    const server = await serve(handler, isEarly);
    const outcome = await through(targetOf(server.origin, more));
    expect(outcome).toMatchObject({ kind: "failed", isWritten: true });
    return outcome;
  };

  it("when no answer came in time", async () => {
    const outcome = await failed(() => {}, false, { timeoutMs: 100 });
    expect(outcome).toMatchObject({ error: { message: "no answer within 100 ms" } });
  });

  it("when the answer began and did not end in time", async () => {
    const outcome = await failed((_request, response) => void response.write("half"), false, { timeoutMs: 100 });
    expect(outcome).toMatchObject({ error: { message: "the answer stopped for 100 ms" } });
  });

  it("when the server ends the connection before it reads, after it has read, or in its answer", async () => {
    await failed(({ socket }) => void socket.resetAndDestroy(), true);
    await failed(({ socket }) => void socket.destroy());
    await failed((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => response.destroy());
    });
  });

  it("when what comes back is no HTTP", async () => {
    await failed(({ socket }) => void socket.end("what?\r\n\r\n"));
  });

  it("and its words say so without the path, which may hold a token", async () => {
    const outcome = await failed(({ socket }) => void socket.destroy());
    expect(outcome.kind === "failed" && outcome.error.message).toMatch(/\w/);
    const server = await serve(({ socket }) => void socket.destroy());
    const other = await through(targetOf(server.origin), "/bot123:SECRET/send");
    expect(other.kind === "failed" && other.error.message).not.toContain("SECRET");
  });
});
