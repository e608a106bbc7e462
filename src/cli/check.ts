/** `hookgate check`: the configuration and its plugins, every problem at once, with its place. */
import { dirname } from "node:path";
import { type ConfigProblem, formatProblem, type LoadedConfig, loadConfig } from "../config/load.js";
import { checkPlugins } from "../plugins/check.js";
import { EXIT, type ExitCode } from "./exit.js";
import { printJson, type Terminal } from "./terminal.js";

export async function check({ path, json }: { path?: string; json: boolean }, terminal: Terminal): Promise<ExitCode> {
  const loaded = loadConfig(path === undefined ? {} : { path });
  const { file } = loaded;
  const problems = [...loaded.problems, ...(await pluginProblems(loaded))];
  const isGood = problems.length === 0;
  if (json) printJson(terminal, { ok: isGood, file: file ?? null, problems });
  else if (isGood) terminal.out(`${file ?? "No hookgate.yaml: the defaults hold. The environment"} is good.`);
  else {
    for (const problem of problems) terminal.error(formatProblem(problem));
    terminal.error(`${problems.length} ${problems.length === 1 ? "problem" : "problems"}.${consequence(problems)}`);
  }
  return isGood ? EXIT.done : EXIT.usage;
}

/** Plugins are looked at when the configuration itself is good: before that nobody knows which they are. */
async function pluginProblems({ config, file, placeOf }: LoadedConfig): Promise<ConfigProblem[]> {
  if (!config || !file) return [];
  const found = await checkPlugins(config.plugins, dirname(file));
  return found.map(({ index, module, message }) => ({
    file,
    ...placeOf?.(["plugins", index]),
    path: `plugins.${index}`,
    message: `${module}: ${message}`,
  }));
}

/** What a start would make of problems that concern single platforms. */
function consequence(problems: readonly ConfigProblem[]): string {
  const off = new Set(problems.map(({ platform }) => platform));
  return off.has(undefined) ? "" : ` Until they are mended, off: ${[...off].join(", ")}. Other platforms go on.`;
}
