/** Examines a configuration as a start does, with everything that it names; nothing is started, sent or written. */
import { dirname } from "node:path";
import { commandSpecs } from "../../commands/index.js";
import { loadCalendar } from "../alerts/sla/calendars/load.js";
import { hooksOf } from "../app/configured-hooks.js";
import { movesOf } from "../app/moved-settings.js";
import { plansOf, surroundings } from "../app/parts/missions.js";
import { webRooms } from "../app/people.js";
import { faultsOf, type ListedProblem, problemsOf } from "../app/problems/problems.js";
import {
  gatedNotes,
  idleNotes,
  leftRunningNotes,
  loopNotes,
  unguardedNotes,
} from "../automations/definition/check-match.js";
import type { Definition } from "../automations/definition/definition.js";
import { asideNotes } from "../automations/definition/sources.js";
import { install } from "../automations/install.js";
import { declareEvents } from "../automations/triggers/ingested.js";
import { longPast } from "../automations/triggers/timed.js";
import { notThereYet, unreadFolders } from "../automations/triggers/watches.js";
import { formatProblem, type LoadedConfig, placeOfConfig } from "../config/load.js";
import { readableRoomNotes } from "../config/readable-rooms.js";
import { unansweredWarnings } from "../config/warnings.js";
import { runDry } from "../hooks/dry-run.js";
import { isError } from "../hooks/registration/validate.js";
import { HookRegistry } from "../hooks/registry.js";
import { errorMessage } from "../lib/errors.js";
import { silentLogger } from "../lib/logger.js";
import { systemClock } from "../lib/time/clock.js";
import { createPlugins, type Plugins } from "../plugins/plugins.js";
import { databaseFiles } from "../store/database-file/files.js";
import { readCursors, readRooms, readTriggers } from "../store/read-rooms.js";
import { type BlockingWatch, watchBlocking } from "./watch-blocking.js";
import { problemAt, type StrayWatch, watchStrays } from "./watch-strays.js";

/** Gets remarks that are no problems: a `warning` may be a mistake, a `note` is none. */
export interface Remarks {
  warning(text: string): void;
  note(text: string): void;
}

/** Finds the problems of the whole configuration. When a part of it is wrong, the other parts are examined all the same. */
export async function examine(loaded: LoadedConfig, remarks: Remarks = NONE): Promise<ListedProblem[]> {
  const { draft, problems } = loaded;
  if (draft === undefined) return problems.map((problem) => ({ ...problem, of: "configuration" }));
  const watches = { blocking: watchBlocking(), strays: watchStrays() };
  const found = await runDry(systemClock, () => staged(loaded, draft, remarks, watches)).finally(() => {
    watches.blocking.end();
    watches.strays.end();
  });
  const known = new Set(problems.map(formatProblem));
  return [...found, ...(await calendarProblems(loaded, draft)).filter((problem) => !known.has(formatProblem(problem)))];
}

/** Plugins are set up and hooks registered where nothing fires, so that all is checked as a start checks it. */
async function staged(
  loaded: LoadedConfig,
  draft: NonNullable<LoadedConfig["draft"]>,
  remarks: Remarks,
  { blocking, strays }: { blocking: BlockingWatch; strays: StrayWatch },
): Promise<ListedProblem[]> {
  const { config, env } = draft;
  const registry = new HookRegistry({ logger: silentLogger });
  declareEvents(registry, config.events);
  const unended: Unended[] = [];
  const plugins = unusedPlugins(loaded, draft, registry, blocking, unended);
  // A critical one that is broken is in the list like any other.
  await plugins.load().catch(() => {});
  if (config.plugins.length > 0) blocking.at(undefined);
  const hooks = hooksOf(loaded, draft, registry.points);
  const installed = install(registry, new Map(), hooks, nothing);
  const definitions = [...installed.live.values()].map(({ definition }) => definition);
  giveRemarks(loaded, draft, registry, definitions, remarks);
  const { database } = databaseFiles(env.DATABASE_URL);
  const rooms = readRooms(database);
  const fired = readTriggers(database);
  const plans = plansOf(
    placeOfConfig(loaded),
    surroundings(
      () => config.orchestrator,
      () => Object.keys(config.models.available),
    ),
  );
  const faults = await faultsOf(definitions);
  // Lets work run that plugins left for the next turn of the event loop.
  await new Promise((done) => setTimeout(done, LATE_MS));
  const problems = problemsOf({
    loaded,
    config,
    env,
    hooks: registry.list(),
    plugins: plugins.list(),
    definitions,
    broken: installed.broken,
    plans,
    commands: [...commandSpecs, ...plugins.commands()],
    faults,
    rooms: rooms && webRooms([...rooms], config),
    moves: movesOf((prefix) => readCursors(database, "gateway", prefix)),
    taken: registry.validate(),
    stuck: [
      ...definitions.flatMap((definition) => longPast(definition, systemClock.now(), fired.get(definition.id)) ?? []),
      ...(await Promise.all(definitions.map(unreadFolders))).flat(),
    ],
  });
  const infos = plugins.list();
  await plugins.stop();
  const own = problems.filter(
    (problem) =>
      loaded.problems.some(({ message }) => message === problem.message) || !loaded.isFollowUp?.(problem.message),
  );
  const ends = unended.map(({ id, message }) => {
    const module = infos.find((info) => info.id === id)?.module;
    return problemAt(module, `${module ?? id}: the function that its setup returned ${message}`, loaded);
  });
  return [...own, ...strays.problems(loaded, plugins.list()), ...ends];
}

