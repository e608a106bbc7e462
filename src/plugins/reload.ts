/**
 * One plugin's life: a version is imported, checked and set up beside the one at work, then swapped in whole. When any of these steps
 * fails, the old version goes on and the failure is reported.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Command } from "../gateway/commands.js";
import type { Route } from "../gateway/routes.js";
import { causedBy } from "../hooks/dry-run.js";
import type { HookPoint } from "../hooks/point.js";
import { neverRuns } from "../hooks/registration/entry.js";
import { isUnfit } from "../hooks/registration/validate.js";
import type { HookRegistry, Problem } from "../hooks/registry.js";
import { within } from "../lib/concurrency/within.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { placeInOrBelow } from "../lib/files/module-place.js";
import { refuseExit } from "../lib/process/refuse-exit.js";
import { shown } from "../lib/validation/plain-issues.js";
import { createApi } from "./api.js";
import type { HookBreaker } from "./breaker.js";
import type { PluginEntry } from "./config.js";
import type { PluginDefinition, PluginEnd } from "./define.js";
import { type FoundModule, failure, importPlugin, parsePluginConfig } from "./load.js";
import { HOOK_UNFIT, Slots, type StagedHook } from "./slots.js";
import { type ApiDeps, createStage, type Stage } from "./stage.js";

const SETUP_TIMEOUT_MS = 10_000;
export const EXIT_CALLED = "PLUGIN_EXIT";

export interface Surroundings extends Omit<ApiDeps, "id" | "config" | "commandOwner" | "commandCount" | "onCritical"> {
  baseDir: string;
  registry: HookRegistry;
  pointsAside: HookPoint[];
  breaker: HookBreaker | undefined;
  /** Default routes by plugin id. */
  routes: Map<string, Route>;
  /** Commands by plugin id. */
  commands: Map<string, readonly Command[]>;
  /** Hooks of plugins and of files that do not fit their point as it is declared now, or are critical and lost it. */
  unfit: () => readonly Problem[];
  /** Plugins that are not in the list any more: another one may have their commands. */
  leaving: ReadonlySet<string>;
  /** Names of the product's own commands. */
  reservedCommands: ReadonlySet<string>;
  /** The time limit of the function that `setup` returned. */
  teardownTimeoutMs: () => number;
  onEndFailed?: ((pluginId: string, message: string) => void) | undefined;
}

/** A version that is set up but not yet in place. */
export interface Candidate {
  definition: PluginDefinition;
  stage: Stage;
  end: PluginEnd | undefined;
}

export async function prepare(
  entry: PluginEntry,
  found: FoundModule,
  around: Surroundings,
  version: string | undefined,
  onCritical: () => void,
): Promise<Candidate> {
  const definition = await load(found, around, version);
  const config = parsePluginConfig(definition, entry);
  around.pointsAside.push(...(definition.points ?? []));
  const stage = createStage(definition.points);
  const logger = around.logger.child({ plugin: definition.id });
  const commandOwner = (name: string) => {
    if (around.reservedCommands.has(name)) return "Hookgate";
    const [other] = [...around.commands].find(
      ([id, commands]) =>
        id !== definition.id && !around.leaving.has(id) && commands.some((command) => command.name === name),
    ) ?? [undefined];
    return other === undefined ? undefined : `plugin "${other}"`;
  };
  const commandCount = () =>
    [...around.commands].reduce(
      (count, [id, commands]) => (id === definition.id ? count : count + commands.length),
      around.reservedCommands.size,
    );
  const deps = { ...around, id: definition.id, config, logger, commandOwner, commandCount, onCritical };
  const api = createApi(deps, stage);
  try {
    const end: unknown = await bounded(() => causedBy(undefined, () => definition.setup(api)), found, around);
    const problem = endProblem(end);
    if (problem !== undefined) throw new HookgateError({ code: "PLUGIN_SETUP", message: problem });
    return { definition, stage, end: (end ?? undefined) as PluginEnd | undefined };
  } catch (error) {
    stage.isOver = true;
    throw failure(
      "PLUGIN_SETUP",
      `setup failed: ${errorMessage(error)}${placeInOrBelow(error, found)}`,
      error instanceof HookgateError ? error.hint : undefined,
      error,
    );
  }
}

