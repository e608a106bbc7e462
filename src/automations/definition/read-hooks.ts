/** The configured hooks as they are written now, with the product's own steps and handlers. Reads files; changes nothing. */
import { handlers } from "../handlers/index.js";
import { steps } from "../steps/index.js";
import type { Surroundings } from "./check.js";
import { type LoadedHooks, loadDefinitions } from "./load.js";
import { type ConfigHooks, readSources } from "./sources.js";

export function readHooks(config: ConfigHooks, around: Surroundings, sources = readSources(config)): LoadedHooks {
  return loadDefinitions(sources, { steps, handlers }, around);
}
