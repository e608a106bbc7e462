/**
 * `when:` a CEL expression over `result` (the attempt's result) and `task`. Operators write them in chat, and one can be written that is at
 * work for years or takes all memory: so it is evaluated by a program of its own. (A thread does not do: where a single allocation is too
 * large, V8 ends the whole process.)
 */
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ExpectationOf } from "../../../domain/orchestrator/expectation.js";
import { HookgateError } from "../../../lib/errors.js";
import { formatDuration } from "../../../lib/time/duration.js";
import { type CheckContext, type Found, notSo, so } from "./check.js";

export interface WhenFacts {
  source: string;
  result: unknown;
  task: unknown;
  limitMs: number;
}
/** `holds`: true, or the reason why the condition does not hold. */
export type WhenAnswer = { holds: true | string } | { error: string } | { isTooLong: true };
/** `tookMs`: without the start of the program. */
export interface WhenReport {
  answer: WhenAnswer;
  tookMs: number;
}

const MAX_MB = 128;
const MAX_ANSWER = 1_000_000;

export async function checkCondition(expected: ExpectationOf<"when">, context: CheckContext): Promise<Found> {
  const { task, processes, folder, signal } = context;
  const { timeoutMs, conditionMs } = context;
  const facts: WhenFacts = { source: expected.when, result: task.result ?? {}, task, limitMs: conditionMs };
  const { how, exitCode, stdout } = await processes.run({
    command: process.execPath,
    args: [`--max-old-space-size=${MAX_MB}`, ...program()],
    cwd: folder,
    stdin: JSON.stringify(facts),
    timeoutMs,
    signal,
    maxBytes: MAX_ANSWER,
  });
  if (how === "timed_out")
    throw new HookgateError({
      code: "CONDITION_FAILED",
      message: `it was not evaluated within ${formatDuration(timeoutMs)}`,
    });
  if (how !== "exited" || exitCode !== 0) throw tooMuch(`more than ${MAX_MB} MB of memory`);
  const { answer, tookMs }: WhenReport = JSON.parse(stdout);
  if ("isTooLong" in answer) throw tooMuch("too long: all conditions of a task may take 5 s together");
  if ("error" in answer) throw new HookgateError({ code: "CONDITION_FAILED", message: answer.error });
  const found = answer.holds === true ? so(`it holds: ${expected.when}`) : notSo(answer.holds);
  return { ...found, tookMs };
}

/** Compiled where we are compiled, and from source where tests and `npx tsx` run. */
function program(): string[] {
  if (!import.meta.url.endsWith(".ts")) return [fileURLToPath(new URL("./when-program.js", import.meta.url))];
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  return ["--import", tsx, fileURLToPath(new URL("./when-program.ts", import.meta.url))];
}

function tooMuch(what: string): HookgateError {
  return new HookgateError({ code: "CONDITION_TOO_LARGE", message: `the condition takes ${what}; simplify it` });
}
