/** `run: shell` with real programs. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { shellHandler } from "../../../src/automations/handlers/shell.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { until } from "../../support/until.js";
import { type FixtureOptions, handlerContext } from "../handler-context.js";
import { ownFolder } from "../steps/gathering.js";

const { path: folder, remove } = ownFolder("shell-handler");
afterAll(remove);

function run(given: Record<string, unknown>, fixture: FixtureOptions = {}) {
  const { context } = handlerContext({ folder, clock: systemClock, ...fixture });
  return shellHandler.run(shellHandler.options.parse(given), context);
}
const sh = (script: string, more: Record<string, unknown> = {}, fixture: FixtureOptions = {}) =>
  run({ sh: script, ...more }, fixture);
const decided = (decision: Record<string, unknown>) => ({ kind: "decided", decision });

describe("the exit code decides", () => {
  it("0 passes", async () => {
    expect(await sh("echo done")).toEqual({
      ...decided({ kind: "pass" }),
      undecided: { given: "done\n", isByStatus: false },
      rendered: "echo done",
      output: { exitCode: 0, stdout: "done\n", stderr: "" },
    });
  });

  it("a description is no slip for a decision", async () => {
    expect(await sh(`echo '{"title":"Login fails","description":"since Monday"}'`)).toMatchObject(
      decided({ kind: "pass" }),
    );
  });

  it("2 blocks, with standard error as the reason", async () => {
    expect(await sh("echo 'not on Fridays' >&2; exit 2")).toMatchObject(
      decided({ kind: "block", reason: "not on Fridays" }),
    );
    expect(await sh("exit 2")).toMatchObject(decided({ kind: "block", reason: "exited with 2" }));
  });

  it.each([
    [`{"decison":"block","reason":"x"}`, 'it has "decison" and no "decision"'],
    [`{"Decision":"block","reason":"x"}`, 'it has "Decision" and no "decision"'],
    [`{"reply":"pong"}`, 'it has "reply" and no "decision"'],
    [`log line {"decision":"block","reason":"x"}`, "there is other text around it: print the decision alone"],
    // As Python prints it.
    [`{'decision': 'block', 'reason': 'x'}`, "is not JSON, which has double quotes"],
    // As JavaScript prints it.
    [`{ decision: 'block', reason: 'x' }`, "is not JSON, which has double quotes"],
    [JSON.stringify(`{"decision":"block","reason":"x"}`), "there is other text around it: print the decision alone"],
    [`[{"decision":"block","reason":"x"}]`, "there is other text around it: print the decision alone"],
    ["decision: block\nreason: x", "it is no JSON object: print {"],
    ["decision=block", "it is no JSON object: print {"],
    ['"decision": "block"', "it is no JSON object: print {"],
    ["<decision>block</decision>", "it is no JSON object: print {"],
    ["BLOCK: it contains a key", "it is no JSON object: print {"],
    ["block", "it is no JSON object: print {"],
    [`{"action":"block","reason":"x"}`, 'it has "action" and no "decision"'],
    [`{"reason":"x"}`, 'it has "reason" and no "decision"'],
    [`{"veto":true}`, 'it has "veto" and no "decision"'],
    [`{"result":{"decision":"block","reason":"x"}}`, 'its decision is within "result": give that object itself'],
  ])("%s on standard output is a failure: it means to decide", async (output, error) => {
    const quoted = output.replaceAll("'", `'\\''`);
    expect(await sh(`printf %s '${quoted}'`)).toMatchObject({ kind: "failed", error: expect.stringContaining(error) });
  });

  const BLOCK = '{"decision":"block","reason":"x"}';
  it.each([
    BLOCK,
    '{\n  "decision": "block",\n  "reason": "x"\n}',
    `hello\n${BLOCK}`,
    `${BLOCK}\nbye`,
    `(node:1) Warning: x\n${BLOCK}`,
    `INFO ${BLOCK}`,
    'hello\n{\n  "reason": "x",\n  "decision": "block"\n}',
    `{"level":"info","msg":"checked","decision":"modify"}`,
    JSON.stringify(BLOCK),
    "WARNING {'decision': 'claim', 'reply': 'x'}",
    "{ decision: 'block', reason: 'x' }",
    "decision: block\nreason: no",
    "warn\nDecision = block",
    "block: no",
  ])("a decision on standard error is a failure: %s", async (log) => {
    expect(await run({ command: ["sh", "-c", 'printf "%s" "$1" >&2', "-", log] })).toMatchObject({
      kind: "failed",
      error: "the decision is on standard error: print it on standard output",
    });
  });

  it.each([
    "checked 3 rules",
    "2 blocks read\nblock 5 of 7",
    "rules:\n  claim:\n    sub: 5",
    "INFO decision: pass",
    `INFO {"decision":"pass"}`,
    `{"level":"info","decision":"allowed","reply":"none"}`,
    "the last decision: block was taken back",
    `{"action":"block","reason":"x"}`,
  ])("other lines on standard error pass: %s", async (log) => {
    expect(await run({ command: ["sh", "-c", 'printf "%s" "$1" >&2', "-", log] })).toMatchObject(
      decided({ kind: "pass" }),
    );
  });

  it("a decision on standard output holds, regardless of what is on standard error", async () => {
    expect(await sh(`echo '${BLOCK}' >&2; echo '{"decision":"pass"}'`)).toMatchObject(decided({ kind: "pass" }));
  });

  it.each([
    "all is well",
    `{"ok":true}`,
    "[1, 2]",
    "the decision is yours",
    "blocked 3 of 5",
    `{"action":"sent","reason":"new"}`,
  ])("%s on standard output passes", async (output) => {
    expect(await sh(`echo '${output}'`)).toMatchObject(decided({ kind: "pass" }));
  });

  it.each([1, 3, 126, 127, 255])("%i is a failure, never a veto", async (code) => {
    expect(await sh(`echo broken >&2; exit ${code}`)).toMatchObject({
      kind: "failed",
      error: `the program exited with ${code}: broken`,
      isRetryable: true,
      output: { exitCode: code },
    });
  });

  it("a signal is a failure, also with the seed's rule", async () => {
    const failed = { kind: "failed", error: "the program was ended by SIGKILL" };
    expect(await sh("kill -9 $$")).toMatchObject(failed);
    expect(await sh("kill -9 $$", { decision: "status" })).toMatchObject(failed);
  });

  it("with `decision: status` any other than 0 blocks", async () => {
    expect(await sh("echo no >&2; exit 7", { decision: "status" })).toMatchObject(
      decided({ kind: "block", reason: "no" }),
    );
    expect(await sh("exit 0", { decision: "status" })).toMatchObject(decided({ kind: "pass" }));
  });

  it("a program that is not there is a failure, also with the seed's rule", async () => {
    for (const decision of ["explicit", "status"])
      expect(await run({ command: ["no-such-program"], decision })).toMatchObject({
        kind: "failed",
        error: expect.stringContaining("there is no such program"),
        isRetryable: false,
      });
  });
});

describe("standard output decides", () => {
  it.each([
    [{ decision: "pass" }, { kind: "pass" }],
    [
      { decision: "block", reason: "later" },
      { kind: "block", reason: "later" },
    ],
    [
      { decision: "modify", patch: { message: { text: "x" } } },
      { kind: "modify", patch: { message: { text: "x" } } },
    ],
    [
      { decision: "claim", reply: "I have it" },
      { kind: "claim", reply: "I have it" },
    ],
  ])("%j", async (written, decision) => {
    expect(await run({ command: ["printf", "%s", JSON.stringify(written)] })).toMatchObject(decided(decision));
  });

  it("but not when the program failed", async () => {
    expect(await sh(`echo '{"decision":"pass"}'; exit 1`)).toMatchObject({ kind: "failed" });
    expect(await sh(`echo '{"decision":"pass"}'; exit 2`)).toMatchObject({ decision: { kind: "block" } });
  });

  it("and other words and other JSON pass", async () => {
    for (const words of ["fine", "[1]", '{"a":1}'])
      expect(await run({ command: ["echo", words] })).toMatchObject(decided({ kind: "pass" }));
  });

  it("what means to decide and cannot be understood is a failure", async () => {
    expect(await sh(`echo '{"decision":"maybe"}'`)).toMatchObject({ kind: "failed", isRetryable: false });
    expect(await sh(`echo '{"decision":"block"}'`)).toMatchObject({ kind: "failed" });
    const cut = `printf '{"decision":"modify","patch":{"text":"'; head -c 5000 /dev/zero | tr '\\0' x; printf '"}}'`;
    expect(await sh(cut, { max_bytes: 1000 })).toMatchObject({
      kind: "failed",
      error: expect.stringContaining("max_bytes"),
    });
  });
});

describe("the program", () => {
  it("has the payload on standard input, whatever its size, and the names in its environment", async () => {
    const event = { toolName: "deploy", text: "y".repeat(2_000_000) };
    const script =
      'wc -c; printf "%s|%s|%s|%s|%s" "$HOOKGATE_EVENT" "$HOOKGATE_HOOK_ID" "$HOOKGATE_RUN_ID" "$HOOKGATE_TOOL_NAME" "$HOOKGATE_WORKSPACE_ID"';
    const result = await sh(script, {}, { event, eventName: "before_tool_call", runId: "r_1" });
    const [bytes, names] = (result.output as { stdout: string }).stdout.split("\n") as [string, string];
    expect(Number(bytes)).toBe(JSON.stringify(event).length);
    expect(names).toBe("before_tool_call|night-watch|r_1|deploy|");
  });

  it("sees none of the gateway's own variables", async () => {
    process.env.HOOKGATE_TEST_SECRET = "do not tell";
    const result = await sh("env");
    delete process.env.HOOKGATE_TEST_SECRET;
    expect((result.output as { stdout: string }).stdout).not.toContain("do not tell");
  });

  it("is ended whole when the run is, and that is a timeout", async () => {
    const ending = new AbortController();
    const running = sh("sleep 60 & echo $! > child; sleep 60", {}, { signal: ending.signal });
    const child = await until(
      () => existsSync(join(folder, "child")) && readFileSync(join(folder, "child"), "utf8").trim(),
      "the child",
    );
    ending.abort();
    expect(await running).toMatchObject({
      kind: "failed",
      timedOut: true,
      rendered: "sleep 60 & echo $! > child; sleep 60",
    });
    const state = () => (existsSync(`/proc/${child}/stat`) ? readFileSync(`/proc/${child}/stat`, "utf8") : "gone");
    const hasEnded = () => state() === "gone" || state().split(" ")[2] === "Z";
    await until(hasEnded, () => `the end of the child (${child}: ${state()})`);
  });

  it("is not started for a dry run", async () => {
    expect(await sh("touch dry", {}, { dryRun: true })).toMatchObject({ kind: "decided", output: { dryRun: true } });
    expect(existsSync(join(folder, "dry"))).toBe(false);
  });

  it("gets its secrets, and fails without them", async () => {
    const given = { secrets: ["TOKEN"] };
    expect(await sh('test "$TOKEN" = abc', given, { secrets: { TOKEN: "abc" } })).toMatchObject(
      decided({ kind: "pass" }),
    );
    expect(await sh("true", given)).toMatchObject({
      kind: "failed",
      error: "the variable TOKEN is not set",
      isRetryable: false,
    });
    expect(shellHandler.secrets?.(shellHandler.options.parse({ sh: "true", ...given }))).toEqual(["TOKEN"]);
  });
});
