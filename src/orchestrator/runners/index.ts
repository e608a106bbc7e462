/** The configured runners by name. */
import type { OrchestratorConfig } from "../config.js";
import type { OrchestratorDeps } from "../deps.js";
import { agentRunner } from "./agent.js";
import { httpRunner } from "./http.js";
import type { Runner } from "./runner.js";
import { shellRunner } from "./shell.js";

/** The runner as it is configured now, its tools included. Undefined for people and for unknown names. */
export function runnerNamed(name: string, deps: OrchestratorDeps): Runner | undefined {
  return runnerOf(name, deps.config().runners, deps);
}

function runnerOf(name: string, runners: OrchestratorConfig["runners"], deps: OrchestratorDeps): Runner | undefined {
  const config = Object.hasOwn(runners, name) ? runners[name] : undefined;
  if (config?.shell) return shellRunner(config.shell, deps);
  if (config?.http) return httpRunner(config.http, deps);
  if (config?.agent)
    return agentRunner(config.agent, {
      models: deps.models,
      // No agents under agents: their cost would not be known.
      tool: (other) => (runners[other]?.agent ? undefined : runnerOf(other, runners, deps)),
    });
  return undefined;
}
