/** `$NAME` in settings that no shell reads: the other side would get these letters. */

const VARIABLE = /\$(?:\{([A-Z_][A-Z0-9_]+)\}|([A-Z_][A-Z0-9_]+))/;
/** A variable of a program may hold a line for a shell: only `$HOME`, `$HOME/bin`, `/opt/bin:$PATH` are meant to be expanded here. */
const IN_PATH = /(?:^|:)\$(?:\{([A-Z_][A-Z0-9_]+)\}|([A-Z_][A-Z0-9_]+))(?=[/:]|$)/;

/** One sentence for each setting of a step or a handler, with the setting to write. */
export function unexpanded(options: unknown): string[] {
  const { url, headers, env } = (options ?? {}) as { url?: unknown; headers?: unknown; env?: unknown };
  const found = (setting: string, value: unknown, pattern: RegExp, write: (name: string) => string) => {
    const [text, inBraces, plain = inBraces] = (typeof value === "string" && pattern.exec(value)) || [];
    if (text === undefined || plain === undefined) return [];
    return [`${setting} has $${plain}, and nothing puts a variable's value there: write ${write(plain)}`];
  };
  return [
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
