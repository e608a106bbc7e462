/** The requirements for a configuration to be started or taken over, and the secrets that it brings. */
import type { Environment } from "../../config/env.js";
import { type ConfigProblem, formatProblem, type LoadedConfig } from "../../config/load.js";
import type { Config } from "../../config/schema.js";
import { HookgateError } from "../../lib/errors.js";
import { runnerSecrets } from "../parts/orchestrator.js";
import { brokenEventsOf } from "./broken-events.js";
import { platformsOn } from "./problems.js";

export interface ValidConfig {
  config: Config;
  env: Environment;
  /** Events with problems, with the reason of each. */
  brokenEvents: ReadonlyMap<string, string>;
}

/** Throws CONFIG_INVALID with all problems that the operator must fix. */
export function needValid(loaded: LoadedConfig): ValidConfig {
  const { config, env, problems } = loaded;
  if (config && env && !isWithoutPlatform(loaded)) return { config, env, brokenEvents: brokenEventsOf(problems) };
  throw invalid(problems);
}

/** Whether problems of platforms leave no platform on: a gateway that serves no platform would only hide the problem. */
export function isWithoutPlatform({
  config,
  env,
  problems,
}: Pick<LoadedConfig, "config" | "env" | "problems">): boolean {
  const ofPlatforms = problems.some(({ event, person }) => event === undefined && person === undefined);
  return ofPlatforms && config !== undefined && env !== undefined && platformsOn(config, env, problems).length === 0;
}

function invalid(problems: readonly ConfigProblem[]): HookgateError {
  return new HookgateError({
    code: "CONFIG_INVALID",
    message: `The configuration has ${problems.length} problem${problems.length === 1 ? "" : "s"}:\n${problems.map(formatProblem).join("\n")}`,
    hint: "Fix them, then run `npx hookgate check`.",
  });
}

export function secretsOf(config: Config, env: Environment): (string | undefined)[] {
  return [
    env.HOOKGATE_TOKEN,
    env.DISCORD_TOKEN,
    env.TELEGRAM_TOKEN,
    env.TELEGRAM_WEBHOOK_SECRET,
    ...config.web.people.map(({ token_env }) => env.variable(token_env)),
    ...Object.values(config.events).flatMap(({ secret_env }) => [secret_env].flat().map((name) => env.variable(name))),
    ...runnerSecrets(config).map(env.variable),
    ...Object.values(config.models.available).map(({ key_env }) => key_env && env.variable(key_env)),
  ];
}
