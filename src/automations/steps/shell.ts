/** `- shell:`: runs a program and keeps its output. Its exit code is a result; only a program that did not start or end is a failure. */
import { z } from "zod";
import {
  checkProgram,
  endingOf,
  missingProgram,
  noExitCode,
  PROGRAM_VERBATIM,
  programFields,
  runProgram,
} from "../program.js";
import type { Step } from "../step.js";

const shellStepOptions = z.strictObject(programFields).superRefine(checkProgram);

export const shellStep: Step<z.output<typeof shellStepOptions>> = {
  name: "shell",
  summary: "Runs a program: its output, its errors, its exit code.",
  options: shellStepOptions,
  verbatim: PROGRAM_VERBATIM,
  argumentLists: ["command"],
  okWord: "exit_zero",
  ownerOnly: true,
  fields: {
    stdout: "output",
    stderr: "output",
    exitCode: "number",
    signal: "string",
    truncated: "boolean",
    latencyMs: "number",
  },
  nullable: ["signal"],
  secrets: (options) => options.secrets,
  missing: missingProgram,
  async run(options, context) {
    const end = await runProgram(options, context, context);
    const isOk = end.exitCode === 0;
    return {
      value: {
        stdout: end.stdout,
        stderr: end.stderr,
        exitCode: end.exitCode,
        signal: end.signal,
        truncated: end.stdoutCut || end.stderrCut,
        latencyMs: Math.round(end.latencyMs),
      },
      noValue: noExitCode(end),
      text: isOk ? end.stdout : `${end.stdout}${end.stderr}`,
      // A program that fails without a word has not found nothing.
      isEmpty: isOk && end.stdout.trim() === "",
      isOk,
      notOk: isOk || `${end.stdout}${end.stderr}`.trim() !== "" ? undefined : `the program ${endingOf(end)}`,
    };
  },
};
