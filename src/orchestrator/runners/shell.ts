/**
 * A program of the configuration. It has the task on standard input and in HOOKGATE_TASK_… variables; exit code 0 means done. Lines
 * `::progress 40 packing` and `::file build/site.zip` on standard output are for the card and the result. The program's whole process group
 * ends with it.
 */

import { resolve } from "node:path";
import { errorMessage } from "../../lib/errors.js";
import type { Processes, ProgramEnd } from "../../lib/process/process.js";
import { secretMask } from "../../lib/signing/secret.js";
import { definedOf, withoutUndefined } from "../../lib/without-undefined.js";
import type { ShellConfig } from "../config.js";
import { briefOf, dataOf, type Ending, failedEnding, howOf, type Job, type Runner } from "./runner.js";
import { outputReader } from "./shell-output.js";

export interface ShellDeps {
  processes: Processes;
  folder: string;
  variable(name: string): string | undefined;
}

/** The job's signal ends it; this is only a bound. */
const LONGEST_MS = 7 * 24 * 60 * 60 * 1000;

export function shellRunner(config: ShellConfig, { processes, folder, variable }: ShellDeps): Runner {
  return async (job) => {
    const missing = config.secrets.find((name) => variable(name) === undefined);
    if (missing !== undefined) return failedEnding(`the variable ${missing} is not set`, job.signal);
    const secrets = config.secrets.map((name) => [name, variable(name) ?? ""] as const);
    const mask = secretMask(secrets.map(([, value]) => value));
    const [command, ...args] = config.command ?? ["/bin/sh", "-c", config.sh as string];
    const reader = outputReader((shown) => job.progress(masked(shown, mask)));
    try {
      const end = await processes.run({
        command: command as string,
        args,
        cwd: resolve(folder, config.cwd ?? "."),
        env: { ...config.env, ...Object.fromEntries(secrets), ...variablesOf(job) },
        stdin: JSON.stringify(briefOf(job)),
        timeoutMs: LONGEST_MS,
        signal: job.signal,
        maxBytes: job.maxBytes,
        onOutput: reader.take,
      });
      return endingOf(end, reader.files(), job, mask);
    } catch (error) {
      return failedEnding(errorMessage(error), job.signal);
    }
  };
}

function variablesOf({ task, runId }: Job): Record<string, string> {
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value)).replaceAll("\0", "");
  return {
    HOOKGATE_TASK_ID: task.id,
    HOOKGATE_RUN_ID: runId,
    HOOKGATE_TASK_TITLE: text(task.title),
    HOOKGATE_TASK_DESCRIPTION: text(task.description),
    HOOKGATE_TASK_ATTEMPT: String(task.attempt),
    ...definedOf({
      HOOKGATE_TASK_FEEDBACK: task.feedback === undefined ? undefined : text(task.feedback),
      HOOKGATE_TASK_INPUT: task.input === undefined ? undefined : text(task.input),
    }),
  };
}

function endingOf(end: ProgramEnd, files: string[], { signal }: Job, mask: (text: string) => string): Ending {
  const words = mask(withoutMarks(end.stdout));
  const data = end.stdoutCut ? undefined : dataOf(words);
  const facts = {
    output: words,
    exitCode: end.exitCode,
    data,
    files: files.length === 0 ? undefined : files,
  };
  if (end.how === "exited" && end.exitCode === 0) return { how: "ended", result: { ok: true, ...facts } };
  const how = end.how === "timed_out" ? "timed_out" : end.how === "aborted" ? cutOffBy(signal) : "ended";
  return { how, result: { ok: false, ...facts, error: errorOf(end, mask) } };
}

/** The end of the gateway may end the program before it ends the job. */
const cutOffBy = (signal: AbortSignal): Ending["how"] => (signal.aborted ? howOf(signal) : "interrupted");

function errorOf(end: ProgramEnd, mask: (text: string) => string): string {
  const last = mask(end.stderr.trim() || withoutMarks(end.stdout).trim())
    .split("\n")
    .slice(-5)
    .join("\n")
    .slice(-500);
  const lastWords = last === "" ? "" : `: ${last}`;
  switch (end.how) {
    case "timed_out":
      return `it did not end in time${lastWords}`;
    case "aborted":
      return `it was ended before it was done${lastWords}`;
    case "flooded":
      return "it printed without end and was stopped";
    case "exited":
      return `the program ${end.signal === null ? `exited with ${end.exitCode}` : `was ended by ${end.signal}`}${lastWords}`;
  }
}

const MARK = /^::(progress|file)\b.*$\n?/gm;
const withoutMarks = (text: string) => text.replace(MARK, "");

function masked<T extends { now?: string; output?: string }>(shown: T, mask: (text: string) => string): T {
  return {
    ...shown,
    ...withoutUndefined({ now: shown.now && mask(shown.now), output: shown.output && mask(shown.output) }),
  };
}