/** A plugin whose end failed. */
interface Unended {
  id: string;
  message: string;
}

/** Plugins that can be loaded, but send, store and watch nothing. */
function unusedPlugins(
  loaded: LoadedConfig,
  { config }: NonNullable<LoadedConfig["draft"]>,
  registry: HookRegistry,
  blocking: BlockingWatch,
  unended: Unended[],
): Plugins {
  return createPlugins({
    entries: config.plugins,
    baseDir: dirname(placeOfConfig(loaded)),
    registry,
    gateway: { send: nothing, edit: nothing },
    keyValue: {
      get: async () => undefined,
      list: async () => [],
      set: async () => {},
      setNow: () => {},
      delete: async () => {},
    },
    reservedCommands: new Set(commandSpecs.map(({ name }) => name)),
    clock: systemClock,
    logger: silentLogger,
    onPrepare: blocking.at,
    teardownTimeoutMs: () => END_WITHIN_MS,
    onEndFailed: (id, message) => unended.push({ id, message }),
    watch: false,
  });
}

function giveRemarks(
  loaded: LoadedConfig,
  { config }: NonNullable<LoadedConfig["draft"]>,
  registry: HookRegistry,
  definitions: readonly Definition[],
  { warning, note }: Remarks,
): void {
  for (const { hookId, message } of definitions.flatMap(notThereYet)) note(`hook ${hookId}: ${message}.`);
  for (const definition of definitions) {
    const point = registry.point(definition.point);
    for (const message of [
      ...unguardedNotes(definition, point),
      ...loopNotes(definition, point),
      ...idleNotes(definition),
      ...gatedNotes(definition),
      ...leftRunningNotes(definition),
      ...definition.unexpanded,
    ])
      warning(`hook ${definition.id}: ${message}.`);
  }
  for (const unanswered of unansweredWarnings(config, definitions.filter(({ enabled }) => enabled).length))
    warning(unanswered);
  for (const readable of readableRoomNotes(config)) note(readable);
  for (const aside of asideNotes(loaded.file)) note(aside);
  for (const { message } of registry.validate().filter((problem) => !isError(problem))) warning(message);
  for (const { message } of registry.unawaited()) warning(message);
}

const LATE_MS = 20;
const END_WITHIN_MS = 5_000;
const NONE: Remarks = { warning: () => {}, note: () => {} };
const nothing = () => Promise.reject(new Error("nothing is sent or run by a check"));

/** Calendars are loaded: only date-holidays knows its places. */
async function calendarProblems(
  { file, placeOf, pathOf }: LoadedConfig,
  { config }: NonNullable<LoadedConfig["draft"]>,
): Promise<ListedProblem[]> {
  const problems: ListedProblem[] = [];
  for (const [name, calendar] of Object.entries(config.sla.calendars))
    await loadCalendar(name, calendar).catch((error: unknown) => {
      const path = ["sla", "calendars", name];
      const at = (pathOf?.(path) ?? path).join(".");
      problems.push({
        file: file ?? "",
        ...placeOf?.(path),
        path: at,
        message: errorMessage(error),
        of: "configuration",
      });
    });
  return problems;
}
