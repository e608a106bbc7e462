/**
 * `- run_tests:`: runs a test suite and reads its output: how many tests passed and failed, and which. The step is ok only when the exit
 * code AND every summary are ok.
 */
import { resolve } from "node:path";
import { z } from "zod";
import { HookgateError } from "../../lib/errors.js";
import type { ProgramEnd } from "../../lib/process/process.js";
import { locate, openFile, readStart, within } from "../paths.js";
import {
  checkProgram,
  endingOf,
  missingProgram,
  noExitCode,
  PROGRAM_VERBATIM,
  programFields,
  runProgram,
} from "../program.js";
import type { NoValueOf, Step, StepContext } from "../step.js";
import { readJunit } from "./run-tests/junit.js";
import { type Runner, readers, readTally } from "./run-tests/read-tally.js";
import { sumTallies, type Tally } from "./run-tests/tally.js";

const runTestsOptions = z
  .strictObject({
    ...programFields,
    runner: z
      .enum(["auto", ...(Object.keys(readers) as [Runner, ...Runner[]])])
      .default("auto")
      .describe("Whose output it is. `auto` recognises it."),
    report: z
      .string()
      .min(1)
      .optional()
      .describe("A JUnit report that the tests write, read besides the output; in the folder where they run (`cwd`)."),
  })
  .superRefine(checkProgram);
type RunTestsOptions = z.output<typeof runTestsOptions>;

/** The output is read in full up to this size; a summary is at its end, which is always kept. */
const MAX_READ_BYTES = 8 * 1024 * 1024;
const MAX_FAILURES = 200;

export const runTestsStep: Step<RunTestsOptions> = {
  name: "run_tests",
  summary: "Runs tests: how many passed, failed and were skipped, and the names of those that failed.",
  options: runTestsOptions,
  verbatim: [...PROGRAM_VERBATIM, "runner"],
  argumentLists: ["command"],
  places: ["report"],
  okWord: "exit_zero",
  ownerOnly: true,
  fields: {
    passed: "number",
    failed: "number",
    skipped: "number",
    total: "number",
    failures: "array",
    runner: "string",
    recognised: "boolean",
    exitCode: "number",
    stdout: "string",
    stderr: "string",
    latencyMs: "number",
  },
  nullable: ["runner"],
  itemsOf: () => ({ failures: { type: "string" } }),
  secrets: (options) => options.secrets,
  missing: (options, machine) => [...missingProgram(options, machine), ...lostReport(options, machine.folder)],
  async run(options, context) {
    const startedAt = context.clock.now();
    const end = await runProgram(options, context, {
      ...context,
      maxBytes: Math.max(MAX_READ_BYTES, context.maxBytes),
    });
    const runner = options.runner === "auto" ? undefined : options.runner;
    const printed = readTally(`${end.stdout}\n${end.stderr}`, runner);
    const report =
      options.report === undefined ? undefined : await readReport(options.report, options.cwd, startedAt, context);
    // The report lists each test; a summary of the same tests would count them twice, but a red one must not be lost.
    const tally = report === undefined ? printed : { ...report, failed: Math.max(report.failed, printed?.failed ?? 0) };
    const isOk = end.exitCode === 0 && (tally?.failed ?? 0) === 0;
    const names = (tally?.failures ?? []).slice(0, MAX_FAILURES);
    // An empty list would look as if nothing were red.
    const failures = tally === undefined && !isOk ? [unrecognised(end)] : names;
    const total = tally === undefined ? null : tally.passed + tally.failed + tally.skipped;
    return {
      value: {
        passed: tally?.passed ?? null,
        failed: tally?.failed ?? null,
        skipped: tally?.skipped ?? null,
        total,
        failures,
        runner: tally?.runner ?? null,
        recognised: tally !== undefined,
        exitCode: end.exitCode,
        stdout: lastBytes(end.stdout, context.maxBytes),
        stderr: lastBytes(end.stderr, context.maxBytes),
        latencyMs: Math.round(end.latencyMs),
      },
      noValue: noValueOf(tally, end),
      text: `${summary(tally, endingOf(end), isOk)}${names.map((name) => `\n- ${name}`).join("")}`,
      isEmpty: end.exitCode === 0 && (total === null ? `${end.stdout}${end.stderr}`.trim() === "" : total === 0),
      isOk,
    };
  },
};

function summary(tally: Tally | undefined, ending: string, isOk: boolean): string {
  const verdict = isOk ? "green" : "red";
  if (tally === undefined) return `Tests ${verdict}: the command ${ending}; no known runner in its output`;
  const { passed, failed, skipped, runner } = tally;
  return `Tests ${verdict}: ${passed} passed, ${failed} failed, ${skipped} skipped (${runner}); the command ${ending}`;
}

/** Gives no value instead of 0: output without numbers must not look as if nothing were red. */
function noValueOf(tally: Tally | undefined, end: ProgramEnd): NoValueOf | undefined {
  const noCode = noExitCode(end);
  if (tally !== undefined) return noCode;
  return { fields: ["passed", "failed", "skipped", "total", ...(noCode?.fields ?? [])], why: unrecognised(end) };
}

const unrecognised = (end: ProgramEnd) => `no known runner in its output, and the command ${endingOf(end)}`;

function lostReport({ report, cwd = "." }: RunTestsOptions, folder: string): string[] {
  const top = resolve(folder, cwd);
  if (report === undefined || within(resolve(top, report), top)) return [];
  return [`report: ${report} is outside of the folder where the tests run: name a folder that holds it with \`cwd\``];
}

/** A report that was there before shows nothing about this run. File systems keep times less exactly than we do. */
async function readReport(
  path: string,
  cwd: string | undefined,
  startedAt: number,
  context: StepContext,
): Promise<Tally> {
  const file = await openFile(await locate(path, cwd, context, context.folders.report));
  try {
    if ((await file.stat()).mtimeMs < startedAt - 2000)
      throw new HookgateError({ code: "REPORT_STALE", message: `${path} was not written by this run` });
    const tally = readJunit((await readStart(file, MAX_READ_BYTES)).toString("utf8"));
    if (tally === undefined)
      throw new HookgateError({ code: "REPORT_UNREADABLE", message: `${path} is no JUnit report` });
    return sumTallies([tally]);
  } finally {
    await file.close();
  }
}

/** The end of the output, where the verdict is. */
function lastBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let start = bytes.length - maxBytes;
  while (start < bytes.length && ((bytes[start] as number) & 0xc0) === 0x80) start++;
  return `[… ${start} bytes cut …]\n${bytes.subarray(start).toString("utf8")}`;
}
