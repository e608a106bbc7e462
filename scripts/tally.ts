/**
 * A reporter of the tests for machines: one line as each thing happens, so that a run which is cut off has told how far it came. The
 * lines go to the file that `TALLY` names: `begin|end <file>`, `pass|skip <test>`, `fail <test or file>`, `again <test>: <cause>` for a
 * test that passed only at its second try, and `setup <file>` for a file whose tests were skipped because what they need could not be
 * set up.
 */
import { appendFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from "vitest/node";

const file = process.env.TALLY;
const note = (kind: string, what: string) => {
  if (file !== undefined) appendFileSync(file, `${kind} ${what.replaceAll("\n", " ")}\n`);
};

/** Why the first try failed: its errors stay with a test that passed at the second. */
const causeOf = (test: TestCase): string =>
  (test.result().errors ?? [])
    .map(({ message, diff = "" }) => `${message} ${stripVTControlCharacters(diff)}`)
    .join("; ");

export default class Tally implements Reporter {
  onTestModuleQueued({ relativeModuleId }: TestModule): void {
    note("begin", relativeModuleId);
  }

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    const kind = state === "passed" ? "pass" : state === "failed" ? "fail" : "skip";
    note(kind, `${test.module.relativeModuleId} > ${test.fullName}`);
    if (test.diagnostic()?.flaky) note("again", `${test.module.relativeModuleId} > ${test.fullName}: ${causeOf(test)}`);
  }

  /** A hook around tests that failed: the tests themselves are skipped, which would look as if all were well. */
  onTestSuiteResult(suite: TestSuite): void {
    for (const { message } of suite.errors()) {
      note("fail", `${suite.module.relativeModuleId} > ${suite.fullName}: ${message}`);
      note("setup", suite.module.relativeModuleId);
    }
  }

  onTestModuleEnd(module: TestModule): void {
    for (const { message } of module.errors()) {
      note("fail", `${module.relativeModuleId}: ${message}`);
      note("setup", module.relativeModuleId);
    }
    note("end", module.relativeModuleId);
  }

  onTestRunEnd(_: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    for (const { message } of unhandledErrors) note("fail", `outside the tests: ${message}`);
  }
}
