/** Looks whether the configured plugins could be loaded, without setting any of them up: for `hookgate check`. */
import type { HookPoint } from "../hooks/point.js";
import { HookgateError } from "../lib/errors.js";
import type { PluginEntry } from "./config.js";
import { findModule, importPlugin, parsePluginConfig } from "./load.js";

export interface PluginProblem {
  /** Index in `plugins:`. */
  index: number;
  module: string;
  message: string;
}

export async function checkPlugins(entries: readonly PluginEntry[], baseDir: string): Promise<PluginProblem[]> {
  const problems: PluginProblem[] = [];
  const ids = new Map<string, string>();
  for (const [index, entry] of entries.entries()) {
    if (!entry.enabled) continue;
    const { module } = entry;
    try {
      const definition = await importPlugin(findModule(module, baseDir), undefined);
      parsePluginConfig(definition, entry);
      const other = ids.get(definition.id);
      if (other !== undefined)
        problems.push({ index, module, message: `"${definition.id}" is the id of ${other}, too` });
      ids.set(definition.id, module);
    } catch (error) {
      if (!(error instanceof HookgateError)) throw error;
      problems.push({ index, module, message: [error.message, error.hint].filter(Boolean).join(". ") });
    }
  }
  return problems;
}

/** What they bring without being set up: their ids (which their hooks' ids begin with) and hook points; of one that cannot be loaded, nothing. */
export async function pluginParts(
  entries: readonly PluginEntry[],
  baseDir: string,
): Promise<{ ids: string[]; points: HookPoint[] }> {
  const found = await Promise.all(
    entries.map(async ({ module, enabled }) => {
      if (!enabled) return [];
      try {
        return await importPlugin(findModule(module, baseDir), undefined);
      } catch {
        return []; // told by `checkPlugins`
      }
    }),
  );
  const plugins = found.flat();
  return { ids: plugins.map(({ id }) => id), points: plugins.flatMap(({ points = [] }) => points) };
}
