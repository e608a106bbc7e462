/** vitest, jest and mocha. */
import { every, numberBefore, type TallyReader } from "./tally.js";

/** `Test Files  1 failed | 3 passed (4)` and `Tests  2 failed | 10 passed | 1 skipped (13)`; a file that cannot be loaded has no tests. */
export const vitest: TallyReader = (output) => {
  const files = every(output, /^\s*Test Files\s{2,}(.+)$/gm);
  const tests = every(output, /^\s*Tests\s{2,}(.+)$/gm);
  const errors = every(output, /^\s*Errors\s{2,}(.+)$/gm);
  const failures = every(output, /^\s*FAIL\s{2,}(\S.*)$/gm).map((name) => name.replace(/ \[ .+ \]$/, ""));
  return files.map((line, index) => {
    const counted = tests[index] ?? "";
    const failedTests = numberBefore(counted, "failed");
    return {
      runner: "vitest",
      passed: numberBefore(counted, "passed"),
      failed: failedTests || numberBefore(line, "failed") || numberBefore(errors[index] ?? "", "error"),
      skipped: numberBefore(counted, "skipped") + numberBefore(counted, "todo"),
      failures,
    };
  });
};

/** `Test Suites: 1 failed, 1 total` and `Tests:       1 failed, 2 passed, 3 total`. */
export const jest: TallyReader = (output) => {
  const suites = every(output, /^Test Suites:\s+(.+ total)$/gm);
  const tests = every(output, /^Tests:\s+(.+ total)$/gm);
  const failures = every(output, /^\s+● (.+)$/gm).filter((name) => !/^Console$/.test(name));
  return suites.map((line, index) => {
    const counted = tests[index] ?? "";
    return {
      runner: "jest",
      passed: numberBefore(counted, "passed"),
      failed: numberBefore(counted, "failed") || numberBefore(line, "failed"),
      skipped: numberBefore(counted, "skipped") + numberBefore(counted, "todo"),
      failures,
    };
  });
};

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
