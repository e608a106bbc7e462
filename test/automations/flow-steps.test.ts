/** Every step, and what follows from it, through the running product: real programs, files, a git repository, a web server, a chat. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { type Endpoint, openEndpoint } from "./endpoint.js";
import { type HookedGateway, hookedGateway } from "./hooked-gateway.js";

const HERE = "web:web:dm-1";
const say = (text: string) => ({ chat: { to: HERE, text } });
const manual = (id: string, more: Record<string, unknown>) => ({ id, trigger: "manual", ...more });
const asked = (id: string, more: Record<string, unknown>) => ({
  id,
  on: "message_received",
  execution: "background",
  match: { when: `payload.message.text.startsWith("${id}")` },
  ...more,
});

let endpoint: Endpoint;
let gateway: HookedGateway;

beforeAll(async () => {
  endpoint = await openEndpoint();
  gateway = await hookedGateway([
    asked("gather", {
      context: [
        { shell: { command: ["printf", "%s", "{{ event.message.text }}"] } },
        { read_file: { path: "notes/today.md" } },
        { list_files: { path: "notes" } },
        { git_diff: { repo: "repository" } },
        { run_tests: { command: [process.execPath, "--test", "tests/sum.test.mjs"] } },
        { http: { url: `${endpoint.url}/status` } },
        { db_query: { query: "messages", args: { limit: 1 } } },
        { journal: { of: "dispatches", limit: 5 } },
        { file_diff: { path: "notes/today.md", against: "notes/yesterday.md" } },
        { shell: { sh: 'printf %s "$ALL" | tr a-z A-Z', env: { ALL: "{{ steps[0].stdout }}/{{step_1}}" } } },
      ],
      run: say(
        [
          "shell {{ steps[0].stdout }} {{ steps[0].exitCode }}",
          "read {{ step_1.text }}",
          "files {{ steps[2].paths | join: ',' }}",
          "diff {{ steps[3].count }} +{{ steps[3].added }} -{{ steps[3].removed }}",
          "tests {{ steps[4].passed }}/{{ steps[4].total }} {{ steps[4].failures | join: ',' }}",
          "http {{ steps[5].status }} {{ steps[5].json.open }}",
          "rows {{ steps[6].count }}",
          "journal {% if steps[7].count > 0 %}some{% endif %}",
          "change +{{ steps[8].added }}",
          "last {{ steps[9].stdout }}",
          "event {{ event.message.text }} {{ event.access }}",
        ].join("\n"),
      ),
    }),
    asked("quiet-empty", { context: [{ git_diff: { repo: "clean", skip_if: "empty" } }], run: say("not quiet") }),
    asked("quiet-zero", { context: [{ shell: { sh: "true", skip_if: "exit_zero" } }], run: say("not quiet") }),
    asked("quiet-status", {
      context: [{ http: { url: `${endpoint.url}/ok`, skip_if: "status_ok" } }],
      run: say("not quiet"),
    }),
    asked("quiet-cel", {
      context: [{ shell: { sh: "echo 3", skip_if: 'step.stdout.contains("3") && event.access == "allowed"' } }],
      run: say("not quiet"),
    }),
    asked("quiet-all", {
      skip_when: "all",
      context: [{ shell: { sh: "true", skip_if: "exit_zero" } }, { shell: { sh: "echo words", skip_if: "empty" } }],
      run: say("one of two was not quiet"),
    }),
    asked("red", {
      skip_when: "any",
      context: [
        { shell: { sh: "true", skip_if: "exit_zero" } },
        { shell: { sh: "echo broken; exit 1", skip_if: "exit_zero" } },
        { shell: { command: ["no-such-program"], skip_if: "empty" } },
      ],
      run: say("red is seen: {{ steps[1].exitCode }} {{ steps[2].stdout }}"),
    }),
    asked("required", { context: [{ shell: { sh: "exit 4", required: true } }], run: say("never said") }),
    asked("slow", {
      context: [{ shell: { sh: "sleep 60 & sleep 60", timeout: "1s" } }],
      run: say("after {{ steps[0].error }}"),
    }),
    asked("outside", {
      context: [{ read_file: { path: "{{ event.message.text | remove: 'outside ' }}" } }],
      run: say("got {{ steps[0] }}"),
    }),
    {
      id: "tick",
      trigger: { every: "1s" },
      run: {
        chat: {
          to: HERE,
          text: "tick at {{ current_time }}, last {{ last_run_time }}, {{ event.seconds_since_last_run | floor }} s, {{ event.trigger }}",
          update: true,
        },
      },
    },
    manual("dry", {
      context: [
        { shell: { sh: 'echo "gathered, dry: $HOOKGATE_DRY_RUN"' } },
        { http: { url: `${endpoint.url}/looks`, required: true } },
        { http: { url: `${endpoint.url}/changes`, method: "POST", body: { open: "{{ steps[1].json.open }}" } } },
        { http: { url: `${endpoint.url}/removes`, method: "DELETE", skip_if: "status_ok", required: true } },
      ],
      run: say("never said either"),
    }),
    { id: "bad-step", trigger: "manual", context: [{ shel: { sh: "true" } }], run: say("x") },
    { id: "bad-field", trigger: "manual", context: [{ shell: { sh: "true" } }], run: say("{{ steps[0].stdot }}") },
    { id: "bad-sh", trigger: "manual", run: { shell: { sh: "echo {{ event.x }}" } } },
    { id: "bad-later", trigger: "manual", context: [{ memory_search: { query: "x" } }], run: say("x") },
  ]);
  const { folder } = gateway;
  for (const name of ["notes", "tests", "repository", "clean"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "notes/today.md"), "one\ntwo\n");
  writeFileSync(join(folder, "notes/yesterday.md"), "one\n");
  writeFileSync(
    join(folder, "tests/sum.test.mjs"),
    'import { test } from "node:test"; test("adds", () => {}); test("breaks", () => { throw new Error("no"); });',
  );
  for (const name of ["repository", "clean"]) {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@b.c", ...args], { cwd: join(folder, name) });
    git("init", "-q");
    writeFileSync(join(folder, name, "a.txt"), "a\n");
    git("add", ".");
    git("commit", "-q", "-m", "first");
  }
  writeFileSync(join(folder, "repository/a.txt"), "b\nc\n");
  await gateway.start();
  await gateway.ready();
});
afterAll(async () => {
  await gateway.close();
  await endpoint.close();
});

const statusOf = async (hookId: string) => {
  await gateway.say(`${hookId} please`);
  return until(
    () => gateway.runs(hookId).find(({ status }) => !["running", "queued", "backgrounded"].includes(status)),
    hookId,
  );
};

describe("context steps", () => {
  it("gather from everywhere, and the handler speaks of all of it", async () => {
    endpoint.script({ status: 200, body: '{"open":3}' });
    await gateway.say("gather now");
    expect((await gateway.hears("shell gather now")).split("\n")).toEqual([
      "shell gather now 0",
      "read one",
      "two",
      "",
      "files today.md,yesterday.md",
      "diff 1 +2 -1",
      "tests 1/2 breaks",
      "http 200 3",
      "rows 1",
      "journal some",
      "change +1",
      "last GATHER NOW/ONE",
      "TWO",
      "",
      "event gather now allowed",
    ]);
    const [run] = gateway.runs("gather");
    expect(run?.status).toBe("succeeded");
    expect(run?.attempts[0]?.steps.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
      "shell passed",
      "read_file passed",
      "list_files passed",
      "git_diff passed",
      "run_tests passed",
      "http passed",
      "db_query passed",
      "journal passed",
      "file_diff passed",
      "shell passed",
    ]);
  });

  it.each([
    ["quiet-empty", "steps[0] git_diff: empty"],
    ["quiet-zero", "steps[0] shell: exit_zero"],
    ["quiet-status", "steps[0] http: status_ok"],
    ["quiet-cel", "steps[0] shell: step.stdout"],
  ])("%s skips the handler, and that is recorded with its reason", async (hookId, reason) => {
    endpoint.script({ status: 204 });
    const run = await statusOf(hookId);
    expect(run).toMatchObject({ status: "skipped", statusReason: expect.stringContaining(reason) });
    expect(run.attempts[0]?.steps[0]?.outcome).toBe("skipping");
    expect((await gateway.said()).filter((text) => text.includes("not quiet"))).toEqual([]);
  });

  it("skip_when: all needs all", async () => {
    await gateway.say("quiet-all");
    await gateway.hears("one of two was not quiet");
  });

  it("one green step hides no red one", async () => {
    await gateway.say("red");
    expect(await gateway.hears("red is seen")).toContain(
      "red is seen: 1 [step 2 failed: no-such-program could not be started",
    );
  });

  it("a required step that is not ok ends the run", async () => {
    const run = await statusOf("required");
    expect(run).toMatchObject({
      status: "failed",
      statusReason: expect.stringContaining("steps[0] shell is required"),
    });
  });

  it("a step's timeout of one second is one, and the handler is told of it", async () => {
    const started = performance.now();
    await gateway.say("slow");
    expect(await gateway.hears("after ")).toMatch(/did not end within 1 s\b.*raise timeout of the step/);
    const [run] = gateway.runs("slow");
    expect(run?.attempts[0]?.steps[0]).toMatchObject({ outcome: "timed_out" });
    expect(run?.attempts[0]?.steps[0]?.latencyMs).toBeLessThan(4000);
    expect(performance.now() - started).toBeLessThan(25_000);
  });

  it("a message cannot make a step read outside of its folder", async () => {
    await gateway.say("outside ../../../../../../etc/passwd");
    expect(await gateway.hears("got [step 0 failed")).toContain("a value leads out of the folder");
    await gateway.say("outside /etc/passwd");
    expect(await gateway.hears("is outside of")).toContain("got [step 0 failed");
  });

  it("a periodic run knows when it ran before", async () => {
    const told = await until(
      async () => (await gateway.said()).find((text) => /last 20/.test(text)),
      "the second tick",
    );
    expect(told).toMatch(/^tick at (\S+T\S+Z), last \S+T\S+Z, \d+ s, every$/);
  });

  it("a dry run gathers and says nothing, asks what changes nothing, and shows what else it would have asked", async () => {
    for (const command of ["/hooks test dry", "/fire-hook dry"]) {
      endpoint.script({ status: 200, body: '{"open":3}' });
      const { outcome, text } = await gateway.command(command);
      expect(outcome).toBe("done");
      expect(text).toContain("gathered, dry: 1");
      expect(text).toContain(`POST ${endpoint.url}/changes`);
      expect(text).toContain("open");
      expect(text).toContain(`DELETE ${endpoint.url}/removes`);
      expect(endpoint.seen.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /looks"]);
    }
    expect((await gateway.said()).filter((one) => one.includes("never said"))).toEqual([]);
    expect(gateway.runs("dry")).toEqual([]);
  });

  it("definitions with a wrong step, field or template are broken, with the reason, and stop nobody else", async () => {
    const { text } = await gateway.command("/hooks broken");
    for (const part of [
      "bad-step",
      'did you mean "shell"',
      "bad-field",
      'did you mean "stdout"',
      "bad-sh",
      "templates never reach a shell",
      "bad-later",
      "comes with the agents",
    ])
      expect(text).toContain(part);
  });
});
