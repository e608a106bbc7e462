/** A program and its arguments as a list, with advice for a list in place of a whole command line. */
import { basename } from "node:path";
import { z } from "zod";
import { shown } from "../validation/plain-issues.js";

/** `hasSh`: the setting `sh`, which takes a command line for a shell, is beside it. */
export function argumentList<Argument extends z.ZodType>(argument: Argument, { hasSh }: { hasSh: boolean }) {
  return z
    .array(argument, {
      error: ({ code, input }) =>
        code === "invalid_type" && typeof input === "string" ? instead(input, hasSh) : undefined,
    })
    .min(1)
    .superRefine((command, context) => {
      if (!hasSh) return;
      for (const { index, message } of shellMarkProblems(command as readonly string[], "sh"))
        context.addIssue({ code: "custom", message, path: [index] });
    });
}

/** Marks that join or redirect commands in a shell. Without a shell they are ordinary arguments: the rest of the line never runs. */
const SHELL_MARK = /^(&&|\|\|?|;|&|>>?|<|2>&1)$/;
/** They take such a mark as an argument: `tr ";" ","`, `expr a "|" b`, `[ a "<" b ]`. */
const TAKES_MARK = /^(tr|expr|test|\[)$/;
/** `find -exec grep "|" {} ;`, `find -name "&"` */
const FIND_TAKES_MARK =
  /^-(exec|execdir|ok|okdir|i?name|i?path|i?regex|i?lname|i?wholename|f?printf|newer\w*|samefile)$/;
/** The next argument is one character that separates fields. */
const TAKES_SEPARATOR = /^(cut -d|sort -t|join -t|paste -d|column -[st]|[gm]?awk -F|psql -F|sqlite3 -separator)$/;

/** Entries that only a shell reads as more than text. `instead`: the setting for a shell line, beside an argument list. */
export function shellMarkProblems(
  command: readonly string[],
  instead: "sh" | "command",
): { index: number; message: string }[] {
  const program = basename(command[0] ?? "");
  const index = command.findIndex(
    (one, at) =>
      SHELL_MARK.test(one) &&
      !(/^[|;&<>]$/.test(one) && TAKES_MARK.test(program)) &&
      !(program === "find" && command.slice(0, at).some((before) => FIND_TAKES_MARK.test(before))) &&
      !TAKES_SEPARATOR.test(`${program} ${command[at - 1]}`),
  );
  if (index === -1) return [];
  const mark = command[index] as string;
  const why = `no shell reads this list, so ${program} gets ${JSON.stringify(mark)} and all that follows as arguments`;
  const line = command.map((one) => (SHELL_MARK.test(one) ? one : quoted(one))).join(" ");
  if (line.includes("{{"))
    return [
      { index, message: `${why}: write the line as sh, with env: { NAME: "{{ … }}" } and "$NAME" for each template` },
    ];
  const write = instead === "sh" ? `sh: ${JSON.stringify(line)} in place of command` : listOf(["/bin/sh", "-c", line]);
  return [{ index, message: `${why}: write ${write}` }];
}

/** Quotes a text as one word of a shell line. */
const quoted = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** A template is one argument, with the spaces in it. */
const WORDS = /(?:\{\{.*?\}\}|\S)+/gs;
/** Signs that only a shell reads: quotes, pipes, variables, patterns. */
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
