/** `hookgate check`: the configuration and its plugins, every problem at once, with its place. */
import { dirname } from "node:path";
import { loadCalendar } from "../alerts/sla/calendars/load.js";
import { hooksOf } from "../app/hooks.js";
import { plansOf, surroundings } from "../app/missions.js";
import type { Definition } from "../automations/definition/definition.js";
import { install } from "../automations/install.js";
import { declareEvents } from "../automations/triggers/ingested.js";
import { type ConfigProblem, formatProblem, type LoadedConfig, loadConfig } from "../config/load.js";
import { HookRegistry } from "../hooks/registry.js";
import { errorMessage } from "../lib/errors.js";
import { silentLogger } from "../lib/logger.js";
import { checkPlugins, pluginParts } from "../plugins/check.js";
import { EXIT, type ExitCode } from "./exit.js";
import { printJson, type Terminal } from "./terminal.js";

export async function check({ path, json }: { path?: string; json: boolean }, terminal: Terminal): Promise<ExitCode> {
  const loaded = loadConfig(path === undefined ? {} : { path });
  const { file } = loaded;
  const problems = [
    ...loaded.problems,
    ...(await pluginProblems(loaded)),
    ...(await hookProblems(loaded)),
    ...(await calendarProblems(loaded)),
    ...planProblems(loaded),
  ];
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

/** Plans of missions are read when they are run: here is where what is wrong with them is seen before. */
function planProblems({ config, file }: LoadedConfig): ConfigProblem[] {
  if (!config || !file) return [];
  const around = surroundings(
    () => config.orchestrator,
    () => Object.keys(config.models.available),
  );
  return plansOf(file, around)
    .list()
    .flatMap((plan) =>
      "problems" in plan
        ? plan.problems.map((problem) => ({ ...problem, message: `plan ${plan.id}: ${problem.message}` }))
        : [],
    );
}

/** Calendars are loaded: only date-holidays knows its places. */
async function calendarProblems({ config, file, placeOf }: LoadedConfig): Promise<ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  for (const [name, calendar] of Object.entries((file && config?.sla.calendars) || {}))
    await loadCalendar(name, calendar).catch((error: unknown) => {
      const path = ["sla", "calendars", name];
      problems.push({ file: file ?? "", ...placeOf?.(path), path: path.join("."), message: errorMessage(error) });
    });
  return problems;
}

/** What a start would make of problems that concern single platforms. */
function consequence(problems: readonly ConfigProblem[]): string {
  if (problems.some(({ platform, event }) => platform === undefined && event === undefined)) return "";
  const off = new Set(problems.flatMap(({ platform }) => platform ?? []));
  const refused = new Set(problems.flatMap(({ event }) => event ?? []));
  return [
    off.size > 0 && ` Until they are mended, off: ${[...off].join(", ")}. Other platforms go on.`,
    refused.size > 0 && ` Until they are mended, refused: the events ${[...refused].join(", ")}. Others go on.`,
  ]
    .filter(Boolean)
    .join("");
}

/** Hooks are registered for the look, where nothing fires: so dependencies and the rest are checked as at a start. */
async function hookProblems(loaded: LoadedConfig): Promise<ConfigProblem[]> {
  const { config, env, file } = loaded;
  if (!config || !env || !file) return [];
  const registry = new HookRegistry({ logger: silentLogger });
  declareEvents(registry, config.events);
  const plugins = await pluginParts(config.plugins, dirname(file));
  for (const point of plugins.points) registry.declare(point);
  const hooks = hooksOf(loaded, { config, env }, registry.points);
  standIn(registry, hooks.definitions, plugins.ids);
  const installed = install(registry, new Map(), hooks, () => Promise.reject(new Error("nothing fires here")));
  return installed.broken.flatMap(({ id, problems }) =>
    problems.map(({ hookId: _, ...problem }) => ({
      ...problem,
      path: problem.path,
      message: `hook ${id}: ${problem.message}`,
    })),
  );
}

/** Plugins are not set up for a look, so nobody knows their hooks: one that a hook waits for, and whose plugin is there, is taken as there. */
function standIn(registry: HookRegistry, definitions: readonly Definition[], plugins: readonly string[]): void {
  for (const { point, phase, after, before } of definitions)
    for (const id of [...after, ...before])
      if (plugins.some((plugin) => id.startsWith(`${plugin}.`)) && registry.get(id) === undefined)
        registry.register({
          id,
          hook: point,
          ...(phase === undefined ? {} : { phase }),
          handler: () => {},
        } as Parameters<HookRegistry["register"]>[0]);
}
