/**
 * `run: shell`: a program decides. It has the payload on standard input and the names in its environment; exit 0 passes (JSON on standard
 * output may say more), exit 2 blocks with standard error as the reason, and anything else is a failure, never a veto by accident.
 */

import { z } from "zod";
import { HookgateError } from "../../lib/errors.js";
import type { ProgramEnd } from "../../lib/process/process.js";
import type { Handler, HandlerFacts, HandlerResult } from "../handler.js";
import { errorWithoutPaths } from "../paths.js";
import {
  checkProgram,
  commandLine,
  endingOf,
  isTimeout,
  missingProgram,
  PROGRAM_VERBATIM,
  programFields,
  runProgram,
  scriptFaults,
} from "../program.js";
import type { RunContext } from "../run-context.js";
import { decidesInLog, readDecision } from "./decision.js";

const shellOptions = z
  .strictObject({
    ...programFields,
    decision: z
      .enum(["explicit", "status"])
      .default("explicit")
      .describe("status: any exit code but 0 blocks. Default: only 2 and a decision on standard output do."),
    max_bytes: z.int().min(100).max(4_000_000).default(256_000).describe("How much of its output is kept."),
  })
  .superRefine(checkProgram);
type ShellOptions = z.output<typeof shellOptions>;

/** The problems that the shell reported for a script: it is asked once, however often problems are listed. */
const examined = new WeakMap<ShellOptions, Promise<string[]>>();

/** The run's own deadline ends the program; this is only a bound for runs that have none. */
const LONGEST_MS = 24 * 60 * 60 * 1000;
const BLOCKS = 2;

export const shellHandler: Handler<ShellOptions> = {
  name: "shell",
  summary: "Runs a program with the payload on standard input; its exit code or its output decides.",
  options: shellOptions,
  missing: missingProgram,
  faults(options) {
    const known = examined.get(options) ?? scriptFaults(options.sh);
    examined.set(options, known);
    return known;
  },
  decides: ({ decision }) => (decision === "status" ? "decision" : undefined),
  verbatim: [...PROGRAM_VERBATIM, "decision"],
  argumentLists: ["command"],
  ownerOnly: true,
  secrets: (options) => options.secrets,
  async run(options, context) {
    const rendered = commandLine(options);
    if (context.dryRun) return { kind: "decided", decision: { kind: "pass" }, rendered, output: { dryRun: true } };
    const limits = { timeoutMs: LONGEST_MS, maxBytes: options.max_bytes, signal: context.signal };
    try {
      const end = await runProgram(options, context, limits);
      return { ...resultOf(end, options), ...facts(end, rendered) };
    } catch (error) {
      return { ...thrown(error, context), rendered };
    }
  },
};

function resultOf(end: ProgramEnd, options: ShellOptions): HandlerResult {
  if (end.exitCode === 0) return decided(end, options);
  const words = end.stderr.trim() || end.stdout.trim();
  const isVeto = end.exitCode === BLOCKS || (options.decision === "status" && end.exitCode !== null);
  if (isVeto)
    return { kind: "decided", decision: { kind: "block", reason: words.slice(0, MAX_REASON) || endingOf(end) } };
  const lastWords = words === "" ? "" : `: ${lastLines(words)}`;
  return { kind: "failed", error: `the program ${endingOf(end)}${lastWords}`, isRetryable: true };
}

const MAX_REASON = 2000;

function decided(end: ProgramEnd, { decision }: ShellOptions): HandlerResult {
  const read = readDecision(end.stdout);
  switch (read.kind) {
    case "decision":
      return { kind: "decided", decision: read.decision };
    case "none":
      if (decidesInLog(end.stderr))
        return {
          kind: "failed",
          error: "the decision is on standard error: print it on standard output",
          isRetryable: false,
        };
      return {
        kind: "decided",
        decision: { kind: "pass" },
        undecided: { given: end.stdout, isByStatus: decision === "status" },
      };
    case "unreadable":
      return {
        kind: "failed",
        error: `standard output means to decide, but ${read.error}${end.stdoutCut ? " (it was cut: see max_bytes)" : ""}`,
        isRetryable: false,
      };
  }
}

function thrown(error: unknown, { signal, folder }: RunContext): HandlerResult {
  const timedOut = isTimeout(error) || signal.aborted;
  const known = error instanceof HookgateError ? error : undefined;
  const isRetryable = timedOut || known?.retryable === true;
  return { kind: "failed", error: errorWithoutPaths(error, folder), timedOut: timedOut || undefined, isRetryable };
}

function facts(end: ProgramEnd, rendered: string): HandlerFacts {
  const { exitCode, signal, stdout, stderr } = end;
  return { rendered, output: { exitCode, signal: signal ?? undefined, stdout, stderr } };
}

const lastLines = (words: string) => words.split("\n").slice(-5).join("\n").slice(-500);
