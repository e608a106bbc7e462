/** TAP (https://testanything.org), and node:test, which prints it or its own `spec` form. */
import { every, type TallyReader } from "./tally.js";

/** `# tests 3`, `# pass 2`, `# fail 1`, `# cancelled 0`, …; `ℹ` instead of `#` in the spec form. */
export const nodeTest: TallyReader = (output) => {
  const blocks = [...output.matchAll(/^([#ℹ]) tests (\d+)$((?:\n\1 \w+ [\d.]+)+)/gmu)];
  const listed = output.split(/^✖ failing tests:$/mu)[1] ?? "";
  const failures = [...tapFailures(output), ...every(listed, /^✖ (.+?)(?: \([\d.]+ms\))?$/gmu)];
  return blocks.map(([, , , counts]) => {
    const count = (word: string) => Number(new RegExp(`^. ${word} (\\d+)$`, "mu").exec(counts as string)?.[1] ?? 0);
    return {
      runner: "node:test",
      passed: count("pass"),
      failed: count("fail") + count("cancelled"),
      skipped: count("skipped") + count("todo"),
      failures,
    };
  });
};

/** Any other producer: its top-level lines are counted. `ok 1 - name`, `not ok 2 - name # TODO later`, `Bail out!`. */
export const tap: TallyReader = (output) => {
  if (!/^(TAP version \d+|1\.\.\d+)/m.test(output) || nodeTest(output).length > 0) return [];
  const lines = [...output.matchAll(/^(not )?ok\b(.*)$/gm)];
  const planned = Number(/^1\.\.(\d+)/m.exec(output)?.[1] ?? lines.length);
  const isSkipped = (rest: string) => /# *(skip|todo)/i.test(rest);
  const failed = lines.filter(([, not, rest]) => not !== undefined && !isSkipped(rest as string)).length;
  const skipped = lines.filter(([, , rest]) => isSkipped(rest as string)).length;
  const bailed = /^Bail out!/m.test(output) ? 1 : 0;
  return [
    {
      runner: "tap",
      passed: lines.length - failed - skipped,
      // A test that was planned and never came has failed.
      failed: failed + bailed + Math.max(0, planned - lines.length),
      skipped,
      failures: tapFailures(output),
    },
  ];
};

/** Leaves out tests that failed only because a test inside of them did (node:test reports this in the details below). */
function tapFailures(output: string): string[] {
  const parts = output.split(/^\s*(?=(?:not )?ok\b)/m);
  return parts
    .filter((part) => part.startsWith("not ok") && !part.includes("'subtestsFailed'"))
    .map((part) => /^not ok ?\d*(?: - )?(.*)$/m.exec(part)?.[1] as string)
    .filter((name) => !/# *(skip|todo)/i.test(name));
}
