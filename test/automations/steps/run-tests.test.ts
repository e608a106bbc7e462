import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readJunit } from "../../../src/automations/steps/run-tests/junit.js";
import { type Runner, readTally } from "../../../src/automations/steps/run-tests/read-tally.js";
import { runTestsStep } from "../../../src/automations/steps/run-tests.js";
import { failureOf, gatherSteps, oneStep, ownFolder, refusals } from "./gathering.js";

const FIXTURES = join(import.meta.dirname, "../../fixtures/test-runs");
const { path: folder, remove } = ownFolder("run-tests");
const at = { folder };
afterAll(remove);
const fixture = (name: string) => readFileSync(join(FIXTURES, name), "utf8");

describe("what test runners print", () => {
  it.each([
    ["vitest", "vitest.txt", 2, 2, 2, ["b.test.ts", "a.test.ts > sum > breaks"]],
    ["jest", "jest.txt", 1, 2, 2, ["sum › breaks", "jest/b.test.js"]],
    ["jest", "jest-green.txt", 1, 0, 3, []],
    [
      "mocha",
      "mocha.txt",
      1,
      2,
      1,
      ["Array > #indexOf() > finds a value", 'Broken hook > "before all" hook for "never"'],
    ],
    ["node:test", "node-tap.txt", 1, 1, 2, ["breaks"]],
    ["node:test", "node-spec.txt", 1, 1, 2, ["breaks"]],
    ["pytest", "pytest.txt", 2, 2, 2, ["test_x.py::test_param[2]", "test_x.py::test_err"]],
    ["pytest", "pytest-q.txt", 2, 2, 2, ["test_x.py::test_param[2]", "test_x.py::test_err"]],
    ["unittest", "unittest.txt", 1, 1, 1, ["test_bad (test_a.T.test_bad)"]],
    ["go", "go.txt", 1, 3, 0, ["TestAdd", "TestAdd/negative", "example.com/broken [build failed]"]],
    ["go", "go-v.txt", 1, 0, 1, []],
    ["go", "go-json.txt", 1, 2, 0, ["example.com/sum TestAdd", "example.com/broken"]],
    ["cargo", "cargo.txt", 2, 1, 1, ["tests::bad"]],
  ] as const)("is recognised: %s (%s)", (runner, file, passed, failed, skipped, failures) => {
    const expected = { runner, passed, failed, skipped, failures };
    expect(readTally(fixture(file))).toEqual(expected);
    expect(readTally(fixture(file).replaceAll("\n", "\r\n"), runner as Runner)).toEqual(expected);
  });

  it("is recognised as TAP of anybody, what was planned and never came as failed", () => {
    const tap = "TAP version 13\n1..5\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no network\nnot ok 4 - d # TODO later\n";
    expect(readTally(tap)).toEqual({ runner: "tap", passed: 1, failed: 2, skipped: 2, failures: ["b"] });
  });

  it("is none of a runner for other programs", () => {
    for (const text of ["", "all good\n", "3 passed the exam in 2 years\n", "ok then\n", "Tests are fun\n", "FAIL\n"])
      expect(readTally(text), text).toBeUndefined();
  });

  it("of several runs is summed, so that a green one hides no red one", () => {
    const green = " Test Files  1 passed (1)\n      Tests  5 passed (5)\n";
    expect(readTally(`${fixture("vitest.txt")}${green}`)).toMatchObject({ passed: 7, failed: 2 });
    expect(readTally(`${green}${fixture("vitest.txt")}`)).toMatchObject({ passed: 7, failed: 2 });
    expect(readTally(`${fixture("cargo.txt")}\n${green}`)).toMatchObject({
      runner: "vitest+cargo",
      passed: 7,
      failed: 1,
    });
  });

  it("in a JUnit report counts every case once", () => {
    expect(readJunit(fixture("junit.xml"))).toEqual({
      runner: "junit",
      passed: 1,
      failed: 2,
      skipped: 1,
      failures: ['sum > a < b & "c"', "alone"],
    });
    expect(readJunit("<html></html>")).toBeUndefined();
  });
});

