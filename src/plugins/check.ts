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

/** The hook points that they bring; of one that cannot be loaded, none. */
export async function pluginPoints(entries: readonly PluginEntry[], baseDir: string): Promise<HookPoint[]> {
  const found = await Promise.all(
    entries.map(async ({ module, enabled }) => {
      if (!enabled) return [];
      try {
        return (await importPlugin(findModule(module, baseDir), undefined)).points ?? [];
      } catch {
        return []; // told by `checkPlugins`
      }
    }),
  );
  return found.flat();
}
