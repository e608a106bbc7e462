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
  /** Default routes by plugin id. */
  routes: Map<string, Route>;
  /** The entry that holds this id already, if any. */
  holderOf(id: string): string | undefined;
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
  const holder = around.holderOf(definition.id);
  if (holder !== undefined)
    throw failure(
      "PLUGIN_TWICE",
      `the id "${definition.id}" is taken by ${holder}`,
      "Name a plugin once, or give it another id.",
    );
  const config = parsePluginConfig(definition, entry);
  declarePoints(definition, around.registry, around.logger);
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
  async install(next: Candidate, { checked }: { checked: boolean }): Promise<void> {
    const { registry, routes } = this.#around;
    const old = this.#current;
    const known = checked ? new Set(registry.validate().map(problemText)) : undefined;
    let undo: () => void;
    try {
      undo = this.#slots.swap(next.stage.hooks);
      const problems = known
        ? registry
            .validate()
            .map(problemText)
            .filter((text) => !known.has(text))
        : [];
      if (problems.length > 0) {
        undo();
        throw failure("PLUGIN_HOOKS", problems.join("; "));
      }
    } catch (error) {
      await this.#over(next);
      throw error;
    }
    if (next.stage.route) routes.set(this.id, next.stage.route);
    else routes.delete(this.id);
    next.stage.live = {
      add: (hook) => this.#slots.add(hook),
      route: (handler) => void routes.set(this.id, handler),
    };
    this.#current = next;
    if (old) await this.#over(old);
  }

  async remove(): Promise<void> {
    this.#slots.clear();
    this.#around.routes.delete(this.id);
    if (this.#current) await this.#over(this.#current);
    this.#current = undefined;
  }

  async #over(version: Candidate): Promise<void> {
    version.stage.isOver = true;
    try {
      await version.end?.();
    } catch (error) {
      this.#around.logger.warn({ plugin: this.id, error: errorMessage(error) }, "plugin failed to end");
    }
  }
}

export function problemText(problem: Problem): string {
  return `${problem.message} (${problem.code})`;
}
