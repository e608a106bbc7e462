/** The environment: secrets, places and ports. The only reader of `process.env`. */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { z } from "zod";
import { errorMessage } from "../lib/errors.js";
import { deadLinkAt } from "../lib/files/dead-link.js";
import { isMissing } from "../lib/files/list-folder.js";
import { readTextFile } from "../lib/files/text-file.js";
import { whyWeakToken } from "../lib/signing/secret.js";
import { nearest } from "../lib/validation/nearest.js";
import { PLAIN } from "../lib/validation/plain-issues.js";

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
    .pipe(
      z
        .string()
        .superRefine((token, context) => {
          const why = whyWeakToken(token);
          if (why !== undefined)
            context.addIssue({
              code: "custom",
              message: `this token is easy to guess (${why}): use 32 random characters`,
            });
        })
        .optional(),
    )
    .describe(
      "The token that logs an owner in to the web chat and the CLI. Default: created at the first start, printed once in a terminal, and kept in a file beside the database (data/hookgate.token).",
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
  /** A variable that is set and is none of ours, whose name is near this one. */
  misspelt(name: string): string | undefined;
  /** Variables that an earlier `.env` of this process had, and that are still set. */
  removed: readonly string[];
  /** The variables for programs that hooks start: where things are and which language to use, and nothing of ours. */
  forPrograms(): Record<string, string>;
}

const FOR_PROGRAMS = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|SYSTEMROOT)$/;

export interface EnvironmentProblem {
  variable: string;
  message: string;
}

/** A variable that concerns one platform only: the rest of the environment does not depend on it. */
export const isOfPlatform = (variable: string) => /^(DISCORD|TELEGRAM)_/.test(variable);

/**
 * Reads the environment (and `.env` of the working directory, which never overrides variables of the process). Bad variables of a platform
 * count as unset; any other bad one, and there is no environment. `rest`: all bad ones count as unset, for further checks. A bot token that
 * was not copied well stays set: its platform is on, with a problem, and its value is masked.
 */
export function readEnvironment(source?: Record<string, string | undefined>): {
  env?: Environment;
  rest: Environment;
  problems: EnvironmentProblem[];
} {
  const { names: dotEnvNames, problem: dotEnv } = source ? { names: new Set() } : loadDotEnv();
  const given = source ?? process.env;
  const { fromFiles, problems: unread } = readSecretFiles(given);
  const variables = { ...given, ...fromFiles };
  const { error } = environment.safeParse(variables, PLAIN);
  const problems = [
    ...(dotEnv === undefined ? [] : [{ variable: ".env", message: dotEnv }]),
    ...unread,
    ...(error?.issues ?? []).map(({ path, message }) => ({ variable: String(path[0]), message })),
  ];
  const bad = problems.map(({ variable }) => variable);
  const data = environment.parse({ ...variables, ...Object.fromEntries(bad.map(unset)) }, PLAIN);
  const rest: Environment = {
    ...data,
    variable: (name) => variables[name]?.trim() || fileOf(name, given),
    misspelt: (name) =>
      nearest(
        name,
        Object.keys(variables).filter((other) => variables[other]?.trim() && !isOurs(other)),
      ),
    removed: source ? [] : [...fromDotEnv.keys()].filter((name) => !dotEnvNames.has(name) && isFromDotEnv(name)),
    forPrograms: () =>
      Object.fromEntries(
        Object.entries(variables).filter(
          (one): one is [string, string] => FOR_PROGRAMS.test(one[0]) && one[1] !== undefined,
        ),
      ),
  };
  return { rest, problems: [...problems, ...badlyCopied(rest)], env: bad.every(isOfPlatform) ? rest : undefined };
}

/** The only characters of the platforms' tokens; Telegram's test servers take a token with `/test` behind it. */
const TOKEN_CHARACTERS = { DISCORD_TOKEN: /[\w.-]/, TELEGRAM_TOKEN: /[\w:/-]/ };

