/**
 * Applying a changed configuration: it is checked first, as a start checks it. A configuration that a start refuses changes nothing. Of any
 * other the valid parts are applied in one go, and the broken ones are listed. Admins are notified in chat of both, and of changes that
 * only a restart can apply.
 */

import { resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Alerts } from "../alerts/alerts.js";
import type { Sla } from "../alerts/sla/sla.js";
import type { Automations, Reloaded } from "../automations/automations.js";
import type { Definition } from "../automations/definition/definition.js";
import type { LoadedHooks } from "../automations/definition/load.js";
import { hooksFolder } from "../automations/definition/sources.js";
import type { Notifier } from "../automations/notify.js";
import { declareEvents, withdrawEvents } from "../automations/triggers/ingested.js";
import { type Marks, marksOf, watchDefinitions } from "../automations/watch.js";
import { VARIABLES } from "../config/env.js";
import { formatProblem, type LoadedConfig, placeOfConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import type { HookRegistry } from "../hooks/registry.js";
import { inTurn } from "../lib/concurrency/in-turn.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { isMissing } from "../lib/files/list-folder.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import type { Orchestrator } from "../orchestrator/orchestrator.js";
import type { PluginInfo } from "../plugins/infos.js";
import type { Plugins } from "../plugins/plugins.js";
import type { Overrides } from "./overrides.js";
import { type ListedProblem, splitProblems } from "./problems/problems.js";
import { lostCritical, unfitHooks } from "./problems/unfit-hooks.js";
import type { ValidConfig } from "./problems/valid-config.js";
import { TAKEN_OVER } from "./taken-over.js";

export interface Rejection {
  file: string | undefined;
  message: string;
  /** A critical plugin or hook cannot be loaded: a change in a file of a plugin may correct that. */
  isOfCritical: boolean;
}

export interface TakenOver {
  plugins: PluginInfo[];
  hooks: Reloaded;
  /** Sections and variables that changed, and that only a restart applies. */
  needRestart: string[];
  /** The problems since this reload, one line each. */
  problems: string[];
  /**
   * The report for people: changes that were not applied, applied ones that lack something, and changes that a switch in chat keeps from
   * their effect.
   */
  report: string;
}

interface Deps {
  started: ValidConfig;
  /** The configuration in force, as it was read. */
  loaded(): LoadedConfig;
  /** Throws when a start would refuse the configuration. */
  validate(next: LoadedConfig): ValidConfig;
  /** The configuration in force, checked. */
  valid(): ValidConfig;
  /** Hooks as they are written now. */
  readHooks(next: LoadedConfig, valid: ValidConfig): LoadedHooks;
  /** The configuration is in force from now on. */
  adopt(next: LoadedConfig, valid: ValidConfig): void;
  /** The problems of the configuration that is in force now. */
  problems(): Promise<readonly ListedProblem[]>;
  /** The latest configuration was rejected, with this; undefined: it was applied. */
  rejected(why: Rejection | undefined): void;
  /** The configuration in force differs in these sections and variables from the one with which the process was started; empty: in none. */
  awaitRestart(needRestart: readonly string[]): void;
  /** One line for each of these hooks that a switch in chat holds against its file. */
  outranked(ids: readonly string[]): readonly string[];
  registry: HookRegistry;
  plugins: Plugins;
  overrides: Overrides;
  automations: Automations;
  sla: Pick<Sla, "prepare">;
  alerts: Pick<Alerts, "prepare">;
  orchestrator: Pick<Orchestrator, "reconfigured">;
  notifier: Notifier;
  mask(text: string): string;
  logger: Logger;
}

/** `plugins`: whether plugins that did not change in the configuration are loaded again, too, for their code. */
export type Reload = (next: () => LoadedConfig, how: { plugins: "all" | "changed" }) => Promise<TakenOver>;

/** Reloads one after the other. Rejects with the problem, and whether the change is in force all the same; admins have been notified. */
export function reloader(deps: Deps): Reload {
  const oneAfterTheOther = inTurn();
  return (next, how) => oneAfterTheOther(() => reload(next, how, deps));
}

async function reload(read: () => LoadedConfig, how: { plugins: "all" | "changed" }, deps: Deps): Promise<TakenOver> {
  const { plugins, automations, notifier, mask, logger } = deps;
  let file: string | undefined;
  let isInForce = false;
  try {
    const next = read();
    file = next.file ?? deps.loaded().file;
    needFile(next, deps.loaded());
    const known = new Set((await deps.problems()).map(formatProblem));
    const valid = withEventsAsBefore(deps.validate(next), deps.valid());
    needHooksFolder(next, automations.list());
    const guards = new Set(
      automations.list().flatMap(({ id }) => (deps.registry.get(id)?.failurePolicy === "fail-closed" ? [id] : [])),
    );
    const takeSla = await deps.sla.prepare(valid.config.sla);
    const takeAlerts = await deps.alerts.prepare(valid.config.alerts);
    let swapped: ReturnType<Automations["swap"]> | undefined;
    const change = {
      entries: valid.config.plugins,
      onlyChanged: how.plugins === "changed",
      unfit: () => unfitHooks(automations, () => deps.readHooks(next, valid), plugins),
    };
    // Plugins are set up aside before; from here to the end of `swap` it is one turn of the event loop.
    const infos = await plugins.reload(change, () => {
      needCriticalPlugins(plugins.list());
      swapped = swap(next, valid, deps);
      // These calls assign prepared values, and cannot throw: changes that are in place by now are not taken back.
      takeSla();
      takeAlerts();
      deps.orchestrator.reconfigured();
    });
    if (swapped === undefined) throw new Error("The gateway is stopping.");
    deps.rejected(undefined);
    isInForce = true;
    const needRestart = whatNeedsRestart(deps.started, valid);
    deps.awaitRestart(needRestart);
    if (needRestart.length > 0) {
      const message = restartText(needRestart);
      logger.warn({ file: next.file, needRestart }, message);
      await notifier.notifyAdmins("restart", `⚠ ${message}`);
    }
    const hooks = await automations.settle(swapped, next.file);
    const found = (await deps.problems()).filter((problem) => !known.has(formatProblem(problem)));
    const outranked = deps.outranked([...hooks.added, ...hooks.changed]);
    const report = mask(reloadText(found, hooks.removed, guards, outranked));
    if (report !== "") {
      logger[found.length > 0 ? "error" : "warn"]({ file, problems: found.length }, report);
      await notifier.notifyAdmins("reload", `⚠ ${report}`);
    }
    return { plugins: infos, hooks, needRestart, problems: found.map(formatProblem), report };
  } catch (error) {
    const message = mask(errorMessage(error)).slice(0, 1500);
    const isOfCritical = error instanceof HookgateError && CRITICAL.has(error.code);
    if (!isInForce) deps.rejected({ file, message, isOfCritical });
    const what = isInForce
      ? "The changed configuration is in force, but the reload did not end: save it again, or restart."
      : "The changed configuration was not applied; the previous one stays in force.";
    await notifier.notifyAdmins("reload", `⚠ ${what}\n${message}`);
    throw isInForce ? new Error(`${what}\n${message}`) : error;
  }
}

const CRITICAL: ReadonlySet<string> = new Set(["PLUGIN_CRITICAL", "HOOK_CRITICAL"]);

/**
 * Problems of a reload: parts that were not applied, and hooks that were applied and lack something. `removed`: hooks that are not in
 * the files any more, maybe because of the same slip; `guards` among them are reported in any case. `outranked`: hooks that changed, and
 * whose `enabled` has no effect.
 */
function reloadText(
  problems: readonly ListedProblem[],
  removed: readonly string[],
  guards: ReadonlySet<string>,
  outranked: readonly string[],
): string {
  const isApplied = ({ of }: ListedProblem) => of === "needs" || of === "trigger";
  const listed = (some: readonly ListedProblem[]) => some.map(formatProblem).join("\n").slice(0, 1500);
  const { broken, warned } = splitProblems(problems);
  const applied = broken.filter(isApplied);
  const refused = broken.filter((problem) => !isApplied(problem));
  const lost = removed.filter((id) => guards.has(id));
  return [
    refused.length > 0 &&
      `Broken parts of the changed configuration were not applied; the rest is in force.\n${listed(refused)}`,
    applied.length > 0 && `These hooks were applied and lack something:\n${listed(applied)}`,
    warned.length > 0 && `This was applied and works, but should be changed:\n${listed(warned)}`,
    problems.length > 0 &&
      removed.length > 0 &&
      `These hooks are not in the files any more, and were removed: ${removed.join(", ").slice(0, 500)}`,
    lost.length > 0 &&
      `These hooks guarded, and are not in the files any more: ${lost.join(", ").slice(0, 500)}. What they would have stopped goes through.`,
    outranked.join("\n").slice(0, 1500),
  ]
    .filter(Boolean)
    .join("\n");
}

/** An event whose new version is broken stays as it was: nothing that other systems send is refused because of a slip. */
function withEventsAsBefore(next: ValidConfig, before: ValidConfig): ValidConfig {
  const kept = Object.entries(before.config.events).filter(([name]) => next.brokenEvents.has(name));
  if (kept.length === 0) return next;
  const names = new Set(kept.map(([name]) => name));
  return {
    ...next,
    config: { ...next.config, events: { ...next.config.events, ...Object.fromEntries(kept) } },
    brokenEvents: new Map([...next.brokenEvents].filter(([name]) => !names.has(name))),
  };
}

/** Checks critical plugins as a start does. Throws PLUGIN_CRITICAL; then everything stays as it was. */
function needCriticalPlugins(infos: readonly PluginInfo[]): void {
  const broken = infos.filter(({ critical, reason }) => critical && reason !== undefined);
  if (broken.length === 0) return;
  throw new HookgateError({
    code: "PLUGIN_CRITICAL",
    message: broken.map(({ module, reason }) => `The critical plugin ${module} cannot be loaded: ${reason}`).join("\n"),
  });
}

/** All or nothing: events, overrides and hooks, held against each other and the plugins that are in place by now. */
function swap(next: LoadedConfig, valid: ValidConfig, deps: Deps) {
  const { registry, overrides, automations, plugins, readHooks, adopt } = deps;
  const takeBack = [registry.mark(), overrides.mark()];
  try {
    declareEvents(registry, valid.config.events, valid.brokenEvents.keys());
    for (const id of overrides.take(valid.config.overrides)) registry.reconsider(id);
    const hooks = readHooks(next, valid);
    for (const { message } of lostCritical(hooks.definitions, plugins))
      throw new HookgateError({ code: "HOOK_CRITICAL", message });
    const swapped = automations.swap(hooks);
    withdrawEvents(registry, valid.config.events, valid.brokenEvents.keys());
    adopt(next, valid);
    return swapped;
  } catch (error) {
    for (const back of takeBack) back();
    throw error;
  }
}

function readOnce({ config }: ValidConfig, section: keyof Config): unknown {
  // Every dispatch looks at the allowed plugins of its conversation.
  return section === "gateway" ? { ...config.gateway, allowed_plugins: undefined } : config[section];
}

/** `needRestart`: sections and variables, as `whatNeedsRestart` names them. */
export const restartText = (needRestart: readonly string[]): string =>
  `Restart required to apply: ${needRestart.join(", ")}.`;

function whatNeedsRestart(started: ValidConfig, now: ValidConfig): string[] {
  const takenOver: ReadonlySet<keyof Config> = new Set(TAKEN_OVER);
  const sections = (Object.keys(now.config) as (keyof Config)[]).filter(
    (section) => !takenOver.has(section) && !isDeepStrictEqual(readOnce(started, section), readOnce(now, section)),
  );
  const tokens = started.config.web.people.map(({ token_env }) => token_env);
  const variables = [
    ...VARIABLES.filter((name) => started.env[name] !== now.env[name]),
    ...tokens.filter((name) => started.env.variable(name) !== now.env.variable(name)),
    ...now.env.removed,
  ];
  return [...sections, ...new Set(variables)];
}

interface WatchDeps {
  /** The result of `asRead`. */
  read: Marks;
  /** Called when a file changed. */
  changed(): void;
  clock: Clock;
  logger: Logger;
}

/** How the files of a configuration were when they were read. To be called before those under `hooks/` are read. */
export async function asRead(loaded: LoadedConfig): Promise<Marks> {
  const marks = await marksOf(watched(placeOfConfig(loaded)));
  return { ...marks, file: loaded.mark ?? marks.file };
}

const watched = (file: string) => ({ file, folder: hooksFolder(file), variables: resolve(".env") });

/** Follows changes of the file, which may not be there yet, and of those under `hooks/` beside it and `.env`. */
export async function watchConfig(file: string, deps: WatchDeps): Promise<() => Promise<void>> {
  const { read, changed, clock, logger } = deps;
  const watch = await watchDefinitions({ ...watched(file), read }, { clock, logger }, changed);
  return () => watch.stop();
}

/**
 * A gateway that read its settings from a file does not go on with the defaults when that file is removed. An empty one, and a link to
 * nothing, are refused where they are read. Throws CONFIG_INVALID.
 */
function needFile(next: LoadedConfig, inForce: LoadedConfig): void {
  const { file } = inForce;
  if (file === undefined || next.file !== undefined) return;
  const message = `${file} was removed. Put it back; to use the defaults, write a file with a comment (#) alone.`;
  throw new HookgateError({ code: "CONFIG_INVALID", message });
}

/**
 * A folder of hooks that vanishes as a whole was moved or is not mounted: single hooks are removed by removing their files. A link to
 * nothing is refused where it is read. Throws CONFIG_INVALID.
 */
function needHooksFolder(next: LoadedConfig, inForce: readonly Pick<Definition, "id" | "place">[]): void {
  const folder = hooksFolder(placeOfConfig(next));
  if (!isMissing(folder)) return;
  const lost = inForce.filter(({ place }) => place.file.startsWith(`${folder}${sep}`)).map(({ id }) => id);
  if (lost.length === 0) return;
  const names = lost.slice(0, 10).join(", ");
  const message = `${folder} was removed, and its hooks stay in force: ${names}${lost.length > 10 ? ", …" : ""}. Put it back; to remove all of them, leave an empty folder.`;
  throw new HookgateError({ code: "CONFIG_INVALID", message });
}
