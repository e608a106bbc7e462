/** Reads hookgate.yaml: every problem at once, each with its file, line, what was expected and what was found. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { z } from "zod";
import type { PlatformName } from "../domain/platform.js";
import { errorMessage } from "../lib/errors.js";
import { nearest } from "../lib/nearest.js";
import { type Position, parseYaml, type YamlPath, type YamlSource } from "../lib/yaml-source.js";
import { crossProblems } from "./cross.js";
import { keysAt } from "./describe.js";
import { type Environment, isOfPlatform, ONCE, readEnvironment } from "./env.js";
import { type Config, configSchema, platformOf } from "./schema.js";

export interface ConfigProblem {
  /** The only platform that it concerns: that one is off until it is mended, and the others go on. */
  platform?: PlatformName;
  /** The only event that it concerns: that one is refused until it is mended, and hooks on it are broken. */
  event?: string;
  /** The file, or `environment`. */
  file: string;
  line?: number;
  column?: number;
  /** `discord.access.dms`, or the variable's name. */
  path: string;
  message: string;
  expected?: string;
  got?: string;
}

export interface LoadedConfig {
  /**
   * Absent when there are problems that concern more than one platform or event. What it says of a platform with problems is not to
   * be used; events with problems are left out.
   */
  config?: Config;
  env?: Environment;
  /** The file that was read; undefined when there is none and defaults hold. */
  file?: string;
  problems: ConfigProblem[];
  /** Where a setting stands in the file, for problems that are found later. */
  placeOf?: (path: YamlPath, ofKey?: boolean) => Position;
}

export interface LoadOptions {
  /** `--config`, before HOOKGATE_CONFIG. */
  path?: string;
  /** Instead of the process's environment and `.env`. */
  env?: Record<string, string | undefined>;
}

const DEFAULT_FILE = "hookgate.yaml";

export function loadConfig(options: LoadOptions = {}): LoadedConfig {
  const { env, problems: envProblems } = readEnvironment(options.env);
  const problems: ConfigProblem[] = envProblems.map(({ variable, message }) => ({
    file: "environment",
    path: variable,
    message,
    ...only(isOfPlatform(variable) ? platformOf(variable.split("_")[0]?.toLowerCase()) : undefined),
  }));
  const named = options.path ?? env?.HOOKGATE_CONFIG;
  const file = resolve(named ?? DEFAULT_FILE);
  if (!existsSync(file)) {
    if (named)
      problems.push({ file, path: "", message: "there is no such file", expected: "a YAML file", got: "nothing" });
    return finish(configSchema.parse({}, ONCE), env, undefined, problems);
  }
  const read = readYaml(file);
  problems.push(...read.problems);
  if (read.config && env)
    for (const { path, ofKey, ...problem } of crossProblems(read.config, env))
      problems.push({
        file,
        ...read.placeOf?.(path, ofKey),
        path: path.join("."),
        ...problem,
        ...onlyOf(path),
      });
  return { ...finish(read.config, env, file, problems), ...(read.placeOf ? { placeOf: read.placeOf } : {}) };
}

function finish(
  config: Config | undefined,
  env: Environment | undefined,
  file: string | undefined,
  problems: ConfigProblem[],
): LoadedConfig {
  const isUsable = problems.every(({ platform, event }) => platform !== undefined || event !== undefined);
  const whole = isUsable && config && env ? { config: { ...config, events: soundOf(config, problems) }, env } : {};
  return { ...whole, ...(file ? { file } : {}), problems };
}

function readYaml(file: string): Pick<LoadedConfig, "config" | "problems" | "placeOf"> {
  let source: string;
  try {
    source = readFileSync(file, "utf8");
  } catch (error) {
    return { problems: [{ file, path: "", message: `cannot be read: ${errorMessage(error)}` }] };
  }
  const yaml = parseYaml(source);
  if (yaml.errors.length > 0) return { problems: yaml.errors.map((error) => ({ file, ...error, path: "" })) };
  const raw = yaml.value ?? {};
  const { data, error } = configSchema.safeParse(raw, ONCE);
  const problems = (error?.issues ?? []).flatMap((issue) => problemsOf(issue, file, yaml));
  const config = data ?? withoutBroken(raw, problems);
  return { ...(config ? { config } : {}), problems, placeOf: yaml.placeOf };
}

