/** What a configuration must be to be started or taken over, and the secrets that it brings. */
import type { Environment } from "../config/env.js";
import { brokenPlatform, type ConfigProblem, formatProblem, type LoadedConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import { PLATFORMS, type PlatformName } from "../domain/platform.js";
import { HookgateError } from "../lib/errors.js";
import { brokenEventsOf } from "./hooks.js";
import { runnerSecrets } from "./orchestrator.js";
import type { Valid } from "./reload.js";

/** Throws CONFIG_INVALID with all that the operator must mend. */
export function needValid(loaded: LoadedConfig): Valid {
  const { config, env, problems } = loaded;
  const ofPlatforms = problems.filter(({ event }) => event === undefined);
  if (config && env && (ofPlatforms.length === 0 || isAnyPlatformLeft(config, env, problems)))
    return { config, env, brokenEvents: brokenEventsOf(problems) };
  throw invalid(problems);
}

/** A start goes on without a platform whose section has problems; a reload that brings such problems is a slip, and refused. */
export function needAsGood(next: LoadedConfig, started: LoadedConfig): Valid {
  const isKnown = (problem: ConfigProblem) =>
    started.problems.some(({ path, message }) => path === problem.path && message === problem.message);
  if (next.problems.some((problem) => problem.event === undefined && !isKnown(problem))) throw invalid(next.problems);
  return needValid(next);
}

function invalid(problems: readonly ConfigProblem[]): HookgateError {
  return new HookgateError({
    code: "CONFIG_INVALID",
    message: `The configuration has ${problems.length} problem${problems.length === 1 ? "" : "s"}:\n${problems.map(formatProblem).join("\n")}`,
    hint: "`hookgate check` shows them again after you have mended them.",
  });
}

/** A gateway that serves nobody would only hide what is wrong. */
function isAnyPlatformLeft({ web }: Config, env: Environment, problems: LoadedConfig["problems"]): boolean {
  const on: Record<PlatformName, boolean> = {
    web: web.enabled,
    discord: env.DISCORD_TOKEN !== undefined,
    telegram: env.TELEGRAM_TOKEN !== undefined,
  };
  return PLATFORMS.some((platform) => on[platform] && brokenPlatform(platform, problems) === undefined);
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
