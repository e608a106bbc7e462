/** A program and its arguments as a list, with what to write in place of a whole command line. */
import { z } from "zod";
import { shown } from "../validation/plain-issues.js";

/** `hasSh`: the setting `sh`, which takes a command line for a shell, is beside it. */
export function argumentList<Argument extends z.ZodType>(argument: Argument, { hasSh }: { hasSh: boolean }) {
  return z
    .array(argument, {
      error: ({ code, input }) =>
        code === "invalid_type" && typeof input === "string" ? instead(input, hasSh) : undefined,
    })
    .min(1);
}

/** A template is one argument, with the spaces in it. */
const WORDS = /(?:\{\{.*?\}\}|\S)+/gs;
/** Quotes, pipes, variables, patterns: what only a shell reads. */
const FOR_A_SHELL = /["'`\\|&;<>()$*?[\]#~\n]/;

function instead(line: string, hasSh: boolean): string {
  const expected = `expected a list, got ${shown(line)}`;
  const words = line.match(WORDS) ?? [];
  const isSplit = words.length > 0 && !FOR_A_SHELL.test(line.replaceAll(/\{\{.*?\}\}/gs, ""));
  if (isSplit) return `${expected}: write ${listOf(words)}`;
  if (line.includes("{{") || line.trim() === "")
    return `${expected}: write each argument as an entry, such as ["git", "log"]`;
  return hasSh
    ? `${expected}: write one entry for each argument, such as ["git", "log"], or, for a line that a shell reads, sh: ${JSON.stringify(line)} in place of command`
    : `${expected}: write one entry for each argument, such as ["git", "log"], or, for a line that a shell reads, ${listOf(["/bin/sh", "-c", line])}`;
}

const listOf = (words: readonly string[]) => `[${words.map((word) => JSON.stringify(word)).join(", ")}]`;
