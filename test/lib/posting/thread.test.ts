/** The life of the thread that posts: it is used in crowds only, may be missing or die, and no post is lost, doubled or left waiting. */
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../../support/until.js";
import {
  type Handler,
  hereTo,
  notHere,
  type Outcome,
  outcomeOf,
  postingBy,
  serve,
  startPosting,
  type TestServer,
  type TestThread,
  targetOf,
} from "./rig.js";

const REST_MS = 60_000;
const PROJECT = resolve(import.meta.dirname, "../../..");
const named = (name: string, count: number) => Array.from({ length: count }, (_, i) => `/${name}/${i}`);

async function ready(start?: Parameters<typeof startPosting>[0]): Promise<TestThread> {
  const posting = startPosting(start);
  onTestFinished(async () => {
    for (const worker of posting.workers) await worker.terminate();
  });
  await posting.ready();
  return posting;
}

/** Answers with the path, once `open` was called. */
function gate(): { handler: Handler; open(): void } {
  let isOpen = false;
  const waiting: (() => void)[] = [];
  return {
    handler(request, response) {
      const answer = () => void response.end(request.url);
      if (isOpen) answer();
      else waiting.push(answer);
    },
    open() {
      isOpen = true;
      for (const answer of waiting.splice(0)) answer();
    },
  };
}

/** The promise: what was answered came once, what was not written never, and nothing twice. */
function expectNoneLostOrDoubled(outcomes: readonly Outcome[], { seen }: TestServer): void {
  for (const outcome of outcomes) {
    const times = seen.filter((path) => path === outcome.path).length;
    expect(times, outcome.path).toBeLessThanOrEqual(1);
    if (outcome.kind === "answered") {
      expect(times, outcome.path).toBe(1);
      expect(outcome.answer.body).toBe(outcome.path);
    } else {
      expect(outcome.isWritten, outcome.error.stack).toBeTypeOf("boolean");
      if (!outcome.isWritten) expect(times, outcome.path).toBe(0);
    }
  }
}

it("makes those of a crowd by the thread and the others where they are asked for", async () => {
  const { handler, open } = gate();
  const server = await serve(handler);
  const here = hereTo(targetOf(server.origin));
  const line = postingBy(await ready(), targetOf(server.origin), 5);
  const outcomes = named("a", 12).map((path) =>
    outcomeOf(
      path,
      line.post(path, "", () => here.post(path, "")),
    ),
  );
  await until(() => server.seen.length === 12, "all requests");
  expect(here.count).toBe(5);
  open();
  expectNoneLostOrDoubled(await Promise.all(outcomes), server);
  await line.post("/alone", "", () => here.post("/alone", ""));
  expect(here.count).toBe(6);
});

it("makes all of a crowd where they are asked for until the thread is there", async () => {
  const posting = startPosting();
  onTestFinished(() => void posting.workers[0]?.terminate());
  const server = await serve((request, response) => void response.end(request.url));
  const here = hereTo(targetOf(server.origin));
  const line = postingBy(posting, targetOf(server.origin));
  const outcomes = named("a", 20).map((path) =>
    outcomeOf(
      path,
      line.post(path, "", () => here.post(path, "")),
    ),
  );
  expectNoneLostOrDoubled(await Promise.all(outcomes), server);
  expect(here.count).toBe(20);
  expect(posting.workers).toHaveLength(1);
});

