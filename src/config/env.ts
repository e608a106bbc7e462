/** The environment: secrets, places and ports. The only reader of `process.env`. */
import { existsSync } from "node:fs";
import { z } from "zod";

/** Empty means unset, so that `DISCORD_TOKEN=` in a copied .env.example switches nothing on. */
const text = z
  .string()
  .optional()
  .transform((value) => (value?.trim() ? value.trim() : undefined));
const url = text.pipe(z.url({ protocol: /^https?$/ }).optional());

export const environment = z.object({
  HOOKGATE_CONFIG: text.describe(
    "The configuration file. Default: hookgate.yaml in the working directory, when it is there.",
  ),
  DATABASE_URL: text
    .pipe(z.string().startsWith("file:", 'expected "file:" and a path').default("file:data/hookgate.db"))
    .describe("Where everything is kept: `file:` and a path. Default: file:data/hookgate.db."),
  HOOKGATE_HOST: text
    .pipe(z.string().default("127.0.0.1"))
    .describe("The address to listen on. Default: 127.0.0.1 (this machine only)."),
  HOOKGATE_PORT: text
    .pipe(z.string().default("8787").transform(Number).pipe(z.int("expected a port number").min(0).max(65_535)))
    .describe("The port of the web chat, the API and the probes. Default: 8787."),
  HOOKGATE_TOKEN: text
    .pipe(z.string().min(16, "expected at least 16 characters").optional())
    .describe(
      "The token that logs an owner in to the web chat and the CLI. Default: made at the first start and printed once.",
    ),
  LOG_LEVEL: text
    .pipe(z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"))
    .describe("How much is logged: trace, debug, info, warn, error, fatal or silent. Default: info."),
  DISCORD_TOKEN: text.describe("The Discord bot token. Set it to switch Discord on."),
  DISCORD_API_URL: url.describe("Another Discord API server, for tests and proxies. Default: https://discord.com/api."),
  TELEGRAM_TOKEN: text.describe("The Telegram bot token. Set it to switch Telegram on."),
  TELEGRAM_API_URL: url.describe(
    "Another Telegram Bot API server, for tests and self-hosting. Default: https://api.telegram.org.",
  ),
  TELEGRAM_WEBHOOK_SECRET: text
    .pipe(
      z
        .string()
        .regex(/^[\w-]{1,256}$/, "expected 1 to 256 of A-Z a-z 0-9 _ -")
        .optional(),
    )
    .describe("The secret that Telegram sends with every webhook call. Needed with `telegram.mode: webhook`."),
});

/** The variables that are read once, at the start. */
export const VARIABLES = Object.keys(environment.shape) as (keyof typeof environment.shape)[];

export interface Environment extends z.infer<typeof environment> {
  /** Any other variable, for secrets that the configuration names. */
  variable(name: string): string | undefined;
  /** What programs that hooks start get to see: where things are and which language to speak, and nothing of ours. */
  forPrograms(): Record<string, string>;
}

/** Zod writes a program for each schema, which pays for many values only. */
export const ONCE = { jitless: true };

const FOR_PROGRAMS = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|SYSTEMROOT)$/;

export interface EnvironmentProblem {
  variable: string;
  message: string;
}

/** Of what concerns one platform alone the rest of the environment does not depend. */
export const isOfPlatform = (variable: string) => /^(DISCORD|TELEGRAM)_/.test(variable);

/**
 * Reads the environment (and `.env` of the working directory, which never overrides what is set). Bad variables of a platform
 * count as unset; any other bad one, and there is no environment.
 */
export function readEnvironment(source?: Record<string, string | undefined>): {
  env?: Environment;
  problems: EnvironmentProblem[];
} {
  if (!source && existsSync(".env")) process.loadEnvFile(".env");
  const variables = source ?? process.env;
  const { error } = environment.safeParse(variables, ONCE);
  const problems = (error?.issues ?? []).map(({ path, message }) => ({ variable: String(path[0]), message }));
  const bad = problems.map(({ variable }) => variable);
  const { data } = environment.safeParse(
    { ...variables, ...Object.fromEntries(bad.filter(isOfPlatform).map(unset)) },
    ONCE,
  );
  if (!data) return { problems };
  const env: Environment = {
    ...data,
    variable: (name) => variables[name]?.trim() || undefined,
    forPrograms: () =>
      Object.fromEntries(
        Object.entries(variables).filter(
          (one): one is [string, string] => FOR_PROGRAMS.test(one[0]) && one[1] !== undefined,
        ),
      ),
  };
  return { env, problems };
}

const unset = (variable: string) => [variable, undefined] as const;
