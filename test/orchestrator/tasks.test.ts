/** Tasks from being asked for to their end, through the started product: real programs, real requests, a real model's wire format. */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { afterEach, describe, expect, it } from "vitest";
import { processRuns } from "../automations/hooked-gateway.js";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";
import { type TaskedApp, taskedApp, waysOf } from "./support/tasked-app.js";

const sh = (line: string, more: Record<string, unknown> = {}) => ({ shell: { sh: line }, ...more });
const lines = (app: TaskedApp, file: string) => linesOf(join(app.folder, file));

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

describe("a task that a program does", () => {
  it("goes from pending to done, and its history says who made what of it", async () => {
    const app = await taskedApp({ orchestrator: { runners: { echo: sh('echo "hello $HOOKGATE_TASK_TITLE"') } } });
    const id = await app.add("/task add echo Say it");
    const task = await app.becomes(id, "done");
    expect(waysOf(task)).toEqual(["pending>assigned", "assigned>in_progress", "in_progress>done"]);
    expect(task.history.map(({ by }) => by)).toEqual(["web:1 (Owner)", "orchestrator", "runner:echo", "runner:echo"]);
    expect(task.result).toMatchObject({ ok: true, output: "hello Say it\n", exitCode: 0 });
  });

  it("has the task on standard input, and gives JSON and files back", async () => {
    const app = await taskedApp({
      orchestrator: { runners: { give: sh('cat > task.json; echo "::file out/site.zip"; echo \'{"built": 3}\'') } },
    });
    const id = await app.add('/task add give description="All of it" Build');
    const task = await app.becomes(id, "done");
    expect(task.result).toMatchObject({ data: { built: 3 }, files: ["out/site.zip"] });
    expect(JSON.parse(readFileSync(join(app.folder, "task.json"), "utf8"))).toMatchObject({
      id,
      title: "Build",
      description: "All of it",
      attempt: 1,
    });
  });

  it("is done when it prints JSON that is nested too deep: that is text, and no data", async () => {
    const deep = "head -c 5000 /dev/zero | tr '\\000' '['; head -c 5000 /dev/zero | tr '\\000' ']'";
    const app = await taskedApp({ orchestrator: { runners: { deep: sh(deep) } } });
    const { result } = await app.becomes(await app.add("/task add deep Print"), "done");
    expect(result).toMatchObject({ ok: true, output: expect.stringMatching(/^\[+\]+$/) });
    expect(result).not.toHaveProperty("data", expect.anything());
  });

  it("is done again as often as its policy says, and fails with the program's last words", async () => {
    const app = await taskedApp({
      orchestrator: { runners: { no: sh("echo try >> tries; echo 'the disk is full' >&2; exit 3") } },
    });
    const id = await app.add("/task add no Never works retries=2");
    const task = await app.becomes(id, "failed");
    expect(lines(app, "tries")).toHaveLength(3);
    expect(task).toMatchObject({ attempt: 3, retries: 2, lastError: "the program exited with 3: the disk is full" });
    expect(waysOf(task).filter((way) => way === "in_progress>pending")).toHaveLength(2);
    // A person may still want it.
    writeFileSync(join(app.folder, "tries"), "");
    expect((await app.command(`/task retry ${id}`)).outcome).toBe("done");
    await until(() => lines(app, "tries").length === 4 - 1, "the three tries that the policy allows anew");
  });

  it("does not count its progress marks among its last words", async () => {
    const app = await taskedApp({ orchestrator: { runners: { no: sh("echo ::progress 40 packing; exit 3") } } });
    const task = await app.becomes(await app.add("/task add no Pack"), "failed");
    expect(task.lastError ?? task.reason).toBe("the program exited with 3");
  });

  it("is ended with its whole family when its time is over", async () => {
    const family =
      "sh -c 'echo $$ >> pids; sleep 60' & setsid sh -c 'echo $$ >> pids; sleep 60' & echo $$ >> pids; wait";
    const app = await taskedApp({ orchestrator: { runners: { slow: sh(family) } } });
    const id = await app.add("/task add slow Take long timeout=2s");
    const task = await app.becomes(id, "failed", 40_000);
    expect(task.reason).toMatch(/^timeout: it did not end in time/);
    const pids = lines(app, "pids").map(Number);
    expect(pids).toHaveLength(3);
    await until(() => pids.filter(processRuns).length === 0, "the end of the family");
  });

  it("is ended when it is cancelled, and its late end changes nothing", async () => {
    const app = await taskedApp({ orchestrator: { runners: { slow: sh("echo $$ > pid; sleep 60") } } });
    const id = await app.add("/task add slow Take long");
    await until(() => lines(app, "pid").length === 1, "the program running");
    expect((await app.command(`/task cancel ${id} not needed any more`)).outcome).toBe("done");
    await until(() => !processRuns(Number(lines(app, "pid")[0])), "the end of the program");
    const task = await app.task(id);
    expect(task).toMatchObject({ status: "cancelled", reason: "not needed any more" });
    expect(waysOf(task).at(-1)).toBe("in_progress>cancelled");
  });

  it("is cancelled with all others of its state and reason, after a question with their number", async () => {
    const app = await taskedApp({ orchestrator: { runners: { no: sh("exit 3") } } });
    for (const title of ["One", "Two"]) await app.add(`/task add person:web:9 ${title} group=old`);
    const other = await app.add("/task add person:web:9 Other");
    const asked = await app.command("/task cancel all group=old");
    expect(asked.text).toMatch(/^Cancel 2 tasks in the group "old"\?/);
    expect((await app.task(other)).status).not.toBe("cancelled");
    expect((await app.command("/task cancel all reason=crash")).text).toContain("no open task");
    expect((await app.command("/task cancel done")).text).toContain("What is done has ended, and is not cancelled.");
    expect((await app.command("/task cancel all group=old --yes")).text).toContain("2 tasks cancelled");
    expect((await app.command("/task cancel all group=old yes=true")).text).toContain("no open task");
    expect((await app.task(other)).status).not.toBe("cancelled");
  });

  it("streams what it is at into one card, and what it prints into one message in its thread, each edited in place", async () => {
    const app = await taskedApp({
      orchestrator: {
        show_in: "web:web:general",
        runners: {
          pack: sh('echo "::progress 40 packing"; echo "file 1 of 3"; while [ ! -e go ]; do sleep 0.1; done; echo bye'),
        },
      },
      config: { web: { rooms: [{ id: "general", name: "General" }], access: { chats: ["*"], mention: "always" } } },
    });
    const id = await app.add("/task add pack Pack it");
    const cards = async () => (await app.room("general")).filter(({ card }) => card?.title?.includes("Pack it"));
    const during = await until(
      async () => (await cards()).find(({ raw }) => JSON.stringify(raw).includes("40 %")),
      "the bar in the card",
    );
    expect(JSON.stringify(during.raw)).toContain("packing");
    const printed = async () => (await app.room("general")).filter(({ raw }) => raw.threadId === String(during.id));
    const output = await until(
      async () => (await printed()).find(({ text }) => text.includes("file 1 of 3")),
      "the output in the card's thread",
    );
    expect(JSON.stringify((await cards())[0]?.raw)).not.toContain("file 1 of 3");
    writeFileSync(join(app.folder, "go"), "");
    await app.becomes(id, "done");
    const after = await until(
      async () => (await cards()).find(({ card }) => card?.title?.startsWith("✅")),
      "the card saying that it is done",
    );
    expect(after.id).toBe(during.id);
    expect(await cards()).toHaveLength(1);
    const end = await until(
      async () => (await printed()).find(({ text }) => text.includes("bye") && text.includes("✅ done")),
      "the output to its end",
    );
    expect([end.id, await printed()]).toEqual([output.id, [end]]);
  });
});

