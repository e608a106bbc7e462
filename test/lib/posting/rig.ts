/** A real server on loopback that keeps what reached it, and a posting thread that a test can kill. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Worker } from "node:worker_threads";
import { Pool } from "undici";
import { onTestFinished } from "vitest";
import type { Logger } from "../../../src/lib/logger.js";
import { contentOf, type PostAnswer, PostError } from "../../../src/lib/posting/answer.js";
import { Posting } from "../../../src/lib/posting/posting.js";
import type { PostTarget } from "../../../src/lib/posting/protocol.js";
import { PostingThread } from "../../../src/lib/posting/thread.js";
import { startThread } from "../../../src/lib/worker-file.js";
import { ManualClock } from "../../support/manual-clock.js";
import { until } from "../../support/until.js";

export interface TestServer {
  origin: string;
  /** Paths of all requests whose head came, in order. */
  seen: string[];
  sockets: Set<Socket>;
  server: Server;
}

export type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** `isEarly`: the handler is called when a request's head is there, and not when all of it is. */
export async function serve(handler: Handler, isEarly = false): Promise<TestServer> {
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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, sockets, server };
}

export function targetOf(origin: string, more: Partial<PostTarget> = {}): PostTarget {
  const headers = { "content-type": "application/json", "x-secret": "s3" };
  return { origin, headers, timeoutMs: 20_000, connectTimeoutMs: 20_000, readHeaders: [], ...more };
}

export interface TestThread {
  thread: PostingThread;
  clock: ManualClock;
  /** All that were started. */
  workers: Worker[];
  /** What the log was told. */
  lines: string[];
  logger: Logger;
  ready(): Promise<void>;
}

export function startPosting(start = startWorker): TestThread {
  const clock = new ManualClock();
  const workers: Worker[] = [];
  const lines: string[] = [];
  const line = (_facts: object, message = "") => void lines.push(message);
  const logger: Logger = { debug: line, info: line, warn: line, error: line, child: () => logger };
  const thread = new PostingThread(clock, () => {
    const worker = start();
    workers.push(worker);
    return worker;
  });
  const ready = () => until(() => thread.isReady(logger), "the thread being ready").then(() => {});
  return { thread, clock, workers, lines, logger, ready };
}

export function startWorker(): Worker {
  return startThread("posting", new URL("../../../src/lib/posting/worker.ts", import.meta.url), "posting-worker.js");
}

/** One whose posts all go by the thread. */
export function postingBy({ thread, logger }: TestThread, target: PostTarget, crowd = 0): Posting {
  const posting = new Posting({ target, logger, crowd, thread });
  onTestFinished(() => posting.close());
  return posting;
}

/** How posts are made in this thread: by undici. */
export function hereTo({ origin, headers, timeoutMs, connectTimeoutMs, readBody }: PostTarget): {
  count: number;
  post(path: string, body: string): Promise<PostAnswer>;
} {
  const pool = new Pool(origin, { connect: { timeout: connectTimeoutMs } });
  onTestFinished(() => pool.destroy());
  const here = {
    count: 0,
    async post(path: string, body: string): Promise<PostAnswer> {
      here.count++;
      const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
      const answer = await pool.request({ path, method: "POST", headers, body, ...limits }).catch(asPostError);
      const { statusCode: status, headers: read } = answer;
      const header = (name: string) => [read[name] ?? null].flat()[0] ?? null;
      return { status, header, ...contentOf(status, await answer.body.text().catch(asPostError), readBody) };
    },
  };
  return here;
}

/** Undici tells by its code at most whether anything was written; nobody who is made to fail here cares. */
function asPostError(error: Error): never {
  throw new PostError(error.message, true);
}

/** For posts that are to go by the thread. */
export async function notHere(): Promise<PostAnswer> {
  throw new Error("it was made here");
}

/** What became of a post. */
export type Outcome = { path: string } & (
  | { kind: "answered"; answer: PostAnswer }
  | { kind: "failed"; error: Error; isWritten: boolean | undefined; code: string | undefined }
);

export function outcomeOf(path: string, answer: Promise<PostAnswer>): Promise<Outcome> {
  return answer.then(
    (value): Outcome => ({ path, kind: "answered", answer: value }),
    (error: Error): Outcome => {
      const { isWritten, code } = error instanceof PostError ? error : { isWritten: undefined, code: undefined };
      return { path, kind: "failed", error, isWritten, code };
    },
  );
}
