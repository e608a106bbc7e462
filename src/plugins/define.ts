/** The definition of a plugin: a module whose default export is `definePlugin({ id, setup(api) { … } })`. */
import type { z } from "zod";
import type { HookPoint } from "../hooks/point.js";
import { neverRuns } from "../hooks/registration/entry.js";
import { HookgateError } from "../lib/errors.js";
import { shown } from "../lib/validation/plain-issues.js";
import { unknownKey } from "../lib/validation/unknown-key.js";
import type { PluginApi } from "./api.js";

export interface PluginDefinition<Schema extends z.ZodType = z.ZodType> {
  /** `[a-z][a-z0-9-]*`; unique among the plugins. The plugin's hooks are named `<id>.<name>`, its points `plugin:<id>:<name>`. */
  id: string;
  /** The schema of the plugin's own settings (`config` in the configuration). Without it the plugin takes none. */
  config?: Schema;
  /** Hook points of its own, declared before `setup`. */
  points?: readonly HookPoint[];
  /**
   * Registers the plugin's hooks and commands. Also called for a new version while the old one is still at work, so registering is all it
   * should do; the function that it returns ends everything else that it starts (a timer, a connection).
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most plugins return nothing, and `async setup` then gives Promise<void>
  setup(api: PluginApi<z.output<Schema>>): PluginEnd | void | Promise<PluginEnd | void>;
}

export type PluginEnd = () => void | Promise<void>;

const ID = /^[a-z][a-z0-9-]{0,39}$/;

/** Names that /hooks, /help and the log use for parts that are no plugin. */
const RESERVED: ReadonlySet<string> = new Set(["hookgate"]);

/** Checks a definition and gives it its types. */
export function definePlugin<Schema extends z.ZodType = z.ZodType<undefined>>(
  definition: PluginDefinition<Schema>,
): PluginDefinition<Schema> {
  const problem = definitionProblem(definition);
  if (problem !== undefined) throw new HookgateError({ code: "PLUGIN_INVALID", message: problem });
  return definition;
}

/** The problem of a value that should be a plugin; also for plugins made without `definePlugin`. */
export function definitionProblem(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null)
    return `expected definePlugin({ id, setup }) as the default export, got ${value === null ? "null" : typeof value}`;
  if (!("id" in value)) return `the plugin has no id${keysOf(value)}: expected { id, setup } as the default export`;
  if (typeof value.id !== "string") return `the plugin's id is no text, but ${shown(value.id)}`;
  if (!ID.test(value.id))
    return `the plugin's id "${value.id}" is no name: lower-case letters, digits and dashes, at most 40, a letter first`;
  if (RESERVED.has(value.id)) return `the plugin's id "${value.id}" is reserved for Hookgate itself: choose another`;
  if (!("setup" in value) || typeof value.setup !== "function") return `plugin "${value.id}" has no setup function`;
  const uncallable = neverRuns(value.setup);
  if (uncallable !== undefined) return `plugin "${value.id}": setup: ${uncallable}`;
  const unknown = unknownKey("key", value, ["id", "config", "points", "setup"]);
  if (unknown !== undefined) return `plugin "${value.id}": ${unknown}`;
  const config = "config" in value ? value.config : undefined;
  const isSchema = typeof config === "object" && config !== null && "safeParse" in config;
  if (config !== undefined && !isSchema) return `plugin "${value.id}": config: expected a zod schema`;
  return pointsProblem(value.id, "points" in value ? value.points : undefined);
}

const keysOf = (value: object) =>
  Object.keys(value).length === 0 ? "" : ` (its default export has ${Object.keys(value).join(", ")})`;

function pointsProblem(id: string, points: unknown): string | undefined {
  if (points === undefined) return undefined;
  if (!Array.isArray(points)) return `the points of plugin "${id}" are no list`;
  for (const point of points)
    if (typeof point?.name !== "string" || !point.name.startsWith(`plugin:${id}:`))
      return `a point of plugin "${id}" must be named plugin:${id}:<name>, got "${point?.name}"`;
  return undefined;
}