describe("what starts when", () => {
  it("waits for what it depends on, is blocked when that fails, and goes on when it is mended", async () => {
    const app = await taskedApp({
      orchestrator: { runners: { first: sh("[ -e may ] || exit 1"), next: sh("echo next") } },
    });
    const first = await app.add("/task add first One");
    await app.becomes(first, "failed");
    const then = await app.add(`/task add next Two after=${first}`);
    const blocked = await app.becomes(then, "blocked");
    expect(blocked.hold).toMatchObject({ kind: "dependency", by: first });
    writeFileSync(join(app.folder, "may"), "");
    await app.command(`/task retry ${first}`);
    await app.becomes(first, "done");
    await app.becomes(then, "done");
  });

  it("gives the room there is to the highest priority, one at a time", async () => {
    const app = await taskedApp({
      orchestrator: {
        runners: {
          one: sh(
            'echo "$HOOKGATE_TASK_TITLE" >> order; [ "$HOOKGATE_TASK_TITLE" != a ] || while [ ! -e go ]; do sleep 0.1; done',
          ),
        },
      },
    });
    const ids = [await app.add("/task add one a")];
    await until(() => lines(app, "order").length === 1, "the first running");
    ids.push(
      await app.add("/task add one b"),
      await app.add("/task add one c priority=5"),
      await app.add("/task add one d"),
    );
    writeFileSync(join(app.folder, "go"), "");
    for (const id of ids) await app.becomes(id, "done");
    expect(lines(app, "order")).toEqual(["a", "c", "b", "d"]);
  });

  it("waits for an approval, and fails when that is refused", async () => {
    const app = await taskedApp({ orchestrator: { runners: { go: sh("true") } } });
    const yes = await app.add("/task add go Yes approve=true");
    const no = await app.add("/task add go No approve=true");
    await app.becomes(yes, "awaiting_approval");
    await app.becomes(no, "awaiting_approval");
    await app.command(`/task approve ${yes}`);
    await app.command(`/task refuse ${no} too dear`);
    expect(await app.becomes(yes, "done")).toMatchObject({ approvedBy: "web:1 (Owner)" });
    expect(await app.becomes(no, "failed")).toMatchObject({ reason: "too dear" });
    const silent = await app.add("/task add go Never approve=true");
    await app.becomes(silent, "awaiting_approval");
    await app.command(`/task refuse ${silent}`);
    expect(await app.becomes(silent, "failed")).toMatchObject({ reason: "Owner refused it" });
  });

  it("says what is wrong with a task before there is one", async () => {
    const app = await taskedApp({ orchestrator: { runners: { build: sh("true") } } });
    const wrong = async (line: string) => (await app.command(line)).text;
    expect(await wrong("/task add biuld Something")).toContain('Did you mean "build"?');
    expect(await wrong("/task add build Late due=2020-01-01T00:00Z")).toContain("is in the past");
    expect(await wrong("/task add build Never due=2026-02-31T00:00Z")).toContain("is no time");
    expect(await wrong("/task add build After after=t_none")).toContain('there is no task "t_none"');
    expect((await app.command("/task list all")).data.total).toBe(0);
  });
});