describe("run_tests", () => {
  const prints = (file: string, exitCode = 0) => ({ sh: `cat '${join(FIXTURES, file)}'; exit ${exitCode}` });

  it("runs a real suite and says which test failed", async () => {
    writeFileSync(
      join(folder, "sum.test.mjs"),
      'import { test } from "node:test"; import assert from "node:assert"; test("adds", () => {}); test("breaks", () => assert.equal(1, 2));',
    );
    const result = await oneStep({ run_tests: { command: [process.execPath, "--test", "sum.test.mjs"] } }, at);
    expect(result).toMatchObject({
      isOk: false,
      isEmpty: false,
      value: {
        passed: 1,
        failed: 1,
        total: 2,
        failures: ["breaks"],
        runner: "node:test",
        recognised: true,
        exitCode: 1,
      },
    });
    expect(result.text).toBe(
      "Tests red: 1 passed, 1 failed, 0 skipped (node:test); the command exited with 1\n- breaks",
    );
  });

  it("is ok when the exit code and the summary say so", async () => {
    expect(await oneStep({ run_tests: prints("jest-green.txt") }, at)).toMatchObject({ isOk: true, isEmpty: false });
  });

  it("is red when the exit code is red and the summary green", async () => {
    const result = await oneStep({ run_tests: prints("jest-green.txt", 1) }, at);
    expect(result).toMatchObject({ isOk: false, value: { failed: 0, exitCode: 1 } });
  });

  it("is red when the summary is red and the exit code green", async () => {
    expect(await oneStep({ run_tests: prints("jest.txt") }, at)).toMatchObject({ isOk: false, value: { exitCode: 0 } });
  });

  it("is red when a red suite comes before a green one and only the last exit code counts", async () => {
    const both = { sh: `cat '${FIXTURES}/vitest.txt'; cat '${FIXTURES}/jest-green.txt'` };
    const { next } = await gatherSteps([{ run_tests: { ...both, skip_if: "exit_zero" } }], at);
    expect(next).toEqual({ kind: "run" });
  });

  it("reads a summary at the end of more output than it keeps", async () => {
    const long = { sh: `head -c 12000000 /dev/zero | tr '\\0' x; echo; cat '${FIXTURES}/mocha.txt'`, max_bytes: 2000 };
    const result = await oneStep({ run_tests: long }, at);
    expect(result.value).toMatchObject({ failed: 2, runner: "mocha" });
    expect((result.value.stdout as string).length).toBeLessThan(2100);
  });

  it("goes by the exit code when it knows no runner in the output", async () => {
    expect(await oneStep({ run_tests: { sh: "echo fine" } }, at)).toMatchObject({
      isOk: true,
      isEmpty: false,
      value: { passed: null, recognised: false },
    });
    expect(await oneStep({ run_tests: { sh: "echo broken; exit 1" } }, at)).toMatchObject({ isOk: false });
  });

  it("is empty when no test ran, and not when the runner failed to start", async () => {
    expect(await oneStep({ run_tests: { sh: "echo '1..0'" } }, at)).toMatchObject({ isEmpty: true });
    expect(await oneStep({ run_tests: { sh: "exit 127" } }, at)).toMatchObject({ isEmpty: false, isOk: false });
  });

  it("reads a report that this run wrote, and refuses one from before", async () => {
    const written = { sh: `cp '${FIXTURES}/junit.xml' report.xml`, report: "report.xml" };
    expect((await oneStep({ run_tests: written }, at)).value).toMatchObject({ runner: "junit", passed: 1, failed: 2 });
    const before = new Date(Date.now() - 3_600_000);
    utimesSync(join(folder, "report.xml"), before, before);
    expect(await failureOf({ run_tests: { sh: "true", report: "report.xml" } }, at)).toContain(
      "was not written by this run",
    );
    expect(await failureOf({ run_tests: { sh: "true", report: "missing.xml" } }, at)).toContain("there is no");
    const below = { folder: join(folder, "hooks") };
    mkdirSync(below.folder);
    expect((await oneStep({ run_tests: { cwd: "..", ...written } }, below)).value.runner).toBe("junit");
    const problems = (report: string) =>
      runTestsStep.missing?.(
        runTestsStep.options.parse({ cwd: "..", sh: "true", report }) as never,
        { ...below, searchPath: "", isAfterProgram: false } as never,
      );
    expect(problems("report.xml")).toEqual([]);
    expect(problems("../report.xml")).toEqual([expect.stringContaining("name a folder that holds it with `cwd`")]);
  });

  it("is as careful with templates as the shell step", () => {
    expect(refusals({ run_tests: { sh: "npm test {{ event.x }}" } }).join()).toContain("templates never reach a shell");
  });
});