/** Without an end function, the work that setup started would never end: the old version would go on beside the new one. */
function endProblem(end: unknown): string | undefined {
  if (end === undefined || end === null) return undefined;
  if (typeof end !== "function")
    return `setup must return a function or nothing, got ${Array.isArray(end) ? "a list" : typeof end === "object" ? "an object" : shown(end)}: return the function that ends what setup started`;
  const uncallable = neverRuns(end);
  return uncallable && `the function that setup returned to end what it started: ${uncallable}`;
}

/** A module whose top-level await never ends is given up, too. */
async function load(found: FoundModule, around: Surroundings, version: string | undefined): Promise<PluginDefinition> {
  try {
    return await bounded(() => importPlugin(found, version), found, around);
  } catch (error) {
    const isExit = error instanceof HookgateError && error.code === EXIT_CALLED;
    if (error instanceof HookgateError && !isExit) throw error;
    const message = `the module was not loaded: ${errorMessage(error)}${placeInOrBelow(error, found)}`;
    const hint = isExit ? error.hint : "Move what waits from the top level of the module into setup.";
    throw failure("PLUGIN_IMPORT", message, hint, error);
  }
}

/** Hooks of others are registered for the model that a point had. */
function refuseOtherModels(pluginId: string, points: readonly HookPoint[], registry: HookRegistry): void {
  for (const { name, model } of points) {
    const known = registry.points.find((point) => point.name === name);
    if (known === undefined || known.model === model) continue;
    const others = registry.order(name).filter((hook) => hook.pluginId !== pluginId);
    if (others.length === 0) continue;
    throw failure(
      "PLUGIN_POINT_MODEL",
      `the point ${name} is now declared as ${model}, but ${others.map(({ id }) => `"${id}"`).join(", ")} registered there when it was ${known.model}`,
      "Keep the model, or declare a point with another name.",
    );
  }
}

/**
 * Runs a plugin's module or its `setup` for at most 10 s. A rejection or an error in the plugin's file that nothing catches fails it, too,
 * instead of ending the process. An error in another part of the process is logged, unless something else (a running gateway) listens for
 * such errors. `process.exit` fails it, too, wherever the call is: in a package that the plugin imports, for example. A call that another
 * plugin makes meanwhile (in a handler, or in a timer that its setup left) is not this plugin's: it ends the process, as it does at any
 * other time.
 */
function bounded<T>(run: () => T | Promise<T>, found: FoundModule, { clock, logger }: Surroundings): Promise<T> {
  let stop = () => {};
  // Each call has its own storage, which ends with the call: tracking slows every promise of the process.
  const inside = new AsyncLocalStorage<true>();
  return new Promise<T>((resolve, reject) => {
    const isAlone = process.listenerCount("unhandledRejection") === 0;
    const onStray = (thrown: unknown) => {
      if (placeInOrBelow(thrown, found) !== "") reject(thrown);
      else if (isAlone) logger.error({ error: errorMessage(thrown) }, "an error that nothing caught");
    };
    process.on("uncaughtException", onStray).on("unhandledRejection", onStray);
    const allowExit = refuseExit((code, call) => {
      if (inside.getStore() === undefined) return undefined;
      const what = `it called process.${call}(${code ?? ""}): a plugin must not end the process`;
      const refusal = failure(EXIT_CALLED, what, "Throw an error instead.");
      // Rejects now: the caller may catch the error.
      reject(refusal);
      return refusal;
    });
    const timer = clock.after(SETUP_TIMEOUT_MS, () =>
      reject(new Error(`it did not finish within ${SETUP_TIMEOUT_MS} ms`)),
    );
    // Without this timer, a process that waits for nothing else ends here, silently.
    timer.ref?.();
    stop = () => {
      timer.cancel();
      allowExit();
      inside.disable();
      process.off("uncaughtException", onStray).off("unhandledRejection", onStray);
    };
    Promise.resolve()
      .then(() => inside.run(true, run))
      // Node reports a stray rejection after everything that resolves at once.
      .then((value) => setImmediate(resolve, value), reject);
  }).finally(() => stop());
}

