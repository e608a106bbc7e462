/** What each step means by empty, by failed and by too much, through the running product. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Endpoint, openEndpoint } from "./endpoint.js";
import { type HookedGateway, hookedGateway, type StoredRun } from "./hooked-gateway.js";

const HERE = "web:web:dm-1";
const SECRET = "topsecret-of-the-steps";
type Step = Record<string, Record<string, unknown>>;
const hook = (id: string, context: Step[], more: Record<string, unknown> = {}) => ({
  id,
  trigger: "manual",
  context,
  run: { chat: { to: HERE, text: `${id} went on` } },
  ...more,
});

let endpoint: Endpoint;
let gateway: HookedGateway;

/** Each step: with nothing to tell, with something, and unable to tell. */
const steps = (url: string): Record<string, [empty: object, full: object, failing: object]> => ({
  shell: [{ sh: "true" }, { sh: "echo x" }, { command: ["no-such-program"] }],
  read_file: [{ path: "blank.txt" }, { path: "notes/a.txt" }, { path: "missing.txt" }],
  list_files: [{ path: "bare" }, { path: "notes" }, { path: "missing" }],
  file_diff: [
    { path: "notes/a.txt", against: "notes/copy.txt" },
    { path: "notes/a.txt", against: "notes/b.txt" },
    { path: "notes/a.txt", against: "missing.txt" },
  ],
  git_diff: [{ repo: "clean" }, { repo: "changed" }, { repo: "notes" }],
  run_tests: [
    { sh: "true" },
    { command: [process.execPath, "--test", "a.test.mjs"] },
    { command: ["no-such-program"] },
  ],
  http: [{ url: `${url}/empty` }, { url: `${url}/full` }, { url: "http://127.0.0.1:9/" }],
  db_query: [
    { query: "runs", args: { hook: "nobody" } },
    { query: "hooks" },
    { query: "runs", args: { status: "{{ event.trigger }}" } },
  ],
  journal: [{ of: "runs", hook: "nobody" }, { of: "dispatches" }, { of: "runs", since: "{{ event.trigger }}" }],
});
const NAMES = Object.keys(steps(""));

