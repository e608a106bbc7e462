/**
 * The places in an argument list where a template may be. An argument is data for the program that gets it, unless that program reads it
 * as a command line or as code.
 */
import { basename } from "node:path";
import { isTemplate } from "../template/is-template.js";

const INTERPRETERS =
  /^(sh|bash|dash|zsh|ksh|ash|fish|busybox|python[\d.]*|node|nodejs|deno|bun|perl|ruby|php|lua|awk|gawk|mawk|sed|osascript|pwsh|powershell|cmd)(\.exe)?$/i;
/** `-c`, `-lc`, `-e`, `-pe`, `--eval`, `/c`: code follows. */
const TAKES_CODE = /^(-[A-Za-z]*[cCeEprR]|--?(eval|exec|execute|print|command)|\/[cCkK])$/;
/** All their arguments make one command line for a shell, here or elsewhere. */
const MAKE_A_LINE = /^(ssh|su|eval|rsh|mosh|watch|script)$/;

export function argumentProblems(command: readonly string[]): { index: number; message: string }[] {
  return command.flatMap((argument, index) => {
    if (!isTemplate(argument)) return [];
    const message = whyNot(command, index);
    return message === undefined ? [] : [{ index, message }];
  });
}

function whyNot(command: readonly string[], index: number): string | undefined {
  if (index === 0) return "the program itself is no template";
  const names = command.slice(0, index).map((one) => basename(one));
  const line = names.find((name) => MAKE_A_LINE.test(name));
  if (line !== undefined) return `${line} makes a command line of its arguments: ${ANOTHER_WAY}`;
  const interpreter = names.find((name) => INTERPRETERS.test(name));
  if (interpreter === undefined) return undefined;
  const isCode =
    TAKES_CODE.test(command[index - 1] as string) ||
    (/^(.?awk|sed)$/i.test(interpreter) && !names.slice(1).some((name) => !name.startsWith("-"))) ||
    /^--?(eval|exec|print|command)=/.test(command[index] as string);
  return isCode ? `${interpreter} reads this as code: ${ANOTHER_WAY}` : undefined;
}

const ANOTHER_WAY = 'give the value by `env: { NAME: "{{ … }}" }`, or as an argument of its own after the script';