/** A token with other characters would fail before a request leaves this machine, as if the network were at fault. */
function badlyCopied(env: z.infer<typeof environment>): EnvironmentProblem[] {
  return Object.entries(TOKEN_CHARACTERS).flatMap(([variable, known]) => {
    const characters = [...(env[variable as keyof typeof TOKEN_CHARACTERS] ?? "")];
    const index = characters.findIndex((character) => !known.test(character));
    if (index < 0) return [];
    const message = `this token has ${inWords(characters[index] as string)} at position ${index + 1}, which bot tokens do not have: copy the whole token again`;
    return [{ variable, message }];
  });
}

function inWords(character: string): string {
  if (character === " ") return "a blank";
  if (/[\p{L}\p{N}\p{P}\p{S}]/u.test(character)) return `the character "${character}"`;
  return `an invisible character (U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")})`;
}

/** Where the variables are read from besides the environment, links followed. */
export function dotEnvFile(): string {
  try {
    return realpathSync(".env");
  } catch {
    return join(realpathSync("."), ".env"); // it may be written later
  }
}

/** The variables that `.env` set in this process: a later reading may change them. */
const fromDotEnv = new Map<string, string | undefined>();
const isFromDotEnv = (name: string) => fromDotEnv.has(name) && process.env[name] === fromDotEnv.get(name);

/** Lines that set nothing are left out by the parser: after a power cut, those are the tokens and the place of the database. */
function damageOf(text: string): string | undefined {
  if (/[\0\uFFFD]/.test(text)) return "is damaged: it has bytes that are no text. Write it again, or restore a copy.";
  // A value in quotes may have several lines.
  const bare = text.replace(/=[ \t]*(["'`])[\s\S]*?\1/g, (value) => `=${value.replace(/[^\n]/g, "")}`);
  for (const [index, line] of bare.split("\n").entries()) {
    if (!/^\s*(#|$|(export\s+)?[^\s=#]+\s*=)/.test(line))
      return `line ${index + 1} sets no variable. Write NAME=value, or # before a comment.`;
    if (/^[^#=]*=[ \t]*["'`]/.test(line)) return `the quote in line ${index + 1} has no end. Write the closing one.`;
  }
  return undefined;
}

/** A variable that is no longer in `.env` stays set until the process ends. */
function loadDotEnv(): { names: ReadonlySet<string>; problem?: string } {
  const names = new Set<string>();
  const dead = deadLinkAt(".env", { restore: "Restore that file", wanted: "the one to use" });
  if (dead) return { names, problem: dead.message };
  if (isMissing(".env")) return { names };
  try {
    const text = readTextFile(".env");
    const damage = damageOf(text);
    if (damage !== undefined) return { names, problem: damage };
    for (const [name, value] of Object.entries(parseEnv(text))) {
      names.add(name);
      if (process.env[name] !== undefined && !isFromDotEnv(name)) continue;
      process.env[name] = value;
      fromDotEnv.set(name, value);
    }
    return { names };
  } catch (error) {
    return { names, problem: `cannot be read: ${errorMessage(error)}` };
  }
}

/** Each may come from a file instead: `DISCORD_TOKEN_FILE` names it. */
const SECRETS = ["HOOKGATE_TOKEN", "DISCORD_TOKEN", "TELEGRAM_TOKEN", "TELEGRAM_WEBHOOK_SECRET"];

const isOurs = (name: string) => Object.hasOwn(environment.shape, name) || SECRETS.includes(name.replace(/_FILE$/, ""));

function readSecretFiles(given: Readonly<Record<string, string | undefined>>) {
  const fromFiles: Record<string, string> = {};
  const problems: EnvironmentProblem[] = [];
  for (const name of SECRETS) {
    const file = given[`${name}_FILE`]?.trim();
    if (!file || given[name]?.trim()) continue;
    try {
      fromFiles[name] = readTextFile(file).trim();
    } catch (error) {
      problems.push({ variable: `${name}_FILE`, message: `the file cannot be read: ${errorMessage(error)}` });
    }
  }
  return { fromFiles, problems };
}

/** A secret that the configuration names, from the file that `NAME_FILE` names. */
function fileOf(name: string, given: Readonly<Record<string, string | undefined>>): string | undefined {
  const file = given[`${name}_FILE`]?.trim();
  if (!file) return undefined;
  try {
    return readTextFile(file).trim() || undefined;
  } catch {
    return undefined; // it counts as missing, which is reported where it is needed
  }
}

const unset = (variable: string) => [variable, undefined] as const;