beforeAll(async () => {
  endpoint = await openEndpoint();
  const { url } = endpoint;
  const post = (id: string, options: Record<string, unknown>) =>
    hook(id, [{ http: { url: `${url}/${id}`, ...options } }]);
  gateway = await hookedGateway(
    [
      ...Object.entries(steps(url)).flatMap(([name, kinds]) =>
        ["empty", "full", "failing"].map((kind, index) =>
          hook(`${name}-${kind}`, [{ [name]: { ...kinds[index], skip_if: "empty" } }]),
        ),
      ),
      ...NAMES.map((name) => hook(`${name}-required`, [{ [name]: { ...steps(url)[name]?.[2], required: true } }])),
      hook("red-and-silent", [{ shell: { sh: "exit 1", skip_if: "empty" } }]),
      hook("red-and-required", [{ shell: { sh: "exit 4", required: true } }]),
      hook("error-page", [{ http: { url: `${url}/broken`, skip_if: "empty" } }]),
      hook(
        "one-of-two",
        [{ shell: { sh: "true", skip_if: "exit_zero" } }, { shell: { sh: "echo x", skip_if: "empty" } }],
        {
          skip_when: "any",
        },
      ),
      post("put", { method: "PUT", body: { who: "{{ event.trigger }}" }, auth: { bearer_env: "STEP_SECRET" } }),
      post("patch", { method: "PATCH", body: "plain words", auth: { user: "ann", password_env: "STEP_SECRET" } }),
      post("delete", { method: "DELETE", auth: { header: "X-Api-Key", value_env: "STEP_SECRET" } }),
      post("post", { method: "POST", body: [1, "two"], headers: { "X-Source": "hook {{ event.hookId }}" } }),
      post("head", { method: "HEAD" }),
      hook("hanging", [{ http: { url: `${url}/hang`, timeout: "500ms" } }]),
      hook("too-much", [
        { shell: { sh: "yes words | head -c 200000", max_bytes: 1000 } },
        { read_file: { path: "long.txt", max_bytes: 1000 } },
        { http: { url: `${url}/long`, max_bytes: 1000 } },
        { list_files: { path: "many", max_bytes: 100 } },
        { git_diff: { repo: "changed", max_bytes: 40 } },
        { run_tests: { sh: "yes words | head -c 200000", max_bytes: 1000 } },
        { db_query: { query: "hooks", max_bytes: 300 } },
        { journal: { of: "dispatches", max_bytes: 10 } },
        { file_diff: { path: "long.txt", against: "blank.txt", max_bytes: 1000 } },
      ]),
      ...["runs", "messages", "deliveries", "dispatches", "hooks", "status"].map((query) =>
        hook(`query-${query}`, [{ db_query: { query } }]),
      ),
      hook("recent", [{ journal: { of: "messages" } }, { journal: { of: "runs", limit: 1 } }]),
      hook("watches", [{ file_diff: { path: "log.txt", skip_if: "empty" } }], {
        run: { chat: { to: HERE, text: "new: {{ step_0.diff }}" } },
      }),
    ],
    { env: { STEP_SECRET: SECRET } },
  );
  const { folder } = gateway;
  for (const name of ["notes", "bare", "clean", "changed", "many"]) mkdirSync(join(folder, name), { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write("blank.txt", " \n");
  write("long.txt", "a line of words\n".repeat(5_000));
  write("log.txt", "first\n");
  write("a.test.mjs", 'import { test } from "node:test"; test("adds", () => {});');
  for (const [name, text] of [
    ["a", "one\n"],
    ["copy", "one\n"],
    ["b", "two\n"],
  ])
    write(`notes/${name}.txt`, `${text}`);
  for (let n = 0; n < 50; n++) write(`many/a-file-with-a-name-${n}.txt`, "");
  for (const name of ["clean", "changed"]) {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@b.c", ...args], { cwd: join(folder, name) });
    git("init", "-q");
    write(`${name}/a.txt`, "a\n");
    git("add", ".");
    git("commit", "-q", "-m", "first");
  }
  write("changed/a.txt", "b\n".repeat(100));
  await gateway.start();
  await gateway.ready();
  if (gateway.output().includes("hook broken")) throw new Error(gateway.output());
  endpoint.script((request, response) => {
    if (request.path === "/hang") return;
    const bodies: Record<string, string> = { "/full": "words", "/broken": "", "/long": "x".repeat(200_000) };
    response.writeHead(request.path === "/broken" ? 500 : 200).end(bodies[request.path] ?? "");
  });
}, 120_000);
afterAll(async () => {
  await gateway.close();
  await endpoint.close();
});

async function fire(id: string): Promise<StoredRun> {
  const before = gateway.runs(id).length;
  await gateway.command(`/fire-hook ${id} live=true`);
  const run = gateway.runs(id)[before];
  if (run === undefined) throw new Error(`${id} was not run`);
  return run;
}

describe.each(NAMES)("the step %s", (name) => {
  it("is empty when there is nothing, and then the run is skipped, with the reason", async () => {
    const run = await fire(`${name}-empty`);
    expect(run).toMatchObject({ status: "skipped", statusReason: `skip_if: steps[0] ${name}: empty` });
    expect(run.attempts[0]?.steps).toMatchObject([{ step: name, outcome: "skipping" }]);
  });

  it("is not empty when there is something, nor when it failed", async () => {
    expect(await fire(`${name}-full`)).toMatchObject({
      status: "succeeded",
      attempts: [{ steps: [{ outcome: "passed" }] }],
    });
    const failed = await fire(`${name}-failing`);
    expect(failed).toMatchObject({ status: "succeeded", attempts: [{ steps: [{ outcome: "failed" }] }] });
    expect(failed.attempts[0]?.steps[0]?.error).toBeTruthy();
  });

  it("ends the run when it failed and was required", async () => {
    const run = await fire(`${name}-required`);
    expect(run).toMatchObject({
      status: "failed",
      statusReason: expect.stringContaining(`steps[0] ${name} is required`),
    });
  });
});

it("a required program that printed nothing is named with its exit code", async () => {
  const statusReason = "steps[0] shell is required: the program exited with 4";
  expect(await fire("red-and-required")).toMatchObject({ status: "failed", statusReason });
});

it.each(["red-and-silent", "error-page"])("nothing to read is not nothing to do: %s", async (id) => {
  expect(await fire(id)).toMatchObject({ status: "succeeded" });
});

it("skip_when: any needs one", async () => {
  const reason = "skip_if: steps[0] shell: exit_zero";
  expect(await fire("one-of-two")).toMatchObject({ status: "skipped", statusReason: reason });
});

describe("an http step", () => {
  it("sends any method, headers, bodies and logins, and keeps no login in its history", async () => {
    endpoint.seen.length = 0;
    const runs: StoredRun[] = [];
    for (const id of ["put", "patch", "delete", "post", "head"]) runs.push(await fire(id));
    expect(runs.map(({ status }) => status)).toEqual(Array(5).fill("succeeded"));
    expect(endpoint.seen).toMatchObject([
      { method: "PUT", body: '{"who":"manual"}', headers: { authorization: `Bearer ${SECRET}` } },
      {
        method: "PATCH",
        body: "plain words",
        headers: { authorization: `Basic ${Buffer.from(`ann:${SECRET}`).toString("base64")}` },
      },
      { method: "DELETE", body: "", headers: { "x-api-key": SECRET } },
      { method: "POST", body: '[1,"two"]', headers: { "x-source": "hook post", "content-type": "application/json" } },
      { method: "HEAD" },
    ]);
    expect(`${JSON.stringify(runs)}${gateway.output()}`).not.toContain(SECRET);
  });

  it("does not outlast its time", async () => {
    const run = await fire("hanging");
    expect(run.attempts[0]?.steps).toMatchObject([
      { outcome: "timed_out", error: expect.stringContaining("the step did not end within 500 ms: raise `timeout`") },
    ]);
    expect(run.attempts[0]?.steps[0]?.latencyMs).toBeLessThan(10_000);
  });
});

it("no step keeps more than its bytes, and each that left something out says so", async () => {
  const run = await fire("too-much");
  expect(run.status).toBe("succeeded");
  const { steps: records = [] } = run.attempts[0] ?? {};
  expect(records.map(({ outcome }) => outcome)).toEqual(Array(9).fill("passed"));
  for (const { step, result } of records) {
    expect([step, JSON.stringify(result).length]).toEqual([step, expect.any(Number)]);
    expect([step, JSON.stringify(result).length < 4_000]).toEqual([step, true]);
  }
  const cut = records.filter(({ step }) => step !== "run_tests");
  expect(cut.map(({ step, result }) => [step, (result as { truncated: boolean }).truncated])).toEqual(
    cut.map(({ step }) => [step, true]),
  );
});

describe("what Hookgate keeps", () => {
  it.each(["runs", "messages", "deliveries", "dispatches", "hooks", "status"])(
    "is asked for by name: %s",
    async (query) => {
      await gateway.say("a word for the inbox");
      await gateway.hears("went on");
      const run = await fire(`query-${query}`);
      const result = run.attempts[0]?.steps[0]?.result as { count: number; rows: object[] };
      expect(result.count).toBeGreaterThan(0);
      expect(result.rows).toHaveLength(result.count);
    },
  );

  it("and what happened lately", async () => {
    const { attempts } = await fire("recent");
    expect(attempts[0]?.steps).toMatchObject([
      { outcome: "passed", result: { empty: false } },
      { outcome: "passed", result: { count: 1, rows: [{ hook: expect.any(String) }] } },
    ]);
  });
});

it("a file is compared with itself at the last run, over a restart", async () => {
  expect(await fire("watches")).toMatchObject({ status: "skipped" });
  expect(await fire("watches")).toMatchObject({ status: "skipped" });
  await gateway.kill();
  writeFileSync(join(gateway.folder, "log.txt"), "first\nsecond\n");
  await gateway.start();
  await gateway.ready();
  expect(await fire("watches")).toMatchObject({ status: "succeeded" });
  expect(await gateway.hears("new:")).toContain("+second");
  expect(await fire("watches")).toMatchObject({ status: "skipped" });
});
