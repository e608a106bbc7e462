/** Which settings a reload applies, and which only a restart does. */
import type { Config } from "../config/schema.js";
import type { GatewayConfig } from "../gateway/config.js";

/** Read whenever they are needed, or swapped by a reload. All others are read once, at the start: `FixedConfig`. */
export const TAKEN_OVER = [
  "hooks",
  "events",
  "plugins",
  "overrides",
  "models",
  "automations",
  "sla",
  "alerts",
  "orchestrator",
] as const satisfies readonly (keyof Config)[];

/** The settings that only a restart applies. Every other has to be read from the configuration in force. */
export type FixedConfig = Omit<Config, (typeof TAKEN_OVER)[number] | "gateway"> & {
  gateway: GatewayConfig;
};
