/** go test (plain, `-v`, `-json`) and cargo test. */
import { every, type Tally, type TallyReader } from "./tally.js";

/** With `-v` every test has a line (`--- PASS: TestX (0.00s)`); without, only those that failed, so packages count as what passed. */
export const go: TallyReader = (output) => {
  const asJson = goJson(output);
  if (asJson !== undefined) return [asJson];
  const ok = every(output, /^ok\s+(\S+)\s+(?:[\d.]+s|\(cached\)).*$/gm);
  const failedPackages = every(output, /^FAIL\t(\S+)\t[\d.]+s$/gm);
  const notBuilt = every(output, /^FAIL\t(\S+ \[.+\])$/gm);
  const passed = every(output, /^\s*--- PASS: (\S+)/gm);
  const failed = every(output, /^\s*--- FAIL: (\S+)/gm);
  const skipped = every(output, /^\s*--- SKIP: (\S+)/gm);
  const isGo =
    ok.length + failedPackages.length + notBuilt.length > 0 ||
    /^\s*--- (?:PASS|FAIL|SKIP): \S+ \([\d.]+s\)$/m.test(output);
  if (!isGo) return [];
  // A package that panics fails without a failing test; one that does not build fails beside those that do.
  const failures = [...(failed.length > 0 ? failed : failedPackages), ...notBuilt];
  return [
    {
      runner: "go",
      passed: passed.length > 0 ? passed.length : ok.length,
      failed: failures.length,
      skipped: skipped.length,
      failures,
    },
  ];
};

/** Go prints one JSON object a line: `{"Action":"fail","Package":"p","Test":"TestX"}`. */
function goJson(output: string): Tally | undefined {
  const ends = output
    .split("\n")
    .filter((line) => line.startsWith("{") && line.includes('"Action"'))
    .map(parseLine)
    .filter((one) => one !== undefined);
  if (ends.length === 0) return undefined;
  const tests = (action: string) => ends.filter((one) => one.Action === action && one.Test !== undefined);
  const named = tests("fail").map((one) => `${one.Package} ${one.Test}`);
  const packages = ends
    .filter((one) => one.Action === "fail" && one.Test === undefined)
    .map((one) => String(one.Package));
  const alone = packages.filter((name) => !named.some((test) => test.startsWith(`${name} `)));
  return {
    runner: "go",
    passed: tests("pass").length,
    failed: named.length + alone.length,
    skipped: tests("skip").length,
    failures: [...named, ...alone],
  };
}

function parseLine(line: string): { Action?: unknown; Package?: unknown; Test?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined; // A line of the program itself, or one that was cut.
  }
}

/** `test result: FAILED. 1 passed; 1 failed; 0 ignored; …`, one for each crate and for its documentation. */
export const cargo: TallyReader = (output) => {
  const results = [...output.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/gm)];
  const failures = every(output, /^test (.+) \.\.\. FAILED$/gm);
  const broken = /^error(\[E\d+\])?: .*could not compile/m.test(output) ? 1 : 0;
  if (results.length === 0 && broken === 0) return [];
  const sum = (group: number) => results.reduce((total, match) => total + Number(match[group]), 0);
  return [{ runner: "cargo", passed: sum(1), failed: sum(2) + broken, skipped: sum(3), failures }];
};
