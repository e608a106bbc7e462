import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { until } from "../../support/until.js";
import { processRuns } from "../hooked-gateway.js";
import { failureOf, gatherSteps, oneStep, ownFolder, refusals } from "./gathering.js";

const { path: folder, remove } = ownFolder("shell-step");
afterAll(remove);
const at = { folder };

describe("the shell step", () => {
  it("brings what a program printed, and its exit code", async () => {
    const result = await oneStep({ shell: { command: ["sh", "-c", "echo out; echo err >&2; exit 3"] } }, at);
    expect(result).toMatchObject({
      value: { stdout: "out\n", stderr: "err\n", exitCode: 3, signal: null, truncated: false },
      text: "out\nerr\n",
      isOk: false,
      isEmpty: false,
    });
  });

  it("is ok with exit code 0, and empty when it printed nothing but blanks", async () => {
    expect(await oneStep({ shell: { sh: "echo; echo complaint >&2" } }, at)).toMatchObject({
      isOk: true,
      isEmpty: true,
    });
  });

  it("is not empty when it failed without a word", async () => {
    expect(await oneStep({ shell: { sh: "exit 1" } }, at)).toMatchObject({ isOk: false, isEmpty: false });
  });

  it("gives the payload on standard input and the names in the environment", async () => {
    const event = { toolName: "deploy", severity: "high", crewId: "c1", agentId: "a1", big: "x".repeat(300_000) };
    const result = await oneStep(
      {
        shell: {
          sh: 'wc -c; echo "$HOOKGATE_EVENT $HOOKGATE_HOOK_ID $HOOKGATE_TOOL_NAME $HOOKGATE_SEVERITY $HOOKGATE_CREW_ID [$HOOKGATE_MISSION_ID]"; echo "$HOOKGATE_PAYLOAD"',
        },
      },
      { ...at, event, eventName: "before_tool_call" },
    );
    const sizeBytes = JSON.stringify(event).length;
    expect(result.text.replace(/ +/g, " ").trim().split("\n")).toEqual([
      String(sizeBytes),
      "before_tool_call night-watch deploy high c1 []",
      JSON.stringify({ onStandardInput: true, sizeBytes }),
    ]);
  });

  it("gives a small payload in the environment whole", async () => {
    const event = { text: 'it\'s "quoted" $(touch pwned) `x` \n ä' };
    const result = await oneStep({ shell: { sh: 'printf %s "$HOOKGATE_PAYLOAD"' } }, { ...at, event });
    expect(JSON.parse(result.text)).toEqual(event);
    expect(existsSync(join(folder, "pwned"))).toBe(false);
  });

  it("hands what a template brings to the program as one argument, a variable or standard input, never to a shell", async () => {
    const event = { branch: "a b; touch pwned2 #$(touch pwned2)" };
    const result = await oneStep(
      {
        shell: {
          command: ["sh", "-c", 'printf "<%s><%s>" "$1" "$BRANCH"; cat', "_", "{{ event.branch }}"],
          env: { BRANCH: "on {{ event.branch }}" },
          stdin: "<{{ event.branch }}>",
        },
      },
      { ...at, event },
    );
    expect(result.text).toBe(`<${event.branch}><on ${event.branch}><${event.branch}>`);
    expect(existsSync(join(folder, "pwned2"))).toBe(false);
  });

  it("hands over any text unchanged, three ways", async () => {
    const step = {
      shell: {
        command: ["sh", "-c", 'printf "%s|%s|" "$1" "$TEXT"; cat', "_", "{{ event.text }}"],
        env: { TEXT: "{{ event.text }}" },
        stdin: "{{ event.text }}",
      },
    };
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "grapheme", maxLength: 200 }).filter((text) => !text.includes("\0") && !text.startsWith("-")),
        async (text) => {
          expect((await oneStep(step, { ...at, event: { text } })).text).toBe(`${text}|${text}|${text}`);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("lets no value become an option", async () => {
    const step = { shell: { command: ["ls", "{{ event.path }}"] } };
    expect(await failureOf(step, { ...at, event: { path: "--help" } })).toContain("would be an option");
  });

  it.each([
    ["a template in a shell line", { sh: "echo {{ event.x }}" }, "templates never reach a shell"],
    ["a template that is code", { command: ["bash", "-c", "echo {{ event.x }}"] }, "bash reads this as code"],
    ["one behind another program", { command: ["env", "A=1", "sh", "-lc", "{{ event.x }}"] }, "sh reads this as code"],
    ["code of another language", { command: ["node", "--eval", "f('{{ event.x }}')"] }, "node reads this as code"],
    ["code without a flag", { command: ["awk", "{{ event.x }}"] }, "awk reads this as code"],
    ["a line for a shell elsewhere", { command: ["ssh", "host", "ls {{ event.x }}"] }, "ssh makes a command line"],
    ["a program that a template names", { command: ["{{ event.x }}"] }, "the program itself is no template"],
    ["a folder that a template names", { sh: "ls", cwd: "{{ event.x }}" }, "a working directory is no template"],
    ["two programs", { sh: "ls", command: ["ls"] }, "expected one of"],
    ["none", {}, "expected one of"],
    ["one of our variables", { sh: "ls", env: { HOOKGATE_EVENT: "x" } }, "set by Hookgate"],
  ])("refuses %s", (_, options, message) => {
    expect(refusals({ shell: options }).join()).toContain(message);
  });

  it("takes templates as arguments of a script", () => {
    expect(refusals({ shell: { command: ["node", "check.js", "{{ event.x }}"] } })).toEqual([]);
    expect(refusals({ shell: { command: ["git", "log", "--author={{ event.x }}"] } })).toEqual([]);
  });

  it("gives secrets by name, keeps them out of what it brings, and says which one is missing", async () => {
    const step = {
      shell: { sh: 'printf %s "$DEPLOY_TOKEN" | wc -c; echo "<$DEPLOY_TOKEN>"', secrets: ["DEPLOY_TOKEN"] },
    };
    const { text } = await oneStep(step, { ...at, secrets: { DEPLOY_TOKEN: "s3cret-value" } });
    expect(text.trim().split(/\s+/)).toEqual(["12", "<[secret]>"]);
    const telling = { shell: { sh: 'echo "$DEPLOY_TOKEN"; sleep 60', secrets: ["DEPLOY_TOKEN"], timeout: 4000 } };
    expect(await failureOf(telling, { ...at, secrets: { DEPLOY_TOKEN: "s3cret-value" } })).toContain(
      "its last output: [secret]",
    );
    expect(await failureOf(step, at)).toBe("the variable DEPLOY_TOKEN is not set");
    // Without quotes, a shell joins the lines of a key by spaces.
    const lines = { shell: { sh: "echo key $DEPLOY_TOKEN", secrets: ["DEPLOY_TOKEN"] } };
    const ofLines = { ...at, secrets: { DEPLOY_TOKEN: "--- A KEY ---\nMIIEabcdefgh\nQRSTuvwxyz\n" } };
    expect((await oneStep(lines, ofLines)).text).toBe("key [secret] [secret] [secret]\n");
  });

  it("runs where the definition stands, or in a folder relative to it", async () => {
    await oneStep({ shell: { sh: "mkdir -p sub && pwd > sub/here" } }, at);
    expect((await oneStep({ shell: { sh: "cat here", cwd: "sub" } }, at)).text).toContain(folder.split("/").pop());
    expect(await failureOf({ shell: { sh: "ls", cwd: "nowhere" } }, at)).toContain("nowhere is not there");
  });

  it("ends at its timeout, and takes its children along", async () => {
    const { outcomes, records } = await gatherSteps(
      [{ shell: { sh: "echo before; sleep 60 & echo $! > child; sleep 60", timeout: 4000 } }],
      at,
    );
    expect(outcomes[0]).toMatchObject({ timedOut: true, error: expect.stringContaining("did not end within 4 s") });
    expect(outcomes[0]).toMatchObject({ error: expect.stringContaining("before") });
    expect(records[0]).toMatchObject({ step: "shell", outcome: "timed_out" });
    const child = Number(readFileSync(join(folder, "child"), "utf8"));
    await until(() => !processRuns(child), "the end of the child");
  });

  it("keeps within its bytes", async () => {
    const result = await oneStep({ shell: { sh: "head -c 100000 /dev/zero | tr '\\0' x", max_bytes: 1000 } }, at);
    expect(result.value.truncated).toBe(true);
    expect((result.value.stdout as string).length).toBeLessThan(1100);
  });

  it("that cannot start its program has failed, and is neither empty nor ok", async () => {
    const { outcomes } = await gatherSteps([{ shell: { command: ["no-such-program"] } }], at);
    expect(outcomes).toEqual([
      { error: "no-such-program could not be started: there is no such program", timedOut: false },
    ]);
  });
});