function soundOf({ events }: Config, problems: readonly ConfigProblem[]): Config["events"] {
  return Object.fromEntries(Object.entries(events).filter(([name]) => brokenEvent(name, problems) === undefined));
}

/** With the defaults for platforms whose sections have problems, and without events that have; undefined when something else has, too. */
function withoutBroken(raw: unknown, problems: readonly ConfigProblem[]): Config | undefined {
  if (problems.some(({ platform, event }) => platform === undefined && event === undefined)) return undefined;
  const isBroken = (section: string) => {
    const own = platformOf(section);
    return own !== undefined && problems.some(({ platform }) => platform === own);
  };
  const { events, ...rest } = Object(raw);
  const sections = Object.entries(rest).filter(([section]) => !isBroken(section));
  const sound = Object.entries(Object(events)).filter(([name]) => brokenEvent(name, problems) === undefined);
  const whole = { ...Object.fromEntries(sections), events: Object.fromEntries(sound) };
  return configSchema.safeParse(whole, ONCE).data;
}

const only = (platform: PlatformName | undefined) => (platform ? { platform } : {});

/** The one part that a setting concerns. */
function onlyOf([section, name]: readonly (string | number)[]): Pick<ConfigProblem, "platform" | "event"> {
  return section === "events" && typeof name === "string" ? { event: name } : only(platformOf(section));
}

/** An unknown key is told by name and place; anything else by its value's place. */
function problemsOf(issue: z.core.$ZodIssue, file: string, yaml: YamlSource): ConfigProblem[] {
  const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  const ofPart = onlyOf(path);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => {
      const known = keysAt(configSchema, path);
      const near = nearest(key, known);
      return {
        file,
        ...yaml.placeOf([...path, key], true),
        path: [...path, key].join("."),
        message: `unknown setting "${key}"${near ? ` (did you mean "${near}"?)` : ""}`,
        ...(known.length > 0 ? { expected: `one of ${known.join(", ")}` } : {}),
        got: key,
        ...ofPart,
      };
    });
  const got = valueAt(yaml.value, path);
  const values = "values" in issue && Array.isArray(issue.values) ? issue.values.map(String) : [];
  const near = typeof got === "string" ? nearest(got, values) : undefined;
  return [
    {
      file,
      ...yaml.placeOf(path),
      path: path.join("."),
      message: near === undefined ? issue.message : `"${got}" is not known here (did you mean "${near}"?)`,
      ...("expected" in issue ? { expected: String(issue.expected) } : {}),
      ...(values.length > 0 ? { expected: values.join(" | ") } : {}),
      ...ofPart,
      got: shown(got),
    },
  ];
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let at = value;
  for (const step of path)
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[step] : undefined;
  return at;
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** Why a platform is off, in short and without values: `/status` and `/readyz` show it. Undefined when it is not. */
export function brokenPlatform(platform: PlatformName, problems: readonly ConfigProblem[]): string | undefined {
  const own = problems.filter((problem) => problem.platform === platform);
  if (own.length === 0) return undefined;
  return `misconfigured: ${own.map(({ path, message }) => `${path}: ${message}`).join("; ")}`;
}

/** Why an event is refused, in short and without values; undefined when it is not. */
export function brokenEvent(name: string, problems: readonly ConfigProblem[]): string | undefined {
  const own = problems.filter(({ event }) => event === name);
  return own.length === 0 ? undefined : own.map(({ path, message }) => `${path}: ${message}`).join("; ");
}

/** One line a problem: `hookgate.yaml:12:5 discord.access.dms: Invalid option … (expected …, got …)`. */
export function formatProblem(problem: ConfigProblem): string {
  const place =
    problem.line === undefined
      ? problem.file
      : `${problem.file}:${problem.line}${problem.column === undefined ? "" : `:${problem.column}`}`;
  const facts = [
    problem.expected && `expected ${problem.expected}`,
    problem.got !== undefined && `got ${problem.got}`,
  ].filter(Boolean);
  return `${place}${problem.path ? ` ${problem.path}` : ""}: ${problem.message}${facts.length ? ` (${facts.join("; ")})` : ""}`;
}
