/** The configured runners by name. */
import type { OrchestratorParts } from "../parts.js";
import { agentRunner } from "./agent.js";
import { httpRunner } from "./http.js";
import type { Runner } from "./runner.js";
import { shellRunner } from "./shell.js";

/** Undefined for people and for names that there are not. */
export function runnerNamed(name: string, parts: OrchestratorParts): Runner | undefined {
  const config = Object.hasOwn(parts.config.runners, name) ? parts.config.runners[name] : undefined;
  if (config?.shell) return shellRunner(config.shell, parts);
  if (config?.http) return httpRunner(config.http, parts);
  if (config?.agent)
    return agentRunner(config.agent, {
      models: parts.models,
      // No agents under agents: nobody would know what they cost.
      tool: (other) => (parts.config.runners[other]?.agent ? undefined : runnerNamed(other, parts)),
    });
  return undefined;
}
