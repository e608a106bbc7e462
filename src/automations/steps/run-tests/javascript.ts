/** vitest, jest and mocha. */
import { every, numberBefore, type TallyReader } from "./tally.js";

/** `Test Files  1 failed | 3 passed (4)`, `Tests  2 failed | 10 passed | 1 skipped (13)`, and `FAIL  file > suite > test` for each. */
export const vitest: TallyReader = (output) => {
  const files = every(output, /^\s*Test Files\s{2,}(.+)$/gm);
  const tests = every(output, /^\s*Tests\s{2,}(.+)$/gm);
  const errors = every(output, /^\s*Errors\s{2,}(.+)$/gm);
  const failures = every(output, /^\s*FAIL\s{2,}(\S.*)$/gm).map((name) => name.replace(/ \[ .+ \]$/, ""));
  // A file that cannot be loaded has failed, and no test of it is counted.
  const notLoaded = failures.filter((name) => !name.includes(" > ")).length;
  return files.map((line, index) => {
    const counted = tests[index] ?? "";
    const failed = numberBefore(counted, "failed") + (index === 0 ? notLoaded : 0);
    return {
      runner: "vitest",
      passed: numberBefore(counted, "passed"),
      failed: failed || numberBefore(line, "failed") || numberBefore(errors[index] ?? "", "error"),
      skipped: numberBefore(counted, "skipped") + numberBefore(counted, "todo"),
      failures,
    };
  });
};

/** `Test Suites: 1 failed, 1 total`, `Tests:       1 failed, 2 passed, 3 total`, and `● suite › test` for each. */
export const jest: TallyReader = (output) => {
  const suites = every(output, /^Test Suites:\s+(.+ total)$/gm);
  const tests = every(output, /^Tests:\s+(.+ total)$/gm);
  const names = every(output, /^ {2}● (.+)$/gm).filter((name) => name !== "Console");
  const notLoaded = names.filter((name) => name === NOT_LOADED).length;
  const failures = names.filter((name) => name !== NOT_LOADED);
  return suites.map((line, index) => {
    const counted = tests[index] ?? "";
    const failed = numberBefore(counted, "failed") + (index === 0 ? notLoaded : 0);
    return {
      runner: "jest",
      passed: numberBefore(counted, "passed"),
      failed: failed || numberBefore(line, "failed"),
      skipped: numberBefore(counted, "skipped") + numberBefore(counted, "todo"),
      failures: notLoaded === 0 ? failures : [...failures, ...filesNotLoaded(output)],
    };
  });
};

const NOT_LOADED = "Test suite failed to run";

const filesNotLoaded = (output: string) => every(output, /^FAIL (\S+).*\n {2}● Test suite failed to run$/gm);

/** `3 passing (10ms)`, `1 pending`, `2 failing`, and then each failure: its number and suite, and its name with a colon. */
export const mocha: TallyReader = (output) => {
  const summaries = [...output.matchAll(/^ +(\d+) passing \(.+\)((?:\n+ +\d+ (?:pending|failing))*)/gm)];
  return summaries.map((match) => ({
    runner: "mocha",
    passed: Number(match[1]),
    failed: numberBefore(match[2] as string, "failing"),
    skipped: numberBefore(match[2] as string, "pending"),
    failures: mochaFailures(output.slice(match.index + match[0].length)),
  }));
};

function mochaFailures(after: string): string[] {
  return [...after.matchAll(/^ +\d+\) (.+(?:\n +.+)*?:)$/gm)].map((match) =>
    (match[1] as string)
      .slice(0, -1)
      .split("\n")
      .map((line) => line.trim())
      .join(" > "),
  );
}
