/** `$NAME` in settings that no shell reads: the other side would get these letters. */
import { basename } from "node:path";

const VARIABLE = /\$(?:\{([A-Z_][A-Z0-9_]+)\}|([A-Z_][A-Z0-9_]+))/;
/** A variable of a program may hold a line for a shell: only `$HOME`, `$HOME/bin`, `/opt/bin:$PATH` are meant to be expanded here. */
const IN_PATH = /(?:^|:)\$(?:\{([A-Z_][A-Z0-9_]+)\}|([A-Z_][A-Z0-9_]+))(?=[/:]|$)/;

/** A whole argument. A program of another language, such as a pattern of awk, has more in it. */
const AS_ARGUMENT = /^\$(?:\{([A-Z_][A-Z0-9_]+)\}|([A-Z_][A-Z0-9_]+))$/;
const READS_VARIABLES = /^(?:\w*sh|\w*awk|env|eval)$/;

/** The arguments of a program that is no shell, each with the name of its setting. */
function argumentsOf(command: unknown): [setting: string, value: unknown][] {
  if (!Array.isArray(command) || READS_VARIABLES.test(basename(String(command[0])))) return [];
  return command.slice(1).map((value, at) => [`command[${at + 1}]`, value]);
}

/** One sentence for each setting of a step or a handler, with the setting to write. */
export function unexpanded(options: unknown): string[] {
  const { url, headers, env, command } = (options ?? {}) as Record<string, unknown>;
  const found = (setting: string, value: unknown, pattern: RegExp, write: (name: string) => string) => {
    const [text, inBraces, plain = inBraces] = (typeof value === "string" && pattern.exec(value)) || [];
    if (text === undefined || plain === undefined) return [];
    return [`${setting} has $${plain}, and nothing puts a variable's value there: write ${write(plain)}`];
  };
  return [
    ...argumentsOf(command).flatMap(([setting, one]) =>
      found(setting, one, AS_ARGUMENT, () => "the line as `sh` in place of `command`"),
    ),
    ...found("url", url, VARIABLE, () => "the value, or give the whole address by url_env"),
    ...Object.entries(headers ?? {}).flatMap(([header, value]) =>
      found(`headers.${header}`, value, VARIABLE, (name) =>
        /^authorization$/i.test(header)
          ? `auth: { bearer_env: ${name} }`
          : `auth: { header: ${header}, value_env: ${name} }`,
      ),
    ),
    ...Object.entries(env ?? {}).flatMap(([variable, value]) =>
      found(
        `env.${variable}`,
        value,
        IN_PATH,
        (name) => `the value, or name ${name} in secrets and read it in the program`,
      ),
    ),
  ];
}