/** A change that is not final yet: one of both functions must be called, the first in the same turn of the event loop. */
export interface Placement {
  takeBack(): void;
  /** Ends the version that it replaced. */
  settle(): Promise<void>;
  /** Nothing was put in place: `settle` ends the refused version. */
  isRefusal?: boolean;
}

/** The version at work. */
export class LivePlugin {
  readonly id: string;
  readonly #around: Surroundings;
  readonly #slots: Slots;
  #current: Candidate | undefined;

  constructor(id: string, around: Surroundings) {
    this.id = id;
    this.#around = around;
    this.#slots = new Slots(id, around.registry, around.breaker);
  }

  get hooks(): string[] {
    return this.#slots.ids;
  }

  /** Matchers of its hooks that no payload fits. */
  get warnings(): string[] {
    return this.#slots.warnings;
  }

  /** Its hooks that do not fit their point as it is declared now. */
  get unfit(): Problem[] {
    return this.#slots.unfit;
  }

  /** Names of the points that the version at work declares. */
  get points(): string[] {
    return this.#current === undefined ? [] : pointsOf(this.#current).map(({ name }) => name);
  }

  /** The hooks that `setup` of the version at work registered. */
  get staged(): readonly StagedHook[] {
    return this.#current?.stage.hooks ?? [];
  }

