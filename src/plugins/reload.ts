/**
 * One plugin's life: a version is imported, checked and set up beside the one at work, then swapped in whole; when anything of
 * that fails, the old version goes on and the failure is reported.
 */
import type { Route } from "../gateway/routes.js";
import type { HookRegistry, Problem } from "../hooks/registry.js";
import type { Clock } from "../lib/clock.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { type ApiParts, createApi, createStage, type Stage } from "./api.js";
import type { PluginEntry } from "./config.js";
import type { PluginDefinition, PluginEnd } from "./define.js";
import { type FoundModule, failure, importPlugin, parsePluginConfig } from "./load.js";
import { Slots } from "./slots.js";

const SETUP_TIMEOUT_MS = 10_000;

export interface Surroundings extends Omit<ApiParts, "id" | "config"> {
  baseDir: string;
  registry: HookRegistry;
  pointsAside: { name: string }[];
  /** Default routes by plugin id. */
  routes: Map<string, Route>;
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
): Promise<Candidate> {
  const definition = await importPlugin(found, version);
  const config = parsePluginConfig(definition, entry);
  around.pointsAside.push(...(definition.points ?? []));
  const stage = createStage();
  const logger = around.logger.child({ plugin: definition.id });
  const api = createApi({ ...around, id: definition.id, config, logger }, stage);
  try {
    const end = await withDeadline(() => definition.setup(api), around.clock);
    return { definition, stage, end: typeof end === "function" ? end : undefined };
  } catch (error) {
    stage.isOver = true;
    throw failure("PLUGIN_SETUP", `setup failed: ${errorMessage(error)}`, undefined, error);
  }
}

/** A point keeps its first declaration while hooks are registered at it; a changed one counts after a restart. */
function declarePoints({ points = [] }: PluginDefinition, registry: HookRegistry, logger: Logger): void {
  for (const point of points) {
    const isUsed = registry.points.some(({ name }) => name === point.name) && registry.order(point.name).length > 0;
    if (isUsed) logger.debug({ point: point.name }, "hook point is in use and keeps its declaration");
    else registry.declare(point);
  }
}

function withDeadline<T>(run: () => T | Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(SETUP_TIMEOUT_MS, () =>
      reject(new Error(`it did not finish within ${SETUP_TIMEOUT_MS} ms`)),
    );
    Promise.resolve()
      .then(run)
      .then(resolve, reject)
      .finally(() => timer.cancel());
  });
}

/** A change that is made and not yet for good: one of both is to be called, the first in the same turn of the event loop. */
export interface Placement {
  takeBack(): void;
  /** Ends what it replaced. */
  settle(): Promise<void>;
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
    this.#slots = new Slots(id, around.registry);
  }

  get hooks(): string[] {
    return this.#slots.ids;
  }

  /**
   * Puts a version in place, all of it in one go. With `checked`, a registry that finds new problems (a missing dependency, a
   * cycle) takes it back and throws. (At start-up that check comes after the last plugin, because they may name each other.)
   */
  place(next: Candidate, { checked }: { checked: boolean }): Placement {
    const { registry, routes, logger } = this.#around;
    const [old, oldRoute] = [this.#current, routes.get(this.id)];
    const known = checked ? new Set(registry.validate().map(problemText)) : undefined;
    const takeBackPoints = registry.mark();
    let undo: () => void;
    try {
      declarePoints(next.definition, registry, logger);
      undo = this.#slots.swap(next.stage.hooks);
    } catch (error) {
      takeBackPoints();
      throw error;
    }
    const problems = known
      ? registry
          .validate()
          .map(problemText)
          .filter((text) => !known.has(text))
      : [];
    const takeBack = () => {
      undo();
      takeBackPoints();
      this.#current = old;
      next.stage.live = undefined;
      this.#setRoute(oldRoute);
    };
    if (problems.length > 0) {
      takeBack();
      throw failure("PLUGIN_HOOKS", problems.join("; "));
    }
    this.#setRoute(next.stage.route);
    next.stage.live = {
      add: (hook) => this.#slots.add(hook),
      route: (handler) => void routes.set(this.id, handler),
    };
    this.#current = next;
    return { takeBack, settle: async () => old && over(old, this.#around.logger) };
  }

  withdraw(): Placement {
    const { routes, registry } = this.#around;
    const [old, oldRoute] = [this.#current, routes.get(this.id)];
    const takeBackHooks = registry.mark();
    const undo = this.#slots.swap([]);
    routes.delete(this.id);
    this.#current = undefined;
    const takeBack = () => {
      undo();
      takeBackHooks();
      this.#current = old;
      this.#setRoute(oldRoute);
    };
    return { takeBack, settle: async () => old && over(old, this.#around.logger) };
  }

  async remove(): Promise<void> {
    await this.withdraw().settle();
  }

  #setRoute(route: Route | undefined): void {
    const { routes } = this.#around;
    if (route) routes.set(this.id, route);
    else routes.delete(this.id);
  }
}

/** A version whose calls are refused from now on. */
export async function over({ definition, stage, end }: Candidate, logger: Logger): Promise<void> {
  stage.isOver = true;
  try {
    await end?.();
  } catch (error) {
    logger.warn({ plugin: definition.id, error: errorMessage(error) }, "plugin failed to end");
  }
}

export function problemText(problem: Problem): string {
  return `${problem.message} (${problem.code})`;
}
