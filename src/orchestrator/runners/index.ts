/** The configured runners by name. */
import type { OrchestratorConfig } from "../config.js";
import type { OrchestratorParts } from "../parts.js";
import { agentRunner } from "./agent.js";
import { httpRunner } from "./http.js";
import type { Runner } from "./runner.js";
import { shellRunner } from "./shell.js";

/** As it is configured now, its tools included. Undefined for people and for names that there are not. */
export function runnerNamed(name: string, parts: OrchestratorParts): Runner | undefined {
  return runnerOf(name, parts.config().runners, parts);
}

function runnerOf(name: string, runners: OrchestratorConfig["runners"], parts: OrchestratorParts): Runner | undefined {
  const config = Object.hasOwn(runners, name) ? runners[name] : undefined;
  if (config?.shell) return shellRunner(config.shell, parts);
  if (config?.http) return httpRunner(config.http, parts);
  if (config?.agent)
    return agentRunner(config.agent, {
      models: parts.models,
      // No agents under agents: their cost would not be known.
      tool: (other) => (runners[other]?.agent ? undefined : runnerOf(other, runners, parts)),
    });
  return undefined;
}
