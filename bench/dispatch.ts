/**
 * The cost of a dispatch, beside a hand-written await loop and the libraries that people would take instead.
 *
 * Every case of every subject runs in a process of its own (see dispatch-cases.ts), compiled as the product is, in turn with the await loop
 * (or what it is compared with): in one process for all, later subjects pay for what the compiler has seen before. A ratio is the median of
 * many ratios of two short samples, one right after the other, because machines get slower and faster while one measures. Compare the
 * ratios, not the nanoseconds, which are the least of all rounds. `mixed` is the same in processes in which both have called other
 * handlers, and Hookgate has fired its other models.
 *
 * Hookgate always isolates, orders, and arms a deadline for each handler. It has a journal in the cases called "recorded" only.
 *
 * npx tsx bench/dispatch.ts [rounds] [pattern of the cases to run]
 */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { compiled } from "./compiled.js";
import { median } from "./measure.js";

const ROUNDS = Number(process.argv[2] ?? 5);
const PATTERN = new RegExp(process.argv[3] ?? "");

/** name → what it is compared with, and the most that the ratio (or the nanoseconds, without a base) may be. */
const TARGETS: { name: string; base?: string; most: number }[] = [
  { name: "0 handlers · hookgate", most: 20 },
  { name: "1 async · hookgate", base: "1 async · await loop", most: 1.8 },
  { name: "5 async · hookgate", base: "5 async · await loop", most: 1.2 },
  { name: "20 async · hookgate", base: "20 async · await loop", most: 1 },
  { name: "5 parallel · hookgate void", base: "5 parallel · Promise.all", most: 1.6 },
  { name: "20 parallel · hookgate void", base: "20 parallel · Promise.all", most: 1.6 },
  { name: "5 async, 1000 in flight · hookgate", base: "5 async, 1000 in flight · await loop", most: 1.1 },
  { name: "5 async · hookgate, 10,000 handlers elsewhere", base: "5 async · hookgate", most: 1.05 },
  { name: "register", most: 1000 },
];
const BASES = ["await loop", "Promise.all", "loop"];

type Mode = "fresh" | "mixed";
interface Job {
  name: string;
  base?: string;
  mode: Mode;
  ns: number[];
  ratios: number[];
}

const subject = await compiled("bench/dispatch-cases.ts");
const ask = (...args: string[]): unknown => JSON.parse(execFileSync(process.execPath, [subject, ...args]).toString());

function plan(): Job[] {
  const names = ask() as string[];
  const baseOf = (name: string): string | undefined => {
    const target = TARGETS.find((one) => one.name === name);
    if (target !== undefined) return target.base;
    const found = BASES.map((base) => `${name.split(" · ")[0]} · ${base}`).find((base) => names.includes(base));
    return found === name ? undefined : found;
  };
  const modesOf = (name: string): Mode[] => (TARGETS.some((one) => one.name === name) ? ["fresh", "mixed"] : ["fresh"]);
  return names
    .filter((name) => PATTERN.test(name))
    .flatMap((name) => {
      const base = baseOf(name);
      return modesOf(name).map((mode) => ({ name, mode, ns: [], ratios: [], base }));
    });
}

function measure(jobs: Job[]): void {
  for (let round = 0; round < ROUNDS; round++)
    for (const { name, base, mode, ns, ratios } of jobs) {
      const measured = ask(name, base ?? "", mode) as { ns: number; ratio?: number };
      ns.push(measured.ns);
      if (measured.ratio !== undefined) ratios.push(measured.ratio);
    }
}

function printCases(jobs: Job[]): void {
  console.log(`${"case".padEnd(52)}${"ns".padStart(9)}${"ratio".padStart(8)}`);
  for (const { name, ns, ratios } of jobs
    .filter(({ mode }) => mode === "fresh")
    .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }))) {
    const ratio = ratios.length === 0 ? "" : median(ratios).toFixed(2);
    console.log(
      `${name.padEnd(52)}${Math.min(...ns)
        .toFixed(1)
        .padStart(9)}${ratio.padStart(8)}`,
    );
  }
}

/** Ratios drift by a tenth from run to run, more on a busy machine. */
const verdict = (value: number, most: number) =>
  value <= most ? "holds" : value <= most * 1.1 ? "within a tenth" : "MISSED";

function printTargets(jobs: Job[]): void {
  console.log(
    `\n${"target".padEnd(52)}${"at most".padStart(9)}${"fresh".padStart(9)}${"".padEnd(16)}${"mixed".padStart(9)}`,
  );
  for (const { name, most } of TARGETS) {
    const values = (["fresh", "mixed"] as const).flatMap((mode) => {
      const job = jobs.find((one) => one.name === name && one.mode === mode);
      return job === undefined ? [] : [job.base === undefined ? Math.min(...job.ns) : median(job.ratios)];
    });
    const cells = values.map((value) => `${value.toFixed(2).padStart(9)}  ${verdict(value, most).padEnd(14)}`);
    if (cells.length > 0) console.log(`${name.padEnd(52)}${String(most).padStart(9)}${cells.join("")}`);
  }
}

try {
  const jobs = plan();
  measure(jobs);
  printCases(jobs);
  printTargets(jobs);
} finally {
  rmSync(dirname(subject), { recursive: true, force: true });
}