it("tells whoever waits when it dies, does without for a minute, and is started again then", async () => {
  const { handler, open } = gate();
  const server = await serve(handler);
  const posting = await ready();
  const line = postingBy(posting, targetOf(server.origin));
  const other = postingBy(posting, targetOf(server.origin));
  const under = [...named("a", 20), ...named("b", 20)].map((path, i) =>
    outcomeOf(path, (i < 20 ? line : other).post(path, "", notHere)),
  );
  await until(() => server.seen.length === 40, "all requests");
  await posting.workers[0]?.terminate();
  const outcomes = await Promise.all(under);
  for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: "failed", isWritten: true });
  expectNoneLostOrDoubled(outcomes, server);
  expect(posting.lines).toEqual([expect.stringContaining("the thread that posts ended")]);

  open();
  const here = hereTo(targetOf(server.origin));
  const without = named("c", 5).map((path) =>
    outcomeOf(
      path,
      line.post(path, "", () => here.post(path, "")),
    ),
  );
  expectNoneLostOrDoubled(await Promise.all(without), server);
  expect(here.count).toBe(5);
  await posting.clock.advance(REST_MS - 1);
  expect(posting.thread.isReady(posting.logger)).toBe(false);
  expect(posting.workers).toHaveLength(1);

  await posting.clock.advance(1);
  await posting.ready();
  expect(posting.workers).toHaveLength(2);
  // Of servers that the new one has never heard of.
  const again = named("d", 5).map((path) => outcomeOf(path, line.post(path, "", notHere)));
  expectNoneLostOrDoubled(await Promise.all(again), server);
  expect((await Promise.all(again)).map(({ kind }) => kind)).not.toContain("failed");
});

it("has what it was not given yet made without it when it dies", async () => {
  const server = await serve((request, response) => void response.end(request.url));
  const posting = await ready();
  const here = hereTo(targetOf(server.origin));
  const line = postingBy(posting, targetOf(server.origin));
  const outcomes: Promise<Outcome>[] = [];
  // In the turn in which its end is heard of.
  posting.workers[0]?.prependListener("exit", () => {
    for (const path of named("a", 5))
      outcomes.push(
        outcomeOf(
          path,
          line.post(path, "", () => here.post(path, "")),
        ),
      );
  });
  await posting.workers[0]?.terminate();
  await until(() => outcomes.length === 5, "the posts");
  const all = await Promise.all(outcomes);
  expectNoneLostOrDoubled(all, server);
  expect(all.map(({ kind }) => kind)).not.toContain("failed");
  expect(here.count).toBe(5);
});

it.each<[string, () => Worker]>([
  ["has no file", () => new Worker(new URL("./nowhere.js", import.meta.url))],
  [
    "cannot be started",
    () => {
      throw new Error("no more threads");
    },
  ],
  ["fails in its first line", () => new Worker("throw new Error('bad build')", { eval: true })],
  ["ends before it is ready", () => new Worker("process.exit(3)", { eval: true })],
])("is done without when it %s, which is said once", async (_why, start) => {
  const posting = startPosting(start);
  const server = await serve((request, response) => void response.end(request.url));
  const here = hereTo(targetOf(server.origin));
  const line = postingBy(posting, targetOf(server.origin));
  const post = (path: string) =>
    outcomeOf(
      path,
      line.post(path, "", () => here.post(path, "")),
    );
  const outcomes = await Promise.all(named("a", 10).map(post));
  await until(() => posting.lines.length > 0, "the log");
  outcomes.push(...(await Promise.all(named("b", 10).map(post))));
  expectNoneLostOrDoubled(outcomes, server);
  expect(outcomes.map(({ kind }) => kind)).not.toContain("failed");
  expect(posting.lines).toHaveLength(1);
});

