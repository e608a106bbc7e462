/** `hookgate check`: the configuration, its plugins, hooks and plans; every problem at once, with its place. */
import { type ListedProblem, splitProblems } from "../app/problems/problems.js";
import { isWithoutPlatform } from "../app/problems/valid-config.js";
import { formatProblem, isOfAll, type LoadedConfig, loadConfig } from "../config/load.js";
import { configWarnings } from "../config/warnings.js";
import { databaseFiles } from "../store/database-file/files.js";
import { ownerProblem, takenFolder } from "../store/database-file/owned.js";
import { examine } from "./examine.js";
import { EXIT, type ExitCode } from "./exit.js";
import { printJson, type Terminal } from "./terminal.js";

export async function check({ path, json }: { path?: string; json: boolean }, terminal: Terminal): Promise<ExitCode> {
  const loaded = loadConfig(path === undefined ? {} : { path });
  const { file } = loaded;
  const notes: string[] = [];
  const warnings = loaded.config && loaded.env ? configWarnings(loaded.config, loaded.env, file) : [];
  if (loaded.env) warnings.push(...ownerWarnings(loaded.env.DATABASE_URL));
  const { broken: problems, warned } = splitProblems(
    await examine(loaded, {
      warning: (text) => warnings.push(text),
      note: (text) => notes.push(text),
    }),
  );
  warnings.push(...warned.map(formatProblem));
  const isGood = problems.length === 0;
  if (!json) for (const warning of warnings) terminal.error(`warning: ${warning}`);
  if (!json) for (const one of notes) terminal.out(`note: ${one}`);
  if (json) printJson(terminal, { ok: isGood, file: file ?? null, problems, warnings, notes });
  else if (isGood) terminal.out(`${file ?? "No hookgate.yaml: the defaults hold. The environment"} is good.`);
  else {
    for (const problem of problems) terminal.error(formatProblem(problem));
    terminal.error(
      `${problems.length} ${problems.length === 1 ? "problem" : "problems"}.${consequence(problems, loaded)}`,
    );
  }
  return isGood ? EXIT.done : EXIT.usage;
}

/** A check may run as another user than the gateway. */
function ownerWarnings(databaseUrl: string): string[] {
  const files = databaseFiles(databaseUrl);
  const problem = ownerProblem(files);
  if (problem !== undefined) return [`A start of this user fails: ${problem.message}. ${problem.hint}`];
  const taken = takenFolder(files);
  return taken === undefined ? [] : [taken];
}

/** The consequence of the problems for a start. */
function consequence(problems: readonly ListedProblem[], loaded: LoadedConfig): string {
  const refused = "Hookgate does not start, and a running gateway does not apply this configuration";
  if (problems.some((problem) => problem.of === "configuration")) return ` ${refused}, until they are fixed.`;
  if (isWithoutPlatform(loaded))
    return ` Until ${problems.length === 1 ? "it is" : "they are"} fixed, no platform is on, so ${refused}.`;
  const named = (wanted: (problem: ListedProblem) => string | undefined) => [
    ...new Set(problems.flatMap((one) => wanted(one) ?? [])),
  ];
  const critical = named((problem) => problem.critical);
  if (critical.length > 0)
    return ` ${refused}: the critical ${critical.join(" and the critical ")} ${critical.length === 1 ? "is" : "are"} broken.`;
  const off = named(({ platform }) => platform);
  const events = named(({ event }) => event);
  const ofSome = problems.filter((problem) => isOfAll(problem) && problem.of !== "stray");
  const isOf = (...kinds: ListedProblem["of"][]) => ofSome.some((problem) => kinds.includes(problem.of));
  const starts = [
    "Hookgate starts",
    isOf("hook", "plugin", "plan") && "leaves out what cannot be loaded",
    isOf("needs", "trigger") && "puts hooks in force that cannot do their work",
    "and lists all problems in /status until they are fixed.",
  ];
  return [
    off.length > 0 && ` Until they are fixed, off: ${off.join(", ")}. Other platforms go on.`,
    events.length > 0 && ` Until they are fixed, refused: the events ${events.join(", ")}. Others go on.`,
    ofSome.length > 0 && ` ${starts.filter(Boolean).join(", ")}`,
  ]
    .filter(Boolean)
    .join("");
}
