/** pytest and unittest. */
import { every, numberBefore, type TallyReader } from "./tally.js";

/** `==== 1 failed, 2 passed, 1 skipped in 0.12s ====`, with `-q` without the lines; `FAILED test_x.py::test_a - AssertionError`. */
export const pytest: TallyReader = (output) => {
  const summaries = every(
    output,
    /^=*\s*((?:no tests ran|\d+ (?:failed|passed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun)\b.*) in [\d.]+s.*?)\s*=*$/gm,
  );
  const failures = every(output, /^(?:FAILED|ERROR) (\S+(?:::.+?)?)(?: - .*)?$/gm);
  return summaries.map((line) => ({
    runner: "pytest",
    passed: numberBefore(line, "passed") + numberBefore(line, "xpassed"),
    failed: numberBefore(line, "failed") + numberBefore(line, "errors?\\b"),
    skipped: numberBefore(line, "skipped") + numberBefore(line, "xfailed"),
    failures,
  }));
};

/** `Ran 3 tests in 0.001s`, then `OK (skipped=1)` or `FAILED (failures=1, errors=1)`; `FAIL: test_x (mod.Class)`. */
export const unittest: TallyReader = (output) => {
  const runs = [...output.matchAll(/^Ran (\d+) tests? in [\d.]+s\s+^(OK|FAILED|NO TESTS RAN)(.*)$/gm)];
  const failures = every(output, /^(?:FAIL|ERROR): (\S.*)$/gm);
  return runs.map(([, ran, verdict, details]) => {
    const count = (word: string) => Number(new RegExp(`\\b${word}=(\\d+)`).exec(details as string)?.[1] ?? 0);
    const failed = count("failures") + count("errors") + count("unexpected successes");
    const skipped = count("skipped") + count("expected failures");
    return {
      runner: "unittest",
      passed: Math.max(0, Number(ran) - failed - skipped),
      failed: verdict === "FAILED" ? Math.max(1, failed) : failed,
      skipped,
      failures,
    };
  });
};