it("ends what is under way to a server when that is closed, and nothing else", async () => {
  const { handler, open } = gate();
  const [server, neighbour] = [await serve(handler), await serve(handler)];
  const posting = await ready();
  const line = postingBy(posting, targetOf(server.origin));
  const next = postingBy(posting, targetOf(neighbour.origin));
  const given = named("given", 10).map((path) => outcomeOf(path, line.post(path, "", notHere)));
  const kept = named("kept", 10).map((path) => outcomeOf(path, next.post(path, "", notHere)));
  await until(() => server.seen.length + neighbour.seen.length === 20, "all requests");
  const listed = named("listed", 10).map((path) => outcomeOf(path, line.post(path, "", notHere)));
  line.close();
  line.close();
  for (const outcome of await Promise.all(given)) expect(outcome).toMatchObject({ kind: "failed", isWritten: true });
  for (const outcome of await Promise.all(listed)) expect(outcome).toMatchObject({ kind: "failed", isWritten: false });
  await until(() => server.sockets.size === 0, "the connections being closed");
  open();
  expectNoneLostOrDoubled([...(await Promise.all(given)), ...(await Promise.all(listed))], server);
  expectNoneLostOrDoubled(await Promise.all(kept), neighbour);
  expect((await Promise.all(kept)).map(({ kind }) => kind)).not.toContain("failed");

  // Who posts all the same is not given new connections that nobody closes.
  const late = await outcomeOf(
    "/late",
    line.post("/late", "", () => Promise.reject(new Error("the pool is closed"))),
  );
  expect(late).toMatchObject({ kind: "failed", error: { message: "the pool is closed" } });
  expect(server.seen).toHaveLength(10);
});

it("waits no longer for what is given up, and never makes what was not made yet", async () => {
  const { handler, open } = gate();
  const server = await serve(handler);
  const posting = await ready();
  const line = postingBy(posting, targetOf(server.origin));
  const controller = new AbortController();
  const post = (path: string, signal = controller.signal) => outcomeOf(path, line.post(path, "", notHere, signal));
  const given = named("given", 5).map((path) => post(path));
  await until(() => server.seen.length === 5, "the requests");
  const listed = named("listed", 5).map((path) => post(path));
  const kept = post("/kept", new AbortController().signal);
  controller.abort();
  for (const outcome of await Promise.all(given)) expect(outcome).toMatchObject({ kind: "failed", isWritten: true });
  for (const outcome of await Promise.all(listed)) expect(outcome).toMatchObject({ kind: "failed", isWritten: false });
  open();
  expect(await kept).toMatchObject({ kind: "answered" });
  expectNoneLostOrDoubled(await Promise.all([...given, ...listed, kept]), server);
  const late = line.post("/late", "", () => Promise.reject(new Error("given up before")), controller.signal);
  await expect(late).rejects.toThrow("given up before");
});

it("loses and doubles nothing at a server that ends connections as it likes, though the thread dies as well", async () => {
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
  const posting = await ready();
  const here = hereTo(targetOf(server.origin));
  const line = postingBy(posting, targetOf(server.origin), 4);
  const outcomes: Outcome[] = [];
  const paths = named("a", 500);
  const sender = async () => {
    for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
      const own = path;
      outcomes.push(
        await outcomeOf(
          own,
          line.post(own, own, () => here.post(own, own)),
        ),
      );
      if (outcomes.length === 200) void posting.workers[0]?.terminate();
      if (outcomes.length === 300) await posting.clock.advance(REST_MS).then(() => posting.ready());
    }
  };
  await Promise.all(Array.from({ length: 40 }, sender));
  expect(outcomes).toHaveLength(500);
  expectNoneLostOrDoubled(outcomes, server);
  expect(posting.workers).toHaveLength(2);
  expect(here.count).toBeLessThan(400);
  expect(outcomes.filter(({ kind }) => kind === "answered").length).toBeGreaterThan(100);
});

it("keeps a process alive for what is under way and not a moment longer", async () => {
  const server = await serve((request, response) => void setTimeout(() => response.end(request.url), 300));
  const child = resolve(import.meta.dirname, "posting-child.ts");
  const printed = (...args: string[]) =>
    new Promise((done) => {
      const options = { cwd: PROJECT, timeout: 40_000 };
      execFile(process.execPath, ["--import", "tsx", child, ...args], options, (error, out) =>
        done({ code: error ? (error.code ?? error.signal) : 0, out }),
      );
    });
  expect(await Promise.all([printed(server.origin), printed()])).toEqual([
    { code: 0, out: "answered /last/1\n" },
    { code: 0, out: "ready\n" },
  ]);
});