describe("a task that another system does", () => {
  it("is sent with its run's id, and what comes back is its result", async () => {
    const seen: { headers: IncomingMessage["headers"]; body: string }[] = [];
    const server: Server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        seen.push({ headers: request.headers, body });
        response.statusCode = seen.length === 1 ? 503 : 200;
        response.setHeader("content-type", "application/json");
        response.end(seen.length === 1 ? "later" : '{"deployed": true}');
      });
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    closers.push(() => server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const app = await taskedApp({
      orchestrator: {
        runners: { deploy: { http: { url: `http://127.0.0.1:${port}/run`, bearer_env: "DEPLOY", sign_env: "SIGN" } } },
      },
      env: { DEPLOY: "a-token-for-deploying", SIGN: "a-secret-for-signing" },
    });
    const id = await app.add("/task add deploy Ship it retries=1");
    const task = await app.becomes(id, "done");
    expect(task.result).toMatchObject({ httpStatus: 200, data: { deployed: true } });
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill("Bearer a-token-for-deploying"));
    expect(new Set(seen.map(({ headers }) => headers["webhook-id"])).size).toBe(2);
    expect(seen[0]?.headers["webhook-signature"]).toMatch(/^v1,/);
    expect(JSON.parse(seen[1]?.body ?? "")).toMatchObject({
      type: "task.run",
      data: { id, attempt: 2, title: "Ship it" },
    });
  });
});

describe("a task that another system does slowly", () => {
  it("is given up when its time is over; what a stop cuts off is sent again as the same run", async () => {
    const seen: { id: unknown; title: string }[] = [];
    let hungUp = 0;
    let isSlow = true;
    const server: Server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        seen.push({ id: request.headers["webhook-id"], title: JSON.parse(body).data.title });
        response.on("close", () => {
          if (!response.writableEnded) hungUp++;
        });
        if (!isSlow) response.end("done");
      });
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    closers.push(
      () => server.closeAllConnections(),
      () => server.close(),
    );
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
    const app = await taskedApp({
      orchestrator: { shutdown_timeout: "100ms", runners: { deploy: { http: { url }, concurrency: 2 } } },
    });
    const late = await app.add("/task add deploy Too late timeout=300ms");
    expect((await app.becomes(late, "failed")).reason).toBe("timeout: it did not answer in time");
    await until(() => hungUp === 1, "the request being given up");

    const cut = await app.add("/task add deploy Cut off");
    await until(() => seen.length === 2, "the request");
    await app.stop();
    isSlow = false;
    await app.start();
    expect(await app.becomes(cut, "done")).toMatchObject({ attempt: 2, retries: 0 });
    expect(seen.map(({ title }) => title)).toEqual(["Too late", "Cut off", "Cut off"]);
    expect(seen[2]?.id).toBe(seen[1]?.id);
    expect(seen[1]?.id).not.toBe(seen[0]?.id);
  });
});

describe("a task that an agent does", () => {
  it("reports, starts another runner, and finishes with its verdict", async () => {
    const server = new LLMock({ port: 0 });
    await server.start();
    closers.push(() => server.stop());
    const call = (name: string, args: unknown) => ({ name, arguments: JSON.stringify(args) });
    const turns = [
      { toolCalls: [call("report", { now: "looking around", percent: 10 })] },
      { toolCalls: [call("count", { input: { word: "x" } })] },
      { toolCalls: [call("finish", { done: false, summary: "there are too few" })] },
      { toolCalls: [call("count", { input: { word: "after the end" } })] },
      { content: "I said so." },
    ];
    server.on({ predicate: () => true }, () => turns.shift() ?? { content: "nothing more" });
    const app = await taskedApp({
      config: {
        models: {
          available: { small: { provider: "openai-compatible", url: `${server.url}/v1`, model: "m", retries: 0 } },
        },
      },
      orchestrator: {
        runners: { writer: { agent: { tools: ["count"] } }, count: sh("cat > counted.json; echo 2") },
      },
    });
    const id = await app.add("/task add writer Count them");
    const task = await app.becomes(id, "failed");
    expect(task.lastError).toBe("there are too few");
    expect(JSON.parse(readFileSync(join(app.folder, "counted.json"), "utf8"))).toMatchObject({
      id,
      input: { word: "x" },
    });
    expect(JSON.stringify(server.getRequests().at(-1)?.body)).toContain("Count them");
    // After `finish` the model is not asked again.
    expect(server.getRequests()).toHaveLength(3);
  });
});