  /**
   * Puts a version in place, all of it in one go. With `checked`, a registry that finds new problems (a cycle), or a hook of others that
   * does not fit a point which the version changes, or is critical and loses that point, takes it back and throws. (At start-up that check
   * comes after the last plugin, because they may name each other.)
   */
  place(next: Candidate, { checked }: { checked: boolean }): Placement {
    const { registry, routes, commands } = this.#around;
    const [old, oldRoute, oldCommands] = [this.#current, routes.get(this.id), commands.get(this.id)];
    const hasPoints = this.points.length + pointsOf(next).length > 0;
    const all = () => (hasPoints ? problemsOf(this.#around) : registry.validate());
    const problems = () => (checked ? all().filter(isUnfit) : []);
    const known = new Set(problems().map(problemKey));
    const takeBackPoints = registry.mark();
    let undo: () => void;
    try {
      refuseOtherModels(this.id, pointsOf(next), registry);
      undo = this.#slots.swap(next.stage.hooks, () => {
        for (const point of pointsOf(next)) registry.declare(point);
      });
    } catch (error) {
      takeBackPoints();
      throw error;
    }
    this.#current = next;
    const fresh = problems().filter((one) => !known.has(problemKey(one)));
    const takeBack = () => {
      undo();
      takeBackPoints();
      this.#current = old;
      next.stage.live = undefined;
      this.#setRoute(oldRoute);
      this.#setCommands(oldCommands);
    };
    if (fresh.length > 0) {
      takeBack();
      throw failure("PLUGIN_HOOKS", fresh.map(problemText).join("; "), fresh.some(isOfPoint) ? CHANGE_BOTH : undefined);
    }
    this.#setRoute(next.stage.route);
    this.#setCommands(next.stage.commands);
    next.stage.live = this.#liveStage(next.stage);
    return { takeBack, settle: () => this.#settle(old, next) };
  }

  /** Not within `place`: the closures would keep the version before, and that one the version before it. */
  #liveStage(stage: Stage): Stage["live"] {
    const { registry, routes, logger } = this.#around;
    return {
      add: (hook) => {
        const remove = this.#slots.add(hook);
        // The hook is in place: a problem with its order must not fail the handler that registers it.
        for (const { code, message, ids } of registry.validate().filter(({ ids }) => ids.includes(hook.id)))
          logger.warn({ code, hooks: ids, plugin: this.id, place: hook.place }, message);
        return remove;
      },
      has: (hookId) => this.#slots.has(hookId),
      remove: (hook) => this.#slots.remove(hook),
      declare: (point) => {
        stage.points.push(point);
        registry.declare(point);
      },
      route: (handler) => void routes.set(this.id, handler),
    };
  }

  withdraw(): Placement {
    const { routes, registry, commands } = this.#around;
    const [old, oldRoute, oldCommands] = [this.#current, routes.get(this.id), commands.get(this.id)];
    const takeBackHooks = registry.mark();
    const undo = this.#slots.swap([]);
    routes.delete(this.id);
    commands.delete(this.id);
    this.#current = undefined;
    const takeBack = () => {
      undo();
      takeBackHooks();
      this.#current = old;
      this.#setRoute(oldRoute);
      this.#setCommands(oldCommands);
    };
    return { takeBack, settle: () => this.#settle(old, undefined) };
  }

  /** Ends the replaced version. Its points that the next version does not have are removed, unless hooks of others are registered there. */
  async #settle(old: Candidate | undefined, next: Candidate | undefined): Promise<void> {
    if (old === undefined) return;
    this.#withdrawPoints(old, next);
    await over(old, this.#around);
  }

  #withdrawPoints(old: Candidate, next: Candidate | undefined): void {
    const { registry, logger } = this.#around;
    const kept = new Set(next && pointsOf(next).map(({ name }) => name));
    for (const { name } of pointsOf(old)) {
      const isThere = registry.points.some((point) => point.name === name);
      if (kept.has(name) || !isThere) continue;
      const hooks = registry.order(name).map(({ id }) => id);
      if (hooks.length === 0) registry.withdraw(name);
      else
        logger.warn(
          { plugin: this.id, point: name, hooks },
          `Plugin "${this.id}" no longer declares ${name}: ${hooks.map((id) => `"${id}"`).join(", ")} there never run${hooks.length === 1 ? "s" : ""}. Declare the point again, or remove ${hooks.length === 1 ? "the hook" : "the hooks"}.`,
        );
    }
  }

  /** Called when the gateway stops: no other hook loses a point. */
  async end(): Promise<void> {
    const old = this.#current;
    this.withdraw();
    if (old !== undefined) await over(old, this.#around);
  }

  async remove(): Promise<void> {
    await this.withdraw().settle();
  }

  #setCommands(own: readonly Command[] | undefined): void {
    const { commands } = this.#around;
    if (own === undefined || own.length === 0) commands.delete(this.id);
    else commands.set(this.id, own);
  }

  #setRoute(route: Route | undefined): void {
    const { routes } = this.#around;
    if (route) routes.set(this.id, route);
    else routes.delete(this.id);
  }
}

function pointsOf({ stage }: Candidate): readonly HookPoint[] {
  return stage.points;
}

/** Ends a version: its calls are refused from now on. Resolves when its teardown ended, or does not end in time. */
export async function over(
  { definition: { id }, stage, end }: Candidate,
  {
    clock,
    logger,
    teardownTimeoutMs,
    onEndFailed,
  }: Pick<Surroundings, "clock" | "logger" | "teardownTimeoutMs" | "onEndFailed">,
): Promise<void> {
  stage.isOver = true;
  stage.isEnding = true;
  const waitedMs = teardownTimeoutMs();
  try {
    if (await within(clock, waitedMs, Promise.resolve(end?.()))) return;
    onEndFailed?.(id, `does not end within ${waitedMs} ms`);
    logger.warn(
      { plugin: id, waitedMs },
      `The teardown of plugin "${id}" (the function that its setup returned) does not end: it is not waited for any longer.`,
    );
  } catch (error) {
    onEndFailed?.(id, `failed: ${errorMessage(error)}`);
    logger.warn({ plugin: id, error: errorMessage(error) }, "plugin failed to end");
  } finally {
    stage.isEnding = false;
  }
}

/** The problems of all hooks taken together, at the points as they are declared now. */
export const problemsOf = ({ registry, unfit }: Surroundings): Problem[] => [...registry.validate(), ...unfit()];

const isOfPoint = ({ code }: Problem) => code === HOOK_UNFIT;
const CHANGE_BOTH = "Change these hooks, too (all are put in place together), or keep the point as it was.";

/** The key is the same for the same problem, also when its message names other lines or other hooks. */
export const problemKey = ({ code, ids }: Problem) => JSON.stringify([code, ids]);

export function problemText(problem: Problem): string {
  return `${problem.message} (${problem.code})`;
}
