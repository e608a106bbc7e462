/** Settings: which plugins are loaded, in this order. */
import { z } from "zod";

const pluginEntry = z.strictObject({
  module: z.string().min(1).describe("A file, relative to the configuration, or the name of an installed package."),
  config: z.record(z.string(), z.unknown()).optional().describe("The plugin's own settings; its schema checks them."),
  critical: z.boolean().default(false).describe("Whether start-up stops when the plugin cannot be loaded."),
  enabled: z.boolean().default(true).describe("Off: the plugin is named but not loaded."),
});

export const pluginsConfig = z
  .array(
    z.union([
      pluginEntry,
      z
        .string()
        .min(1)
        .transform((module) => pluginEntry.parse({ module })),
    ]),
  )
  .default([]);

export type PluginEntry = z.output<typeof pluginEntry>;
