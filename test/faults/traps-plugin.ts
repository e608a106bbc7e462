/** Where the misbehaving plugin is. */
import { resolve } from "node:path";

export const TRAPS_PLUGIN = resolve(import.meta.dirname, "../fixtures/plugins/traps.mjs");
