/**
 * Each part of `src/fast/` beside the plain code that would do its work: `npx tsx bench/fast.ts [pattern]`. Compiled as the product is,
 * each case in turn with its plain form; a figure is the median of the rounds. Compare the ratios, not the times.
 */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { compiled } from "./compiled.js";
import { median } from "./measure.js";

const ROUNDS = 5;

interface Measured {
  unit: string;
  tuned: number;
  plain: number;
}

const subject = await compiled("bench/fast-cases.ts");
const ask = (...args: string[]): unknown =>
  JSON.parse(execFileSync(process.execPath, ["--expose-gc", subject, ...args]).toString());

try {
  const names = (ask() as string[]).filter((name) => new RegExp(process.argv[2] ?? "").test(name));
  console.log(
    `${"part · plain form".padEnd(58)}${"tuned".padStart(10)}${"plain".padStart(10)}${"ratio".padStart(8)}  unit`,
  );
  for (const name of names) {
    const rounds = Array.from({ length: ROUNDS }, () => ask(name) as Measured);
    const of = (pick: (one: Measured) => number) => median(rounds.map(pick));
    const cells = [
      of(({ tuned }) => tuned)
        .toFixed(2)
        .padStart(10),
      of(({ plain }) => plain)
        .toFixed(2)
        .padStart(10),
    ];
    const ratio = of(({ tuned, plain }) => tuned / plain)
      .toFixed(2)
      .padStart(8);
    console.log(`${name.padEnd(58)}${cells.join("")}${ratio}  ${rounds[0]?.unit}`);
  }
} finally {
  rmSync(dirname(subject), { recursive: true, force: true });
}
